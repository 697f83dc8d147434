// Does the work of each state of a migration and returns the event that ends it; state.ts defines the state that
// follows.

import type { Session } from '../database/pool.ts';
import { type LockRetryOptions, maySucceedLater } from '../database/transaction.ts';
import { toQuery } from '../sql/fragment.ts';
import { storeDocument, storeGates } from '../store/documents.ts';
import type { OpenMigration } from '../store/migrations.ts';
import type { Topology } from '../topology/topology.ts';
import { explainError, findBlockingConflict } from './conflicts.ts';
import { toMigrationError } from './failure.ts';
import type { TemporaryObject } from './operation.ts';
import { listTemporaryObjects, type PreparedChange } from './plan.ts';
import { AlreadyEndedError, type Progress } from './progress.ts';
import { buildLockRequest, makeLockRetryOptions, type Run } from './run.ts';
import { type EndState, type Event, isWorking, next, type State, type WorkingState } from './state.ts';
import { revert, runPreparation, switchOver } from './statements.ts';

type In<Name> = Extract<WorkingState, { readonly name: Name }>;

/** Handlers of some states; `Worker` is the context that they need. */
export type Work<Worker, Name extends WorkingState['name']> = {
  readonly [N in Name]: (worker: Worker, state: In<N>) => Promise<Event>;
};

/** Runs state after state until the migration has ended. Throws the error that abandoned it. */
export async function carryOut<Worker, Name extends WorkingState['name']>(
  worker: Worker,
  from: State,
  work: Work<Worker, Name>,
): Promise<EndState> {
  for (let state = from; ; ) {
    const perform = work[state.name as Name] as (worker: Worker, state: State) => Promise<Event>;
    const event: Event = await perform(worker, state).catch((error) => ({ name: 'threw', error }));
    state = next(state, event);
    if (state.name === 'ended') return state;
    if (!isWorking(state)) throw event.name === 'threw' ? event.error : new Error(`a migration is ${state.name}`);
  }
}

/** State handlers of the process that runs the migration. */
export const RUN: Work<Run, WorkingState['name']> = {
  async pending({ session, change, progress }) {
    const failure = await findBlockingConflict(session, change);
    if (failure !== undefined) return { name: 'obstructed', failure };
    await progress.start();
    return { name: 'cleared' };
  },
  async preparing(run) {
    await runPreparation(run);
    return { name: 'prepared' };
  },
  async closing({ gate }) {
    await gate.close();
    return { name: 'closed' };
  },
  async switching(run) {
    const { workspaceId, session, change, gate, progress } = run;
    await switchOver(run, async () => {
      gate.stopCountdown();
      if (changesDocument(change)) {
        const { requested: document, names, releasedNames, renamedEntities } = change;
        await session.query(
          toQuery(storeDocument(workspaceId, { document, names, releasedNames, renamed: renamedEntities })),
        );
      }
      await run.audit.write(session, { details: { migration: progress.id === null ? null : Number(progress.id) } });
      await progress.succeed();
    });
    return { name: 'switched' };
  },
  async stopping(run, { error }) {
    const { session, change, gate, progress } = run;
    const operation = progress.current();
    await session.startCleanup();
    await gate.open();
    // The process that ended the migration has reverted it, and another change may have created the same objects since.
    if (error instanceof AlreadyEndedError) throw error;
    // A change without a record has created nothing; the caller gets the error.
    if (progress.id === null) throw error;
    if (run.isClosing()) return { name: 'interrupted' };
    if (await run.isCancelled()) return { name: 'cancelled' };
    const migrationError = await explainError(session, error, operation);
    if (migrationError.code === 'INTERNAL_ERROR') run.onError('a migration failed', error);
    const at = operation === undefined ? {} : { step: change.operations.indexOf(operation) };
    return { name: 'failed', failure: { error: migrationError, ...at } };
  },
  reverting(run) {
    const { session, change, progress, onError } = run;
    const retryOptions = makeLockRetryOptions(
      session,
      buildLockRequest(change),
      run.topology,
      progress.waitFor,
      async () => run.isClosing(),
    );
    return revertObjects({
      session,
      schema: change.databaseSchema,
      temporaryObjects: listTemporaryObjects(change),
      retryOptions,
      onError,
    });
  },
  concluding,
};

/** A migration whose process is gone, with the session that holds the lock of its workspace now. */
export interface AbandonedMigration {
  readonly workspaceId: string;
  readonly session: Session;
  readonly open: OpenMigration;
  /** The PostgreSQL schema of the workspace, or undefined if the workspace is deleted. */
  readonly schema: string | undefined;
  readonly topology: Topology;
  readonly progress: Progress;
  readonly isClosing: () => boolean;
  readonly onError: (message: string, error: unknown) => void;
}

// The next sweep tries again; the start of the server must not wait.
const RECOVERY_LOCK_TIMEOUT_MS = 2000;

export const RECOVERY: Work<AbandonedMigration, 'stopping' | 'reverting' | 'concluding'> = {
  async stopping({ workspaceId, session, open }, { stored }) {
    if (stored === 'running') await session.query(toQuery(storeGates(workspaceId, {})));
    return { name: open.cancelRequested ? 'cancelled' : 'interrupted' };
  },
  async reverting({ session, open, schema, topology, progress, isClosing, onError }) {
    if (schema === undefined) return { name: 'reverted' };
    const temporaryObjects = open.temporaryObjects as readonly TemporaryObject[];
    const tables = [...new Set(temporaryObjects.map(({ table }) => table))];
    const lockRequest = { schema, tables, exclusive: true };
    const retryOptions = makeLockRetryOptions(session, lockRequest, topology, progress.waitFor, async () =>
      isClosing(),
    );
    return revertObjects({
      session,
      schema,
      temporaryObjects,
      retryOptions: { ...retryOptions, timeoutMs: RECOVERY_LOCK_TIMEOUT_MS },
      onError,
    });
  },
  concluding,
};

async function concluding(
  { progress }: { readonly progress: Progress },
  { setback }: In<'concluding'>,
): Promise<Event> {
  await progress.conclude(setback);
  return { name: 'recorded' };
}

async function revertObjects({
  session,
  schema,
  temporaryObjects,
  retryOptions,
  onError,
}: {
  readonly session: Session;
  readonly schema: string;
  readonly temporaryObjects: readonly TemporaryObject[];
  readonly retryOptions: LockRetryOptions;
  readonly onError: (message: string, error: unknown) => void;
}): Promise<Event> {
  try {
    await revert(session, schema, temporaryObjects, retryOptions);
    return { name: 'reverted' };
  } catch (error) {
    if (maySucceedLater(error)) throw error;
    onError('objects of a migration could not be dropped', error);
    return { name: 'stuck', failure: { error: toMigrationError(error, undefined) } };
  }
}

/** Returns whether the change is visible to requests. */
function changesDocument({ requested, inForce, operations }: PreparedChange): boolean {
  return operations.length > 0 || JSON.stringify(requested) !== JSON.stringify(inForce);
}
