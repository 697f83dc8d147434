// Reads pages of the feed of changes: gives positions to what has been committed, then reads events of the principal's
// view.
import type { Config } from '../config.ts';
import { StaleStatement } from '../database/errors.ts';
import type { Executor } from '../database/pool.ts';
import { ApiError, badRequest, cursorExpired, type FeedRestart, viewChanged } from '../errors.ts';
import type { Entity } from '../model/entity.ts';
import { getEpoch, type Workspace } from '../model/workspace.ts';
import {
  describeFeed,
  describeFilterTypes,
  describeView,
  type FeedView,
  MAX_LOOKED_AT,
  planFeed,
  planFeedViews,
} from '../plan/feed.ts';
import { admit } from '../plan/plan.ts';
import type { FeedRow } from '../plan/result.ts';
import type { FeedRequest } from '../request/feed-request.ts';
import { PREFIX } from '../request/record-path.ts';
import { type EventName, formatEvent, getEventName, getEventType } from '../response/feed.ts';
import { bindQuery, compile } from '../sql/compile.ts';
import { selectEndings, selectSince } from '../sql/feed.ts';
import type { Databases } from '../store/databases.ts';
import { loadCurrentVersion } from '../store/load-workspace.ts';
import type { WorkspaceCache } from '../store/workspace-cache.ts';
import type { RequestContext } from './context.ts';
import { notCursor } from './errors.ts';
import { loadEventContext, rethrowControl } from './feed-actors.ts';
import { type FeedSeals, type OpenedCursor, toSnapshot } from './feed-cursor.ts';
import {
  type Continuation,
  findOldest,
  makeRun,
  numberChanges,
  numberCommitted,
  type Run,
  readLastPosition,
} from './feed-numbering.ts';

export interface PageDeps {
  readonly databases: Databases;
  readonly cache: Pick<WorkspaceCache, 'invalidate'>;
  readonly config: Pick<Config, 'maxResponseBytes'>;
  readonly seals: () => Promise<FeedSeals>;
}

/** A page of events. */
export interface FeedPage {
  readonly events: readonly FeedEvent[];
  /** Where the next page begins. */
  readonly end: Continuation;
  /** Whether there is more to look at now. */
  readonly more: boolean;
}

export interface FeedEvent {
  readonly name: EventName;
  readonly type: string;
  readonly entity: string;
  /** Time of the change as in answers. */
  readonly at: string;
  /** JSON text. */
  readonly text: string;
  /** Place after the event. */
  readonly end: Continuation;
}

/** The feed of a principal as the snapshot of a moment has it. */
export interface ResolvedFeed {
  readonly context: RequestContext;
  readonly feed: FeedRequest;
  readonly views: readonly FeedView[];
  /** Texts of the parameters, and of what the principal sees: a cursor is of both. */
  readonly identity: { readonly query: string; readonly view: string };
  readonly seals: FeedSeals;
  readonly run: Run;
}

/** Returns the entity. Throws 404 for an unknown one of the path, 400 with the same words for one of a parameter. */
function admitNamed(
  name: string,
  { isParameter = false }: FeedRequest,
  { workspace, principal }: RequestContext,
): Entity {
  try {
    return admit(workspace, principal, name, 'read');
  } catch (error) {
    if (isParameter && error instanceof ApiError && error.reason === 'UNKNOWN_ENTITY')
      throw badRequest('INVALID_PARAMETER', `entities: ${error.message}`);
    throw error;
  }
}

/** Finds the entities of a feed and what the principal sees of them. Throws 400, 404, 409 and 503. */
export async function resolveFeed(
  deps: PageDeps,
  context: RequestContext,
  executor: Executor,
  feed: FeedRequest,
): Promise<ResolvedFeed> {
  const { workspace, principal } = context;
  const named = feed.entities?.map((name) => admitNamed(name, feed, context));
  const views = planFeedViews(feed, named, context);
  const seals = await deps.seals().catch(rethrowControl);
  const entities = views.map((view) => view.entity);
  // Without names the request is the same when other entities keep changes, but the view is another one.
  const isNamed = feed.entities !== undefined;
  return {
    context,
    feed,
    views,
    identity: {
      query: describeFeed(feed, isNamed ? views : [], workspace),
      view:
        describeView(entities, principal) +
        describeFilterTypes(views) +
        (isNamed ? '' : describeFeed(feed, views, workspace)),
    },
    seals,
    run: makeRun(executor, context, entities[0]?.name ?? ''),
  };
}

