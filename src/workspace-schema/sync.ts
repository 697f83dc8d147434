// Synchronizes a new column of a table with the converted old one while a migration prepares, by a function in the
// schema of the workspace, two triggers that run it, and a conflict row for each record whose value could not be
// converted. Takes values, returns SQL without parameters.
import type { Field } from '../model/entity.ts';
import { derivedName } from '../model/physical-name.ts';
import { empty, type Fragment, ident, join, keyword, literal, sql, type TableName, tableRef } from '../sql/fragment.ts';
import { internalRef } from '../sql/internal-names.ts';
import { buildChanger, makeTrigger } from './trigger.ts';

export interface SyncNames {
  /** Name of the function, from which those of its triggers derive. */
  readonly name: string;
  /** Subject of the column in `migration_conflict`. */
  readonly subject: string;
}

export interface Sync extends SyncNames {
  readonly from: string;
  readonly field: Field;
  readonly value: (column: Fragment) => Fragment;
  /** A value for a record whose value cannot be converted, so that its write succeeds: the migration fails later. */
  readonly placeholder: Fragment | null;
}

/** Builds the names of the sync that fills this column of the table. */
export const buildSyncNames = (table: TableName, column: string): SyncNames => ({
  name: derivedName(table.name, [column], 'sync'),
  subject: `${table.schema}.${table.name}.${column}`,
});

/** Creates the sync with two triggers, so that an update of other fields costs nothing. */
export function createSync(table: TableName, sync: Sync): readonly Fragment[] {
  const [from, to] = [sql`new.${ident(sync.from)}`, sql`new.${ident(sync.field.column)}`];
  const placeholder = sync.placeholder === null ? empty : sql`\n    ${to} := ${sync.placeholder};`;
  const body = sql`begin
  ${to} := ${sync.value(from)};
  if ${to} is null and ${from} is not null then
    insert into ${internalRef(table.schema, 'migration_conflict')} (subject, record_id) values (${literal(sync.subject)}, new."id");${placeholder}
  end if;
  return new;
end`;
  const changed = sql`old.${ident(sync.from)} is distinct from ${from}`;
  return [
    // Direct writers of the table may lack permissions on internal tables; a search path of theirs would give them all
    // of ours (CREATE FUNCTION, "Writing SECURITY DEFINER Functions Safely").
    sql`create function ${functionRef(table, sync.name)} returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as ${literal(body.text)}`,
    // Order matters: with only the trigger for inserts, a record that was inserted and then updated would keep its
    // first value, which looks filled.
    ...makeTrigger(table, buildChanger(table, 'update', sync.name, changed)),
    ...makeTrigger(table, buildChanger(table, 'insert', sync.name)),
  ];
}

/** Drops the function with its triggers, whatever their names. */
export const dropSync = (table: Pick<TableName, 'schema'>, name: string): Fragment =>
  sql`drop function if exists ${functionRef(table, name)} cascade`;

const functionRef = ({ schema }: Pick<TableName, 'schema'>, name: string): Fragment =>
  sql`${tableRef({ schema, name })}()`;

const TRIGGERS_OF_A_SYNC = 2;

/**
 * Selects the names of syncs that a write may have bypassed: a trigger is missing, or is or was disabled (`enable
 * trigger` sets O where ours have A).
 */
export function selectBypassedSyncs(
  schema: string,
  syncs: readonly { readonly table: string; readonly name: string }[],
): Fragment {
  const each = syncs.map(({ table, name }) => {
    const relation = literal(tableRef({ schema, name: table }).text);
    const run = literal(functionRef({ schema }, name).text);
    return sql`select ${literal(name)} as name, (
  select count(*) from pg_trigger
  where tgrelid = ${relation}::regclass and tgfoid = to_regprocedure(${run}) and tgenabled = 'A'
) as standing`;
  });
  return sql`select name from (${join(each, ' union all ')}) s where standing < ${keyword(String(TRIGGERS_OF_A_SYNC))}`;
}

/** Selects the ids of the records with conflicts. */
export const selectConflictRecords = (schema: string, subject: string): Fragment =>
  sql`select record_id from ${internalRef(schema, 'migration_conflict')} where subject = ${literal(subject)}`;

export const deleteConflicts = (schema: string, subject: string): Fragment =>
  sql`delete from ${internalRef(schema, 'migration_conflict')} where subject = ${literal(subject)}`;
