// Statements about stored changes that several parts of the server need. install/changes has the functions.
import { type Query, sql, toQuery } from './fragment.ts';
import { internalRef } from './internal-names.ts';

/**
 * Gives positions to committed changes, `most` of them or fewer, after those of another caller; returns whether there is
 * more to do, and how many records were created, updated, removed, and other changes. A transaction of its own.
 */
export const numberChanges = (schema: string, most: number): Query =>
  toQuery(
    sql`select more::text, created::text, updated::text, removed::text, others::text from ${internalRef(schema, 'number_changes')}(${String(most)}::int4)`,
    `feed.number.${schema}`,
  );

/** Keeps the statements of a transaction out of the changes. */
export const SILENCE = sql`set local wda_changes.silent = 'on'`;

/** Selects whether the workspace has ever kept changes. */
export const selectHasChanges = (schema: string): Query =>
  toQuery(sql`select to_regclass(${internalRef(schema, 'change_position').sql}) is not null`);
