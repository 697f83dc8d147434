// The database as the rest of the code sees it: run one statement on a lane, or work in a session or transaction.
// Quick reads and writes go pipelined over a few connections each (measured: 1.18 of the throughput of the same connections
// without pipelining). Whatever keeps these waiting is ended after a moment and goes on elsewhere, where each workspace has
// a bounded share; administration, imports and exports, and migrations have connections of their own.
import type { Figure } from '../figure.ts';
import type { Query } from '../sql/fragment.ts';
import { type Connect, type ConnectionLimits, makeConnect } from './connect.ts';
import type { Expected } from './cost.ts';
import type { Executor } from './executor.ts';
import { makeLanes } from './lanes.ts';
import type { PipelinedLane } from './pipeline.ts';
import { makeRenewal } from './renewal.ts';
import type { Route } from './route.ts';
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
import type { Row } from './statement.ts';
import type { Lane, Work } from './work.ts';

export type { Executor, Expected, Lane, Purpose, Row, Session, SessionOptions, Transaction, TransactionOptions, Work };

export interface Database extends Executor {
  /**
   * One statement on a lane of quick ones; rows as text. With `work.expected` it goes to the connections for slow
   * statements while it is known, or not yet known not, to take long, or when it was ended on the quick lane: after a
   * quarter of a second at most, lock waits included. It was undone whole then, and goes on with what is left of its
   * time. What it takes is learned by its name or text. Throws ApiError when the database is away, the driver's error
   * otherwise.
   */
  run(query: Query, lane: Lane, work?: Work): Promise<readonly Row[]>;
  /** One statement, rows as objects, on a connection for the control tables. */
  query<T = Record<string, unknown>>(query: Query): Promise<T[]>;
  /** Connected to PostgreSQL itself, whatever pooler the statements of requests go through. */
  session<T>(work: (session: Session) => Promise<T>, options?: OwnSessionOptions): Promise<T>;
  transaction<T>(work: (transaction: Transaction) => Promise<T>, options?: TransactionOptions): Promise<T>;
  /** Stops what a session does at the moment; its statement ends with 57014. */
  cancel(session: Pick<Session, 'pid' | 'cancel'>): Promise<void>;
  stats(): DatabaseStats;
  /** Sessions that are not given back after `graceMs` are cut. */
  close(graceMs?: number): Promise<void>;
}

type Kind = Lane | 'slow' | Exclude<Purpose, 'look'>;

export interface DatabaseStats {
  readonly pending: Readonly<Record<Kind, number>>;
  readonly connections: Readonly<Record<Kind, number>>;
}

export interface DatabaseOptions {
  /** For statements of requests. */
  readonly connection: Route;
  /** For sessions, and for the control tables; missing: the same. */
  readonly direct?: Route;
  /** Server processes on this machine. */
  readonly processes: number;
  readonly readConnections: number;
  readonly writeConnections: number;
  readonly slowConnections: number;
  readonly transferConnections: number;
  readonly batchConnections: number;
  readonly maxQueue: number;
  readonly statementTimeoutMs: number;
  /** Longest answer; of what PostgreSQL sends beyond it not a byte is read. */
  readonly maxResponseBytes: number;
  /** A statement of a tenant took so long that a quick lane has ended it. */
  readonly onFault?: () => void;
  readonly onError: (message: string, error: unknown) => void;
}

const LOCK_TIMEOUT_MS = 2000;
// Of the control tables: one that is busy leaves one for the revocation of a key.
const CONTROL_CONNECTIONS = 2;
// Two long migrations, one that begins, one that counts.
const MIGRATION_CONNECTIONS = 4;
// On a cluster: one look, and the next while a node keeps the first.
const LOOK_CONNECTIONS = 2;
const CLOSE_GRACE_MS = 3000;
const RENEW_PAUSE_MS = 1000;
// JSON of columns, cursor and total beside the data itself.
const MESSAGE_SLACK = 1_048_576;
// Documents of workspaces are the largest of the control tables.
const LEAST_MESSAGE = 33_554_432;

