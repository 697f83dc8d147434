// The filter operators: one entry each, with everything that the rest of the code needs to know of an operator, except
// its SQL, which is in sql/operators.ts. A name without an entry does not compile.

export type FilterOperator =
  | 'eq'
  | 'ne'
  | 'gt'
  | 'gte'
  | 'lt'
  | 'lte'
  | 'in'
  | 'nin'
  | 'between'
  | 'contains'
  | 'startsWith'
  | 'endsWith'
  | 'matches'
  | 'isNull'
  | 'notNull';

export interface OperatorForm {
  /** Values that it takes; `two` and `many` are a list, with commas in a query string and an array in `_query`. */
  readonly arity: 'none' | 'one' | 'two' | 'many';
  /** What the type of the field must have. */
  readonly needs: 'nothing' | 'order' | 'text';
  /** `part`: the value is any text, also where the field holds only certain words (enum). */
  readonly value: 'whole' | 'part';
  /** The most characters of a value, when evaluating it costs more than its length suggests. */
  readonly maxLength?: number;
  /**
   * The operator that it negates. Through to-one relations the `not` is put outside, so that "no related record" counts
   * as null.
   */
  readonly denies: FilterOperator | null;
}

export const OPERATORS: Readonly<Record<FilterOperator, OperatorForm>> = {
  eq: { arity: 'one', needs: 'nothing', value: 'whole', denies: null },
  ne: { arity: 'one', needs: 'nothing', value: 'whole', denies: 'eq' },
  gt: { arity: 'one', needs: 'order', value: 'whole', denies: null },
  gte: { arity: 'one', needs: 'order', value: 'whole', denies: null },
  lt: { arity: 'one', needs: 'order', value: 'whole', denies: null },
  lte: { arity: 'one', needs: 'order', value: 'whole', denies: null },
  in: { arity: 'many', needs: 'nothing', value: 'whole', denies: null },
  nin: { arity: 'many', needs: 'nothing', value: 'whole', denies: 'in' },
  between: { arity: 'two', needs: 'order', value: 'whole', denies: null },
  contains: { arity: 'one', needs: 'text', value: 'part', denies: null },
  startsWith: { arity: 'one', needs: 'text', value: 'part', denies: null },
  endsWith: { arity: 'one', needs: 'text', value: 'part', denies: null },
  matches: { arity: 'one', needs: 'text', value: 'part', maxLength: 200, denies: null },
  isNull: { arity: 'none', needs: 'nothing', value: 'whole', denies: 'notNull' },
  notNull: { arity: 'none', needs: 'nothing', value: 'whole', denies: null },
};

export const FILTER_OPERATORS = Object.keys(OPERATORS) as readonly FilterOperator[];
