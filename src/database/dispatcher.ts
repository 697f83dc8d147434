// Decides where a statement of a request runs: pipelined with a short timeout while it is quick; after that timeout, while its
// circuit breaker is open, or while it may be slow, on a connection of the pool for slow statements until its deadline.
import { availableParallelism } from 'node:os';
import type pg from 'pg';
import { queryTimeout } from '../errors.ts';
import type { Query } from '../sql/fragment.ts';
import { STATEMENTS, traceStatement } from '../tracing.ts';
import { type CircuitBreaker, makeCircuitBreaker } from './circuit-breaker.ts';
import { type ConnectionLimits, destroy, type OpenedConnection, STUCK, waitUntilReady } from './connect.ts';
import { resolveAddress } from './connection-url.ts';
import {
  answerMemoryFull,
  getSqlState,
  isConnectionLoss,
  isConnectionTimeout,
  isLockTimeout,
  MessageTooLong,
  StaleStatement,
  toConnectionLossError,
  toOutcomeUnknownError,
} from './errors.ts';
import { type Executor, isInForce, type PoolName, type Row, type StatementOptions } from './executor.ts';
import type { ReserveMessage } from './messages.ts';
import type { PendingStatement } from './pipelined-connections.ts';
import { makePipelinedPool, type PipelinedPool } from './pipelined-pool.ts';
import { getPrepared } from './prepared-statements.ts';
import {
  isMemoryFull,
  isQuickRun,
  isUsuallyQuick,
  learnAlone,
  learnAnswer,
  makeServiceTimes,
  type ServiceTime,
} from './service-time.ts';
import type { Lease, SessionPool } from './session-pool.ts';
import { type Cancel, runWatched } from './statement-watch.ts';

export type Opener = (limits: ConnectionLimits) => () => Promise<OpenedConnection>;

export interface DispatcherOptions {
  readonly connection: pg.ClientConfig;
  /** Number of server processes on this machine. */
  readonly processes: number;
  readonly readConnections: number;
  readonly writeConnections: number;
  readonly maxQueue: number;
  readonly statementTimeoutMs: number;
  readonly opener: Opener;
  /** Bypasses a pooler for statements without a tenant, which might otherwise wait for one of few backends of the pooler. */
  readonly directOpener?: Opener | undefined;
  /** Connections for slow statements of tenants; `control`: of the server itself. */
  readonly slow: SessionPool;
  readonly control: SessionPool;
  readonly cancel: Cancel;
  /** Called when a write meets a server that takes none. */
  readonly onReadOnly: () => void;
  /** Called when a statement of a tenant runs into the timeout of a pipelined pool. */
  readonly onTimeout?: (() => void) | undefined;
  /** See ConnectionLimits. */
  readonly reserveMessage?: ReserveMessage | undefined;
  readonly onError: (message: string, error: unknown) => void;
}

type Pools = Readonly<Record<PoolName, PipelinedPool>>;

export interface Dispatcher {
  readonly pools: Pools;
  /** Pools for statements without a tenant, if these bypass a pooler. */
  readonly direct: Pools | undefined;
  readonly run: Executor['run'];
}

// Lock timeouts are shorter than statement timeouts, so that the error distinguishes lock waits from slow statements.
const READ_LIMITS = { statementTimeoutMs: 200, lockTimeoutMs: 100, pipeline: true };
const WRITE_LIMITS = { statementTimeoutMs: 250, lockTimeoutMs: 150, pipeline: true };
// Statements on credentials, workspaces and other processes are rare.
const DIRECT_CONNECTIONS = { read: 2, write: 1 };
// Characters of all values of a statement. An index of the parts of a text takes a second for a megabyte, and PostgreSQL does
// not stop within it: the statements that were sent after it would wait, and be lost if the connection were left.
const MAX_QUICK_VALUE_LENGTH = 131_072;
// Time that a moderate statement gets on a connection of its own before its bounded form: as much as on a pipelined one.
const PLAIN_TIMEOUT_MS = 200;

