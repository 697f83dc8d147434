// Writes of principals with grants: one statement for one record or many, which locks, checks, and writes all of them or
// none. Its one row has the written records, or the reasons why nothing was written.
import type { Field } from '../model/entity.ts';
import { columnDefault, fieldType } from '../model/field-types.ts';
import { ID_LIST, listOperands, PROVIDED, VERSION_LIST } from '../plan/bulk.ts';
import { CHECKS, GRANTS, type GrantedPlan, ITEMS } from '../plan/granted.ts';
import { type Operand, valueOperand } from '../plan/operand.ts';
import type { Alternative, Scan } from '../plan/scan.ts';
import { ID, listedRows, R, ROW, S, W } from './bulk.ts';
import {
  bind,
  outputColumn,
  RECORD,
  renderActor,
  renderAlternatives,
  renderColumn,
  renderFilter,
  renderScan,
  where,
} from './expression.ts';
import { empty, type Fragment, ident, integerLiteral, join, keyword, literal, sql } from './fragment.ts';
import { limitRunningSize, makeSizeLimit } from './size-limit.ts';
import { insertRows } from './statement-forms.ts';
import { renderNodeGuard, renderRowMark, renderSequence, renderTarget, renderVersion } from './table.ts';

const ITEM = ident(ITEMS);
const GRANT = ident(GRANTS);
const CHECK = ident(CHECKS);
const VERSION = ident('$version');
const N = ident('n');
const H = ident('h');

const ITEM_LIST: Operand = { kind: 'list', name: ITEMS, type: 'int4[]' };
const GRANT_LIST: Operand = { kind: 'list', name: GRANTS, type: 'text[]' };
const CHECK_LIST: Operand = { kind: 'list', name: CHECKS, type: 'text[]' };

// Most reasons in one response.
const MAX_PROBLEMS = 100;

/**
 * Renders a write with `data`, the JSON array of the records in their order (null when nothing was written), `versions`
 * (a JSON array, null for a record that cannot be read), `problems`, a JSON array of `[item, kind, field]`, or null, and
 * `sizes` of the records in bytes.
 */
export function writeGranted(plan: GrantedPlan, maxBytes: number): Fragment {
  switch (plan.operation) {
    case 'create':
      return renderCreate(plan, maxBytes);
    case 'update':
      return renderUpdate(plan, maxBytes);
    case 'delete':
      return renderDelete(plan);
    case 'find':
      return renderFind(plan);
    default:
      return plan.operation satisfies never;
  }
}

const allFields = ({ scan: { entity } }: GrantedPlan): readonly Field[] => [
  ...(entity.access?.base ?? entity).fields.values(),
];
const renderColumns = (plan: GrantedPlan, row: Fragment): Fragment =>
  join(allFields(plan).map(({ column }) => sql`${row}.${ident(column)}`));

/** Renders a value as the column stores it. */
const asStored = (value: Fragment, field: Field): Fragment =>
  sql`${value}::${keyword(fieldType(field.type).columnType(field))}`;

const isProvided = (plan: GrantedPlan, field: Field): Fragment =>
  sql`substr(${S}.${ident(PROVIDED)}, ${integerLiteral(plan.columns.indexOf(field) + 1)}, 1) = '1'`;

/**
 * Renders the table as the statement leaves it, `"$now"`; read only by conditions that cross it. PostgreSQL would
 * otherwise copy the whole table where two of them do.
 */
function renderNow(plan: GrantedPlan): Fragment {
  const table = renderTarget(plan.scan);
  const others = sql`not exists (select from "$new" n where n."id" = ${R}."id")`;
  return sql`"$now" as not materialized (select ${renderColumns(plan, R)} from ${table} ${R}${where(renderNodeGuard(plan.scan), others)} union all select ${renderColumns(plan, N)} from "$new" ${N})`;
}

/** Renders the condition that the grant with the index in `"$grants"` holds for the row. */
function holdsChosen(alternatives: readonly Alternative[], row: Fragment): Fragment {
  if (alternatives.length === 0) return keyword('false');
  const cases = alternatives.map(
    (one, index) => sql`when ${literal(String(index))} then ${renderAlternatives([one], row)}`,
  );
  return sql`(case ${row}.${GRANT} ${join(cases, ' ')} else false end)`;
}

