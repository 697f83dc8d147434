// Triggers of ours on the tables of workspaces: their names, their making, and whether they stand as they should. Whatever
// is kept beside a table makes its triggers here. Takes values, also of what PostgreSQL knows; gives SQL.
//
// PostgreSQL fires triggers of one moment in the order of their names, and people may have triggers of their own:
//
// - a watcher is there for good, looks at what a statement has written, and changes nothing: `$total_insert`, `$` and its
//   keeper. `$` comes before the names that people give.
// - a changer is there while a migration prepares, and changes the row that is about to be written: `~iorders$total$17$sync`,
//   `~`, i or u, and its function. `~` comes after the names that people give, so it sees the row as their triggers left it.
import { empty, type Fragment, ident, join, literal, sql, type TableName, tableRef } from '../sql/fragment.ts';

/** What watchers serve. */
export type TriggerPurpose = 'total';

export interface Trigger {
  readonly name: string;
  /** `create trigger …` */
  readonly definition: Fragment;
}

/** A trigger as PostgreSQL knows it. */
export interface InstalledTrigger {
  readonly name: string;
  /** Its tgenabled: A fires always, O unless a session's settings say otherwise, R only then, D never. */
  readonly enabled: string;
}

const WATCHED_EVENTS = {
  insert: sql`insert`,
  delete: sql`delete`,
  truncate: sql`truncate`,
} as const;

/** Names that the function of a watcher finds what was written by. */
const TRANSITION_TABLES: Readonly<Record<keyof typeof WATCHED_EVENTS, Fragment>> = {
  insert: sql` referencing new table as added`,
  delete: sql` referencing old table as removed`,
  truncate: empty,
};

const getTriggerName = (purpose: TriggerPurpose, event: keyof typeof WATCHED_EVENTS): string => `$${purpose}_${event}`;

/** Runs `run`, a function of the workspace, once after each statement. */
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

// PostgreSQL cuts names at 63 bytes; names of functions of ours are ASCII, and differ before they are cut.
const MAX_NAME = 63;

/** Runs a function of the table's schema for each row before it is written; of updates only `when` that is true. */
export function buildChanger(table: TableName, event: keyof typeof ROW_EVENTS, run: string, when?: Fragment): Trigger {
  const { short, sql: word } = ROW_EVENTS[event];
  const name = `~${short}${run}`.slice(0, MAX_NAME);
  const condition = when === undefined ? empty : sql` when (${when})`;
  return {
    name,
    definition: sql`create trigger ${ident(name)} before ${word} on ${tableRef(table)} for each row${condition} execute function ${tableRef({ schema: table.schema, name: run })}()`,
  };
}

/** The watchers of a table with the names of a keeper's, as a value of a select list: a JSON array of StandingTrigger. */
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
 * What is left to do until all of `wanted` stand and fire always: for writers, too, that do without triggers, as logical
 * replication and who sets session_replication_role. Empty: they are tidy. Undefined: somebody has disabled one of those
 * that stand, and that is left alone.
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

/** Makes a trigger that is not there. */
export const makeTrigger = (table: TableName, trigger: Trigger): readonly Fragment[] => [
  trigger.definition,
  fireAlways(table, trigger),
];

const fireAlways = (table: TableName, { name }: Trigger): Fragment =>
  sql`alter table ${tableRef(table)} enable always trigger ${ident(name)}`;
