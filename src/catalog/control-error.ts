// Errors of statements on the control tables and of DDL -> refusals.
import { isDatabaseError, sqlState, translateError } from '../db/pg-error.ts';
import { ApiError, conflict, databaseAway } from '../errors.ts';

// No workspace stands behind these statements; their constraints are told apart by violates().
const NO_CONSTRAINTS = { constraints: new Map() };

// The driver's own errors about a connection that broke under a statement have no code.
const LOST = /connection (terminated|ended|error|timeout)|not queryable|client was closed/i;

export function controlError(error: unknown): ApiError {
  if (sqlState(error) === '53200') {
    return conflict(
      'The change touches more tables and indexes than this PostgreSQL locks at once: apply it in parts, or raise max_locks_per_transaction',
      undefined,
      error,
    );
  }
  if (error instanceof Error && !(error instanceof ApiError) && LOST.test(error.message)) return databaseAway(error);
  return translateError(error, NO_CONSTRAINTS, '', 'read');
}

/** Was the statement refused by this constraint or index of a control table? */
export function violates(error: unknown, constraint: string): boolean {
  return isDatabaseError(error) && error.constraint === constraint;
}

/** 409 for a name that is taken. */
export function taken(what: string, field: string, cause?: unknown): ApiError {
  return conflict(
    `${what} exists already`,
    [{ field, code: 'NOT_UNIQUE', message: 'must be unique: another one has this value' }],
    cause,
  );
}
