// Facts about the whole installation: stored values by name, and properties of its database.
import { randomBytes } from 'node:crypto';
import type { Database } from '../database/pool.ts';
import type { Metric } from '../metric.ts';
import { sql, toQuery } from '../sql/fragment.ts';

export async function loadFact(db: Database, name: string): Promise<string | undefined> {
  const rows = await db.query<{ value: string }>(toQuery(sql`select value from wda.instance where name = ${name}`));
  return rows[0]?.value;
}

/** Returns the stored value of a fact; stores `value` unless another process was first. */
export async function getOrStoreFact(db: Database, name: string, value: string): Promise<string> {
  await db.query(
    toQuery(sql`insert into wda.instance (name, value) values (${name}, ${value}) on conflict (name) do nothing`),
  );
  return (await loadFact(db, name)) ?? value;
}

/**
 * Returns a random secret of the installation by name: the first process creates it; later calls use the value in
 * memory.
 */
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
  /** Size on disk of all tables and indexes of this database. */
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

/** Measures the size of the database for the metrics, when `run` is called. */
export function makeSizeMeter(db: Database): {
  readonly run: () => Promise<void>;
  readonly metrics: readonly Metric[];
} {
  let bytes = 0;
  return {
    async run() {
      bytes = (await loadDatabaseFacts(db)).bytes;
    },
    metrics: [
      {
        name: 'wda_database_bytes',
        help: 'Bytes of the database on disk, as measured last',
        aggregator: 'max',
        read: () => bytes,
      },
    ],
  };
}
