// The database as the rest of the code sees it: run one statement on a lane, or work in a session or transaction.
// Quick reads and writes go pipelined over a few connections each (measured: 1.18 of the throughput of the same connections
// without pipelining). Whatever keeps these waiting is ended after a moment and goes on elsewhere, where each workspace has
// a bounded share; administration, imports and exports, and migrations have connections of their own.
import { availableParallelism } from 'node:os';
import type pg from 'pg';
import { queryTimeout } from '../errors.ts';
import type { Figure } from '../figure.ts';
import type { Query } from '../sql/fragment.ts';
import { makeConduct } from './conduct.ts';
import { type ConnectionLimits, makeConnect, type OpenedConnection } from './connect.ts';
import { addressOf } from './connection-url.ts';
import { type Expected, hold, isHeld, LOCK_HOLD, makeCosts, SLOW_HOLD, type StatementCost } from './cost.ts';
import { type Executor, makeSessionExecutor } from './executor.ts';
import { isConnectionLoss, isReadOnlyServer, sqlState } from './pg-error.ts';
import { makePipelinedLane } from './pipeline.ts';
import { type Lent, makeSessionPool, type SessionPool } from './session-pool.ts';
import { makeSlowLane } from './slow-lane.ts';
import type { Row } from './statement.ts';
import { watchStatement } from './statement-watch.ts';
import type { Waiting } from './waiting-line.ts';
import { isTooLate, type Lane, type Work } from './work.ts';

export type { Executor, Expected, Lane, Row, Work };

/**
 * Which connections a session is taken from. `control`: short work on the control tables, never kept waiting by records.
 * `transfer`: imports and exports. `migration`: work that may take hours.
 */
export type Purpose = 'control' | 'transfer' | 'migration';

export interface Session {
  /** Rows as objects, values by the driver's types (64-bit integers as strings, dates as Date). */
  query<T = Record<string, unknown>>(query: Query): Promise<T[]>;
  /** Several statements in one text, without values: DDL. */
  execute(text: string): Promise<void>;
  /** The driver's client, for COPY streams. */
  readonly client: pg.ClientBase;
  /** The backend's number, for Database.cancel(). */
  readonly pid: number;
}

/** Who asks for a session: what one tenant has at once is bounded, and nobody waits longer than the deadline. */
export interface SessionOptions extends Pick<Work, 'tenant' | 'deadline' | 'caller'> {
  readonly purpose?: Purpose;
}

export interface TransactionOptions extends SessionOptions {
  /** `repeatable read` gives one snapshot to all statements. */
  readonly isolation?: 'read committed' | 'repeatable read';
  readonly statementTimeoutMs?: number;
  readonly readOnly?: boolean;
}

/** A session with an open transaction. */
export interface Transaction extends Session {
  /** Runs statements in the transaction as the lanes would, rows as text. */
  readonly executor: Executor;
}

export interface Database extends Executor {
  /**
   * One statement on a lane of quick ones; rows as text. With `work.expected` it goes to the connections for
   * slow statements while it is known, or not yet known not, to take long, or when it was ended on the quick lane: after a
   * quarter of a second at most, lock waits included. It was undone whole then, and goes on with what is left of its time.
   * What it takes is learned by its name or text. Throws
   * ApiError when the database is away, the driver's error otherwise.
   */
  run(query: Query, lane: Lane, work?: Work): Promise<readonly Row[]>;
  /** One statement, rows as objects, on a connection for the control tables. */
  query<T = Record<string, unknown>>(query: Query): Promise<T[]>;
  session<T>(work: (session: Session) => Promise<T>, options?: SessionOptions): Promise<T>;
  transaction<T>(work: (transaction: Transaction) => Promise<T>, options?: TransactionOptions): Promise<T>;
  /** Stops what a backend of ours does at the moment; its statement ends with 57014. */
  cancel(pid: number): Promise<void>;
  stats(): DatabaseStats;
  /** Sessions that are not given back after `graceMs` are cut. */
  close(graceMs?: number): Promise<void>;
}

type Kind = Lane | 'slow' | Purpose;

export interface DatabaseStats {
  readonly pending: Readonly<Record<Kind, number>>;
  readonly connections: Readonly<Record<Kind, number>>;
}

export interface DatabaseOptions {
  readonly connection: pg.ClientConfig;
  /** Server processes on this machine. */
  readonly processes: number;
  readonly readConnections: number;
  readonly writeConnections: number;
  readonly slowConnections: number;
  readonly transferConnections: number;
  readonly maxQueue: number;
  readonly statementTimeoutMs: number;
  /** Longest answer; of what PostgreSQL sends beyond it not a byte is read. */
  readonly maxResponseBytes: number;
  readonly onError: (message: string, error: unknown) => void;
}

