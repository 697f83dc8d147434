// The database as the rest of the code sees it: run one statement on a lane, or work in a session or transaction.
// The only maker of connections. Quick reads and writes go pipelined over a few connections (measured: 1.18 of the
// throughput of the same connections without pipelining); statements that take long have connections of their own, so
// that they hold up nobody.
import { availableParallelism } from 'node:os';
import pg from 'pg';
import type { Query } from '../sql/fragment.ts';
import { note, type StatementCost } from './cost.ts';
import { isConnectionLoss, translateConnectionError } from './pg-error.ts';
import { makePipelinedLane, queueFull } from './pipeline.ts';
import { makePrepared, type Prepared } from './prepared.ts';
import { makeShares } from './shares.ts';
import { watchSilence } from './silence.ts';
import { type Row, runAlone } from './statement.ts';

export type { Row, StatementCost };

export type Lane = 'read' | 'write' | 'slow';

export interface Session {
  /** Rows as objects, values by the driver's types (64-bit integers as strings, dates as Date). */
  query<T = Record<string, unknown>>(query: Query): Promise<T[]>;
  /** Several statements in one text, without values: DDL. */
  execute(text: string): Promise<void>;
  /** The driver's client, for COPY streams. */
  readonly client: pg.ClientBase;
}

export interface TransactionOptions {
  /** `repeatable read` gives one snapshot to all statements. */
  readonly isolation?: 'read committed' | 'repeatable read';
  readonly statementTimeoutMs?: number;
  readonly readOnly?: boolean;
}

export interface Database {
  /**
   * One statement on a lane; rows as text. A read with a `cost` goes to the slow lane while it is known, or not yet
   * known not, to take long; there a `tenant` has all connections but one. Throws ApiError when the database is away, the driver's error otherwise.
   */
  run(query: Query, lane: Lane, cost?: StatementCost, tenant?: string): Promise<readonly Row[]>;
  /** One statement, rows as objects, on a lane for slow work. */
  query<T = Record<string, unknown>>(query: Query): Promise<T[]>;
  session<T>(work: (session: Session) => Promise<T>): Promise<T>;
  transaction<T>(work: (session: Session) => Promise<T>, options?: TransactionOptions): Promise<T>;
  stats(): DatabaseStats;
  close(): Promise<void>;
}

export interface DatabaseStats {
  readonly pending: Readonly<Record<Lane, number>>;
  readonly connections: Readonly<Record<Lane, number>>;
}

export interface DatabaseOptions {
  readonly connection: pg.ClientConfig;
  /** Server processes on this machine. */
  readonly processes: number;
  readonly readConnections: number;
  readonly writeConnections: number;
  readonly slowConnections: number;
  readonly maxQueue: number;
  readonly statementTimeoutMs: number;
  readonly onError: (message: string, error: unknown) => void;
}

// Statements kept prepared on a connection for slow work.
const MAX_SLOW_STATEMENTS = 100;
const CONNECT_TIMEOUT_MS = 3000;

/** How many backends this process can keep busy with quick reads: of a database on this machine, as many as cores are left. */
function parallelReads(config: pg.ClientConfig, processes: number): number {
  const { host } = new pg.Client(config);
  const isHere = host.startsWith('/') || ['localhost', '127.0.0.1', '::1'].includes(host);
  if (!isHere) return Number.POSITIVE_INFINITY;
  return Math.max(1, Math.floor((availableParallelism() - processes) / processes));
}

