// Filter operators in SQL: a column and its bound values -> a condition. A filter is never null where its operator
// negates: null differs from every value.
import type { FilterOperator } from '../model/operators.ts';
import { type Fragment, sql } from './fragment.ts';
import { INTERRUPTIBLE_LIKE_CONDITIONS, LIKE_CONDITIONS, type LikeOperator } from './like.ts';
import { foldCase } from './text-expressions.ts';

type Render = (column: Fragment, operands: readonly Fragment[], isExpensive: boolean) => Fragment;

const OPERATORS: Readonly<Record<FilterOperator, Render>> = {
  eq: one((column, value) => sql`${column} = ${value}`),
  ne: one((column, value) => sql`${column} is distinct from ${value}`),
  gt: one((column, value) => sql`${column} > ${value}`),
  gte: one((column, value) => sql`${column} >= ${value}`),
  lt: one((column, value) => sql`${column} < ${value}`),
  lte: one((column, value) => sql`${column} <= ${value}`),
  // All values of a list are one array.
  in: one((column, values) => sql`${column} = any(${values})`),
  nin: one((column, values) => sql`((${column} = any(${values})) is not true)`),
  between: two((column, least, greatest) => sql`${column} between ${least} and ${greatest}`),
  contains: like('contains'),
  startsWith: like('startsWith'),
  endsWith: like('endsWith'),
  ieq: like('ieq'),
  // Matches a POSIX regular expression. PostgreSQL checks for a timeout while it compiles and runs one.
  matches: one((column, expression) => sql`${column} ~ ${expression}`),
  isNull: none((column) => sql`${column} is null`),
  notNull: none((column) => sql`${column} is not null`),
};

/** Renders the operator; `isHard`: see `isExpensive` of Predicate. */
export function renderOperator(
  operator: FilterOperator,
  column: Fragment,
  operands: readonly Fragment[],
  isExpensive = false,
): Fragment {
  return OPERATORS[operator](column, operands, isExpensive);
}

function none(render: (column: Fragment) => Fragment): Render {
  return (column) => render(column);
}

function one(render: (column: Fragment, value: Fragment) => Fragment): Render {
  return (column, [value]) => render(column, requireOperand(value));
}

/**
 * Adds a pattern by which PostgreSQL can use a substring index, which supports `like` alone: 360 to 2 ms in 200,000
 * rows.
 */
function like(operator: LikeOperator): Render {
  return (column, [value, pattern], isExpensive) => {
    const match = (isExpensive ? INTERRUPTIBLE_LIKE_CONDITIONS : LIKE_CONDITIONS)[operator](
      column,
      requireOperand(value),
    );
    return pattern === undefined ? match : sql`(${foldCase(column)} like ${foldCase(pattern)} and ${match})`;
  };
}

function two(render: (column: Fragment, first: Fragment, second: Fragment) => Fragment): Render {
  return (column, [first, second]) => render(column, requireOperand(first), requireOperand(second));
}

/** A missing value would be bound as null, and a filter that nothing satisfies is a wrong result. */
function requireOperand(operand: Fragment | undefined): Fragment {
  if (operand === undefined) throw new TypeError('a filter operator has too few values');
  return operand;
}
