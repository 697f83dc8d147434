// Kept totals: begins to keep the number of records of a table that has grown large enough for counting to cost, without
// holding up its writers; looks after the totals that are kept. Their tables and functions are in install/workspace.
import { setTimeout as sleep } from 'node:timers/promises';
import { isStaleSnapshot } from '../db/errors.ts';
import type { Database } from '../db/pool.ts';
import type { Entity } from '../model/entity.ts';
import { beside, keeping, type TotalPlace } from '../sql/beside-names.ts';
import { type Fragment, literal, sql, type TableName, tableRef, toQuery } from '../sql/fragment.ts';
import { type CountedTable, countAnew, type Difference, type NodeTotals, type Reason } from './count.ts';

export interface Totals {
  /** Sees to it, in the background, that the total of the entity is kept from soon on. */
  keep(entity: Pick<Entity, 'table' | 'statementForms'>): void;
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
const THOROUGH_MS = 60_000;
// Workspaces of a turn: a statement each, of 0.3 ms when there is nothing to fold.
const WORKSPACES_PER_TURN = 64;
// The database may be silent; sessions that are left are cut when it is closed.
const STOP_MS = 1000;

export function makeTotals({ db, node, onError }: TotalsOptions): Totals {
  const tried = new Map<string, number>();
  /** Tables whose totals were forgotten, to be kept anew. */
  const forgotten = new Map<string, CountedTable>();
  const stopping = new AbortController();
  let working: Promise<void> | undefined;
  let thoroughAt = performance.now() + THOROUGH_MS;
  let pause = FOLD_MS;
  /** Where workspaces have totals, by the names of the tables, and those that are still to be folded in this round. */
  const places = new Map<string, TotalPlace>();
  let left: TotalPlace[] = [];
  /** Those that are to be checked. */
  const suspect = new Set<string>();

  /** One table at a time. */
  function count(table: CountedTable, why: Reason): void {
    working = countAnew(db, table, why, { signal: stopping.signal, node })
      .then(
        (difference) => difference !== undefined && onError('a kept total was wrong', new Error(wordsFor(difference))),
      )
      .catch((error) => {
        if (!stopping.signal.aborted) onError('a total could not be kept', error);
      })
      .then(() => {
        working = undefined;
        places.set(placeName(table), placeOf(table.schema, table.total?.shard, node?.group));
      });
  }

  /** Finds the workspaces with totals, whichever process has begun them. */
  async function look(): Promise<void> {
    const rows = await db.query<PlaceRow>(toQuery(node?.kept ?? COUNTED));
    places.clear();
    suspect.clear();
    for (const { schema, shard } of rows) {
      const place = placeOf(schema, shard, node?.group);
      places.set(placeName(place), place);
      suspect.add(placeName(place));
    }
    thoroughAt = performance.now() + THOROUGH_MS;
  }

  function forget(table: CountedTable): void {
    if (forgotten.size < MAX_REMEMBERED) forgotten.set(relationOf(table), table);
  }

  /** Gives the number of rows folded. */
  async function foldOf(place: TotalPlace): Promise<number> {
    const [row] = await db.query<{ folded: string; forgotten: string[]; due: string | null }>(
      toQuery(
        sql`select folded, forgotten, due from ${keeping(place, 'fold_totals')}(${suspect.has(placeName(place))})`,
      ),
    );
    const { folded, forgotten: names, due } = row as NonNullable<typeof row>;
    suspect.delete(placeName(place));
    for (const name of names) forget({ ...place, name });
    if (working === undefined && !stopping.signal.aborted) {
      const [next] = forgotten;
      if (next !== undefined) {
        forgotten.delete(next[0]);
        count(next[1], 'first');
      } else if (due !== null) count({ ...place, name: node?.tableNoted(due) ?? due }, 'again');
    }
    return Number(folded);
  }

  async function foldSome(most: number): Promise<void> {
    if (left.length === 0) left = [...places.values()];
    let isBusy = false;
    // What follows one that fails has its turn all the same.
    for (let count = 0; count < most && !stopping.signal.aborted; count++) {
      const place = left.shift();
      if (place === undefined) break;
      isBusy = (await foldOf(place).catch(ifGone(place))) > BUSY_ROWS || isBusy;
    }
    pause = isBusy || left.length > 0 ? BUSY_FOLD_MS : FOLD_MS;
  }

  /** A workspace that was deleted, as the next look tells. */
  const ifGone =
    (place: TotalPlace) =>
    (error: unknown): number => {
      if (!isStaleSnapshot(error)) throw error;
      places.delete(placeName(place));
      thoroughAt = 0;
      return 0;
    };

  return {
    keep({ table }) {
      const name = relationOf(table);
      const now = performance.now();
      if (working !== undefined || stopping.signal.aborted) return;
      if (now - (tried.get(name) ?? Number.NEGATIVE_INFINITY) < RETRY_MS) return;
      if (tried.size >= MAX_REMEMBERED) tried.clear();
      tried.set(name, now);
      count(table, 'first');
    },
    async check() {
      await look();
      left = [];
      await foldSome(places.size);
    },
    async fold() {
      if (performance.now() >= thoroughAt) await look();
      await foldSome(WORKSPACES_PER_TURN);
    },
    pauseMs: () => pause,
    async stop() {
      stopping.abort();
      await Promise.race([working, sleep(STOP_MS, undefined, { ref: false })]);
    },
  };
}

const wordsFor = ({ relation, kept, counted }: Difference): string => `${relation}: ${kept} kept, ${counted} counted`;

interface PlaceRow {
  readonly schema: string;
  readonly shard?: string;
}

const placeOf = (schema: string, shard: string | undefined, group: string | undefined): TotalPlace =>
  group === undefined || shard === undefined ? { schema } : { schema, total: { shard, group } };

const placeName = (place: TotalPlace): string => keeping(place, 'total').text;

/** Schemas in which totals are or were kept: their table is not empty, whatever became of the triggers. */
const COUNTED = sql`select n.nspname as schema from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relname = '$total' and c.relkind = 'r' and pg_relation_size(c.oid) > 0`;

/**
 * For the transaction that renames the table: its total is known by its name, too. On a node it changes nothing, as rows have
 * the names and numbers of shards: the total is forgotten and counted anew.
 */
export const renameTotal = (from: TableName, to: TableName): Fragment =>
  sql`update ${beside(to.schema, 'total')} set relation = ${literal(to.name)} where relid = ${literal(tableRef(to).text)}::regclass and relation = ${literal(from.name)}`;

const relationOf = ({ schema, name }: Pick<TableName, 'schema' | 'name'>): string => `${schema}.${name}`;
