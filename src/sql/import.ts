// ImportPlan -> the statements of an import: a staging table that COPY fills, checks on it as sets, and one statement
// that writes the target. Foreign keys are checked when that statement ends, so a row may refer to a later one.
import type { Entity, Field } from '../model/entity.ts';
import { fieldType } from '../model/field-types.ts';
import type { Principal } from '../model/principal.ts';
import type { Lookup } from '../plan/import-columns.ts';
import { type ImportPlan, isOwnReference, updatesRecords } from '../plan/import-plan.ts';
import type { Reference } from '../plan/references.ts';
import { hidesRows } from '../plan/scan.ts';
import { renderDefault } from './bulk.ts';
import { bindFragment } from './compile.ts';
import { renderScan, where } from './expression.ts';
import { empty, type Fragment, ident, join, keyword, literal, type Query, sql, toQuery } from './fragment.ts';
import { internalRef, LOCK_CLASS } from './internal-names.ts';
import { insertRows, nodeForms, plainRows, type RowsOfInsert } from './statement-forms.ts';
import { renderSequence, renderTarget } from './table.ts';

// A connection runs one import at a time, and the table is dropped with its transaction: a fixed name is enough. `$` is
// in no name of a schema document.
const STAGING = keyword('pg_temp."$import"');
const ROW = ident('$row');
const LINE = ident('$line');
const SOURCE = ident('$source');
const REASON = ident('$reason');
const PROVIDED = ident('$given');
const s = ident('s');
const r = ident('r');

// The staging table for joins with tables of a workspace, which on a cluster lie on another node: the coordinator joins
// them with a subquery, and not with a temporary table. PostgreSQL plans both alike. Rejected rows are not in it.
function selectStaged({ hasRejects, range }: ImportPlan): Fragment {
  const conditions = [
    hasRejects ? sql`${REASON} is null` : empty,
    range === undefined ? empty : sql`${ROW} between ${keyword(String(range.from))} and ${keyword(String(range.to))}`,
  ];
  return sql`(select * from ${STAGING}${where(...conditions)})`;
}

/** Returns the query of a fragment with bound claims of the principal. Not prepared, as its text seldom recurs. */
export function importQuery(fragment: Fragment, principal: Principal): Query {
  return bindFragment(fragment, { principal });
}

/**
 * Settings of an import's transaction. It holds no lock that others wait for, but may wait for theirs longer than a
 * request does; sorting and hashing a million rows in the default 4 MB would spill to disk.
 */
export function importSettings(entity: Entity): Fragment {
  return sql`${nodeForms(entity)?.importSettings ?? empty}set local lock_timeout = '30s'; set local work_mem = '32MB'; set local client_min_messages = 'warning'`;
}

/** Names the principal of the transaction for the triggers of kept changes. */
export const setActor = (actor: string): Query => toQuery(sql`select set_config('wda_changes.actor', ${actor}, true)`);

/** Stores the event of an import without changes of its own; `counts` is JSON. */
export const recordSummary = ({ table }: Pick<Entity, 'table'>, counts: string): Query =>
  toQuery(
    sql`insert into ${internalRef(table.schema, 'change')} (entity, kind, new) select number, 'b', ${counts}::json from ${internalRef(table.schema, 'changed_entity')} where relation = ${table.name} and is_kept`,
  );

/**
 * Creates the staging table: `$row`, `$line`, the plan's columns and look-ups, and for a sparse plan `$given`, a bit for each of
 * the columns; for one with rejects also `$source`, the row as it came, and `$reason` of a rejected one.
 */
export function createStaging(plan: ImportPlan): Fragment {
  const columns = plan.columns.map(
    (field) => sql`${ident(field.name)} ${keyword(fieldType(field.type).columnType(field))}`,
  );
  const lookups = plan.lookups.map(
    ({ field }, index) => sql`${lookupColumn(index)} ${keyword(fieldType(field.type).columnType(field))}`,
  );
  const providedColumn = plan.sparse ? [sql`${PROVIDED} varbit`] : [];
  const rejectColumns = plan.hasRejects ? [sql`${SOURCE} text`, sql`${REASON} text`] : [];
  return sql`create temp table "$import" (${join([sql`${ROW} int8`, sql`${LINE} int8`, ...columns, ...lookups, ...providedColumn, ...rejectColumns])}) on commit drop`;
}

export function copyToStaging(): Fragment {
  return sql`copy ${STAGING} from stdin`;
}

