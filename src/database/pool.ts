// The interface of the database for the rest of the code: single statements, sessions and transactions. Statements of requests
// are pipelined over a few connections each for reads and for writes (measured: 1.18 of the throughput of the same connections
// without pipelining). A statement that delays these is ended after a moment and runs again in the pool for slow statements,
// where each workspace has half of the connections at most; the control tables, imports and exports, batches and migrations
// have pools of their own.
import type { Metric } from '../metric.ts';
import type { Query } from '../sql/fragment.ts';
import { type Connect, type ConnectionLimits, makeConnect } from './connect.ts';
import type { Route } from './connection-url.ts';
import { makeDispatcher } from './dispatcher.ts';
import type { Executor, Expected, LongColumn, PoolName, Row, StatementOptions } from './executor.ts';
import type { PipelinedPool } from './pipelined-pool.ts';
import { makeSessionPool, type SessionPool } from './session-pool.ts';
import {
  makeSessions,
  type OwnSessionOptions,
  type Purpose,
  type Session,
  type SessionOptions,
  type Transaction,
  type TransactionOptions,
} from './sessions.ts';

export type {
  Executor,
  Expected,
  LongColumn,
  PoolName,
  Purpose,
  Row,
  Session,
  SessionOptions,
  StatementOptions,
  Transaction,
  TransactionOptions,
};

export interface Database extends Executor {
  /**
   * Runs one statement in the pool of its kind; rows as text. With `options.expected` it runs in the pool for slow statements if
   * it is slow, or of unknown time, or after the short timeout of a pipelined pool has ended it (a quarter of a second at most,
   * lock waits included): it was undone then, and has the rest of its time. Throws ApiError when the database is unavailable,
   * the driver's error otherwise.
   */
  run(query: Query, pool: PoolName, options?: StatementOptions): Promise<readonly Row[]>;
  /** Runs one statement, rows as objects, on a connection for the control tables. */
  query<T = Record<string, unknown>>(query: Query): Promise<T[]>;
  /** Works in a session with PostgreSQL itself, even if statements of requests go through a pooler. */
  session<T>(work: (session: Session) => Promise<T>, options?: OwnSessionOptions): Promise<T>;
  transaction<T>(work: (transaction: Transaction) => Promise<T>, options?: TransactionOptions): Promise<T>;
  /** Cancels the running statement of a session, which ends with 57014. */
  cancel(session: Pick<Session, 'pid' | 'cancel'>): Promise<void>;
  stats(): DatabaseStats;
  /** Closes all connections; sessions that are not released after `graceMs` are cut. */
  close(graceMs?: number): Promise<void>;
}

type PoolLabel = PoolName | 'slow' | Exclude<Purpose, 'look' | 'move'>;

export interface DatabaseStats {
  readonly pending: Readonly<Record<PoolLabel, number>>;
  readonly connections: Readonly<Record<PoolLabel, number>>;
}

export interface DatabaseOptions {
  /** Route of the statements of requests. */
  readonly connection: Route;
  /** Route of sessions and of the control tables; by default the same. */
  readonly direct?: Route;
  /** Number of server processes on this machine. */
  readonly processes: number;
  readonly readConnections: number;
  readonly writeConnections: number;
  readonly slowConnections: number;
  readonly transferConnections: number;
  readonly batchConnections: number;
  readonly maxQueue: number;
  readonly statementTimeoutMs: number;
  /** Longest answer in bytes; nothing of a longer one is read. */
  readonly maxResponseBytes: number;
  /** Reserves memory for a long answer that arrives in a pipelined pool of reads; undefined when there is none. */
  readonly reserveMessage?: (bytes: number) => (() => void) | undefined;
  /** Called when a statement of a tenant runs into the timeout of a pipelined pool. */
  readonly onTimeout?: () => void;
  readonly onError: (message: string, error: unknown) => void;
}

const LOCK_TIMEOUT_MS = 2000;
// While one is busy, the other can revoke a key.
const CONTROL_CONNECTIONS = 2;
// For two long migrations, one that starts, and one count.
const MIGRATION_CONNECTIONS = 4;
// One for each workspace that is moved between the nodes of a cluster at a time.
const MOVE_CONNECTIONS = 3;
// For one check of a node, and the next while a silent node blocks the first.
const MONITOR_CONNECTIONS = 2;
const CLOSE_GRACE_MS = 3000;
const RECONNECT_PAUSE_MS = 1000;
// JSON of columns, cursor and total in addition to the data itself.
const MESSAGE_OVERHEAD_BYTES = 1_048_576;
// Schema documents are the largest values of the control tables.
const MIN_MESSAGE_BYTES = 33_554_432;

