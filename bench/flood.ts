// Child process of access.ts: asks for one path with invalid tokens, each sent once, over a number of connections that
// wait for each answer before they send the next token. It says "started" when it sends, and at the end of its input it
// stops and prints a FloodResult as JSON. Argument: a Flood as JSON.

import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { unsignedToken } from './provider.ts';

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

const flood = JSON.parse(process.argv[2] ?? '') as Flood;
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
