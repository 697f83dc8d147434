// Reads a request body into a buffer within limits, and its JSON value without blocking other requests.
import type { IncomingMessage } from 'node:http';
import { badRequest, payloadTooLarge, serviceUnavailable } from '../errors.ts';
import type { TimeSlices } from '../limits/fair-scheduler.ts';
import type { Transfer } from '../limits/memory-budget.ts';
import { parseBody, readBody as readLongBody } from '../request/body.ts';

const ignore = (): void => undefined;

// Bytes allocated for a body before its length is known.
const FIRST_BYTES = 4096;

// Time before a body can be late: it may start slowly.
const GRACE_MS = 1000;

/** Progress of a long body, which is late if at its pace it would not be complete in time. */
export class BodyProgress implements Transfer {
  readonly #bytes: number;
  readonly #timeoutMs: number;
  #receivedBytes = 0;
  #startedAt = 0;
  #reject: ((error: Error) => void) | undefined;

  constructor(bytes: number, timeoutMs: number) {
    this.#bytes = bytes;
    this.#timeoutMs = timeoutMs;
  }

  start(reject: (error: Error) => void): void {
    this.#startedAt = performance.now();
    this.#reject = reject;
  }

  add(bytes: number): void {
    this.#receivedBytes += bytes;
  }

  end(): void {
    this.#reject = undefined;
  }

  isLate(): boolean {
    if (this.#reject === undefined) return false;
    const time = performance.now() - this.#startedAt - GRACE_MS;
    return this.#receivedBytes < (this.#bytes * time) / this.#timeoutMs;
  }

  cutOff(): void {
    this.#reject?.(
      serviceUnavailable('OVERLOADED', 'The request body arrives too slowly while others wait for memory; retry', 1),
    );
  }
}

export interface BodyLimits {
  readonly maxBytes: number;
  /** Longest time for the whole body. */
  readonly timeoutMs: number;
}

export function readBody(
  message: IncomingMessage,
  { maxBytes, timeoutMs }: BodyLimits,
  progress?: BodyProgress,
): Promise<Buffer> {
  const declaredBytes = Number(message.headers['content-length'] ?? 0);
  if (declaredBytes > maxBytes) return Promise.reject(payloadTooLarge(maxBytes));
  // `close` is emitted only once: waiting for a request that was cut off before now would last until the timeout.
  if (message.destroyed && !message.readableEnded)
    return Promise.reject(badRequest('BODY_INTERRUPTED', 'The request body was cut off'));
  return new Promise((resolve, reject) => {
    let bytes: Buffer | undefined;
    let size = 0;
    // Every message closes in the end: the error is made only when it is needed (10 µs, most of it the stack).
    const cutOff = (): void => finish(badRequest('BODY_INTERRUPTED', 'The request body was cut off'));
    const timer = setTimeout(
      () => finish(badRequest('BODY_INTERRUPTED', 'The request body stopped arriving')),
      timeoutMs,
    );
    function finish(error: Error | undefined): void {
      clearTimeout(timer);
      progress?.end();
      message.off('data', onData);
      message.off('error', cutOff);
      message.off('close', cutOff);
      // The message is no longer needed, but an error of it must not end the process.
      message.on('error', ignore);
      if (error === undefined) resolve(bytes === undefined ? Buffer.alloc(0) : bytes.subarray(0, size));
      else reject(error);
    }
    function onData(chunk: Buffer): void {
      if (size + chunk.length > maxBytes) {
        finish(payloadTooLarge(maxBytes));
        return;
      }
      // Chunks are copied together: keeping a chunk of one byte takes 300 bytes.
      if (bytes === undefined && chunk.length >= declaredBytes && declaredBytes > 0) bytes = chunk;
      else {
        bytes = ensureCapacity(bytes, size, size + chunk.length, Math.max(declaredBytes, FIRST_BYTES));
        chunk.copy(bytes, size);
      }
      size += chunk.length;
      progress?.add(chunk.length);
    }
    progress?.start(finish);
    message.on('data', onData);
    message.once('end', () => finish(undefined));
    message.once('error', cutOff);
    message.once('close', cutOff);
  });
}

export function limitLength(bytes: Buffer, maxBytes: number): Buffer {
  if (bytes.length > maxBytes) throw payloadTooLarge(maxBytes);
  return bytes;
}

/** Returns a buffer with these bytes and room for `needed` of them; it grows to twice the size each time. */
function ensureCapacity(bytes: Buffer | undefined, size: number, needed: number, first: number): Buffer {
  if (bytes !== undefined && bytes.length >= needed) return bytes;
  const larger = Buffer.allocUnsafe(Math.max(needed, bytes === undefined ? first : bytes.length * 2));
  bytes?.copy(larger, 0, 0, size);
  return larger;
}

/* ---- JSON ---- */

/** Signal of the client that waits for the answer. */
interface AbortCheck {
  readonly isAborted: () => boolean;
}

// This many bytes take 0.1 ms at most: not worth measuring.
const MAX_SHORT_BYTES = 512;
// This many bytes take 2 ms at most; a longer body is read in pieces.
const MAX_SYNC_BYTES = 8192;
const SLICE_MS = 2;

/**
 * Reads the JSON value of a body (RFC 8259); 400 when it is not JSON. A long one is read in pieces, and so is a short one
 * when others have been read at once in this round of the event loop. `recordDepth`: see readBody().
 */
export async function readJsonValue(
  bytes: Uint8Array,
  request: { readonly slices: TimeSlices; readonly signal: AbortCheck },
  recordDepth?: number,
): Promise<unknown> {
  if (bytes.length <= MAX_SHORT_BYTES) return parseBody(bytes);
  const { slices, signal } = request;
  if (bytes.length > MAX_SYNC_BYTES || !slices.hasTime())
    return runInSlices(readLongBody(bytes, recordDepth), slices, signal);
  const startedAt = performance.now();
  try {
    return parseBody(bytes);
  } finally {
    slices.addTime(performance.now() - startedAt);
  }
}

/** Runs work in slices; 400 when the client has left. */
export async function runInSlices<T>(
  work: Generator<undefined, T>,
  slices: TimeSlices,
  signal: AbortCheck,
): Promise<T> {
  for (;;) {
    await slices.next();
    // The answer is no longer needed.
    if (signal.isAborted()) throw badRequest('BODY_INTERRUPTED', 'The request body was cut off');
    const until = performance.now() + SLICE_MS;
    do {
      const { done, value } = work.next();
      if (done === true) return value;
    } while (performance.now() < until);
  }
}
