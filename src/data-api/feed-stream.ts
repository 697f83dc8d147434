// Sends the events of a feed as they happen, as an event stream. A stream holds no database connection, and no more of what
// its client has not read than a buffer: beyond that it is only its place, and reads on from the database.
import { setImmediate as turn } from 'node:timers/promises';
import type { Config } from '../config.ts';
import type { Executor } from '../database/pool.ts';
import { ApiError, viewChanged } from '../errors.ts';
import type { RawRequest, RequestSignal } from '../http/request.ts';
import { type FeedRequest, parseFeedRequest } from '../request/feed-request.ts';
import { type MessageSink, toChunk } from '../response/chunk.ts';
import { formatId, formatMessage, HEARTBEAT, prefersStream, STREAM_START } from '../response/event-stream.ts';
import type { Reply } from '../response/reply.ts';
import { Deadline, type RequestContext } from './context.ts';
import { type Continuation, makeRun, numberChanges, type Run } from './feed-numbering.ts';
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
import type { FeedStreams, StreamPage } from './feed-streams.ts';
import type { FeedWatch } from './feed-watch.ts';
import { makeRequest } from './internal-request.ts';
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
const TOO_SLOW_MS = 60_000;
// Time for the last message of a client that reads nothing.
const LINGER_MS = 1000;
// Messages after which other requests have a turn: 5 ms.
const MAX_WRITES_AT_ONCE = 500;
// Events after which a client is told again that it has all.
const STRETCH = 1000;

const START = toChunk(STREAM_START);
const SILENCE = toChunk(HEARTBEAT);

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
    const { credential, path } = request;
    // A function of its own, as this one would keep the request.
    const start = startStream.bind(undefined, { deps, executor, feed, first, credential, path, release }, context);
    return {
      status: 200,
      headers: { 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no', Connection: 'close' },
      body: { kind: 'messages', contentType: 'text/event-stream; charset=utf-8', start, cancel: release },
    };
  } catch (error) {
    release();
    throw error;
  }
}

interface Opened extends Pick<Follower, 'deps' | 'executor' | 'feed'>, Pick<RawRequest, 'credential' | 'path'> {
  readonly first: Read;
  readonly release: () => void;
}

function startStream(opened: Opened, { request, outlive }: RequestContext, sink: MessageSink): void {
  const { deps, executor, feed, first, credential, path, release } = opened;
  const { id, arrivedAt, method } = request;
  const source = { id, arrivedAt, signal: NEVER, slices: AT_ONCE };
  const context = outlive(makeRequest({ method, path }, source));
  const { identity, views } = first.resolved;
  const run = makeRun(executor, context, views[0]?.entity.name ?? '');
  const progress = startProgress({ resolved: { ...first.resolved, context, run }, page: first.page });
  const parts = [credential, path, context.workspace.id, identity.query, identity.view, feed.previous];
  const key = typeof credential === 'string' ? JSON.stringify(parts) : undefined;
  const follower: Follower = { deps, context, executor, feed, key, outputs: new Set() };
  const output = new Output(sink, follower, release);
  output.push(START);
  start(follower, progress);
}

function start(follower: Follower, progress: Progress): void {
  follow(follower, progress).catch(() => {
    for (const { sink } of follower.outputs) sink.destroy();
  });
}

const AT_ONCE = { next: async () => undefined, hasTime: () => true, addTime: () => undefined };

/* ---- output ---- */

/** A stream as its client has it. */
class Output {
  readonly sink: MessageSink;
  /** Events that were sent since the client was told that it has all. */
  untold = Number.POSITIVE_INFINITY;
  #follower: Follower;

  constructor(sink: MessageSink, follower: Follower, release: () => void) {
    this.sink = sink;
    this.#follower = follower;
    follower.outputs.add(this);
    sink.onClose(() => {
      this.#follower.outputs.delete(this);
      release();
    });
  }

  /** Leaves its follower for another one. */
  join(follower: Follower): void {
    this.#follower.outputs.delete(this);
    this.#follower = follower;
    follower.outputs.add(this);
  }

  /** Returns whether there is room for more. */
  push(message: Uint8Array): boolean {
    return this.sink.send(message);
  }

  /** Resolves when there is room, the client is gone, or the time is over. */
  drain(timeoutMs: number): Promise<void> {
    const { sink } = this;
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        sink.onDrain(undefined);
        resolve();
      };
      const timer = setTimeout(wake, timeoutMs);
      sink.onDrain(wake);
      if (!sink.isFull() || sink.isClosed()) wake();
    });
  }

  finish(message: Uint8Array): void {
    const { sink } = this;
    sink.send(message);
    const isFull = sink.isFull();
    sink.end();
    if (isFull) setTimeout(() => sink.destroy(), LINGER_MS).unref();
  }
}

