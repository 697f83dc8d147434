// The feed of a workspace as its webhooks see it: the views of an owner, places from which a webhook goes on, and how many
// events wait.
import type { Database } from '../database/pool.ts';
import { cursorExpired } from '../errors.ts';
import { keepsChanges } from '../model/entity.ts';
import { parseExact } from '../model/exact-json.ts';
import type { Owner } from '../model/principal.ts';
import { getEpoch, type Workspace } from '../model/workspace.ts';
import { type FeedView, MAX_LOOKED_AT, planFeedCount, planFeedViews } from '../plan/feed.ts';
import { parseFilterTree } from '../request/filter.ts';
import type { EventType } from '../request/parameters.ts';
import { parseFields } from '../request/paths.ts';
import { PREFIX } from '../request/record-path.ts';
import { selectHasChanges } from '../sql/change-statements.ts';
import { bindQuery, compile } from '../sql/compile.ts';
import { selectLastPosition, selectOldest, selectSince } from '../sql/feed.ts';
import { numberWorkspaceChanges } from '../store/changes.ts';
import type { Webhook, WebhookPlace, WebhookType } from '../store/webhooks.ts';

/** Members of a webhook that decide which events it has. */
export interface WebhookSelection {
  /** Names; null for all that keep changes. */
  readonly entities: readonly string[] | null;
  readonly types: readonly WebhookType[];
  readonly fields: readonly string[] | null;
  /** A filter tree as in a body of `_query`, or null. */
  readonly filter: unknown;
}

const makePrincipal = ({ id }: Workspace): Owner => ({
  kind: 'owner',
  permissions: 'OWNER',
  workspaceId: id,
  scope: null,
  credentialId: 'webhook',
});

/** Plans the views of a webhook, as an owner has them; none when no entity keeps changes. Throws 400, 404 and 409. */
export function planWebhookViews(
  { entities, fields, filter }: WebhookSelection,
  workspace: Workspace,
): readonly FeedView[] {
  const all = [...workspace.entities.values()];
  const named = entities === null ? undefined : all.filter(({ name }) => entities.includes(name));
  if (named === undefined && !all.some(({ settings }) => keepsChanges(settings))) return [];
  const selection = {
    fields: fields === null ? undefined : parseFields(fields),
    filter: filter === null ? undefined : parseFilterTree(filter),
  };
  return planFeedViews(selection, named, { workspace, principal: makePrincipal(workspace) });
}

const toPlace = (position: string | null | undefined, workspace: Workspace): WebhookPlace => ({
  position: position ?? '0',
  epoch: getEpoch(workspace),
});

/** Gives positions to everything that is committed; returns false when the workspace has never kept changes. */
async function numberCommitted(db: Database, { databaseSchema, id }: Workspace): Promise<boolean> {
  const [row] = await db.run(selectHasChanges(databaseSchema), 'read');
  if (row?.[0] !== 't') return false;
  await numberWorkspaceChanges(db, id, databaseSchema);
  return true;
}

/** Returns the place of this moment: what is committed later comes after it. */
export async function findPlaceNow(db: Database, workspace: Workspace): Promise<WebhookPlace> {
  if (!(await numberCommitted(db, workspace))) return toPlace('0', workspace);
  const [row] = await db.run(selectLastPosition(workspace.databaseSchema), 'write');
  return toPlace(row?.[0], workspace);
}

/** Returns the place before the oldest change that is kept. */
export async function findOldestPlace(db: Database, workspace: Workspace): Promise<WebhookPlace> {
  if (!(await numberCommitted(db, workspace))) return toPlace('0', workspace);
  return toPlace((await findOldest(db, workspace)).expired, workspace);
}

/** Returns the place before the first change at or after the time; 410 if not all changes since then are kept. */
export async function findPlaceSince(db: Database, workspace: Workspace, time: string): Promise<WebhookPlace> {
  if (!(await numberCommitted(db, workspace))) return toPlace('0', workspace);
  const { expired, oldest } = await findOldest(db, workspace);
  if (Number(expired) > 0 && (oldest === null || Date.parse(time) < Date.parse(oldest))) {
    const restart = `${PREFIX}${workspace.organization}/${workspace.slug}/_changes?after=now`;
    throw cursorExpired({ oldest, restart });
  }
  const [row] = await db.run(selectSince(workspace.databaseSchema, time), 'read');
  const position = row?.[0] ?? undefined;
  return position === undefined ? findPlaceNow(db, workspace) : toPlace(position, workspace);
}

async function findOldest(
  db: Database,
  { databaseSchema }: Workspace,
): Promise<{ readonly expired: string; readonly oldest: string | null }> {
  const [row] = await db.run(selectOldest(databaseSchema), 'write');
  return { expired: row?.[0] ?? '0', oldest: row?.[1] ?? null };
}

/** Events that wait. */
export interface Waiting {
  readonly pending: number;
  /** Time of the first one, as in answers. */
  readonly oldestPendingAt: string | null;
}

const NOTHING_WAITS: Waiting = { pending: 0, oldestPendingAt: null };
const MAX_PENDING = 10_000;
// A filter that hides nearly all changes would otherwise read all of them: some seconds.
const MAX_LOOKS = 5 * MAX_LOOKED_AT;

/** Makes the function that counts the events that wait for a webhook, 10,000 at most, and looks at 100,000 changes at most. */
export async function makeCountWaiting(
  db: Database,
  workspace: Workspace,
): Promise<(webhook: Webhook) => Promise<Waiting>> {
  const hasChanges = await numberCommitted(db, workspace);
  const principal = makePrincipal(workspace);

  return async function count({ entities, types, fields, filter, position, disabledReason }) {
    if (!hasChanges || position === null || disabledReason === 'invalid') return NOTHING_WAITS;
    const selection = { entities, types, fields, filter: filter === null ? null : parseExact(filter) };
    const views = planWaitingViews(selection, workspace);
    if (views.length === 0) return NOTHING_WAITS;
    const context = { workspace, principal };
    let place = Number(position);
    let waiting = NOTHING_WAITS;
    for (let looked = 0; looked < MAX_LOOKS && waiting.pending < MAX_PENDING; looked += MAX_LOOKED_AT) {
      const plan = planFeedCount({ types: types.filter(isEventType) }, views, context, {
        after: place,
        looks: MAX_LOOKED_AT,
        countsSchema: types.includes('schema'),
      });
      const statement = compile(plan, { maxResponseBytes: Number.MAX_SAFE_INTEGER });
      const rows = await db.run(bindQuery(statement, { principal }), 'read', {
        tenant: workspace.id,
        expected: 'unknown',
      });
      const { events, firstAt, pos, isCut } = statement.read(rows[0]!);
      waiting = {
        pending: Math.min(waiting.pending + events, MAX_PENDING),
        oldestPendingAt: waiting.oldestPendingAt ?? firstAt,
      };
      if (!isCut || pos === null) break;
      place = Number(pos);
    }
    return waiting;
  };
}

const isEventType = (type: WebhookType): type is EventType => type !== 'schema';

/** Plans the views of a webhook; without those of entities that keep no changes now. */
function planWaitingViews(selection: WebhookSelection, workspace: Workspace): readonly FeedView[] {
  const { entities } = selection;
  if (entities === null) return planWebhookViews(selection, workspace);
  const activeEntities = entities.filter((name) => {
    const entity = workspace.entities.get(name);
    return entity !== undefined && keepsChanges(entity.settings);
  });
  return activeEntities.length === 0 ? [] : planWebhookViews({ ...selection, entities: activeEntities }, workspace);
}
