// Generated from the tables in src/request by `npm run generate`.
export type Takes = 'none' | 'any' | 'one' | 'two' | 'many';

/** Values of each operator; `any`: objects of JSON, too. */
export const OPERATORS: Readonly<Record<string, Takes>> = {
  eq: 'any',
  ne: 'any',
  gt: 'one',
  gte: 'one',
  lt: 'one',
  lte: 'one',
  in: 'many',
  nin: 'many',
  between: 'two',
  contains: 'one',
  startsWith: 'one',
  endsWith: 'one',
  ieq: 'one',
  matches: 'one',
  isNull: 'none',
  notNull: 'none',
};

type Ordered<V> = [V] extends [boolean] ? never : V;
type Text<V> = [V] extends [string] ? string : never;

/** Conditions on a column of a type. */
export interface Operators<V> {
  readonly eq?: V;
  /** Null matches. */
  readonly ne?: V;
  readonly gt?: Ordered<V>;
  readonly gte?: Ordered<V>;
  readonly lt?: Ordered<V>;
  readonly lte?: Ordered<V>;
  readonly in?: readonly V[];
  /** Null matches. */
  readonly nin?: readonly V[];
  /** Both ends belong to it. */
  readonly between?: readonly [Ordered<V>, Ordered<V>];
  readonly contains?: Text<V>;
  readonly startsWith?: Text<V>;
  readonly endsWith?: Text<V>;
  /** Equals, whatever the case. */
  readonly ieq?: Text<V>;
  /** A POSIX regular expression. */
  readonly matches?: Text<V>;
  readonly isNull?: true;
  readonly notNull?: true;
}

/** Conditions on a column of JSON. */
export interface JsonOperators {
  readonly eq?: unknown;
  /** Null matches. */
  readonly ne?: unknown;
  readonly in?: readonly unknown[];
  /** Null matches. */
  readonly nin?: readonly unknown[];
  readonly isNull?: true;
  readonly notNull?: true;
}
