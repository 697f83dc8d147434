// Ends migrations whose process or connection is gone: those that are open while nobody holds the lock of their workspace.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Session } from '../database/pool.ts';
import { isLockConflict } from '../database/transaction.ts';
import { buildTables } from '../schema/tables.ts';
import { toQuery } from '../sql/fragment.ts';
import type { Databases } from '../store/databases.ts';
import { loadWorkspaceRow, type StoredWorkspace, storeGates } from '../store/documents.ts';
import { findOpenMigration, loadMigratingWorkspaces } from '../store/migrations.ts';
import { carryOut, RECOVERY } from './executor.ts';
import type { TemporaryObject } from './operation.ts';
import { makeProgress } from './progress.ts';
import type { Sessions } from './sessions.ts';
import { type EndState, next } from './state.ts';

export interface RecoveryOptions {
  readonly databases: Databases;
  readonly sessions: Sessions;
  /** Gates are open again. */
  readonly changed: (workspaceId: string) => void;
  readonly countEnd: (how: EndState['how']) => void;
  readonly onError: (message: string, error: unknown) => void;
}

export interface Recovery {
  /** Ends the one of the workspace whose lock the session holds. Throws what prevents that for now. */
  readonly recoverLocked: (session: Session, workspaceId: string) => Promise<void>;
  /** Ends those of all workspaces, or of one, and opens gates; skips workspaces that somebody works on. Throws the first failure at its end. */
  readonly sweep: (only?: string) => Promise<void>;
  /** Ends the one of a workspace whose connection was lost just now: tries for a minute. */
  readonly retryUntilRecovered: (workspaceId: string) => Promise<void>;
}

const RECOVER_AFTER_MS = 2000;
const RECOVER_ATTEMPTS = 30;

export function makeRecovery({ databases, sessions, changed, countEnd, onError }: RecoveryOptions): Recovery {
  async function recoverLocked(session: Session, workspaceId: string): Promise<void> {
    const open = await findOpenMigration(session, workspaceId);
    if (open === undefined) return;
    const row = await loadWorkspaceRow(session, workspaceId);
    const progress = makeProgress(session, { ...open, operations: [] });
    const nameInForce = row === undefined ? undefined : findNameInForce(row, open.made as readonly TemporaryObject[]);
    if (nameInForce !== undefined) {
      onError('a migration is open although its work is in force; all is left as it is', new Error(nameInForce));
      await session.query(toQuery(storeGates(workspaceId, {})));
      await (open.isInForce ? progress.succeed() : progress.conclude({ how: 'interrupted' }));
      return countEnd(open.isInForce ? 'succeeded' : 'interrupted');
    }
    const abandonedMigration = {
      workspaceId,
      session,
      open,
      schema: row?.databaseSchema,
      progress,
      topology: databases.topology,
      isClosing: sessions.isClosing,
      onError,
    };
    const state = next({ name: 'abandoned', stored: open.state }, { name: 'found' });
    countEnd((await carryOut(abandonedMigration, state, RECOVERY)).how);
  }

  function recoverOne(workspaceId: string): Promise<void> {
    return sessions.withLockOnNodes(
      workspaceId,
      async (session) => {
        await recoverLocked(session, workspaceId).catch((error) => {
          // The locks are not free yet: the next sweep asks again.
          if (!isLockConflict(error)) throw error;
        });
        // Nobody works behind them.
        await session.query(toQuery(storeGates(workspaceId, {})));
        changed(workspaceId);
      },
      () => undefined,
    );
  }

  return {
    recoverLocked,
    async sweep(only) {
      // Each would be refused: it comes again when they are back.
      if (databases.topology.everyNode?.isUnavailable() === true) return;
      const all = () => Promise.all(databases.all().map(loadMigratingWorkspaces));
      const workspaces = only === undefined ? (await all()).flat() : [only];
      const failures: unknown[] = [];
      for (const workspaceId of workspaces) {
        if (sessions.isClosing()) return;
        await recoverOne(workspaceId).catch((error) => failures.push(error));
      }
      if (failures.length > 0) throw failures[0];
    },
    async retryUntilRecovered(workspaceId) {
      for (let attempt = 1; ; attempt++) {
        await sleep(RECOVER_AFTER_MS, undefined, { ref: false });
        if (sessions.isClosing()) return;
        try {
          return await recoverOne(workspaceId);
        } catch (error) {
          if (attempt < RECOVER_ATTEMPTS) continue;
          return onError('a migration could not be rolled back; the next start tries again', error);
        }
      }
    },
  };
}

/**
 * The first table, column or index of these that the document in force names; undefined when there is none, as it must be:
 * before the switch, everything that is new has a name that the document in force does not use.
 */
function findNameInForce(
  { document, databaseSchema, names }: StoredWorkspace,
  temporaryObjects: readonly TemporaryObject[],
): string | undefined {
  const tables = new Map(
    [...buildTables(document, databaseSchema, names).values()].map((table) => [table.name, table]),
  );
  for (const one of temporaryObjects) {
    const table = tables.get(one.table);
    if (table === undefined) continue;
    if (one.kind === 'table') return one.table;
    if (one.kind === 'index' && table.indexes.has(one.index)) return one.index;
    if (one.kind !== 'column') continue;
    for (const { column } of table.columns.values()) if (column === one.column) return `${one.table}.${column}`;
  }
  return undefined;
}
