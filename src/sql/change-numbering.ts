// The call that gives positions to committed changes, for readers of feeds and for what removes old changes. install/changes has
// the function.
import { type Query, sql, toQuery } from './fragment.ts';
import { internalRef } from './internal-names.ts';

/**
 * Gives positions to committed changes, `most` of them or fewer, after those of another caller; returns whether there is
 * more to do. A transaction of its own.
 */
export const numberChanges = (schema: string, most: number): Query =>
  toQuery(
    sql`select ${internalRef(schema, 'number_changes')}(${String(most)}::int4)::text as more`,
    `feed.number.${schema}`,
  );