// The promise of the quick lanes. Lock waits end first, so that the error tells them from slow statements.
const QUICK_READ = { statementTimeoutMs: 200, lockTimeoutMs: 100 };
const QUICK_WRITE = { statementTimeoutMs: 250, lockTimeoutMs: 150 };
const LOCK_TIMEOUT_MS = 2000;
// Of the control tables: one that is busy leaves one for the revocation of a key.
const CONTROL_CONNECTIONS = 2;
// Two long migrations, one that begins, one that counts.
const MIGRATION_CONNECTIONS = 4;
const CLOSE_GRACE_MS = 3000;
const RENEW_PAUSE_MS = 1000;
// JSON of columns, cursor and total beside the data itself.
const MESSAGE_SLACK = 1_048_576;
// Documents of workspaces are the largest of the control tables.
const LEAST_MESSAGE = 33_554_432;

/** How many backends this process can keep busy with quick reads: of a database on this machine, as many as cores are left. */
function parallelReads(connection: pg.ClientConfig, processes: number): number {
  const { hosts } = addressOf(connection);
  const isHere = hosts.every(({ host }) => host.startsWith('/') || ['localhost', '127.0.0.1', '::1'].includes(host));
  if (!isHere) return Number.POSITIVE_INFINITY;
  return Math.max(1, Math.floor((availableParallelism() - processes) / processes));
}

/** 57014: it took too long; 55P03: it waited too long for a lock. */
function isFault(error: unknown): boolean {
  const state = sqlState(error);
  return state === '57014' || state === '55P03';
}

