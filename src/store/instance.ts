// Facts about the whole installation: stored ones by name, and what its database is.
import { randomBytes } from 'node:crypto';
import type { Database } from '../database/pool.ts';
import { sql, toQuery } from '../sql/fragment.ts';

export async function loadFact(db: Database, name: string): Promise<string | undefined> {
  const rows = await db.query<{ value: string }>(toQuery(sql`select value from wda.instance where name = ${name}`));
  return rows[0]?.value;
}

/** The fact as whoever was first has stored it. */
export async function getOrStoreFact(db: Database, name: string, value: string): Promise<string> {
  await db.query(
    toQuery(sql`insert into wda.instance (name, value) values (${name}, ${value}) on conflict (name) do nothing`),
  );
  return (await loadFact(db, name)) ?? value;
}

/** Random text of the installation by its name, made by whoever asks first; it is asked for once and then remembered. */
export function makeSecret(db: Database, name: string, bytes = 32): () => Promise<string> {
  let secret: Promise<string> | undefined;
  return () => {
    secret ??= getOrStoreFact(db, name, randomBytes(bytes).toString('base64url')).catch((error) => {
      secret = undefined;
      throw error;
    });
    return secret;
  };
}

export async function storeFact(db: Database, name: string, value: string): Promise<void> {
  await db.query(
    toQuery(
      sql`insert into wda.instance (name, value) values (${name}, ${value}) on conflict (name) do update set value = excluded.value`,
    ),
  );
}

export interface DatabaseFacts {
  /** The version of PostgreSQL, e.g. `18.1`. */
  readonly version: string;
  readonly name: string;
  /** On disk, with all tables and indexes of everybody in this database. */
  readonly bytes: number;
}

export async function loadDatabaseFacts(db: Database): Promise<DatabaseFacts> {
  const rows = await db.query<{ version: string; name: string; bytes: string }>(
    toQuery(
      sql`select current_setting('server_version') as version, current_database()::text as name, pg_database_size(current_database())::text as bytes`,
    ),
  );
  const { version, name, bytes } = rows[0]!;
  return { version, name, bytes: Number(bytes) };
}
