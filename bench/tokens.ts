// Tokens for `npm run bench:access`: an identity provider that publishes one RSA key and signs tokens with it, which the
// server cannot tell from a real one, since it asks a provider for nothing but its keys. And, as a child process with a Flood
// as JSON for its argument, a flood of invalid tokens, each sent once, over a number of connections that wait for each answer.
// The flood says "started" when it sends, and at the end of its input it stops and prints a FloodResult as JSON.

import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';

export type Provider = {
  readonly issuer: string;
  readonly jwksUri: string;
  readonly audience: string;
  readonly kid: string;
  /** A token for an hour (RS256), about as long as those of real providers. */
  readonly token: (claims: Readonly<Record<string, unknown>>) => string;
  readonly stop: () => void;
};

export async function startProvider(): Promise<Provider> {
  const kid = 'bench-1';
  const audience = 'https://api.bench.example';
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const keySet = JSON.stringify({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid, alg: 'RS256', use: 'sig' }] });
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'application/json').end(keySet);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    issuer,
    jwksUri: `${issuer}/jwks`,
    audience,
    kid,
    token(claims) {
      const input = unsignedToken(kid, { iss: issuer, aud: audience, ...claims });
      return `${input}.${sign('sha256', Buffer.from(input), privateKey).toString('base64url')}`;
    },
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Header and claims of a token that lacks its signature; some of the claims are there for the length alone. */
function unsignedToken(kid: string, claims: Readonly<Record<string, unknown>>): string {
  const now = Math.floor(Date.now() / 1000);
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const usual = {
    sub: 'auth|64f1c0ffee0123456789abcd',
    iat: now,
    exp: now + 3600,
    azp: 'q7Yw2ZkLr9XbT4nVh1Ms',
    scope: 'openid profile email orders:read orders:write',
    email: 'ada@customer.example',
    groups: ['customers', 'europe', 'newsletter'],
  };
  return `${part({ alg: 'RS256', typ: 'JWT', kid })}.${part({ ...usual, ...claims })}`;
}

/** What the tokens have wrong: a signature that the named key did not make, or a key that nobody has. */
export type Flaw = 'signature' | 'key';

export type Flood = {
  readonly port: number;
  readonly path: string;
  readonly connections: number;
  readonly flaw: Flaw;
  readonly issuer: string;
  readonly audience: string;
  readonly kid: string;
};

/** `refused`: answers that were 401. */
export type FloodResult = { readonly requests: number; readonly refused: number; readonly seconds: number };

function sendFlood(flood: Flood): void {
  const started = performance.now();
  let requests = 0;
  let refused = 0;
  let ending = false;

  function request(): string {
    const { issuer: iss, audience: aud, flaw } = flood;
    const kid = flaw === 'key' ? randomBytes(9).toString('hex') : flood.kid;
    const signature = randomBytes(256);
    // A number that is larger than the modulus would be refused without a look at it.
    signature[0] = (signature[0] as number) & 0x7f;
    const input = unsignedToken(kid, { iss, aud, customer_id: 7, jti: randomBytes(9).toString('hex') });
    const authorization = `Bearer ${input}.${signature.toString('base64url')}`;
    return `GET ${flood.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: ${authorization}\r\n\r\n`;
  }

  function open(): void {
    const socket = connect(flood.port, '127.0.0.1').setNoDelay(true).setEncoding('latin1');
    let received = '';
    socket.on('connect', () => socket.write(request()));
    socket.on('data', (text: string) => {
      received += text;
      const end = received.indexOf('\r\n\r\n');
      if (end === -1) return;
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(received)?.[1] ?? 0);
      if (received.length < end + 4 + length) return;
      requests++;
      if (received.startsWith('HTTP/1.1 401 ')) refused++;
      const closing = /\r\nconnection: close/i.test(received);
      received = '';
      if (ending || closing) socket.end();
      else socket.write(request());
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      if (!ending) setTimeout(open, 5);
    });
  }

  for (let i = 0; i < flood.connections; i++) open();
  process.stdout.write('started\n');
  process.stdin.resume().on('end', () => {
    ending = true;
    const result: FloodResult = { requests, refused, seconds: (performance.now() - started) / 1000 };
    process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0));
  });
}

if (import.meta.main) sendFlood(JSON.parse(process.argv[2] ?? ''));
