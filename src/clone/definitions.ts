// What a database holds as statements that make it anew, written by PostgreSQL itself out of its catalogs. Of the kinds of
// objects that it can have these are the ones that servers make; `strangers` finds others. The search path has to be that of
// our sessions, so that every name has its schema.
import { empty, type Fragment, keyword, sql } from '../sql/fragment.ts';

/** Made by somebody: with PostgreSQL come ids below 16384, with an extension what belongs to it. */
const made = (catalog: Fragment, oid: Fragment): Fragment =>
  sql`${oid} >= 16384 and not exists (select from pg_depend x where x.classid = ${catalog} and x.objid = ${oid} and x.deptype = 'e')`;

const RELATION = keyword("'pg_class'::regclass");
const ROUTINE = keyword("'pg_proc'::regclass");
const NAMESPACE = keyword("'pg_namespace'::regclass");
const isTable = sql`${made(RELATION, keyword('c.oid'))} and c.relkind = 'r' and c.relpersistence <> 't' and n.nspname !~ '^pg_'`;

const OPTIONS = sql`format('increment %s minvalue %s maxvalue %s start %s cache %s%s', q.seqincrement, q.seqmin, q.seqmax, q.seqstart,
  q.seqcache, case when q.seqcycle then ' cycle' else '' end)`;

/** Sequences of identity columns are made with their tables. */
const isOfIdentity = sql`exists (select from pg_depend d where d.classid = ${RELATION} and d.objid = c.oid and d.deptype = 'i')`;

export const schemas = (
  owner: string,
): Fragment => sql`select format('create schema %I authorization %I', n.nspname, ${owner}::text) as text from pg_namespace n
where ${made(NAMESPACE, keyword('n.oid'))} and n.nspname !~ '^pg_' order by n.oid`;

/** By whoever has created them there: not every extension is one that others than the superuser may create. */
export const extensions = (
  owner: string,
): Fragment => sql`select format('set role %I; create extension if not exists %I schema %I; reset role',
  case when r.rolsuper then current_user else ${owner} end, e.extname, n.nspname) as text
from pg_extension e join pg_namespace n on n.oid = e.extnamespace
join pg_roles r on r.oid = e.extowner where e.oid >= 16384 order by e.oid`;

/** `late`: those that take or give rows of tables, and so come after the tables. Their bodies are not looked at. */
const routines = (late: boolean): Fragment => sql`select pg_get_functiondef(p.oid) || case
  when p.proacl is not null and not exists (select from aclexplode(p.proacl) a where a.grantee = 0)
  then format('; revoke all on routine %s from public', p.oid::regprocedure) else '' end as text
from pg_proc p join pg_namespace n on n.oid = p.pronamespace
where ${made(ROUTINE, keyword('p.oid'))} and n.nspname !~ '^pg_' and p.prokind in ('f', 'p') and ${late ? empty : sql`not`} exists (
  select from unnest(p.proargtypes::oid[] || p.prorettype || coalesce(p.proallargtypes, '{}')) used
  join pg_type t on t.oid = used left join pg_type e on e.oid = t.typelem
  where coalesce(nullif(t.typrelid, 0), e.typrelid, 0) <> 0
) order by p.oid`;

const SEQUENCES = sql`select format('create sequence %I.%I as %s %s', n.nspname, c.relname, q.seqtypid::regtype, ${OPTIONS}) as text
from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_sequence q on q.seqrelid = c.oid
where ${made(RELATION, keyword('c.oid'))} and n.nspname !~ '^pg_' and not ${isOfIdentity} order by c.oid`;

