// What the token endpoint tells the log: faults of ours, not clients that go away.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { after, before, test } from 'node:test';
import { exportJWK, generateKeyPair } from 'jose';
import { makeOAuthClient } from '../../../src/auth/oauth-client.ts';
import { makeTokenEndpoint } from '../../../src/auth/token-endpoint.ts';

const LIMIT = { timeout: 300_000 };
const { clientId, clientSecret, secretHash } = makeOAuthClient();
const faults: unknown[] = [];
const gone: unknown[] = [];
let isBroken = false;
const server = createServer(async (request, response) => {
  const serve = await endpoint();
  await serve(request, response);
});
let endpoint: ReturnType<typeof makeTokenEndpoint>;

before(async () => {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  const privateJwk = (await exportJWK(privateKey)) as { kty: string };
  endpoint = makeTokenEndpoint({
    issuer: 'http://localhost',
    getResource: ({ organization, workspace }) => `http://localhost/${organization}/${workspace}`,
    path: '/oauth/token',
    tokenLifetimeSeconds: 60,
    signingKey: async () => ({ kid: 'one', privateJwk }),
    async findClient(id) {
      if (isBroken) throw new TypeError('a mistake of ours');
      const place = { organization: 'acme', workspace: 'shop', workspaceId: '7' };
      return id === clientId ? { clientId, ...place, secretHash: secretHash.toString('hex') } : undefined;
    },
    rateLimit: async () => undefined,
    waitForThrottle: async () => undefined,
    onError: (_message, error) => faults.push(error),
    onDisconnect: (_message, error) => gone.push(error),
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
after(() => server.close());

const FORM = `grant_type=client_credentials&client_id=${clientId}&client_secret=${clientSecret}`;

/** Sends the head and a part of the body, and leaves. */
async function leave(part: string): Promise<void> {
  const { port } = server.address() as AddressInfo;
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  const came = once(server, 'request');
  socket.write(
    `POST /oauth/token HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: ${FORM.length}\r\n\r\n${part}`,
  );
  const [request] = await came;
  const closed = new Promise((resolve) => request.socket.once('close', resolve));
  socket.resetAndDestroy();
  await closed;
}

test('a client that goes away is no fault of ours', LIMIT, async () => {
  for (const part of ['', FORM.slice(0, 20), FORM]) await leave(part);
  // What follows a client that left is over when the next one has its answer.
  const { port } = server.address() as AddressInfo;
  const answer = await fetch(`http://127.0.0.1:${port}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams(FORM),
  });
  assert.equal(answer.status, 200, await answer.text());
  assert.deepEqual(faults, []);
  assert.ok(gone.length > 0);
});

test('a fault of ours is told as one, and not to the client', LIMIT, async () => {
  isBroken = true;
  const { port } = server.address() as AddressInfo;
  const answer = await fetch(`http://127.0.0.1:${port}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams(FORM.replace(clientId, makeOAuthClient().clientId)),
  });
  assert.equal(answer.status, 500);
  assert.ok(!(await answer.text()).includes('a mistake of ours'));
  assert.equal(faults.length, 1);
});
