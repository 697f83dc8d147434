// A change on its way, and what people see of it: the migration in the control tables with its steps.
import {
  insertMigration,
  type MigrationError,
  type MigrationState,
  type MigrationStep,
  type PlannedStep,
  type Strategy,
  updateMigration,
  updateWaiting,
  type Waiting,
} from '../catalog/migrations.ts';
import type { Patience } from '../db/lock-retry.ts';
import type { Database, Session } from '../db/pool.ts';
import { endHolders, findHolder, type Wanted } from './holders.ts';
import type { Made, Operation } from './operation.ts';
import { describeSteps, type PreparedChange, tableSizes } from './plan.ts';
import { isAhead, type Work } from './statements.ts';

export interface Job {
  /** Null when it is not recorded. */
  readonly id: string | null;
  readonly workspaceId: string;
  readonly change: PreparedChange;
  /** Estimated number of records by entity. */
  readonly sizes: ReadonlyMap<string, number>;
  readonly steps: () => readonly MigrationStep[];
  readonly progress: Work['progress'];
  /** How far the operation at work is, 0 to 1, kept by another connection than the session's. */
  readonly show: (db: Database, operation: Operation, progress: number) => Promise<void>;
  /** For whom it waits; null: for nobody any more. */
  readonly waits: (db: Pick<Session, 'query'>, holder: Waiting | null) => Promise<void>;
  /** The operation at work, for whoever explains a failure. */
  readonly current: () => Operation | undefined;
  readonly note: (operation: Operation) => void;
  readonly move: (operation: Operation, state: MigrationState) => Promise<void>;
  readonly save: (state: MigrationState) => Promise<void>;
  readonly end: (state: MigrationState, error: MigrationError | null, failed?: Operation) => Promise<void>;
}

export const madeBy = ({ operations }: PreparedChange): readonly Made[] =>
  operations.flatMap((operation) => operation.makes);

export async function makeJob(
  session: Session,
  request: { readonly workspaceId: string; readonly strategy: Strategy; readonly recorded: boolean },
  change: PreparedChange,
): Promise<Job> {
  const { workspaceId, strategy, recorded } = request;
  const { operations } = change;
  let steps = (await describeSteps(session, change)).map(waiting);
  const needed = recorded || operations.some((operation) => operation.statements.length > 0);
  const made = isAhead(change) ? madeBy(change) : [];
  const id = needed
    ? await insertMigration(session, { workspaceId, strategy, steps, document: change.asked, made })
    : null;
  let current: Operation | undefined;
  const put = (operation: Operation, part: Partial<MigrationStep>): void => {
    const at = operations.indexOf(operation);
    steps = steps.map((step, index) => (index === at ? { ...step, ...part } : step));
  };
  const save = async (state: MigrationState, error: MigrationError | null = null): Promise<void> => {
    if (id !== null) await updateMigration(session, id, { state, steps, error });
  };
  return {
    id,
    workspaceId,
    change,
    sizes: await tableSizes(session, change),
    steps: () => steps,
    current: () => current,
    note: (operation) => {
      current = operation;
    },
    save,
    async move(operation, state) {
      current = operation;
      const step = steps[operations.indexOf(operation)];
      if (step?.state === state) return;
      put(operation, { state, progress: state === 'succeeded' ? 1 : (step?.progress ?? 0) });
      await save('running');
    },
    async progress(operation, records) {
      put(operation, { records, progress: records.total === 0 ? 1 : Math.min(0.99, records.done / records.total) });
      await save('running');
    },
    async show(db, operation, progress) {
      put(operation, { progress });
      if (id !== null) await updateMigration(db, id, { state: 'running', steps });
    },
    async waits(db, holder) {
      if (id !== null) await updateWaiting(db, id, holder);
    },
    async end(state, error, failed) {
      const at = failed === undefined ? -1 : operations.indexOf(failed);
      steps = endSteps(steps, state, at, error);
      await save(state, error);
    },
  };
}

const waiting = (step: PlannedStep): MigrationStep => ({ ...step, state: 'pending', progress: 0 });

/** Steps of a migration that has ended: all done, or none, as what was made is gone again. */
export function endSteps(
  steps: readonly MigrationStep[],
  state: MigrationState,
  failed = -1,
  error: MigrationError | null = null,
): MigrationStep[] {
  return steps.map(({ records: _, ...step }, index) => {
    if (state === 'succeeded') return { ...step, state, progress: 1 };
    if (index !== failed || state !== 'failed') return { ...step, state: 'cancelled', progress: 0 };
    const conflicts = error?.count == null ? null : { count: error.count, sampleIds: error.sampleIds };
    return { ...step, state, progress: 0, conflicts };
  });
}

// An export that holds a table for so long may hold it for an hour; it is easier repeated than the filling of a column.
const END_EXPORTS_AFTER_MS = 30_000;
const END_FIRMLY_AFTER_MS = 35_000;

/** Asks for locks until it gets them or is cancelled, says for whom it waits, and sends exports out of the way. */
export function patienceFor(
  session: Session,
  wanted: Wanted,
  waits: (holder: Waiting | null) => Promise<void>,
  cancelled: () => Promise<boolean>,
): Patience {
  return {
    cancelled,
    giveUpAfterMs: Number.POSITIVE_INFINITY,
    async refused(askingForMs) {
      await waits((await findHolder(session, wanted)) ?? null);
      if (askingForMs > END_EXPORTS_AFTER_MS) await endHolders(session, wanted, askingForMs > END_FIRMLY_AFTER_MS);
    },
    granted: () => waits(null),
  };
}

/** The tables that an operation waits for; none given: those that any of them does. `rows`: only for records of theirs. */
export function wantedBy(
  { operations, databaseSchema }: PreparedChange,
  operation?: Operation,
  rows: 'rows' | undefined = undefined,
): Wanted {
  const locks = (operation === undefined ? operations : [operation]).flatMap(({ locks }) => locks);
  return {
    schema: databaseSchema,
    tables: [...new Set(locks.map(({ table }) => table))],
    exclusive: rows === undefined && locks.some(({ mode }) => mode === 'access exclusive'),
  };
}
