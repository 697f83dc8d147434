// Errors of statements on the control tables and of DDL -> refusals.
import { isDatabaseError, lostNode, sqlState, statementError } from '../db/errors.ts';
import { type ApiError, conflict, nodesAway } from '../errors.ts';

export function controlError(error: unknown): ApiError {
  if (sqlState(error) === '53200') {
    return conflict(
      'TOO_MANY_LOCKS',
      'The change touches more tables and indexes than this PostgreSQL locks at once: apply it in parts, or raise max_locks_per_transaction',
      undefined,
      error,
    );
  }
  return statementError(error);
}

/** The same for the operator, who is told which node of a cluster does not answer. */
export function operatorError(error: unknown): ApiError {
  const node = lostNode(error);
  return node === undefined ? controlError(error) : nodesAway([node], error);
}

/** True when this constraint or index of a control table refused the statement. */
export function violates(error: unknown, constraint: string): boolean {
  return isDatabaseError(error) && error.constraint === constraint;
}

/** 409 for a name that is taken. */
export function taken(what: string, field: string, cause?: unknown): ApiError {
  return conflict(
    'NOT_UNIQUE',
    `${what} exists already`,
    [{ field, code: 'NOT_UNIQUE', message: 'must be unique: another one has this value' }],
    cause,
  );
}
