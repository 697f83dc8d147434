// Facts about the whole installation, by name.
import type { Database } from '../db/pool.ts';
import { sql, toQuery } from '../sql/fragment.ts';

export async function loadFact(db: Database, name: string): Promise<string | undefined> {
  const rows = await db.query<{ value: string }>(toQuery(sql`select value from wda.instance where name = ${name}`));
  return rows[0]?.value;
}

export async function storeFact(db: Database, name: string, value: string): Promise<void> {
  await db.query(
    toQuery(
      sql`insert into wda.instance (name, value) values (${name}, ${value}) on conflict (name) do update set value = excluded.value`,
    ),
  );
}
