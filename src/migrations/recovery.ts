// Ends migrations whose process or connection is gone: open migrations of workspaces whose lock is free.
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
  /** Called when the gates are open again. */
  readonly changed: (workspaceId: string) => void;
  readonly countEnd: (how: EndState['how']) => void;
  readonly onError: (message: string, error: unknown) => void;
}

export interface Recovery {
  /** Ends the migration of the workspace whose lock the session holds. Throws when that fails for now. */
  readonly recoverLocked: (session: Session, workspaceId: string) => Promise<void>;
  /**
   * Ends the abandoned migrations of all workspaces, or of one, and opens gates; skips locked workspaces. Throws the
   * first error at its end.
   */
  readonly sweep: (only?: string) => Promise<void>;
  /** Ends the migration of a workspace whose connection was lost just now: tries for a minute. */
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
    const nameInForce =
      row === undefined ? undefined : findNameInForce(row, open.temporaryObjects as readonly TemporaryObject[]);
    if (nameInForce !== undefined) {
      onError(
        'a migration is recorded as running although its tables are in use: none of them is dropped',
        new Error(nameInForce),
      );
      await session.query(toQuery(storeGates(workspaceId, {})));
      const how = open.isInForce ? 'succeeded' : 'interrupted';
      await progress.conclude({ how });
      return countEnd(how);
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
    const state = next({ name: 'abandoned', stored: open.state }, { name: 'discovered' });
    countEnd((await carryOut(abandonedMigration, state, RECOVERY)).how);
  }

  function recoverOne(workspaceId: string): Promise<void> {
    return sessions.withLockOnNodes(
      workspaceId,
      async (session) => {
        await recoverLocked(session, workspaceId).catch((error) => {
          // The locks are not free yet: the next sweep tries again.
          if (!isLockConflict(error)) throw error;
        });
        // No migration runs that would need the gates.
        await session.query(toQuery(storeGates(workspaceId, {})));
        changed(workspaceId);
      },
      () => undefined,
    );
  }

  return {
    recoverLocked,
    async sweep(only) {
      // Each statement would fail while a node is unavailable; the next sweep tries again.
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
          return onError('a migration could not be rolled back yet; the server keeps trying', error);
        }
      }
    },
  };
}

/**
 * Returns the first of these tables, columns and indexes that the document in force uses, or undefined if there is
 * none. There must be none: before the switch, all new objects have names that the document in force does not use.
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
