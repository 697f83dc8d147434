// What requests are answered while a change is made at once: the gates of the entities that its locks reach are closed in
// every process before the first lock is asked for, and say how long it may still take.

import type { Database, Session } from '../database/pool.ts';
import type { MigrationGate } from '../model/entity.ts';
import { type Fragment, toQuery } from '../sql/fragment.ts';
import { refreshGates, storeGates } from '../store/documents.ts';
import type { PlannedStep } from '../store/migrations.ts';
import { buildGates, type PreparedChange, toRetryAfter } from './plan.ts';

export interface Gate {
  /**
   * Resolves when no process lets a request through any more; at once when the change makes nobody wait. From then on the
   * gates say each second how long they stay closed.
   */
  readonly close: () => Promise<void>;
  readonly isClosed: () => boolean;
  /**
   * Begins to store the time left no more. Waits for nothing, as the switch has its locks by then: what is on its way closes
   * no gate that the switch opens.
   */
  readonly stopCountdown: () => void;
  readonly open: () => Promise<void>;
}

export interface GateOptions {
  readonly db: Database;
  /** With the lock of the workspace. It closes the gates, so that this never comes late. */
  readonly session: Pick<Session, 'query'>;
  /** The migration; null when it is not recorded, and then it closes nothing. */
  readonly id: string | null;
  readonly workspaceId: string;
  readonly change: PreparedChange;
  readonly steps: readonly PlannedStep[];
  /** Other gates are in force. */
  readonly changed: () => void;
  /** Resolves when what is committed holds in every process. */
  readonly invalidateAll: () => Promise<unknown>;
}

const COUNTDOWN_INTERVAL_MS = 1000;

export function makeGate(options: GateOptions): Gate {
  const { db, session, id, workspaceId, change, steps, changed, invalidateAll } = options;
  const gates = buildGates(change, steps);
  const seconds = steps.reduce((sum, step) => sum + step.estimatedSeconds, 0);
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
      const remainingSeconds = toRetryAfter(seconds - (performance.now() - started) / 1000);
      void store(db, refreshGates(workspaceId, migrationId, setRetryAfter(gates, remainingSeconds)))
        // The next second stores it again.
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

function setRetryAfter(
  gates: Readonly<Record<string, MigrationGate>>,
  retryAfterSeconds: number,
): Readonly<Record<string, MigrationGate>> {
  return Object.fromEntries(Object.entries(gates).map(([entity, gate]) => [entity, { ...gate, retryAfterSeconds }]));
}
