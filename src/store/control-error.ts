// Translates errors of statements on the control tables and of DDL into API errors.
import { findLostNode, getSqlState, isDatabaseError, translateStatementError } from '../database/errors.ts';
import { type ApiError, conflict, nodesUnavailable } from '../errors.ts';

export function toControlError(error: unknown): ApiError {
  if (getSqlState(error) === '53200') {
    return conflict(
      'TOO_MANY_LOCKS',
      'The change touches more tables and indexes than this PostgreSQL locks at once: apply it in parts, or raise max_locks_per_transaction',
      undefined,
      error,
    );
  }
  return translateStatementError(error);
}

/** Translates an error for the operator, with the node of a cluster that does not answer. */
export function toOperatorError(error: unknown): ApiError {
  const node = findLostNode(error);
  return node === undefined ? toControlError(error) : nodesUnavailable([node], error);
}

/** Returns whether the error is a violation of this constraint or index. */
export function isViolation(error: unknown, constraint: string): boolean {
  return isDatabaseError(error) && error.constraint === constraint;
}

/** Builds the 409 error of a name that is already in use. */
export function makeNameConflict(what: string, field: string, cause?: unknown): ApiError {
  return conflict(
    'NOT_UNIQUE',
    `${what} exists already`,
    [{ field, code: 'NOT_UNIQUE', message: 'must be unique: another one has this value' }],
    cause,
  );
}