/** Renders the COPY of the plan's columns into the table itself. */
export function copyToTable({ scan, columns }: ImportPlan): Fragment {
  return sql`copy ${renderTarget(scan)} (${join(columns.map(({ column }) => ident(column)))}) from stdin`;
}

/** Adds a column for the ids of the matching records, for a file that is matched by other fields. */
export function addMatches(): Fragment {
  return sql`alter table ${STAGING} add column "id" int8`;
}

/** Sets the id of each row to that of the visible record with the same values, if any. Null matches nothing. */
export function matchRecords(plan: ImportPlan, fields: readonly Field[]): Fragment {
  const { table, condition } = renderScan(plan.scan, r);
  const same = fields.map((field) => sql`${r}.${ident(field.column)} = f.${ident(field.name)}`);
  const matches = sql`select f.${ROW} as "$at", ${r}."id" from ${selectStaged(plan)} f left join ${table} on ${join(condition.text === '' ? same : [...same, condition], ' and ')}`;
  return sql`update ${STAGING} ${s} set "id" = m."id" from (${matches}) m where m."$at" = ${s}.${ROW} and m."id" is distinct from ${s}."id"`;
}

const lookupColumn = (index: number): Fragment => ident(`$lookup${index}`);

/** Sets the references that are looked up to the ids of the visible records with these values, or to null. */
export function resolveLookups(plan: ImportPlan): readonly Fragment[] {
  return plan.lookups.map((lookup, index) => {
    const { table, condition } = renderScan(lookup.scan, r);
    const column = ident(lookup.column.name);
    const same = sql`${r}.${ident(lookup.field.column)} = f.${lookupColumn(index)}`;
    const matches = sql`select f.${ROW} as "$at", ${r}."id" from ${selectStaged(plan)} f left join ${table} on ${join(condition.text === '' ? [same] : [same, condition], ' and ')}${where(sql`f.${lookupColumn(index)} is not null`)}`;
    return sql`update ${STAGING} ${s} set ${column} = m."id" from (${matches}) m where m."$at" = ${s}.${ROW} and m."id" is distinct from ${s}.${column}`;
  });
}

/** Collects row counts and value statistics for the planner, which has none of a new table. */
export function analyzeStaging(): Fragment {
  return sql`analyze ${STAGING}`;
}

/**
 * Locks the tables that the import reads and writes against schema changes until the end of the transaction. Reads and
 * writes of others continue.
 */
export function lockTables(plan: ImportPlan): readonly Fragment[] {
  return [
    ...plan.references.map(({ scan }) => sql`lock table ${renderTarget(scan)} in access share mode`),
    sql`lock table ${renderTarget(plan.scan)} in row exclusive mode`,
  ];
}

/* ---- checks: each selects rows with a mistake: `row`, `line`, `value`, and `other`, a row with the same value ---- */

/** Limits the rows of a check to the first ones of the file. */
export function firstRows(check: Fragment, limit: number): Fragment {
  return sql`select c."row"::text, c."line"::text, left(c."value", 101) as "value", c."other"::text from (${check}) c order by c."row" limit ${keyword(String(limit))}`;
}

/** Selects rows with the values of an earlier row. Skipped rows do not count, except for their ids. */
export function findDuplicates(plan: ImportPlan, columns: readonly Field[]): Fragment {
  const names = columns.map((field) => ident(field.name));
  const writtenCondition = columns.some((field) => field.role === 'id') ? empty : isWritten(plan);
  const conditions = [...names.map((name) => sql`${s}.${name} is not null`), writtenCondition];
  const groups = sql`select ${join(names)}, min(${s}.${ROW}) as "$first" from ${selectStaged(plan)} ${s}${where(...conditions)} group by ${join(names)} having count(*) > 1`;
  const same = names.map((name) => sql`${s}.${name} = d.${name}`);
  return selectRows(
    plan,
    sql`join (${groups}) d on ${join(same, ' and ')}${where(sql`${s}.${ROW} <> d."$first"`, writtenCondition)}`,
    columns,
    keyword('d."$first"'),
  );
}

/** Selects rows whose values of the columns another record of the table has. */
export function findUniqueConflicts(plan: ImportPlan, columns: readonly Field[]): Fragment {
  const { table, condition } = renderScan(plan.scan, r);
  const same = columns.map((field) => sql`${r}.${ident(field.column)} = ${s}.${ident(field.name)}`);
  return selectRows(
    plan,
    sql`join ${table} on ${join(same, ' and ')}${where(condition, isKept(plan, columns), isWritten(plan))}`,
    columns,
  );
}

