// Reads events for the server itself, which sends them to receivers: the feed of a workspace as an owner has it.

import { StaleStatement } from '../database/errors.ts';
import type { Executor } from '../database/pool.ts';
import { ApiError } from '../errors.ts';
import { type Entity, keepsChanges } from '../model/entity.ts';
import { parseExact } from '../model/exact-json.ts';
import type { Owner } from '../model/principal.ts';
import { getEpoch, type Workspace } from '../model/workspace.ts';
import { planEndedViews } from '../plan/feed.ts';
import type { FeedRequest } from '../request/feed-request.ts';
import { parseFilterTree } from '../request/filter.ts';
import type { EventType } from '../request/parameters.ts';
import { parseFields } from '../request/paths.ts';
import { PREFIX } from '../request/record-path.ts';
import { selectHasChanges } from '../sql/change-statements.ts';
import { type Address, type ContextDeps, Deadline, impersonate, type RequestContext } from './context.ts';
import { findOldest, makeRun, numberChanges } from './feed-numbering.ts';
import { type FeedEvent, type PageDeps, readEndings, readPage, requireCurrent, resolveFeed } from './feed-page.ts';
import { AT_ONCE, makeRequest, NEVER } from './internal-request.ts';
import type { SnapshotRetry } from './retry.ts';

/** Members that decide which events there are. */
export interface EventSelection {
  /** Names; null: all entities that keep changes. */
  readonly entities: readonly string[] | null;
  readonly types: readonly (EventType | 'schema')[];
  /** Names of fields; null: the default selection. */
  readonly fields: readonly string[] | null;
  /** JSON text of a filter as in a body, or null. */
  readonly filter: string | null;
  readonly previous: boolean;
}

/** The workspace, by its slugs and by its id, so that no other one with the same name is read. */
export interface EventSource {
  readonly organization: string;
  readonly workspace: string;
  readonly workspaceId: string;
}

export interface ReadEvent extends Pick<FeedEvent, 'type' | 'entity' | 'at' | 'text'> {
  readonly position: number;
}

export interface ReadEvents {
  readonly events: readonly ReadEvent[];
  /** Position up to which changes were looked at. */
  readonly end: number;
  readonly more: boolean;
  /** Epoch of the workspace that the positions belong to. */
  readonly epoch: string;
  /** Position up to which changes are gone, if some of those after the place are; there are no events then. */
  readonly expired: number | undefined;
}

export interface EventReader {
  /**
   * Gives positions to what is committed, and reads events after the position by the schema in force; without a position
   * only its end. Entities that keep no changes have none. Throws 401 when the workspace is gone, 400 when the schema does
   * not have a field of the selection, 503, also when it does not have an entity of it.
   */
  readonly read: (source: EventSource, selection: EventSelection, after: number | undefined) => Promise<ReadEvents>;
  /** Calls the listener after writes of this process, with the id of their workspace. */
  readonly onWrite: (listener: (workspaceId: string) => void) => void;
}

export interface EventReaderDeps extends Omit<PageDeps, 'cache'>, ContextDeps {
  readonly config: PageDeps['config'] & ContextDeps['config'];
  readonly retry: SnapshotRetry;
  readonly onWrite: EventReader['onWrite'];
}

interface KeptReading {
  readonly executor: Executor;
  readonly entities: readonly string[];
  readonly selection: EventSelection;
  readonly after: number;
  readonly epoch: string;
}

const PAGE_SIZE = 100;

