// Sends the events of a feed as they happen, as an event stream. A stream holds no database connection, and no more of what
// its client has not read than a buffer: beyond that it is only its place, and reads on from the database.
import { Readable } from 'node:stream';
import type { Config } from '../config.ts';
import type { Executor } from '../database/pool.ts';
import { ApiError, viewChanged } from '../errors.ts';
import type { RawRequest, RequestSignal } from '../http/request.ts';
import { type FeedRequest, parseFeedRequest } from '../request/feed-request.ts';
import { formatId, formatMessage, HEARTBEAT, prefersStream, STREAM_START } from '../response/event-stream.ts';
import type { Reply } from '../response/reply.ts';
import { Deadline, type RequestContext } from './context.ts';
import { type Continuation, numberChanges, type Run } from './feed-numbering.ts';
import {
  describeRestart,
  type FeedPage,
  type PageDeps,
  type ResolvedFeed,
  readEndings,
  readFirstPage,
  readPage,
  resolveFeed,
  sealPlace,
} from './feed-page.ts';
import type { FeedStreams, StreamEvent, StreamPage } from './feed-streams.ts';
import type { FeedWatch } from './feed-watch.ts';
import type { SnapshotRetry } from './retry.ts';

export interface StreamDeps extends PageDeps {
  readonly config: Pick<Config, 'maxResponseBytes' | 'statementTimeoutMs' | 'streamHeartbeatSeconds'>;
  readonly retry: SnapshotRetry;
  readonly watch: FeedWatch;
  readonly streams: FeedStreams;
}

const PAGE_SIZE = 100;
// Interval of the check of credential and view, which must end a stream within a second.
export const CHECK_MS = 600;
const PAUSE_MS = 1000;
// Bytes that wait in memory; the connection has as many again.
const BUFFER_BYTES = 65_536;
const TOO_SLOW_MS = 60_000;
// Time for the last message of a client that reads nothing.
const LINGER_MS = 1000;
// Events after which a client is told again that it has all.
const STRETCH = 1000;

export const wantsStream = ({ headers }: RawRequest): boolean => prefersStream(headers.accept);

