// Maintains stored totals: starts to store the number of records of a table that has grown large enough for counting to
// cost, without blocking its writers, and checks existing totals. Their tables and functions are in install/workspace.
import { setTimeout as sleep } from 'node:timers/promises';
import { isStaleSnapshot } from '../database/errors.ts';
import type { Database } from '../database/pool.ts';
import type { Entity } from '../model/entity.ts';
import { type Fragment, literal, sql, type TableName, tableRef, toQuery } from '../sql/fragment.ts';
import { internalRef, type TotalLocation, totalRef } from '../sql/internal-names.ts';
import { type CountReason, type Difference, type NodeTotals, recount, type TotalTable } from './count.ts';

export interface Totals {
  /** Starts to store the total of the entity, in the background. */
  maintain(entity: Pick<Entity, 'table' | 'statementForms'>): void;
  /** Removes totals that are no longer reliable, as their table or its triggers are gone; folds the others. */
  check(): Promise<void>;
  /**
   * Folds added rows into the bases of some workspaces' totals, and counts a table that is due; one of several
   * processes does it. Once a minute it finds the workspaces with totals, and checks them, too.
   */
  fold(): Promise<void>;
  /** Milliseconds until the next fold: fewer under many writes. */
  pauseMs(): number;
  /** Aborts counting; resolves when it has ended, or soon. */
  stop(): Promise<void>;
}

export interface TotalsOptions {
  readonly db: Database;
  /** Names and statements of totals on a node of a cluster, or absent in the database itself. */
  readonly node?: NodeTotals;
  readonly onError: (message: string, error: unknown) => void;
}

// Milliseconds until a table is retried whose total could not be stored.
const RETRY_MS = 60_000;
const MAX_REMEMBERED = 10_000;
// Interval of folds: a list adds up the rows since the last one, 0.17 us each.
const FOLD_MS = 2000;
const BUSY_FOLD_MS = 250;
const BUSY_ROWS = 100;
// A check for disabled triggers takes 0.1 ms a table.
const REFRESH_MS = 60_000;
// Workspaces of a run: a statement each, of 0.3 ms when there is nothing to fold.
const WORKSPACES_PER_RUN = 64;
// The database may be silent; remaining sessions are closed with it.
const STOP_MS = 1000;