/** Renders the condition that a grant holds which `"$grants"` has a bit for. */
function holdsCarrier(alternatives: readonly Alternative[], row: Fragment, bits: Fragment): Fragment {
  const conditions = alternatives.map(
    (one, index) =>
      sql`(substr(${bits}.${GRANT}, ${integerLiteral(index + 1)}, 1) = '1' and ${renderAlternatives([one], row)})`,
  );
  return conditions.length === 0 ? keyword('false') : sql`(${join(conditions, ' or ')})`;
}

const problem = (item: Fragment, kind: string, from: Fragment, field: string | null = null): Fragment =>
  sql`select ${item} as "item", ${literal(kind)} as "kind", ${field === null ? keyword('null::text') : literal(field)} as "field" from ${from}`;

/** Renders `"$problems"` and `"$whole"`, which has a row if there are none. */
const renderProblems = (problems: readonly Fragment[]): Fragment =>
  sql`"$problems" as materialized (${join(problems, '\nunion all ')}),
"$whole" as materialized (select true as "is" where not exists (select from "$problems"))`;

const PROBLEMS = sql`(select json_agg(json_build_array(p."item", p."kind", p."field") order by p."item", p."kind", p."field")::text from (select * from "$problems" order by "kind" in ('outdated', 'missing') desc, "item" limit ${integerLiteral(MAX_PROBLEMS)}) p)`;

/** Renders the problems of references: each must lead to a record that the principal can read. */
function findReferences(plan: GrantedPlan, isChanged: (field: Field) => Fragment): Fragment[] {
  return plan.references.map(({ field, scan }, index) => {
    const value = sql`${N}.${ident(field.column)}`;
    const k = ident('k');
    const { table, condition } = renderScan(scan, k);
    const isVisible = sql`exists (select from ${table}${where(sql`${k}."id" = ${value}`, condition)})`;
    const isChecked = sql`substr(${N}.${CHECK}, ${integerLiteral(index + 1)}, 1) = '1'`;
    const conditions = where(sql`${value} is not null`, isChecked, isChanged(field), sql`not ${isVisible}`);
    const from =
      plan.operation === 'create' ? sql`"$new" ${N}` : sql`"$new" ${N} join "$held" ${H} on ${H}."id" = ${N}."id"`;
    return problem(sql`${N}.${ITEM}`, 'reference', sql`${from}${conditions}`, field.name);
  });
}

/** Renders `s`, the lists, and `"$rows"`, the records that the grants would make of them. `ids`: their ids, by item. */
function renderCandidates(plan: GrantedPlan, ids: Fragment): Fragment {
  const rows = sql`select u.* from ${listedRows([ITEM_LIST, GRANT_LIST, CHECK_LIST, ...listOperands(plan)], plan, [ITEM, GRANT, CHECK])}`;
  const newColumns = allFields(plan).map((field) => {
    if (field.role === 'id') return sql`i."id"`;
    return sql`${asStored(renderMade(plan, field), field)} as ${ident(field.column)}`;
  });
  const records = sql`select ${join([sql`${S}.${ITEM}`, sql`${S}.${GRANT}`, sql`${S}.${CHECK}`, ...newColumns])} from ${S} join "$ids" i on i.${ITEM} = ${S}.${ITEM}`;
  return sql`${S} as materialized (${rows}),
"$ids" as materialized (select d.${ITEM}, ${ids}::int8 as "id" from (select distinct ${S}.${ITEM} from ${S} order by ${S}.${ITEM}) d),
"$rows" as materialized (${records})`;
}