/** Returns the cursor of a place. */
export const sealPlace = ({ context, identity, seals }: ResolvedFeed, place: Continuation): string =>
  seals.seal(context.workspace.id, { ...place, epoch: getEpoch(context.workspace), ...identity });

/** Gives positions to what is committed, and reads the page that the request asks for. */
export async function readFirstPage(deps: PageDeps, resolved: ResolvedFeed): Promise<FeedPage> {
  const { context, feed, identity, run, seals } = resolved;
  const { workspace } = context;
  await numberCommitted(run, workspace);
  const open = (text: string) => seals.open(workspace.id, text, identity);
  return readPage(deps, resolved, await findStart({ run, workspace, feed, open }));
}

/** Reads a page after the place, of changes that have positions. */
export async function readPage(deps: PageDeps, resolved: ResolvedFeed, start: Continuation): Promise<FeedPage> {
  const { context, feed, views, seals, run } = resolved;
  const { workspace, principal } = context;
  const { maxResponseBytes } = deps.config;
  const { rows, position, seen, more } = await collectRows({ maxResponseBytes, run, context, feed, views, start });
  if (rows.some(({ kind }) => kind === 's')) await requireCurrent(deps, workspace);
  const eventContext = await loadEventContext(deps.databases, { workspace, principal, views, rows, seals });
  return {
    events: rows.map((row) => ({
      name: getEventName(row),
      type: getEventType(row),
      entity: (views[row.view] as FeedView).entity.name,
      at: row.at,
      text: formatEvent(row, eventContext),
      end: passSeen(start, Number(row.pos)),
    })),
    end: { position, seen },
    more,
  };
}

/**
 * Throws for the retry when the schema has changed: what follows a change of the schema has the new names, also before this
 * process has been told of it.
 */
export async function requireCurrent(
  { databases, cache }: Pick<PageDeps, 'databases' | 'cache'>,
  { id, version }: Workspace,
): Promise<void> {
  if ((await loadCurrentVersion(databases.directory, id).catch(rethrowControl)) === version) return;
  cache.invalidate(id);
  throw new StaleStatement();
}

/** Reads the ends of entities of the feed, or of their changes, after the place and up to a position, which no page shows any more. */
export async function readEndings(
  run: Run,
  { context, views, seals }: Pick<ResolvedFeed, 'context' | 'views' | 'seals'>,
  place: Continuation,
  until?: number,
): Promise<readonly FeedEvent[]> {
  const { id: workspaceId, databaseSchema } = context.workspace;
  await numberChanges(run, context.workspace);
  const scans = views.map(({ scan }) => scan);
  const rows = await run(selectEndings(databaseSchema, scans, place.position, until), 'read');
  return rows.map(([pos, seq, at, view, members]) => {
    const { entity } = views[Number(view)] as FeedView;
    const event = { id: seals.toEventId(workspaceId, seq ?? ''), type: 'ended', entity: entity.name, at };
    const text = JSON.stringify({ ...event, ...JSON.parse(members ?? '{}') });
    return {
      name: 'ended',
      type: event.type,
      entity: entity.name,
      at: at ?? '',
      text,
      end: passSeen(place, Number(pos)),
    };
  });
}

/** Returns the place at the position, with what is still to be left out. */
const passSeen = ({ seen }: Continuation, position: number): Continuation => ({
  position,
  seen: seen !== undefined && position < seen.until ? seen : undefined,
});

interface RowReading {
  readonly run: Run;
  readonly context: RequestContext;
  readonly feed: FeedRequest;
  readonly views: readonly FeedView[];
  readonly start: Continuation;
  readonly maxResponseBytes: number;
}

interface CollectedRows extends Continuation {
  readonly rows: readonly FeedRow[];
  readonly more: boolean;
}

