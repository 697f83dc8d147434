// Types of a workspace from the file of `wda types`, and types of each request that follow from them. Plain mapped types over
// interfaces: the compiler computes only what a call names, and parses no text.
import type { JsonOperators, Operators } from './operators.generated.ts';
import type { NarrowParameters } from './parameters.generated.ts';

/**
 * Value of a column with more digits than a double represents (`bigint`, and `decimal` of more than 15 digits): a number if that
 * is exact, else the text of the digits.
 */
export type Digits = number | string;

/** Value of such a column in a request. */
export type DigitsIn = number | string | bigint;

/** Entity in the file of types. `create` or `update` is `never` if the credential may not do it. */
export interface EntityShape {
  readonly row: object;
  readonly create: object;
  readonly update: object;
  /** Record as writes answer, if that may be its id alone: the user may write records that it cannot read. */
  readonly written?: object;
  /** Relations: required as `'customers'`, optional as `'customers' | null`, to-many as `'orderItems'[]`. */
  readonly relations: object;
}

/** Entities of a workspace by name, in the file of types. */
export type Shape<S> = { readonly [E in keyof S]: EntityShape };

export type Row<S extends Shape<S>, E extends keyof S> = S[E]['row'];
export type Create<S extends Shape<S>, E extends keyof S> = S[E]['create'];
/** Fields to change: new values, or operators that change the stored ones. */
export type Update<S extends Shape<S>, E extends keyof S> = Changes<S[E]['update']>;

type Changes<U> = { [K in keyof U]: U[K] | Operator<NonNullable<U[K]>> };

/**
 * Operators of a column by its type: those of numbers, of texts, dates and datetimes; json takes any value as it is. A list is
 * a many-to-many relation.
 */
type Operator<T> = unknown extends T
  ? never
  : [T] extends [readonly number[]]
    ? { readonly $add?: T; readonly $remove?: T }
    : [Extract<T, number>] extends [never]
      ? string extends T
        ? { readonly $append: string } | { readonly $now: true }
        : never
      : { readonly $inc: T };
/** Record as writes answer. */
export type Result<S extends Shape<S>, E extends keyof S> = S[E] extends { readonly written: infer W } ? W : Row<S, E>;
/** ETag of the record that a write answers; undefined if the user cannot read the record. */
export type ResultTag<S extends Shape<S>, E extends keyof S> = S[E] extends { readonly written: object }
  ? string | undefined
  : string;
export type Relations<S extends Shape<S>, E extends keyof S> = S[E]['relations'];

/** Columns of an entity. */
export type Name<S extends Shape<S>, E extends keyof S> = keyof Row<S, E> & string;

/** Entity that a relation leads to. */
type Target<S, R> = (R extends readonly (infer T)[] ? T : R) & keyof S;

/** Relations to expand: `customer: true`, or columns and relations of the related record. */
export type Expand<S extends Shape<S>, E extends keyof S> = {
  // Without null, as the options of a missing record would accept every name.
  readonly [K in keyof Relations<S, E>]?: true | Part<S, NonNullable<Relations<S, E>[K]>>;
};

type Part<S extends Shape<S>, R> = R extends readonly unknown[] ? ManyPart<S, Target<S, R>> : OnePart<S, Target<S, R>>;

export interface OnePart<S extends Shape<S>, E extends keyof S> {
  /** Columns of the related record; by default all of them. */
  readonly fields?: readonly Name<S, E>[];
  /** Relations of the related record. */
  readonly expand?: Expand<S, E>;
}

/** Options of a to-many relation. `size`: limit of related records. */
export interface ManyPart<S extends Shape<S>, E extends keyof S> extends OnePart<S, E>, NarrowParameters<S, E> {}

/** Rejects unknown names at every level, because TypeScript does not check excess members of inferred types. */
export type Known<S extends Shape<S>, E extends keyof S, X> = {
  readonly [K in keyof X]: K extends keyof Relations<S, E>
    ? X[K] extends true
      ? true
      : KnownPart<S, Relations<S, E>[K], X[K]>
    : never;
};