function renderCreate(plan: GrantedPlan, maxBytes: number): Fragment {
  // A record has one id, whichever grant makes it.
  const candidates = renderCandidates(plan, sql`nextval(${renderSequence(plan.scan)})`);
  const chosen = sql`select distinct on (${N}.${ITEM}) ${N}.* from "$rows" ${N} where ${holdsChosen(plan.before, N)} order by ${N}.${ITEM}, ${N}.${GRANT}::int4`;
  const refused = problem(
    sql`i.${ITEM}`,
    'refused',
    sql`(select distinct ${S}.${ITEM} from ${S}) i where not exists (select from "$new" ${N} where ${N}.${ITEM} = i.${ITEM})`,
  );
  // Records of one request may depend on each other.
  const changed = problem(
    sql`${N}.${ITEM}`,
    'refused',
    sql`"$new" ${N} where (${holdsChosen(plan.after, N)}) is not true`,
  );
  const references = findReferences(plan, () => empty);
  const { before, columns, source } = insertRows(plan.scan, {
    assigned: allFields(plan).map(({ column }) => [column, sql`${N}.${ident(column)}`] as const),
    from: sql`"$new" ${N}, "$whole"`,
    order: sql`${N}.${ITEM}`,
    name: '$inserted',
  });
  return sql`with ${candidates},
"$new" as materialized (${chosen}),
${renderNow(plan)},
${renderProblems([refused, changed, ...references])},
${before}${W} as (insert into ${renderTarget(plan.scan)} as ${R} ${columns} ${source} returning ${R}.*, ${renderRowMark(plan.scan, R)} as ${VERSION})
${renderResult(plan, maxBytes)}`;
}

/**
 * Renders the records with the key, as `data`, a JSON array of ExistingRecord: that of the grant under which a create
 * would store the record, or else one that some grant leads to. One that is hidden, or whose key is, tells nothing but
 * that it is there.
 */
function renderFind(plan: GrantedPlan): Fragment {
  const A = ident('a');
  const K = ident('k');
  const visible = renderScan(plan.scan, K);
  const all = renderScan(plan.all, A);
  const hasKey = (row: Fragment): readonly Fragment[] =>
    plan.key.map(({ column }) => sql`${row}.${ident(column)} = ${N}.${ident(column)}`);
  const same = hasKey(A);
  const key = join(plan.key.map(({ column }) => sql`${N}.${ident(column)}::text`));
  const rows = sql`select ${N}.*, (${holdsChosen(plan.before, N)}) is true as "$holds" from "$rows" ${N}`;
  const one = sql`(select ${K}."id" from ${visible.table}${where(sql`${K}."id" = ${A}."id"`, ...hasKey(K), visible.condition)})`;
  const matches = sql`select ${N}.${ITEM}, ${N}.${GRANT}::int4 as "grant", ${N}."$holds" as "holds", ${A}."id" is not null as "isThere", ${one} as "found", json_build_array(${key}) as "key" from (${rows}) ${N} left join ${all.table} on ${join(all.condition === empty ? same : [...same, all.condition], ' and ')}`;
  const first = sql`select distinct on (q.${ITEM}) q.* from (${matches}) q order by q.${ITEM}, q."holds" desc, case when not q."holds" then q."found" is null end, q."grant"`;
  // About the id that a create would draw, for conditions on it.
  const next = sql`(coalesce(pg_sequence_last_value(${renderSequence(plan.scan)}), 0) + 1)`;
  return sql`with ${renderCandidates(plan, next)}
select coalesce(json_agg(json_build_array(q.${ITEM}, q."found"::text, q."holds" and q."isThere" and q."found" is null, q."key") order by q.${ITEM})::text, '[]') as data, null::text as versions, null::text as problems, null::text as sizes from (${first}) q`;
}

/** Renders the value of a new record: that of the request, or else the default. */
function renderMade(plan: GrantedPlan, field: Field): Fragment {
  const stored = columnDefault(field);
  const fallback =
    stored === undefined
      ? keyword('null')
      : stored.kind === 'expression'
        ? keyword(stored.expression)
        : bind(valueOperand(field, stored.text));
  if (!plan.columns.includes(field)) return sql`(${fallback})`;
  const value = sql`${S}.${ident(field.name)}`;
  return plan.isSparse ? sql`(case when ${isProvided(plan, field)} then ${value} else ${fallback} end)` : value;
}

