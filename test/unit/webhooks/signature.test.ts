// Signatures are verified by the package that receivers use.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeSigningSecret, sign } from '../../../src/webhooks/signature.ts';
import { verifyMessage } from '../../support/standard-webhooks.ts';

const [secret, other] = [makeSigningSecret(), makeSigningSecret()];
const id = 'msg_1';
const body = '{"type":"ping","ü":1}';
const timestamp = Math.floor(Date.now() / 1000);

const headers = (secrets: readonly string[]): Record<string, string> => ({
  'webhook-id': id,
  'webhook-timestamp': String(timestamp),
  'webhook-signature': sign(secrets, { id, timestamp, body }),
});

test('a secret has 32 random bytes', () => {
  assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  assert.notEqual(secret, other);
});

test('a message verifies with its secret, and while two are in force with both', () => {
  assert.deepEqual(verifyMessage(secret, body, headers([secret])), JSON.parse(body));
  for (const one of [secret, other]) verifyMessage(one, body, headers([secret, other]));
  const [first] = headers([secret, other])['webhook-signature']!.split(' ');
  assert.equal(first, headers([secret])['webhook-signature']);
});

test('another secret, body, id or time does not verify', () => {
  const good = headers([secret]);
  assert.throws(() => verifyMessage(other, body, good));
  assert.throws(() => verifyMessage(secret, `${body} `, good));
  assert.throws(() => verifyMessage(secret, body, { ...good, 'webhook-id': 'msg_2' }));
  assert.throws(() => verifyMessage(secret, body, { ...good, 'webhook-timestamp': String(timestamp + 1) }));
});

test('the signature is that of the published example', () => {
  const example = {
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    timestamp: 1614265330,
    body: '{"test": 2432232314}',
  };
  assert.equal(
    sign(['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'], example),
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  );
});
