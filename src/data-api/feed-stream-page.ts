// Reads the pages of a stream: waits for changes after its place, and makes messages of their events, once for all streams
// that have the same view and place.
import type { Config } from '../config.ts';
import type { Executor } from '../database/pool.ts';
import { viewChanged } from '../errors.ts';
import type { FeedRequest } from '../request/feed-request.ts';
import { toChunk } from '../response/chunk.ts';
import { formatMessage } from '../response/event-stream.ts';
import { Deadline, type RequestContext } from './context.ts';
import { type Continuation, numberChanges } from './feed-numbering.ts';
import {
  describeRestart,
  type FeedPage,
  type PageDeps,
  type ResolvedFeed,
  readPage,
  resolveFeed,
  sealPlace,
} from './feed-page.ts';
import type { FeedStreams, StreamPage } from './feed-streams.ts';
import type { FeedWatch } from './feed-watch.ts';
import { NEVER } from './internal-request.ts';
import type { SnapshotRetry } from './retry.ts';

export interface StreamDeps extends PageDeps {
  readonly config: Pick<Config, 'maxResponseBytes' | 'statementTimeoutMs' | 'streamHeartbeatSeconds'>;
  readonly retry: SnapshotRetry;
  readonly watch: FeedWatch;
  readonly streams: FeedStreams;
}

export const PAGE_SIZE = 100;
// Interval of the check of credential and view, which must end a stream within a second.
export const CHECK_MS = 600;

/** A feed as a stream reads it. */
export interface StreamSource {
  readonly deps: StreamDeps;
  readonly context: RequestContext;
  readonly executor: Executor;
  readonly feed: FeedRequest;
}

/** A page with the feed as it was resolved for it. */
export interface Read {
  readonly resolved: ResolvedFeed;
  readonly page: StreamPage;
}

/** Where a stream is. */
export interface Progress {
  resolved: ResolvedFeed;
  /**
   * The next page, here alone and only until it is sent: a stream that waits for its client keeps none. Variables of follow()
   * would keep it, as a function that waits keeps all of them.
   */
  page: StreamPage | undefined;
  /** Place after what was sent. */
  place: Continuation;
  /** Position of the last cursor that was sent. */
  sent: number;
  /** Time of the last message, on the clock of performance.now(). */
  sentAt: number;
  /** Whether the last page had an end, and all of it was sent. */
  isAtEnd: boolean;
  /** Events of the next page: fewer for a client that reads slowly, as what does not fit is read again. */
  size: number;
}

export const startProgress = ({ resolved, page }: Read): Progress => ({
  resolved,
  page,
  place: page.end,
  sent: page.end.position - 1,
  sentAt: performance.now(),
  isAtEnd: false,
  size: PAGE_SIZE,
});

/** Returns the place after some events of a page. */
export function passPage(page: StreamPage, count: number, before: Progress) {
  const isWhole = count === page.events.length;
  const last = page.events[count - 1];
  return {
    place: isWhole || last === undefined ? page.end : last.end,
    sent: last?.end.position ?? before.sent,
    sentAt: last === undefined ? before.sentAt : performance.now(),
    isAtEnd: isWhole && !page.more,
    size: isWhole ? PAGE_SIZE : Math.min(PAGE_SIZE, 2 * count),
  };
}

/**
 * Waits for changes after the place, unless there are more, and reads a page of them; no page when there were none until the
 * next check. Throws when the credential or the view is no longer that of the stream.
 */
export async function readNext({ deps, context, executor, feed }: StreamSource, progress: Progress): Promise<void> {
  const { place, size } = progress;
  const { context: before, identity } = progress.resolved;
  const { workspace } = before;
  const hasChanges =
    !progress.isAtEnd ||
    (await deps.watch.wait(workspace.id, {
      after: place.position,
      until: performance.now() + CHECK_MS,
      signal: context.signal,
      poll: () => numberChanges((query, pool) => executor.run(query, pool, { tenant: workspace.id }), workspace),
    }));
  // Before any event, as the view may be another one.
  const fresh = await context.refresh();
  if (!hasChanges && fresh.workspace === workspace && fresh.principal === before.principal) return;
  const read = await deps.retry.run(fresh, { executor }, async (now) => {
    const deadline = new Deadline(deps.config.statementTimeoutMs);
    // A read of several streams must not end with one of their clients.
    const resolved = await resolveFeed(deps, { ...now, signal: NEVER, deadline }, executor, { ...feed, size });
    if (resolved.identity.query !== identity.query || resolved.identity.view !== identity.view)
      throw viewChanged(await describeRestart(resolved));
    return { resolved, page: await readShared(deps, resolved, place) };
  });
  Object.assign(progress, read);
}

/** Reads a page, once for all streams that have the same view and the same place. */
function readShared(deps: StreamDeps, resolved: ResolvedFeed, place: Continuation): Promise<StreamPage> {
  const { context, feed, identity } = resolved;
  const read = async (): Promise<StreamPage> => toStreamPage(resolved, await readPage(deps, resolved, place));
  if (place.seen !== undefined) return read();
  const { id, version, part } = context.workspace;
  const parts = [
    id,
    version,
    part?.key,
    context.principal.kind,
    identity.query,
    identity.view,
    feed.previous,
    feed.size,
  ];
  return deps.streams.share(JSON.stringify([...parts, place.position]), read);
}

/** Writes the events of a page as messages. A cursor takes 15 us, so streams that share a page share its messages. */
export const toStreamPage = (resolved: ResolvedFeed, page: FeedPage): StreamPage => ({
  ...page,
  events: page.events.map(({ name, text, end }) => ({
    message: toChunk(formatMessage(name, sealPlace(resolved, end), text)),
    end,
  })),
});
