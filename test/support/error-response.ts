// Refusals in tests: what must be thrown is one of ours, with its status, code and message.
import assert from 'node:assert/strict';
import { ApiError, type ErrorCode } from '../../src/errors.ts';

/** The refusal that `run` throws; fails when it throws anything else, or nothing. */
export function refusalOf(run: () => unknown): ApiError {
  try {
    const value = run();
    assert.fail(`nothing was refused; the result is ${JSON.stringify(value)}`);
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}

/** Asserts that `run` is refused with the code and the message (a part of it when it is a RegExp). */
export function refuses(run: () => unknown, message: string | RegExp, code: ErrorCode = 'BAD_REQUEST'): void {
  const refusal = refusalOf(run);
  assert.equal(refusal.code, code);
  if (typeof message === 'string') assert.equal(refusal.message, message);
  else assert.match(refusal.message, message);
}

/** The result of `run`, or undefined when it is refused with 400. Anything else that is thrown passes through. */
export function unlessBadRequest<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch (error) {
    if (error instanceof ApiError && error.status === 400) return undefined;
    throw error;
  }
}