export function makeDatabase(options: DatabaseOptions): Database {
  const { statementTimeoutMs, maxQueue, onError } = options;
  const connect = makeConnect(options.connection);
  const maxMessageBytes = Math.max(options.maxResponseBytes, LEAST_MESSAGE) + MESSAGE_SLACK;
  const opener = (limits: ConnectionLimits) => () =>
    connect({
      ...limits,
      statementTimeoutMs: Math.min(limits.statementTimeoutMs, statementTimeoutMs),
      maxMessageBytes,
    });
  const lanes = {
    read: makePipelinedLane(options.readConnections, {
      open: opener({ ...QUICK_READ, pipeline: true }),
      parallel: parallelReads(options.connection, options.processes),
      maxQueue,
      statementTimeoutMs,
      repeatable: true,
      isFault,
      goOn: (waiting, fault) => runOn('read', waiting, fault),
      onReadOnly: renew,
      onError,
    }),
    write: makePipelinedLane(options.writeConnections, {
      open: opener({ ...QUICK_WRITE, pipeline: true }),
      // Writes wait for the disk, together if they are on different connections.
      parallel: options.writeConnections,
      maxQueue,
      statementTimeoutMs,
      repeatable: false,
      isFault,
      goOn: (waiting, fault) => runOn('write', waiting, fault),
      onReadOnly: renew,
      onError,
    }),
  };
  const poolOf = (size: number, perTenant: number): SessionPool =>
    makeSessionPool({
      open: opener({ statementTimeoutMs, lockTimeoutMs: LOCK_TIMEOUT_MS }),
      size,
      perTenant,
      maxQueue,
      patienceMs: statementTimeoutMs,
    });
  const half = (count: number): number => Math.max(1, Math.floor(count / 2));
  const slow = poolOf(options.slowConnections, half(options.slowConnections));
  const pools: Readonly<Record<Purpose, SessionPool>> = {
    control: poolOf(CONTROL_CONNECTIONS, CONTROL_CONNECTIONS),
    transfer: poolOf(options.transferConnections, half(options.transferConnections)),
    migration: poolOf(MIGRATION_CONNECTIONS, half(MIGRATION_CONNECTIONS)),
  };
  const canceller = poolOf(1, 1);
  const conduct = makeConduct();
  const costs = makeCosts();
  let renewedAt = Number.NEGATIVE_INFINITY;

  /**
   * A primary was demoted, or its address is another server's now: connections that are still open would read what is
   * no longer written there, keys and schemas too.
   */
  function renew(): void {
    if (performance.now() - renewedAt < RENEW_PAUSE_MS) return;
    renewedAt = performance.now();
    onError('the database takes no writes: its connections are left for new ones', new Error('25006'));
    for (const one of [lanes.read, lanes.write, slow, canceller, ...Object.values(pools)]) one.renew();
  }

  /** Works with a connection of its own; one that broke, or that `work` says is broken, is given to nobody else. */
  async function lend<T>(
    { purpose = 'control', ...asker }: SessionOptions,
    work: (session: Session, lent: Lent, broken: () => void) => Promise<T>,
  ): Promise<T> {
    const lent = await pools[purpose].take(asker);
    let isBroken = false;
    const broken = (): void => {
      isBroken = true;
    };
    try {
      return await work(sessionOf(lent.connection), lent, broken);
    } catch (error) {
      if (isConnectionLoss(error)) isBroken = true;
      if (isReadOnlyServer(error)) renew();
      throw error;
    } finally {
      lent.release(isBroken);
    }
  }

  /** By a connection of its own: those for the control tables may wait for a lock while a statement must end. */
  async function cancel(pid: number): Promise<void> {
    const lent = await canceller.take();
    let isBroken = true;
    try {
      await lent.connection.client.query({ text: 'select pg_cancel_backend($1)', values: [pid] });
      isBroken = false;
    } finally {
      lent.release(isBroken);
    }
  }

  const runSlow = makeSlowLane({
    take: (work) => (work.tenant === undefined ? pools.control : slow).take(work),
    cancel,
    statementTimeoutMs,
    isQuick,
    runQuick: (query, lane, work, cost) => lanes[lane].run(query, work, cost),
  });

  function isQuick({ tenant }: Work, cost: StatementCost | undefined): boolean {
    if (cost === undefined) return true;
    if (cost.isQuick !== true) return false;
    // Nearly always nobody is held, and the clock need not be asked.
    if (cost.heldUntil !== undefined && isHeld(cost, performance.now())) return false;
    return tenant === undefined || !conduct.isHeld(tenant);
  }

  function noteFault({ tenant }: Work, cost: StatementCost | undefined, error: unknown): void {
    const now = performance.now();
    if (cost !== undefined) hold(cost, sqlState(error) === '55P03' ? LOCK_HOLD : SLOW_HOLD, now);
    if (tenant !== undefined) conduct.fault(tenant, now);
  }

  /** What the quick lane would not go on with: undone whole, it runs again where it may take its time. */
  async function runOn(lane: Lane, { query, work, cost }: Waiting, fault: unknown): Promise<readonly Row[]> {
    noteFault(work, cost, fault);
    const deadline = work.deadline ?? performance.now() + statementTimeoutMs;
    if (performance.now() >= deadline) throw queryTimeout(fault);
    return runSlow(query, lane, { ...work, deadline }, cost).catch((error) => {
      // Its second turn never came.
      throw isTooLate(error) ? queryTimeout(error) : error;
    });
  }

  return {
    isTransaction: false,
    run(query, lane, work = {}) {
      const cost = costs.of(query, work.expected);
      return isQuick(work, cost) ? lanes[lane].run(query, work, cost) : runSlow(query, lane, work, cost);
    },
    query: (query) =>
      lend({}, async (session, { connection }) => {
        const deadline = performance.now() + statementTimeoutMs;
        const watch = watchStatement(connection, cancel, { deadline });
        let isBroken = true;
        try {
          const rows = await session.query(query);
          isBroken = false;
          return rows as never;
        } catch (error) {
          isBroken = isConnectionLoss(error);
          throw error;
        } finally {
          await watch.end(isBroken);
        }
      }),
    session: (work, sessionOptions = {}) => lend(sessionOptions, work),
    transaction: (work, { isolation = 'read committed', readOnly = false, statementTimeoutMs: limit, ...asker } = {}) =>
      lend(asker, async (session, { connection }, broken) => {
        await session.execute(`begin isolation level ${isolation}${readOnly ? ' read only' : ''}`);
        try {
          if (limit !== undefined) {
            const milliseconds = Math.floor(limit);
            await session.execute(
              `set local statement_timeout = ${milliseconds}; set local idle_in_transaction_session_timeout = ${milliseconds}`,
            );
          }
          const executor = makeSessionExecutor({
            connection,
            cancel,
            statementTimeoutMs,
            onError(error) {
              if (isConnectionLoss(error)) broken();
              if (isReadOnlyServer(error)) renew();
            },
          });
          const result = await work({ ...session, executor });
          await session.execute('commit');
          return result;
        } catch (error) {
          // When even the rollback fails nobody is to have the connection after this.
          await session.execute('rollback').catch(broken);
          throw error;
        }
      }),
    cancel,
    stats: () => ({
      pending: {
        read: lanes.read.pending(),
        write: lanes.write.pending(),
        slow: slow.waiting(),
        control: pools.control.waiting(),
        transfer: pools.transfer.waiting(),
        migration: pools.migration.waiting(),
      },
      connections: {
        read: lanes.read.size(),
        write: lanes.write.size(),
        slow: slow.size(),
        control: pools.control.size() + canceller.size(),
        transfer: pools.transfer.size(),
        migration: pools.migration.size(),
      },
    }),
    async close(graceMs = CLOSE_GRACE_MS) {
      await Promise.all([
        lanes.read.close(),
        lanes.write.close(),
        slow.close(graceMs),
        canceller.close(graceMs),
        ...Object.values(pools).map((pool) => pool.close(graceMs)),
      ]);
    },
  };
}

function sessionOf({ client, pid }: OpenedConnection): Session {
  return {
    client,
    pid,
    async query<T>(query: Query) {
      const result = await client.query({ text: query.text, values: query.values as unknown[] });
      return result.rows as T[];
    },
    async execute(text) {
      await client.query(text);
    },
  };
}

export const databaseFigures = ({ stats }: Pick<Database, 'stats'>): readonly Figure[] => [
  {
    name: 'wda_database_pending',
    help: 'Statements waiting for or running in the database',
    read: () => stats().pending,
  },
  { name: 'wda_database_connections', help: 'Open database connections', read: () => stats().connections },
];