/** Renders the condition that the record keeps its values of the columns; empty when no row has an id. */
function isKept(plan: ImportPlan, columns: readonly Field[]): Fragment {
  if (plan.ids === 'none') return empty;
  if (plan.onConflict !== 'update') return sql`${r}."id" is distinct from ${s}."id"`;
  const o = ident('o');
  const provided = plan.sparse ? columns.map((field) => isProvided(plan, field, o)) : [];
  const gives = provided.length === 0 ? empty : sql`(${join(provided, ' or ')})`;
  return sql`not exists (select from ${selectStaged(plan)} ${o}${where(sql`${o}."id" = ${r}."id"`, gives)})`;
}

/**
 * Selects `id` of records, `limit` at most, that a row gives another value of `field`, and whose values of the columns
 * another row takes over.
 */
export function findHeldValues(plan: ImportPlan, columns: readonly Field[], field: Field, limit: number): Fragment {
  const { table, condition } = renderScan(plan.scan, r);
  const o = ident('o');
  const equal = columns.map(({ name, column }) => sql`${o}.${ident(name)} = ${r}.${ident(column)}`);
  const conditions = [
    condition,
    sql`${s}.${ident(field.name)} is distinct from ${r}.${ident(field.column)}`,
    plan.sparse ? isProvided(plan, field) : empty,
    sql`exists (select from ${selectStaged(plan)} ${o}${where(...equal, sql`${o}.${ROW} <> ${s}.${ROW}`)})`,
  ];
  return sql`select ${s}."id"::text as "id" from ${selectStaged(plan)} ${s} join ${table} on ${r}."id" = ${s}."id"${where(...conditions)} limit ${keyword(String(limit))}`;
}

/** Selects rows with an id that a record has. */
export function findExistingIds(plan: ImportPlan): Fragment {
  const { table, condition } = renderScan(plan.scan, r);
  return selectRows(plan, sql`join ${table} on ${r}."id" = ${s}."id"${where(condition)}`, getIdColumns(plan));
}

/** Selects rows with an id that no record has which the principal can see. */
export function findUnknownIds(plan: ImportPlan): Fragment {
  return selectRows(plan, where(sql`${s}."id" is not null`, sql`not ${exists(plan)}`), getIdColumns(plan));
}

/** Selects rows that create a record and do not give the field. */
export function findMissing(plan: ImportPlan, field: Field): Fragment {
  const isNull = plan.columns.includes(field) ? sql`${s}.${ident(field.name)} is null` : empty;
  return selectRows(plan, where(creates(plan), isNull), []);
}

/** Selects rows that refer to a record that is missing or hidden from the principal. */
export function findMissingReferences(plan: ImportPlan, reference: Reference): Fragment {
  const column = sql`${s}.${ident(reference.field.name)}`;
  const related = ident('t');
  const { table, condition } = renderScan(reference.scan, related);
  const conditions = [
    sql`${column} is not null`,
    isWritten(plan),
    sql`not exists (select from ${table}${where(sql`${related}."id" = ${column}`, condition)})`,
  ];
  if (isOwnReference(plan, reference) && plan.ids !== 'none') {
    conditions.push(sql`not exists (select from ${selectStaged(plan)} o where o."id" = ${column})`);
  }
  if (hidesRows(reference.scan) && updatesRecords(plan)) {
    // An unchanged reference reveals nothing, as in a single update.
    const { table: own, condition: visible } = renderScan(plan.scan, r);
    const same = [sql`${r}."id" = ${s}."id"`, sql`${r}.${ident(reference.field.column)} = ${column}`];
    conditions.push(sql`not exists (select from ${own}${where(...same, visible)})`);
  }
  return selectRows(plan, where(...conditions), [reference.field]);
}

/** Selects rows whose look-up finds no record that the principal can see. */
export function findMissingLookups(plan: ImportPlan, index: number): Fragment {
  const { name } = (plan.lookups[index] as Lookup).column;
  const conditions = [sql`${s}.${lookupColumn(index)} is not null`, sql`${s}.${ident(name)} is null`, isWritten(plan)];
  return selectRows(plan, where(...conditions), [{ name: `$lookup${index}` }]);
}

