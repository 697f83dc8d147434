// The body of an import as a stream of chunks, read one by one until it is ended. A client that sends less than the minimum
// rate while it is waited for ends it, too; time that the database takes does not count.
import type { Readable } from 'node:stream';
import { badRequest } from '../errors.ts';

export interface Upload {
  /** Chunks, to be read once. Throws the reason of `end`, or 400 when the body breaks off or arrives too slowly. */
  readonly chunks: AsyncIterable<Buffer>;
  /** Stops reading: the reader that waits for the next chunk gets the reason instead. */
  readonly end: (reason: Error) => void;
}

export interface MinRate {
  /** Minimum rate; 0: none. */
  readonly bytesPerSecond: number;
  /** Seconds of waiting over which the bytes are counted. */
  readonly seconds: number;
}

const NO_MINIMUM: MinRate = { bytesPerSecond: 0, seconds: 1 };

export function readUpload(source: Readable, minRate: MinRate = NO_MINIMUM): Upload {
  let reason: Error | undefined;
  let wake: (() => void) | undefined;
  const awaken = (): void => wake?.();
  const end = (error: Error): void => {
    reason ??= error;
    awaken();
  };
  const meter = makeRateMeter(minRate, () => end(badRequest('BODY_INTERRUPTED', formatTooSlow(minRate))));

  const waitForData = async (): Promise<void> => {
    const stop = meter.wait();
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
    wake = undefined;
    stop();
  };

  async function* chunks(): AsyncGenerator<Buffer> {
    // Without a listener the error of a body that breaks off would end the process, even after the last read.
    source.on('error', awaken);
    const events = ['readable', 'end', 'close'] as const;
    for (const event of events) source.on(event, awaken);
    try {
      for (;;) {
        if (reason !== undefined) throw reason;
        const chunk = source.read() as Buffer | null;
        if (chunk !== null) {
          meter.count(chunk.length);
          yield chunk;
        } else if (source.readableEnded) return;
        else if (source.destroyed)
          throw badRequest('BODY_INTERRUPTED', `The request body was cut off: ${getCause(source)}`);
        else await waitForData();
      }
    } finally {
      // The stream stays open until the request ends: the answer uses the same connection.
      for (const event of events) source.off(event, awaken);
    }
  }

  return { chunks: chunks(), end };
}

function getCause({ errored }: Readable): string {
  return errored?.message ?? 'the connection was closed';
}

function formatTooSlow({ bytesPerSecond, seconds }: MinRate): string {
  return `The request body arrives too slowly: less than ${bytesPerSecond} bytes a second over ${seconds} s. Nothing was changed`;
}

/** Counts bytes against the time spent waiting; a rate below the minimum is reported once a window is full. */
export interface RateMeter {
  readonly count: (bytes: number) => void;
  /** Starts the time of waiting for the other side; returns the function that stops it. */
  readonly wait: () => () => void;
}

export function makeRateMeter({ bytesPerSecond, seconds }: MinRate, onTooSlow: () => void): RateMeter {
  const windowMs = seconds * 1000;
  let bytes = 0;
  let waitedMs = 0;
  const closeWindow = (): void => {
    const isEnough = bytes >= bytesPerSecond * seconds;
    bytes = 0;
    waitedMs = 0;
    if (!isEnough) onTooSlow();
  };
  return {
    count(added) {
      bytes += added;
    },
    wait() {
      if (bytesPerSecond === 0) return () => undefined;
      let since = performance.now();
      let isOver = false;
      const addWait = (): void => {
        const now = performance.now();
        waitedMs += now - since;
        since = now;
        if (waitedMs >= windowMs) closeWindow();
      };
      const startTimer = (): NodeJS.Timeout => setTimeout(tick, Math.max(1, windowMs - waitedMs));
      const tick = (): void => {
        addWait();
        // The report may have ended the waiting.
        if (!isOver) timer = startTimer();
      };
      let timer = startTimer();
      return () => {
        isOver = true;
        clearTimeout(timer);
        addWait();
      };
    },
  };
}
