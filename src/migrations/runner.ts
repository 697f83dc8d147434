// Starts migrations, each under the lock of its workspace, and counts them. state.ts says which state follows which,
// perform.ts does the work of each.

import type { Session } from '../database/pool.ts';
import { isLockConflict } from '../database/transaction.ts';
import { anotherMigrationRuns, serviceUnavailable } from '../errors.ts';
import type { Metric } from '../metric.ts';
import type { SchemaDocument } from '../schema/format.ts';
import type { AuditContext } from '../store/activity.ts';
import type { Databases } from '../store/databases.ts';
import { isCancelRequested, type Strategy } from '../store/migrations.ts';
import { destructiveChange, schemaTooLong } from './errors.ts';
import { carryOut, RUN } from './executor.ts';
import { makeGate } from './gate.ts';
import {
  estimateTableSizes,
  needsPreparation,
  type ParseDocument,
  type PreparedChange,
  prepareChange,
} from './plan.ts';
import { recordMigration } from './progress.ts';
import { makeRecovery } from './recovery.ts';
import { makeRenameFinalizer } from './rename-finalizer.ts';
import type { Run } from './run.ts';
import { type LockedSession, makeSessions, type Sessions } from './sessions.ts';
import { type EndState, PENDING, type StoredEnd, toStoredEnd } from './state.ts';
import { makeBusyError } from './workspace-lock.ts';

export interface MigrationRequest {
  readonly workspaceId: string;
  readonly strategy: Strategy;
  readonly allowDestructive: boolean;
  readonly parseDocument: ParseDocument;
  /** By whom, and what is told of it once it is in force. */
  readonly audit: AuditContext;
  /** Whether a change that needs no DDL is recorded, too, so that people can look it up. */
  readonly isRecorded: boolean;
}

export interface StartedMigration {
  /** Null when nothing was recorded. */
  readonly id: string | null;
  /** Resolves when it has ended, however it did. */
  readonly completion: Promise<void>;
}

export interface Runner {
  /** The locks of workspaces in this process, for whoever else changes where tables are. */
  readonly sessions: Pick<Sessions, 'withLock' | 'isClosing'>;
  /** Throws the refusals; a later failure is the error of the migration. */
  start(request: MigrationRequest): Promise<StartedMigration>;
  /** Ends migrations whose process is gone; `only`: of one workspace. */
  recover(only?: string): Promise<void>;
  /** The same for all, and then begins to rename in PostgreSQL what the process of a migration could not. */
  sweep(): Promise<void>;
  /** Counts of this process since it started. */
  stats(): RunnerStats;
  /** Stops what runs and takes it back, in `graceMs`; the next start takes back what is left then. */
  close(graceMs: number): Promise<void>;
}

export interface RunnerStats {
  readonly running: number;
  /** Records whose new column was given its value. */
  readonly filled: number;
  readonly outcomes: Readonly<Record<StoredEnd, number>>;
}

export interface RunnerOptions {
  readonly databases: Databases;
  /** Another document is in force. */
  readonly changed: (workspaceId: string) => void;
  /** Resolves when what is committed holds in every process. */
  readonly invalidateAll: () => Promise<unknown>;
  readonly onError: (message: string, error: unknown) => void;
  /** Whether all requests have ended that were planned by an older version of the workspace. */
  readonly isDrained: (workspaceId: string, version: string) => Promise<boolean>;
  /** The longest time that such a request can take. */
  readonly forgottenAfterMs: number;
  /** Longest schema document, as it is stored: with the settings and row rules that come by requests of their own. */
  readonly maxDocumentBytes: number;
  /** How many long migrations may run: each holds a connection for slow work, and its gates need another. */
  readonly maxLong: number;
}

interface RunOptions extends Pick<RunnerOptions, 'databases' | 'changed' | 'invalidateAll' | 'onError'> {
  readonly sessions: Sessions;
  readonly countFilled: (records: number) => void;
}

