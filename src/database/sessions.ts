// Sessions, transactions and single statements on the control tables, each on a connection of its own; and the cancelling of
// statements of other connections.

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
import { getPrepared } from './prepared-statements.ts';
import type { Lease, SessionPool } from './session-pool.ts';
import {
  type Cancel,
  runWatched,
  type WatchedConnection,
  watchStatement,
  withResponseTimeout,
} from './statement-watch.ts';

/**
 * Pool that a session comes from. `control`: short work on the control tables, never delayed by records. `transfer`: imports
 * and exports. `batch`: requests that are transactions of several statements. `migration`: work that may take hours. `look`:
 * checks whether the nodes of a cluster answer, never delayed by work that waits for a node.
 */
export type Purpose = 'control' | 'transfer' | 'batch' | 'migration' | 'move' | 'look';

export interface Session {
  /** Rows as objects, values by the driver's types (64-bit integers as strings, dates as Date). */
  query<T = Record<string, unknown>>(query: Query): Promise<T[]>;
  /** Runs several statements in one text, without values: DDL. */
  execute(text: string): Promise<void>;
  /** The driver's client, for COPY streams. */
  readonly client: pg.ClientBase;
  /** Process id of the backend; meaningless where a pooler gives each transaction another backend. */
  readonly pid: number;
  /** Cancels the running statement where `pid` is meaningless; for Database.cancel(). */
  readonly cancel?: (() => Promise<void>) | undefined;
  /**
   * Ends the connection from this side, with everything that runs on it. Needed where even cancelling has no effect: a
   * coordinator that waits for a silent node takes no other message.
   */
  readonly cut: () => void;
}

/** Bounds a session: the share of its tenant, and the deadline until which it may be waited for. */
export interface SessionOptions extends Pick<StatementOptions, 'tenant' | 'deadline' | 'signal' | 'node'> {
  readonly purpose?: Purpose;
}

/** Options of a session that outlives its transactions, which therefore must not go through a pooler. */
export interface OwnSessionOptions extends SessionOptions {
  readonly purpose?: 'control' | 'migration' | 'move';
}

export interface TransactionOptions extends SessionOptions {
  /** `repeatable read` gives one snapshot to all statements. */
  readonly isolation?: 'read committed' | 'repeatable read';
  readonly statementTimeoutMs?: number;
  readonly readOnly?: boolean;
}

/** A session with an open transaction. */
export interface Transaction extends Session {
  /** Runs statements in the transaction as the pipelined pools would, rows as text. */
  readonly executor: Executor;
}

export interface SessionsOptions {
  readonly pools: Readonly<Record<Purpose, SessionPool>>;
  /** Connections for cancelling: those for the control tables may wait for a lock when a statement must end. */
  readonly canceller: SessionPool;
  readonly statementTimeoutMs: number;
  /** Called when a write meets a server that takes none. */
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
  /** Works with a connection of its own, which is closed afterwards if it broke or `work` marks it as broken. */
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
      // An open transaction, whatever the reason, would take in the statements of the next user.
      lease.release(isBroken || isInTransaction(lease.connection.client));
    }
  }

  async function cancel(connection: Parameters<Cancel>[0]): Promise<void> {
    if (connection.cancel !== undefined) return connection.cancel();
    const lease = await canceller.take();
    let isBroken = true;
    try {
      // The type is given because extensions may have another function of that name.
      await lease.connection.client.query({ text: 'select pg_cancel_backend($1::int4)', values: [connection.pid] });
      isBroken = false;
    } finally {
      lease.release(isBroken);
    }
  }

  /** Runs a statement until its deadline; closes the connection if it does not end then. */
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
        // Sends the settings of the transaction together with its BEGIN, which saves a round trip.
        const milliseconds = Math.ceil(limit ?? 0);
        const limits =
          limit === undefined
            ? ''
            : `; set local statement_timeout = ${milliseconds}; set local idle_in_transaction_session_timeout = ${milliseconds}`;
        // BEGIN has nothing to wait for; the end of the transaction has the limit of a statement.
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
            // No statement of the transaction has run yet.
            if (isConnectionLoss(error)) markBroken();
            // The statement may have been cancelled after its BEGIN.
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

/** Reads the last status from PostgreSQL (ReadyForQuery: I for idle, T and E for an open or failed transaction). */
const isInTransaction = (client: pg.ClientBase): boolean => {
  const status = (client as pg.Client).getTransactionStatus();
  return status === 'T' || status === 'E';
};

/** Removes the opening: the transaction has already started. */
const omitOpening = ({ opening: _, ...connection }: OpenedConnection): OpenedConnection => connection;

/** Makes a session; `markBroken` is called when its connection must not be used again. */
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
  /** Longest time of a statement without a deadline. */
  readonly statementTimeoutMs: number;
  /** Receives each error of a statement as the driver gave it. */
  readonly onError: (error: unknown) => void;
}

/**
 * Runs statements in the open transaction of a connection, in the order of the calls, whether or not earlier ones are
 * answered. A read ends when its caller leaves, a started write is finished; both end at their deadline. Nothing is retried
 * in a transaction, so statements are bounded wherever plain ones might build too much.
 */
export function makeSessionExecutor(options: SessionExecutorOptions): Executor {
  const { connection, statementTimeoutMs, onError } = options;
  /** Resolves when all statements so far were sent, or rejected. */
  let previousSends: Promise<unknown> = Promise.resolve();
  let cancelling: Promise<void> | undefined;
  // One cancellation serves all statements that were sent: the transaction ends with the statement that it meets.
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
