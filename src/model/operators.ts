// The operators of filters and grants: one entry each, from which follow the parsers, plans, the OpenAPI document, the
// tools of agents, and by `npm run generate` the types of the client and the form of the console. The SQL is in
// sql/operators.ts, which does not compile without it.

export interface OperatorForm {
  /** Number of values; `two` and `many` are a list, with commas in a query string and an array in `_query`. */
  readonly arity: 'none' | 'one' | 'two' | 'many';
  /** Requirement on the type of the field. */
  readonly needs: 'nothing' | 'order' | 'text';
  /** `part`: the value is any text, even for a field that holds only certain words (enum). */
  readonly value: 'whole' | 'part';
  /** The most characters of a value, when evaluating it costs more than its length suggests. */
  readonly maxLength?: number;
  /**
   * Operator that it negates. Through to-one relations the `not` is put outside, so that "no related record" counts as
   * null.
   */
  readonly denies: FilterOperator | null;
  /** Label in a form: `total <label> 10`. */
  readonly label: string;
  /** Comment of the client's type. */
  readonly comment?: string;
}

const wholeValue = { value: 'whole', denies: null } as const;
const text = { arity: 'one', needs: 'text', value: 'part', denies: null } as const;

const DEFINITIONS = {
  eq: { ...wholeValue, arity: 'one', needs: 'nothing', label: 'is' },
  ne: { ...wholeValue, arity: 'one', needs: 'nothing', denies: 'eq', label: 'is not', comment: 'Null matches.' },
  gt: { ...wholeValue, arity: 'one', needs: 'order', label: 'more than' },
  gte: { ...wholeValue, arity: 'one', needs: 'order', label: 'at least' },
  lt: { ...wholeValue, arity: 'one', needs: 'order', label: 'less than' },
  lte: { ...wholeValue, arity: 'one', needs: 'order', label: 'at most' },
  in: { ...wholeValue, arity: 'many', needs: 'nothing', label: 'is one of' },
  nin: { ...wholeValue, arity: 'many', needs: 'nothing', denies: 'in', label: 'is none of', comment: 'Null matches.' },
  between: { ...wholeValue, arity: 'two', needs: 'order', label: 'between', comment: 'Both ends belong to it.' },
  contains: { ...text, label: 'contains' },
  startsWith: { ...text, label: 'starts with' },
  endsWith: { ...text, label: 'ends with' },
  ieq: { ...text, label: 'is, whatever the case', comment: 'Equals, whatever the case.' },
  matches: { ...text, maxLength: 200, label: 'matches', comment: 'A POSIX regular expression.' },
  isNull: { ...wholeValue, arity: 'none', needs: 'nothing', denies: 'notNull', label: 'is NULL' },
  notNull: { ...wholeValue, arity: 'none', needs: 'nothing', label: 'is not NULL' },
} as const;

export type FilterOperator = keyof typeof DEFINITIONS;

export const OPERATORS: Readonly<Record<FilterOperator, OperatorForm>> = DEFINITIONS;

export const FILTER_OPERATORS = Object.keys(OPERATORS) as readonly FilterOperator[];

/** Operators whose values are a list, for texts that say so. */
export const LIST_OPERATORS: readonly FilterOperator[] = FILTER_OPERATORS.filter((name) =>
  ['two', 'many'].includes(OPERATORS[name].arity),
);

/** A condition on the records of an entity, of which no name is resolved yet; paths cross relations. */
export type ConditionTree<Value, Operator = FilterOperator> =
  | { readonly kind: 'and' | 'or'; readonly members: readonly ConditionTree<Value, Operator>[] }
  | { readonly kind: 'not'; readonly member: ConditionTree<Value, Operator> }
  | {
      readonly kind: 'compare';
      readonly path: readonly string[];
      readonly operator: Operator;
      /** Values, as many as the arity of the operator requires. */
      readonly values: readonly Value[];
    };