export function makeRunner(options: RunnerOptions): Runner {
  let longCount = 0;
  let running = 0;
  let filled = 0;
  const outcomes: Record<StoredEnd, number> = { succeeded: 0, failed: 0, cancelled: 0 };
  const { databases, changed, invalidateAll, onError, maxLong } = options;
  const sessions = makeSessions(databases);
  const renameFinalizer = makeRenameFinalizer({ ...options, sessions });
  const countEnd = (how: EndState['how']): void => {
    outcomes[toStoredEnd(how)]++;
  };
  const recovery = makeRecovery({ databases, sessions, changed, countEnd, onError });
  const runOptions: RunOptions = {
    ...options,
    sessions,
    countFilled: (records) => {
      filled += records;
    },
  };

  async function start(request: MigrationRequest): Promise<StartedMigration> {
    if (sessions.isClosing()) throw serviceUnavailable('SHUTTING_DOWN', 'The server is shutting down', 1);
    const { workspaceId } = request;
    const start = Promise.withResolvers<Run>();
    const work = sessions.withLockOnNodes(
      workspaceId,
      (session) => runLocked(session, request, start.resolve),
      (why) => {
        throw makeBusyError(why);
      },
    );
    // An error before the beginning is the answer to whoever asked.
    work.catch(start.reject);
    const { progress } = await start.promise;
    const end = awaitEnd(workspaceId, progress.id, work);
    // Nobody has to wait for the end; whoever does gets its failure.
    end.catch(() => undefined);
    return { id: progress.id, completion: end };
  }

  /** Takes the change to its end, whatever that is. Throws when it has lost its connection. */
  async function runLocked(
    session: LockedSession,
    request: MigrationRequest,
    onStarted: (run: Run) => void,
  ): Promise<void> {
    await recovery.recoverLocked(session, request.workspaceId).catch((error) => {
      // What the migration before has made cannot be taken back yet.
      throw isLockConflict(error) ? anotherMigrationRuns() : error;
    });
    const change = await prepareAllowedChange(session, request, options);
    const isLong = needsPreparation(change) || change.operations.some(({ work }) => work !== 'none');
    if (isLong && longCount >= maxLong) throw makeCapacityError();
    if (isLong) longCount++;
    running++;
    try {
      const run = await makeRun(session, request, change, runOptions);
      onStarted(run);
      const { how } = await carryOut(run, PENDING, RUN);
      if (run.progress.id !== null) countEnd(how);
    } finally {
      running--;
      if (isLong) longCount--;
    }
  }

  /** Resolves when the migration has ended in every process. Throws only for one that is not recorded. */
  async function awaitEnd(workspaceId: string, id: string | null, work: Promise<void>): Promise<void> {
    try {
      await work;
    } catch (error) {
      if (id === null) throw error;
      if (sessions.isClosing()) return;
      // Only a lost connection leads here, and leaves work for recovery.
      onError('a migration lost its connection', error);
      return recovery.retryUntilRecovered(workspaceId);
    }
    changed(workspaceId);
    renameFinalizer.schedule(workspaceId);
    await invalidateAll();
  }

  return {
    start,
    sessions,
    recover: recovery.sweep,
    sweep: () => recovery.sweep().then(renameFinalizer.sweep),
    stats: () => ({ running, filled, outcomes }),
    close: sessions.close,
  };
}

/** The change as recorded, with all that its statements need. */
async function makeRun(
  session: LockedSession,
  request: MigrationRequest,
  change: PreparedChange,
  { databases, changed, invalidateAll, onError, sessions, countFilled }: RunOptions,
): Promise<Run> {
  const { workspaceId } = request;
  const db = databases.forWorkspace({ id: workspaceId });
  const { topology } = databases;
  const progress = await recordMigration(session, request, change, topology);
  const { id } = progress;
  return {
    workspaceId,
    session,
    db,
    topology,
    change,
    progress,
    audit: request.audit,
    sizes: await estimateTableSizes(session, change, topology),
    gate: makeGate({
      db,
      session,
      id,
      workspaceId,
      change,
      steps: progress.steps(),
      changed: () => changed(workspaceId),
      invalidateAll,
    }),
    isCancelled: async () => sessions.isClosing() || (id !== null && (await isCancelRequested(session, id))),
    isClosing: sessions.isClosing,
    countFilled,
    onError,
  };
}

/** The change; throws when it would drop something and that was not allowed. */
async function prepareAllowedChange(
  session: Session,
  { workspaceId, parseDocument, strategy, allowDestructive }: MigrationRequest,
  { databases: { topology }, forgottenAfterMs, maxDocumentBytes }: RunnerOptions,
): Promise<PreparedChange> {
  const change = await prepareChange(session, workspaceId, parseDocument, strategy, { topology, forgottenAfterMs });
  const bytes = countBytes(change.requested);
  // One that is too long already may become shorter.
  if (bytes > maxDocumentBytes && bytes > countBytes(change.inForce)) throw schemaTooLong(maxDocumentBytes);
  const destructive = change.operations.filter((operation) => operation.destructive);
  if (destructive.length > 0 && !allowDestructive) {
    throw destructiveChange(
      destructive.map(({ path, description }) => ({ field: path, code: 'DESTRUCTIVE', message: description })),
    );
  }
  return change;
}

const countBytes = (document: SchemaDocument): number => Buffer.byteLength(JSON.stringify(document));

const makeCapacityError = (): Error =>
  serviceUnavailable(
    'TOO_MANY_MIGRATIONS',
    'Migrations of other workspaces take all the room for long ones; retry when one has ended',
    10,
  );

export const migrationMetrics = ({ stats }: Pick<Runner, 'stats'>): readonly Metric[] => [
  { name: 'wda_migrations_running', help: 'Migrations that this process is running', read: () => stats().running },
  { name: 'wda_migrations_total', help: 'Finished migrations by outcome', read: () => stats().outcomes },
  {
    name: 'wda_migration_records_filled_total',
    help: 'Records whose new column was filled',
    read: () => stats().filled,
  },
];
