// The engine of the database: plain PostgreSQL, or a Citus cluster whose coordinator we are connected to.
import type { Session } from '../db/pool.ts';
import { ident, sql, toQuery } from '../sql/fragment.ts';

/** The setting of Citus that lets tables of a distributed schema have triggers. */
export const TRIGGERS_SETTING = 'citus.enable_unsafe_triggers';

export interface Citus {
  /** `13.2-1`. */
  readonly version: string;
  /**
   * Whether tables of workspaces may have triggers. Our triggers write to the schema of their table alone, which lies
   * on the same node: what Citus calls unsafe does not concern them.
   */
  readonly hasTriggers: boolean;
}

// The first that has schemas as units: citus_schema_distribute(), citus_schema_move().
const OLDEST = 12;

/** Why a cluster of this version, as of `13.2-1`, is of no use to the server; undefined when it is. In words for whoever runs it. */
export function unfitVersion(version: string): string | undefined {
  if (Number.parseInt(version, 10) >= OLDEST) return undefined;
  return `The database is a cluster of Citus ${version}, and workspaces can lie on nodes since Citus ${OLDEST}: update it on all nodes, then run ALTER EXTENSION citus UPDATE on each`;
}

/**
 * Why our role is of no use on the cluster; undefined when it is. Citus makes tables by connections of the owner of its extension
 * and gives to the nodes what is done to roles that it knows: of another one each create of a table waits for itself.
 */
export async function unfitRole(session: Pick<Session, 'query'>): Promise<string | undefined> {
  const [found] = await session.query(
    toQuery(sql`select from pg_extension where extname = 'citus' and not exists (
  select from pg_dist_object o join pg_roles r on r.oid = o.objid where o.classid = 'pg_authid'::regclass and r.rolname = session_user)`),
  );
  return found === undefined
    ? undefined
    : 'The role of DATABASE_URL is none that Citus knows, as its extension belongs to another one: connect as its owner, or run CREATE EXTENSION citus on each node as this role before the nodes are added';
}

/**
 * What the cluster lacks, and the statement that gives it, to be run on the coordinator; undefined when nothing is lacking.
 */
export async function findLack(
  session: Pick<Session, 'query'>,
): Promise<{ readonly message: string; readonly statement: string } | undefined> {
  const citus = await findCitus(session);
  if (citus === undefined || citus.hasTriggers) return undefined;
  const [row] = await session.query<{ name: string }>(toQuery(sql`select current_database() as name`));
  return {
    message: `${TRIGGERS_SETTING} is off in the Citus cluster: changes of field types are blocking`,
    statement: sql`alter database ${ident(row?.name ?? '')} set citus.enable_unsafe_triggers = on`.text,
  };
}

/** Undefined on plain PostgreSQL. */
export async function findCitus(session: Pick<Session, 'query'>): Promise<Citus | undefined> {
  const [row] = await session.query<{ version: string; triggers: string | null }>(
    toQuery(sql`select extversion as version, current_setting(${TRIGGERS_SETTING}, true) as triggers
from pg_extension where extname = 'citus'`),
  );
  return row === undefined ? undefined : { version: row.version, hasTriggers: row.triggers === 'on' };
}
