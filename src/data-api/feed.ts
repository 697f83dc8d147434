// Answers the feed of changes: a page, which may wait for its first event, or a stream.
import type { Config } from '../config.ts';
import { type FeedRequest, parseFeedRequest } from '../request/feed-request.ts';
import { jsonText, type Reply } from '../response/reply.ts';
import { Deadline, type RequestContext } from './context.ts';
import { numberChanges } from './feed-numbering.ts';
import { type PageDeps, readFirstPage, resolveFeed, sealPlace } from './feed-page.ts';
import { openStream, wantsStream } from './feed-stream.ts';
import { CHECK_MS, type StreamDeps } from './feed-stream-page.ts';

export interface FeedDeps extends PageDeps, StreamDeps {
  readonly config: Pick<
    Config,
    'maxResponseBytes' | 'statementTimeoutMs' | 'maxStreams' | 'streamsPerCredential' | 'streamHeartbeatSeconds'
  >;
}

/** Answers a page or a stream. `entity`: that of the path, or undefined for the feed of the workspace. */
export async function answerFeed(deps: FeedDeps, context: RequestContext, entity: string | undefined): Promise<Reply> {
  if (wantsStream(context.request)) return openStream(deps, context, entity);
  const feed = parseFeedRequest(context.request.query, entity);
  const release = feed.waitSeconds === 0 ? undefined : deps.streams.take(context, 'poll');
  try {
    return await answerPage(deps, context, feed);
  } finally {
    release?.();
  }
}

async function answerPage(deps: FeedDeps, context: RequestContext, feed: FeedRequest): Promise<Reply> {
  const executor = deps.databases.forWorkspace(context.workspace);
  const until = performance.now() + feed.waitSeconds * 1000;
  let current = context;
  let { start } = feed;
  for (;;) {
    const { page, cursor } = await deps.retry.run(current, { executor }, async (now) => {
      // A retry has the context of the request again, whose deadline is over after a wait.
      const deadline = new Deadline(deps.config.statementTimeoutMs);
      const resolved = await resolveFeed(deps, { ...now, deadline }, executor, { ...feed, start });
      const one = await readFirstPage(deps, resolved);
      return { page: one, cursor: sealPlace(resolved, one.end) };
    });
    const isOver = page.events.length > 0 || page.more || performance.now() >= until;
    if (isOver || context.signal.isAborted() || deps.streams.isEnding()) {
      const meta = JSON.stringify({ cursor, more: page.more, size: feed.size });
      // Joined once, with the rest: two copies of 400 KB in each page made the garbage collector run ten times as often.
      let text = '{"data":[';
      for (const [index, event] of page.events.entries()) text += index === 0 ? event.text : `,${event.text}`;
      return jsonText(200, `${text}],"meta":${meta}}`, { 'Cache-Control': 'no-store' });
    }
    const { workspace } = current;
    for (let hasChanges = false; !hasChanges && current.workspace === workspace; ) {
      hasChanges = await deps.watch.wait(workspace.id, {
        after: page.end.position,
        until: Math.min(until, performance.now() + CHECK_MS),
        signal: context.signal,
        poll: () => numberChanges((query, pool) => executor.run(query, pool, { tenant: workspace.id }), workspace),
      });
      // The credential may have been revoked and the view may be another one meanwhile.
      current = await current.refresh();
      if (performance.now() >= until || context.signal.isAborted() || deps.streams.isEnding()) break;
    }
    start = { kind: 'cursor', text: cursor };
  }
}

/** Ends all streams and waits, for a shutdown. */
export function endFeeds({ streams, watch }: FeedDeps): void {
  streams.endAll();
  watch.endAll();
}
