// Gates of a blocking change: before the first lock is requested, the gates of all entities that it locks are closed in
// every process. Requests get 503 with the time that the gates may stay closed.

import type { Database, Session } from '../database/pool.ts';
import type { MigrationGate } from '../model/entity.ts';
import { type Fragment, toQuery } from '../sql/fragment.ts';
import { refreshGates, storeGates } from '../store/documents.ts';
import type { PlannedStep } from '../store/migrations.ts';
import { holdsLocks, type PreparedChange } from './plan.ts';

export interface Gate {
  /**
   * Resolves when no process lets a request through any more, or at once when the change blocks no request. From then
   * on the gates store each second how long they stay closed.
   */
  readonly close: () => Promise<void>;
  readonly isClosed: () => boolean;
  /**
   * Stops storing the remaining time. Does not wait, as the switch holds its locks by then: a statement in flight
   * closes no gate that the switch opens.
   */
  readonly stopCountdown: () => void;
  readonly open: () => Promise<void>;
}

export interface GateOptions {
  readonly db: Database;
  /**
   * Session that holds the lock of the workspace. It closes the gates, so that a late statement cannot close them
   * again.
   */
  readonly session: Pick<Session, 'query'>;
  /** The id of the migration; null when it is not recorded, and then it closes no gate. */
  readonly id: string | null;
  readonly workspaceId: string;
  readonly change: PreparedChange;
  readonly steps: readonly PlannedStep[];
  /** Called when the gates have changed. */
  readonly changed: () => void;
  /** Resolves when every process uses the committed state. */
  readonly invalidateAll: () => Promise<unknown>;
}

const COUNTDOWN_INTERVAL_MS = 1000;

export function makeGate(options: GateOptions): Gate {
  const { db, session, id, workspaceId, change, steps, changed, invalidateAll } = options;
  const seconds = steps.reduce((sum, step) => sum + step.estimatedSeconds, 0);
  const gates = buildGates(change, seconds);
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;
  let isStoring = false;
  const store = async (connection: Pick<Session, 'query'>, statement: Fragment): Promise<void> => {
    await connection.query(toQuery(statement));
    changed();
  };
  const startCountdown = (migrationId: string): void => {
    const started = performance.now();
    timer = setInterval(() => {
      if (isStoring) return;
      isStoring = true;
      const remainingSeconds = seconds - (performance.now() - started) / 1000;
      void store(db, refreshGates(workspaceId, migrationId, buildGates(change, remainingSeconds)))
        // A failure is harmless: the next second stores it again.
        .catch(() => undefined)
        .finally(() => {
          isStoring = false;
        });
    }, COUNTDOWN_INTERVAL_MS);
  };
  const stopCountdown = (): void => clearInterval(timer);
  return {
    isClosed: () => isClosed,
    stopCountdown,
    async close() {
      if (id === null || Object.keys(gates).length === 0) return;
      isClosed = true;
      await store(session, storeGates(workspaceId, gates));
      startCountdown(id);
      await invalidateAll();
    },
    async open() {
      if (!isClosed) return;
      stopCountdown();
      await store(db, storeGates(workspaceId, {}));
    },
  };
}

/**
 * Returns the gates that a blocking change closes, by entity in force: one for each entity that it locks. `seconds`: for
 * which they may stay closed; `Retry-After` is 1 to 60.
 */
function buildGates(change: PreparedChange, seconds: number): Readonly<Record<string, MigrationGate>> {
  const gates: Record<string, MigrationGate> = {};
  if (!holdsLocks(change)) return gates;
  const retryAfterSeconds = Math.min(60, Math.max(1, Math.ceil(seconds)));
  for (const { table, mode } of change.operations.flatMap((operation) => operation.locks)) {
    const entity = change.entities.get(table);
    if (entity === undefined) continue;
    const blocksReads = mode === 'access exclusive' || gates[entity]?.blocksReads === true;
    gates[entity] = { blocksReads, blocksWrites: true, retryAfterSeconds };
  }
  return gates;
}
