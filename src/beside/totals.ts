// Kept totals: begins to keep the number of records of a table that has grown large enough for counting to cost, without
// holding up its writers; looks after the totals that are kept. Their tables and functions are in install/data/000006.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../db/pool.ts';
import type { Entity } from '../model/entity.ts';
import { beside } from '../sql/beside-names.ts';
import { type Fragment, literal, sql, type TableName, tableRef, toQuery } from '../sql/fragment.ts';
import { countAnew, type Difference, type Reason } from './count.ts';

export interface Totals {
  /** Sees to it, in the background, that the total of the entity is kept from soon on. */
  keep(entity: Pick<Entity, 'table'>): void;
  /** Forgets totals that cannot be trusted any more, as their table is gone, or its triggers are; folds the others. */
  check(): Promise<void>;
  /**
   * Puts what was added to the totals into their bases, and counts a table that is due; of several processes one does.
   * Once a minute it checks them, too.
   */
  fold(): Promise<void>;
  /** Milliseconds until the next fold: fewer while much is written. */
  pauseMs(): number;
  /** Gives up counting; resolves when it has ended, or soon. */
  stop(): Promise<void>;
}

export interface TotalsOptions {
  readonly db: Database;
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
// The database may be silent; sessions that are left are cut when it is closed.
const STOP_MS = 1000;

export function makeTotals({ db, onError }: TotalsOptions): Totals {
  const tried = new Map<string, number>();
  /** Tables whose totals were forgotten, to be kept anew. */
  const forgotten = new Map<string, TableName>();
  const stopping = new AbortController();
  let working: Promise<void> | undefined;
  let thoroughAt = performance.now() + THOROUGH_MS;
  let pause = FOLD_MS;

  /** One table at a time. */
  function count(table: TableName, why: Reason): void {
    working = countAnew(db, table, why, stopping.signal)
      .then(
        (difference) => difference !== undefined && onError('a kept total was wrong', new Error(wordsFor(difference))),
      )
      .catch((error) => {
        if (!stopping.signal.aborted) onError('a total could not be kept', error);
      })
      .then(() => {
        working = undefined;
      });
  }

  async function foldAll(isThorough: boolean): Promise<void> {
    pause = FOLD_MS;
    const [row] = await db.query<{ folded: string; forgotten: string[]; due: string | null }>(
      toQuery(sql`select folded, forgotten, due from ${beside('fold_totals')}(${isThorough})`),
    );
    const { folded, forgotten: names, due } = row as NonNullable<typeof row>;
    if (isThorough) thoroughAt = performance.now() + THOROUGH_MS;
    if (Number(folded) > BUSY_ROWS) pause = BUSY_FOLD_MS;
    for (const name of names) if (forgotten.size < MAX_REMEMBERED) forgotten.set(name, tableOf(name));
    if (working !== undefined || stopping.signal.aborted) return;
    const [next] = forgotten;
    if (next !== undefined) {
      forgotten.delete(next[0]);
      count(next[1], 'first');
    } else if (due !== null) count(tableOf(due), 'again');
  }

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
    check: () => foldAll(true),
    fold: () => foldAll(performance.now() >= thoroughAt),
    pauseMs: () => pause,
    async stop() {
      stopping.abort();
      await Promise.race([working, sleep(STOP_MS, undefined, { ref: false })]);
    },
  };
}

/** Names of ours hold no dot. */
function tableOf(relation: string): TableName {
  const dot = relation.indexOf('.');
  return { schema: relation.slice(0, dot), name: relation.slice(dot + 1) };
}

const wordsFor = ({ relation, kept, counted }: Difference): string => `${relation}: ${kept} kept, ${counted} counted`;

/** For the transaction that renames the table: its total is known by its name, too. */
export const renameTotal = (from: TableName, to: TableName): Fragment =>
  sql`update ${beside('total')} set relation = ${literal(relationOf(to))} where relid = ${literal(tableRef(to).text)}::regclass and relation = ${literal(relationOf(from))}`;

const relationOf = ({ schema, name }: TableName): string => `${schema}.${name}`;
