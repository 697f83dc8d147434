// A snapshot of the installation, or of one workspace, as the pieces of a backup. Readers and writers are not held up:
// tables are held as a read holds them, so that none of them is altered until their records are read.
import { parseDocument } from '../catalog/load-workspace.ts';
import { type Backend, backendOf, copyOut } from '../db/copy.ts';
import { sqlState } from '../db/errors.ts';
import type { Database, Session, Transaction, TransactionOptions } from '../db/pool.ts';
import { executeEach } from '../db/transaction.ts';
import { WORKSPACES } from '../directory/workspaces.ts';
import { tablesOf } from '../document/tables.ts';
import { notFound, serviceUnavailable } from '../errors.ts';
import type { PhysicalNames } from '../model/physical-name.ts';
import { type Fragment, ident, join, literal, sql, type TableName, tableRef, toQuery } from '../sql/fragment.ts';
import type { Topology } from '../topology/topology.ts';
import { cutWhenUnavailable } from '../topology/unavailable.ts';
import { MAX_DATA, type Piece } from './format.ts';
import { PARTS } from './parts.ts';

/** The id of a workspace; null: all of them. */
export type Wanted = string | null;

interface PlacedTable extends TableName {
  readonly oid: string;
}

const TRIES = 10;
/** Whose the connections of backups and restores are: owners take none of the operator's share. */
export const TENANTS = { instance: 'backups', workspaces: 'backups of workspaces' } as const;
const APPLICATION = 'workspace-data-api backup';

/**
 * In a snapshot that holds all tables of what is wanted: `work` runs once. `place`: where they are. 503 when somebody alters
 * them all the time.
 */
export async function inHeldSnapshot<T>(
  db: Database,
  wanted: Wanted,
  {
    place,
    lockHere,
    ...options
  }: Pick<TransactionOptions, 'statementTimeoutMs' | 'caller' | 'deadline' | 'place'> & Pick<Topology, 'lockHere'>,
  work: (session: Transaction, backend: Backend) => Promise<T>,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    const tables = await tablesIn(db, wanted);
    const outcome = await db.transaction(
      (session) =>
        cutWhenUnavailable(session, place, async () => {
          if (!(await hold(session, wanted, tables, lockHere))) return undefined;
          return { result: await work(session, backendOf(db, session)) };
        }),
      {
        ...options,
        isolation: 'repeatable read',
        readOnly: true,
        purpose: 'transfer',
        tenant: wanted === null ? TENANTS.instance : TENANTS.workspaces,
      },
    );
    if (outcome !== undefined) return outcome.result;
    if (tries === TRIES)
      throw serviceUnavailable('SCHEMA_CHANGING', 'The tables are being altered all the time; retry', 5);
  }
}

/**
 * Takes the locks first and the snapshot after them: what was altered until then is seen as it is now, and nothing is
 * altered any more. False when the tables are no longer those that were listed.
 */
async function hold(
  session: Transaction,
  wanted: Wanted,
  tables: readonly PlacedTable[],
  lockHere: readonly Fragment[],
): Promise<boolean> {
  try {
    await session.execute(sql`set local application_name = ${literal(APPLICATION)}`.text);
    // Locks of one workspace are taken where all others come through, and not on every node, one of which may be silent.
    if (wanted !== null) await executeEach(session, lockHere);
    if (tables.length > 0)
      await session.execute(sql`lock table ${join(tables.map(tableRef))} in access share mode`.text);
  } catch (error) {
    // The table, its schema is gone; somebody alters it.
    if (['42P01', '3F000', '55P03'].includes(sqlState(error) ?? '')) return false;
    throw error;
  }
  const held = new Set(tables.map(placeOf));
  const now = await tablesIn(session, wanted);
  if (now.length !== held.size || !now.every((table) => held.has(placeOf(table)))) return false;
  // A node that is away is told of before the first byte is sent, after which there is no other status.
  const [first] = tables;
  if (wanted !== null && first !== undefined)
    await session.query(toQuery(sql`select 1 from ${tableRef(first)} limit 1`));
  return true;
}

