// Kept totals: begins to keep the number of records of a table that has grown large enough for counting to cost, without
// holding up its writers; looks after the totals that are kept. Their tables and functions are in install/workspace.
import { setTimeout as sleep } from 'node:timers/promises';
import { isStaleSnapshot } from '../database/errors.ts';
import type { Database } from '../database/pool.ts';
import type { Entity } from '../model/entity.ts';
import { type Fragment, literal, sql, type TableName, tableRef, toQuery } from '../sql/fragment.ts';
import { internalRef, type TotalLocation, totalRef } from '../sql/internal-names.ts';
import { type CountReason, type Difference, type NodeTotals, recount, type TotalTable } from './count.ts';

export interface Totals {
  /** Sees to it, in the background, that the total of the entity is kept from soon on. */
  maintain(entity: Pick<Entity, 'table' | 'statementForms'>): void;
  /** Forgets totals that cannot be trusted any more, as their table is gone, or its triggers are; folds the others. */
  check(): Promise<void>;
  /**
   * Puts what was added to the totals of some workspaces into their bases, and counts a table that is due; of several
   * processes one does. Once a minute it looks for workspaces with totals, and checks them, too.
   */
  fold(): Promise<void>;
  /** Milliseconds until the next fold: fewer while much is written. */
  pauseMs(): number;
  /** Gives up counting; resolves when it has ended, or soon. */
  stop(): Promise<void>;
}

export interface TotalsOptions {
  readonly db: Database;
  /** When the database is that of a node of a cluster. */
  readonly node?: NodeTotals;
  readonly onError: (message: string, error: unknown) => void;
}

// A table whose total could not be kept is not tried again at once.
const RETRY_MS = 60_000;
const MAX_REMEMBERED = 10_000;
// What writers add is folded this often: a list sums up what was added since, 0.17 us a row.
const FOLD_MS = 2000;
const BUSY_FOLD_MS = 250;
const BUSY_ROWS = 100;
// Looking for triggers that were silenced takes 0.1 ms a table.
const REFRESH_MS = 60_000;
// Workspaces of a turn: a statement each, of 0.3 ms when there is nothing to fold.
const WORKSPACES_PER_RUN = 64;
// The database may be silent; sessions that are left are cut when it is closed.
const STOP_MS = 1000;

export function makeTotals({ db, node, onError }: TotalsOptions): Totals {
  const attemptedAt = new Map<string, number>();
  /** Tables whose totals were forgotten, to be kept anew. */
  const forgottenTables = new Map<string, TotalTable>();
  const stopping = new AbortController();
  let counting: Promise<void> | undefined;
  let refreshAt = performance.now() + REFRESH_MS;
  let pause = FOLD_MS;
  /** Where workspaces have totals, by the names of the tables, and those that are still to be folded in this round. */
  const locations = new Map<string, TotalLocation>();
  let remaining: TotalLocation[] = [];
  /** Those that are to be checked. */
  const uncheckedKeys = new Set<string>();

  /** One table at a time. */
  function count(table: TotalTable, reason: CountReason): void {
    counting = recount(db, table, reason, { signal: stopping.signal, node })
      .then(
        (difference) =>
          difference !== undefined && onError('a kept total was wrong', new Error(formatDifference(difference))),
      )
      .catch((error) => {
        if (!stopping.signal.aborted) onError('a total could not be kept', error);
      })
      .then(() => {
        counting = undefined;
        locations.set(getLocationKey(table), makeLocation(table.schema, table.total?.shard, node?.group));
      });
  }

  /** Finds the workspaces with totals, whichever process has begun them. */
  async function refreshLocations(): Promise<void> {
    const rows = await db.query<LocationRow>(toQuery(node?.totalsQuery ?? TOTALS_QUERY));
    locations.clear();
    uncheckedKeys.clear();
    for (const { schema, shard } of rows) {
      const location = makeLocation(schema, shard, node?.group);
      locations.set(getLocationKey(location), location);
      uncheckedKeys.add(getLocationKey(location));
    }
    refreshAt = performance.now() + REFRESH_MS;
  }

  function forget(table: TotalTable): void {
    if (forgottenTables.size < MAX_REMEMBERED) forgottenTables.set(formatRelation(table), table);
  }

  /** Gives the number of rows folded. */
  async function foldLocation(location: TotalLocation): Promise<number> {
    const [row] = await db.query<{ folded: string; forgotten: string[]; due: string | null }>(
      toQuery(
        sql`select folded, forgotten, due from ${totalRef(location, 'fold_totals')}(${uncheckedKeys.has(getLocationKey(location))})`,
      ),
    );
    const { folded, forgotten: names, due } = row as NonNullable<typeof row>;
    uncheckedKeys.delete(getLocationKey(location));
    for (const name of names) forget({ ...location, name });
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
    if (remaining.length === 0) remaining = [...locations.values()];
    let isBusy = false;
    // What follows one that fails has its turn all the same.
    for (let count = 0; count < limit && !stopping.signal.aborted; count++) {
      const location = remaining.shift();
      if (location === undefined) break;
      isBusy = (await foldLocation(location).catch(removeIfDeleted(location))) > BUSY_ROWS || isBusy;
    }
    pause = isBusy || remaining.length > 0 ? BUSY_FOLD_MS : FOLD_MS;
  }

  /** A workspace that was deleted, as the next look tells. */
  const removeIfDeleted =
    (location: TotalLocation) =>
    (error: unknown): number => {
      if (!isStaleSnapshot(error)) throw error;
      locations.delete(getLocationKey(location));
      refreshAt = 0;
      return 0;
    };

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
  `${relation}: ${storedTotal} kept, ${actualTotal} counted`;

interface LocationRow {
  readonly schema: string;
  readonly shard?: string;
}

const makeLocation = (schema: string, shard: string | undefined, group: string | undefined): TotalLocation =>
  group === undefined || shard === undefined ? { schema } : { schema, total: { shard, group } };

const getLocationKey = (location: TotalLocation): string => totalRef(location, 'total').text;

/** Schemas in which totals are or were kept: their table is not empty, whatever became of the triggers. */
const TOTALS_QUERY = sql`select n.nspname as schema from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relname = '$total' and c.relkind = 'r' and pg_relation_size(c.oid) > 0`;

/**
 * For the transaction that renames the table: its total is known by its name, too. On a node it changes nothing, as rows have
 * the names and numbers of shards: the total is forgotten and counted anew.
 */
export const renameTotal = (from: TableName, to: TableName): Fragment =>
  sql`update ${internalRef(to.schema, 'total')} set relation = ${literal(to.name)} where relid = ${literal(tableRef(to).text)}::regclass and relation = ${literal(from.name)}`;

const formatRelation = ({ schema, name }: Pick<TableName, 'schema' | 'name'>): string => `${schema}.${name}`;
