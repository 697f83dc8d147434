// A body as a JSON value, without keeping others waiting while it is read.

import type { Turn } from '../pace/turns.ts';
import { parseBody, readBody } from '../request/body.ts';

// A longer body is read in pieces. So much takes 5 ms at most.
const AT_ONCE = 32_768;
const PIECE_MS = 2;

/** The JSON value of a body (RFC 8259), of a long one in pieces, each when `turn` resolves; 400 when it is not JSON. */
export function jsonValue(bytes: Uint8Array, turn: Turn): unknown {
  return bytes.length <= AT_ONCE ? parseBody(bytes) : inPieces(readBody(bytes), turn);
}

async function inPieces<T>(work: Generator<undefined, T>, turn: Turn): Promise<T> {
  for (;;) {
    await turn();
    const until = performance.now() + PIECE_MS;
    do {
      const { done, value } = work.next();
      if (done === true) return value;
    } while (performance.now() < until);
  }
}