type KnownPart<S extends Shape<S>, R, P> = {
  readonly [O in keyof P]: O extends 'expand'
    ? Known<S, Target<S, NonNullable<R>>, P[O]>
    : O extends keyof ManyPart<S, Target<S, NonNullable<R>>>
      ? O extends 'fields'
        ? unknown
        : R extends readonly unknown[]
          ? unknown
          : never
      : never;
};

/** Record in the response to a request with these `fields` and this `expand`. */
export type Answered<S extends Shape<S>, E extends keyof S, F, X> = Show<
  Columns<Row<S, E>, F> & { [K in keyof X & keyof Relations<S, E>]: Related<S, Relations<S, E>[K], X[K]> }
>;

type Show<T> = { [K in keyof T]: T[K] } & unknown;

/** `expand` without relations. */
export type None = Record<never, never>;
type Columns<R, F> = [F] extends [readonly (infer N)[]] ? Pick<R, N & keyof R> : R;

type Related<S extends Shape<S>, R, P> = R extends readonly (infer T)[]
  ? Of<S, T & keyof S, P>[]
  : R extends keyof S
    ? Of<S, R, P>
    : null;

type Of<S extends Shape<S>, E extends keyof S, P> = P extends true
  ? Row<S, E>
  : Answered<
      S,
      E,
      P extends { readonly fields: infer F } ? F : undefined,
      P extends { readonly expand: infer X } ? X : None
    >;

/** Sort key: a column, a column with its direction, or a path to a column of a related record (`customer.name,desc`). */
export type Sort<S extends Shape<S>, E extends keyof S> =
  | Name<S, E>
  | `${Name<S, E>},${'asc' | 'desc'}`
  | `${keyof Relations<S, E> & string}.${string}`;

/** Conditions that must all hold, by column and by relation; `$or`, `$and` and `$not` combine them otherwise. */
export type Filter<S extends Shape<S>, E extends keyof S> = {
  readonly [K in keyof Row<S, E>]?: Condition<Row<S, E>[K]>;
} & {
  readonly [K in keyof Relations<S, E>]?: Filter<S, Target<S, NonNullable<Relations<S, E>[K]>>>;
} & Junctions<S, E>;

interface Junctions<S extends Shape<S>, E extends keyof S> {
  readonly $and?: readonly Filter<S, E>[];
  readonly $or?: readonly Filter<S, E>[];
  readonly $not?: Filter<S, E>;
}

/** Condition of a column: a value that it equals, null, or operators that must all hold. */
export type Condition<V> = unknown extends V ? JsonOperators : NonNullable<V> | null | Operators<NonNullable<V>>;

/** Aggregate functions of a request (`count`, `sum:total`), without its groups (`status`, `placedAt:month`, `customer.name`). */
export type Selected<S extends Shape<S>, E extends keyof S> =
  | 'count'
  | `${'count' | 'countDistinct' | 'sum' | 'avg' | 'min' | 'max'}:${Path<S, E>}`;
export type Grouped<S extends Shape<S>, E extends keyof S> =
  | Path<S, E>
  | `${Path<S, E>}:${'year' | 'quarter' | 'month' | 'week' | 'day' | 'hour'}`;
type Path<S extends Shape<S>, E extends keyof S> = Name<S, E> | `${keyof Relations<S, E> & string}.${string}`;

/** Group of an aggregate. */
export type Group<S extends Shape<S>, E extends keyof S, K extends string> = {
  [N in K]: N extends 'count' | `count:${string}` | `countDistinct:${string}`
    ? number
    : N extends `${'sum' | 'avg'}:${string}`
      ? Digits | null
      : N extends `${'min' | 'max'}:${infer P}`
        ? At<S, E, P> | null
        : N extends `${string}:${string}`
          ? string | null
          : At<S, E, N>;
};
type At<S extends Shape<S>, E extends keyof S, P> = P extends keyof Row<S, E>
  ? Row<S, E>[P]
  : string | number | boolean | null;
