// Totals on a node of a Citus cluster, where the tables of a workspace lie as shards. Triggers of a shard can use other shards of
// the node alone, so the functions that keep totals are made there once more, from the same text, with the names of shards.
//
// A move leaves triggers and functions behind and takes the rows of totals along. What is left does no harm: nobody writes
// there any more, and a workspace that comes back has its functions made anew with its first total.

import { INSTALL_FILES } from '../database/install.ts';
import { type Fragment, integerLiteral, literal, sql } from '../sql/fragment.ts';
import { getTotalKey, TOTAL_OBJECTS, type TotalLocation, totalRef } from '../sql/internal-names.ts';
import type { NodeTotals } from '../workspace-schema/count.ts';

type NodeTotalLocation = Required<TotalLocation>;

const CREATE_FUNCTION = /^create (?:or replace )?(function \{schema\}\."\$(\w+)"\([\s\S]*)/m;
const IN_SCHEMA = /\{schema\}\."\$(\w+)"/g;
/** The file says it once. */
const RELATION_CONDITION = 'b.relation = c.relname';
const PATH = sql`set search_path = pg_catalog, pg_temp`.text;
// Else Citus leaves shards out of pg_class.
const SEES_SHARDS = sql`set citus.override_table_visibility = off`.text;

/** For a transaction on the node. */
function install(location: NodeTotalLocation): readonly string[] {
  const getName = (name: string): string => totalRef(location, name as (typeof TOTAL_OBJECTS)[number]).text;
  const functions = TOTAL_OBJECTS.filter((name) => name !== 'total').map((name) => {
    const text = buildFunction(name, getName).replace(
      RELATION_CONDITION,
      `${RELATION_CONDITION} || ${literal(getTotalKey({ ...location, name: '' })).text}`,
    );
    return /\bpg_class\b/.test(text) ? text.replace(PATH, `${PATH} ${SEES_SHARDS}`) : text;
  });
  return [
    // Functions of a node are not for the others.
    sql`set local citus.enable_ddl_propagation = off`.text,
    // As install/workspace does it elsewhere.
    sql`alter table ${totalRef(location, 'total')} alter column relid set statistics 0, alter column slot set statistics 0`
      .text,
    ...functions,
    sql`revoke all on function ${totalRef(location, 'count_records')}() from public`.text,
  ];
}

/** The statement that makes a function of a workspace; `named(name)` gives the name to put there for each `$name` in it. */
function buildFunction(name: string, getName: (name: string) => string): string {
  const text = INSTALL_FILES.workspace
    .flatMap(({ statements }) => statements)
    .map((statement) => CREATE_FUNCTION.exec(statement))
    .findLast((match) => match?.[2] === name)?.[1];
  if (text === undefined) throw new TypeError(`no file makes ${name}`);
  return `create or replace ${text.replaceAll(IN_SCHEMA, (_, one) => getName(one))}`;
}

/** The name of a table by what stands in its base (notedAs). */
const parseTableName = (storedName: string): string => storedName.replace(/@\d+$/, '');

/** Whether the shards of the place are those that are in use: while they are moved others are there already, or still. */
const isInUse = ({ total: { shard, group } }: NodeTotalLocation): Fragment =>
  sql`exists (select from pg_catalog.pg_dist_placement where shardid = ${integerLiteral(Number(shard))} and groupid = ${integerLiteral(Number(group))})`;

/** Where totals are or were kept on the node that is asked: rows of (schema, shard). */
const TOTALS_ON_NODE = sql`select n.nspname as schema, s.shardid::text as shard
from pg_class c join pg_namespace n on n.oid = c.relnamespace
join pg_dist_shard s on s.logicalrelid = c.oid
join pg_dist_placement p on p.shardid = s.shardid join pg_dist_local_group g on g.groupid = p.groupid
where c.relname = '$total' and c.relkind = 'r'
  and pg_relation_size(to_regclass(format('%I.%I', n.nspname, '$total_' || s.shardid))) > 0
  and to_regprocedure(format('%I.%I(bool)', n.nspname, '$fold_totals_' || s.shardid)) is not null`;

/**
 * Folds all totals of the node that is asked, for a command of the coordinator. For nodes that no server is connected to: their
 * triggers go on adding rows.
 */
export const FOLD_NODE = sql`do $$
declare
  place record;
begin
  for place in select schema, shard from (${TOTALS_ON_NODE}) k loop
    begin
      execute format('select %I.%I(true)', place.schema, '$fold_totals_' || place.shard);
    exception when others then
      -- The next ones have their turn all the same.
    end;
  end loop;
end $$`.text;

// Citus lets nobody lock a shard by mistake.
const lockable = sql`set local citus.enable_manual_changes_to_shards = on; `;

export const buildNodeTotals = (group: string): NodeTotals => ({
  group,
  totalsQuery: TOTALS_ON_NODE,
  parseTableName,
  install,
  isInUse,
  lockable,
});
