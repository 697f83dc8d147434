// Connection to the feed of changes of an entity. After a break it goes on from the last cursor; where there is none any
// more, from now on, and whoever listens reads the records again.
import { readMessages } from '../../../client/src/event-stream.ts';
import { isApiError } from '../api/api-error.ts';
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

// A server sends its first bytes at once, a proxy that buffers them never; the heartbeat of a server takes 60 s at most.
const SILENCE = { first: 10, later: 75 };
const LONGEST_PAUSE_MS = 30_000;

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
    let hasBegun = false;
    const open = (connection: AbortSignal) => this.#options.open(this.#cursor, connection);
    try {
      for await (const { event, id, data } of readMessages(open, signal, SILENCE)) {
        if (event === 'end') return { ...(JSON.parse(data ?? '{}') as Pick<End, 'code' | 'message'>), hasBegun };
        if (event === 'caught-up') {
          hasBegun = true;
          if (this.#cursor === undefined) this.#options.onStart();
          this.#setState({ kind: 'live' });
        } else if (data !== undefined) this.#options.onEvent(event, data);
        if (id !== undefined) this.#cursor = id;
      }
      return { code: 'CLOSED', message: 'The connection was closed', hasBegun };
    } catch (error) {
      if (isApiError(error))
        return {
          code: error.code,
          message: error.message,
          hasBegun: false,
          isFinal: error.status < 500 && !PASSING.has(error.status),
          pauseMs: (error.retryAfterSeconds ?? 0) * 1000,
        };
      return hasBegun
        ? { code: 'LOST', message: 'The connection was lost', hasBegun }
        : {
            code: 'LOST',
            message: 'No events arrive; a proxy may hold them back',
            hasBegun,
            pauseMs: LONGEST_PAUSE_MS,
          };
    }
  }

  #setState(state: LiveState): void {
    if (JSON.stringify(state) === JSON.stringify(this.#state)) return;
    this.#state = state;
    this.notify();
  }
}
