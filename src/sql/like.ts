// Substring and equality tests without case. PostgreSQL checks for cancellation between rows and between subqueries,
// and not within a function: strpos() searched for 400,000 characters in a million for two minutes, and only the end of
// PostgreSQL would have stopped it. A hundred conditions on a text of 10 MB took as long. So an expensive one
// (plan/predicate.ts) runs in subqueries, each of which takes a tenth of a second, or as long as folding the text.
import { type Fragment, sql } from './fragment.ts';
import { foldCase } from './text-expressions.ts';

export type LikeOperator = 'contains' | 'startsWith' | 'endsWith' | 'ieq';

/** A condition on a column and a substring; null where the column is null. */
type LikeCondition = (column: Fragment, part: Fragment) => Fragment;

export const LIKE_CONDITIONS: Readonly<Record<LikeOperator, LikeCondition>> = {
  contains: (column, part) => sql`strpos(${foldCase(column)}, ${foldCase(part)}) > 0`,
  startsWith: (column, part) => sql`starts_with(${foldCase(column)}, ${foldCase(part)})`,
  endsWith: (column, part) => sql`right(${foldCase(column)}, length(${foldCase(part)})) = ${foldCase(part)}`,
  ieq: (column, part) => sql`${foldCase(column)} = ${foldCase(part)}`,
};

/** Conditions with cancellation points. Before version 17 PostgreSQL uses one process alone for such a condition. */
export const INTERRUPTIBLE_LIKE_CONDITIONS: Readonly<Record<LikeOperator, LikeCondition>> = {
  contains: (column, part) =>
    sql`case when ${isLong(column, part)} then ${inSlices(column, part)} else ${LIKE_CONDITIONS.contains(column, part)} end`,
  startsWith: inSubquery(LIKE_CONDITIONS.startsWith),
  endsWith: inSubquery(LIKE_CONDITIONS.endsWith),
  ieq: inSubquery(LIKE_CONDITIONS.ieq),
};

/** Wraps the condition in a subquery where the text is long. */
function inSubquery(condition: LikeCondition): LikeCondition {
  return (column, part) => {
    const match = condition(column, part);
    return sql`case when ${isLong(column, part)} then (select ${match}) else ${match} end`;
  };
}

/** Product of both lengths in bytes: 5 ms at worst. The length of a stored text is known without reading it. */
const isLong: LikeCondition = (column, part) =>
  sql`octet_length(${column})::int8 * greatest(octet_length(${part}), 100) > 10000000`;

/**
 * Searches slice by slice; the longer the substring, the shorter the slice, as PostgreSQL compares it with each
 * position of a slice at worst. Slices are bytes, which are counted without being read; no character of UTF-8 begins
 * within another.
 */
const inSlices: LikeCondition = (column, part) => sql`(select exists (
  select from generate_series(1, octet_length(l.whole), l.step) p
  where position(l.part in substr(l.whole, p, l.step + octet_length(l.part))) > 0)
from (select t.whole, t.part, 2000000000 / greatest(octet_length(t.part), 2) as step
  from (select convert_to(${foldCase(column)}, 'UTF8') as whole, convert_to(${foldCase(part)}, 'UTF8') as part offset 0) t offset 0) l)`;
