// Gives tables and columns the names of the document again, a moment after a migration. Each renaming takes milliseconds
// under locks that are asked for briefly; requests that meet one are planned again. The process that ran the migration does
// it, or the sweep of any other process.
import { setTimeout as sleep } from 'node:timers/promises';
import { renameTotal } from '../beside/totals.ts';
import {
  type Freed,
  loadUnsettledWorkspaces,
  loadWorkspaceRow,
  type StoredWorkspace,
  storeNames,
} from '../catalog/documents.ts';
import type { Session } from '../db/pool.ts';
import { executeEach, inTransaction, isLockConflict, LOCK_BUDGET_MS, lockTable, takeLocks } from '../db/transaction.ts';
import type { Databases } from '../directory/databases.ts';
import { entitiesOf } from '../document/entities.ts';
import type { PhysicalNames } from '../model/physical-name.ts';
import { type Fragment, sql, toQuery } from '../sql/fragment.ts';
import { rename } from './ddl.ts';
import type { Sessions } from './sessions.ts';
import { freedKeys, heldNames, type RenamedTable, type Renaming, renamingsOf, settledNames } from './settled-names.ts';

export interface SettleOptions {
  readonly databases: Databases;
  readonly sessions: Sessions;
  readonly changed: (workspaceId: string) => void;
  readonly onError: (message: string, error: unknown) => void;
  /** Resolves when what is committed holds in every process. */
  readonly everywhere: () => Promise<unknown>;
  /** Whether all requests have ended that were planned by an older version of the workspace. */
  readonly isSettled: (workspaceId: string, version: string) => Promise<boolean>;
  /** The longest time that such a request can take. */
  readonly forgottenAfterMs: number;
}

export interface Settler {
  /** Starts renaming, in the background, after the names of a workspace have changed. */
  readonly soon: (workspaceId: string) => void;
  /** Finds workspaces whose names are not those of their documents, whoever has changed them. */
  readonly sweep: () => Promise<void>;
}

// By then every process uses the new document, so a request is planned again either for the document or for the names, not
// for both.
const AFTER_CHANGE_MS = 1500;
const LOOK_AGAIN_MS = 500;
// For a lock that is never free, or a foreign object that has the name.
const LONGEST_PAUSE_MS = 60_000;
// Workspaces at a time; a sweep comes every 5 s.
const MAX_AT_ONCE = 20;
const NOTHING: ReadonlySet<string> = new Set();

/** When a workspace is looked at next, and after how many failures in a row. */
interface Turn {
  readonly due: number;
  readonly failures: number;
}

