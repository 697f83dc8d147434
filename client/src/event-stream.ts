// Reads event streams (WHATWG HTML, 9.2). The packages for it also reconnect, or are as long as this.
import { WdaError } from './error.ts';

/** Message of a stream. One without data only moves the id. */
export interface Message {
  event: string;
  id?: string;
  data?: string;
}

/**
 * Opens a stream and iterates over its messages: what is not taken is not read. Ends when the server closes it. Throws the reason
 * of `signal`, or UNREACHABLE when the connection breaks, when the first byte takes `first` seconds or a later one `later`.
 */
export async function* readMessages(
  open: (signal: AbortSignal) => Promise<ReadableStream<Uint8Array> | null>,
  signal: AbortSignal | undefined,
  { first, later }: { readonly first: number; readonly later: number },
): AsyncGenerator<Message, void, undefined> {
  signal?.throwIfAborted();
  const connection = new AbortController();
  const end = (): void => connection.abort(signal?.reason);
  signal?.addEventListener('abort', end);
  let timer: ReturnType<typeof setTimeout> | undefined;
  async function within<T>(seconds: number, answer: (signal: AbortSignal) => Promise<T>): Promise<T> {
    timer = setTimeout(() => connection.abort(unreachable(`within ${seconds} s`)), seconds * 1000);
    try {
      return await answer(connection.signal);
    } finally {
      clearTimeout(timer);
    }
  }
  async function* readChunks(): AsyncGenerator<string> {
    const reader = (await within(first, open))?.getReader();
    const decoder = new TextDecoder();
    for (let seconds = first; reader !== undefined; seconds = later) {
      // Runtimes differ in what they throw for a lost connection.
      const { done, value } = await within(seconds, () =>
        reader.read().catch((error) => {
          throw connection.signal.aborted ? connection.signal.reason : unreachable('more', error);
        }),
      );
      if (done) return;
      yield decoder.decode(value, { stream: true });
    }
  }
  try {
    yield* parseMessages(readChunks());
  } finally {
    signal?.removeEventListener('abort', end);
    connection.abort();
  }
}

const unreachable = (what: string, cause?: unknown): WdaError =>
  new WdaError(`Nothing came ${what}`, { status: 0, code: 'UNREACHABLE' }, cause);

/** Parses the messages of a stream whose lines end with LF, or CR LF where a proxy has changed them. */
export async function* parseMessages(chunks: AsyncIterable<string>): AsyncGenerator<Message, void, undefined> {
  let rest = '';
  let message: Message = { event: 'message' };
  for await (const chunk of chunks) {
    const [start = '', ...lines] = chunk.split('\n');
    rest += start;
    for (const next of lines) {
      const line = rest.endsWith('\r') ? rest.slice(0, -1) : rest;
      rest = next;
      const colon = line.indexOf(':');
      const name = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? '' : line.slice(colon + (line[colon + 1] === ' ' ? 2 : 1));
      if (line === '') {
        yield message;
        message = { event: 'message' };
      } else if (name === 'data') message.data = message.data === undefined ? value : `${message.data}\n${value}`;
      else if (name === 'event' || name === 'id') message[name] = value;
    }
  }
}
