// What a receiver believes: messages that the secret has signed, as somebody else's code verifies them, and no others.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  verifyWebhook,
  WebhookError,
  type WebhookErrorReason,
  type WebhookMessage,
} from '../../client/src/webhooks.ts';
import { makeSigningSecret, sign } from '../../src/webhooks/signature.ts';
import { verifyMessage } from '../support/standard-webhooks.ts';
import type { Shop } from './shop.ts';

type Eq<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
/** Compiles only when both types are the same. */
const same = <A, B>(..._: Eq<A, B> extends true ? [] : [never]): void => undefined;

const [secret, other] = [makeSigningSecret(), makeSigningSecret()];
const now = (): number => Math.floor(Date.now() / 1000);

/** Headers of a message that the secrets have signed. */
const signed = (body: string, secrets: readonly string[] = [secret], timestamp = now()) => ({
  'webhook-id': 'msg_1',
  'webhook-timestamp': String(timestamp),
  'webhook-signature': sign(secrets, { id: 'msg_1', timestamp, body }),
});

const BODY =
  '{"type":"ping","timestamp":"2026-11-26T00:00:00.000Z","workspace":"demo/shop","data":{"webhook":7,"name":"ü"}}';

const refuses = (reason: WebhookErrorReason) => (error: unknown) =>
  error instanceof WebhookError && error.reason === reason && error.message !== '';

test('the published examples verify', async () => {
  const examples = [
    [
      'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
      'msg_p5jXN8AQM9LWM0D4loKWxJek',
      1614265330,
      '{"test": 2432232314}',
      'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    ],
    [
      'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD',
      'msg_27UH4WbU6Z5A5EzD8u03UvzRbpk',
      1649367553,
      '{"email":"test@example.com","username":"test_user"}',
      'v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=',
    ],
  ] as const;
  for (const [key, id, timestamp, body, signature] of examples) {
    const headers = { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': signature };
    assert.deepEqual(await verifyWebhook(body, headers, key, { toleranceSeconds: Infinity }), JSON.parse(body));
    await assert.rejects(verifyWebhook(body, headers, key), refuses('WRONG_TIME'));
  }
});

test('what is signed verifies here and with other code, and nothing else does', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'binary' }), fc.nat(), async (text, place) => {
      const body = JSON.stringify({ text });
      const headers = signed(body);
      assert.deepEqual(verifyMessage(secret, body, headers), { text });
      assert.deepEqual(await verifyWebhook(body, headers, secret), { text });
      // One character less.
      const index = place % body.length;
      const changed = body.slice(0, index) + body.slice(index + 1);
      assert.throws(() => verifyMessage(secret, changed, headers));
      await assert.rejects(verifyWebhook(changed, headers, secret), refuses('WRONG_SIGNATURE'));
    }),
  );
});

describe('a message', () => {
  test('is text or bytes, with headers of any kind, and signed by any of several secrets', async () => {
    const headers = signed(BODY);
    const bytes = Buffer.from(BODY);
    const upper = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]));
    for (const body of [BODY, bytes, new Uint8Array(bytes), new Uint8Array(bytes).buffer])
      for (const one of [headers, new Headers(headers), upper])
        assert.deepEqual(await verifyWebhook(body, one, secret), JSON.parse(BODY));
    const rotated = signed(BODY, [other, secret]);
    for (const secrets of [secret, other, [makeSigningSecret(), secret]]) await verifyWebhook(BODY, rotated, secrets);
    // Versions that are not known, and what is no base64, are passed over.
    const more = { ...headers, 'webhook-signature': `v1a,xyz v1,* v1, ${headers['webhook-signature']}` };
    await verifyWebhook(BODY, more, secret);
  });

  test('keeps digits that a double cannot hold', async () => {
    const body = '{"data":{"record":{"id":9007199254740993,"total":1.5}}}';
    const message = (await verifyWebhook(body, signed(body), secret)) as unknown;
    assert.deepEqual(message, { data: { record: { id: '9007199254740993', total: 1.5 } } });
  });

  test('is typed by its type', async () => {
    const message: WebhookMessage<Shop> = await verifyWebhook<Shop>(BODY, signed(BODY), secret);
    if (message.type === 'orders.updated') {
      same<typeof message.data.type, 'updated'>();
      same<typeof message.data.record.status, Shop['orders']['row']['status']>();
    } else if (message.type === 'tags.removed') same<typeof message.data.entity, 'tags'>();
    else if (message.type === 'changes') for (const event of message.data) same<typeof event.at, string>();
    else if (message.type === 'reset') same<typeof message.data.entity, null>();
    assert.equal(message.type === 'ping' && message.data.webhook, 7);
  });
});

