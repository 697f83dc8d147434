// A lane of pipelined connections: quick statements one after the other without waiting for the answers of those before,
// each on the connection that is least busy, prepared once and kept prepared while they are used.
import { LRUCache } from 'lru-cache';
import pg from 'pg';
import { serviceUnavailable } from '../errors.ts';
import type { Query } from '../sql/fragment.ts';
import { isConnectionLoss, translateConnectionError } from './pg-error.ts';
import { watchSilence } from './silence.ts';
import { type Row, runStatement } from './statement.ts';
import type { Parameter } from './wire.ts';

/** What the pool remembers of one prepared statement to choose its lane; one object per statement shape, kept by its owner. */
export interface StatementCost {
  /** What an undisturbed run takes, in milliseconds; undefined before the first. */
  milliseconds: number | undefined;
}

export interface LaneOptions {
  /**
   * How many more statements may wait on the connection that has a statement prepared than on another one: some for
   * reads, none for writes, which wait for the disk together.
   */
  readonly slack?: number;
  readonly maxQueue: number;
  readonly statementTimeoutMs: number;
  readonly onError: (message: string, error: unknown) => void;
}

// Statements kept prepared on a connection: PostgreSQL keeps the plan of each (10 to 100 kB, most 30).
const MAX_STATEMENTS = 1200;
// The name of what is parsed for one run alone.
const UNNAMED = '';
// While the database is away, connecting is tried again at most this often; requests in between fail at once.
const RECONNECT_PAUSE_MS = 250;

/**
 * A quicker run counts whole, a slower one a tenth: on a busy machine any run may look slow, and a quick statement that
 * was first met then would stay on the slow lane (measured: at a third of its throughput).
 */
export function note(cost: StatementCost, milliseconds: number): void {
  const known = cost.milliseconds ?? milliseconds;
  cost.milliseconds = milliseconds < known ? milliseconds : known * 0.9 + milliseconds * 0.1;
}

interface PipelinedConnection {
  readonly client: pg.Client;
  /** Names of the statements that are prepared on it, with their texts. */
  readonly names: LRUCache<string, string>;
  /** The statement that had to make room for the last one. */
  forget: string | undefined;
  pending: number;
  usable: boolean;
}

export interface PipelinedLane {
  run(query: Query, cost?: StatementCost): Promise<readonly Row[]>;
  pending(): number;
  size(): number;
  close(): Promise<void>;
}

/** `size` connections at most, opened as they are needed. */
export function makePipelinedLane(config: pg.ClientConfig, size: number, options: LaneOptions): PipelinedLane {
  const { slack = 0 } = options;
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
    const connection: PipelinedConnection = {
      client,
      names: new LRUCache<string, string>({
        max: MAX_STATEMENTS,
        dispose: (_text, name, reason) => {
          if (reason === 'evict') connection.forget = name;
        },
      }),
      forget: undefined,
      pending: 0,
      usable: true,
    };
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

  /**
   * The connection with the fewest unanswered statements; but that on which a statement of this name is likely to be
   * prepared already, unless it is much busier. With thousands of statements each is prepared on one connection.
   */
  function pick(name: string | undefined): PipelinedConnection | undefined {
    let best = connections[0];
    if (best === undefined) return undefined;
    for (let index = 1; index < connections.length; index++) {
      const candidate = connections[index] as PipelinedConnection;
      if (candidate.pending < best.pending) best = candidate;
    }
    if (name === undefined || connections.length === 1) return best;
    const home = connections[Number.parseInt(name.slice(-4), 36) % connections.length];
    return home !== undefined && home.pending <= best.pending + slack ? home : best;
  }

  function send(
    connection: PipelinedConnection,
    query: Query,
    cost: StatementCost | undefined,
  ): Promise<readonly Row[]> {
    const { name = UNNAMED, text } = query;
    const isNew = name === UNNAMED || connection.names.get(name) !== text;
    connection.forget = undefined;
    if (isNew && name !== UNNAMED) connection.names.set(name, text);
    const run = {
      text,
      parameters: query.values as Parameter[],
      statement: name,
      isNew,
      forget: connection.forget,
      gather: pending > 0,
    };
    // Only a statement that was alone on its connection tells its own time.
    const started = cost !== undefined && connection.pending === 0 ? performance.now() : 0;
    connection.pending++;
    pending++;
    return new Promise((resolve, reject) => {
      runStatement(connection.client, run, (error, rows) => {
        connection.pending--;
        pending--;
        if (error === null) {
          if (started > 0) note(cost as StatementCost, performance.now() - started);
          resolve(rows);
          return;
        }
        // It may be that PostgreSQL could not even parse it.
        if (isNew) connection.names.delete(name);
        reject(isConnectionLoss(error) ? translateConnectionError(error) : error);
      });
    });
  }

  async function runNow(query: Query, cost: StatementCost | undefined): Promise<readonly Row[]> {
    if (closing) throw serviceUnavailable('The server is shutting down');
    if (performance.now() - failedAt < RECONNECT_PAUSE_MS) throw translateConnectionError(failure);
    await grow().catch((error) => {
      throw translateConnectionError(error);
    });
    const connection = pick(query.name);
    if (connection === undefined) throw translateConnectionError(new Error('Connection terminated'));
    return send(connection, query, cost);
  }

  return {
    run(query, cost) {
      const connection = pick(query.name);
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

export function queueFull(): Error {
  return serviceUnavailable('Too many requests wait for the database; retry', 1);
}