/* ---- following ---- */

/**
 * Reads the feed for streams with the same place, view and credential. Streams of one credential that have all are one
 * follower, so that each of ten thousand is little more than its socket; one whose client reads slowly leaves it.
 */
interface Follower {
  readonly deps: StreamDeps;
  readonly context: RequestContext;
  readonly executor: Executor;
  readonly feed: FeedRequest;
  /** Text of what is the same for all of its streams, or undefined if they are not joined with others. */
  readonly key: string | undefined;
  readonly outputs: Set<Output>;
}

/** Followers that have everything and wait, by their keys. */
type WaitingFollowers = Map<string, readonly [Follower, Progress]>;

/** A page with the feed as it was resolved for it. */
interface Read {
  readonly resolved: ResolvedFeed;
  readonly page: StreamPage;
}

/** Where a follower is. */
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
  /** Time of the last message, on the clock of performance.now(). */
  sentAt: number;
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
  sentAt: performance.now(),
  isAtEnd: false,
  size: PAGE_SIZE,
});

/** Sends pages until all clients are gone, the streams have an end, or another follower has them. */
async function follow(follower: Follower, progress: Progress): Promise<void> {
  const { deps, outputs } = follower;
  const end = (code: string, message: string): void => {
    const chunk = toChunk(formatMessage('end', undefined, JSON.stringify({ code, message })));
    for (const output of outputs) {
      deps.streams.countEnd(code);
      output.finish(chunk);
    }
  };
  while (outputs.size > 0) {
    if (deps.streams.isEnding()) return end('SHUTTING_DOWN', 'The server is shutting down: connect again');
    await sendPage(follower, progress);
    if (!(await waitForCapacity(follower, progress)))
      return end('TOO_SLOW', 'Nothing was read for a minute: connect again');
    const { resolved, place } = progress;
    if (progress.isAtEnd) sendCaughtUp(follower, progress);
    if (joinWaiting(follower, progress)) return;
    const error = await readNext(follower, progress).then(returnNothing, returnError);
    // No other stream joins before the page is sent.
    stopWaiting(follower);
    if (error !== undefined) {
      const reason = toEnd(error);
      if (reason !== undefined) {
        if (reason === 'CHANGES_OFF' || reason === 'VIEW_CHANGED') await sendEndings(follower, resolved, place);
        return end(reason, (error as Error).message);
      }
      if (!(error instanceof ApiError)) throw error;
      // The database is away: the stream stays, and goes on without a gap.
      await deps.watch.pause(PAUSE_MS);
    }
    if (performance.now() - progress.sentAt > deps.config.streamHeartbeatSeconds * 1000 - CHECK_MS)
      sendToAll(follower, progress, progress.sent === place.position ? SILENCE : seal(resolved, place));
  }
}

const returnNothing = (): undefined => undefined;
const returnError = (error: unknown): unknown => error ?? new Error('rejected without an error');

const seal = (resolved: ResolvedFeed, place: Continuation): Uint8Array => toChunk(formatId(sealPlace(resolved, place)));

/** Sends a message with a cursor of the place, or with none when that was sent before. */
function sendToAll({ outputs }: Follower, progress: Progress, message: Uint8Array): void {
  for (const output of outputs) output.push(message);
  progress.sent = progress.place.position;
  progress.sentAt = performance.now();
}

/** Tells those who were not told of it, or not since many events, that they have all. */
function sendCaughtUp({ outputs }: Follower, progress: Progress): void {
  const { resolved, place } = progress;
  const untold = [...outputs].filter((output) => output.untold > STRETCH);
  if (untold.length === 0) return;
  const cursor = sealPlace(resolved, place);
  const message = toChunk(formatMessage('caught-up', cursor, JSON.stringify({ cursor })));
  for (const output of untold) {
    output.push(message);
    output.untold = 0;
  }
  if (untold.length < outputs.size) return;
  progress.sent = place.position;
  progress.sentAt = performance.now();
}

