// Dumps a snapshot of the installation, or of one workspace, as the pieces of a backup. Readers and writers are not
// blocked: tables are locked in the mode of a read, so that none of them is altered until its records are read.

import { type Backend, copyOut, makeBackend } from '../database/copy.ts';
import { getSqlState } from '../database/errors.ts';
import { hasFiles } from '../database/install.ts';
import type { Database, Session, Transaction, TransactionOptions } from '../database/pool.ts';
import { executeEach } from '../database/transaction.ts';
import { notFound, serviceUnavailable } from '../errors.ts';
import type { StoredLimits } from '../model/limits.ts';
import type { PhysicalNames } from '../model/physical-name.ts';
import type { WorkspaceState } from '../model/workspace.ts';
import { buildTables, type Table } from '../schema/tables.ts';
import { type Fragment, ident, join, literal, sql, type TableName, tableRef, toQuery } from '../sql/fragment.ts';
import { parseDocument } from '../store/load-workspace.ts';
import { FOLLOWS, type Follows, WORKSPACES } from '../store/workspaces.ts';
import type { Topology } from '../topology/topology.ts';
import { cutWhenUnavailable } from '../topology/unavailable.ts';
import { selectCopiedSince, selectHistoryLines } from '../workspace-schema/history-copy.ts';
import { MAX_DATA, type Piece } from './format.ts';
import { ROW_KINDS } from './row-kinds.ts';

/** The id of a workspace; null for all of them. */
export type BackupTarget = string | null;

interface IdentifiedTable extends TableName {
  readonly oid: string;
}

const MAX_ATTEMPTS = 10;
/** Tenants of the connections of backups and restores: backups of owners use none of the operator's share. */
export const TENANTS = { instance: 'backups', workspaces: 'backups of workspaces' } as const;
const APPLICATION = 'workspace-data-api backup';

/**
 * Runs `work` in a snapshot while all tables of the target are locked. `node`: place of the tables. 503 when schema
 * changes keep preventing that.
 */
export async function withLockedSnapshot<T>(
  db: Database,
  target: BackupTarget,
  {
    node,
    localLockStatements: lockHere,
    ...options
  }: Pick<TransactionOptions, 'statementTimeoutMs' | 'signal' | 'deadline' | 'node'> &
    Pick<Topology, 'localLockStatements'>,
  work: (session: Transaction, backend: Backend) => Promise<T>,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    const tables = await listTables(db, target);
    const outcome = await db.transaction(
      (session) =>
        cutWhenUnavailable(session, node, async () => {
          if (!(await lockTables(session, target, tables, lockHere))) return undefined;
          return { result: await work(session, makeBackend(db, session)) };
        }),
      {
        ...options,
        isolation: 'repeatable read',
        readOnly: true,
        purpose: 'transfer',
        tenant: target === null ? TENANTS.instance : TENANTS.workspaces,
      },
    );
    if (outcome !== undefined) return outcome.result;
    if (tries === MAX_ATTEMPTS)
      throw serviceUnavailable('SCHEMA_CHANGING', 'The tables are being altered all the time; retry', 5);
  }
}

/**
 * Takes the locks first and the snapshot after them, so that the snapshot has the latest schema and no table is altered
 * any more. Returns false when the tables are no longer those that were listed.
 */
async function lockTables(
  session: Transaction,
  target: BackupTarget,
  tables: readonly IdentifiedTable[],
  lockHere: readonly Fragment[],
): Promise<boolean> {
  try {
    await session.execute(sql`set local application_name = ${literal(APPLICATION)}`.text);
    // Locks of one workspace are taken on the coordinator, and not on every node, one of which may be unavailable.
    if (target !== null) await executeEach(session, lockHere);
    if (tables.length > 0)
      await session.execute(sql`lock table ${join(tables.map(tableRef))} in access share mode`.text);
  } catch (error) {
    // The table or its schema was dropped, or another session is altering it.
    if (['42P01', '3F000', '55P03'].includes(getSqlState(error) ?? '')) return false;
    throw error;
  }
  const tableKeys = new Set(tables.map(toTableKey));
  const now = await listTables(session, target);
  if (now.length !== tableKeys.size || !now.every((table) => tableKeys.has(toTableKey(table)))) return false;
  // Fails for an unavailable node before the first byte is sent, after which the status cannot change.
  const [first] = tables;
  if (target !== null && first !== undefined)
    await session.query(toQuery(sql`select 1 from ${tableRef(first)} limit 1`));
  return true;
}

const toTableKey = ({ schema, name, oid }: IdentifiedTable): string => `${schema}.${name} ${oid}`;

const listTables = (db: Pick<Session, 'query'>, target: BackupTarget): Promise<IdentifiedTable[]> =>
  db.query<IdentifiedTable>(
    toQuery(sql`select c.oid, w.database_schema as schema, c.relname as name from wda.workspace w
join pg_namespace n on n.nspname = w.database_schema join pg_class c on c.relnamespace = n.oid and c.relkind = 'r'
where ${buildTargetFilter(target)} order by c.oid`),
  );

const buildTargetFilter = (target: BackupTarget): Fragment =>
  target === null ? sql`true` : sql`w.id = ${target}::bigint`;

/** Returns the time of the snapshot, ISO 8601 in UTC. */
export async function loadSnapshotTime(session: Session): Promise<string> {
  const [row] = await session.query<{ now: Date }>(toQuery(sql`select now() as now`));
  return (row as { now: Date }).now.toISOString();
}