/** Selects rows with the values of the columns, separated by commas. */
function selectRows(
  plan: ImportPlan,
  rest: Fragment,
  columns: readonly Pick<Field, 'name'>[],
  other = keyword('null::int8'),
): Fragment {
  const texts = columns.map(({ name }) => sql`${s}.${ident(name)}::text`);
  const value = texts.length === 0 ? keyword('null::text') : sql`concat_ws(', ', ${join(texts)})`;
  return sql`select ${s}.${ROW} as "row", ${s}.${LINE} as "line", ${value} as "value", ${other} as "other" from ${selectStaged(plan)} ${s} ${rest}`;
}

const getIdColumns = ({ columns }: ImportPlan): readonly Field[] => columns.filter(({ role }) => role === 'id');

/** Renders the condition that the principal can see a record with this id. */
function exists(plan: ImportPlan): Fragment {
  const { table, condition } = renderScan(plan.scan, r);
  return sql`exists (select from ${table}${where(sql`${r}."id" = ${s}."id"`, condition)})`;
}

/** Renders the condition that the row is not skipped; empty when none is. */
function isWritten(plan: ImportPlan): Fragment {
  return plan.onConflict === 'skip' && plan.ids !== 'none' ? sql`not ${exists(plan)}` : empty;
}

/** Renders the condition that the row creates a record; empty when all do. */
function creates(plan: ImportPlan): Fragment {
  if (plan.ids === 'none' || plan.onConflict === 'fail') return empty;
  return plan.ids === 'known' ? sql`${s}."id" is null` : sql`(${s}."id" is null or not ${exists(plan)})`;
}

/* ---- rejected rows ---- */

/** Rejects the rows of a check: column `count`. `{other}` in the reason is the row with the same value. */
export function rejectRows(check: Fragment, reason: string): Fragment {
  const text = sql`replace(${literal(reason)}, '{other}', coalesce(c."other"::text, ''))`;
  // A coordinator joins tables of a node with its own only in a part before.
  return sql`with c as materialized (${check}), rejected as (update ${STAGING} ${s} set ${REASON} = ${text} from c where c."row" = ${s}.${ROW} returning 1) select count(*)::text as count from rejected`;
}

/** Indexes the rows by their numbers, to search for one of them. */
export function indexStaging(): Fragment {
  return sql`create index if not exists "$import_row" on ${STAGING} (${ROW})`;
}

/** Rejects one row. */
export function rejectRow(row: number, reason: string): Fragment {
  return sql`update ${STAGING} set ${REASON} = ${literal(reason)} where ${ROW} = ${keyword(String(row))}`;
}

/** Selects rows with a reference to another row of the file, and not to a record that the principal can see. */
export function findOwnReferences(plan: ImportPlan, reference: Reference): Fragment {
  const column = sql`${s}.${ident(reference.field.name)}`;
  const { table, condition } = renderScan(reference.scan, r);
  const missing = sql`not exists (select from ${table}${where(sql`${r}."id" = ${column}`, condition)})`;
  return selectRows(plan, where(sql`${column} is not null`, missing), [reference.field]);
}

/** Opens a cursor over the rejected rows in the order of the file: `row`, `source`, `reason`. */
export function openRejects(): Fragment {
  return sql`declare rejects no scroll cursor for select ${ROW}::text as "row", ${SOURCE} as "source", ${REASON} as "reason" from ${STAGING} where ${REASON} is not null order by ${ROW}`;
}

export function countRejects(): Fragment {
  return sql`select count(*)::text as count from ${STAGING} where ${REASON} is not null`;
}

export function fetchRejects(count: number): Fragment {
  return sql`fetch ${keyword(String(count))} from rejects`;
}

/* ---- ids ahead of the sequence ---- */

// Longer gaps are skipped in one step: nextval takes a second for a million ids. No single statement draws as many.
const MAX_SEQUENCE_STEPS = 1_000_000;

/** Selects `behind`: whether the sequence of the ids would reach the largest id of the file later on. */
export function isSequenceBehind(plan: ImportPlan): Fragment {
  return sql`select coalesce(max(${s}."id") > ${lastId(plan)}, false) as behind from ${selectStaged(plan)} ${s}`;
}

/** Locks the table against creates. */
export function lockForIds(plan: ImportPlan, timeoutMs: number): readonly Fragment[] {
  return [
    sql`set local lock_timeout = ${keyword(String(timeoutMs))}`,
    sql`lock table ${renderTarget(plan.scan)} in share row exclusive mode`,
  ];
}

/** Sets the sequence to the largest id of the file, under the lock. A rollback does not undo it. */
export function setSequence(plan: ImportPlan): Fragment {
  return sql`select setval(${renderSequence(plan.scan)}, gap.largest) from ${gap(plan)} where gap.ids > 0`;
}

