// Starts migrations, each under the lock of its workspace, ends those whose process or connection is gone, and counts
// them. executor.ts does the work of each.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Session } from '../database/pool.ts';
import { isLockConflict } from '../database/transaction.ts';
import { anotherMigrationRuns, serviceUnavailable } from '../errors.ts';
import type { Metric } from '../metric.ts';
import type { SchemaDocument } from '../schema/format.ts';
import { toQuery } from '../sql/fragment.ts';
import type { AuditContext } from '../store/activity.ts';
import type { Databases } from '../store/databases.ts';
import { storeGates } from '../store/documents.ts';
import { isCancelRequested, loadMigratingWorkspaces, type Strategy } from '../store/migrations.ts';
import { destructiveChange, schemaTooLong } from './errors.ts';
import { recoverMigration, runMigration } from './executor.ts';
import { makeGate } from './gate.ts';
import {
  estimateTableSizes,
  needsPreparation,
  type ParseDocument,
  type PreparedChange,
  prepareChange,
} from './plan.ts';
import { makeRenameFinalizer } from './rename-finalizer.ts';
import { type Run, recordMigration } from './run.ts';
import { type EndState, type StoredEnd, toStoredEnd } from './state.ts';
import { type LockedSession, makeBusyError, makeSessions, type Sessions } from './workspace-lock.ts';

export interface MigrationRequest {
  readonly workspaceId: string;
  readonly strategy: Strategy;
  readonly allowDestructive: boolean;
  readonly parseDocument: ParseDocument;
  /** Author of the change, and the activity that is written when it is in force. */
  readonly audit: AuditContext;
  /** Whether a change without DDL is recorded, too, so that clients can look it up. */
  readonly isRecorded: boolean;
  /** Changes further control rows in the transaction that puts the document in force. */
  readonly alsoAtSwitch?: (session: Session) => Promise<void>;
}

export interface StartedMigration {
  /** The id of the migration, or null when the change was not recorded. */
  readonly id: string | null;
  /** Resolves when it has ended, with success or failure. */
  readonly completion: Promise<void>;
}