export function makeDispatcher(options: DispatcherOptions): Dispatcher {
  const { slow, control, cancel, statementTimeoutMs, opener, directOpener } = options;
  const serviceTimes = makeServiceTimes();
  const breakers = makeBreakers();
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
      read: makePool(
        'read',
        { ...READ_LIMITS, reserveMessage: options.reserveMessage },
        countParallelReads(options.connection, options.processes),
      ),
      // Writes wait for the disk, concurrently if they are on different connections.
      write: makePool('write', WRITE_LIMITS, sizes.write),
    };
  };
  const pools = makePools(opener, { read: options.readConnections, write: options.writeConnections });
  const direct = directOpener && makePools(directOpener, DIRECT_CONNECTIONS);

  const runQuick = (
    query: Query,
    pool: PoolName,
    statementOptions: StatementOptions,
    time: ServiceTime | undefined,
  ): Promise<readonly Row[]> =>
    ((statementOptions.tenant === undefined && direct) || pools)[pool].run(query, statementOptions, time);

  /** Runs a statement again that a pipelined pool has ended, and so undone, where it may take its time. */
  async function retrySlow(pending: PendingStatement, pool: PoolName, error: Error): Promise<readonly Row[]> {
    const { query, statementOptions, time } = pending;
    const now = performance.now();
    const wasQuick = isUsuallyQuick(time);
    const lacksMemory = error instanceof MessageTooLong && error.limit === undefined;
    if (!lacksMemory) breakers.recordTimeout(pending, error, now);
    else if (time !== undefined) time.answerBytes = error.bytes;
    if (statementOptions.tenant !== undefined) options.onTimeout?.();
    const deadline = statementOptions.deadline ?? now + statementTimeoutMs;
    if (now >= deadline) throw queryTimeout(error);
    let ranMs = Number.POSITIVE_INFINITY;
    try {
      return await runSlow(query, pool, { ...statementOptions, deadline }, time, (milliseconds) => {
        ranMs = milliseconds;
      });
    } catch (retryError) {
      // The database undoes a write that it ends; on an unavailable node nothing confirms that.
      if (pool === 'write' && statementOptions.node?.isUnavailable() === true) throw toOutcomeUnknownError(retryError);
      throw isConnectionTimeout(retryError) ? queryTimeout(retryError) : retryError;
    } finally {
      if (wasQuick && !lacksMemory) breakers.judgeTimeout(pending, error, isQuickRun(ranMs));
    }
  }

  /** Runs one statement on a connection of its own, until its deadline or until its caller leaves. */
  async function runSlow(
    query: Query,
    pool: PoolName,
    statementOptions: StatementOptions,
    time: ServiceTime | undefined,
    onRan?: (milliseconds: number) => void,
  ): Promise<readonly Row[]> {
    const sessions = statementOptions.tenant === undefined ? control : slow;
    const lease = await (pool === 'read'
      ? takeWithMemory(sessions, statementOptions, time)
      : sessions.take({ ...statementOptions, isWrite: true }));
    const deadline = statementOptions.deadline ?? performance.now() + statementTimeoutMs;
    const run: LeasedRun = {
      connection: lease.connection,
      pool,
      statementOptions,
      deadline,
      time,
      cancel,
      onRan,
      isBroken: false,
    };
    try {
      // The statement may have turned out to be quick meanwhile.
      if (breakers.isQuick(query, statementOptions, time)) {
        lease.release(false);
        return await runQuick(query, pool, statementOptions, time);
      }
      // The statement may have waited for long. Asking keeps its turn; a new plan would wait from the end of the queue.
      if (!(await isInForce(statementOptions))) throw new StaleStatement();
      return await runBounded(run, query, breakers.statement);
    } finally {
      lease.release(run.isBroken);
    }
  }

  function run(query: Query, pool: PoolName, statementOptions: StatementOptions = {}): Promise<readonly Row[]> {
    const time = serviceTimes(query, statementOptions.expected);
    return breakers.isQuick(query, statementOptions, time)
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

interface Breakers {
  /** Opens for a statement that was slow. */
  readonly statement: CircuitBreaker;
  /** True when the statement may share a connection with others. */
  readonly isQuick: (query: Query, options: StatementOptions, time: ServiceTime | undefined) => boolean;
  /** Records a statement that a pipelined pool has ended. */
  readonly recordTimeout: (pending: PendingStatement, error: Error, now: number) => void;
  /**
   * Judges the timeout of a statement that is quick as a rule by its second run, alone on a connection. If that was quick, the
   * database had stalled: a stall of 0.4 s held back each statement that it met for 10 s, and took five sixths of the throughput.
   */
  readonly judgeTimeout: (pending: PendingStatement, error: Error, isQuick: boolean) => void;
}

function makeBreakers(): Breakers {
  const statement = makeCircuitBreaker({ failures: 1, minOpenMs: 10_000, maxOpenMs: 600_000 });
  // A statement that waited for a lock is not slow by itself, and the lock will be released soon.
  const lock = makeCircuitBreaker({ failures: 1, minOpenMs: 1000, maxOpenMs: 30_000 });
  const tenants = makeCircuitBreaker({ failures: 3, minOpenMs: 10_000, maxOpenMs: 300_000 });
  const recordTenant = (tenant: string | undefined, error: Error, now: number): void => {
    // Who waits for a lock must not delay statements that need none.
    if (tenant !== undefined && !isLockTimeout(error)) tenants.recordFailure(tenant, now);
  };
  return {
    statement,
    isQuick(query, { tenant }, time) {
      if (time === undefined) return true;
      if (time.isQuick !== true || (time.answerBytes ?? 0) > 0 || hasLongValues(query)) return false;
      const key = getKey(query);
      return !statement.isOpen(key) && !lock.isOpen(key) && (tenant === undefined || !tenants.isOpen(tenant));
    },
    recordTimeout({ query, statementOptions: { tenant }, time }, error, now) {
      if (time !== undefined) (isLockTimeout(error) ? lock : statement).recordFailure(getKey(query), now);
      if (!isUsuallyQuick(time)) recordTenant(tenant, error, now);
    },
    judgeTimeout({ query, statementOptions: { tenant } }, error, isQuick) {
      if (!isQuick) recordTenant(tenant, error, performance.now());
      else if (!isLockTimeout(error)) statement.reset(getKey(query));
    },
  };
}

/** Returns the key of a statement in the circuit breakers. */
const getKey = ({ name, text }: Query): string => name ?? text;

// Memory of an answer before it is written, in times of its length: as the driver's text, and as the bytes of the reply.
const ANSWER_COPIES = 2;

/** Takes a connection for a read, with the memory that its answer needs as far as that is known; 503 when there is none in time. */
async function takeWithMemory(
  sessions: SessionPool,
  options: StatementOptions,
  time: ServiceTime | undefined,
): Promise<Lease> {
  let reservedBytes = 0;
  const getMissingBytes = (): number => {
    if (isMemoryFull(options, time)) throw answerMemoryFull();
    return (time?.answerBytes ?? 0) * ANSWER_COPIES - reservedBytes;
  };
  for (;;) {
    if (getMissingBytes() > 0) {
      reservedBytes = (time?.answerBytes ?? 0) * ANSWER_COPIES;
      await options.answerMemory?.reserve(reservedBytes);
    }
    const lease = await sessions.take(options);
    try {
      // Others may have run the statement meanwhile, and its answer be larger.
      if (getMissingBytes() <= 0) return lease;
    } catch (error) {
      lease.release(false);
      throw error;
    }
    lease.release(false);
  }
}

interface LeasedRun {
  readonly connection: OpenedConnection;
  readonly pool: PoolName;
  readonly statementOptions: StatementOptions;
  readonly deadline: number;
  readonly time: ServiceTime | undefined;
  readonly cancel: Cancel;
  /** Called with the time of a run that succeeded. */
  readonly onRan?: ((milliseconds: number) => void) | undefined;
  isBroken: boolean;
}

/**
 * Runs one statement in its bounded form, as a slow statement may also build too much. Lists of 2,000 records took 1.3 times
 * as long with that: a statement that has never taken long first gets a moment without it.
 */
async function runBounded(run: LeasedRun, query: Query, breaker: CircuitBreaker): Promise<readonly Row[]> {
  const { pool, statementOptions, deadline, time } = run;
  const isModerate = time?.aloneMs !== undefined && time.aloneMs < PLAIN_TIMEOUT_MS / 2;
  if (query.bounded === undefined || !isModerate || breaker.isOpen(getKey(query))) {
    return runAlone(run, query.bounded?.() ?? query);
  }
  try {
    return await runAlone(run, query, performance.now() + PLAIN_TIMEOUT_MS);
  } catch (error) {
    if (run.isBroken || getSqlState(error) !== '57014' || performance.now() >= deadline) throw error;
    if (pool === 'read' && statementOptions.signal?.isAborted() === true) throw error;
    breaker.recordFailure(getKey(query), performance.now());
    return runAlone(run, query.bounded());
  }
}

/** Runs one statement on a connection of its own, until `end` at the latest. Sets `isBroken` when the connection is. */
async function runAlone(
  run: LeasedRun,
  { text, values, name }: Pick<Query, 'text' | 'values' | 'name'>,
  end?: number,
): Promise<readonly Row[]> {
  const { connection, pool, statementOptions, deadline, time, cancel } = run;
  // A plan that fits the values is worth more than the time it takes to find one, unless the statement is quick as a rule (650 µs
  // in place of 70); the first run only shows whether the statement is slow.
  const isPlanned = isUsuallyQuick(time) || (values.length === 0 && time?.aloneMs !== undefined);
  const isPrepared = name !== undefined && isPlanned;
  const query = isPrepared ? { text, values, name } : { text, values };
  // A read ends when its caller leaves; a write that was started is finished.
  const signal = pool === 'read' ? statementOptions.signal : undefined;
  const limits = { end, deadline, signal, longColumn: statementOptions.longColumn };
  try {
    const started = performance.now();
    const rows = await runWatched(connection, query, getPrepared(connection.client), cancel, limits);
    const milliseconds = performance.now() - started;
    run.onRan?.(milliseconds);
    if (time !== undefined) {
      learnAlone(time, milliseconds);
      learnAnswer(time, rows, statementOptions);
    }
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
