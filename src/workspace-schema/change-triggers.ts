// Watches the triggers that keep changes: other programs may disable them, or drop them with their table. Readers are told to
// read the records again when they stand. install/changes has the functions.
import { isLockTimeout } from '../database/errors.ts';
import type { Database } from '../database/pool.ts';
import { sql, toQuery } from '../sql/fragment.ts';
import { internalRef } from '../sql/internal-names.ts';

/** Reports an interruption to the log. */
export type ReportInterruption = (message: string, facts: Readonly<Record<string, unknown>>) => void;

/**
 * Compares the triggers of all tables of a workspace with those that were made. Makes missing ones again, unless their table is
 * in use for 300 ms, and leaves disabled ones to whoever has disabled them. Returns the number of tables without.
 */
export async function watchTriggers(
  db: Pick<Database, 'query'>,
  schema: string,
  report: ReportInterruption,
): Promise<number> {
  const watch = toQuery(
    sql`select relation, is_new as "isNew", is_missing as "isMissing" from ${internalRef(schema, 'watch_triggers')}()`,
  );
  const tables = await db.query<{ relation: string; isNew: boolean; isMissing: boolean }>(watch);
  const missing = tables.filter(({ isMissing }) => isMissing);
  for (const { relation: table, isNew, isMissing } of tables) {
    if (!isNew) continue;
    const reason = isMissing ? 'dropped' : 'disabled';
    report('changes of a table are not kept: its triggers were changed by SQL', { schema, table, triggers: reason });
  }
  for (const { relation } of missing) {
    await db.query(toQuery(sql`select ${internalRef(schema, 'repair_triggers')}(${relation})`)).catch((error) => {
      if (!isLockTimeout(error)) throw error;
    });
  }
  return missing.length === 0 ? tables.length : (await db.query(watch)).length;
}
