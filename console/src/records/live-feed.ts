// Connection to the feed of changes of an entity. After a break it goes on from the last cursor; where there is none any
// more, from now on, and whoever listens reads the records again.
import { isApiError } from '../api/api-error.ts';
import { EventStreamParser, type StreamMessage } from '../api/event-stream.ts';
import { sleep } from '../api/retry.ts';
import { Observable } from '../store.ts';

export type LiveState =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'live' }
  /** `reason` is a sentence without its full stop. */
  | { readonly kind: 'notLive'; readonly reason: string };

export interface LiveFeedOptions {
  /** Opens the stream after a cursor, or from now on. Throws ApiError. */
  readonly open: (cursor: string | undefined, signal: AbortSignal) => Promise<ReadableStream<Uint8Array>>;
  /** Called with each event; `data` is JSON text. */
  readonly onEvent: (name: string, data: string) => void;
  /** Called when a stream without a cursor has all: changes before it are unknown. */
  readonly onStart: () => void;
}

// Time until a stream tells that it has all; a proxy that collects answers never passes that on.
const BEGIN_MS = 10_000;
// Pause of the longest heartbeat (WDA_STREAM_HEARTBEAT_SECONDS), and some more.
const SILENCE_MS = 75_000;
const LONGEST_PAUSE_MS = 30_000;
const BUFFERED_PAUSE_MS = 60_000;

/** Codes after which the changes after the cursor cannot be read. */
const LOST: ReadonlySet<string> = new Set(['VIEW_CHANGED', 'CURSOR_EXPIRED']);
const OFF: ReadonlySet<string> = new Set(['CHANGES_OFF', 'CHANGES_UNAVAILABLE']);
const PASSING: ReadonlySet<number> = new Set([0, 401, 408, 410, 429]);

interface End {
  readonly code: string;
  readonly message: string;
  /** Whether the stream had all before it ended. */
  readonly hasBegun: boolean;
  readonly isFinal?: boolean;
  readonly pauseMs?: number;
}

export class LiveFeed extends Observable {
  readonly #options: LiveFeedOptions;
  #state: LiveState = { kind: 'connecting' };
  #cursor: string | undefined;

  constructor(options: LiveFeedOptions) {
    super();
    this.#options = options;
  }

  readonly state = (): LiveState => this.#state;

  /** Follows the feed until the signal aborts, or a refusal is final. Goes on from the cursor of the run before. */
  async run(signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted; failures++) {
      const end = await this.#follow(signal);
      if (signal.aborted) break;
      if (LOST.has(end.code)) this.#cursor = undefined;
      if (end.hasBegun) failures = 0;
      const isFinal = end.isFinal === true || OFF.has(end.code);
      this.#setState(
        end.hasBegun && !isFinal ? { kind: 'connecting' } : { kind: 'notLive', reason: end.message.replace(/\.$/, '') },
      );
      if (isFinal) return;
      // Jitter separates pages that a restart of the server has cut off at once.
      const delay = (Math.min(LONGEST_PAUSE_MS, 1000 * 2 ** failures) * (1 + Math.random())) / 2;
      await sleep(Math.max(end.pauseMs ?? 0, delay), signal);
    }
    this.#setState({ kind: 'connecting' });
  }

  async #follow(signal: AbortSignal): Promise<End> {
    const connection = new AbortController();
    const close = (): void => connection.abort();
    signal.addEventListener('abort', close);
    let timer = setTimeout(close, BEGIN_MS);
    let hasBegun = false;
    const onMessage = ({ event, id, data }: StreamMessage): void => {
      if (event === 'caught-up') {
        hasBegun = true;
        if (this.#cursor === undefined) this.#options.onStart();
        this.#setState({ kind: 'live' });
      } else if (event !== '') this.#options.onEvent(event, data);
      if (id !== undefined) this.#cursor = id;
    };
    try {
      const body = await this.#options.open(this.#cursor, connection.signal);
      const parser = new EventStreamParser();
      const decoder = new TextDecoder();
      const reader = body.getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return { code: 'CLOSED', message: 'The connection was closed', hasBegun };
        const messages = parser.push(decoder.decode(value, { stream: true }));
        if (hasBegun || messages.length > 0) {
          clearTimeout(timer);
          timer = setTimeout(close, hasBegun ? SILENCE_MS : BEGIN_MS);
        }
        const end = messages.find(({ event }) => event === 'end');
        for (const message of messages) if (message !== end) onMessage(message);
        if (end !== undefined) return { ...(JSON.parse(end.data) as Pick<End, 'code' | 'message'>), hasBegun };
      }
    } catch (error) {
      if (isApiError(error))
        return {
          code: error.code,
          message: error.message,
          hasBegun: false,
          isFinal: error.status < 500 && !PASSING.has(error.status),
          pauseMs: (error.retryAfterSeconds ?? 0) * 1000,
        };
      const isSilent = connection.signal.aborted;
      return {
        code: 'LOST',
        message: isSilent ? 'No events arrive; a proxy may hold them back' : 'The connection was lost',
        hasBegun,
        pauseMs: isSilent && !hasBegun ? BUFFERED_PAUSE_MS : 0,
      };
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', close);
      connection.abort();
    }
  }

  #setState(state: LiveState): void {
    if (JSON.stringify(state) === JSON.stringify(this.#state)) return;
    this.#state = state;
    this.notify();
  }
}
