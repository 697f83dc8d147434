// Checks the requirements for Citus and the nodes of its cluster. The coordinator opens sessions on the nodes, but does
// not send them the settings of its own sessions: a worker in the zone of Berlin would return datetimes an hour late,
// as if they were UTC.

import { SEMANTIC_SETTINGS } from '../database/connect.ts';
import { InvalidSession } from '../database/errors.ts';
import type { Database, Session } from '../database/pool.ts';
import { ident, join, literal, sql, toQuery } from '../sql/fragment.ts';
import { queryNodes } from './nodes.ts';

/** The setting of Citus that lets tables of a distributed schema have triggers. */
export const TRIGGERS_SETTING = 'citus.enable_unsafe_triggers';

export interface Citus {
  /** Version, such as `13.2-1`. */
  readonly version: string;
  /**
   * Whether tables of workspaces may have triggers. Our triggers only write to the schema of their table, which lies on
   * the same node, so the risk that Citus warns of does not exist.
   */
  readonly hasTriggers: boolean;
}

// The first version with distributed schemas: citus_schema_distribute(), citus_schema_move().
const MIN_VERSION = 12;

/**
 * Returns why a cluster of this version, such as `13.2-1`, is unusable, for operators, or undefined if it is usable.
 */
export function findVersionProblem(version: string): string | undefined {
  if (Number.parseInt(version, 10) >= MIN_VERSION) return undefined;
  return `The database is a cluster of Citus ${version}, and workspaces can lie on nodes since Citus ${MIN_VERSION}: update it on all nodes, then run ALTER EXTENSION citus UPDATE on each`;
}

/**
 * Returns why our role is unusable on the cluster, or undefined if it is usable. Citus creates tables by connections of
 * the owner of its extension and propagates changes of roles that it knows: with another role each create of a table
 * deadlocks with itself.
 */
export async function findRoleProblem(session: Pick<Session, 'query'>): Promise<string | undefined> {
  const [row] = await session.query(
    toQuery(sql`select from pg_extension where extname = 'citus' and not exists (
  select from pg_dist_object o join pg_roles r on r.oid = o.objid where o.classid = 'pg_authid'::regclass and r.rolname = session_user)`),
  );
  return row === undefined
    ? undefined
    : 'The role of DATABASE_URL is none that Citus knows, as its extension belongs to another one: connect as its owner, or run CREATE EXTENSION citus on each node as this role before the nodes are added';
}

/** Returns the Citus of the database, or undefined on plain PostgreSQL. */
export async function findCitus(session: Pick<Session, 'query'>): Promise<Citus | undefined> {
  const [row] = await session.query<{ version: string; triggers: string | null }>(
    toQuery(sql`select extversion as version, current_setting(${TRIGGERS_SETTING}, true) as triggers
from pg_extension where extname = 'citus'`),
  );
  return row === undefined ? undefined : { version: row.version, hasTriggers: row.triggers === 'on' };
}

/**
 * Gives our role its settings in this database, which Citus propagates to all nodes, also to those that join later;
 * changes nothing when it has them. Logs what the cluster lacks. Throws InvalidSession when it is too old or does not
 * know our role, and when a worker that responds still has other settings.
 */
export async function prepareNodes(
  db: Database,
  log: Record<'info' | 'warn', (message: string, facts: Record<string, unknown>) => void>,
): Promise<void> {
  const citus = await findCitus(db);
  if (citus === undefined) return;
  const problem = findVersionProblem(citus.version) ?? (await findRoleProblem(db));
  if (problem !== undefined) throw new InvalidSession(problem);
  if (!citus.hasTriggers) {
    const [row] = await db.query<{ name: string }>(toQuery(sql`select current_database() as name`));
    log.warn(`${TRIGGERS_SETTING} is off in the Citus cluster: changes of field types are blocking`, {
      statement: sql`alter database ${ident(row?.name ?? '')} set citus.enable_unsafe_triggers = on`.text,
    });
  }
  try {
    const isNew = await db.transaction(applySettings, { purpose: 'migration' });
    if (isNew) log.info('our role has its settings on the nodes of the cluster', {});
  } catch (error) {
    // A node is down, or we lack the permission: the current settings of the nodes are checked below.
    log.warn('our role could not be given its settings on the nodes of the cluster', { error: String(error) });
  }
  const names = join(Object.keys(SEMANTIC_SETTINGS).map(literal));
  const results = await queryNodes<Readonly<Record<string, string>>>(
    db,
    sql`select json_object_agg(name, setting) from pg_settings where name in (${names})`.text,
  );
  for (const { node, result } of results) {
    // The coordinator runs its part in the calling session.
    if (result === undefined || node.isCoordinator) continue;
    const [mismatch] = Object.entries(SEMANTIC_SETTINGS).filter(([name, value]) => result[name] !== value);
    if (mismatch === undefined) continue;
    throw new InvalidSession(
      `A worker of the cluster runs our statements with ${mismatch[0]} = ${result[mismatch[0]]}, which has to be ${mismatch[1]}: give it to the role of the server there`,
    );
  }
}

/** Applies the settings; false when the role had them. */
async function applySettings(session: Pick<Session, 'query' | 'execute'>): Promise<boolean> {
  const settings = Object.entries(SEMANTIC_SETTINGS);
  // Several processes may start at the same time, and PostgreSQL rejects the second one.
  await session.query(toQuery(sql`select pg_advisory_xact_lock(hashtextextended('settings of nodes', 0))`));
  const [row] = await session.query<{ role: string; database: string; has: boolean }>(
    toQuery(sql`select session_user as role, current_database() as database, not exists (
  select s.name || '=' || s.value from unnest(${Object.keys(SEMANTIC_SETTINGS)}::text[], ${Object.values(SEMANTIC_SETTINGS)}::text[]) as s (name, value)
  except select unnest(r.setconfig) from pg_db_role_setting r join pg_database d on d.oid = r.setdatabase
  join pg_roles o on o.oid = r.setrole where d.datname = current_database() and o.rolname = session_user) as has`),
  );
  if (row === undefined || row.has) return false;
  // Cached connections with the previous settings are closed at the end of the transaction.
  await session.execute('set local citus.max_cached_conns_per_worker = 0');
  const role = sql`alter role ${ident(row.role)} in database ${ident(row.database)}`;
  for (const [name, value] of settings) {
    const settingValue = join(value.split(', ').map(literal));
    await session.execute(sql`${role} set ${ident(name)} = ${settingValue}`.text);
  }
  return true;
}
