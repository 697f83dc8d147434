// Rebuilds text indexes after an update of ICU, of the system or of the bundled PostgreSQL: the sort order of texts may
// have changed, and then an older index misses records and accepts duplicates. PostgreSQL only warns. So the version is
// compared at the start, and the indexes of workspaces are rebuilt while requests go on.
import { getSqlState } from '../database/errors.ts';
import type { Database, Session } from '../database/pool.ts';
import { TEXT_COLLATION } from '../model/field-types.ts';
import { type Fragment, ident, sql, type TableName, tableRef, toQuery } from '../sql/fragment.ts';
import { loadFact, storeFact } from './instance.ts';

export interface TextOrderOptions {
  readonly db: Database;
  readonly log: Record<'info' | 'warn' | 'error', (message: string, facts: Record<string, unknown>) => void>;
}

export interface TextOrder {
  /** Compares the version, and rebuilds outdated indexes unless another process does. */
  readonly check: () => Promise<void>;
  /** Milliseconds until the next check. */
  readonly pauseMs: () => number;
}

const FIRST_CHECK_MS = 1000;
// Replicas and restored disks may bring another version to a running server.
const CHECK_INTERVAL_MS = 3_600_000;
const LOCK = 7_764_610_003;
/**
 * Name of the fact that stores the version of the indexes, for roles that PostgreSQL does not let change the collation.
 */
const VERSION_FACT = 'text_order';

export function makeTextOrder({ db, log }: TextOrderOptions): TextOrder {
  let checks = 0;

  async function check(): Promise<void> {
    checks++;
    const change = await findChange(db);
    if (change === undefined) return;
    await db.session(
      async (session) => {
        const [lock] = await session.query<{ isLocked: boolean }>(
          toQuery(sql`select pg_try_advisory_lock(${LOCK}::int8) as "isLocked"`),
        );
        if (lock?.isLocked !== true) return;
        try {
          // Another process may have just finished.
          if ((await findChange(db)) !== undefined) await rebuild(session, change);
        } finally {
          await session.execute(sql`select pg_advisory_unlock_all(); reset all`.text).catch(() => undefined);
        }
      },
      { purpose: 'migration' },
    );
  }

  async function rebuild(session: Session, { from, to }: Change): Promise<void> {
    log.warn('the order of texts has changed: their indexes are rebuilt', { from, to });
    await session.execute(sql`set statement_timeout = 0; set lock_timeout = 0`.text);
    for (const index of await loadInvalidIndexes(session))
      await session.execute(sql`drop index concurrently if exists ${tableRef(index)}`.text);
    const indexes = await loadTextIndexes(session);
    let failed = 0;
    for (const index of indexes) {
      try {
        await session.execute(sql`reindex index concurrently ${tableRef(index)}`.text);
      } catch (error) {
        // The index was dropped meanwhile, with its workspace or by a migration.
        if (['42P01', '42704'].includes(getSqlState(error) ?? '')) continue;
        if (getSqlState(error) === undefined) throw error;
        failed++;
        log.error('an index of texts could not be rebuilt', {
          index: `${index.schema}.${index.name}`,
          error: String(error),
        });
      }
    }
    if (failed > 0) return;
    await storeVersion(db, session, to);
    log.info('indexes of texts were rebuilt', { indexes: indexes.length, version: to });
  }

  return { check, pauseMs: () => (checks === 0 ? FIRST_CHECK_MS : CHECK_INTERVAL_MS) };
}

interface Change {
  readonly from: string;
  readonly to: string;
}

/** Returns the change of the ICU version, or undefined while the indexes match it. */
async function findChange(db: Database): Promise<Change | undefined> {
  const [row] = await db.query<{ from: string | null; to: string | null }>(
    toQuery(sql`select collversion as "from", pg_collation_actual_version(oid) as "to" from pg_collation
where collname = ${TEXT_COLLATION} and collnamespace = 'pg_catalog'::regnamespace`),
  );
  const { from = null, to = null } = row ?? {};
  if (from === null || to === null || from === to || (await loadFact(db, VERSION_FACT)) === to) return undefined;
  return { from, to };
}

/**
 * Stores the version. PostgreSQL allows only the owner of the collation to refresh it, which often is not the server's
 * role.
 */
async function storeVersion(db: Database, session: Session, version: string): Promise<void> {
  const collation: Fragment = sql`alter collation ${ident('pg_catalog')}.${ident(TEXT_COLLATION)} refresh version`;
  await session.execute(collation.text).catch(async (error) => {
    if (getSqlState(error) !== '42501') throw error;
    await storeFact(db, VERSION_FACT, version);
  });
}

/**
 * Loads the indexes of all workspaces on columns with this collation and on expressions, which may use it. Small ones
 * come first.
 */
const loadTextIndexes = (session: Session): Promise<TableName[]> =>
  session.query<TableName>(
    toQuery(sql`select n.nspname as schema, c.relname as name from wda.workspace w
join pg_namespace n on n.nspname = w.database_schema
join pg_class c on c.relnamespace = n.oid and c.relkind = 'i' join pg_index i on i.indexrelid = c.oid
where i.indisvalid and (i.indexprs is not null or exists (
  select from unnest(i.indcollation) used join pg_collation k on k.oid = used where k.collname = ${TEXT_COLLATION}))
order by c.relpages, c.oid`),
  );

/** Loads the invalid indexes that an interrupted rebuild has left. */
const loadInvalidIndexes = (session: Session): Promise<TableName[]> =>
  session.query<TableName>(
    toQuery(sql`select n.nspname as schema, c.relname as name from wda.workspace w
join pg_namespace n on n.nspname = w.database_schema
join pg_class c on c.relnamespace = n.oid and c.relkind = 'i' join pg_index i on i.indexrelid = c.oid
where not i.indisvalid and c.relname ~ '_cc(new|old)[0-9]*$'`),
  );
