// Where a statement of a request runs: pipelined with a short timeout while it is quick; after that timeout, while its circuit
// breaker is open, or as long as it may be slow, on a connection of the pool for slow statements until its deadline.
import { availableParallelism } from 'node:os';
import type pg from 'pg';
import { queryTimeout } from '../errors.ts';
import type { Query } from '../sql/fragment.ts';
import { STATEMENTS, traceStatement } from '../tracing.ts';
import { makeCircuitBreaker } from './circuit-breaker.ts';
import { type ConnectionLimits, destroy, type OpenedConnection, STUCK, waitUntilReady } from './connect.ts';
import { resolveAddress } from './connection-url.ts';
import {
  getSqlState,
  isConnectionLoss,
  isConnectionTimeout,
  isLockTimeout,
  StaleStatement,
  toConnectionLossError,
  toOutcomeUnknownError,
} from './errors.ts';
import { type Executor, isInForce, type PoolName, type Row, type StatementOptions } from './executor.ts';
import { makePipelinedPool, type PendingStatement, type PipelinedPool } from './pipelined-pool.ts';
import { learnAlone, makeServiceTimes, type ServiceTime } from './service-time.ts';
import type { SessionPool } from './session-pool.ts';
import { type Cancel, getPrepared, runWatched } from './statement.ts';

export type Opener = (limits: ConnectionLimits) => () => Promise<OpenedConnection>;

export interface DispatcherOptions {
  readonly connection: pg.ClientConfig;
  /** Server processes on this machine. */
  readonly processes: number;
  readonly readConnections: number;
  readonly writeConnections: number;
  readonly maxQueue: number;
  readonly statementTimeoutMs: number;
  readonly opener: Opener;
  /** For statements without a tenant behind a pooler: whoever has one of few backends of it may wait for them. */
  readonly directOpener?: Opener | undefined;
  /** Connections for slow statements, of tenants and of the server itself. */
  readonly slow: SessionPool;
  readonly control: SessionPool;
  readonly cancel: Cancel;
  /** A write met a server that takes none. */
  readonly onReadOnly: () => void;
  /** A statement of a tenant ran into the timeout of a pipelined pool. */
  readonly onTimeout?: (() => void) | undefined;
  readonly onError: (message: string, error: unknown) => void;
}

type Pools = Readonly<Record<PoolName, PipelinedPool>>;

export interface Dispatcher {
  readonly pools: Pools;
  /** For statements without a tenant, where they go another way. */
  readonly direct: Pools | undefined;
  readonly run: Executor['run'];
}

// Lock waits end first, so that the error tells them from slow statements.
const READ_LIMITS = { statementTimeoutMs: 200, lockTimeoutMs: 100, pipeline: true };
const WRITE_LIMITS = { statementTimeoutMs: 250, lockTimeoutMs: 150, pipeline: true };
// Credentials, workspaces and other processes are asked for once in a while.
const DIRECT_CONNECTIONS = { read: 2, write: 1 };
// Characters of all values of a statement. An index of parts takes a second for a text of a megabyte, and PostgreSQL stops
// nothing within: what was sent behind it would wait, and be lost with a connection that is left.
const MAX_QUICK_VALUE_LENGTH = 131_072;
// What a moderate statement gets on a connection of its own before its bounded form: as much as on a pipelined one.
const PLAIN_TIMEOUT_MS = 200;