export interface Runner {
  /** The locks of workspaces in this process, for other features that change where tables are. */
  readonly sessions: Pick<Sessions, 'withMoveLock' | 'isClosing'>;
  /** Limit of a stored schema document in bytes. */
  readonly maxDocumentBytes: number;
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

type CountEnd = (how: EndState['how']) => void;

export function makeRunner(options: RunnerOptions): Runner {
  let longCount = 0;
  let running = 0;
  let filled = 0;
  const outcomes: Record<StoredEnd, number> = { succeeded: 0, failed: 0, cancelled: 0 };
  const { databases, changed, invalidateAll, onError, maxLong } = options;
  const sessions = makeSessions(databases);
  const renameFinalizer = makeRenameFinalizer({ ...options, sessions });
  const countEnd: CountEnd = (how) => {
    outcomes[toStoredEnd(how)]++;
  };
  const countFilled = (records: number): void => {
    filled += records;
  };
  const recovery = makeRecovery(options, sessions, countEnd);

  async function start(request: MigrationRequest): Promise<StartedMigration> {
    if (sessions.isClosing()) throw serviceUnavailable('SHUTTING_DOWN', 'The server is shutting down', 1);
    const { workspaceId } = request;
    const start = Promise.withResolvers<string | null>();
    const work = sessions.withLockOnNodes(
      workspaceId,
      (session) => runLocked(session, request, start.resolve),
      (why) => {
        throw makeBusyError(why);
      },
    );
    // An error before the start is the answer to the request.
    work.catch(start.reject);
    const id = await start.promise;
    const completion = awaitEnd(workspaceId, id, work);
    // The end may have no listener; a listener still gets the error.
    completion.catch(() => undefined);
    return { id, completion };
  }

  /** Runs the change to its end. Throws when it has lost its connection. */
  async function runLocked(
    session: LockedSession,
    request: MigrationRequest,
    onStarted: (id: string | null) => void,
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
      const run = await makeRun(session, request, change, { ...options, isClosing: sessions.isClosing, countFilled });
      const { id } = run.progress;
      onStarted(id);
      const how = await runMigration(run);
      if (id !== null) countEnd(how);
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
    maxDocumentBytes: options.maxDocumentBytes,
    recover: recovery.sweep,
    sweep: () => recovery.sweep().then(renameFinalizer.sweep),
    stats: () => ({ running, filled, outcomes }),
    close: sessions.close,
  };
}

const RECOVER_AFTER_MS = 2000;
const RECOVER_ATTEMPTS = 30;

/** Ends migrations whose process or connection is gone: open migrations of workspaces whose lock is free. */
function makeRecovery({ databases, changed, onError }: RunnerOptions, sessions: Sessions, countEnd: CountEnd) {
  /** Ends the migration of the workspace whose lock the session holds. Throws when that fails for now. */
  async function recoverLocked(session: Session, workspaceId: string): Promise<void> {
    const { topology } = databases;
    const how = await recoverMigration({ session, topology, isClosing: sessions.isClosing, onError }, workspaceId);
    if (how !== undefined) countEnd(how);
  }

  /** Ends the migration of a workspace and opens its gates; does nothing while the workspace is locked. */
  const recoverOne = (workspaceId: string): Promise<void> =>
    sessions.withLockOnNodes(
      workspaceId,
      async (session) => {
        await recoverLocked(session, workspaceId).catch((error) => {
          // The locks are not free yet: the next sweep tries again.
          if (!isLockConflict(error)) throw error;
        });
        // No migration runs that would need the gates.
        await session.query(toQuery(storeGates(workspaceId, {})));
        changed(workspaceId);
      },
      () => undefined,
    );

  /** Recovers all workspaces with an open migration, or one. Throws the first error at its end. */
  async function sweep(only?: string): Promise<void> {
    // Each statement would fail while a node is unavailable; the next sweep tries again.
    if (databases.topology.everyNode?.isUnavailable() === true) return;
    const all = () => Promise.all(databases.all().map(loadMigratingWorkspaces));
    const workspaces = only === undefined ? (await all()).flat() : [only];
    const failures: unknown[] = [];
    for (const workspaceId of workspaces) {
      if (sessions.isClosing()) return;
      await recoverOne(workspaceId).catch((error) => failures.push(error));
    }
    if (failures.length > 0) throw failures[0];
  }

  /** Ends the migration of a workspace whose connection was lost just now: tries for a minute. */
  async function retryUntilRecovered(workspaceId: string): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      await sleep(RECOVER_AFTER_MS, undefined, { ref: false });
      if (sessions.isClosing()) return;
      try {
        return await recoverOne(workspaceId);
      } catch (error) {
        if (attempt < RECOVER_ATTEMPTS) continue;
        return onError('a migration could not be rolled back yet; the server keeps trying', error);
      }
    }
  }

  return { recoverLocked, sweep, retryUntilRecovered };
}

interface RunOptions extends Pick<RunnerOptions, 'databases' | 'changed' | 'invalidateAll' | 'onError'> {
  readonly isClosing: () => boolean;
  readonly countFilled: (records: number) => void;
}

/** Records the change and creates the context of its statements. */
async function makeRun(
  session: LockedSession,
  request: MigrationRequest,
  change: PreparedChange,
  { databases, changed, invalidateAll, onError, isClosing, countFilled }: RunOptions,
): Promise<Run> {
  const { workspaceId, audit, alsoAtSwitch } = request;
  const db = databases.forWorkspace({ id: workspaceId });
  const { topology } = databases;
  const sizes = await estimateTableSizes(session, change, topology);
  const progress = await recordMigration(session, request, change, sizes);
  const { id } = progress;
  const gate = makeGate({
    db,
    session,
    id,
    workspaceId,
    change,
    steps: progress.steps(),
    changed: () => changed(workspaceId),
    invalidateAll,
  });
  const isCancelled = async () => isClosing() || (id !== null && (await isCancelRequested(session, id)));
  const workspace = { workspaceId, session, db, topology, change, progress, audit, alsoAtSwitch, sizes, gate };
  return { ...workspace, isCancelled, isClosing, countFilled, onError };
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
    'As many long migrations run as the server allows, all of other workspaces; retry when one has ended',
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
