// Implements the feed of changes: pages, and live events by long polls. Has no types of a schema; changes.ts has them.
import type { Ask } from './ask.ts';
import { type LooseQuery, toFeedQuery } from './body.ts';
import type { FeedPage, LostPlace, Watch } from './changes.ts';
import { isWdaError } from './error.ts';
import { type CallOptions, pause } from './transport.ts';

export interface LooseFeed extends LooseQuery, CallOptions {
  readonly after?: string | undefined;
  readonly since?: string | undefined;
  readonly wait?: number;
}

// Proxies close connections that are idle for a minute.
const WAIT_SECONDS = 30;
const MOST_SECONDS = 30;

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

  function watch({ after, since, ...options }: LooseFeed = {}): Watch<unknown> {
    let cursor = after;
    let place: LooseFeed = { after, since };
    let lost: LostPlace['reason'] | undefined;
    async function* follow(): AsyncGenerator<unknown> {
      for (let failures = 0; ; ) {
        try {
          const pages = changes({ ...options, ...place, wait: WAIT_SECONDS, retries: 0 });
          for await (const page of pages) {
            failures = 0;
            place = { after: page.cursor };
            // The new place is known before the records are read again, so that nothing between them is missing.
            if (lost !== undefined) yield { type: 'reset', reason: lost } satisfies LostPlace;
            lost = undefined;
            yield* page.data;
            cursor = page.cursor;
          }
        } catch (error) {
          options.signal?.throwIfAborted();
          if (!isWdaError(error)) throw error;
          const { status, code, retryAfterSeconds = 0 } = error;
          if (status === 410) {
            lost = code as LostPlace['reason'];
            place = {};
          } else if (status === 0 || status === 429 || status >= 500) {
            // Jitter separates readers that a restart of the server has cut off at once.
            const delay = (Math.min(MOST_SECONDS, 2 ** ++failures) * (1 + Math.random())) / 2;
            await pause(Math.max(retryAfterSeconds, delay), options.signal);
          } else throw error;
        }
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
