// Starts migrations, each under the lock of its workspace, and counts them. state.ts defines the order of states,
// executor.ts does the work of each.

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
  /** Author of the change, and the activity that is written when it is in force. */
  readonly audit: AuditContext;
  /** Whether a change without DDL is recorded, too, so that clients can look it up. */
  readonly isRecorded: boolean;
}

export interface StartedMigration {
  /** The id of the migration, or null when the change was not recorded. */
  readonly id: string | null;
  /** Resolves when it has ended, with success or failure. */
  readonly completion: Promise<void>;
}

export interface Runner {
  /** The locks of workspaces in this process, for other features that change where tables are. */
  readonly sessions: Pick<Sessions, 'withLock' | 'isClosing'>;
  /** Starts a migration. Throws errors before its start; a later error is stored as that of the migration. */
  start(request: MigrationRequest): Promise<StartedMigration>;
  /** Ends migrations whose process is gone; `only`: id of one workspace. */
  recover(only?: string): Promise<void>;
  /** Ends migrations whose process is gone, then schedules the renaming that their processes could not do. */
  sweep(): Promise<void>;
  /** Returns the counts of this process since it started. */
  stats(): RunnerStats;
  /** Stops running migrations and reverts them within `graceMs`; the next start reverts the rest. */
  close(graceMs: number): Promise<void>;
}

export interface RunnerStats {
  readonly running: number;
  /** Records whose new column was filled. */
  readonly filled: number;
  readonly outcomes: Readonly<Record<StoredEnd, number>>;
}

export interface RunnerOptions {
  readonly databases: Databases;
  /** Called when another document is in force. */
  readonly changed: (workspaceId: string) => void;
  /** Resolves when every process uses the committed state. */
  readonly invalidateAll: () => Promise<unknown>;
  readonly onError: (message: string, error: unknown) => void;
  /** Returns whether all requests have ended that were planned by an older version of the workspace. */
  readonly isDrained: (workspaceId: string, version: string) => Promise<boolean>;
  /** The longest time that such a request can take. */
  readonly forgottenAfterMs: number;
  /** Limit of the stored schema document in bytes, including settings and row rules that have requests of their own. */
  readonly maxDocumentBytes: number;
  /** Number of long migrations at a time: each holds a connection for slow work, and its gates need another. */
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
    // An error before the start is the answer to the request.
    work.catch(start.reject);
    const { progress } = await start.promise;
    const end = awaitEnd(workspaceId, progress.id, work);
    // The end may have no listener; a listener still gets the error.
    end.catch(() => undefined);
    return { id: progress.id, completion: end };
  }

  /** Runs the change to its end. Throws when it has lost its connection. */
  async function runLocked(
    session: LockedSession,
    request: MigrationRequest,
    onStarted: (run: Run) => void,
  ): Promise<void> {
    await recovery.recoverLocked(session, request.workspaceId).catch((error) => {
      // The objects of the previous migration cannot be dropped yet.
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

  /** Resolves when the migration has ended in every process. Throws only for an unrecorded change. */
  async function awaitEnd(workspaceId: string, id: string | null, work: Promise<void>): Promise<void> {
    try {
      await work;
    } catch (error) {
      if (id === null) throw error;
      if (sessions.isClosing()) return;
      // Only a lost connection leads here; recovery does the remaining work.
      onError('a migration lost its database connection', error);
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

/** Records the change and creates the context of its statements. */
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

/** Prepares the change; throws when it would drop something without permission. */
async function prepareAllowedChange(
  session: Session,
  { workspaceId, parseDocument, strategy, allowDestructive }: MigrationRequest,
  { databases: { topology }, forgottenAfterMs, maxDocumentBytes }: RunnerOptions,
): Promise<PreparedChange> {
  const change = await prepareChange(session, workspaceId, parseDocument, strategy, { topology, forgottenAfterMs });
  const bytes = countBytes(change.requested);
  // A document that already exceeds the limit may become shorter.
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