export function makeDispatcher(options: DispatcherOptions): Dispatcher {
  const { slow, control, cancel, statementTimeoutMs, opener, directOpener } = options;
  const serviceTimes = makeServiceTimes();
  const statementBreaker = makeCircuitBreaker({ failures: 1, minOpenMs: 10_000, maxOpenMs: 600_000 });
  // One that waited for a lock was not slow by itself, and the lock will be gone soon.
  const lockBreaker = makeCircuitBreaker({ failures: 1, minOpenMs: 1000, maxOpenMs: 30_000 });
  const tenantBreaker = makeCircuitBreaker({ failures: 3, minOpenMs: 10_000, maxOpenMs: 300_000 });
  const makePools = (open: Opener, sizes: Readonly<Record<PoolName, number>>): Pools => {
    const makePool = (pool: PoolName, limits: ConnectionLimits, parallel: number): PipelinedPool =>
      makePipelinedPool({
        size: sizes[pool],
        open: open(limits),
        parallel,
        maxQueue: options.maxQueue,
        statementTimeoutMs,
        isRepeatable: pool === 'read',
        runElsewhere: (pending, error) => retrySlow(pending, pool, error),
        onReadOnly: options.onReadOnly,
        onError: options.onError,
      });
    return {
      read: makePool('read', READ_LIMITS, countParallelReads(options.connection, options.processes)),
      // Writes wait for the disk, together if they are on different connections.
      write: makePool('write', WRITE_LIMITS, sizes.write),
    };
  };
  const pools = makePools(opener, { read: options.readConnections, write: options.writeConnections });
  const direct = directOpener && makePools(directOpener, DIRECT_CONNECTIONS);

  /** True when the statement may share a connection with others. */
  function isQuick(query: Query, { tenant }: StatementOptions, time: ServiceTime | undefined): boolean {
    if (time === undefined) return true;
    if (time.isQuick !== true || hasLongValues(query)) return false;
    const key = query.name ?? query.text;
    return (
      !statementBreaker.isOpen(key) &&
      !lockBreaker.isOpen(key) &&
      (tenant === undefined || !tenantBreaker.isOpen(tenant))
    );
  }

  const runQuick = (
    query: Query,
    pool: PoolName,
    statementOptions: StatementOptions,
    time: ServiceTime | undefined,
  ): Promise<readonly Row[]> =>
    ((statementOptions.tenant === undefined && direct) || pools)[pool].run(query, statementOptions, time);

  /** A statement that a pipelined pool has ended was undone whole: it runs again where it may take its time. */
  async function retrySlow(
    { query, statementOptions, time }: PendingStatement,
    pool: PoolName,
    error: Error,
  ): Promise<readonly Row[]> {
    const now = performance.now();
    if (time !== undefined)
      (isLockTimeout(error) ? lockBreaker : statementBreaker).recordFailure(query.name ?? query.text, now);
    if (statementOptions.tenant !== undefined) {
      tenantBreaker.recordFailure(statementOptions.tenant, now);
      options.onTimeout?.();
    }
    const deadline = statementOptions.deadline ?? now + statementTimeoutMs;
    if (now >= deadline) throw queryTimeout(error);
    try {
      return await runSlow(query, pool, { ...statementOptions, deadline }, time);
    } catch (retryError) {
      // It was undone by the database, and by nobody on a node that is unavailable with it.
      if (pool === 'write' && statementOptions.node?.isUnavailable() === true) throw toOutcomeUnknownError(retryError);
      throw isConnectionTimeout(retryError) ? queryTimeout(retryError) : retryError;
    }
  }

  /** Runs one statement on a connection of its own, until its deadline or until its caller leaves. */
  async function runSlow(
    query: Query,
    pool: PoolName,
    statementOptions: StatementOptions,
    time: ServiceTime | undefined,
  ): Promise<readonly Row[]> {
    const lease = await (statementOptions.tenant === undefined ? control : slow).take(statementOptions);
    const deadline = statementOptions.deadline ?? performance.now() + statementTimeoutMs;
    const run: LeasedRun = {
      connection: lease.connection,
      pool,
      statementOptions,
      deadline,
      time,
      cancel,
      isBroken: false,
    };
    try {
      // Others may have found out meanwhile that it is quick.
      if (isQuick(query, statementOptions, time)) {
        lease.release(false);
        return await runQuick(query, pool, statementOptions, time);
      }
      // It may have waited for long. Asking keeps its place; being planned again it would wait from the end of the queue.
      if (!(await isInForce(statementOptions))) throw new StaleStatement();
      // What may take its time may build too much as well, so its form is bounded. That took lists of 2,000 records 1.3 times
      // the time: a statement that has never taken long gets a moment without it.
      const isModerate = time?.aloneMs !== undefined && time.aloneMs < PLAIN_TIMEOUT_MS / 2;
      if (query.bounded === undefined || !isModerate || statementBreaker.isOpen(query.name ?? query.text)) {
        return await runAlone(run, query.bounded?.() ?? query);
      }
      try {
        return await runAlone(run, query, performance.now() + PLAIN_TIMEOUT_MS);
      } catch (error) {
        if (run.isBroken || getSqlState(error) !== '57014' || performance.now() >= deadline) throw error;
        if (pool === 'read' && statementOptions.signal?.isAborted() === true) throw error;
        statementBreaker.recordFailure(query.name ?? query.text, performance.now());
        return await runAlone(run, query.bounded());
      }
    } finally {
      lease.release(run.isBroken);
    }
  }

  function run(query: Query, pool: PoolName, statementOptions: StatementOptions = {}): Promise<readonly Row[]> {
    const time = serviceTimes(query, statementOptions.expected);
    return isQuick(query, statementOptions, time)
      ? runQuick(query, pool, statementOptions, time)
      : runSlow(query, pool, statementOptions, time);
  }

  return {
    pools,
    direct,
    run: (query, pool, statementOptions) =>
      STATEMENTS.hasSubscribers
        ? traceStatement(query.text, pool, () => run(query, pool, statementOptions))
        : run(query, pool, statementOptions),
  };
}

