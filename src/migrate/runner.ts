// The only mover of migration state. Takes a change, prepares what takes long without holding up anybody, and switches
// to the new document in one transaction; whatever ends it before that takes back all that it made.
import {
  type Conflicts,
  findBackend,
  findOpenMigration,
  insertMigration,
  isCancelRequested,
  loadMigratingWorkspaces,
  type MigrationError,
  type MigrationState,
  type MigrationStep,
  type PlannedStep,
  type Strategy,
  updateMigration,
} from '../catalog/migrations.ts';
import { loadWorkspaceRow, storeDocument, storeGates } from '../catalog/workspaces.ts';
import type { Database, Session } from '../db/pool.ts';
import { anotherMigrationRuns, destructiveChange, serviceUnavailable } from '../errors.ts';
import { toQuery } from '../sql/fragment.ts';
import { dataConflict, failureOf, interrupted, isDataError, nameTaken } from './failure.ts';
import { RefusedValue } from './fill.ts';
import { closeGates, type Gate } from './gate.ts';
import { isPassing } from './lock-retry.ts';
import type { Made, Operation } from './operation.ts';
import {
  type Ask,
  describeSteps,
  findConflicts,
  findTaken,
  type PreparedChange,
  prepareChange,
  tableSizes,
} from './plan.ts';
import { isAhead, prepareAhead, revert, switchOver, type Work } from './statements.ts';
import { watchIndex } from './watch-index.ts';
import { withWorkspaceLock } from './workspace-lock.ts';

export interface MigrationRequest {
  readonly workspaceId: string;
  readonly strategy: Strategy;
  readonly allowDestructive: boolean;
  readonly ask: Ask;
  /** Is a change that needs no DDL a migration that people can look up? */
  readonly recorded: boolean;
}

export interface StartedMigration {
  /** Null when nothing was recorded. */
  readonly id: string | null;
  /** Resolves when it has ended, however it did. */
  readonly ended: Promise<void>;
}

export interface Runner {
  /** Throws the refusals; what goes wrong later is the error of the migration. */
  start(request: MigrationRequest): Promise<StartedMigration>;
  /** Ends migrations whose process is gone; `only`: of one workspace. */
  recover(only?: string): Promise<void>;
  /** Of this process, since it started. */
  stats(): RunnerStats;
}

export interface RunnerStats {
  readonly running: number;
  /** Records whose new column was given its value. */
  readonly filled: number;
  readonly ended: Readonly<Record<EndState, number>>;
}

type EndState = Exclude<MigrationState, 'pending' | 'running'>;

export interface RunnerOptions {
  readonly db: Database;
  /** Another document is in force. */
  readonly changed: (workspaceId: string) => void;
  readonly onError: (message: string, error: unknown) => void;
  /** How many that take their time may run: each holds a connection for slow work, and its gates need another. */
  readonly maxLong: number;
}

const RECOVER_AFTER_MS = 2000;
const RECOVER_ATTEMPTS = 30;

