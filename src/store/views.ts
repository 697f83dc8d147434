// Saved views of a workspace in the control tables: list, create, change and delete, each as far as a viewer may see it.
import type { Session } from '../database/pool.ts';
import { conflict } from '../errors.ts';
import type { Scope } from '../model/principal.ts';
import { type Fragment, sql, toQuery } from '../sql/fragment.ts';
import type { Actor } from './activity.ts';
import { isViolation, makeNameConflict } from './control-error.ts';
import { loadPage, type PageOf } from './pages.ts';

/** A saved view. `content` is JSON, checked when it was stored. */
export interface SavedView<Content> {
  readonly id: string;
  readonly entity: string;
  readonly owner: string;
  readonly name: string;
  readonly shared: boolean;
  readonly version: number;
  readonly content: Content;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** Null after a restore. */
  readonly createdBy: Actor | null;
}

/** Who looks at views: the id of the credential or person, and the entities that it may access. */
export interface Viewer {
  readonly owner: string;
  readonly scope: Scope;
}

type Queryable = Pick<Session, 'query'>;

// Limit of what one owner sees in a workspace, so that private views of one take no place of another, who could not delete
// them. Those that are to be removed do not count.
const MAX_VIEWS = 500;

const COLUMNS: Fragment = sql`v.id, e.key as entity, v.owner, v.name, v.shared, v.version, v.content, v.created_at as "createdAt",
  v.updated_at as "updatedAt", v.created_by as "createdBy"`;

/** Selects views of entities that exist and that the viewer may access: shared ones and its own. */
const selectViews = (workspaceId: string, { owner, scope }: Viewer): Fragment =>
  sql`select ${COLUMNS} from wda.saved_view v
join wda.workspace w on w.id = v.workspace_id cross join lateral jsonb_each_text(w.entity_ids) e
where v.workspace_id = ${workspaceId} and e.value::int8 = v.entity_id and (v.shared or v.owner = ${owner})
  and (${scope}::int8[] is null or v.entity_id = any(${scope}::int8[]))`;

export function loadViews<Content>(
  db: Queryable,
  workspaceId: string,
  viewer: Viewer,
  { entity, ...page }: { readonly entity: string | undefined; readonly page: number; readonly size: number },
): Promise<PageOf<SavedView<Content>>> {
  const isOfEntity = sql`(${entity ?? null}::text is null or e.key = ${entity ?? null})`;
  return loadPage(db, sql`${selectViews(workspaceId, viewer)} and ${isOfEntity}`, page);
}

export async function findView<Content>(
  db: Queryable,
  workspaceId: string,
  viewer: Viewer,
  id: string,
): Promise<SavedView<Content> | undefined> {
  return (await db.query<SavedView<Content>>(toQuery(sql`${selectViews(workspaceId, viewer)} and v.id = ${id}`)))[0];
}

/** Locks a view until the end of the transaction; undefined if the viewer does not see it. */
export async function lockView<Content>(
  session: Queryable,
  workspaceId: string,
  viewer: Viewer,
  id: string,
): Promise<SavedView<Content> | undefined> {
  const rows = await session.query<SavedView<Content>>(
    toQuery(sql`${selectViews(workspaceId, viewer)} and v.id = ${id} for no key update of v`),
  );
  return rows[0];
}

export interface ViewToStore {
  readonly workspaceId: string;
  readonly entityId: string;
  readonly owner: string;
  readonly name: string;
  readonly shared: boolean;
  readonly content: unknown;
  readonly createdBy: Actor;
}

/**
 * Creates a view and returns its id, or undefined if the workspace does not exist; 409 for a name in use, and at the maximum
 * number. Views of deleted entities and private ones of deleted keys are removed first.
 */
export async function createView(session: Queryable, view: ViewToStore): Promise<string | undefined> {
  const { workspaceId, entityId, owner, name, shared, content, createdBy } = view;
  // The lock comes in a statement of its own: whoever waits for it counts in its snapshot of before.
  const [workspace] = await session.query(
    toQuery(sql`select id from wda.workspace where id = ${workspaceId} for no key update`),
  );
  if (workspace === undefined) return undefined;
  await session.query(
    toQuery(sql`delete from wda.saved_view v using wda.workspace w where v.workspace_id = ${workspaceId} and w.id = v.workspace_id
and (not exists (select from jsonb_each_text(w.entity_ids) e where e.value::int8 = v.entity_id)
  or not v.shared and v.owner like 'key:%' and not exists (select from wda.api_key k where 'key:' || k.id = v.owner))`),
  );
  const rows = await session
    .query<{ id: string }>(
      toQuery(sql`insert into wda.saved_view (workspace_id, entity_id, owner, name, shared, content, created_by)
select ${workspaceId}, ${entityId}, ${owner}, ${name}, ${shared}::bool, ${JSON.stringify(content)}::json, ${JSON.stringify(createdBy)}::jsonb
where (select count(*) from wda.saved_view o where o.workspace_id = ${workspaceId} and (o.shared or o.owner = ${owner})) < ${MAX_VIEWS}::int8
returning id`),
    )
    .catch((error) => rethrowNameConflict(error, name));
  if (rows[0] === undefined)
    throw conflict(
      'TOO_MANY_VIEWS',
      `There are ${MAX_VIEWS} saved views, shared and your own, and there may be no more: delete one first`,
    );
  return rows[0].id;
}

/** Replaces name, sharing and content of a view that is locked. */
export async function updateView(
  session: Queryable,
  id: string,
  { name, shared, content }: Pick<ViewToStore, 'name' | 'shared' | 'content'>,
): Promise<void> {
  await session
    .query(
      toQuery(sql`update wda.saved_view set name = ${name}, shared = ${shared}::bool, content = ${JSON.stringify(content)}::json,
  version = version + 1, updated_at = now() where id = ${id}`),
    )
    .catch((error) => rethrowNameConflict(error, name));
}

export async function deleteView(session: Queryable, id: string): Promise<void> {
  await session.query(toQuery(sql`delete from wda.saved_view where id = ${id}`));
}

function rethrowNameConflict(error: unknown, name: string): never {
  throw isViolation(error, 'saved_view_name') ? makeNameConflict(`View ${name}`, 'name', error) : error;
}
