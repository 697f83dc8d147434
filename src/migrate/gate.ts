// What requests are answered while a change is made at once: the gates of the entities that its locks reach are closed in
// every process before the first lock is asked for, and say how long it may still take.

import { storeGates } from '../catalog/documents.ts';
import type { PlannedStep } from '../catalog/migrations.ts';
import type { Database } from '../db/pool.ts';
import type { MigrationGate } from '../model/entity.ts';
import { toQuery } from '../sql/fragment.ts';
import { gatesOf, type PreparedChange, retryAfter } from './plan.ts';

export interface Gate {
  /**
   * Resolves when no process lets a request through any more; at once when the change makes nobody wait. From then on the
   * gates say each second how long they stay closed.
   */
  readonly close: () => Promise<void>;
  readonly isClosed: () => boolean;
  /** Stores the time left no longer: the transaction of the switch opens the gates itself. */
  readonly stopCountdown: () => Promise<void>;
  readonly open: () => Promise<void>;
}

export interface GateOptions {
  readonly db: Database;
  readonly workspaceId: string;
  readonly change: PreparedChange;
  readonly steps: readonly PlannedStep[];
  /** Other gates are in force. */
  readonly changed: () => void;
  /** Resolves when what is committed holds in every process. */
  readonly everywhere: () => Promise<unknown>;
}

const SAY_EVERY_MS = 1000;

export function makeGate({ db, workspaceId, change, steps, changed, everywhere }: GateOptions): Gate {
  const gates = gatesOf(change, steps);
  const seconds = steps.reduce((sum, step) => sum + step.estimatedSeconds, 0);
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;
  let saying: Promise<void> | undefined;
  const store = async (next: Readonly<Record<string, MigrationGate>>): Promise<void> => {
    await db.query(toQuery(storeGates(workspaceId, next)));
    changed();
  };
  const startCountdown = (): void => {
    const started = performance.now();
    timer = setInterval(() => {
      const left = retryAfter(seconds - (performance.now() - started) / 1000);
      saying ??= store(withTime(gates, left))
        // The next second stores it again.
        .catch(() => undefined)
        .finally(() => {
          saying = undefined;
        });
    }, SAY_EVERY_MS);
  };
  const stopCountdown = async (): Promise<void> => {
    clearInterval(timer);
    await saying;
  };
  return {
    isClosed: () => isClosed,
    stopCountdown,
    async close() {
      if (Object.keys(gates).length === 0) return;
      isClosed = true;
      await store(gates);
      startCountdown();
      await everywhere();
    },
    async open() {
      if (!isClosed) return;
      await stopCountdown();
      await store({});
    },
  };
}

function withTime(
  gates: Readonly<Record<string, MigrationGate>>,
  retryAfterSeconds: number,
): Readonly<Record<string, MigrationGate>> {
  return Object.fromEntries(Object.entries(gates).map(([entity, gate]) => [entity, { ...gate, retryAfterSeconds }]));
}