export function makeRunner({ db, changed, onError, maxLong }: RunnerOptions): Runner {
  let long = 0;
  let running = 0;
  let filled = 0;
  const ended: Record<EndState, number> = { succeeded: 0, failed: 0, cancelled: 0 };

  async function start(request: MigrationRequest): Promise<StartedMigration> {
    const { workspaceId } = request;
    const started = Promise.withResolvers<StartedMigration>();
    const end = Promise.withResolvers<void>();
    // Whoever waits for the end handles its failure; nobody has to wait.
    end.promise.catch(() => undefined);
    let job: Job | undefined;
    withWorkspaceLock(
      db,
      workspaceId,
      async (session) => {
        await recoverLocked(session, workspaceId);
        const change = await prepareAllowed(session, request);
        const isLong = isAhead(change) || change.operations.some(({ work }) => work !== 'none');
        if (isLong && long >= maxLong) throw tooManyMigrations();
        if (isLong) long++;
        running++;
        try {
          job = await makeJob(session, request, change);
          started.resolve({ id: job.id, ended: end.promise });
          const state = await run(session, job);
          if (job.id !== null) ended[state]++;
        } finally {
          running--;
          if (isLong) long--;
        }
      },
      () => Promise.reject(anotherMigrationRuns()),
    ).then(
      () => {
        changed(workspaceId);
        end.resolve();
      },
      (error) => {
        started.reject(error);
        if (job === undefined || job.id === null) return end.reject(error);
        // Only a lost connection ends here: somebody has to tidy up.
        onError('a migration lost its connection', error);
        recoverLater(workspaceId, RECOVER_ATTEMPTS, end.resolve);
      },
    );
    return started.promise;
  }

  function recoverLater(workspaceId: string, attempts: number, done: () => void): void {
    setTimeout(() => {
      recover(workspaceId).then(done, (error) => {
        if (attempts > 1) return recoverLater(workspaceId, attempts - 1, done);
        onError('a migration could not be rolled back; the next start tries again', error);
        done();
      });
    }, RECOVER_AFTER_MS).unref();
  }

  async function recover(only?: string): Promise<void> {
    const workspaces = only === undefined ? await loadMigratingWorkspaces(db) : [only];
    const failures: unknown[] = [];
    for (const workspaceId of workspaces) await recoverOne(workspaceId).catch((error) => failures.push(error));
    if (failures.length > 0) throw failures[0];
  }

  function recoverOne(workspaceId: string): Promise<void> {
    return withWorkspaceLock(
      db,
      workspaceId,
      async (session) => {
        await recoverLocked(session, workspaceId);
        changed(workspaceId);
      },
      () => undefined,
    );
  }

  /** What runs without a holder of the lock, which we are, has lost its process. */
  async function recoverLocked(session: Session, workspaceId: string): Promise<void> {
    const open = await findOpenMigration(session, workspaceId);
    if (open === undefined) return;
    const row = await loadWorkspaceRow(session, workspaceId);
    let left: MigrationError | undefined;
    if (open.state === 'running' && row !== undefined) {
      await session.query(toQuery(storeGates(workspaceId, {})));
      try {
        await revert(session, row.databaseSchema, open.made as readonly Made[]);
      } catch (error) {
        // What will never go, as something of others hangs on it, must not keep the workspace from changes for ever.
        if (isPassing(error)) throw error;
        onError('what a migration made could not be taken back', error);
        left = failureOf(error, undefined);
      }
    }
    const state = open.cancelRequested && left === undefined ? 'cancelled' : 'failed';
    const error = state === 'cancelled' ? null : (left ?? interrupted());
    await updateMigration(session, open.id, { state, steps: endSteps(open.steps, state), error });
    ended[state]++;
  }

  async function run(session: Session, job: Job): Promise<EndState> {
    const { id, change } = job;
    const done = new Map<Operation, number>();
    const work: Work = {
      session,
      change,
      cancelled: () => (id === null ? Promise.resolve(false) : isCancelRequested(session, id)),
      note: job.note,
      begin: (operation) => job.move(operation, 'running'),
      done: (operation) => job.move(operation, 'succeeded'),
      progress(operation, records) {
        filled += records.done - (done.get(operation) ?? 0);
        done.set(operation, records.done);
        return job.progress(operation, records);
      },
      watch: (operation) => watchIndex(db, job.pid, (progress) => job.show(db, operation, progress)),
      records: ({ entity }) => job.sizes.get(entity) ?? 0,
      async locked() {
        for (const operation of change.operations) {
          if (operation.late === null) continue;
          work.note(operation);
          const conflicts = await findConflicts(session, operation.late);
          if (conflicts !== null) throw new LateConflict(conflicts);
        }
      },
    };
    let gate: Gate | undefined;
    try {
      const obstruction = await findObstruction(session, change);
      if (obstruction !== undefined) {
        await job.end('failed', obstruction.error, obstruction.operation);
        return 'failed';
      }
      await job.save('running');
      await prepareAhead(work);
      gate = await closeGates(db, job.workspaceId, change, job.steps(), () => changed(job.workspaceId));
      await switchOver(work, async () => {
        await gate?.rest();
        if (changesDocument(change)) {
          await session.query(toQuery(storeDocument(job.workspaceId, change.asked, change.names)));
        }
        await job.end('succeeded', null);
      });
      return 'succeeded';
    } catch (error) {
      const failed = job.current();
      await gate?.open();
      const cancelled = await work.cancelled();
      const reason = cancelled ? null : await explain(session, error, failed);
      if (reason?.code === 'INTERNAL_ERROR') onError('a migration failed', error);
      if (isAhead(change)) await revert(session, change.databaseSchema, madeBy(change));
      if (id === null) throw error;
      const state = cancelled ? 'cancelled' : 'failed';
      await job.end(state, reason, failed);
      return state;
    }
  }

  return { start, recover, stats: () => ({ running, filled, ended }) };
}