interface LeasedRun {
  readonly connection: OpenedConnection;
  readonly pool: PoolName;
  readonly statementOptions: StatementOptions;
  readonly deadline: number;
  readonly time: ServiceTime | undefined;
  readonly cancel: Cancel;
  isBroken: boolean;
}

/** Runs one statement on a connection of its own, until `end` at the latest. Sets `isBroken` when the connection is. */
async function runAlone(
  run: LeasedRun,
  { text, values, name }: Pick<Query, 'text' | 'values' | 'name'>,
  end?: number,
): Promise<readonly Row[]> {
  const { connection, pool, statementOptions, deadline, time, cancel } = run;
  // With values, a plan that fits them is worth more than the time it takes to find one; the first run only tells whether it
  // is slow.
  const isPrepared = name !== undefined && values.length === 0 && time?.aloneMs !== undefined;
  const query = isPrepared ? { text, values, name } : { text, values };
  // The answer of a read is for its caller alone; a write that was begun is finished.
  const signal = pool === 'read' ? statementOptions.signal : undefined;
  try {
    const started = performance.now();
    const rows = await runWatched(connection, query, getPrepared(connection.client), cancel, { end, deadline, signal });
    if (time !== undefined) learnAlone(time, performance.now() - started);
    return rows;
  } catch (error) {
    run.isBroken = isConnectionLoss(error);
    if (run.isBroken) throw toConnectionLossError(error, pool === 'write');
    if (!(await waitUntilReady(connection))) {
      run.isBroken = true;
      destroy(connection, STUCK);
    }
    throw error;
  }
}

/** How many backends this process can keep busy with quick reads: of a database on this machine, as many as cores are left. */
function countParallelReads(connection: pg.ClientConfig, processes: number): number {
  const { hosts } = resolveAddress(connection);
  const isLocal = hosts.every(({ host }) => host.startsWith('/') || ['localhost', '127.0.0.1', '::1'].includes(host));
  if (!isLocal) return Number.POSITIVE_INFINITY;
  return Math.max(1, Math.floor((availableParallelism() - processes) / processes));
}

/** True when the values alone make a statement one that may take its time. */
function hasLongValues({ values }: Pick<Query, 'values'>): boolean {
  let length = 0;
  for (const value of values) {
    if (typeof value === 'string') length += value.length;
    else if (Array.isArray(value)) for (const one of value) if (typeof one === 'string') length += one.length;
  }
  return length > MAX_QUICK_VALUE_LENGTH;
}
