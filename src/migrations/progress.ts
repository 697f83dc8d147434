// What people see of a migration: its row in the control tables, with its steps and for whom it waits.

import type { Database, Session } from '../database/pool.ts';
import type { AuditContext } from '../store/activity.ts';
import {
  insertMigration,
  type MigrationState,
  type MigrationStep,
  type PlannedStep,
  updateMigration,
  updateSteps,
  updateWaiting,
  type Waiting,
} from '../store/migrations.ts';
import type { Topology } from '../topology/topology.ts';
import { buildInterruptedError } from './failure.ts';
import type { Operation } from './operation.ts';
import { describeSteps, listTemporaryObjects, type PreparedChange } from './plan.ts';
import { type EndState, type Failure, type Setback, toStoredEnd } from './state.ts';

/** The control tables say that the migration has ended, and this process did not end it. */
export class AlreadyEndedError extends Error {
  constructor() {
    super('the migration was ended by somebody else');
  }
}

export interface Progress {
  /** Null when the change is not recorded; then nothing here stores anything. */
  readonly id: string | null;
  readonly steps: () => readonly MigrationStep[];
  /** The operation at work. */
  readonly current: () => Operation | undefined;
  /** Makes the operation the current one, without storing anything. */
  readonly setCurrent: (operation: Operation) => void;
  /** Stores `running`; before that nothing may be made. */
  readonly start: () => Promise<void>;
  readonly startStep: (operation: Operation) => Promise<void>;
  readonly finishStep: (operation: Operation) => Promise<void>;
  /** `total` is an estimate. */
  readonly fill: (operation: Operation, records: { readonly done: number; readonly total: number }) => Promise<void>;
  /** Stores the share of an index that is built, 0 to 1, by another connection, as the session is busy. */
  readonly build: (db: Database, operation: Operation, fraction: number) => Promise<void>;
  /** Stores for whom the migration waits; null for nobody any more. */
  readonly waitFor: (lockHolder: Waiting | null, connection?: Database) => Promise<void>;
  /** Throws EndedElsewhere. */
  readonly succeed: () => Promise<void>;
  readonly conclude: (setback: Setback) => Promise<void>;
}

/** Records the change, if it is to be recorded or has statements. */
export async function recordMigration(
  session: Session,
  request: {
    readonly workspaceId: string;
    readonly isRecorded: boolean;
    readonly audit: AuditContext;
  },
  change: PreparedChange,
  topology: Topology,
): Promise<Progress> {
  const { workspaceId, isRecorded, audit } = request;
  const { operations, strategy } = change;
  const steps = (await describeSteps(session, change, topology)).map(toPendingStep);
  const needsRecord = isRecorded || operations.some((operation) => operation.statements.length > 0);
  const temporaryObjects = listTemporaryObjects(change);
  const id = needsRecord
    ? await insertMigration(session, {
        workspaceId,
        strategy,
        steps,
        document: change.requested,
        made: temporaryObjects,
        createdBy: audit.actor,
      })
    : null;
  return makeProgress(session, { id, steps, operations });
}

/** The progress of a migration that is recorded. `operations`: in the order of the steps; none when it is only concluded. */
export function makeProgress(
  session: Session,
  migration: {
    readonly id: string | null;
    readonly steps: readonly MigrationStep[];
    readonly operations: readonly Operation[];
  },
): Progress {
  const { id, operations } = migration;
  let { steps } = migration;
  let current: Operation | undefined;
  const updateStep = (operation: Operation, part: Partial<MigrationStep>): void => {
    const at = operations.indexOf(operation);
    steps = steps.map((step, index) => (index === at ? { ...step, ...part } : step));
  };
  const save = async (): Promise<void> => {
    if (id !== null) await updateMigration(session, id, { state: 'running', steps });
  };
  const updateStepState = async (operation: Operation, state: MigrationState): Promise<void> => {
    current = operation;
    const step = steps[operations.indexOf(operation)];
    if (step?.state === state) return;
    updateStep(operation, { state, progress: state === 'succeeded' ? 1 : (step?.progress ?? 0) });
    await save();
  };
  return {
    id,
    steps: () => steps,
    current: () => current,
    setCurrent: (operation) => {
      current = operation;
    },
    start: save,
    startStep: (operation) => updateStepState(operation, 'running'),
    finishStep: (operation) => updateStepState(operation, 'succeeded'),
    async fill(operation, records) {
      updateStep(operation, {
        records,
        progress: records.total === 0 ? 1 : Math.min(0.99, records.done / records.total),
      });
      await save();
    },
    async build(db, operation, fraction) {
      updateStep(operation, { progress: fraction });
      if (id !== null) await updateSteps(db, id, steps);
    },
    async waitFor(lockHolder, connection) {
      if (id !== null) await updateWaiting(connection ?? session, id, lockHolder);
    },
    async succeed() {
      steps = endSteps(steps, 'succeeded');
      if (id !== null && !(await updateMigration(session, id, { state: 'succeeded', steps })))
        throw new AlreadyEndedError();
    },
    async conclude(setback) {
      const failure = setback.how === 'failed' ? setback.failure : undefined;
      steps = endSteps(steps, setback.how, failure);
      const error = setback.how === 'interrupted' ? buildInterruptedError() : (failure?.error ?? null);
      if (id !== null) await updateMigration(session, id, { state: toStoredEnd(setback.how), steps, error });
    },
  };
}

const toPendingStep = (step: PlannedStep): MigrationStep => ({ ...step, state: 'pending', progress: 0 });

/** Steps of a migration that has ended: all are done, or none, as what was made is gone again. */
function endSteps(steps: readonly MigrationStep[], how: EndState['how'], failure?: Failure): readonly MigrationStep[] {
  return steps.map(({ records: _, ...step }, index) => {
    if (how === 'succeeded') return { ...step, state: how, progress: 1 };
    if (failure === undefined || index !== failure.step) return { ...step, state: 'cancelled', progress: 0 };
    const { count, sampleIds } = failure.error;
    return { ...step, state: 'failed', progress: 0, conflicts: count === null ? null : { count, sampleIds } };
  });
}