/** Does anything about the workspace change that requests see? */
function changesDocument({ asked, inForce, operations }: PreparedChange): boolean {
  return operations.length > 0 || JSON.stringify(asked) !== JSON.stringify(inForce);
}

const madeBy = ({ operations }: PreparedChange): readonly Made[] => operations.flatMap((operation) => operation.makes);

/** Records that came to stand in the way while the change was prepared. */
class LateConflict extends Error {
  readonly conflicts: Conflicts;
  constructor(conflicts: Conflicts) {
    super('records stand in the way');
    this.conflicts = conflicts;
  }
}

/** A change on its way, and what people see of it. */
interface Job {
  readonly id: string | null;
  readonly workspaceId: string;
  readonly change: PreparedChange;
  /** Process of the session in PostgreSQL. */
  readonly pid: number;
  /** Estimated number of records by entity. */
  readonly sizes: ReadonlyMap<string, number>;
  readonly steps: () => readonly MigrationStep[];
  readonly progress: Work['progress'];
  /** How far the operation at work is, 0 to 1, kept by another connection than the session's. */
  readonly show: (db: Database, operation: Operation, progress: number) => Promise<void>;
  /** The operation at work, for whoever explains a failure. */
  readonly current: () => Operation | undefined;
  readonly note: (operation: Operation) => void;
  readonly move: (operation: Operation, state: MigrationState) => Promise<void>;
  readonly save: (state: MigrationState) => Promise<void>;
  readonly end: (state: MigrationState, error: MigrationError | null, failed?: Operation) => Promise<void>;
}

/** The change, if it may be made. */
async function prepareAllowed(session: Session, request: MigrationRequest): Promise<PreparedChange> {
  const change = await prepareChange(session, request.workspaceId, request.ask, request.strategy);
  const destructive = change.operations.filter((operation) => operation.destructive);
  if (destructive.length > 0 && !request.allowDestructive) {
    throw destructiveChange(
      destructive.map(({ path, description }) => ({ field: path, code: 'DESTRUCTIVE', message: description })),
    );
  }
  return change;
}

const tooManyMigrations = (): Error =>
  serviceUnavailable('Migrations of other workspaces take all the room for long ones; retry when one has ended', 10);

async function makeJob(session: Session, request: MigrationRequest, change: PreparedChange): Promise<Job> {
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
    pid: await findBackend(session),
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
    async end(state, error, failed) {
      const at = failed === undefined ? -1 : operations.indexOf(failed);
      steps = endSteps(steps, state, at, error);
      await save(state, error);
    },
  };
}

const waiting = (step: PlannedStep): MigrationStep => ({ ...step, state: 'pending', progress: 0 });

/** Steps of a migration that has ended: all done, or none, as what was made is gone again. */
function endSteps(
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

interface Obstruction {
  readonly error: MigrationError;
  readonly operation?: Operation;
}

/** What makes the change impossible, before anything is done. */
async function findObstruction(session: Session, change: PreparedChange): Promise<Obstruction | undefined> {
  const taken = await findTaken(session, change);
  if (taken !== undefined) return { error: nameTaken(taken) };
  for (const operation of change.operations) {
    if (operation.obstacle?.known !== true) continue;
    const conflicts = await findConflicts(session, operation.obstacle);
    if (conflicts !== null) return { error: dataConflict(operation, conflicts), operation };
  }
  return undefined;
}

/** Counts the records that made a statement fail, while what they failed on is still there. */
async function explain(session: Session, error: unknown, operation: Operation | undefined): Promise<MigrationError> {
  const obstacle = operation?.obstacle;
  if (operation !== undefined && error instanceof LateConflict) return dataConflict(operation, error.conflicts);
  const isConflict = isDataError(error) || error instanceof RefusedValue;
  if (operation === undefined || obstacle == null || !isConflict) return failureOf(error, operation);
  const conflicts = await findConflicts(session, obstacle).catch(() => null);
  return conflicts === null ? failureOf(error, operation) : dataConflict(operation, conflicts);
}