export function makeDatabase(options: DatabaseOptions): Database {
  const config: pg.ClientConfig = {
    ...options.connection,
    keepAlive: true,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    application_name: 'workspace-data-api',
    options: [
      `-c statement_timeout=${options.statementTimeoutMs}`,
      '-c lock_timeout=2000',
      '-c idle_in_transaction_session_timeout=15000',
      '-c timezone=UTC',
      '-c datestyle=ISO',
      '-c search_path=pg_catalog',
      // Lists and expansions are index look-ups with a small limit; compiling them costs more than running them.
      '-c jit=off',
      // A named statement is used thousands of times; after five custom plans PostgreSQL would compare costs anyway.
      '-c synchronous_commit=on',
    ].join(' '),
  };
  const lanes = {
    read: makePipelinedLane(config, options.readConnections, {
      ...options,
      parallel: parallelReads(config, options.processes),
    }),
    write: makePipelinedLane(config, options.writeConnections, {
      ...options,
      // Writes wait for the disk, together if they are on different connections.
      parallel: options.writeConnections,
    }),
  };
  const pool = new pg.Pool({
    ...config,
    max: options.slowConnections,
    idleTimeoutMillis: 30_000,
    maxLifetimeSeconds: 1800,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS + options.statementTimeoutMs,
  });
  const shares = makeShares(Math.max(1, options.slowConnections - 1), options.maxQueue);
  pool.on('error', (error) => options.onError('idle database connection lost', error));

  async function session<T>(work: (session: Session) => Promise<T>): Promise<T> {
    if (pool.waitingCount >= options.maxQueue) throw queueFull();
    const client = await pool.connect().catch((error) => {
      throw translateConnectionError(error);
    });
    let broken: Error | undefined;
    const onError = (error: Error): void => {
      broken = error;
    };
    client.on('error', onError);
    try {
      return await work(sessionOf(client));
    } catch (error) {
      if (isConnectionLoss(error)) broken = error as Error;
      throw error;
    } finally {
      client.off('error', onError);
      client.release(broken);
    }
  }

  /** One statement in a session of its own, given up when the database falls silent. */
  const single = <T>(work: (session: Session) => Promise<T>): Promise<T> =>
    session(async (slow) => {
      const unwatch = watchSilence(slow.client, options.statementTimeoutMs, () => true);
      try {
        return await work(slow);
      } finally {
        unwatch();
      }
    });

  const prepared = new WeakMap<pg.ClientBase, Prepared>();
  function preparedOn(client: pg.ClientBase): Prepared {
    const known = prepared.get(client);
    if (known !== undefined) return known;
    const made = makePrepared(MAX_SLOW_STATEMENTS);
    prepared.set(client, made);
    return made;
  }

  async function runSlow(query: Query, cost?: StatementCost, tenant?: string): Promise<readonly Row[]> {
    // With values, a plan that fits them is worth more than the time it takes to find one; the first run only tells
    // whether it is slow.
    const isKept = query.values.length === 0 && cost?.milliseconds !== undefined;
    const slowQuery = isKept ? query : { text: query.text, values: query.values };
    const end = tenant === undefined ? undefined : await shares.take(tenant);
    try {
      // Others may have found out meanwhile that it is quick.
      if (cost?.isQuick) return await lanes.read.run(query, cost);
      return await single(async (slow) => {
        const started = performance.now();
        const rows = await runAlone(slow.client, slowQuery, preparedOn(slow.client));
        if (cost !== undefined) note(cost, performance.now() - started);
        return rows;
      });
    } finally {
      end?.();
    }
  }

  return {
    run(query, lane, cost, tenant) {
      if (lane === 'write' || (lane === 'read' && (cost === undefined || cost.isQuick))) {
        return lanes[lane].run(query, cost);
      }
      return runSlow(query, cost, tenant);
    },
    query: (query) => single((slow) => slow.query(query)),
    session,
    transaction: (work, transactionOptions = {}) =>
      session(async (slow) => {
        const { isolation = 'read committed', readOnly = false, statementTimeoutMs } = transactionOptions;
        await slow.execute(`begin isolation level ${isolation}${readOnly ? ' read only' : ''}`);
        try {
          if (statementTimeoutMs !== undefined) {
            const milliseconds = Math.floor(statementTimeoutMs);
            await slow.execute(
              `set local statement_timeout = ${milliseconds}; set local idle_in_transaction_session_timeout = ${milliseconds}`,
            );
          }
          const result = await work(slow);
          await slow.execute('commit');
          return result;
        } catch (error) {
          // When even the rollback fails the connection is gone; session() sees that by the error below.
          await slow
            .execute('rollback')
            .catch((rollbackError) => {
              throw new Error('connection terminated: rollback failed', { cause: rollbackError });
            })
            .catch(() => undefined);
          throw error;
        }
      }),
    stats: () => ({
      pending: { read: lanes.read.pending(), write: lanes.write.pending(), slow: pool.waitingCount },
      connections: { read: lanes.read.size(), write: lanes.write.size(), slow: pool.totalCount },
    }),
    async close() {
      await Promise.all([lanes.read.close(), lanes.write.close(), pool.end()]);
    },
  };
}

function sessionOf(client: pg.PoolClient): Session {
  return {
    client,
    async query<T>(query: Query) {
      const result = await client.query({ text: query.text, values: query.values as unknown[] });
      return result.rows as T[];
    },
    async execute(text) {
      await client.query(text);
    },
  };
}
