// The only mover of migration state. Takes a change, prepares what takes long without holding up anybody, and switches
// to the new document in one transaction; whatever ends it before that takes back all that it made.

import { loadWorkspaceRow, storeDocument, storeGates } from '../catalog/documents.ts';
import {
  type Conflicts,
  findOpenMigration,
  isCancelRequested,
  loadMigratingWorkspaces,
  type MigrationError,
  type MigrationState,
  type Strategy,
  updateMigration,
  updateWaiting,
  type Waiting,
} from '../catalog/migrations.ts';
import { isLockConflict, isPassing } from '../db/lock-retry.ts';
import type { Database, Session } from '../db/pool.ts';
import { anotherMigrationRuns, destructiveChange, serviceUnavailable } from '../errors.ts';
import { toQuery } from '../sql/fragment.ts';
import { dataConflict, failureOf, interrupted, isDataError, nameTaken } from './failure.ts';
import { RefusedValue } from './fill.ts';
import { closeGates, type Gate } from './gate.ts';
import { endSteps, type Job, madeBy, makeJob, patienceFor, wantedBy } from './job.ts';
import type { Made, Operation } from './operation.ts';
import { type Ask, findConflicts, findTaken, type PreparedChange, prepareChange } from './plan.ts';
import { type LockedSession, makeSessions } from './sessions.ts';
import { makeSettler } from './settle.ts';
import { isAhead, prepareAhead, revert, switchOver, type Work } from './statements.ts';
import { watchIndex } from './watch-index.ts';

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
  /** Begins to give names in PostgreSQL back whose process is gone, or could not do it. */
  settle(): Promise<void>;
  /** Of this process, since it started. */
  stats(): RunnerStats;
  /** Stops what runs and takes it back, in `graceMs`; what is left then the next start takes back. */
  close(graceMs: number): Promise<void>;
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
  /** Resolves when what is committed holds in every process. */
  readonly everywhere: () => Promise<unknown>;
  readonly onError: (message: string, error: unknown) => void;
  /** Is no request under way any more that was planned by an older version of the workspace? */
  readonly isSettled: (workspaceId: string, version: string) => Promise<boolean>;
  /** After so long none can be. */
  readonly forgottenAfterMs: number;
  /** How many that take their time may run: each holds a connection for slow work, and its gates need another. */
  readonly maxLong: number;
}

const RECOVER_AFTER_MS = 2000;
const RECOVER_ATTEMPTS = 30;
// The next sweep tries again; the server must not be kept from starting.
const RECOVER_PATIENCE_MS = 2000;
// Behind closed gates nobody is served, so whoever holds a lock there is not waited for without end.
const GATED_PATIENCE_MS = 120_000;

