// Work with connections of its own: sessions, transactions, single statements on the control tables, and the cancelling of
// what another connection does.

import type pg from 'pg';
import { queryTimeout } from '../errors.ts';
import type { Query } from '../sql/fragment.ts';
import { STATEMENTS, traceStatement } from '../tracing.ts';
import { isSessionBroken } from './cluster-dialect.ts';
import { destroy, type OpenedConnection } from './connect.ts';
import {
  clientDisconnected,
  isConnectionLoss,
  isReadOnlyServer,
  StaleStatement,
  translateConnectionError,
  translateStatementError,
} from './errors.ts';
import { type Executor, isInForce, type PoolName, type Row, type StatementOptions } from './executor.ts';
import type { Lease, SessionPool } from './session-pool.ts';
import {
  type Cancel,
  getPrepared,
  runWatched,
  type WatchedConnection,
  watchStatement,
  withResponseTimeout,
} from './statement.ts';

/**
 * Which connections a session is taken from. `control`: short work on the control tables, never kept waiting by records.
 * `transfer`: imports and exports. `batch`: requests that are transactions of several statements. `migration`: work that
 * may take hours. `look`: whether the nodes of a cluster are there, never kept waiting by what waits for one of them.
 */
export type Purpose = 'control' | 'transfer' | 'batch' | 'migration' | 'look';

export interface Session {
  /** Rows as objects, values by the driver's types (64-bit integers as strings, dates as Date). */
  query<T = Record<string, unknown>>(query: Query): Promise<T[]>;
  /** Several statements in one text, without values: DDL. */
  execute(text: string): Promise<void>;
  /** The driver's client, for COPY streams. */
  readonly client: pg.ClientBase;
  /** The backend's number; where a pooler gives each transaction another one, without use. */
  readonly pid: number;
  /** For Database.cancel(), where the number is without use. */
  readonly cancel?: (() => Promise<void>) | undefined;
  /**
   * Ends the connection from this side, with all that runs on it. For what even a cancelling does not end: a coordinator that waits
   * for a silent node hears nothing else.
   */
  readonly cut: () => void;
}

/** Who asks for a session: what one tenant has at once is bounded, and nobody waits longer than the deadline. */
export interface SessionOptions extends Pick<StatementOptions, 'tenant' | 'deadline' | 'signal' | 'node'> {
  readonly purpose?: Purpose;
}

