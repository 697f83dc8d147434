// The database as the rest of the code sees it: run one statement on a lane, or work in a session or transaction.
// The only maker of connections. Quick reads and writes go pipelined over a few connections, the least busy first
// (measured: 1.18 of the throughput of the same connections without pipelining); statements that take long have
// connections of their own, so that they hold up nobody.
import pg from 'pg';
import { serviceUnavailable } from '../errors.ts';
import type { Query } from '../sql/fragment.ts';
import { isConnectionLoss, translateConnectionError } from './pg-error.ts';
import { watchSilence } from './silence.ts';

/** A row as PostgreSQL's text output, one entry a column. */
export type Row = readonly (string | null)[];

export type Lane = 'read' | 'write' | 'slow';

/** What the pool remembers of one prepared statement to choose its lane; one object per statement shape, kept by its owner. */
export interface StatementCost {
  /** What an undisturbed run takes, in milliseconds; undefined before the first. */
  milliseconds: number | undefined;
}

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
   * known not, to take long. Throws ApiError when the database is away, the driver's error otherwise.
   */
  run(query: Query, lane: Lane, cost?: StatementCost): Promise<readonly Row[]>;
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
  readonly readConnections: number;
  readonly writeConnections: number;
  readonly slowConnections: number;
  readonly maxQueue: number;
  readonly statementTimeoutMs: number;
  readonly onError: (message: string, error: unknown) => void;
}

// A connection that has prepared this many statements is replaced: PostgreSQL keeps each of them until the end
// (a plan costs 10 to 100 kB), and the driver has no way to forget one.
const MAX_STATEMENTS = 500;
// A statement that takes longer on average leaves the pipelined lane: behind it everything on its connection waits.
const SLOW_MS = 20;
const CONNECT_TIMEOUT_MS = 3000;
// While the database is away, connecting is tried again at most this often; requests in between fail at once.
const RECONNECT_PAUSE_MS = 250;

