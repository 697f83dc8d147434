// A body as a JSON value, read without keeping others waiting.
import { badRequest } from '../errors.ts';
import type { Turn } from '../pace/turns.ts';
import { parseBody, readBody } from '../request/body.ts';
import type { RawRequest } from './raw-request.ts';

// So few bytes take 0.1 ms at most: not worth measuring.
const SHORT = 512;
// So many bytes take 2 ms at most; a longer body is read in pieces.
const AT_ONCE = 8192;
const PIECE_MS = 2;

/**
 * The JSON value of a body (RFC 8259); 400 when it is not JSON. A long one is read in pieces, and so is a short one
 * when others have been read at once in this round of the event loop. `recordDepth`: see readBody().
 */
export function jsonValue(
  bytes: Uint8Array,
  request: Pick<RawRequest, 'turn' | 'caller'>,
  recordDepth?: number,
): unknown {
  if (bytes.length <= SHORT) return parseBody(bytes);
  const { turn, caller } = request;
  if (bytes.length > AT_ONCE || !turn.hasTime()) return inPieces(readBody(bytes, recordDepth), turn, caller);
  const began = performance.now();
  try {
    return parseBody(bytes);
  } finally {
    turn.spent(performance.now() - began);
  }
}

/** Does work in pieces, each when its turn comes; 400 when the caller has left. */
export async function inPieces<T>(
  work: Generator<undefined, T>,
  turn: Turn,
  caller: Pick<RawRequest['caller'], 'isGone'>,
): Promise<T> {
  for (;;) {
    await turn.next();
    // Nobody waits for the answer any more.
    if (caller.isGone()) throw badRequest('The request body was cut off');
    const until = performance.now() + PIECE_MS;
    do {
      const { done, value } = work.next();
      if (done === true) return value;
    } while (performance.now() < until);
  }
}
