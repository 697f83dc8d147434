// Implements the feed of changes: pages, and live events by an event stream, or by long polls where no stream arrives. Has no
// types of a schema; changes.ts has them.
import type { Ask } from './ask.ts';
import { type LooseQuery, toFeedQuery } from './body.ts';
import type { FeedPage, LostPlace, Watch } from './changes.ts';
import { isWdaError, WdaError } from './error.ts';
import { readMessages } from './event-stream.ts';
import { parseJson } from './json.ts';
import { type CallOptions, pause } from './transport.ts';

export interface LooseFeed extends LooseQuery, CallOptions {
  readonly after?: string | undefined;
  readonly since?: string | undefined;
  readonly wait?: number;
}

// Proxies close connections that are idle for a minute.
const WAIT_SECONDS = 30;
const MOST_SECONDS = 30;
// A server sends its first bytes at once, a proxy that buffers them never; the heartbeat of a server takes 60 s at most.
const SILENCE = { first: 10, later: 75 };
const MOST_POLLS = 128;

/** Creates the calls for changes. `path`: that of the feed below the workspace; `base`: parameters in place of missing ones. */
export function makeFeed(ask: Ask, path: string, base: LooseQuery = {}) {
  async function* changes({ signal, retries, wait = 0, ...input }: LooseFeed = {}): AsyncGenerator<FeedPage<unknown>> {
    // The first page does not wait: a reader that begins now has a cursor from then on, whatever happens.
    for (let place: LooseFeed = {}; ; ) {
      const query = toFeedQuery({ ...base, ...input, ...place });
      const { data, meta } = await ask('GET', path, { query, signal, retries });
      const { cursor, more } = meta as FeedPage<unknown>;
      yield { data: data as unknown[], cursor, more };
      if (!more && wait === 0) return;
      place = { after: cursor, since: undefined, wait };
    }
  }

  /** Iterates over the events of one stream, as pages of one event or of none. */
  async function* live({ signal, retries, ...input }: LooseFeed): AsyncGenerator<FeedPage<unknown>> {
    const query = toFeedQuery({ ...base, ...input });
    const open = async (signal: AbortSignal) =>
      (await ask.stream(path, query, { signal, retries, accept: 'text/event-stream' })).body;
    let cursor = '';
    for await (const { event, id, data } of readMessages(open, signal, SILENCE)) {
      const value = data === undefined ? undefined : parseJson(data);
      if (event === 'end') {
        const { code, message } = value as WdaError;
        if (code !== 'VIEW_CHANGED' && code !== 'CURSOR_EXPIRED') return;
        throw new WdaError(message, { status: 410, code });
      }
      if (id !== undefined) cursor = id;
      if (cursor !== '')
        yield { data: value === undefined || event === 'caught-up' ? [] : [value], cursor, more: true };
    }
  }

  function watch({ after, since, ...options }: LooseFeed = {}): Watch<unknown> {
    let cursor = after;
    let lost: LostPlace['reason'] | undefined;
    async function* follow(): AsyncGenerator<unknown> {
      let failures = 0;
      // Pages that are read before a stream is tried again, and their number after the next one that does not arrive.
      let polls = 0;
      let nextPolls = 2;
      for (;;) {
        const place = lost === undefined ? { after: cursor, since: cursor === undefined ? since : undefined } : {};
        const isPolling = polls > 0;
        let isEmpty = true;
        let delay = 0;
        try {
          const request = { ...options, ...place, retries: 0 };
          const pages = isPolling ? changes({ ...request, wait: WAIT_SECONDS }) : live(request);
          for await (const page of pages) {
            failures = 0;
            isEmpty = false;
            // The new place is known before the records are read again, so that nothing between them is missing.
            if (lost !== undefined) yield { type: 'reset', reason: lost } satisfies LostPlace;
            lost = undefined;
            yield* page.data;
            cursor = page.cursor;
            if (isPolling && --polls === 0) break;
          }
        } catch (error) {
          options.signal?.throwIfAborted();
          if (!isWdaError(error)) throw error;
          const { status, code, retryAfterSeconds = 0 } = error;
          if (status === 410) {
            lost = code as LostPlace['reason'];
            continue;
          }
          if (status !== 0 && status !== 429 && status < 500) throw error;
          delay = retryAfterSeconds;
        }
        if (isPolling) {
          if (polls === 0) continue;
        } else if (isEmpty) {
          polls = nextPolls;
          nextPolls = Math.min(MOST_POLLS, 2 * nextPolls);
        } else nextPolls = 2;
        // Jitter separates readers that a restart of the server has cut off at once.
        const jitter = (Math.min(MOST_SECONDS, 2 ** ++failures) * (1 + Math.random())) / 2;
        await pause(Math.max(delay, jitter), options.signal);
      }
    }
    return {
      get cursor() {
        return cursor;
      },
      [Symbol.asyncIterator]: follow,
    };
  }

  return { changes, watch };
}