function renderUpdate(plan: GrantedPlan, maxBytes: number): Fragment {
  const rows = sql`select u.* from ${listedRows([ID_LIST, VERSION_LIST, ITEM_LIST, GRANT_LIST, CHECK_LIST, ...listOperands(plan)], plan, [ID, VERSION, ITEM, GRANT, CHECK])}`;
  const isChanged = plan.columns.length > 0;
  const changed = allFields(plan).map((field) => {
    const before = sql`${H}.${ident(field.column)}`;
    if (field.role === 'updatedAt' && isChanged)
      return sql`${asStored(keyword('now()'), field)} as ${ident(field.column)}`;
    if (!plan.columns.includes(field)) return before;
    const value = asStored(sql`${S}.${ident(field.name)}`, field);
    const after = plan.isSparse ? sql`case when ${isProvided(plan, field)} then ${value} else ${before} end` : value;
    return sql`${after} as ${ident(field.column)}`;
  });
  const next = sql`select ${join([sql`${S}.${ITEM}`, sql`${S}.${GRANT}`, sql`${S}.${CHECK}`, sql`${H}.${VERSION}`, ...changed])} from ${S} join "$held" ${H} on ${H}."id" = ${S}.${ID}`;
  const after = problem(
    sql`${N}.${ITEM}`,
    'refused',
    sql`"$new" ${N} where (${renderAlternatives(plan.after, N)}) is not true`,
  );
  const references = findReferences(plan, (field) => {
    // A reference that stays may lead anywhere, unless the principal cannot see that it stays.
    const isShown = plan.scan.entity.fields.has(field.name);
    if (!isShown) return keyword('true');
    const before = renderColumn(plan.scan, field, H) ?? sql`${H}.${ident(field.column)}`;
    return sql`${N}.${ident(field.column)} is distinct from ${before}`;
  });
  const table = renderTarget(plan.scan);
  const sets = allFields(plan)
    .filter((field) => plan.columns.includes(field) || field.role === 'updatedAt')
    .map(({ column }) => sql`${ident(column)} = ${N}.${ident(column)}`);
  const write = isChanged
    ? sql`update ${table} ${R} set ${join(sets)} from "$new" ${N}, "$whole"${where(sql`${R}."id" = ${N}."id"`, renderNodeGuard(plan.scan))} returning ${R}.*, ${renderRowMark(plan.scan, R)} as ${VERSION}`
    : sql`select ${R}.*, ${renderRowMark(plan.scan, R)} as ${VERSION} from ${table} ${R}, "$new" ${N}, "$whole"${where(sql`${R}."id" = ${N}."id"`, renderNodeGuard(plan.scan))}`;
  return sql`with ${S} as materialized (${rows}),
${renderHeld(plan, keyword('for no key update'))},
"$new" as materialized (${next}),
${renderNow(plan)},
${renderProblems([...findTargets(plan), after, ...references])},
${W} as (${write})
${renderResult(plan, maxBytes)}`;
}

/** Renders the stored records that the principal can read, locked in the order of their ids. */
function renderHeld(plan: GrantedPlan, lock: Fragment): Fragment {
  const conditions = where(
    renderNodeGuard(plan.scan),
    sql`${R}."id" = any(${bind(ID_LIST)})`,
    ...renderFilter(plan.scan, R, true),
  );
  return sql`"$held" as materialized (select ${renderColumns(plan, R)}, ${renderVersion(plan.scan, R)} as ${VERSION} from ${renderTarget(plan.scan)} ${R}${conditions} order by ${R}."id" ${lock} of ${R})`;
}

/**
 * Renders the problems of stored records: missing, of another version, or without a grant for the operation. A record that
 * another transaction has changed while the statement waited for it is outdated where grants look at other records:
 * these are not seen as that transaction left them.
 */