export function makeDatabase(options: DatabaseOptions): Database {
  const { statementTimeoutMs, maxQueue, onError } = options;
  const { connection, direct = connection } = options;
  const maxMessageBytes = Math.max(options.maxResponseBytes, MIN_MESSAGE_BYTES) + MESSAGE_OVERHEAD_BYTES;
  const makeOpener = (connect: Connect) => (limits: ConnectionLimits) => () =>
    connect({
      ...limits,
      statementTimeoutMs: Math.min(limits.statementTimeoutMs, statementTimeoutMs),
      maxMessageBytes,
    });
  const opener = makeOpener(makeConnect(connection));
  const directOpener = makeOpener(makeConnect(direct));
  const makePool = (size: number, perTenant: number, { open = opener, pipeline = false } = {}): SessionPool =>
    makeSessionPool({
      open: open({ statementTimeoutMs, lockTimeoutMs: LOCK_TIMEOUT_MS, pipeline }),
      size,
      perTenant,
      maxQueue,
      timeoutMs: statementTimeoutMs,
    });
  const getHalf = (count: number): number => Math.max(1, Math.floor(count / 2));
  const slow = makePool(options.slowConnections, getHalf(options.slowConnections));
  const pools: Readonly<Record<Purpose, SessionPool>> = {
    control: makePool(CONTROL_CONNECTIONS, CONTROL_CONNECTIONS, { open: directOpener }),
    transfer: makePool(options.transferConnections, getHalf(options.transferConnections)),
    batch: makePool(options.batchConnections, getHalf(options.batchConnections), { pipeline: true }),
    migration: makePool(MIGRATION_CONNECTIONS, getHalf(MIGRATION_CONNECTIONS), { open: directOpener }),
    move: makePool(MOVE_CONNECTIONS, MOVE_CONNECTIONS, { open: directOpener }),
    look: makePool(MONITOR_CONNECTIONS, MONITOR_CONNECTIONS, { open: directOpener }),
  };
  const canceller = makePool(1, 1, { open: directOpener });
  const onReadOnly = (): void => failover.onReadOnly();
  const sessions = makeSessions({ pools, canceller, statementTimeoutMs, onReadOnly });
  const dispatcher = makeDispatcher({
    ...options,
    // Address of PostgreSQL itself; a pooler may be anywhere.
    connection: direct,
    opener,
    directOpener: direct === connection ? undefined : directOpener,
    slow,
    control: pools.control,
    cancel: sessions.cancel,
    onReadOnly,
  });
  const { pools: fastPools, direct: directPools } = dispatcher;
  const directPoolList = directPools === undefined ? [] : [directPools.read, directPools.write];
  const pipelined = [fastPools.read, fastPools.write, ...directPoolList];
  const sumDirect = (read: (pool: PipelinedPool) => number): number =>
    directPoolList.reduce((all, pool) => all + read(pool), 0);
  /**
   * Handles a primary that was demoted, or whose address is another server's now: open connections would read keys, schemas
   * and records that are no longer updated there.
   */
  const failover = makeReconnect(() => {
    onError('the database takes no writes: all connections are replaced', new Error('25006'));
    for (const one of [...pipelined, slow, canceller, ...Object.values(pools)]) one.renew();
  });

  return {
    isTransaction: false,
    run: dispatcher.run,
    ...sessions,
    stats: () => ({
      pending: {
        read: fastPools.read.pending(),
        write: fastPools.write.pending(),
        slow: slow.countWaiting(),
        control: pools.control.countWaiting() + pools.look.countWaiting() + sumDirect((pool) => pool.pending()),
        transfer: pools.transfer.countWaiting(),
        batch: pools.batch.countWaiting(),
        migration: pools.migration.countWaiting() + pools.move.countWaiting(),
      },
      connections: {
        read: fastPools.read.size(),
        write: fastPools.write.size(),
        slow: slow.size(),
        control: pools.control.size() + pools.look.size() + canceller.size() + sumDirect((pool) => pool.size()),
        transfer: pools.transfer.size(),
        batch: pools.batch.size(),
        migration: pools.migration.size() + pools.move.size(),
      },
    }),
    async close(graceMs = CLOSE_GRACE_MS) {
      failover.stop();
      await Promise.all([
        ...pipelined.map((pool) => pool.close()),
        slow.close(graceMs),
        canceller.close(graceMs),
        ...Object.values(pools).map((pool) => pool.close(graceMs)),
      ]);
    },
  };
}

type StatsSource = Pick<Database, 'stats'>;

/** Returns the metrics of the database, and of the connected nodes of its cluster. */
export function getDatabaseMetrics(db: StatsSource, nodes: () => readonly StatsSource[]): readonly Metric[] {
  const sumStats = (stat: keyof DatabaseStats): DatabaseStats['pending'] => {
    const all = { ...db.stats()[stat] };
    for (const node of nodes())
      for (const [pool, count] of Object.entries(node.stats()[stat])) all[pool as PoolLabel] += count;
    return all;
  };
  return [
    {
      name: 'wda_db_pool_pending',
      help: 'Statements waiting for or running in the database, by pool',
      label: 'pool',
      read: () => sumStats('pending'),
    },
    {
      name: 'wda_db_pool_connections',
      help: 'Open database connections, by pool',
      label: 'pool',
      read: () => sumStats('connections'),
    },
  ];
}

/**
 * Replaces all connections when a write meets a server that takes none, again while such writes go on, and once more after a
 * pause: an address may change a moment late, so that new connections come to the same server. Those would be read from for
 * ever, as no write meets them.
 */
export function makeReconnect(reconnect: () => void, pauseMs = RECONNECT_PAUSE_MS) {
  let lastAt = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  return {
    onReadOnly(): void {
      clearTimeout(timer);
      timer = setTimeout(reconnect, pauseMs).unref();
      if (performance.now() - lastAt < pauseMs) return;
      lastAt = performance.now();
      reconnect();
    },
    stop: () => clearTimeout(timer),
  };
}
