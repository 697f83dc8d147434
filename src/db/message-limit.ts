// A bound on what PostgreSQL may send in one message. The driver holds a message whole and makes a string of each of its
// columns: beyond half a gigabyte it throws where nobody catches, and before that it fills the memory.
import type { Socket } from 'node:net';

/** In bytes. What a string of JavaScript can hold is 512 MiB. */
export const LONGEST_MESSAGE = 268_435_456;

/** An answer was longer than it may be; the connection that brought it has ended. */
export class MessageTooLong extends Error {
  /** As of an error of the system: what waits on the connection takes it for its loss. */
  readonly code = 'ECONNRESET';
  readonly limit: number;
  constructor(limit: number) {
    super(`Connection terminated: an answer of the database is longer than ${limit} bytes`);
    this.name = 'MessageTooLong';
    this.limit = limit;
  }
}

const HEADER = 5;

/**
 * Ends the connection when a message begins that is longer than `limit` bytes. Reads the lengths alone (PostgreSQL
 * documentation, "Message Formats": a type, then a length that counts itself), a dozen instructions a message.
 */
export function refuseLongMessages(stream: Socket, limit: number): void {
  /** Bytes of the message under way that have not come yet. */
  let left = 0;
  const header = Buffer.alloc(HEADER);
  let known = 0;
  stream.prependListener('data', (chunk: Buffer) => {
    let at = 0;
    while (at < chunk.length) {
      if (left > 0) {
        const part = Math.min(left, chunk.length - at);
        left -= part;
        at += part;
        continue;
      }
      let length: number;
      if (known === 0 && chunk.length - at >= HEADER) {
        length = chunk.readUInt32BE(at + 1);
        at += HEADER;
      } else {
        header[known++] = chunk[at++] as number;
        if (known < HEADER) continue;
        length = header.readUInt32BE(1);
        known = 0;
      }
      if (length > limit) {
        stream.destroy(new MessageTooLong(limit));
        return;
      }
      left = length - 4;
    }
  });
}
