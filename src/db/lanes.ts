// Where a statement runs: on a quick lane while it is quick, otherwise on the connections for slow statements.
import { availableParallelism } from 'node:os';
import type pg from 'pg';
import { queryTimeout } from '../errors.ts';
import type { Query } from '../sql/fragment.ts';
import { STATEMENTS, traceStatement } from '../trace.ts';
import { makeConduct } from './conduct.ts';
import type { ConnectionLimits, OpenedConnection } from './connect.ts';
import { addressOf } from './connection-url.ts';
import { hasLongValues, hold, isHeld, LOCK_HOLD, makeCosts, SLOW_HOLD, type StatementCost } from './cost.ts';
import type { Executor } from './executor.ts';
import { lostBehind, sqlState } from './pg-error.ts';
import { makePipelinedLane, type PipelinedLane } from './pipeline.ts';
import type { SessionPool } from './session-pool.ts';
import { makeSlowLane } from './slow-lane.ts';
import type { Row } from './statement.ts';
import type { Cancel } from './statement-watch.ts';
import type { Waiting } from './waiting-line.ts';
import { isTooLate, type Lane, type Work } from './work.ts';

export interface LanesOptions {
  readonly connection: pg.ClientConfig;
  /** Server processes on this machine. */
  readonly processes: number;
  readonly readConnections: number;
  readonly writeConnections: number;
  readonly maxQueue: number;
  readonly statementTimeoutMs: number;
  readonly opener: Opener;
  /** Given when statements of nobody go another way: whoever has one of few backends of a pooler may wait for them. */
  readonly directOpener?: Opener | undefined;
  /** Lends connections for slow statements of tenants, and for those of nobody. */
  readonly slow: SessionPool;
  readonly control: SessionPool;
  readonly cancel: Cancel;
  /** A write met a server that takes none. */
  readonly onReadOnly: () => void;
  /** A statement of a tenant was ended as it kept others waiting. */
  readonly onFault?: () => void;
  readonly onError: (message: string, error: unknown) => void;
}

export type Opener = (limits: ConnectionLimits) => () => Promise<OpenedConnection>;

type LanePair = Readonly<Record<Lane, PipelinedLane>>;

export interface Lanes extends LanePair {
  /** For statements of nobody, where they go another way. */
  readonly direct: LanePair | undefined;
  readonly run: Executor['run'];
}

// The promise of the quick lanes. Lock waits end first, so that the error tells them from slow statements.
const QUICK_READ = { statementTimeoutMs: 200, lockTimeoutMs: 100 };
const QUICK_WRITE = { statementTimeoutMs: 250, lockTimeoutMs: 150 };

// Credentials, workspaces and other processes are asked for once in a while.
const DIRECT_CONNECTIONS = { read: 2, write: 1 };

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

export function makeLanes(options: LanesOptions): Lanes {
  const { slow, control, cancel, maxQueue, statementTimeoutMs, opener, directOpener, onReadOnly, onError } = options;
  const conduct = makeConduct();
  const costs = makeCosts();
  const lanePair = (open: Opener, sizes: Readonly<Record<Lane, number>>): LanePair => ({
    read: makePipelinedLane(sizes.read, {
      open: open({ ...QUICK_READ, pipeline: true }),
      parallel: parallelReads(options.connection, options.processes),
      maxQueue,
      statementTimeoutMs,
      repeatable: true,
      isFault,
      goOn: (waiting, fault) => runOn('read', waiting, fault),
      onReadOnly,
      onError,
    }),
    write: makePipelinedLane(sizes.write, {
      open: open({ ...QUICK_WRITE, pipeline: true }),
      // Writes wait for the disk, together if they are on different connections.
      parallel: sizes.write,
      maxQueue,
      statementTimeoutMs,
      repeatable: false,
      isFault,
      goOn: (waiting, fault) => runOn('write', waiting, fault),
      onReadOnly,
      onError,
    }),
  });
  const lanes = lanePair(opener, { read: options.readConnections, write: options.writeConnections });
  const direct = directOpener && lanePair(directOpener, DIRECT_CONNECTIONS);
  const laneOf = (lane: Lane, { tenant }: Work): PipelinedLane =>
    (tenant === undefined && direct !== undefined ? direct : lanes)[lane];
  const runSlow = makeSlowLane({
    take: (work) => (work.tenant === undefined ? control : slow).take(work),
    cancel,
    statementTimeoutMs,
    isQuick,
    runQuick: (query, lane, work, cost) => laneOf(lane, work).run(query, work, cost),
  });

  function isQuick(query: Query, { tenant }: Work, cost: StatementCost | undefined): boolean {
    if (cost === undefined) return true;
    if (cost.isQuick !== true || hasLongValues(query)) return false;
    // Nearly always nobody is held, so the clock is asked only then.
    if (cost.heldUntil !== undefined && isHeld(cost, performance.now())) return false;
    return tenant === undefined || !conduct.isHeld(tenant);
  }

  function noteFault({ tenant }: Work, cost: StatementCost | undefined, error: unknown): void {
    const now = performance.now();
    if (cost !== undefined) hold(cost, sqlState(error) === '55P03' ? LOCK_HOLD : SLOW_HOLD, now);
    if (tenant === undefined) return;
    conduct.fault(tenant, now);
    options.onFault?.();
  }

  /** A statement that the quick lane has ended was undone whole: it runs again where it may take its time. */
  async function runOn(lane: Lane, { query, work, cost }: Waiting, fault: unknown): Promise<readonly Row[]> {
    noteFault(work, cost, fault);
    const deadline = work.deadline ?? performance.now() + statementTimeoutMs;
    if (performance.now() >= deadline) throw queryTimeout(fault);
    return runSlow(query, lane, { ...work, deadline }, cost).catch((error) => {
      // It was undone by the database, and by nobody on a node that has fallen silent with it.
      if (lane === 'write' && work.place?.isAway() === true) throw lostBehind(error);
      // Its second turn never came.
      throw isTooLate(error) ? queryTimeout(error) : error;
    });
  }

  function run(query: Query, lane: Lane, work: Work = {}): Promise<readonly Row[]> {
    const cost = costs.of(query, work.expected);
    return isQuick(query, work, cost) ? laneOf(lane, work).run(query, work, cost) : runSlow(query, lane, work, cost);
  }

  return {
    ...lanes,
    direct,
    run: (query, lane, work) =>
      STATEMENTS.hasSubscribers
        ? traceStatement(query.text, lane, () => run(query, lane, work))
        : run(query, lane, work),
  };
}