const COLUMN = sql`format('%I %s', a.attname, format_type(a.atttypid, a.atttypmod))
    || case when a.attcollation <> 0 and a.attcollation <> t.typcollation
      then (select format(' collate %I.%I', l.nspname, k.collname) from pg_collation k join pg_namespace l on l.oid = k.collnamespace where k.oid = a.attcollation)
      else '' end
    || case
      when a.attidentity <> '' then (
        select format(' generated %s as identity (sequence name %I.%I %s)', case a.attidentity when 'a' then 'always' else 'by default' end, m.nspname, s.relname, ${OPTIONS})
        from pg_depend d join pg_class s on s.oid = d.objid join pg_namespace m on m.oid = s.relnamespace join pg_sequence q on q.seqrelid = s.oid
        where d.classid = ${RELATION} and d.refclassid = ${RELATION} and d.refobjid = c.oid and d.refobjsubid = a.attnum and d.deptype = 'i')
      when a.attgenerated <> '' then format(' generated always as (%s) %s', pg_get_expr(f.adbin, f.adrelid), case a.attgenerated when 's' then 'stored' else 'virtual' end)
      when f.oid is not null then format(' default %s', pg_get_expr(f.adbin, f.adrelid))
      else '' end
    || case when a.attnotnull then ' not null' else '' end`;

export const TABLES = sql`select n.nspname as schema, c.relname as name, pg_table_size(c.oid)::float8 as bytes,
  format('create %stable %I.%I (', case c.relpersistence when 'u' then 'unlogged ' else '' end, n.nspname, c.relname)
  || concat_ws(', ', (
    select string_agg(${COLUMN}, ', ' order by a.attnum)
    from pg_attribute a join pg_type t on t.oid = a.atttypid left join pg_attrdef f on f.adrelid = a.attrelid and f.adnum = a.attnum
    where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  ), (
    select string_agg(format('constraint %I %s', k.conname, pg_get_constraintdef(k.oid)), ', ' order by k.conname)
    from pg_constraint k where k.conrelid = c.oid and k.contype = 'c' and k.convalidated
  )) || ')' || coalesce(' with (' || array_to_string(c.reloptions, ', ') || ')', '') as text,
  array(select a.attname::text from pg_attribute a
    where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' order by a.attnum) as columns
from pg_class c join pg_namespace n on n.oid = c.relnamespace where ${isTable} order by c.oid`;

const OWNED_SEQUENCES = sql`select format('alter sequence %I.%I owned by %I.%I.%I', m.nspname, s.relname, n.nspname, c.relname, a.attname) as text
from pg_depend d join pg_class s on s.oid = d.objid and s.relkind = 'S' join pg_namespace m on m.oid = s.relnamespace
join pg_class c on c.oid = d.refobjid join pg_namespace n on n.oid = c.relnamespace
join pg_attribute a on a.attrelid = c.oid and a.attnum = d.refobjsubid
where d.classid = ${RELATION} and d.refclassid = ${RELATION} and d.deptype = 'a' and ${made(RELATION, keyword('s.oid'))}`;

const STATISTICS = sql`select format('alter table %I.%I alter column %I set statistics %s', n.nspname, c.relname, a.attname, a.attstattarget) as text
from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
where ${isTable} and a.attnum > 0 and not a.attisdropped and a.attstattarget >= 0`;

/** `kinds`: of pg_constraint.contype. Checks that hold for all rows came with their tables. */
const constraints = (
  kinds: string,
): Fragment => sql`select format('alter table %I.%I add constraint %I %s', n.nspname, c.relname, k.conname, pg_get_constraintdef(k.oid)) as text
from pg_constraint k join pg_class c on c.oid = k.conrelid join pg_namespace n on n.oid = c.relnamespace
where ${isTable} and k.contype = any(string_to_array(${kinds}, ',')) and (k.contype <> 'c' or not k.convalidated) order by k.oid`;

/** One that is not valid was left by a build that was ended, and is of no use to anybody. */
const INDEXES = sql`select pg_get_indexdef(i.indexrelid) as text
from pg_index i join pg_class c on c.oid = i.indrelid join pg_namespace n on n.oid = c.relnamespace
where ${isTable} and i.indisvalid and not exists (select from pg_constraint k where k.conindid = i.indexrelid and k.contype in ('p', 'u', 'x'))
order by i.indexrelid`;

