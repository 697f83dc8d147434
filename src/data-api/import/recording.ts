// The body of an import, recorded while it is read: a short file that arrives at once can be read a second time.

export interface Recording {
  /** Reads the chunks from the first one on. Of several readers one may read at a time. */
  readonly read: () => AsyncGenerator<Buffer>;
  /** Resolves with whether the rest arrives within a moment. */
  readonly isWhole: () => Promise<boolean>;
}

// Bytes of a file that is recorded: each import, of which there are WDA_TRANSFER_CONNECTIONS, may hold so many.
const MAX_BYTES = 8_388_608;
// A file of 8 MiB from the same network is there after 0.1 s.
const WAIT_MS = 250;

/** Records a body. `declaredBytes`: its Content-Length, or undefined; returns undefined for one that may be too long. */
export function recordBody(source: AsyncIterable<Buffer>, declaredBytes: string | undefined): Recording | undefined {
  if (declaredBytes === undefined || Number(declaredBytes) > MAX_BYTES) return undefined;
  const iterator = source[Symbol.asyncIterator]();
  const chunks: Buffer[] = [];
  let isEnded = false;
  let failure: { readonly error: unknown } | undefined;
  let pending: Promise<void> | undefined;
  const pull = async (): Promise<void> => {
    try {
      const next = await iterator.next();
      if (next.done === true) isEnded = true;
      else chunks.push(next.value);
    } catch (error) {
      failure = { error };
    }
    pending = undefined;
  };
  const waitForNext = (): Promise<void> => {
    pending ??= pull();
    return pending;
  };
  return {
    async *read() {
      try {
        for (let index = 0; ; ) {
          const chunk = chunks[index];
          if (chunk !== undefined) {
            index++;
            yield chunk;
          } else if (failure !== undefined) throw failure.error;
          else if (isEnded) return;
          else await waitForNext();
        }
      } finally {
        // Ends a source that has not ended; one that waits for its client ends with the next chunk.
        void iterator.return?.().catch(() => undefined);
      }
    },
    async isWhole() {
      let timer: NodeJS.Timeout | undefined;
      const timeout = new Promise<'late'>((resolve) => {
        timer = setTimeout(resolve, WAIT_MS, 'late');
      });
      try {
        while (!isEnded && failure === undefined) {
          if ((await Promise.race([waitForNext(), timeout])) === 'late') break;
        }
      } finally {
        clearTimeout(timer);
      }
      return isEnded;
    },
  };
}
