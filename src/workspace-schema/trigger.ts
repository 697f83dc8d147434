// Triggers on the tables of workspaces: their names, creation and checks. All our triggers are created here. Takes
// values, also from PostgreSQL's catalog; returns SQL.
//
// PostgreSQL fires triggers of one moment in the order of their names, and users may have their own triggers:
//
// - a watcher is permanent, reads the rows that a statement has written, and changes nothing: `$total_insert`, `$` and
//   its purpose. `$` sorts before the names that users give.
// - a changer exists while a migration prepares, and changes the row that is about to be written:
//   `~iorders$total$17$sync`, `~`, i or u, and its function. `~` sorts after the names that users give, so it sees the
//   result of their triggers.
import { empty, type Fragment, ident, join, literal, sql, type TableName, tableRef } from '../sql/fragment.ts';

/** Purpose of a watcher. */
export type TriggerPurpose = 'total';

export interface Trigger {
  readonly name: string;
  /** `create trigger …` */
  readonly definition: Fragment;
}

/** A trigger in PostgreSQL's catalog. */
export interface InstalledTrigger {
  readonly name: string;
  /** Its tgenabled: A fires always, O unless the session's settings say otherwise, R only then, D never. */
  readonly enabled: string;
}

const WATCHED_EVENTS = {
  insert: sql`insert`,
  delete: sql`delete`,
  truncate: sql`truncate`,
} as const;

/** Transition tables, by which the function of a watcher reads the written rows. */
const TRANSITION_TABLES: Readonly<Record<keyof typeof WATCHED_EVENTS, Fragment>> = {
  insert: sql` referencing new table as added`,
  delete: sql` referencing old table as removed`,
  truncate: empty,
};

const getTriggerName = (purpose: TriggerPurpose, event: keyof typeof WATCHED_EVENTS): string => `$${purpose}_${event}`;

/** Builds a watcher that calls `run`, a function of the workspace, once after each statement. */
export function buildWatcher(
  table: TableName,
  purpose: TriggerPurpose,
  event: keyof typeof WATCHED_EVENTS,
  run: Fragment,
): Trigger {
  const name = getTriggerName(purpose, event);
  return {
    name,
    definition: sql`create trigger ${ident(name)} after ${WATCHED_EVENTS[event]} on ${tableRef(table)}${TRANSITION_TABLES[event]} for each statement execute function ${run}()`,
  };
}

const ROW_EVENTS = {
  insert: { short: 'i', sql: sql`insert` },
  update: { short: 'u', sql: sql`update` },
} as const;

// PostgreSQL truncates names at 63 bytes; names of our functions are ASCII, and differ before that.
const MAX_NAME = 63;

/** Builds a changer that calls a function for each row before it is written; of updates only those with `when` true. */
export function buildChanger(table: TableName, event: keyof typeof ROW_EVENTS, run: string, when?: Fragment): Trigger {
  const { short, sql: word } = ROW_EVENTS[event];
  const name = `~${short}${run}`.slice(0, MAX_NAME);
  const condition = when === undefined ? empty : sql` when (${when})`;
  return {
    name,
    definition: sql`create trigger ${ident(name)} before ${word} on ${tableRef(table)} for each row${condition} execute function ${tableRef({ schema: table.schema, name: run })}()`,
  };
}

/** Selects the watchers of a table for a purpose, as a JSON array of InstalledTrigger. */
export const selectInstalledTriggers = (relid: Fragment, purpose: TriggerPurpose): Fragment => {
  const names = (Object.keys(WATCHED_EVENTS) as (keyof typeof WATCHED_EVENTS)[]).map((event) =>
    literal(getTriggerName(purpose, event)),
  );
  return sql`(
  select coalesce(json_agg(json_build_object('name', tgname, 'enabled', tgenabled)), '[]')
  from pg_trigger where tgrelid = ${relid} and tgname in (${join(names)})
)`;
};

/**
 * Builds the statements after which all `desired` triggers exist and fire always: also for writers that disable
 * triggers, such as logical replication and sessions with session_replication_role. Empty if nothing is missing, or
 * undefined if an existing one was disabled, which is left alone.
 */
export function repairTriggers(
  table: TableName,
  desired: readonly Trigger[],
  installed: readonly InstalledTrigger[],
): readonly Fragment[] | undefined {
  if (installed.some(({ enabled }) => enabled === 'D' || enabled === 'R')) return undefined;
  return desired.flatMap((trigger) => {
    const existing = installed.find(({ name }) => name === trigger.name);
    if (existing === undefined) return makeTrigger(table, trigger);
    return existing.enabled === 'A' ? [] : [fireAlways(table, trigger)];
  });
}

/** Creates a missing trigger. */
export const makeTrigger = (table: TableName, trigger: Trigger): readonly Fragment[] => [
  trigger.definition,
  fireAlways(table, trigger),
];

const fireAlways = (table: TableName, { name }: Trigger): Fragment =>
  sql`alter table ${tableRef(table)} enable always trigger ${ident(name)}`;
