// A lane of pipelined connections: quick statements one after the other without waiting for the answers of those before,
// each on the connection where it costs least, prepared once and kept prepared while they are used.
import pg from 'pg';
import { serviceUnavailable } from '../errors.ts';
import type { Query } from '../sql/fragment.ts';
import { note, noteWork, type StatementCost } from './cost.ts';
import { isConnectionLoss, translateConnectionError } from './pg-error.ts';
import { makePrepared, type Prepared } from './prepared.ts';
import { watchSilence } from './silence.ts';
import { type Row, runStatement } from './statement.ts';
import type { Parameter } from './wire.ts';

export interface LaneOptions {
  /**
   * How many connections are worth to be busy at once. A further one is used when all of these have long to do: on a
   * machine without a free core another busy backend only takes time from the others (with one instead of four, 32
   * clients on two cores: 1.2 times the requests, and a p99 of 7 instead of 50 ms).
   */
  readonly parallel: number;
  readonly maxQueue: number;
  readonly statementTimeoutMs: number;
  readonly onError: (message: string, error: unknown) => void;
}

// Statements kept prepared on a connection: PostgreSQL keeps the plan of each (10 to 100 kB, most 30).
const MAX_STATEMENTS = 1200;
// While the database is away, connecting is tried again at most this often; requests in between fail at once.
const RECONNECT_PAUSE_MS = 250;
// What it costs to send a statement to a connection, in ms that it could wait elsewhere instead: to prepare it, to make
// one more backend busy, to prepare it in place of another that will be asked for again (which is dearer than a further
// backend, or thousands of statements would all crowd the first: 0.57 instead of 0.67 of the requests over 2,000
// workspaces).
const PREPARE_MS = 0.5;
const FURTHER_MS = 5;
const REPLACE_MS = 6;
// What a statement is supposed to take before it was seen.
const UNKNOWN_MS = 1;
// The least that one takes.
const MIN_WORK_MS = 0.02;
// The quickest answer tells the round trip; should that become longer, it is learned after some thousand answers.
const ROUND_TRIP_GROWTH = 1.0001;
// No more is sent to a connection that has so much to do; what waits here can still go to whichever is free first.
const FULL_MS = 10;
// How many of those that wait are looked at for one that is prepared on the connection that is free.
const LOOK_AHEAD = 32;
// After so long a statement goes to the next free connection, prepared there or not.
const MAX_DETOUR_MS = 5;

interface PipelinedConnection {
  readonly client: pg.Client;
  readonly prepared: Prepared;
  pending: number;
  /** What the pending ones take together, in milliseconds. */
  work: number;
  answeredAt: number;
  usable: boolean;
}

/** A statement that has not been sent. */
interface Waiting {
  readonly query: Query;
  readonly cost: StatementCost | undefined;
  readonly since: number;
  readonly resolve: (rows: readonly Row[] | Promise<readonly Row[]>) => void;
  readonly reject: (error: unknown) => void;
}

export interface PipelinedLane {
  run(query: Query, cost?: StatementCost): Promise<readonly Row[]>;
  /** Statements that wait or run. */
  pending(): number;
  size(): number;
  close(): Promise<void>;
}