export function makeTotals({ db, node, onError }: TotalsOptions): Totals {
  const attemptedAt = new Map<string, number>();
  /** Tables whose totals were removed and are counted again. */
  const forgottenTables = new Map<string, TotalTable>();
  const stopping = new AbortController();
  let counting: Promise<void> | undefined;
  let refreshAt = performance.now() + REFRESH_MS;
  let pause = FOLD_MS;
  const locations = new Map<string, StoredTotals>();
  /** Keys of the locations that this round has still to fold. */
  let remaining: string[] = [];

  /** Counts one table at a time. */
  function count(table: TotalTable, reason: CountReason): void {
    counting = recount(db, table, reason, { signal: stopping.signal, node })
      .then(
        (difference) =>
          difference !== undefined &&
          onError('a stored total was wrong and is corrected', new Error(formatDifference(difference))),
      )
      .catch((error) => {
        if (!stopping.signal.aborted)
          onError('the records of a table could not be counted for its stored total', error);
      })
      .then(() => {
        counting = undefined;
        const { name: _, ...location } = table;
        if (!locations.has(getLocationKey(location)))
          locations.set(getLocationKey(location), { location, isChecked: true });
      });
  }

  /** Loads the workspaces with totals, whichever process has started them. */
  async function refreshLocations(): Promise<void> {
    const rows = await db.query<{ schema: string; shard?: string }>(toQuery(node?.totalsQuery ?? TOTALS_QUERY));
    locations.clear();
    for (const { schema, shard } of rows) {
      const location: TotalLocation =
        node === undefined || shard === undefined ? { schema } : { schema, total: { shard, group: node.group } };
      locations.set(getLocationKey(location), { location, isChecked: false });
    }
    refreshAt = performance.now() + REFRESH_MS;
  }

  /** Folds a location, starts a count that is due, and returns the number of rows folded. */
  async function foldLocation(stored: StoredTotals): Promise<number> {
    const { location, isChecked } = stored;
    const [row] = await db.query<{ folded: string; forgotten: string[]; due: string | null }>(
      toQuery(sql`select folded, forgotten, due from ${totalRef(location, 'fold_totals')}(${!isChecked})`),
    );
    const { folded, forgotten, due } = row as NonNullable<typeof row>;
    stored.isChecked = true;
    for (const name of forgotten) {
      const table = { ...location, name };
      if (forgottenTables.size < MAX_REMEMBERED) forgottenTables.set(formatRelation(table), table);
    }
    if (counting === undefined && !stopping.signal.aborted) {
      const [next] = forgottenTables;
      if (next !== undefined) {
        forgottenTables.delete(next[0]);
        count(next[1], 'first');
      } else if (due !== null) count({ ...location, name: node?.parseTableName(due) ?? due }, 'again');
    }
    return Number(folded);
  }

  async function foldBatch(limit: number): Promise<void> {
    if (remaining.length === 0) remaining = [...locations.keys()];
    let isBusy = false;
    // A failure does not stop the locations after it.
    for (let count = 0; count < limit && !stopping.signal.aborted; count++) {
      const key = remaining.shift();
      if (key === undefined) break;
      const stored = locations.get(key);
      if (stored === undefined) continue;
      const folded = await foldLocation(stored).catch((error) => {
        if (!isStaleSnapshot(error)) throw error;
        // The workspace is deleted.
        locations.delete(key);
        refreshAt = 0;
        return 0;
      });
      isBusy ||= folded > BUSY_ROWS;
    }
    pause = isBusy || remaining.length > 0 ? BUSY_FOLD_MS : FOLD_MS;
  }

  return {
    maintain({ table }) {
      const name = formatRelation(table);
      const now = performance.now();
      if (counting !== undefined || stopping.signal.aborted) return;
      if (now - (attemptedAt.get(name) ?? Number.NEGATIVE_INFINITY) < RETRY_MS) return;
      if (attemptedAt.size >= MAX_REMEMBERED) attemptedAt.clear();
      attemptedAt.set(name, now);
      count(table, 'first');
    },
    async check() {
      await refreshLocations();
      remaining = [];
      await foldBatch(locations.size);
    },
    async fold() {
      if (performance.now() >= refreshAt) await refreshLocations();
      await foldBatch(WORKSPACES_PER_RUN);
    },
    pauseMs: () => pause,
    async stop() {
      stopping.abort();
      await Promise.race([counting, sleep(STOP_MS, undefined, { ref: false })]);
    },
  };
}

const formatDifference = ({ relation, storedTotal, actualTotal }: Difference): string =>
  `${relation}: ${storedTotal} stored, ${actualTotal} counted`;

/** Totals of a workspace, or of its shard on a node. */
interface StoredTotals {
  readonly location: TotalLocation;
  /** Whether their triggers were checked since the last refresh. */
  isChecked: boolean;
}

const getLocationKey = (location: TotalLocation): string => totalRef(location, 'total').text;

/** Query for schemas with totals: their table is not empty, whatever the state of the triggers. */
const TOTALS_QUERY = sql`select n.nspname as schema from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relname = '$total' and c.relkind = 'r' and pg_relation_size(c.oid) > 0`;

/**
 * Renames the total in the transaction that renames its table. On a node it changes nothing, as rows have the names and
 * numbers of shards: the total is removed and counted again.
 */
export const renameTotal = (from: TableName, to: TableName): Fragment =>
  sql`update ${internalRef(to.schema, 'total')} set relation = ${literal(to.name)} where relid = ${literal(tableRef(to).text)}::regclass and relation = ${literal(from.name)}`;

const formatRelation = ({ schema, name }: Pick<TableName, 'schema' | 'name'>): string => `${schema}.${name}`;
