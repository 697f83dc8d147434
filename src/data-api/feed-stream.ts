// Sends the events of a feed as they happen, as an event stream. A stream holds no database connection, and no more of what
// its client has not read than a buffer: beyond that it is only its place, and reads on from the database.
import type { RawRequest } from '../http/request.ts';
import { parseFeedRequest } from '../request/feed-request.ts';
import { type MessageSink, toChunk } from '../response/chunk.ts';
import { prefersStream, STREAM_START } from '../response/event-stream.ts';
import type { Reply } from '../response/reply.ts';
import type { RequestContext } from './context.ts';
import { type Follower, Output, startFollower } from './feed-follower.ts';
import { makeRun } from './feed-numbering.ts';
import { readFirstPage, resolveFeed } from './feed-page.ts';
import {
  PAGE_SIZE,
  type Read,
  type StreamDeps,
  type StreamSource,
  startProgress,
  toStreamPage,
} from './feed-stream-page.ts';
import { AT_ONCE, makeRequest, NEVER } from './internal-request.ts';

const START = toChunk(STREAM_START);

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

interface Opened extends Omit<StreamSource, 'context'>, Pick<RawRequest, 'credential' | 'path'> {
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
  startFollower(follower, progress);
}
