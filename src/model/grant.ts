// Grants: which users of the identity provider, and keys that act as a role, may read and write which records and fields
// of an entity. schema/entities.ts builds them from a document; model/granted.ts resolves those of some roles.

export const GRANT_OPERATIONS = ['read', 'create', 'update', 'delete'] as const;
export type GrantOperation = (typeof GRANT_OPERATIONS)[number];

/** Value of a condition or of a new record: a literal, a claim of the token, or the time of the statement. */
export type GrantValue =
  | { readonly kind: 'literal'; readonly value: unknown }
  | { readonly kind: 'claim'; readonly claim: string }
  | { readonly kind: 'now' };

/** Operators of conditions; those of filters, except the regular expressions. */
export const GRANT_OPERATORS = [
  'eq',
  'ne',
  'gt',
  'gte',
  'lt',
  'lte',
  'in',
  'nin',
  'between',
  'contains',
  'startsWith',
  'endsWith',
  'ieq',
  'isNull',
  'notNull',
] as const;
export type GrantOperator = (typeof GRANT_OPERATORS)[number];

/** Number of values, the requirement on the type of the field, and whether a claim may stand for them. */
export const GRANT_OPERATOR_FORMS: Readonly<
  Record<
    GrantOperator,
    { readonly arity: 'none' | 'one' | 'two' | 'many'; readonly needs: 'nothing' | 'order' | 'text' }
  >
> = {
  eq: { arity: 'one', needs: 'nothing' },
  ne: { arity: 'one', needs: 'nothing' },
  gt: { arity: 'one', needs: 'order' },
  gte: { arity: 'one', needs: 'order' },
  lt: { arity: 'one', needs: 'order' },
  lte: { arity: 'one', needs: 'order' },
  in: { arity: 'many', needs: 'nothing' },
  nin: { arity: 'many', needs: 'nothing' },
  between: { arity: 'two', needs: 'order' },
  contains: { arity: 'one', needs: 'text' },
  startsWith: { arity: 'one', needs: 'text' },
  endsWith: { arity: 'one', needs: 'text' },
  ieq: { arity: 'one', needs: 'text' },
  isNull: { arity: 'none', needs: 'nothing' },
  notNull: { arity: 'none', needs: 'nothing' },
};

/** Operators that search a part of a text: their values are any text, whatever the values of the field. */
export const PART_OPERATORS: ReadonlySet<GrantOperator> = new Set(['contains', 'startsWith', 'endsWith', 'ieq']);

/** Condition on the records of an entity; paths cross relations. */
export type GrantWhere =
  | { readonly kind: 'and' | 'or'; readonly members: readonly GrantWhere[] }
  | { readonly kind: 'not'; readonly member: GrantWhere }
  | {
      readonly kind: 'compare';
      readonly path: readonly string[];
      readonly operator: GrantOperator;
      /** Values; a claim of `in` and `nin` stands for the whole list. */
      readonly values: readonly GrantValue[];
    };

export interface Grant {
  /** Roles that have the grant, or null for every user. */
  readonly roles: readonly string[] | null;
  readonly can: ReadonlySet<GrantOperation>;
  /** Records, or null for all. */
  readonly where: GrantWhere | null;
  /** Fields that can be read, or null for all. */
  readonly fields: readonly string[] | null;
  /** Fields that a body may name, or null for those of `fields` that can be written. */
  readonly write: readonly string[] | null;
  /** Values of a new record. */
  readonly set: ReadonlyMap<string, GrantValue>;
}

/** Returns whether a user with these roles has the grant. */
export const isGrantFor = ({ roles }: Pick<Grant, 'roles'>, held: ReadonlySet<string>): boolean =>
  roles === null || roles.some((role) => held.has(role));

/** Most relations that the path of a condition may cross. */
export const MAX_GRANT_PATH = 3;
