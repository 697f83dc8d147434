// Does the work of each state of a migration, for the process that runs it, or for one that finds it abandoned; state.ts
// defines the order of states.

import { maySucceedLater } from '../database/transaction.ts';
import { buildTables } from '../schema/tables.ts';
import { toQuery } from '../sql/fragment.ts';
import { loadWorkspaceRow, type StoredWorkspace, storeDocument, storeGates } from '../store/documents.ts';
import { findOpenMigration, type OpenMigration } from '../store/migrations.ts';
import { explainError, findBlockingConflict, toMigrationError } from './failure.ts';
import { buildLockRequest, makeLockRetryOptions } from './lock-holders.ts';
import type { LockRequest, TemporaryObject } from './operation.ts';
import { listTemporaryObjects, type PreparedChange } from './plan.ts';
import { AlreadyEndedError, makeProgress, type Run, type Worker } from './run.ts';
import { type EndState, type Event, isWorking, next, PENDING, type State, type WorkingState } from './state.ts';
import { revert, runPreparation, switchOver } from './statements.ts';
import { adaptWebhooks } from './webhooks.ts';
import { endWriteJobs } from './write-jobs.ts';

type In<Name> = Extract<WorkingState, { readonly name: Name }>;

/** Handlers of some states; `W` is the context that they need. */
type Work<W, Name extends WorkingState['name']> = {
  readonly [N in Name]: (worker: W, state: In<N>) => Promise<Event>;
};

/** Runs state after state until the migration has ended. Throws the error that abandoned it. */
async function carryOut<W, Name extends WorkingState['name']>(
  worker: W,
  from: State,
  work: Work<W, Name>,
): Promise<EndState['how']> {
  for (let state = from; ; ) {
    const perform = work[state.name as Name] as (worker: W, state: State) => Promise<Event>;
    const event: Event = await perform(worker, state).catch((error) => ({ name: 'threw', error }));
    state = next(state, event);
    if (state.name === 'ended') return state.how;
    if (!isWorking(state)) throw event.name === 'threw' ? event.error : new Error(`a migration is ${state.name}`);
  }
}

/* ---- the process that runs it ---- */

/** Runs a migration to its end. Throws when its connection is lost, and the error of an unrecorded change. */
export const runMigration = (run: Run): Promise<EndState['how']> => carryOut(run, PENDING, RUN);

const RUN: Work<Run, WorkingState['name']> = {
  async pending({ session, change, progress }) {
    const failure = await findBlockingConflict(session, change);
    if (failure !== undefined) return { name: 'impossible', failure };
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
        await adaptWebhooks(session, workspaceId, change, run.audit.write);
        await endWriteJobs(session, workspaceId, change);
      }
      await run.alsoAtSwitch?.(session);
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
    const { change } = run;
    const lockRequest = buildLockRequest(change);
    return revertObjects(run, change.databaseSchema, listTemporaryObjects(change), lockRequest);
  },
  concluding,
};

/** Returns whether the change is visible to requests. */
function changesDocument({ requested, inForce, operations }: PreparedChange): boolean {
  return operations.length > 0 || JSON.stringify(requested) !== JSON.stringify(inForce);
}

/* ---- a process that finds it abandoned ---- */

/** A migration whose process is gone, in the session that holds the lock of its workspace now. */
interface AbandonedMigration extends Worker {
  readonly workspaceId: string;
  readonly open: OpenMigration;
  /** The PostgreSQL schema of the workspace, or undefined if the workspace is deleted. */
  readonly schema: string | undefined;
}

// The next sweep tries again; the start of the server must not wait.
const RECOVERY_LOCK_TIMEOUT_MS = 2000;

const RECOVERY: Work<AbandonedMigration, 'stopping' | 'reverting' | 'concluding'> = {
  async stopping({ workspaceId, session, open }, { stored }) {
    if (stored === 'running') await session.query(toQuery(storeGates(workspaceId, {})));
    return { name: open.cancelRequested ? 'cancelled' : 'interrupted' };
  },
  async reverting(worker) {
    const { schema, open } = worker;
    if (schema === undefined) return { name: 'reverted' };
    const temporaryObjects = open.temporaryObjects as readonly TemporaryObject[];
    const tables = [...new Set(temporaryObjects.map(({ table }) => table))];
    const lockRequest = { schema, tables, exclusive: true };
    return revertObjects(worker, schema, temporaryObjects, lockRequest, RECOVERY_LOCK_TIMEOUT_MS);
  },
  concluding,
};

/**
 * Ends the open migration of a workspace whose lock the session holds. Returns how it has ended, or undefined if none
 * is open. Throws when that fails for now.
 */
export async function recoverMigration(
  context: Omit<Worker, 'progress'>,
  workspaceId: string,
): Promise<EndState['how'] | undefined> {
  const { session, onError } = context;
  const open = await findOpenMigration(session, workspaceId);
  if (open === undefined) return undefined;
  const row = await loadWorkspaceRow(session, workspaceId);
  const progress = makeProgress(session, { ...open, operations: [] });
  const nameInForce = row && findNameInForce(row, open.temporaryObjects as readonly TemporaryObject[]);
  if (nameInForce !== undefined) {
    const message = 'a migration is recorded as running although its tables are in use: none of them is dropped';
    onError(message, new Error(nameInForce));
    await session.query(toQuery(storeGates(workspaceId, {})));
    const how = open.isInForce ? 'succeeded' : 'interrupted';
    await progress.conclude({ how });
    return how;
  }
  const state = next({ name: 'abandoned', stored: open.state }, { name: 'discovered' });
  return carryOut({ ...context, workspaceId, open, schema: row?.databaseSchema, progress }, state, RECOVERY);
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

/* ---- both ---- */

async function concluding({ progress }: Worker, { setback }: In<'concluding'>): Promise<Event> {
  await progress.conclude(setback);
  return { name: 'recorded' };
}

async function revertObjects(
  worker: Worker,
  schema: string,
  temporaryObjects: readonly TemporaryObject[],
  lockRequest: LockRequest,
  timeoutMs = Number.POSITIVE_INFINITY,
): Promise<Event> {
  const { session, isClosing, onError } = worker;
  const retryOptions = makeLockRetryOptions(worker, lockRequest, async () => isClosing());
  try {
    await revert(session, schema, temporaryObjects, { ...retryOptions, timeoutMs });
    return { name: 'reverted' };
  } catch (error) {
    if (maySucceedLater(error)) throw error;
    onError('objects of a migration could not be dropped', error);
    return { name: 'irreversible', failure: { error: toMigrationError(error) } };
  }
}
