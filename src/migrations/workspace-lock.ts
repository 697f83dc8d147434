// The advisory lock of a workspace, and the sessions of this process that hold one: such a session may change the schema.
// The lock ends with the session, however that ends, so a migration in the state "running" whose lock is free has lost
// its process.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database, Session } from '../database/pool.ts';
import { anotherMigrationRuns, workspaceMoves } from '../errors.ts';
import { type Fragment, sql, toQuery } from '../sql/fragment.ts';
import type { Databases } from '../store/databases.ts';
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
const RETRY_INTERVAL_MS = 25;

/** Work of the session that holds the lock: it changes the schema, or moves the workspace to another node. */
export type LockPurpose = 'migration' | 'move';

/** Builds the error for requests that find the lock taken. */
export const makeBusyError = (what: LockPurpose): Error =>
  what === 'move' ? workspaceMoves() : anotherMigrationRuns();

/**
 * Runs `work` in the session that holds the lock of the workspace, with no statement timeout. Resolves with `busy()`
 * when another session holds the lock: at once when that runs a migration or a move, otherwise after 5 s. `nodes`:
 * nodes of the cluster, for work that uses all of them. While one is unavailable no work starts (503), and running work
 * is ended after half a minute: its connection would be missing when the node is back. `purpose`: selects the
 * connections.
 */
export async function withWorkspaceLock<T, B>(
  db: Database,
  workspaceId: string,
  work: (session: Session) => Promise<T>,
  busy: (what: LockPurpose) => B,
  { nodes, purpose = 'migration' }: { nodes?: EveryNode | undefined; purpose?: LockPurpose } = {},
): Promise<T | B> {
  throwWhenUnavailable(nodes);
  return db.session(
    (session) =>
      cutWhenUnavailable(session, nodes, async () => {
        const holder = await takeLock(session, workspaceId);
        return holder === undefined ? runWithLock(session, workspaceId, work) : busy(holder);
      }),
    { purpose, tenant: workspaceId },
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
  for (const deadline = performance.now() + SHORT_WORK_MS; ; await sleep(RETRY_INTERVAL_MS)) {
    const [row] = await session.query<{ locked: boolean; migrating: boolean; moving: boolean }>(
      toQuery(sql`select pg_try_advisory_lock(${buildLockKey(workspaceId)}) as locked,
  ${isMigrating(workspaceId)} as migrating, ${isRelocating(workspaceId)} as moving`),
    );
    if (row?.locked === true) return undefined;
    if (row?.moving === true) return 'move';
    if (row?.migrating !== false || performance.now() > deadline) return 'migration';
  }
}

/** Takes the lock until the transaction ends, for work that changes no table; 409 when another session holds it. */
export async function tryLockWorkspace(session: Session, workspaceId: string): Promise<void> {
  const [row] = await session.query<{ locked: boolean; moving: boolean }>(
    toQuery(
      sql`select pg_try_advisory_xact_lock(${buildLockKey(workspaceId)}) as locked, ${isRelocating(workspaceId)} as moving`,
    ),
  );
  if (row?.locked !== true) throw makeBusyError(row?.moving === true ? 'move' : 'migration');
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

/* ---- sessions of this process ---- */

export interface LockedSession extends Session {
  /**
   * Marks the session as only reverting its work from here on: close() no longer interrupts it until the time is up.
   */
  readonly startCleanup: () => Promise<void>;
}

type WithLock = <T, B>(
  workspaceId: string,
  work: (session: LockedSession) => Promise<T>,
  busy: (what: LockPurpose) => B,
) => Promise<T | B>;

/** Sessions that end with the process, as one of their statements may take hours. */
export interface Sessions {
  /** Moves the workspace to another node. */
  readonly withMoveLock: WithLock;
  /** Runs changes that use all nodes of a cluster: 503 while a node is unavailable. */
  readonly withLockOnNodes: WithLock;
  readonly isClosing: () => boolean;
  /** Cancels running work and lets it revert its changes; terminates the sessions after `graceMs`. */
  readonly close: (graceMs: number) => Promise<void>;
}

const POLL_INTERVAL_MS = 20;
const INTERRUPT_EVERY_MS = 200;
// PostgreSQL terminates a session within milliseconds. A session that is left after this time belongs to a database
// that does not answer.
const END_WITHIN_MS = 1000;

interface RunningSession {
  readonly pid: number;
  readonly database: Database;
  isInterruptible: boolean;
}

export function makeSessions(databases: Databases): Sessions {
  const running = new Set<RunningSession>();
  let isClosing = false;
  let pendingSignals: Promise<unknown> = Promise.resolve();

  /** Sends a signal without waiting: a database that does not answer must not delay the shutdown. */
  function signal(call: Fragment, sessions: Iterable<RunningSession>): void {
    const signals = [...Map.groupBy(sessions, ({ database }) => database)].map(([database, group]) => {
      const pids = group.map(({ pid }) => pid);
      return database.run(toQuery(sql`select ${call} from unnest(${pids}::int4[]) pid`), 'write');
    });
    if (signals.length > 0) pendingSignals = Promise.allSettled(signals);
  }

  /** Signals every 200 ms until all have ended. Resolves with false if some have not after `milliseconds`. */
  async function endAll(milliseconds: number, sendSignals: () => void): Promise<boolean> {
    const deadline = performance.now() + milliseconds;
    for (let next = 0; running.size > 0; await sleep(POLL_INTERVAL_MS)) {
      const now = performance.now();
      if (now > deadline) return false;
      if (now < next) continue;
      sendSignals();
      next = now + INTERRUPT_EVERY_MS;
    }
    return true;
  }

  const makeWithLock =
    (findNodes: () => EveryNode | undefined, purpose: LockPurpose): WithLock =>
    (workspaceId, work, busy) => {
      const database = databases.forWorkspace({ id: workspaceId });
      const runTracked = async (session: Session) => {
        const state = { pid: session.pid, database, isInterruptible: true };
        running.add(state);
        try {
          return await work({
            ...session,
            async startCleanup() {
              state.isInterruptible = false;
              await Promise.race([pendingSignals, sleep(END_WITHIN_MS)]);
            },
          });
        } finally {
          running.delete(state);
        }
      };
      return withWorkspaceLock(database, workspaceId, runTracked, busy, { nodes: findNodes(), purpose });
    };

  return {
    isClosing: () => isClosing,
    withMoveLock: makeWithLock(() => undefined, 'move'),
    withLockOnNodes: makeWithLock(() => databases.topology.everyNode, 'migration'),
    async close(graceMs) {
      isClosing = true;
      const cancel = sql`pg_cancel_backend(pid)`;
      const interrupt = (): void =>
        signal(
          cancel,
          [...running].filter((session) => session.isInterruptible),
        );
      if (await endAll(graceMs, interrupt)) return;
      await endAll(END_WITHIN_MS, () => signal(sql`pg_terminate_backend(pid)`, running));
    },
  };
}
