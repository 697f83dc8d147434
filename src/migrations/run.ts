// A migration that a process runs: the context of its statements, and its progress for readers, which is its row in the
// control tables with its steps and the session that it waits for.

import type { Database, Session } from '../database/pool.ts';
import type { AuditContext } from '../store/activity.ts';
import {
  insertMigration,
  isCancelRequested,
  type MigrationError,
  type MigrationState,
  type MigrationStep,
  updateMigration,
  updateSteps,
  updateWaiting,
  type Waiting,
} from '../store/migrations.ts';
import type { Topology } from '../topology/topology.ts';
import type { Gate } from './gate.ts';
import type { Operation } from './operation.ts';
import { describeSteps, listTemporaryObjects, type PreparedChange } from './plan.ts';
import { type EndState, type Failure, type Setback, toStoredEnd } from './state.ts';
import type { LockedSession } from './workspace-lock.ts';

/** A session that holds the lock of a workspace, with the migration that it works on. */
export interface Worker {
  readonly session: Session;
  readonly topology: Topology;
  readonly progress: Progress;
  readonly isClosing: () => boolean;
  readonly onError: (message: string, error: unknown) => void;
}

export interface Run extends Worker {
  readonly workspaceId: string;
  readonly session: LockedSession;
  /** Pool for progress that is stored while the session is busy. */
  readonly db: Database;
  readonly change: PreparedChange;
  /** Estimated number of records by entity. */
  readonly sizes: ReadonlyMap<string, number>;
  /** Author of the change, written in the transaction of the switch. */
  readonly audit: AuditContext;
  /** Changes further control rows in that transaction. */
  readonly alsoAtSwitch: ((session: Session) => Promise<void>) | undefined;
  readonly gate: Gate;
  /** Returns whether a client cancelled the migration, or the server stops. */
  readonly isCancelled: () => Promise<boolean>;
  readonly countFilled: (records: number) => void;
}

/** The error of a migration that a client cancelled. */
export class MigrationCancelled extends Error {}

/** The error of a migration that another process has ended according to the control tables. */
export class AlreadyEndedError extends Error {
  constructor() {
    super('the migration was ended by another process');
  }
}

export interface Progress {
  /** The id of the migration; null when the change is not recorded, and then nothing here is stored. */
  readonly id: string | null;
  readonly steps: () => readonly MigrationStep[];
  /** Returns the operation that runs. */
  readonly current: () => Operation | undefined;
  /** Sets the current operation without storing it. */
  readonly setCurrent: (operation: Operation) => void;
  /** Stores `running`; no object may be created before. */
  readonly start: () => Promise<void>;
  readonly startStep: (operation: Operation) => Promise<void>;
  readonly finishStep: (operation: Operation) => Promise<void>;
  /** Stores the number of filled records; `total` is an estimate. */
  readonly fill: (operation: Operation, records: { readonly done: number; readonly total: number }) => Promise<void>;
  /** Stores the progress of an index build, 0 to 1, on another connection, as the session is busy. */
  readonly build: (db: Database, operation: Operation, fraction: number) => Promise<void>;
  /** Stores the session that the migration waits for; null when it no longer waits. */
  readonly waitFor: (lockHolder: Waiting | null, connection?: Database) => Promise<void>;
  /** Stores the success. Throws MigrationCancelled when a cancel was requested, else AlreadyEndedError. */
  readonly succeed: () => Promise<void>;
  /** Stores an end, if none is stored. */
  readonly conclude: (end: Setback | { readonly how: 'succeeded' }) => Promise<void>;
}

/** Records the change, if recording was requested or the change has statements. */
export async function recordMigration(
  session: Session,
  request: {
    readonly workspaceId: string;
    readonly isRecorded: boolean;
    readonly audit: AuditContext;
  },
  change: PreparedChange,
  sizes: ReadonlyMap<string, number>,
): Promise<Progress> {
  const { workspaceId, isRecorded, audit } = request;
  const { operations, strategy } = change;
  const steps = describeSteps(change, sizes).map((step): MigrationStep => ({ ...step, state: 'pending', progress: 0 }));
  const needsRecord = isRecorded || operations.some((operation) => operation.statements.length > 0);
  const temporaryObjects = listTemporaryObjects(change);
  const id = needsRecord
    ? await insertMigration(session, {
        workspaceId,
        strategy,
        steps,
        document: change.requested,
        temporaryObjects,
        createdBy: audit.actor,
      })
    : null;
  return makeProgress(session, { id, steps, operations });
}

/**
 * Creates the progress of a recorded migration. `operations`: in the order of the steps; empty when it is only
 * concluded.
 */
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
      if (id === null || (await updateMigration(session, id, { state: 'succeeded', steps, unlessCancelled: true })))
        return;
      throw (await isCancelRequested(session, id)) ? new MigrationCancelled() : new AlreadyEndedError();
    },
    async conclude(end) {
      const failure = end.how === 'failed' ? end.failure : undefined;
      steps = endSteps(steps, end.how, failure);
      const error = end.how === 'interrupted' ? INTERRUPTED : (failure?.error ?? null);
      if (id !== null) await updateMigration(session, id, { state: toStoredEnd(end.how), steps, error });
    },
  };
}

const INTERRUPTED: MigrationError = {
  code: 'INTERRUPTED',
  message: 'The server or the database stopped during the migration; it was rolled back',
  entity: null,
  field: null,
  count: null,
  sampleIds: [],
};

/** Returns the steps of a migration that has ended: all are done, or none, as created objects were dropped. */
function endSteps(steps: readonly MigrationStep[], how: EndState['how'], failure?: Failure): readonly MigrationStep[] {
  return steps.map(({ records: _, ...step }, index) => {
    if (how === 'succeeded') return { ...step, state: how, progress: 1 };
    if (failure === undefined || index !== failure.step) return { ...step, state: 'cancelled', progress: 0 };
    const { count, sampleIds } = failure.error;
    return { ...step, state: 'failed', progress: 0, conflicts: count === null ? null : { count, sampleIds } };
  });
}