function findTargets(plan: GrantedPlan): Fragment[] {
  const joined = sql`${S} join "$held" ${H} on ${H}."id" = ${S}.${ID}`;
  const seen = sql`${R}."id" = ${H}."id" and ${renderVersion(plan.scan, R)} = ${H}.${VERSION}`;
  const isOutdated = where(
    sql`not exists (select from ${renderTarget(plan.scan)} ${R}${where(renderNodeGuard(plan.scan), seen)})`,
  );
  const holds = plan.operation === 'update' ? holdsCarrier(plan.before, H, S) : renderAlternatives(plan.before, H);
  return [
    problem(
      sql`${S}.${ITEM}`,
      'missing',
      sql`${S} where not exists (select from "$held" ${H} where ${H}."id" = ${S}.${ID})`,
    ),
    problem(sql`${S}.${ITEM}`, 'refused', sql`${joined} where (${holds}) is not true`),
    ...(plan.crossesRelations ? [problem(sql`${S}.${ITEM}`, 'outdated', sql`${joined}${isOutdated}`)] : []),
    ...(plan.guarded
      ? [problem(sql`${S}.${ITEM}`, 'stale', sql`${joined} where ${S}.${VERSION} <> ${H}.${VERSION}`)]
      : []),
  ];
}

function renderDelete(plan: GrantedPlan): Fragment {
  const rows = sql`select u.* from ${listedRows([ID_LIST, VERSION_LIST, ITEM_LIST], { columns: [], isSparse: false }, [ID, VERSION, ITEM])}`;
  const own = where(sql`${R}."id" = any(${bind(ID_LIST)})`, renderNodeGuard(plan.scan));
  return sql`with ${S} as materialized (${rows}),
${renderHeld(plan, keyword('for update'))},
${renderProblems(findTargets(plan))},
${W} as (delete from ${renderTarget(plan.scan)} ${R} using "$whole"${own} returning 1)
select case when exists (select from "$whole") then (select count(*) from ${W})::text end as data, null::text as versions, ${PROBLEMS} as problems, null::text as sizes${renderActor(plan.scan)}`;
}

/** Renders the one row of a create or update. */
function renderResult(plan: GrantedPlan, maxBytes: number): Fragment {
  const { result, projection } = plan;
  const V = ident('v');
  const conditions = renderFilter(result, W);
  const isShown = conditions.length === 0 ? keyword('true') : join(conditions, ' and ');
  const fields = projection.outputs.map((output) => {
    if (output.kind !== 'column') throw new TypeError('a write answers with columns alone');
    return output.field;
  });
  const visibleColumns = fields.map((field) => sql`${renderShown(result, field)} as ${ident(field.column)}`);
  const columns = join(fields.map((field) => outputColumn(field, V)));
  const text = sql`(select row_to_json(${RECORD})::text from (select ${columns} from (select ${join(visibleColumns)}) ${V}) ${RECORD})`;
  const id = sql`(select row_to_json(${RECORD})::text from (select ${W}."id") ${RECORD})`;
  const version = renderVersion(plan.scan, W, VERSION);
  const texts = sql`select t."isShown", case when t."isShown" then t."version" end as ${VERSION}, case when t."isShown" then t."whole" else t."id" end as "$text", t.${ITEM} as ${ROW} from (
  select (${isShown}) is true as "isShown", ${version} as "version", ${text} as "whole", ${id} as "id", ${N}.${ITEM} from "$new" ${N} join ${W} on ${W}."id" = ${N}."id" order by ${N}.${ITEM}
) t order by t.${ITEM}`;
  const sized = sql`select t.*, octet_length(t."$text") + 1 as "$size" from (${texts}) t`;
  const limited = limitRunningSize(sized, makeSizeLimit(plan.scan, maxBytes));
  return sql`select '[' || string_agg(q."$text", ',' order by q.${ROW}) || ']' as data, '[' || string_agg(coalesce(to_json(q.${VERSION})::text, 'null'), ',' order by q.${ROW}) || ']' as versions, ${PROBLEMS} as problems, '[' || string_agg((q."$size" - 1)::text, ',' order by q.${ROW}) || ']' as sizes${renderActor(plan.scan)} from (${limited}) q`;
}

const renderShown = (result: Scan, field: Field): Fragment =>
  renderColumn(result, field, W) ?? sql`${W}.${ident(field.column)}`;
