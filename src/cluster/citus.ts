// The engine of the database: plain PostgreSQL, or a Citus cluster whose coordinator we are connected to.
import type { Session } from '../db/pool.ts';
import { sql, toQuery } from '../sql/fragment.ts';

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

/** Undefined on plain PostgreSQL. */
export async function findCitus(session: Pick<Session, 'query'>): Promise<Citus | undefined> {
  const [row] = await session.query<{ version: string; triggers: string | null }>(
    toQuery(sql`select extversion as version, current_setting(${TRIGGERS_SETTING}, true) as triggers
from pg_extension where extname = 'citus'`),
  );
  return row === undefined ? undefined : { version: row.version, hasTriggers: row.triggers === 'on' };
}
