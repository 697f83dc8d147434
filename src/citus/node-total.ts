// Totals on a node of a Citus cluster, where the tables of a workspace lie as shards. Triggers of a shard can only use
// shards of the same node, so the functions that maintain totals are created there, too, from the same text with the
// names of shards.
//
// A move leaves triggers and functions on the old node and copies the rows of totals. The remains are harmless: there
// are no more writes, and a workspace that returns gets new functions with its first total.

import { INSTALL_FILES } from '../database/install.ts';
import { type Fragment, integerLiteral, literal, sql } from '../sql/fragment.ts';
import { getTotalKey, TOTAL_OBJECTS, type TotalLocation, totalRef } from '../sql/internal-names.ts';
import type { NodeTotals } from '../workspace-schema/count.ts';

type NodeTotalLocation = Required<TotalLocation>;

const CREATE_FUNCTION = /^create (?:or replace )?(function \{schema\}\."\$(\w+)"\([\s\S]*)/m;
const IN_SCHEMA = /\{schema\}\."\$(\w+)"/g;
/** The condition occurs once in the file. */
const RELATION_CONDITION = 'b.relation = c.relname';
const PATH = sql`set search_path = pg_catalog, pg_temp`.text;
// Without it Citus hides shards in pg_class.
const SEES_SHARDS = sql`set citus.override_table_visibility = off`.text;

/** Statements that install the functions, for a transaction on the node. */
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
    // Functions of a node must not be propagated to the others.
    sql`set local citus.enable_ddl_propagation = off`.text,
    // Same settings as in install/workspace.
    sql`alter table ${totalRef(location, 'total')} alter column relid set statistics 0, alter column slot set statistics 0`
      .text,
    ...functions,
    sql`revoke all on function ${totalRef(location, 'count_records')}() from public`.text,
  ];
}

/** Builds the statement that creates a function of a workspace; `getName(name)` replaces each `$name` in it. */
function buildFunction(name: string, getName: (name: string) => string): string {
  const text = INSTALL_FILES.workspace
    .flatMap(({ statements }) => statements)
    .map((statement) => CREATE_FUNCTION.exec(statement))
    .findLast((match) => match?.[2] === name)?.[1];
  if (text === undefined) throw new TypeError(`no file makes ${name}`);
  return `create or replace ${text.replaceAll(IN_SCHEMA, (_, one) => getName(one))}`;
}

/** Parses the name of a table from the `relation` of its stored total. */
const parseTableName = (storedName: string): string => storedName.replace(/@\d+$/, '');

/** Builds the condition that the shards are in use: during a move there are others as well. */
const isInUse = ({ total: { shard, group } }: NodeTotalLocation): Fragment =>
  sql`exists (select from pg_catalog.pg_dist_placement where shardid = ${integerLiteral(Number(shard))} and groupid = ${integerLiteral(Number(group))})`;

/** Query for the stored totals on the connected node: rows of (schema, shard). */
const TOTALS_ON_NODE = sql`select n.nspname as schema, s.shardid::text as shard
from pg_class c join pg_namespace n on n.oid = c.relnamespace
join pg_dist_shard s on s.logicalrelid = c.oid
join pg_dist_placement p on p.shardid = s.shardid join pg_dist_local_group g on g.groupid = p.groupid
where c.relname = '$total' and c.relkind = 'r'
  and pg_relation_size(to_regclass(format('%I.%I', n.nspname, '$total_' || s.shardid))) > 0
  and to_regprocedure(format('%I.%I(bool)', n.nspname, '$fold_totals_' || s.shardid)) is not null`;

/**
 * Folds all totals of the connected node, as a command of the coordinator. For nodes that no server is connected to,
 * whose triggers still add rows.
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

// Citus prevents accidental locks on shards.
const lockable = sql`set local citus.enable_manual_changes_to_shards = on; `;

export const buildNodeTotals = (group: string): NodeTotals => ({
  group,
  totalsQuery: TOTALS_ON_NODE,
  parseTableName,
  install,
  isInUse,
  lockable,
});
