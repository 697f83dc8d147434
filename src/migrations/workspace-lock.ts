// Who may change the schema of a workspace: the session that holds its advisory lock. The lock goes with the session,
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

// Without client_connection_check_interval the statement of a killed process runs to its end and keeps the lock so long.
// PostgreSQL refuses the setting where the system cannot tell. Between two statements of a transaction we do next to
// nothing: a session that is silent there for a minute has lost its process with the whole machine, and must lose its
// locks.
const SETTINGS = `set statement_timeout = 0; set idle_in_transaction_session_timeout = '60s'; set lock_timeout = 0;
do $$ begin perform set_config('client_connection_check_interval', '1000', false);
exception when others then null; end $$`;

// Without a migration the lock is held for a change of a name or a setting, which takes milliseconds.
const SHORT_WORK_MS = 5000;
const POLL_INTERVAL_MS = 25;

/** What the session does that holds the lock: it changes the schema, or moves the workspace to another node. */
export type LockPurpose = 'migration' | 'move';

/** What whoever comes meanwhile is refused with. */
export const makeBusyError = (what: LockPurpose): Error =>
  what === 'move' ? workspaceMoves() : anotherMigrationRuns();

/**
 * Runs `work` in the session that holds the lock of the workspace, with no limit on the time of its statements. Resolves
 * with `busy()` when another session holds the lock: at once when that runs a migration or a move, otherwise after 5 s.
 * `nodes`: those of the cluster, for work that all of them are told. While one is silent nothing is begun (503), and what has
 * begun is ended after half a minute: its connection would be missed when the node is back.
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
      // By these words the pool knows that it must drop the connection, and with it the lock.
      .catch((error) =>
        Promise.reject(new Error('connection terminated: the lock was not given back', { cause: error })),
      );
  }
}

/** Undefined once the lock is had. */
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
