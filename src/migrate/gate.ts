// What requests are told while a change is made at once: the gates of the entities that its locks reach are closed in every
// process before the first lock is asked for, and say how long it may still take.

import { storeGates } from '../catalog/documents.ts';
import type { PlannedStep } from '../catalog/migrations.ts';
import type { Database } from '../db/pool.ts';
import type { MigrationGate } from '../model/entity.ts';
import { toQuery } from '../sql/fragment.ts';
import { gatesOf, type PreparedChange, retryAfter } from './plan.ts';

export interface Gate {
  /** Says no more how long it may take: the transaction of the change opens the gates itself. */
  readonly rest: () => Promise<void>;
  readonly open: () => Promise<void>;
}

const SAY_EVERY_MS = 1000;

/** Undefined when the change holds nobody up. Resolves when no process lets a request through any more. */
export async function closeGates(
  db: Database,
  workspaceId: string,
  change: PreparedChange,
  steps: readonly PlannedStep[],
  changed: () => void,
  everywhere: () => Promise<unknown>,
): Promise<Gate | undefined> {
  const gates = gatesOf(change, steps);
  if (Object.keys(gates).length === 0) return undefined;
  const seconds = steps.reduce((sum, step) => sum + step.estimatedSeconds, 0);
  const started = performance.now();
  const store = async (next: Readonly<Record<string, MigrationGate>>): Promise<void> => {
    await db.query(toQuery(storeGates(workspaceId, next)));
    changed();
  };
  await store(gates);
  let saying: Promise<void> | undefined;
  const timer = setInterval(() => {
    const left = retryAfter(seconds - (performance.now() - started) / 1000);
    saying ??= store(withTime(gates, left))
      // The next time says it, too.
      .catch(() => undefined)
      .finally(() => {
        saying = undefined;
      });
  }, SAY_EVERY_MS);
  const rest = async (): Promise<void> => {
    clearInterval(timer);
    await saying;
  };
  await everywhere();
  return {
    rest,
    async open() {
      await rest();
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