/** Waits for the client of a follower to read; returns false when it reads nothing. Of several, those who read go on. */
async function waitForCapacity(follower: Follower, progress: Progress): Promise<boolean> {
  const { deps, outputs } = follower;
  const until = performance.now() + TOO_SLOW_MS;
  const isFull = ({ sink }: Output): boolean => sink.isFull() && !sink.isClosed();
  for (const output of outputs)
    if (outputs.size > 1 && isFull(output)) separate(follower, progress, output, { ...progress });
  const [only] = outputs;
  if (only === undefined || outputs.size > 1) return true;
  while (isFull(only) && !deps.streams.isEnding() && performance.now() < until) await only.drain(CHECK_MS);
  return !isFull(only) || deps.streams.isEnding();
}

/** Gives the streams to a follower that waits at the same place; returns whether there is one. Else it waits for others. */
function joinWaiting(follower: Follower, progress: Progress): boolean {
  const { deps, key, outputs } = follower;
  if (key === undefined || !progress.isAtEnd || progress.place.seen !== undefined) return false;
  const waiting = getWaiting(deps);
  const [other, at] = waiting.get(key) ?? [];
  if (other === undefined || at === undefined) waiting.set(key, [follower, progress]);
  if (other === undefined || at?.place.position !== progress.place.position) return false;
  for (const output of outputs) output.join(other);
  at.sent = Math.min(at.sent, progress.sent);
  at.sentAt = Math.min(at.sentAt, progress.sentAt);
  return true;
}

function stopWaiting(follower: Follower): void {
  const waiting = getWaiting(follower.deps);
  if (follower.key !== undefined && waiting.get(follower.key)?.[0] === follower) waiting.delete(follower.key);
}

/** Followers that wait, of each server. */
const WAITING = new WeakMap<FeedStreams, WaitingFollowers>();

function getWaiting({ streams }: StreamDeps): WaitingFollowers {
  const waiting = WAITING.get(streams) ?? new Map();
  WAITING.set(streams, waiting);
  return waiting;
}

/** Sends the events of the page to each client until it has no more room, and lets go of the page. */
async function sendPage(follower: Follower, progress: Progress): Promise<void> {
  const { page } = progress;
  if (page === undefined) return;
  const { deps, outputs } = follower;
  progress.page = undefined;
  const before = { ...progress };
  Object.assign(progress, passPage(page, page.events.length, before));
  let writes = 0;
  for (const output of outputs) {
    let count = 0;
    for (const { message } of page.events) {
      count++;
      deps.streams.countEvent();
      if (!output.push(message)) break;
    }
    output.untold += count;
    if (count < page.events.length)
      separate(follower, progress, output, { ...before, ...passPage(page, count, before) });
    writes += count;
    if (writes < MAX_WRITES_AT_ONCE) continue;
    writes = 0;
    await turn();
  }
}

/** Gives a client that reads slowly a follower of its own, unless it is the only one of its follower. */
function separate(follower: Follower, progress: Progress, output: Output, own: Progress): void {
  if (follower.outputs.size === 1) {
    Object.assign(progress, own);
    return;
  }
  const slow: Follower = { ...follower, outputs: new Set() };
  output.join(slow);
  start(slow, own);
}

/** Returns the place after some events of a page. */
function passPage(page: StreamPage, count: number, before: Progress) {
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

/** Sends the ends of entities, or of their changes, that end the stream. */
async function sendEndings(
  { deps, executor, outputs }: Follower,
  resolved: ResolvedFeed,
  place: Continuation,
): Promise<void> {
  const { id } = resolved.context.workspace;
  const run: Run = (query, pool) => executor.run(query, pool, { tenant: id });
  // Without the database the stream ends all the same; its end says why.
  for (const { name, text, end } of await readEndings(run, resolved, place).catch(() => [])) {
    const message = toChunk(formatMessage(name, sealPlace(resolved, end), text));
    for (const output of outputs) {
      output.push(message);
      deps.streams.countEvent();
    }
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
    message: toChunk(formatMessage(name, sealPlace(resolved, end), text)),
    end,
  })),
});

/** Returns the code of the end of a stream by this error, or undefined for an error that passes. */
function toEnd(error: unknown): string | undefined {
  if (!(error instanceof ApiError) || error.status >= 500 || error.status === 429) return undefined;
  const { code, reason, status } = error;
  if (code === 'CURSOR_EXPIRED' || code === 'CHANGES_OFF' || code === 'WORKSPACE_SUSPENDED') return code;
  if (status === 308) return reason;
  if (status === 401) return reason === 'TOKEN_EXPIRED' ? reason : 'CREDENTIAL_REVOKED';
  if (status === 403) return 'CREDENTIAL_REVOKED';
  // An entity that is gone, or is not of the credential any more.
  return status === 404 ? 'CHANGES_OFF' : 'VIEW_CHANGED';
}
