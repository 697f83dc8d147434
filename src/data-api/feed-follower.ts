// Sends the pages of a feed to streams. Streams of one credential that have all wait together; one whose client reads slowly
// reads on alone.
import { setImmediate as turn } from 'node:timers/promises';
import { ApiError } from '../errors.ts';
import { type MessageSink, toChunk } from '../response/chunk.ts';
import { formatId, formatMessage, HEARTBEAT } from '../response/event-stream.ts';
import type { Continuation, Run } from './feed-numbering.ts';
import { type ResolvedFeed, readEndings, sealPlace } from './feed-page.ts';
import { CHECK_MS, type Progress, passPage, readNext, type StreamDeps, type StreamSource } from './feed-stream-page.ts';
import type { FeedStreams } from './feed-streams.ts';

const PAUSE_MS = 1000;
const TOO_SLOW_MS = 60_000;
// Time for the last message of a client that reads nothing.
const LINGER_MS = 1000;
// Messages after which other requests have a turn: 5 ms.
const MAX_WRITES_AT_ONCE = 500;
// Events after which a client is told again that it has all.
const STRETCH = 1000;

const SILENCE = toChunk(HEARTBEAT);

/* ---- output ---- */

/** A stream as its client has it. */
export class Output {
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
export interface Follower extends StreamSource {
  /** Text of what is the same for all of its streams, or undefined if they are not joined with others. */
  readonly key: string | undefined;
  readonly outputs: Set<Output>;
}

/** Followers that have everything and wait, by their keys. */
type WaitingFollowers = Map<string, readonly [Follower, Progress]>;

/** Starts to send pages. An unexpected error closes the connections. */
export function startFollower(follower: Follower, progress: Progress): void {
  follow(follower, progress).catch(() => {
    for (const { sink } of follower.outputs) sink.destroy();
  });
}

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
  startFollower(slow, own);
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
