// What there is to say of an installation as a whole: its database, and the processes that serve it.
import type { Database } from '../db/pool.ts';
import { sql, toQuery } from '../sql/fragment.ts';

export interface DatabaseFacts {
  /** Of PostgreSQL, as `18.1`. */
  readonly version: string;
  readonly name: string;
  /** On disk, with all tables and indexes of everybody in this database. */
  readonly bytes: number;
}

export interface LivingProcess {
  /** Host and process id. */
  readonly place: string;
  readonly startedAt: Date;
}

// Far more than a database has connections for.
const MAX_PROCESSES = 1000;

export async function loadDatabaseFacts(db: Database): Promise<DatabaseFacts> {
  const rows = await db.query<{ version: string; name: string; bytes: string }>(
    toQuery(
      sql`select current_setting('server_version') as version, current_database()::text as name, pg_database_size(current_database())::text as bytes`,
    ),
  );
  const { version, name, bytes } = rows[0]!;
  return { version, name, bytes: Number(bytes) };
}

/** The processes that the others know, the oldest first. One that was killed is there until the next change. */
export async function loadProcesses(db: Database): Promise<readonly LivingProcess[]> {
  return db.query<LivingProcess>(
    toQuery(
      sql`select place, started_at as "startedAt" from wda.process order by started_at, id limit ${MAX_PROCESSES}::int8`,
    ),
  );
}
