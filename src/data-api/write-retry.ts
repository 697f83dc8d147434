// Retries writes that were rolled back, or whose reason to fail has gone meanwhile.
import { isRetryable } from '../database/errors.ts';
import { ApiError, serviceUnavailable } from '../errors.ts';
import type { EntityContext } from './context.ts';
import { toRecordError } from './record-error.ts';

const WRITE_ATTEMPTS = 4;

/**
 * Retries `attempt` until it has an outcome: after deadlocks and serialization failures, which are rolled back, and
 * when it returns undefined, as the reason has gone meanwhile. In a transaction nothing is retried after an error.
 */
export async function retryWrite<T>(context: EntityContext, attempt: () => Promise<T | undefined>): Promise<T> {
  for (let attempts = 1; ; attempts++) {
    try {
      const outcome = await attempt();
      if (outcome !== undefined) return outcome;
      if (attempts >= WRITE_ATTEMPTS)
        throw serviceUnavailable('RECORD_BUSY', 'The record is changing at the moment; retry');
    } catch (error) {
      const isRolledBack = isRetryable(error instanceof ApiError ? error.cause : error);
      if (!isRolledBack || context.executor.isTransaction || attempts >= WRITE_ATTEMPTS) {
        throw isRetryable(error) ? toRecordError(error, context.workspace, context.entity.name, 'update') : error;
      }
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 20 * 2 ** attempts));
    }
  }
}
