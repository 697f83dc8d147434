// Kept totals: begins to keep the number of records of a table that has grown large enough for counting to cost, without
// holding up its writers. The table itself and the trigger function are in install/000005.
import type { Database, Session } from '../db/pool.ts';
import type { Entity } from '../model/entity.ts';
import { ident, literal, sql, toQuery } from '../sql/fragment.ts';
import { script, tableRef } from './ddl.ts';
import { withLockRetry } from './lock-retry.ts';
import { inTransaction, LOCK_BUDGET_MS } from './transaction.ts';

export interface Totals {
  /** Sees to it, in the background, that the total of the entity is kept from soon on. */
  keep(entity: Pick<Entity, 'table'>): void;
  /** Forgets totals that cannot be trusted any more: their table is gone, or its triggers are. */
  check(): Promise<void>;
}

export interface TotalsOptions {
  readonly db: Database;
  readonly onError: (message: string, error: unknown) => void;
}

type TableName = Entity['table'];

// Counting a billion records takes minutes, and nobody waits for it.
const COUNT_TIMEOUT_MS = 3_600_000;
// A table whose total could not be kept is not tried again at once.
const RETRY_MS = 60_000;
const MAX_REMEMBERED = 10_000;

export function makeTotals({ db, onError }: TotalsOptions): Totals {
  const tried = new Map<string, number>();
  let working: Promise<void> | undefined;

  async function begin(table: TableName): Promise<void> {
    await db.session(async (session) => {
      await withLockRetry(() => inTransaction(session, LOCK_BUDGET_MS, () => addTriggers(session, table)));
    });
    // Everything that is written from here on is added by the triggers; one snapshot sees both that and the records.
    await db.transaction(
      async (session) => {
        await session.query(toQuery(storeBase(table)));
      },
      { isolation: 'repeatable read', statementTimeoutMs: COUNT_TIMEOUT_MS },
    );
  }

  return {
    keep({ table }) {
      const key = `${table.schema}.${table.name}`;
      const now = performance.now();
      if (working !== undefined || now - (tried.get(key) ?? Number.NEGATIVE_INFINITY) < RETRY_MS) return;
      if (tried.size >= MAX_REMEMBERED) tried.clear();
      tried.set(key, now);
      working = begin(table)
        .catch((error) => onError('a total could not be kept', error))
        .finally(() => {
          working = undefined;
        });
    },
    async check() {
      await db.query(
        toQuery(sql`delete from wda.total t where not exists (
  select from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.oid = t.relid and n.nspname || '.' || c.relname = t.relation and 3 = (
    select count(*) from pg_trigger g
    where g.tgrelid = c.oid and g.tgfoid = 'wda.count_records'::regproc and g.tgenabled in ('O', 'A')
  )
)`),
      );
    },
  };
}

const relation = ({ schema, name }: TableName): string => `${schema}.${name}`;

/** Does nothing when they are there. Creating a trigger waits until those who write at the moment have ended. */
async function addTriggers(session: Session, table: TableName): Promise<void> {
  const at = sql`${literal(tableRef(table).text)}::regclass`;
  const [there] = await session.query<{ there: boolean }>(
    toQuery(
      sql`select exists (select from pg_trigger where tgrelid = ${at} and tgfoid = 'wda.count_records'::regproc) as there`,
    ),
  );
  const run = sql`execute function wda.count_records()`;
  const on = sql`on ${tableRef(table)}`;
  if (there?.there !== true) {
    await session.execute(
      script([
        sql`create trigger ${ident('$total_insert')} after insert ${on} referencing new table as added for each statement ${run}`,
        sql`create trigger ${ident('$total_delete')} after delete ${on} referencing old table as removed for each statement ${run}`,
        sql`create trigger ${ident('$total_truncate')} after truncate ${on} for each statement ${run}`,
      ]),
    );
  }
  await session.query(
    toQuery(sql`insert into wda.total (relid, slot, n, relation)
select ${at}, slot, 0, ${relation(table)} from generate_series(0, 15) slot on conflict do nothing`),
  );
}

function storeBase(table: TableName) {
  const at = sql`${literal(tableRef(table).text)}::regclass`;
  return sql`insert into wda.total (relid, slot, n, relation)
select ${at}, 16, (select count(*) from ${tableRef(table)}) -
  (select coalesce(sum(n), 0)::int8 from wda.total where relid = ${at} and slot <> 16), ${relation(table)}
on conflict do nothing`;
}
