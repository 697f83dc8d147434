// Messages are measured by their lengths alone, however they are cut into pieces.
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import fc from 'fast-check';
import { limitMessageLength } from '../../../src/database/connect.ts';
import { MessageTooLong } from '../../../src/database/errors.ts';

const message = (length: number): Buffer => {
  const bytes = Buffer.alloc(1 + length, 0x44);
  bytes.writeUInt32BE(length, 1);
  return bytes;
};

/** How the stream ended, after the bytes were written in pieces of these sizes. */
async function feed(bytes: Buffer, pieces: readonly number[], limit: number): Promise<Error | null> {
  const stream = new PassThrough();
  stream.on('data', () => undefined);
  const ended = new Promise<Error | null>((resolve) => {
    stream.on('error', resolve);
    stream.on('end', () => resolve(null));
  });
  limitMessageLength(stream as unknown as Socket, limit);
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = pieces[turn % pieces.length] ?? bytes.length;
    stream.write(bytes.subarray(at, at + size));
    at += size;
  }
  stream.end();
  return ended;
}

test('a stream of messages is ended when one is too long, and only then', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 4, max: 40 }), { minLength: 1, maxLength: 12 }),
      fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 5 }),
      fc.integer({ min: 4, max: 40 }),
      async (lengths, pieces, limit) => {
        const error = await feed(Buffer.concat(lengths.map(message)), pieces, limit);
        assert.equal(error instanceof MessageTooLong, Math.max(...lengths) > limit);
      },
    ),
  );
});
