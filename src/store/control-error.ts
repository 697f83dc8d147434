// Errors of statements on the control tables and of DDL -> refusals.
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

/** The same for the operator, who is told which node of a cluster does not answer. */
export function toOperatorError(error: unknown): ApiError {
  const node = findLostNode(error);
  return node === undefined ? toControlError(error) : nodesUnavailable([node], error);
}

/** True when this constraint or index of a control table refused the statement. */
export function isViolation(error: unknown, constraint: string): boolean {
  return isDatabaseError(error) && error.constraint === constraint;
}

/** 409 for a name that is taken. */
export function makeNameConflict(what: string, field: string, cause?: unknown): ApiError {
  return conflict(
    'NOT_UNIQUE',
    `${what} exists already`,
    [{ field, code: 'NOT_UNIQUE', message: 'must be unique: another one has this value' }],
    cause,
  );
}
