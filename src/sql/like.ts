// Substring and equality tests without case. PostgreSQL checks for cancellation between rows and between subqueries,
// and not within a function: strpos() searched for 400,000 characters in a million for two minutes, and only the end of
// PostgreSQL would have stopped it. A hundred conditions on a text of 10 MB took as long. So an expensive one
// (plan/predicate.ts) runs in subqueries, each of which takes a tenth of a second, or as long as folding the text.
import { type Fragment, sql } from './fragment.ts';
import { foldCase, foldCaseOfDotless } from './text-expressions.ts';

export type LikeOperator = 'contains' | 'startsWith' | 'endsWith' | 'ieq';

/** A condition on a column and a substring; null where the column is null. */
type LikeCondition = (column: Fragment, part: Fragment) => Fragment;
/** The same with the case folding of both. */
type FoldedCondition = (column: Fragment, part: Fragment, fold: typeof foldCase) => Fragment;

const FOLDED_CONDITIONS: Readonly<Record<LikeOperator, FoldedCondition>> = {
  contains: (column, part, fold) => sql`strpos(${fold(column)}, ${fold(part)}) > 0`,
  startsWith: (column, part, fold) => sql`starts_with(${fold(column)}, ${fold(part)})`,
  endsWith: (column, part, fold) => sql`right(${fold(column)}, length(${fold(part)})) = ${fold(part)}`,
  ieq: (column, part, fold) => sql`${fold(column)} = ${fold(part)}`,
};

export const LIKE_CONDITIONS = mapConditions(distinguishDotless);

/** Conditions with cancellation points. Before version 17 PostgreSQL uses one process alone for such a condition. */
export const INTERRUPTIBLE_LIKE_CONDITIONS = mapConditions((condition, operator) =>
  distinguishDotless((column, part, fold) => {
    const match = condition(column, part, fold);
    const inSubquery = operator === 'contains' ? inSlices(column, part, fold) : sql`(select ${match})`;
    return sql`case when ${isLong(column, part)} then ${inSubquery} else ${match} end`;
  }),
);

function mapConditions(
  change: (condition: FoldedCondition, operator: LikeOperator) => LikeCondition,
): Readonly<Record<LikeOperator, LikeCondition>> {
  const { contains, startsWith, endsWith, ieq } = FOLDED_CONDITIONS;
  return {
    contains: change(contains, 'contains'),
    startsWith: change(startsWith, 'startsWith'),
    endsWith: change(endsWith, 'endsWith'),
    ieq: change(ieq, 'ieq'),
  };
}

/** Repeats the condition for a match in a text with a dotless ı, which the fast folding takes for an i. */
function distinguishDotless(condition: FoldedCondition): LikeCondition {
  return (column, part) =>
    sql`(${condition(column, part, foldCase)} and case when strpos(${column}, 'ı') = 0 then strpos(${part}, 'ı') = 0
else ${condition(column, part, foldCaseOfDotless)} end)`;
}

/** Product of both lengths in bytes: 5 ms at worst. The length of a stored text is known without reading it. */
const isLong: LikeCondition = (column, part) =>
  sql`octet_length(${column})::int8 * greatest(octet_length(${part}), 100) > 10000000`;

/**
 * Searches slice by slice; the longer the substring, the shorter the slice, as PostgreSQL compares it with each
 * position of a slice at worst. Slices are bytes, which are counted without being read; no character of UTF-8 begins
 * within another.
 */
const inSlices: FoldedCondition = (column, part, fold) => sql`(select exists (
  select from generate_series(1, octet_length(l.whole), l.step) p
  where position(l.part in substr(l.whole, p, l.step + octet_length(l.part))) > 0)
from (select t.whole, t.part, 2000000000 / greatest(octet_length(t.part), 2) as step
  from (select convert_to(${fold(column)}, 'UTF8') as whole, convert_to(${fold(part)}, 'UTF8') as part offset 0) t offset 0) l)`;