/** Opens a stream; what is wrong before its first byte is thrown. */
export async function openStream(
  deps: StreamDeps,
  context: RequestContext,
  entity: string | undefined,
): Promise<Reply> {
  const { request } = context;
  const lastEventId = request.headers['last-event-id'];
  const parsed = parseFeedRequest(request.query, entity, typeof lastEventId === 'string' ? lastEventId : '');
  const release = deps.streams.take(context, 'stream');
  try {
    const feed = { ...parsed, size: PAGE_SIZE };
    const executor = deps.databases.forWorkspace(context.workspace);
    const first = await deps.retry.run(context, { executor }, async (now) => {
      const resolved = await resolveFeed(deps, now, executor, feed);
      return { resolved, page: toStreamPage(resolved, await readFirstPage(deps, resolved)) };
    });
    const output = makeOutput(context.signal);
    const follower: Follower = { deps, context, executor, feed, output };
    void follow(follower, startProgress(first))
      .catch((error) => output.stream.destroy(error))
      .finally(release);
    return {
      status: 200,
      headers: { 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no', Connection: 'close' },
      body: { kind: 'stream', contentType: 'text/event-stream; charset=utf-8', stream: output.stream },
    };
  } catch (error) {
    release();
    throw error;
  }
}

/* ---- output ---- */

interface Output {
  readonly stream: Readable;
  /** Returns whether there is room for more. */
  readonly push: (text: string) => boolean;
  /** Resolves when there is room, the client is gone, or the time is over. */
  readonly drain: (timeoutMs: number) => Promise<void>;
  readonly isFull: () => boolean;
  readonly isClosed: () => boolean;
  /** Time of the last message, on the clock of performance.now(). */
  readonly sentAt: () => number;
  readonly finish: (text: string) => void;
}

function makeOutput(signal: RequestSignal): Output {
  let isFull = false;
  let sentAt = performance.now();
  let wake: (() => void) | undefined;
  const stream = new Readable({
    highWaterMark: BUFFER_BYTES,
    read() {
      isFull = false;
      wake?.();
    },
    destroy(error, callback) {
      unsubscribe();
      wake?.();
      callback(error);
    },
  });
  const unsubscribe = signal.onAbort(() => stream.destroy());
  // The pipeline of the response adds its listener later; until then an error must not end the process.
  stream.on('error', () => undefined);
  const push = (text: string): boolean => {
    if (stream.destroyed) return false;
    sentAt = performance.now();
    isFull = !stream.push(text);
    return !isFull;
  };
  return {
    stream,
    push,
    drain: (timeoutMs) =>
      new Promise((resolve) => {
        const timer = setTimeout(() => wake?.(), timeoutMs);
        wake = () => {
          clearTimeout(timer);
          wake = undefined;
          resolve();
        };
        if (!isFull || stream.destroyed) wake();
      }),
    isFull: () => isFull,
    isClosed: () => stream.destroyed || signal.isAborted(),
    sentAt: () => sentAt,
    finish(text) {
      push(text);
      if (!stream.destroyed) stream.push(null);
      if (isFull) setTimeout(() => stream.destroy(), LINGER_MS).unref();
    },
  };
}

/* ---- following ---- */

interface Follower {
  readonly deps: StreamDeps;
  readonly context: RequestContext;
  readonly executor: Executor;
  readonly feed: FeedRequest;
  readonly output: Output;
}

/** A page with the feed as it was resolved for it. */
interface Read {
  readonly resolved: ResolvedFeed;
  readonly page: StreamPage;
}

/** Where a stream is. */
interface Progress {
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
  /** Whether the last page had an end, and all of it was sent. */
  isAtEnd: boolean;
  /** Events of the next page: fewer for a client that reads slowly, as what does not fit is read again. */
  size: number;
}

const startProgress = ({ resolved, page }: Read): Progress => ({
  resolved,
  page,
  place: page.end,
  sent: page.end.position - 1,
  isAtEnd: false,
  size: PAGE_SIZE,
});

/** Sends pages until the client is gone or the stream has an end. */
async function follow(follower: Follower, progress: Progress): Promise<void> {
  const { deps, output } = follower;
  const end = (code: string, message: string): void => {
    deps.streams.countEnd(code);
    output.finish(formatMessage('end', undefined, JSON.stringify({ code, message })));
  };
  output.push(STREAM_START);
  let untold = Number.POSITIVE_INFINITY;
  while (!output.isClosed()) {
    if (deps.streams.isEnding()) return end('SHUTTING_DOWN', 'The server is shutting down: connect again');
    untold += sendPage(follower, progress);
    const until = performance.now() + TOO_SLOW_MS;
    while (output.isFull() && !output.isClosed() && !deps.streams.isEnding() && performance.now() < until)
      await output.drain(CHECK_MS);
    if (output.isClosed()) return;
    if (output.isFull() && !deps.streams.isEnding())
      return end('TOO_SLOW', 'Nothing was read for a minute: connect again');
    const { resolved, place } = progress;
    if (progress.isAtEnd && untold > STRETCH) {
      const cursor = sealPlace(resolved, place);
      output.push(formatMessage('caught-up', cursor, JSON.stringify({ cursor })));
      progress.sent = place.position;
      untold = 0;
    }
    try {
      await readNext(follower, progress);
    } catch (error) {
      const reason = toEnd(error);
      if (reason !== undefined) {
        if (reason === 'CHANGES_OFF' || reason === 'VIEW_CHANGED') await sendEndings(follower, resolved, place);
        return end(reason, (error as Error).message);
      }
      if (!(error instanceof ApiError)) throw error;
      // The database is away: the stream stays, and goes on without a gap.
      await deps.watch.pause(PAUSE_MS);
    }
    if (performance.now() - output.sentAt() > deps.config.streamHeartbeatSeconds * 1000 - CHECK_MS) {
      output.push(progress.sent === place.position ? HEARTBEAT : formatId(sealPlace(resolved, place)));
      progress.sent = place.position;
    }
  }
}

/** Sends the events of the page until there is no more room, and lets go of the page. Returns the number of events. */
function sendPage({ deps, output }: Follower, progress: Progress): number {
  const { page } = progress;
  if (page === undefined) return 0;
  const { events, more } = page;
  let last: StreamEvent | undefined;
  let count = 0;
  for (const event of events) {
    last = event;
    count++;
    deps.streams.countEvent();
    if (!output.push(event.message)) break;
  }
  const isWhole = count === events.length;
  progress.page = undefined;
  progress.place = isWhole || last === undefined ? page.end : last.end;
  progress.sent = last?.end.position ?? progress.sent;
  progress.isAtEnd = isWhole && !more;
  progress.size = isWhole ? PAGE_SIZE : Math.min(PAGE_SIZE, 2 * count);
  return count;
}

/** Sends the ends of entities, or of their changes, that end the stream. */
async function sendEndings(
  { deps, executor, output }: Follower,
  resolved: ResolvedFeed,
  place: Continuation,
): Promise<void> {
  const { id } = resolved.context.workspace;
  const run: Run = (query, pool) => executor.run(query, pool, { tenant: id });
  // Without the database the stream ends all the same; its end says why.
  for (const { name, text, end } of await readEndings(run, resolved, place).catch(() => [])) {
    output.push(formatMessage(name, sealPlace(resolved, end), text));
    deps.streams.countEvent();
  }
}

/**
 * Waits for changes after the place, unless there are more, and reads a page of them; no page when there were none until the
 * next check. Throws when the credential or the view is no longer that of the stream.
 */
async function readNext({ deps, context, executor, feed }: Follower, progress: Progress): Promise<void> {
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
    const resolved = await resolveFeed(deps, { ...now, signal: NEVER, deadline }, executor, { ...feed, size });
    if (resolved.identity.query !== identity.query || resolved.identity.view !== identity.view)
      throw viewChanged(await describeRestart(resolved));
    return { resolved, page: await readShared(deps, resolved, place) };
  });
  Object.assign(progress, read);
}

/** A read of several streams must not end with one of their clients. */
const NEVER: RequestSignal = { isAborted: () => false, onAbort: () => () => undefined };

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
const toStreamPage = (resolved: ResolvedFeed, page: FeedPage): StreamPage => ({
  ...page,
  events: page.events.map(({ name, text, end }) => ({
    message: formatMessage(name, sealPlace(resolved, end), text),
    end,
  })),
});

/** Returns the code of the end of a stream by this error, or undefined for an error that passes. */
function toEnd(error: unknown): string | undefined {
  if (!(error instanceof ApiError) || error.status >= 500 || error.status === 429) return undefined;
  const { code, reason, status } = error;
  if (code === 'CURSOR_EXPIRED' || code === 'CHANGES_OFF' || code === 'WORKSPACE_SUSPENDED') return code;
  if (status === 401) return reason === 'TOKEN_EXPIRED' ? reason : 'CREDENTIAL_REVOKED';
  if (status === 403) return 'CREDENTIAL_REVOKED';
  // An entity that is gone, or is not of the credential any more.
  return status === 404 ? 'CHANGES_OFF' : 'VIEW_CHANGED';
}