/**
 * Advances the sequence beyond the largest id of the file, and never back, while others draw from it: it draws the ids
 * up to there as creates do, which only moves forward. A long gap is skipped in one step, by one import at a time:
 * setval would go back if others had advanced further since the statement looked.
 */
export function passSequence(plan: ImportPlan): readonly Fragment[] {
  const sequenceName = renderSequence(plan.scan);
  return [
    sql`select pg_advisory_xact_lock(${keyword(String(LOCK_CLASS))}, (${sequenceName}::oid::int8 & 2147483647)::int4)`,
    sql`select setval(${sequenceName}, gap.largest) from ${gap(plan)} where gap.ids > ${keyword(String(MAX_SEQUENCE_STEPS))}`,
    sql`select count(nextval(${sequenceName})) from (select generate_series(1, gap.ids) from ${gap(plan)}) each`,
  ];
}

function gap(plan: ImportPlan): Fragment {
  return sql`(select max(${s}."id") - ${lastId(plan)} as ids, max(${s}."id") as largest from ${selectStaged(plan)} ${s}) gap`;
}

/** Finds running transactions that have drawn ids: one of them may be about to write an id of the file. */
export function findSequenceUsers(plan: ImportPlan): Fragment {
  return sql`select virtualtransaction as "transaction" from pg_locks where locktype = 'relation'
and database = (select oid from pg_database where datname = current_database()) and relation = ${renderSequence(plan.scan)}
and mode = 'RowExclusiveLock' and granted and pid <> pg_backend_pid()`;
}

function lastId(plan: ImportPlan): Fragment {
  return sql`coalesce(pg_sequence_last_value(${renderSequence(plan.scan)}), 0)`;
}

/* ---- the write ---- */

// Existing records with ids of the file.
const EXISTING = ident('there');

/**
 * Writes all staged rows in one statement: columns `inserted` and `updated` as text. PostgreSQL shows each part the
 * records as they were before all of them; a coordinator runs one after the other, so the existing records are found
 * first, and updated before any insert.
 */
export function writeStaged(plan: ImportPlan): Fragment {
  const updates = updatesRecords(plan);
  const rows = stagedRows(plan);
  const conflictClause = plan.onConflict === 'skip' ? keyword(' on conflict ("id") do nothing') : empty;
  const insert = sql`insert into ${renderTarget(plan.scan)} ${rows.columns} ${rows.source}${conflictClause} returning 1`;
  const parts = [
    ...(mayConflict(plan) ? [sql`${EXISTING} as materialized (${findExisting(plan)})`] : []),
    ...(updates ? [sql`updated as (${updateStaged(plan)})`] : []),
    sql`${rows.before}inserted as (${insert})`,
  ];
  const updated = updates ? sql`(select count(*) from updated)` : keyword('0');
  return sql`with ${join(parts)} select (select count(*) from inserted)::text as inserted, ${updated}::text as updated`;
}

/** Returns whether rows with an explicit id insert or update, depending on existing rows. */
const mayConflict = ({ ids, onConflict }: ImportPlan): boolean => ids === 'new' && onConflict !== 'fail';

function findExisting(plan: ImportPlan): Fragment {
  const { table, condition } = renderScan(plan.scan, r);
  return sql`select ${r}."id" from ${selectStaged(plan)} ${s} join ${table} on ${r}."id" = ${s}."id"${where(condition)}`;
}

function stagedRows(plan: ImportPlan): RowsOfInsert {
  const otherFields = plan.columns.filter((field) => field.role !== 'id');
  const next = sql`nextval(${renderSequence(plan.scan)})`;
  const id = plan.ids === 'new' ? sql`coalesce(${s}."id", ${next})` : next;
  // Reading the table here would send the insert to the node of the table, where no sequence is.
  const isNew = sql`(${s}."id" is null or not exists (select from ${EXISTING} where ${EXISTING}."id" = ${s}."id"))`;
  const condition = where(mayConflict(plan) ? isNew : creates(plan));
  const rows = {
    assigned: [['id', id], ...otherFields.map((field) => [field.column, insertedValue(plan, field)] as const)] as const,
    from: sql`${selectStaged(plan)} ${s}${condition}`,
    // Staged rows come in the order of the file; only a join, or an update of some of them, may change that.
    order: condition.text === '' && plan.lookups.length === 0 ? empty : sql`${s}.${ROW}`,
  };
  return mayConflict(plan) ? insertRows(plan.scan, { ...rows, name: '$new' }) : plainRows(rows);
}

