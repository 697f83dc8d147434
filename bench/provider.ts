// An identity provider for `npm run bench:access`: it publishes one RSA key and signs tokens with it. The server cannot
// tell it from a real one, since it asks a provider for nothing but its keys.

import { generateKeyPairSync, sign } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

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
export function unsignedToken(kid: string, claims: Readonly<Record<string, unknown>>): string {
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
