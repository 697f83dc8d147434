// The advisory lock of a workspace: the session that holds it may change the schema. The lock ends with the session,
// however that ends, so a migration in the state "running" whose lock is free has lost its process.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database, Session } from '../database/pool.ts';
import { anotherMigrationRuns, workspaceMoves } from '../errors.ts';
import { type Fragment, sql, toQuery } from '../sql/fragment.ts';
import { isMigrating, isRelocating } from '../store/migrations.ts';
import { upgradeWorkspace } from '../store/workspace-files.ts';
import type { EveryNode } from '../topology/topology.ts';
import { cutWhenUnavailable, throwWhenUnavailable } from '../topology/unavailable.ts';

// "wda" in ASCII in the upper bytes, so that it differs from the keys of other users of the database.
const buildLockKey = (workspaceId: string): Fragment => sql`(${0x776461}::int8 << 40) + ${workspaceId}::int8`;

// Without client_connection_check_interval the statement of a killed process runs to its end and keeps the lock for
// that time. PostgreSQL refuses the setting on systems that cannot detect it. Between two statements of a transaction
// we do nearly nothing: a session that is idle there for a minute has lost its process with the whole machine, and must
// lose its locks.
const SETTINGS = `set statement_timeout = 0; set idle_in_transaction_session_timeout = '60s'; set lock_timeout = 0;
do $$ begin perform set_config('client_connection_check_interval', '1000', false);
exception when others then null; end $$`;

// Time to wait for a lock without a migration: a change of a name or a setting takes milliseconds.
const SHORT_WORK_MS = 5000;
const POLL_INTERVAL_MS = 25;

/** Work of the session that holds the lock: it changes the schema, or moves the workspace to another node. */
export type LockPurpose = 'migration' | 'move';

/** Builds the error for requests that find the lock taken. */
export const makeBusyError = (what: LockPurpose): Error =>
  what === 'move' ? workspaceMoves() : anotherMigrationRuns();

/**
 * Runs `work` in the session that holds the lock of the workspace, with no statement timeout. Resolves with `busy()`
 * when another session holds the lock: at once when that runs a migration or a move, otherwise after 5 s. `nodes`:
 * nodes of the cluster, for work that uses all of them. While one is unavailable no work starts (503), and running work
 * is ended after half a minute: its connection would be missing when the node is back.
 */
export async function withWorkspaceLock<T, B>(
  db: Database,
  workspaceId: string,
  work: (session: Session) => Promise<T>,
  busy: (what: LockPurpose) => B,
  nodes?: EveryNode,
): Promise<T | B> {
  throwWhenUnavailable(nodes);
  return db.session(
    (session) =>
      cutWhenUnavailable(session, nodes, async () => {
        const purpose = await takeLock(session, workspaceId);
        return purpose === undefined ? runWithLock(session, workspaceId, work) : busy(purpose);
      }),
    { purpose: 'migration', tenant: workspaceId },
  );
}

async function runWithLock<T>(
  session: Session,
  workspaceId: string,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  try {
    await session.execute(SETTINGS);
    await upgradeWorkspace(session, workspaceId);
    return await work(session);
  } finally {
    await session
      .execute('select pg_advisory_unlock_all(); reset all')
      // The pool recognizes these words and closes the connection, and with it the lock.
      .catch((error) =>
        Promise.reject(new Error('connection terminated: the lock was not given back', { cause: error })),
      );
  }
}

/** Takes the lock; returns the work of its holder instead, or undefined on success. */
async function takeLock(session: Session, workspaceId: string): Promise<LockPurpose | undefined> {
  for (const deadline = performance.now() + SHORT_WORK_MS; ; await sleep(POLL_INTERVAL_MS)) {
    const [row] = await session.query<{ locked: boolean; migrating: boolean; moving: boolean }>(
      toQuery(sql`select pg_try_advisory_lock(${buildLockKey(workspaceId)}) as locked,
  ${isMigrating(workspaceId)} as migrating, ${isRelocating(workspaceId)} as moving`),
    );
    if (row?.locked === true) return undefined;
    if (row?.moving === true) return 'move';
    if (row?.migrating !== false || performance.now() > deadline) return 'migration';
  }
}

/** Cancels the statement that the holder of the lock is running; it ends with 57014. */
export async function cancelLockHolder(db: Database, workspaceId: string): Promise<void> {
  await db.query(
    toQuery(sql`with held as (select ${buildLockKey(workspaceId)} as key)
select pg_cancel_backend(l.pid) from pg_locks l, held
where l.locktype = 'advisory' and l.granted and l.objsubid = 1
  and l.database = (select oid from pg_database where datname = current_database())
  and l.classid::int8 = held.key >> 32 and l.objid::int8 = held.key & 4294967295`),
  );
}
