// Runs a request of several statements in one transaction, which is retried as a whole after a deadlock, a
// serialization failure or a change of the schema.
import type { Config } from '../config.ts';
import {
  clientDisconnected,
  isConnectionLoss,
  isOutcomeUnknown,
  isRetryable,
  translateStatementError,
} from '../database/errors.ts';
import type { Executor } from '../database/pool.ts';
import { ApiError, databaseUnavailable, queryTimeout } from '../errors.ts';
import { runInSlices } from '../http/body.ts';
import { parseExact, readJson, UNLIMITED } from '../model/exact-json.ts';
import type { Call } from '../request/call.ts';
import type { Reply } from '../response/reply.ts';
import type { Databases } from '../store/databases.ts';
import type { Deadline, RequestContext, StatementKey } from './context.ts';
import { writeUnknown } from './errors.ts';
import type { SnapshotRetry } from './retry.ts';

export interface TransactionDeps {
  readonly config: Config;
  readonly databases: Databases;
  readonly retry: SnapshotRetry;
  readonly execute: ExecuteCall;
}

/** Runs a call on an executor: the pools of a database, or a transaction. */
export type ExecuteCall = (
  context: RequestContext,
  call: Call,
  executor: Executor,
  key?: StatementKey,
) => Promise<Reply>;

export interface TransactionOptions {
  /** Whether everything is executed and rolled back. */
  readonly isDryRun: boolean;
  /** Whether the request may be sent again when its outcome is unknown. */
  readonly isRepeatable: boolean;
}

// Retries of the whole transaction after a deadlock or a serialization failure.
const MAX_RETRIES = 3;

const DRY_RUN_ROLLBACK = new Error('a dry run is undone');

/** Returns the result of `work` after the commit. `executor`: the transaction; `current`: by the current schema. */
export function runTransaction<T>(
  { databases, retry }: TransactionDeps,
  context: RequestContext,
  { isDryRun, isRepeatable }: TransactionOptions,
  work: (executor: Executor, current: RequestContext) => Promise<T>,
): Promise<T> {
  const database = databases.forWorkspace(context.workspace);
  const { signal, deadline } = context;

  async function attempt(current: RequestContext): Promise<T> {
    let isAtCommit = false;
    let result: { readonly value: T } | undefined;
    try {
      await database.transaction(
        async ({ executor }) => {
          result = { value: await work(executor, current) };
          if (isDryRun) throw DRY_RUN_ROLLBACK;
          if (signal.isAborted()) throw clientDisconnected();
          isAtCommit = true;
        },
        {
          purpose: 'batch',
          tenant: current.workspace.id,
          deadline: deadline.at,
          signal: signal,
          node: databases.topology.getNode(current.workspace),
          statementTimeoutMs: getRemainingMs(deadline),
        },
      );
    } catch (error) {
      if (error !== DRY_RUN_ROLLBACK) {
        if (isAtCommit && (isConnectionLoss(error) || isOutcomeUnknown(error)))
          throw isRepeatable ? databaseUnavailable(error) : writeUnknown(error);
        // A cancelled COMMIT has done nothing. Errors of the work are left to the caller, who can retry it.
        throw isAtCommit ? translateStatementError(error) : error;
      }
    }
    return (result as { readonly value: T }).value;
  }

  return retry.run(context, { executor: database }, (current) => retryConflicts(deadline, () => attempt(current)));
}

function getRemainingMs(deadline: Deadline): number {
  const remainingMs = deadline.at - performance.now();
  if (remainingMs <= 0) throw queryTimeout();
  return remainingMs;
}

/** Retries deadlocks and serialization failures, whose transactions are rolled back. */
async function retryConflicts<T>(deadline: Deadline, work: () => Promise<T>): Promise<T> {
  for (let retries = 0; ; retries++) {
    try {
      return await work();
    } catch (error) {
      if (!isRetryable(error instanceof ApiError ? error.cause : error) || retries === MAX_RETRIES) throw error;
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 20 * 2 ** retries));
      getRemainingMs(deadline);
    }
  }
}

// So many characters are parsed in half a millisecond.
const MAX_SYNC_CHARACTERS = 8192;

/** Parses a reply of this server. A long one is parsed in slices. */
export async function parseResponse(text: string, { request, signal }: RequestContext): Promise<unknown> {
  return text.length <= MAX_SYNC_CHARACTERS
    ? parseExact(text)
    : runInSlices(readJson(text, UNLIMITED), request.slices, signal);
}