export function makeRunner(options: RunnerOptions): Runner {
  let long = 0;
  let running = 0;
  let filled = 0;
  const ended: Record<EndState, number> = { succeeded: 0, failed: 0, cancelled: 0 };
  const { db, changed, everywhere, onError, maxLong, forgottenAfterMs } = options;
  const sessions = makeSessions(db);
  const settler = makeSettler({ ...options, sessions });

  async function start(request: MigrationRequest): Promise<StartedMigration> {
    if (sessions.isClosing()) throw serviceUnavailable('The server is shutting down', 1);
    const { workspaceId } = request;
    const started = Promise.withResolvers<StartedMigration>();
    const end = Promise.withResolvers<void>();
    // Whoever waits for the end handles its failure; nobody has to wait.
    end.promise.catch(() => undefined);
    let job: Job | undefined;
    const begun = sessions.withLock(
      workspaceId,
      async (session) => {
        await recoverLocked(session, workspaceId).catch((error) => {
          // What the one before has made cannot be taken back yet.
          throw isLockConflict(error) ? anotherMigrationRuns() : error;
        });
        const change = await prepareAllowed(session, request, forgottenAfterMs);
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
    );
    begun.then(
      async () => {
        changed(workspaceId);
        settler.soon(workspaceId);
        await everywhere();
        end.resolve();
      },
      (error) => {
        started.reject(error);
        if (job === undefined || job.id === null) return end.reject(error);
        if (sessions.isClosing()) return end.resolve();
        // Only a lost connection ends here: somebody has to tidy up.
        onError('a migration lost its connection', error);
        recoverLater(workspaceId, RECOVER_ATTEMPTS, end.resolve);
      },
    );
    return started.promise;
  }

  function recoverLater(workspaceId: string, attempts: number, done: () => void): void {
    setTimeout(() => {
      if (sessions.isClosing()) return done();
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
    for (const workspaceId of workspaces) {
      if (sessions.isClosing()) return;
      await recoverOne(workspaceId).catch((error) => failures.push(error));
    }
    if (failures.length > 0) throw failures[0];
  }

  function recoverOne(workspaceId: string): Promise<void> {
    return sessions.withLock(
      workspaceId,
      async (session) => {
        await recoverLocked(session, workspaceId).catch((error) => {
          // The locks are not free yet: the next sweep asks again.
          if (!isLockConflict(error)) throw error;
        });
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
        const made = open.made as readonly Made[];
        const tables = [...new Set(made.map(({ table }) => table))];
        const wanted = { schema: row.databaseSchema, tables, exclusive: true };
        const waits = (holder: Waiting | null) => updateWaiting(session, open.id, holder);
        const patience = patienceFor(session, wanted, waits, async () => sessions.isClosing());
        await revert(session, row.databaseSchema, made, { ...patience, giveUpAfterMs: RECOVER_PATIENCE_MS });
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

  async function run(session: LockedSession, job: Job): Promise<EndState> {
    const { id, change } = job;
    const done = new Map<Operation, number>();
    let gate: Gate | undefined;
    const waits = (holder: Waiting | null): Promise<void> => job.waits(session, holder);
    const cancelled = async (): Promise<boolean> =>
      sessions.isClosing() || (id !== null && (await isCancelRequested(session, id)));
    const work: Work = {
      session,
      change,
      cancelled,
      patience(operation, rows) {
        const wanted = wantedBy(change, operation, rows);
        const patience = patienceFor(session, wanted, waits, cancelled);
        return gate === undefined ? patience : { ...patience, giveUpAfterMs: GATED_PATIENCE_MS };
      },
      note: job.note,
      begin: (operation) => job.move(operation, 'running'),
      done: (operation) => job.move(operation, 'succeeded'),
      progress(operation, records) {
        filled += records.done - (done.get(operation) ?? 0);
        done.set(operation, records.done);
        return job.progress(operation, records);
      },
      watch: (operation) =>
        watchIndex(
          db,
          session.pid,
          (progress) => job.show(db, operation, progress),
          (holder) => job.waits(db, holder),
        ),
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
    try {
      const obstruction = await findObstruction(session, change);
      if (obstruction !== undefined) {
        await job.end('failed', obstruction.error, obstruction.operation);
        return 'failed';
      }
      await job.save('running');
      await prepareAhead(work);
      gate = await closeGates(db, job.workspaceId, change, job.steps(), () => changed(job.workspaceId), everywhere);
      await switchOver(work, async () => {
        await gate?.rest();
        if (changesDocument(change)) {
          await session.query(toQuery(storeDocument(job.workspaceId, change.asked, change.names, change.freed)));
        }
        await job.end('succeeded', null);
      });
      return 'succeeded';
    } catch (error) {
      const failed = job.current();
      await session.cleansUp();
      await gate?.open();
      const isStopped = sessions.isClosing();
      const isCancelled = !isStopped && (await cancelled());
      const reason = isStopped ? interrupted() : isCancelled ? null : await explain(session, error, failed);
      if (reason?.code === 'INTERNAL_ERROR') onError('a migration failed', error);
      if (isAhead(change)) {
        const patience = patienceFor(session, wantedBy(change), waits, async () => sessions.isClosing());
        await revert(session, change.databaseSchema, madeBy(change), patience);
      }
      if (id === null) throw error;
      const state = isCancelled ? 'cancelled' : 'failed';
      await job.end(state, reason, isStopped ? undefined : failed);
      return state;
    }
  }

  return { start, recover, settle: settler.sweep, stats: () => ({ running, filled, ended }), close: sessions.close };
}

/** Does anything about the workspace change that requests see? */
function changesDocument({ asked, inForce, operations }: PreparedChange): boolean {
  return operations.length > 0 || JSON.stringify(asked) !== JSON.stringify(inForce);
}

/** Records that came to stand in the way while the change was prepared. */
class LateConflict extends Error {
  readonly conflicts: Conflicts;
  constructor(conflicts: Conflicts) {
    super('records stand in the way');
    this.conflicts = conflicts;
  }
}

/** The change, if it may be made. */
async function prepareAllowed(
  session: Session,
  { workspaceId, ask, strategy, allowDestructive }: MigrationRequest,
  forgottenAfterMs: number,
): Promise<PreparedChange> {
  const change = await prepareChange(session, workspaceId, ask, strategy, forgottenAfterMs);
  const destructive = change.operations.filter((operation) => operation.destructive);
  if (destructive.length > 0 && !allowDestructive) {
    throw destructiveChange(
      destructive.map(({ path, description }) => ({ field: path, code: 'DESTRUCTIVE', message: description })),
    );
  }
  return change;
}

const tooManyMigrations = (): Error =>
  serviceUnavailable('Migrations of other workspaces take all the room for long ones; retry when one has ended', 10);

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