export function makeDatabase(options: DatabaseOptions): Database {
  const { statementTimeoutMs, maxQueue, onError } = options;
  const { connection, direct = connection } = options;
  const maxMessageBytes = Math.max(options.maxResponseBytes, LEAST_MESSAGE) + MESSAGE_SLACK;
  const openerBy = (connect: Connect) => (limits: ConnectionLimits) => () =>
    connect({
      ...limits,
      statementTimeoutMs: Math.min(limits.statementTimeoutMs, statementTimeoutMs),
      maxMessageBytes,
    });
  const opener = openerBy(makeConnect(connection));
  const directOpener = openerBy(makeConnect(direct));
  const poolOf = (size: number, perTenant: number, { open = opener, pipeline = false } = {}): SessionPool =>
    makeSessionPool({
      open: open({ statementTimeoutMs, lockTimeoutMs: LOCK_TIMEOUT_MS, pipeline }),
      size,
      perTenant,
      maxQueue,
      patienceMs: statementTimeoutMs,
    });
  const half = (count: number): number => Math.max(1, Math.floor(count / 2));
  const slow = poolOf(options.slowConnections, half(options.slowConnections));
  const pools: Readonly<Record<Purpose, SessionPool>> = {
    control: poolOf(CONTROL_CONNECTIONS, CONTROL_CONNECTIONS, { open: directOpener }),
    transfer: poolOf(options.transferConnections, half(options.transferConnections)),
    batch: poolOf(options.batchConnections, half(options.batchConnections), { pipeline: true }),
    migration: poolOf(MIGRATION_CONNECTIONS, half(MIGRATION_CONNECTIONS), { open: directOpener }),
    look: poolOf(LOOK_CONNECTIONS, LOOK_CONNECTIONS, { open: directOpener }),
  };
  const canceller = poolOf(1, 1, { open: directOpener });
  const onReadOnly = (): void => renewal.met();
  const sessions = makeSessions({ pools, canceller, statementTimeoutMs, onReadOnly });
  const lanes = makeLanes({
    ...options,
    // Where PostgreSQL runs; a pooler may be anywhere.
    connection: direct,
    opener,
    directOpener: direct === connection ? undefined : directOpener,
    slow,
    control: pools.control,
    cancel: sessions.cancel,
    onReadOnly,
  });
  const own = lanes.direct === undefined ? [] : [lanes.direct.read, lanes.direct.write];
  const quick = [lanes.read, lanes.write, ...own];
  const sum = (of: (lane: PipelinedLane) => number): number => own.reduce((all, lane) => all + of(lane), 0);
  /**
   * A primary was demoted, or its address is another server's now: connections that are still open would read what is
   * no longer written there, keys and schemas too.
   */
  const renewal = makeRenewal({
    pauseMs: RENEW_PAUSE_MS,
    renew() {
      onError('the database takes no writes: its connections are left for new ones', new Error('25006'));
      for (const one of [...quick, slow, canceller, ...Object.values(pools)]) one.renew();
    },
  });

  return {
    isTransaction: false,
    run: lanes.run,
    ...sessions,
    stats: () => ({
      pending: {
        read: lanes.read.pending(),
        write: lanes.write.pending(),
        slow: slow.waiting(),
        control: pools.control.waiting() + pools.look.waiting() + sum((lane) => lane.pending()),
        transfer: pools.transfer.waiting(),
        batch: pools.batch.waiting(),
        migration: pools.migration.waiting(),
      },
      connections: {
        read: lanes.read.size(),
        write: lanes.write.size(),
        slow: slow.size(),
        control: pools.control.size() + pools.look.size() + canceller.size() + sum((lane) => lane.size()),
        transfer: pools.transfer.size(),
        batch: pools.batch.size(),
        migration: pools.migration.size(),
      },
    }),
    async close(graceMs = CLOSE_GRACE_MS) {
      renewal.stop();
      await Promise.all([
        ...quick.map((lane) => lane.close()),
        slow.close(graceMs),
        canceller.close(graceMs),
        ...Object.values(pools).map((pool) => pool.close(graceMs)),
      ]);
    },
  };
}

type Stated = Pick<Database, 'stats'>;

/** Of the database, and of the nodes of its cluster that are open. */
export function databaseFigures(db: Stated, nodes: () => readonly Stated[]): readonly Figure[] {
  const sums = (of: keyof DatabaseStats): DatabaseStats['pending'] => {
    const all = { ...db.stats()[of] };
    for (const node of nodes())
      for (const [kind, count] of Object.entries(node.stats()[of])) all[kind as Kind] += count;
    return all;
  };
  return [
    {
      name: 'wda_database_pending',
      help: 'Statements waiting for or running in the database',
      read: () => sums('pending'),
    },
    { name: 'wda_database_connections', help: 'Open database connections', read: () => sums('connections') },
  ];
}