/** Reads changes until the page is full, nothing is left, or it has looked at enough. */
async function collectRows({ run, context, feed, views, start, ...limits }: RowReading): Promise<CollectedRows> {
  const { principal } = context;
  const rows: FeedRow[] = [];
  // Two statements of half the size are within the limit of an answer.
  const maxResponseBytes = Math.floor(limits.maxResponseBytes / 2);
  const seen = start.seen && { until: start.seen.until, snapshot: toSnapshot(start.seen) };
  let { position } = start;
  let looked = 0;
  let looks = feed.size + 1;
  for (;;) {
    // A full page looks for one more event, as hidden changes must not look like more.
    const isFull = rows.length >= feed.size || measureRows(rows) > maxResponseBytes;
    const size = isFull ? 0 : feed.size - rows.length;
    const statement = compile(planFeed(feed, views, context, { after: position, seen, size, looks }), {
      maxResponseBytes,
    });
    const results = (await run(bindQuery(statement, { principal }), 'read')).map(statement.read);
    const events = results.slice(0, -1);
    const end = results.at(-1) as FeedRow;
    // Changes may have been removed since the page began.
    if (Number(end.recordId) > start.position) throw cursorExpired(await describeRestart({ run, feed, context }));
    rows.push(...events);
    const result = (at: number, more: boolean): CollectedRows => ({ rows, ...passSeen(start, at), more });
    if (end.view > events.length) return result(Number(events.at(-1)?.pos ?? position), true);
    position = Number(end.pos ?? position);
    looked += looks;
    // All changes up to `until` had positions when the cursor was given.
    if (!end.isCut) return result(Math.max(position, start.seen?.until ?? 0), false);
    if (looked >= MAX_LOOKED_AT) return result(position, true);
    looks = Math.min(4 * looks, MAX_LOOKED_AT - looked);
  }
}

/** Returns the bytes of the records in rows. */
export const measureRows = (rows: readonly FeedRow[]): number =>
  rows.reduce((sum, row) => sum + countBytes(row.old) + countBytes(row.new) + countBytes(row.previous), 0);

const countBytes = (text: string | null): number => (text === null ? 0 : Buffer.byteLength(text));

interface StartContext {
  readonly run: Run;
  readonly workspace: Workspace;
  readonly feed: FeedRequest;
  readonly open: (text: string) => OpenedCursor | undefined;
}

/** Returns where the page begins. Throws 400 or 410 for a cursor; the page itself tells whether its changes are gone. */
async function findStart({ run, workspace, feed, open }: StartContext): Promise<Continuation> {
  const after = (position: number): Continuation => ({ position, seen: undefined });
  const { start } = feed;
  if (start.kind === 'now') return after(await readLastPosition(run, workspace));
  const cursor = start.kind === 'cursor' ? open(start.text) : undefined;
  if (start.kind === 'cursor' && !cursor?.isSameQuery) throw notCursor();
  // Most pages begin at a cursor that is good.
  if (cursor?.isSameView && cursor.epoch === getEpoch(workspace)) return cursor;
  const { expired, oldest } = await findOldest(run, workspace);
  if (start.kind === 'oldest') return after(expired);
  const restart = toRestart(oldest, feed, workspace);
  if (start.kind === 'since') {
    if (expired > 0 && (oldest === null || Date.parse(start.time) < Date.parse(oldest))) throw cursorExpired(restart);
    return after((await findSince(run, workspace, start.time)) ?? (await readLastPosition(run, workspace)));
  }
  const isExpired = cursor === undefined || cursor.epoch !== getEpoch(workspace) || cursor.position < expired;
  throw isExpired ? cursorExpired(restart) : viewChanged(restart);
}

/** Returns the position before the first change at or after the time, or undefined if there is none. */
async function findSince(run: Run, { databaseSchema: schema }: Workspace, time: string): Promise<number | undefined> {
  const [row] = await run(selectSince(schema, time), 'read');
  return row?.[0] === null || row?.[0] === undefined ? undefined : Number(row[0]);
}

/** Returns the time of the oldest change, and a path by which a reader begins again. */
function toRestart(oldest: string | null, { entities }: FeedRequest, { organization, slug }: Workspace): FeedRestart {
  const [entity] = entities ?? [];
  const isOne = entities?.length === 1 && entity !== undefined;
  return { oldest, restart: `${PREFIX}${organization}/${slug}/${isOne ? `${entity}/` : ''}_changes?after=now` };
}

/** Returns how a reader begins again. */
export async function describeRestart({
  run,
  feed,
  context: { workspace },
}: Pick<ResolvedFeed, 'run' | 'feed' | 'context'>): Promise<FeedRestart> {
  const { oldest } = await findOldest(run, workspace);
  return toRestart(oldest, feed, workspace);
}
