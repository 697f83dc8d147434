// Transient errors, and the delay before a retry.
import { isApiError } from './api-error.ts';

/** Returns whether the same request may succeed later: no response, too many requests, or a temporary refusal. */
export const isTransient = (error: unknown): boolean =>
  isApiError(error) &&
  (error.status === 0 || error.status === 429 || (error.status === 503 && error.code !== 'QUERY_TIMEOUT'));

/** Returns the milliseconds before a retry, as the server asks, or undefined if the error is final. */
export function retryDelay(error: unknown, failures: number): number | undefined {
  if (!isApiError(error) || !isTransient(error)) return undefined;
  return error.retryAfterSeconds === undefined ? Math.min(300 * 2 ** failures, 3000) : error.retryAfterSeconds * 1000;
}

/** Resolves after a pause, or as soon as the signal aborts. */
export const sleep = (milliseconds: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal?.addEventListener('abort', end);
  });