/** `config.maxResponseBytes`: twice the bytes of an event whose values are shown. */
export function makeEventReader(deps: EventReaderDeps): EventReader {
  async function readNow(context: RequestContext, selection: EventSelection, after: number | undefined) {
    const { workspace } = context;
    const epoch = getEpoch(workspace);
    const [entities, endedEntities] = listEntities(workspace, selection);
    const nothing = { events: [], end: after ?? 0, more: false, epoch, expired: undefined };
    const executor = deps.databases.forWorkspace(workspace);
    const now = { ...context, deadline: new Deadline(deps.config.statementTimeoutMs) };
    const run = makeRun(executor, now, '');
    if (entities.length === 0) {
      // A workspace that has never kept changes has no tables of them.
      const [hasChanges] = await run(selectHasChanges(workspace.databaseSchema), 'read');
      if (hasChanges?.[0] !== 't') return nothing;
    }
    const last = await numberChanges(run, workspace);
    if (after === undefined) return { ...nothing, end: last };
    const page =
      entities.length === 0
        ? { ...nothing, end: Math.max(after, last) }
        : await readKept(now, { executor, entities, selection, after, epoch });
    if (page.expired !== undefined || page.end <= after || endedEntities.length === 0) return page;
    const views = planEndedViews(endedEntities, now);
    const seals = await deps.seals();
    const endings = await readEndings(
      run,
      { context: now, views, seals },
      { position: after, seen: undefined },
      page.end,
    );
    const events = [...page.events, ...endings.map(toReadEvent)];
    return { ...page, events: events.toSorted((a, b) => a.position - b.position) };
  }

  /** Reads a page of events of entities that keep changes. */
  async function readKept(now: RequestContext, { executor, entities, selection, after, epoch }: KeptReading) {
    const nothing: ReadEvents = { events: [], end: after, more: false, epoch, expired: undefined };
    const resolved = await resolveFeed(deps, now, executor, buildRequest(selection, entities));
    try {
      const { events, end, more } = await readPage(deps, resolved, { position: after, seen: undefined });
      const isOwn = ({ type }: FeedEvent): boolean => isSelected(selection, type);
      return { ...nothing, events: events.filter(isOwn).map(toReadEvent), end: end.position, more };
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'CURSOR_EXPIRED') throw error;
      const { expired } = await findOldest(makeRun(executor, now, entities[0] as string), now.workspace);
      return { ...nothing, expired };
    }
  }

  return {
    async read({ organization, workspace, workspaceId }, selection, after) {
      const address: Address = { organization, workspace };
      const request = makeRequest(
        { method: 'GET', path: `${PREFIX}${organization}/${workspace}/_changes` },
        { id: 'webhooks', arrivedAt: performance.now(), signal: NEVER, slices: AT_ONCE },
      );
      const context = await impersonate(deps, request, address, makeOwner(workspaceId));
      const executor = deps.databases.forWorkspace(context.workspace);
      return deps.retry.run(context, { executor }, async (now) => {
        try {
          return await readNow(now, selection, after);
        } finally {
          // By a schema that is not in force any more, entities are missing whose changes would be passed over.
          await requireCurrent(deps, now.workspace);
        }
      });
    },
    onWrite: deps.onWrite,
  };
}

const makeOwner = (workspaceId: string): Owner => ({
  kind: 'owner',
  permissions: 'OWNER',
  workspaceId,
  scope: null,
  credentialId: 'webhook',
});

/**
 * Returns the names of the entities of the selection that keep changes, and the others. Throws for the retry when a name is
 * older, or younger, than the schema.
 */
function listEntities(
  workspace: Workspace,
  selection: EventSelection,
): readonly [readonly string[], readonly Entity[]] {
  if (selection.entities?.some((name) => !workspace.entities.has(name))) throw new StaleStatement();
  const all = [...workspace.entities.values()].filter(({ name }) => selection.entities?.includes(name) ?? true);
  const [kept, others] = [true, false].map((isKept) => all.filter(({ settings }) => keepsChanges(settings) === isKept));
  return [(kept ?? []).map(({ name }) => name), others ?? []];
}

const toReadEvent = ({ type, entity, at, text, end: { position } }: FeedEvent): ReadEvent => ({
  type,
  entity,
  at,
  text,
  position,
});

const CONTROL_TYPES = ['reset', 'ended'];

const isSelected = ({ types }: EventSelection, type: string): boolean =>
  CONTROL_TYPES.includes(type) || types.some((one) => one === type);

function buildRequest({ types, fields, filter, previous }: EventSelection, entities: readonly string[]): FeedRequest {
  const ofRecords = types.filter((type): type is EventType => type !== 'schema');
  return {
    // The page begins at a position.
    start: { kind: 'now' },
    entities,
    size: PAGE_SIZE,
    waitSeconds: 0,
    // Without any the feed would have none at all; the others are left out afterwards.
    types: ofRecords.length === 0 ? undefined : ofRecords,
    previous,
    fields: fields === null ? undefined : parseFields(fields),
    filter: filter === null ? undefined : parseFilterTree(parseExact(filter)),
  };
}