interface WorkspaceRow {
  readonly id: string;
  readonly organization: string;
  readonly slug: string;
  readonly name: string;
  readonly schema: string;
  readonly createdAt: Date;
  readonly corsOrigins: readonly string[] | null;
  readonly state: WorkspaceState;
  readonly follows: Follows | null;
  readonly limits: StoredLimits;
  readonly document: string;
  readonly names: PhysicalNames;
}

/** Yields the pieces in the order of a restore. */
export async function* dumpPieces(session: Session, backend: Backend, target: BackupTarget): AsyncGenerator<Piece> {
  const organizations = await session.query<{ slug: string; name: string; createdAt: Date; limits: StoredLimits }>(
    toQuery(sql`select o.slug, o.name, o.created_at as "createdAt", o.limits from wda.organization o
where ${target === null ? sql`true` : sql`o.id = (select w.organization_id from wda.workspace w where ${buildTargetFilter(target)})`} order by o.id`),
  );
  for (const organization of organizations) yield { entry: { kind: 'organization', ...organization } };
  if (target === null) yield* dumpSharedSchemas(session);
  let count = 0;
  // Loads one workspace at a time, as a document may be large.
  for (let after = '0'; ; count++) {
    const [workspace] = await session.query<WorkspaceRow>(
      toQuery(sql`select w.id, o.slug as organization, w.slug, w.name, w.database_schema as schema, w.created_at as "createdAt",
  w.cors_origins as "corsOrigins", w.state, w.limits, ${FOLLOWS}, w.document::text as document, w.names from ${WORKSPACES} where w.id > ${after}::bigint and ${buildTargetFilter(target)} order by w.id limit 1`),
    );
    if (workspace === undefined) break;
    after = workspace.id;
    yield* dumpWorkspace(session, backend, workspace);
  }
  if (target !== null && count === 0) throw notFound('WORKSPACE_NOT_FOUND', 'The workspace does not exist any more');
}

/** Yields shared schemas, and their versions one at a time, as a document may be large. */
async function* dumpSharedSchemas(session: Session): AsyncGenerator<Piece> {
  const schemas = await session.query<{ id: string; organization: string; name: string }>(
    toQuery(sql`select s.id, o.slug as organization, s.name, s.description, s.created_at as "createdAt"
from wda.shared_schema s join wda.organization o on o.id = s.organization_id order by s.id`),
  );
  for (const { id, ...schema } of schemas) {
    yield { entry: { kind: 'sharedSchema', ...schema } };
    const { organization, name } = schema;
    for (let after = 0; ; ) {
      const [row] = await session.query<{ version: number; createdAt: Date; content: string }>(
        toQuery(sql`select v.version, v.created_at as "createdAt",
  json_build_object('document', v.document, 'identities', v.identities, 'steps', v.steps)::text as content
from wda.shared_schema_version v where v.shared_schema_id = ${id} and v.version > ${after}::int4 order by v.version limit 1`),
      );
      if (row === undefined) break;
      const { version, createdAt, content } = row;
      after = version;
      yield { entry: { kind: 'sharedSchemaVersion', organization, name, version, createdAt } };
      yield* dumpText(content);
    }
  }
}

function* dumpText(text: string): Generator<Piece> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += MAX_DATA) yield { data: bytes.subarray(at, at + MAX_DATA) };
}

async function* dumpWorkspace(session: Session, backend: Backend, workspace: WorkspaceRow): AsyncGenerator<Piece> {
  const { id, organization, slug, name, schema, createdAt, corsOrigins, state, limits, document, names } = workspace;
  const follows = workspace.follows && { schema: workspace.follows.schema, version: workspace.follows.version };
  yield { entry: { kind: 'workspace', organization, slug, name, createdAt, corsOrigins, state, limits, follows } };
  const { entities } = parseDocument(document);
  const hasHistory = await hasFiles(session, 'changes', schema);
  yield* dumpText(document);
  for (const table of buildTables(parseDocument(document), schema, names).values()) {
    const [sequence] = await session.query<{ last: string | null }>(
      toQuery(
        sql`select pg_sequence_last_value(${tableRef({ schema, name: table.sequence }).text}::regclass)::text as last`,
      ),
    );
    const columns = [...table.columns.values()];
    const fields = [...table.columns.keys()];
    yield { entry: { kind: 'records', entity: table.entity, fields, lastId: sequence?.last ?? null } };
    const copyStatement = sql`copy ${tableRef(table)} (${join(columns.map(({ column }) => ident(column)))}) to stdout`;
    yield* copyPieces(session, backend, copyStatement);
    if (hasHistory && entities[table.entity]?.settings?.changes === 'history')
      yield* dumpHistory(session, backend, table);
  }
  for (const { name: part, lines } of ROW_KINDS) {
    yield { entry: { kind: 'rows', of: part } };
    yield* copyPieces(session, backend, sql`copy (${lines(id)}) to stdout`);
  }
}

/** Yields the changes of the records of a table that keeps their history. */
async function* dumpHistory(session: Session, backend: Backend, table: Table): AsyncGenerator<Piece> {
  const [row] = await session.query<{ since: Date }>(toQuery(selectCopiedSince(table)));
  if (row === undefined) return;
  const columns = Object.fromEntries([...table.columns].map(([field, { column }]) => [field, column]));
  yield { entry: { kind: 'history', entity: table.entity, since: row.since, columns } };
  yield* copyPieces(session, backend, sql`copy (${selectHistoryLines(table)}) to stdout`);
}

async function* copyPieces(session: Session, backend: Backend, copy: Fragment): AsyncGenerator<Piece> {
  for await (const data of copyOut(session, backend, copy.text, MAX_DATA)) yield { data };
}