/** A session outlives its transactions, so it is none of those that may go through a pooler. */
export interface OwnSessionOptions extends SessionOptions {
  readonly purpose?: 'control' | 'migration';
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

export interface SessionsOptions {
  readonly pools: Readonly<Record<Purpose, SessionPool>>;
  /** Connections to cancel by: those for the control tables may wait for a lock while a statement must end. */
  readonly canceller: SessionPool;
  readonly statementTimeoutMs: number;
  /** A write met a server that takes none. */
  readonly onReadOnly: () => void;
}

/** See Database. */
export interface Sessions {
  query<T = Record<string, unknown>>(query: Query): Promise<T[]>;
  session<T>(work: (session: Session) => Promise<T>, options?: OwnSessionOptions): Promise<T>;
  transaction<T>(work: (transaction: Transaction) => Promise<T>, options?: TransactionOptions): Promise<T>;
  readonly cancel: Cancel;
}

export function makeSessions({ pools, canceller, statementTimeoutMs, onReadOnly }: SessionsOptions): Sessions {
  /** Works with a connection of its own; one that broke, or that `work` says is broken, is not used again. */
  async function withConnection<T>(
    { purpose = 'control', ...request }: SessionOptions,
    work: (session: Session, lease: Lease, markBroken: () => void) => Promise<T>,
  ): Promise<T> {
    const lease = await pools[purpose].take(request);
    let isBroken = false;
    const markBroken = (): void => {
      isBroken = true;
    };
    try {
      return await work(makeSession(lease.connection, markBroken), lease, markBroken);
    } catch (error) {
      if (isConnectionLoss(error)) isBroken = true;
      if (isReadOnlyServer(error)) onReadOnly();
      throw error;
    } finally {
      // Whatever was forgotten on the way: a transaction that is open would take in what others do.
      lease.release(isBroken || isInTransaction(lease.connection.client));
    }
  }

  async function cancel(connection: Parameters<Cancel>[0]): Promise<void> {
    if (connection.cancel !== undefined) return connection.cancel();
    const lease = await canceller.take();
    let isBroken = true;
    try {
      // With its type: extensions may have another function of that name.
      await lease.connection.client.query({ text: 'select pg_cancel_backend($1::int4)', values: [connection.pid] });
      isBroken = false;
    } finally {
      lease.release(isBroken);
    }
  }

  /** The statement ends at its deadline, or its connection does. */
  async function queryWithTimeout(session: Session, connection: OpenedConnection, query: Query): Promise<unknown[]> {
    const watch = watchStatement(connection, cancel, { deadline: performance.now() + statementTimeoutMs });
    let isBroken = true;
    try {
      const rows = await session.query(query);
      isBroken = false;
      return rows;
    } catch (error) {
      isBroken = isConnectionLoss(error);
      throw error;
    } finally {
      await watch.end(isBroken);
    }
  }

  function makeExecutor(connection: OpenedConnection, markBroken: () => void): Executor {
    return makeSessionExecutor({
      connection: omitOpening(connection),
      cancel,
      statementTimeoutMs,
      onError(error) {
        if (isConnectionLoss(error)) markBroken();
        if (isReadOnlyServer(error)) onReadOnly();
      },
    });
  }

  return {
    query: (query) =>
      withConnection({}, (session, { connection }) => queryWithTimeout(session, connection, query) as Promise<never>),
    session: (work, sessionOptions = {}) => withConnection(sessionOptions, work),
    transaction: (
      work,
      { isolation = 'read committed', readOnly = false, statementTimeoutMs: limit, ...request } = {},
    ) =>
      withConnection(request, async (session, { connection }, markBroken) => {
        // What is set for it goes with its beginning: a round trip less.
        const milliseconds = Math.ceil(limit ?? 0);
        const limits =
          limit === undefined
            ? ''
            : `; set local statement_timeout = ${milliseconds}; set local idle_in_transaction_session_timeout = ${milliseconds}`;
        // BEGIN has nothing to wait for; what the end waits for has the limit of a statement.
        const isLong = request.deadline === undefined && (request.purpose ?? 'control') !== 'control';
        const timeoutMs = limit ?? (isLong ? undefined : statementTimeoutMs);
        const endTransaction = (text: string): Promise<void> =>
          timeoutMs === undefined
            ? session.execute(text)
            : withResponseTimeout(connection, timeoutMs, () => session.execute(text));
        const opening = connection.opening === undefined ? '' : `; ${connection.opening.text}`;
        const beginStatement = `begin isolation level ${isolation}${readOnly ? ' read only' : ''}${opening}${limits}`;
        await withResponseTimeout(connection, statementTimeoutMs, () => session.execute(beginStatement)).catch(
          async (error) => {
            // Nothing was done yet.
            if (isConnectionLoss(error)) markBroken();
            // It may have been cancelled behind its BEGIN.
            else await endTransaction('rollback').catch(markBroken);
            throw translateStatementError(error);
          },
        );
        try {
          const result = await work({ ...session, executor: makeExecutor(connection, markBroken) });
          await endTransaction('commit');
          return result;
        } catch (error) {
          // When even the rollback fails, the connection must not be used again.
          await endTransaction('rollback').catch(markBroken);
          throw error;
        }
      }),
    cancel,
  };
}

/** As PostgreSQL has said last (ReadyForQuery: I for idle, T and E for a transaction that is open or has failed). */
const isInTransaction = (client: pg.ClientBase): boolean => {
  const status = (client as pg.Client).getTransactionStatus();
  return status === 'T' || status === 'E';
};

/** In a transaction that has begun. */
const omitOpening = ({ opening: _, ...connection }: OpenedConnection): OpenedConnection => connection;

/** `broken`: the connection must not be used again. */
function makeSession(connection: OpenedConnection, markBroken: () => void): Session {
  const { client, pid, cancel } = connection;
  const run = <T>(result: Promise<T>): Promise<T> =>
    result.catch((error) => {
      if (isSessionBroken(error)) markBroken();
      throw error;
    });
  return {
    client,
    pid,
    cancel,
    cut: () => destroy(connection),
    async query<T>(query: Query) {
      const result = await run(client.query({ text: query.text, values: query.values as unknown[] }));
      return result.rows as T[];
    },
    async execute(text) {
      await run(client.query(text));
    },
  };
}

export interface SessionExecutorOptions {
  readonly connection: Omit<WatchedConnection, 'opening'>;
  readonly cancel: Cancel;
  /** How long a statement may take whose work names no deadline. */
  readonly statementTimeoutMs: number;
  /** Gets each error of a statement as the driver gave it. */
  readonly onError: (error: unknown) => void;
}

/**
 * Runs statements in the transaction that is open on a connection, in the order in which they are given, whether or not
 * those before are answered. A read ends when its caller leaves, a write that was begun is finished; both end at their
 * deadline. Nothing runs again in a transaction, so statements are bounded wherever plain ones might build too much.
 */
export function makeSessionExecutor(options: SessionExecutorOptions): Executor {
  const { connection, statementTimeoutMs, onError } = options;
  /** Resolves when all statements so far were sent, or not sent. */
  let previousSends: Promise<unknown> = Promise.resolve();
  let cancelling: Promise<void> | undefined;
  // One for all that were sent: the transaction ends with the statement that it meets.
  const cancel: Cancel = (one) => {
    cancelling ??= options.cancel(one).finally(() => {
      cancelling = undefined;
    });
    return cancelling;
  };

  async function run(query: Query, pool: PoolName, statementOptions: StatementOptions = {}): Promise<readonly Row[]> {
    const deadline = statementOptions.deadline ?? performance.now() + statementTimeoutMs;
    if (performance.now() >= deadline) throw queryTimeout();
    if (statementOptions.signal?.isAborted() === true) throw clientDisconnected();
    const isCurrent = previousSends.then(() => isInForce(statementOptions));
    previousSends = isCurrent.catch(() => undefined);
    if (!(await isCurrent)) throw new StaleStatement();
    const signal = pool === 'read' ? statementOptions.signal : undefined;
    const statement = query.bounded?.() ?? query;
    try {
      return await runWatched(connection, statement, getPrepared(connection.client), cancel, { deadline, signal });
    } catch (error) {
      onError(error);
      throw isConnectionLoss(error) ? translateConnectionError(error) : error;
    }
  }

  return {
    isTransaction: true,
    run: (query, pool, statementOptions) =>
      STATEMENTS.hasSubscribers
        ? traceStatement(query.text, pool, () => run(query, pool, statementOptions))
        : run(query, pool, statementOptions),
  };
}
