// Explains why a migration failed, for administrators, from the error and the operation that ran.

import { getSqlState, isNodeLoss } from '../database/errors.ts';
import type { Conflicts, MigrationError } from '../store/migrations.ts';
import type { Operation } from './operation.ts';

const NOTHING = { entity: null, field: null, count: null, sampleIds: [] } as const;

export function buildInterruptedError(): MigrationError {
  return {
    ...NOTHING,
    code: 'INTERRUPTED',
    message: 'The server or the database stopped during the migration; it was rolled back',
  };
}

/** Builds the error of records that conflict with an operation. */
export function buildConflictError(
  { entity, conflictCheck }: Operation,
  { count, sampleIds }: Conflicts,
): MigrationError {
  const records = count === 1 ? '1 record stands' : `${count} records stand`;
  return {
    code: 'DATA_CONFLICT',
    message: `${records} in the way in ${entity}: ${conflictCheck?.reason ?? 'their values do not fit'}`,
    entity,
    field: conflictCheck?.field ?? null,
    count,
    sampleIds,
  };
}

export function buildNameError(name: string): MigrationError {
  return {
    ...NOTHING,
    code: 'NAME_TAKEN',
    message: `${name} exists in the database already, made outside of this API: drop or rename it first`,
  };
}

export function buildTriggersError(operation: Operation | undefined): MigrationError {
  return {
    ...NOTHING,
    code: 'TRIGGERS_DISABLED',
    message:
      'Triggers of the table were disabled while it was changed, as by pg_restore --disable-triggers; nothing was changed. Start again when nobody disables them',
    entity: operation?.entity ?? null,
    field: operation?.conflictCheck?.field ?? null,
  };
}

const DEPENDENT = [
  'DEPENDENT_OBJECTS',
  'Something made outside of this API, such as a view, depends on what would be dropped or changed',
] as const;

const CAUSES: Readonly<Record<string, readonly [code: string, message: string]>> = {
  '55P03': ['LOCK_TIMEOUT', 'Other transactions held the tables for two minutes; try again when they have ended'],
  '40P01': ['LOCK_TIMEOUT', 'Other transactions held the tables for two minutes; try again when they have ended'],
  '2BP01': DEPENDENT,
  // PostgreSQL does not change the type of a column that a view, rule, trigger or policy uses.
  '0A000': DEPENDENT,
  '42P07': ['NAME_TAKEN', 'A table or index of this name exists already, made outside of this API'],
  '42701': ['NAME_TAKEN', 'A column of this name exists already, made outside of this API'],
  '53100': ['DISK_FULL', 'The disk of the database is full'],
  '53200': [
    'OUT_OF_LOCKS',
    'The change touches more tables and indexes than PostgreSQL locks at once: apply it in parts, or raise max_locks_per_transaction',
  ],
  '54000': ['DATA_CONFLICT', 'A value is too long for an index'],
  '54011': ['TOO_MANY_COLUMNS', 'PostgreSQL allows a table 1600 columns in its life, dropped ones included'],
  '42501': ['NOT_ALLOWED', "The database does not let the server's role do this"],
};

/** Returns whether records made the statement fail: unique, null, foreign key, check. */
export function isDataError(error: unknown): boolean {
  return ['23505', '23502', '23503', '23514'].includes(getSqlState(error) ?? '');
}

const NODE_LOST = [
  'INTERRUPTED',
  'A node of the cluster was lost during the migration; what was made is taken back. Start it again when the node is back',
] as const;

export function toMigrationError(error: unknown, operation: Operation | undefined): MigrationError {
  const cause = isNodeLoss(error) ? NODE_LOST : CAUSES[getSqlState(error) ?? ''];
  const [code, message] = cause ?? [
    isDataError(error) ? 'DATA_CONFLICT' : 'INTERNAL_ERROR',
    isDataError(error)
      ? 'Records stand in the way'
      : 'Something went wrong on our side; the log of the server says what',
  ];
  return {
    ...NOTHING,
    code,
    message,
    entity: operation?.entity ?? null,
    field: operation?.conflictCheck?.field ?? null,
  };
}