/** `size` connections at most, opened as they are needed. */
export function makePipelinedLane(config: pg.ClientConfig, size: number, options: LaneOptions): PipelinedLane {
  const connections: PipelinedConnection[] = [];
  const queue: Waiting[] = [];
  let sent = 0;
  let closing = false;
  let connecting: Promise<void> | undefined;
  let failedAt = Number.NEGATIVE_INFINITY;
  let failure: unknown;
  let roundTripMs = Number.POSITIVE_INFINITY;

  function retire(connection: PipelinedConnection): void {
    if (!connection.usable) return;
    connection.usable = false;
    const index = connections.indexOf(connection);
    // It may have failed before it was one of them.
    if (index < 0) return;
    connections.splice(index, 1);
    if (connections.length > 0) return;
    for (const { query, cost, resolve } of queue.splice(0)) resolve(runNow(query, cost));
  }

  async function connect(): Promise<void> {
    const client = new pg.Client({ ...config, pipeline: true } as pg.ClientConfig);
    const connection: PipelinedConnection = {
      client,
      prepared: makePrepared(MAX_STATEMENTS),
      pending: 0,
      work: 0,
      answeredAt: 0,
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
      feed(connection);
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

  /** The connection where the statement costs least; undefined when it had better wait. */
  function pick(query: Query): PipelinedConnection | undefined {
    let best: PipelinedConnection | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (let index = 0; index < connections.length; index++) {
      const connection = connections[index] as PipelinedConnection;
      let price = index < options.parallel ? connection.work : connection.work + FURTHER_MS;
      if (price >= least) continue;
      if (query.name !== undefined && !connection.prepared.has(query)) {
        price += connection.prepared.isFull() ? REPLACE_MS : PREPARE_MS;
      }
      if (price >= least) continue;
      best = connection;
      least = price;
    }
    return best !== undefined && hasRoom(best) ? best : undefined;
  }

  const hasRoom = ({ pending, work }: PipelinedConnection): boolean => pending === 0 || work < FULL_MS;

  /** Gives a connection that has room what it should run next. */
  function feed(connection: PipelinedConnection): void {
    while (queue.length > 0 && connection.usable && hasRoom(connection)) {
      const index = nextFor(connection);
      if (index < 0) return;
      const [{ query, cost, resolve, reject }] = queue.splice(index, 1) as [Waiting];
      send(connection, query, cost, resolve, reject);
    }
  }

  /** Index in the queue, or -1. */
  function nextFor(connection: PipelinedConnection): number {
    const [oldest] = queue as [Waiting];
    if (connection.pending === 0 || performance.now() - oldest.since > MAX_DETOUR_MS) return 0;
    const end = Math.min(queue.length, LOOK_AHEAD);
    for (let index = 0; index < end; index++) {
      const { query } = queue[index] as Waiting;
      if (query.name === undefined || connection.prepared.has(query)) return index;
    }
    return -1;
  }

  function send(
    connection: PipelinedConnection,
    query: Query,
    cost: StatementCost | undefined,
    resolve: Waiting['resolve'],
    reject: Waiting['reject'],
  ): void {
    const naming = connection.prepared.name(query);
    const run = { ...naming, text: query.text, parameters: query.values as Parameter[], gather: sent > 0 };
    const started = performance.now();
    const isAlone = connection.pending === 0;
    const work = cost?.work ?? UNKNOWN_MS;
    connection.work += work;
    connection.pending++;
    sent++;
    runStatement(connection.client, run, (error, rows) => {
      connection.pending--;
      // Sums of fractions drift.
      connection.work = connection.pending === 0 ? 0 : connection.work - work;
      sent--;
      if (error === null) {
        const now = performance.now();
        learn(cost, isAlone, now - started, now - connection.answeredAt);
        connection.answeredAt = now;
        resolve(rows);
      } else {
        connection.prepared.failed(naming);
        reject(isConnectionLoss(error) ? translateConnectionError(error) : error);
      }
      feed(connection);
    });
  }

  /** Only a statement that was alone on its connection tells its own time; the others began when the one before ended. */
  function learn(cost: StatementCost | undefined, isAlone: boolean, took: number, sinceLast: number): void {
    if (isAlone) roundTripMs = Math.min(took, roundTripMs * ROUND_TRIP_GROWTH);
    if (cost === undefined) return;
    if (isAlone) note(cost, took);
    noteWork(cost, Math.max(MIN_WORK_MS, isAlone ? took - roundTripMs : Math.min(took, sinceLast)));
  }

  async function runNow(query: Query, cost: StatementCost | undefined): Promise<readonly Row[]> {
    if (closing) throw serviceUnavailable('The server is shutting down');
    if (performance.now() - failedAt < RECONNECT_PAUSE_MS) throw translateConnectionError(failure);
    await grow().catch((error) => {
      throw translateConnectionError(error);
    });
    if (connections.length === 0) throw translateConnectionError(new Error('Connection terminated'));
    return dispatch(query, cost);
  }

  function dispatch(query: Query, cost: StatementCost | undefined): Promise<readonly Row[]> {
    return new Promise((resolve, reject) => {
      const connection = pick(query);
      if (connection !== undefined) send(connection, query, cost, resolve, reject);
      else queue.push({ query, cost, since: performance.now(), resolve, reject });
    });
  }

  return {
    run(query, cost) {
      if (connections.length === 0) return runNow(query, cost);
      if (sent + queue.length >= options.maxQueue) return Promise.reject(queueFull());
      if (connections.length < size && connecting === undefined && !closing && sent >= connections.length) {
        grow().catch((error) => options.onError('database connection failed', error));
      }
      return dispatch(query, cost);
    },
    pending: () => sent + queue.length,
    size: () => connections.length,
    async close() {
      closing = true;
      await connecting?.catch(() => undefined);
      for (const { reject } of queue.splice(0)) reject(serviceUnavailable('The server is shutting down'));
      await Promise.all(connections.splice(0).map((connection) => connection.client.end().catch(() => undefined)));
    },
  };
}

export function queueFull(): Error {
  return serviceUnavailable('Too many requests wait for the database; retry', 1);
}