describe('refused', () => {
  const good = signed(BODY);
  const without = (name: keyof typeof good) => ({ ...good, [name]: undefined });
  const CASES: readonly (readonly [string, WebhookErrorReason, Parameters<typeof verifyWebhook>])[] = [
    ['no id', 'MISSING_HEADERS', [BODY, without('webhook-id'), secret]],
    ['no time', 'MISSING_HEADERS', [BODY, without('webhook-timestamp'), secret]],
    ['no signature', 'MISSING_HEADERS', [BODY, new Headers(), secret]],
    ['a time that is none', 'MISSING_HEADERS', [BODY, { ...good, 'webhook-timestamp': '1e9' }, secret]],
    ['an hour ago', 'WRONG_TIME', [BODY, signed(BODY, [secret], now() - 3600), secret]],
    ['in an hour', 'WRONG_TIME', [BODY, signed(BODY, [secret], now() + 3600), secret]],
    ['less than tolerated', 'WRONG_TIME', [BODY, signed(BODY, [secret], now() - 70), secret, { toleranceSeconds: 60 }]],
    ['another secret', 'WRONG_SIGNATURE', [BODY, good, other]],
    ['another id', 'WRONG_SIGNATURE', [BODY, { ...good, 'webhook-id': 'msg_2' }, secret]],
    ['another time', 'WRONG_SIGNATURE', [BODY, { ...good, 'webhook-timestamp': String(now() - 60) }, secret]],
    [
      'another version',
      'WRONG_SIGNATURE',
      [BODY, { ...good, 'webhook-signature': good['webhook-signature'].replace('v1', 'v2') }, secret],
    ],
    [
      'a part of the signature',
      'WRONG_SIGNATURE',
      [BODY, { ...good, 'webhook-signature': good['webhook-signature'].slice(0, -8) }, secret],
    ],
    ['no JSON', 'WRONG_BODY', ['{', signed('{'), secret]],
  ];
  for (const [name, reason, input] of CASES) test(name, () => assert.rejects(verifyWebhook(...input), refuses(reason)));

  test('wrong arguments say so, whatever the message is', async () => {
    for (const wrong of ['', 'whsec_', 'whsec_*', undefined, []])
      await assert.rejects(verifyWebhook(BODY, good, wrong as string), TypeError);
    await assert.rejects(verifyWebhook(JSON.parse(BODY), good, secret), /that came/);
  });
});

test('the receiver of the reference takes signed messages of any length, and no others', {
  timeout: 300_000,
}, async () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/reference/webhooks.md'), 'utf8');
  const [, code = ''] = /^```js\n([\s\S]*?)^```$/m.exec(page) ?? [];
  const program = code.replace('listen(8080)', 'listen(0, function () { console.log(this.address().port); })');
  const receiver = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    env: { WEBHOOK_SECRET: secret },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const [port] = await once(receiver.stdout, 'data');
    const post = async (body: string, headers: Readonly<Record<string, string>>) =>
      (await fetch(`http://localhost:${Number(String(port))}/`, { method: 'POST', headers, body })).status;
    // Arrives in parts, some of which end within a character.
    const long = JSON.stringify({ type: 'orders.created', data: `x${'é'.repeat(300_000)}` });
    assert.equal(await post(BODY, signed(BODY)), 204);
    assert.equal(await post(long, signed(long)), 204);
    assert.equal(await post(BODY, signed(BODY, [other])), 401);
    assert.equal(await post(BODY, signed(BODY, [secret], now() - 600)), 401);
  } finally {
    receiver.kill();
  }
});