const placeOf = ({ schema, name, oid }: PlacedTable): string => `${schema}.${name} ${oid}`;

const tablesIn = (db: Pick<Session, 'query'>, wanted: Wanted): Promise<PlacedTable[]> =>
  db.query<PlacedTable>(
    toQuery(sql`select c.oid, w.database_schema as schema, c.relname as name from wda.workspace w
join pg_namespace n on n.nspname = w.database_schema join pg_class c on c.relnamespace = n.oid and c.relkind = 'r'
where ${isWanted(wanted)} order by c.oid`),
  );

const isWanted = (wanted: Wanted): Fragment => (wanted === null ? sql`true` : sql`w.id = ${wanted}::bigint`);

/** The moment of the snapshot, ISO 8601 in UTC. */
export async function snapshotTime(session: Session): Promise<string> {
  const [row] = await session.query<{ now: Date }>(toQuery(sql`select now() as now`));
  return (row as { now: Date }).now.toISOString();
}

interface Found {
  readonly id: string;
  readonly organization: string;
  readonly slug: string;
  readonly name: string;
  readonly schema: string;
  readonly createdAt: Date;
  readonly document: string;
  readonly names: PhysicalNames;
}

/** The pieces, in an order in which they can be restored one after the other. */
export async function* piecesOf(session: Session, backend: Backend, wanted: Wanted): AsyncGenerator<Piece> {
  const organizations = await session.query<{ slug: string; name: string; createdAt: Date }>(
    toQuery(sql`select o.slug, o.name, o.created_at as "createdAt" from wda.organization o
where ${wanted === null ? sql`true` : sql`o.id = (select w.organization_id from wda.workspace w where ${isWanted(wanted)})`} order by o.id`),
  );
  for (const organization of organizations) yield { entry: { kind: 'organization', ...organization } };
  let count = 0;
  // One after the other: a document may be large.
  for (let after = '0'; ; count++) {
    const [workspace] = await session.query<Found>(
      toQuery(sql`select w.id, o.slug as organization, w.slug, w.name, w.database_schema as schema, w.created_at as "createdAt",
  w.document::text as document, w.names from ${WORKSPACES} where w.id > ${after}::bigint and ${isWanted(wanted)} order by w.id limit 1`),
    );
    if (workspace === undefined) break;
    after = workspace.id;
    yield* piecesOfWorkspace(session, backend, workspace);
  }
  if (wanted !== null && count === 0) throw notFound('WORKSPACE_NOT_FOUND', 'The workspace does not exist any more');
}

async function* piecesOfWorkspace(session: Session, backend: Backend, workspace: Found): AsyncGenerator<Piece> {
  const { id, organization, slug, name, schema, createdAt, document, names } = workspace;
  yield { entry: { kind: 'workspace', organization, slug, name, createdAt } };
  const text = Buffer.from(document);
  for (let at = 0; at < text.length; at += MAX_DATA) yield { data: text.subarray(at, at + MAX_DATA) };
  for (const table of tablesOf(parseDocument(document), schema, names).values()) {
    const [sequence] = await session.query<{ last: string | null }>(
      toQuery(
        sql`select pg_sequence_last_value(${tableRef({ schema, name: table.sequence }).text}::regclass)::text as last`,
      ),
    );
    const columns = [...table.columns.values()];
    const fields = [...table.columns.keys()];
    yield { entry: { kind: 'records', entity: table.entity, fields, lastId: sequence?.last ?? null } };
    const copied = sql`copy ${tableRef(table)} (${join(columns.map(({ column }) => ident(column)))}) to stdout`;
    yield* parts(session, backend, copied);
  }
  for (const { name: part, lines } of PARTS) {
    yield { entry: { kind: 'rows', of: part } };
    yield* parts(session, backend, sql`copy (${lines(id)}) to stdout`);
  }
}

async function* parts(session: Session, backend: Backend, copy: Fragment): AsyncGenerator<Piece> {
  for await (const data of copyOut(session, backend, copy.text, MAX_DATA)) yield { data };
}