/**
 * Selects staged rows after a row of the file, those with an id of a record or those without: `row`, `line`, `id`, `bits`
 * of the given columns, and `values`, a JSON array of texts; as many as fit into `maxBytes`, one at least.
 */
export function selectRowsAfter(
  plan: ImportPlan,
  row: number,
  { hasId, maxRows, maxBytes }: { readonly hasId: boolean; readonly maxRows: number; readonly maxBytes: number },
): Fragment {
  const texts = plan.columns.map((field) => sql`${s}.${ident(field.name)}::text`);
  const id = plan.ids === 'none' ? keyword('null::int8') : sql`${s}."id"`;
  const conditions = [sql`${s}.${ROW} > ${keyword(String(row))}`, hasId ? sql`${id} is not null` : sql`${id} is null`];
  const rows = sql`select ${s}.${ROW} as "row", ${s}.${LINE} as "line", ${id} as "id", ${s}.${PROVIDED}::text as "bits", to_json(array[${join(texts)}]::text[])::text as "values" from ${selectStaged(plan)} ${s}${where(...conditions)} order by ${s}.${ROW} limit ${keyword(String(maxRows))}`;
  const sized = sql`select c.*, sum(octet_length(c."values")) over (order by c."row") - octet_length(c."values") as "before" from (${rows}) c`;
  return sql`select c."row"::text, c."line"::text, c."id"::text, c."bits", c."values" from (${sized}) c where c."before" < ${keyword(String(maxBytes))} order by c."row"`;
}

function insertedValue(plan: ImportPlan, field: Field): Fragment {
  const column = sql`${s}.${ident(field.name)}`;
  if (field.role === 'createdAt' || field.role === 'updatedAt') return sql`coalesce(${column}, now())`;
  const value = plan.sparse ? renderDefault(field) : undefined;
  return value === undefined ? column : sql`case when ${isProvided(plan, field)} then ${column} else ${value} end`;
}

/** Updates the records that rows name by id; createdAt stays, and updatedAt is set. */
function updateStaged(plan: ImportPlan): Fragment {
  const { table, condition } = renderScan(plan.scan, r);
  const match = where(sql`${r}."id" = ${s}."id"`, condition);
  const sets = plan.columns
    .filter((field) => field.role === 'data' || field.role === 'reference')
    .map((field) => {
      const column = ident(field.column);
      const value = sql`${s}.${ident(field.name)}`;
      return sql`${column} = ${plan.sparse ? sql`case when ${isProvided(plan, field)} then ${value} else ${r}.${column} end` : value}`;
    });
  if (sets.length === 0 && mayConflict(plan)) return sql`select from ${EXISTING}`;
  if (sets.length === 0) return sql`select 1 from ${table} join ${selectStaged(plan)} ${s} on true${match}`;
  const updatedAt = plan.scan.entity.timestamps ? plan.scan.entity.fields.get('updatedAt') : undefined;
  if (updatedAt !== undefined) sets.push(sql`${ident(updatedAt.column)} = now()`);
  return sql`update ${table} set ${join(sets)} from ${selectStaged(plan)} ${s}${match} returning 1`;
}

function isProvided(plan: ImportPlan, field: Field, alias = s): Fragment {
  return sql`get_bit(${alias}.${PROVIDED}, ${keyword(String(plan.columns.indexOf(field)))}) = 1`;
}

/* ---- outcomes ---- */

// Most tokens that one import removes. It adds one.
const OUTCOMES_REMOVED = 1000;

/** Writes the token of an import (a UUID) in its transaction, and removes tokens older than a day. */
export function recordOutcome(schema: string, token: string): Query {
  const table = internalRef(schema, 'import_outcome');
  const old = sql`select token from ${table} where created_at < clock_timestamp() - interval '1 day' limit ${keyword(String(OUTCOMES_REMOVED))} for update skip locked`;
  return toQuery(
    sql`with old as (delete from ${table} where token in (${old})) insert into ${table} (token, is_done) values (${token}::uuid, true)`,
  );
}

/** Selects one row, `is_done`: whether the import with the token has committed; if not, it cannot any more. */
export function resolveOutcome(schema: string, token: string): Query {
  return toQuery(sql`select ${internalRef(schema, 'settle_import')}(${token}::uuid) as is_done`);
}
