// Schema documents of workspaces, with their names in PostgreSQL and the gates of a running migration.
import type { Database, Session } from '../database/pool.ts';
import type { MigrationGate } from '../model/entity.ts';
import type { PhysicalNames } from '../model/physical-name.ts';
import type { SchemaDocument } from '../schema/format.ts';
import { type Fragment, sql, toQuery } from '../sql/fragment.ts';
import { parseDocument, type WorkspaceRow } from './load-workspace.ts';
import { FOLLOWS, type Follows, WORKSPACES } from './workspaces.ts';

/** Time at which a name was released. */
export interface ReleasedName {
  /** The first version of the workspace without the name. */
  readonly version: string;
  /** Milliseconds by the clock of the database. */
  readonly at: number;
}

/** Names of tables and columns that were in use recently. */
export interface ReleasedNames {
  /** Names by key: `orders` or `orders.total`. */
  readonly names: Readonly<Record<string, ReleasedName>>;
  /** Time of the last change of any name. */
  readonly changedAt: number;
  readonly now: number;
}

export interface StoredWorkspace extends WorkspaceRow {
  readonly releasedNames: ReleasedNames;
  readonly follows: Follows | null;
}

/** Loads the row with its document in a session, or undefined if the workspace does not exist. */
export async function loadWorkspaceRow(
  session: Pick<Session, 'query'>,
  id: string,
): Promise<StoredWorkspace | undefined> {
  const rows = await session.query<
    Omit<WorkspaceRow, 'document'> & {
      document: string;
      releasedNames: Readonly<Record<string, ReleasedName>>;
      now: number;
      follows: Follows | null;
    }
  >(
    toQuery(sql`select w.id, o.slug as organization, w.slug, w.name, w.version, w.database_schema as "databaseSchema", w.document::text as document, w.names, w.gates,
  w.entity_ids as "entityIds", w.freed as "releasedNames", ${NOW} as now, ${FOLLOWS}
from ${WORKSPACES} where w.id = ${id}`),
  );
  const row = rows[0];
  if (row === undefined) return undefined;
  const { [LAST_CHANGE]: lastChange, ...names } = row.releasedNames;
  return {
    ...row,
    document: parseDocument(row.document),
    releasedNames: { names, changedAt: lastChange?.at ?? 0, now: row.now },
  };
}

const NOW: Fragment = sql`(extract(epoch from clock_timestamp()) * 1000)::float8`;
// Key of the last change among the names; no name is empty.
const LAST_CHANGE = '';
// Longer than the longest request.
const RELEASED_RETENTION_MS = 86_400_000;

/**
 * Adds names to the column `freed` and removes names that were released before the oldest request. The next version is
 * at least one higher.
 */
const addReleasedNames = (keys: readonly string[]): Fragment => sql`(select jsonb_object_agg(f.key, f.since) from (
    select e.key, e.value as since from jsonb_each(freed) e
    where (e.value ->> 'at')::float8 > ${NOW} - ${RELEASED_RETENTION_MS}::float8 and e.key <> all(${[...keys, LAST_CHANGE]}::text[])
    union all select k, jsonb_build_object('version', (version + 1)::text, 'at', ${NOW}) from unnest(${[...keys, LAST_CHANGE]}::text[]) k
  ) f)`;

/** A document that replaces another. */
export interface NewDocument {
  readonly document: SchemaDocument;
  readonly names: PhysicalNames;
  /** Names that are no longer in use. */
  readonly releasedNames: readonly string[];
  /** Previous names of renamed entities, by their new names. */
  readonly renamed: ReadonlyMap<string, string>;
}

/** Activates a schema document in the transaction that changes the tables. */
export function storeDocument(id: string, { document, names, releasedNames, renamed }: NewDocument): Fragment {
  const entities = Object.keys(document.entities);
  const before = entities.map((name) => renamed.get(name) ?? name);
  return sql`update wda.workspace set document = ${JSON.stringify(document)}::json, names = ${JSON.stringify(names)}::jsonb,
  freed = ${addReleasedNames(releasedNames)}, gates = '{}',
  entity_ids = wda.entity_ids(entity_ids, ${entities}::text[], ${before}::text[]) where id = ${id}`;
}

/** Loads the ids of a workspace's entities by their names. */
export async function loadEntityIds(db: Pick<Session, 'query'>, id: string): Promise<ReadonlyMap<string, string>> {
  const rows = await db.query<{ ids: Readonly<Record<string, number>> }>(
    toQuery(sql`select entity_ids as ids from wda.workspace where id = ${id}`),
  );
  return new Map(Object.entries(rows[0]?.ids ?? {}).map(([name, of]) => [name, String(of)]));
}

/** Loads the roles that the document declares. */
export async function loadRoles(db: Database, id: string): Promise<readonly string[]> {
  const rows = await db.query<{ roles: readonly string[] | null }>(
    toQuery(sql`select document -> 'roles' as roles from wda.workspace where id = ${id}`),
  );
  return rows[0]?.roles ?? [];
}

/** Stores other names in PostgreSQL for the same document. */
export function storeNames(id: string, names: PhysicalNames, releasedNames: readonly string[]): Fragment {
  return sql`update wda.workspace set names = ${JSON.stringify(names)}::jsonb, freed = ${addReleasedNames(releasedNames)}
where id = ${id}`;
}

/** Loads some of the workspaces whose tables or columns have names in PostgreSQL that differ from the document. */
export async function loadUnfinalizedWorkspaces(db: Database, limit: number): Promise<readonly string[]> {
  const rows = await db.query<{ id: string }>(
    toQuery(
      sql`select id from wda.workspace where names - 'constraints' <> '{"tables": {}, "columns": {}}' order by random() limit ${limit}`,
    ),
  );
  return rows.map(({ id }) => id);
}

/** Sets the gates of entities; an entity without one is open. */
export function storeGates(id: string, gates: Readonly<Record<string, MigrationGate>>): Fragment {
  return sql`update wda.workspace set gates = ${JSON.stringify(gates)}::jsonb
where id = ${id} and gates <> ${JSON.stringify(gates)}::jsonb`;
}

/**
 * Updates how long the gates of a migration stay closed. Closes no gate: the statement may be delivered when the gates
 * are open again. After waiting for a row lock PostgreSQL checks `gates` again, but not the migration.
 */
export function refreshGates(
  id: string,
  migrationId: string,
  gates: Readonly<Record<string, MigrationGate>>,
): Fragment {
  return sql`update wda.workspace set gates = ${JSON.stringify(gates)}::jsonb
where id = ${id} and gates <> '{}' and gates <> ${JSON.stringify(gates)}::jsonb
  and exists (select from wda.migration where id = ${migrationId} and state = 'running')`;
}

/** Loads the document in force as its stored JSON text, and the names in PostgreSQL that differ from its own. */
export async function loadDocumentText(
  db: Database,
  id: string,
): Promise<{ readonly document: string; readonly names: PhysicalNames } | undefined> {
  const rows = await db.query<{ document: string; names: PhysicalNames }>(
    toQuery(sql`select document::text as document, names from wda.workspace where id = ${id}`),
  );
  return rows[0];
}