const TRIGGERS = sql`select pg_get_triggerdef(g.oid) || case when g.tgenabled = 'O' then '' else format('; alter table %I.%I %s trigger %I',
  n.nspname, c.relname, case g.tgenabled when 'A' then 'enable always' when 'R' then 'enable replica' else 'disable' end, g.tgname) end as text
from pg_trigger g join pg_class c on c.oid = g.tgrelid join pg_namespace n on n.oid = c.relnamespace
where ${isTable} and not g.tgisinternal order by g.oid`;

/** Queries of statements, in their order: before the tables, after the tables, and when all rows are there. */
export const BEFORE: readonly Fragment[] = [routines(false), SEQUENCES];
export const AFTER: readonly Fragment[] = [OWNED_SEQUENCES, routines(true), STATISTICS];
export const LAST: readonly Fragment[] = [constraints('p,u,x'), INDEXES, constraints('c'), constraints('f'), TRIGGERS];

export interface ClonedTable {
  readonly schema: string;
  readonly name: string;
  /** But for generated ones. */
  readonly columns: readonly string[];
  /** With what its long values take elsewhere, without indexes. */
  readonly bytes: number;
  /** The statement that makes it. */
  readonly text: string;
}

export const ALL_SEQUENCES = sql`select n.nspname as schema, c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind = 'S' and c.relpersistence <> 't' and ${made(RELATION, keyword('c.oid'))} order by c.oid`;

/** All that depends on something, and schemas: kind and name, as PostgreSQL identifies objects. */
const OBJECTS = sql`select distinct i.type as kind, i.identity as name from (
  select classid, objid from pg_depend d where d.objid >= 16384 and d.deptype <> 'e'
    and not exists (select from pg_depend x where x.classid = d.classid and x.objid = d.objid and x.deptype = 'e')
    -- Parts of operator classes come with them.
    and d.classid not in ('pg_amop'::regclass, 'pg_amproc'::regclass)
    -- Not null: names of their own only since version 18. Indexes that are not valid are not moved.
    and not exists (select from pg_constraint k where d.classid = 'pg_constraint'::regclass and k.oid = d.objid and k.contype = 'n')
    and not exists (select from pg_index v where d.classid = 'pg_class'::regclass and v.indexrelid = d.objid and not v.indisvalid)
    and not exists (select from pg_trigger g where d.classid = 'pg_trigger'::regclass and g.oid = d.objid and g.tgisinternal)
  union select ${NAMESPACE}, n.oid from pg_namespace n where ${made(NAMESPACE, keyword('n.oid'))}
) o, pg_identify_object(o.classid, o.objid, 0) i
where i.identity !~ '^pg_t(oast|emp)'`;

const KINDS = [
  'schema',
  'table',
  'index',
  'sequence',
  'function',
  'procedure',
  'trigger',
  'table constraint',
  'default value',
  'extension',
];

/** What is there, in lines, to be compared. */
export const CONTENTS = sql`select string_agg(kind || ' ' || name, e'\n' order by kind, name) as lines from (${OBJECTS}) o
-- Those of tables come with them, those of extensions are another matter.
where kind <> 'type'`;

/** Ten of what is of another kind and made by hand; types of tables and of their lists are none of it. */
export const STRANGERS = sql`select kind || ' ' || name as what from (${OBJECTS}) o
where kind <> all(string_to_array(${KINDS.join(',')}, ','))
  and not (kind = 'type' and to_regtype(name) in (
    select t.oid from pg_type t left join pg_class c on c.oid = t.typrelid where t.typelem <> 0 or c.relkind = 'r'))
union all
select 'partition or heir ' || inhrelid::regclass from pg_inherits h join pg_class c on c.oid = h.inhrelid where c.relkind <> 'I' and h.inhrelid >= 16384
order by 1 limit 10`;
