// Restores a workspace in the place of another one: made under a name of its own, compared, and then, in the same
// transaction, it gets the slug, the keys, the clients and the identity provider of the former one, which is kept under
// another slug. Programs and pages go on with their credentials.
import type { Session } from '../database/pool.ts';
import { tryLockWorkspace } from '../migrations/workspace-lock.ts';
import type { PhysicalNames } from '../model/physical-name.ts';
import { buildTables } from '../schema/tables.ts';
import { type Fragment, ident, sql, tableRef, toQuery } from '../sql/fragment.ts';
import { parseDocument } from '../store/load-workspace.ts';
import type { WorkspaceSummary } from '../store/workspaces.ts';
import { workspaceChanged } from './errors.ts';
import type { OpenedFile, Piece } from './format.ts';
import { type Restored, type RestoredWorkspace, type RestoreOptions, restoreAll } from './restore.ts';

/** Number of records of an entity, or null where a workspace does not have it. */
export interface EntityComparison {
  readonly entity: string;
  readonly before: number | null;
  readonly after: number | null;
}

export interface Replaced {
  /** Id and slug of the workspace that was replaced. */
  readonly former: { readonly id: string; readonly slug: string };
  readonly entities: readonly EntityComparison[];
}

const MAX_SLUG = 63;
// Rows that go over from the former workspace, so that a key that was revoked after the backup does not come back.
const LEFT_OUT: ReadonlySet<unknown> = new Set(['apiKeys', 'oauthClients', 'identityProvider', 'agents']);

/** Restores the one workspace of a file in the place of `former`; 409 while that is migrated, moved or renamed. */
export async function restoreInPlace(
  session: Session,
  { header, pieces }: OpenedFile,
  options: RestoreOptions,
  former: WorkspaceSummary,
): Promise<Restored & { readonly replaced: Replaced }> {
  const { id: formerId, organization, slug } = former;
  const temporary = await findFreeSlug(session, former, '-restored');
  const { workspaces, leftOut } = await restoreAll(
    session,
    { header, pieces: selectPieces(pieces) },
    { ...options, as: { organization, slug: temporary } },
  );
  const [made] = workspaces as [RestoredWorkspace];
  await tryLockWorkspace(session, formerId);
  const [row] = await session.query<{ document: string; names: PhysicalNames; day: string }>(
    toQuery(sql`select document::text, names, to_char(now() at time zone 'UTC', 'YYYY-MM-DD') as day from wda.workspace
where id = ${formerId} and slug = ${slug} and organization_id = (select id from wda.organization where slug = ${organization})
for update`),
  );
  if (row === undefined) throw workspaceChanged(organization, slug);
  const before = await countRecords(session, row.document, row.names, former.databaseSchema);
  const names = new Set([...before.keys(), ...made.entities.keys()]);
  const entities = [...names].map((entity) => ({
    entity,
    before: before.get(entity) ?? null,
    after: made.entities.get(entity) ?? null,
  }));
  const keptSlug = await findFreeSlug(session, former, `-before-${row.day}`);
  for (const statement of changeOver({ formerId, id: made.id, slug, temporary, keptSlug }))
    await session.query(toQuery(statement));
  return {
    workspaces: [{ ...made, slug }],
    leftOut,
    replaced: { former: { id: formerId, slug: keptSlug }, entities },
  };
}

/** Yields the pieces that are restored. The organization is that of the former workspace. */
async function* selectPieces(pieces: AsyncIterable<Piece>): AsyncGenerator<Piece> {
  let isRestored = false;
  for await (const piece of pieces) {
    if ('entry' in piece) isRestored = piece.entry.kind !== 'organization' && !LEFT_OUT.has(piece.entry.of);
    if (isRestored) yield piece;
  }
}

/** Finds a slug of the organization that no workspace has: that of the workspace with an ending, and a number if need be. */
async function findFreeSlug(
  session: Session,
  { organization, slug }: WorkspaceSummary,
  ending: string,
): Promise<string> {
  const rows = await session.query<{ slug: string }>(
    toQuery(sql`select w.slug from wda.workspace w join wda.organization o on o.id = w.organization_id
where o.slug = ${organization} and strpos(w.slug, ${ending}) > 0`),
  );
  const usedSlugs = new Set(rows.map((row) => row.slug));
  for (let number = 1; ; number++) {
    const suffix = number === 1 ? ending : `${ending}-${number}`;
    // A slug ends its words with a letter or digit.
    const free = `${slug.slice(0, MAX_SLUG - suffix.length).replace(/-+$/, '')}${suffix}`;
    if (!usedSlugs.has(free)) return free;
  }
}

/** Counts the records of each entity. */
async function countRecords(
  session: Session,
  document: string,
  names: PhysicalNames,
  schema: string,
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for (const table of buildTables(parseDocument(document), schema, names).values()) {
    const [row] = await session.query<{ count: number }>(
      toQuery(sql`select count(*)::float8 as count from ${tableRef(table)}`),
    );
    counts.set(table.entity, row?.count ?? 0);
  }
  return counts;
}

interface Change {
  readonly formerId: string;
  readonly id: string;
  readonly slug: string;
  readonly temporary: string;
  readonly keptSlug: string;
}

/** Renders the statements that give the restored workspace what the former one has. */
function changeOver({ formerId, id, slug, temporary, keptSlug }: Change): readonly Fragment[] {
  // Ids of the same entities in both, by name; what is limited to an entity that is missing loses it.
  const entities = sql`case when t.entities is not null then (
  select coalesce(array_agg((n.entity_ids ->> e.key)::int8), '{}')
  from wda.workspace f cross join jsonb_each_text(f.entity_ids) e join wda.workspace n on n.id = ${id} and n.entity_ids ? e.key
  where f.id = ${formerId} and e.value::int8 = any(t.entities)) end`;
  const moveRows = (table: string, hasEntities: boolean): Fragment =>
    sql`update wda.${ident(table)} t set workspace_id = ${id}${hasEntities ? sql`, entities = ${entities}` : sql``} where t.workspace_id = ${formerId}`;
  return [
    // Kept as it was: no rollout changes it any more.
    sql`update wda.workspace set slug = ${keptSlug}, shared_schema_id = null, shared_schema_version = null where id = ${formerId}`,
    sql`update wda.workspace w set slug = ${slug}, name = f.name, cors_origins = f.cors_origins, state = f.state, limits = f.limits
from wda.workspace f where w.id = ${id} and f.id = ${formerId}`,
    sql`delete from wda.slug_holder where workspace_id = ${id} and slug = ${temporary}`,
    // Former slugs lead to the workspace that has the present one.
    sql`update wda.slug_holder set workspace_id = ${id} where workspace_id = ${formerId} and slug <> ${keptSlug}`,
    moveRows('api_key', true),
    moveRows('oauth_client', true),
    moveRows('member', false),
    moveRows('agent_settings', true),
    moveRows('identity_provider', false),
  ];
}