const TEXT_TYPES = { getTypeParser: () => (value: string) => value } as unknown as pg.CustomTypesConfig;

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
    read: makePipelinedLane(config, options.readConnections, options),
    write: makePipelinedLane(config, options.writeConnections, options),
  };
  const pool = new pg.Pool({
    ...config,
    max: options.slowConnections,
    idleTimeoutMillis: 30_000,
    maxLifetimeSeconds: 1800,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS + options.statementTimeoutMs,
  });
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

  return {
    run(query, lane, cost) {
      if (lane === 'write' || (lane === 'read' && (cost === undefined || (cost.milliseconds ?? SLOW_MS) < SLOW_MS))) {
        return lanes[lane].run(query, cost);
      }
      return single(async (slow) => {
        const started = performance.now();
        const result = await slow.client.query({
          text: query.text,
          values: query.values as unknown[],
          rowMode: 'array',
          types: TEXT_TYPES,
        });
        if (cost !== undefined) note(cost, performance.now() - started);
        return result.rows as Row[];
      });
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

/**
 * A quicker run counts whole, a slower one a tenth: on a busy machine any run may look slow, and a quick statement that
 * was first met then would stay on the slow lane (measured: at a third of its throughput).
 */
function note(cost: StatementCost, milliseconds: number): void {
  const known = cost.milliseconds ?? milliseconds;
  cost.milliseconds = milliseconds < known ? milliseconds : known * 0.9 + milliseconds * 0.1;
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

interface PipelinedConnection {
  readonly client: pg.Client;
  readonly names: Set<string>;
  pending: number;
  usable: boolean;
}

interface PipelinedLane {
  run(query: Query, cost?: StatementCost): Promise<readonly Row[]>;
  pending(): number;
  size(): number;
  close(): Promise<void>;
}

function makePipelinedLane(config: pg.ClientConfig, size: number, options: DatabaseOptions): PipelinedLane {
  const connections: PipelinedConnection[] = [];
  let pending = 0;
  let closing = false;
  let connecting: Promise<void> | undefined;
  let failedAt = Number.NEGATIVE_INFINITY;
  let failure: unknown;

  function retire(connection: PipelinedConnection): void {
    if (!connection.usable) return;
    connection.usable = false;
    connections.splice(connections.indexOf(connection), 1);
  }

  async function connect(): Promise<void> {
    const client = new pg.Client({ ...config, pipeline: true } as pg.ClientConfig);
    const connection: PipelinedConnection = { client, names: new Set(), pending: 0, usable: true };
    client.on('error', (error) => {
      options.onError('database connection lost', error);
      retire(connection);
    });
    let unwatch = (): void => undefined;
    client.on('end', () => {
      unwatch();
      retire(connection);
    });
    try {
      await client.connect();
      unwatch = watchSilence(client, options.statementTimeoutMs, () => connection.pending > 0);
      connections.push(connection);
    } catch (error) {
      connection.usable = false;
      await client.end().catch(() => undefined);
      throw error;
    }
  }

  /** Opens one more connection in the background; all callers share the attempt. */
  function grow(): Promise<void> {
    connecting ??= connect()
      .then(
        () => undefined,
        (error) => {
          failedAt = performance.now();
          failure = error;
          throw error;
        },
      )
      .finally(() => {
        connecting = undefined;
      });
    return connecting;
  }

  function leastBusy(): PipelinedConnection | undefined {
    let best = connections[0];
    for (let index = 1; index < connections.length; index++) {
      const candidate = connections[index] as PipelinedConnection;
      if (candidate.pending < (best as PipelinedConnection).pending) best = candidate;
    }
    return best;
  }

  function send(
    connection: PipelinedConnection,
    query: Query,
    cost: StatementCost | undefined,
  ): Promise<readonly Row[]> {
    if (query.name !== undefined && !connection.names.has(query.name)) {
      connection.names.add(query.name);
      if (connection.names.size > MAX_STATEMENTS) {
        // Answers on the wire still arrive: end() waits for them, new requests take another connection.
        retire(connection);
        void connection.client.end().catch(() => undefined);
        return runNow(query, cost);
      }
    }
    // Only a statement that was alone on its connection tells its own time.
    const started = cost !== undefined && connection.pending === 0 ? performance.now() : 0;
    connection.pending++;
    pending++;
    return new Promise((resolve, reject) => {
      connection.client.query(
        {
          text: query.text,
          values: query.values as unknown[],
          name: query.name,
          rowMode: 'array',
          types: TEXT_TYPES,
        } as pg.QueryArrayConfig,
        (error: Error | null, result: pg.QueryArrayResult) => {
          connection.pending--;
          pending--;
          if (error) reject(isConnectionLoss(error) ? translateConnectionError(error) : error);
          else {
            if (started > 0) note(cost as StatementCost, performance.now() - started);
            resolve(result.rows as Row[]);
          }
        },
      );
    });
  }

  async function runNow(query: Query, cost: StatementCost | undefined): Promise<readonly Row[]> {
    if (closing) throw serviceUnavailable('The server is shutting down');
    if (performance.now() - failedAt < RECONNECT_PAUSE_MS) throw translateConnectionError(failure);
    await grow().catch((error) => {
      throw translateConnectionError(error);
    });
    const connection = leastBusy();
    if (connection === undefined) throw translateConnectionError(new Error('Connection terminated'));
    return send(connection, query, cost);
  }

  return {
    run(query, cost) {
      const connection = leastBusy();
      if (connection === undefined) return runNow(query, cost);
      if (pending >= options.maxQueue) return Promise.reject(queueFull());
      if (connection.pending > 0 && connections.length < size && connecting === undefined && !closing) {
        grow().catch((error) => options.onError('database connection failed', error));
      }
      return send(connection, query, cost);
    },
    pending: () => pending,
    size: () => connections.length,
    async close() {
      closing = true;
      await connecting?.catch(() => undefined);
      await Promise.all(connections.splice(0).map((connection) => connection.client.end().catch(() => undefined)));
    },
  };
}

function queueFull(): Error {
  return serviceUnavailable('Too many requests wait for the database; retry', 1);
}