export function makeSettler(options: SettleOptions): Settler {
  const { databases, sessions, changed, onError, everywhere, isSettled, forgottenAfterMs } = options;
  const turns = new Map<string, Turn>();
  let working = false;

  function plan(workspaceId: string, afterMs: number, failures = 0): void {
    turns.set(workspaceId, { due: performance.now() + afterMs, failures });
    void work();
  }

  /** One workspace after the other. */
  async function work(): Promise<void> {
    if (working) return;
    working = true;
    try {
      while (turns.size > 0 && !sessions.isClosing()) {
        const [next] = [...turns].sort(([, a], [, b]) => a.due - b.due) as [[string, Turn]];
        const [workspaceId, { due, failures }] = next;
        const left = due - performance.now();
        if (left > 0) {
          await sleep(Math.min(left, 100), undefined, { ref: false });
          continue;
        }
        await settleOne(workspaceId, failures);
      }
    } finally {
      working = false;
    }
  }

  async function settleOne(workspaceId: string, failures: number): Promise<void> {
    try {
      const again = await settle(workspaceId);
      if (again === undefined) turns.delete(workspaceId);
      else plan(workspaceId, again);
    } catch (error) {
      if (!isLockConflict(error) && failures === 0) onError('names in PostgreSQL could not be changed back', error);
      plan(workspaceId, Math.min(LONGEST_PAUSE_MS, LOOK_AGAIN_MS * 2 ** failures), Math.min(failures + 1, 10));
    }
  }

  /** Resolves with the milliseconds until the next look; undefined when all names are those of the document. */
  async function settle(workspaceId: string): Promise<number | undefined> {
    const row = await loadWorkspaceRow(databases.of({ id: workspaceId }), workspaceId);
    if (row === undefined || hasOwnNames(row)) return undefined;
    const early = AFTER_CHANGE_MS - (row.freed.now - row.freed.changedAt);
    if (early > 0) return early;
    const held = await heldBy(row);
    if (nextNames(row, held) === row.names) return LOOK_AGAIN_MS;
    const isDone = await sessions.withLockOnNodes(
      workspaceId,
      async (session) => {
        const now = await loadWorkspaceRow(session, workspaceId);
        // `held` is about this version; nothing is known yet about a newer one.
        if (now?.version !== row.version) return false;
        await settleRow(session, now, nextNames(now, held));
        return true;
      },
      () => false,
    );
    if (isDone) await everywhere();
    return isDone ? AFTER_CHANGE_MS : LOOK_AGAIN_MS;
  }

  /** Names that must not be given yet. Asks other processes only if their answer can make a difference. */
  async function heldBy(row: StoredWorkspace): Promise<ReadonlySet<string>> {
    const held = heldNames(row.freed, forgottenAfterMs);
    const [most, now] = [nextNames(row, NOTHING), nextNames(row, held)].map((names) => JSON.stringify(names));
    if (held.size === 0 || most === now) return held;
    const versions = [...held].map((key) => BigInt((row.freed.names[key] as Freed).version));
    const newest = versions.reduce((one, other) => (one > other ? one : other));
    return (await isSettled(row.id, newest.toString())) ? NOTHING : held;
  }

  /** The same names when nothing can be done yet. */
  function nextNames({ document, names, version }: StoredWorkspace, held: ReadonlySet<string>): PhysicalNames {
    const next = settledNames(document, names, held, version);
    return JSON.stringify(next) === JSON.stringify(names) ? names : next;
  }

  async function settleRow(session: Session, row: StoredWorkspace, next: PhysicalNames): Promise<void> {
    const { id, document, databaseSchema, names } = row;
    const tables = renamingsOf(document, databaseSchema, names, next);
    const entities = (of: PhysicalNames) => entitiesOf(document, databaseSchema, of);
    await inTransaction(session, LOCK_BUDGET_MS, async () => {
      const locks = tables.map(({ table }) => table).sort();
      await takeLocks(
        session,
        locks.map((name) => lockTable({ schema: databaseSchema, name }, 'access exclusive')),
      );
      const present = await presentNames(session, databaseSchema);
      for (const table of tables) await executeEach(session, statementsOf(databaseSchema, table, present));
      await session.query(toQuery(storeNames(id, next, freedKeys(entities(names), entities(next)))));
    });
    changed(id);
  }

  return {
    soon: (workspaceId) => plan(workspaceId, AFTER_CHANGE_MS),
    async sweep() {
      for (const database of databases.all()) {
        for (const workspaceId of await loadUnsettledWorkspaces(database, MAX_AT_ONCE)) {
          if (!turns.has(workspaceId)) plan(workspaceId, 0);
        }
      }
    },
  };
}

/** Whether tables and columns have them; constraints keep others. */
const hasOwnNames = ({ names }: StoredWorkspace): boolean =>
  Object.keys(names.tables).length === 0 && Object.keys(names.columns).length === 0;

/** Of indexes and sequences. */
async function presentNames(session: Session, schema: string): Promise<ReadonlySet<string>> {
  const rows = await session.query<{ name: string }>(
    toQuery(sql`select c.relname as name from pg_class c
where c.relnamespace = (select oid from pg_namespace where nspname = ${schema}) and c.relkind in ('i', 'S')`),
  );
  return new Set(rows.map(({ name }) => name));
}

/** Leaves out indexes and sequences that somebody has dropped or renamed by SQL. */
function statementsOf(
  schema: string,
  { table, renamings }: RenamedTable,
  present: ReadonlySet<string>,
): readonly Fragment[] {
  const isThere = ({ kind, from }: Renaming): boolean => kind === 'table' || kind === 'column' || present.has(from);
  const statements = renamings.filter(isThere).map((renaming) => rename({ schema, name: table }, renaming));
  const to = renamings.find(({ kind }) => kind === 'table')?.to;
  return to === undefined ? statements : [...statements, renameTotal({ schema, name: table }, { schema, name: to })];
}
