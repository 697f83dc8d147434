// Grants: which users of the identity provider, and keys that act as a role, may read and write which records and fields
// of an entity. schema/entities.ts builds them from a document; model/granted.ts resolves those of some roles.
import { type ConditionTree, FILTER_OPERATORS, type FilterOperator } from './operators.ts';

export const GRANT_OPERATIONS = ['read', 'create', 'update', 'delete', 'history'] as const;
export type GrantOperation = (typeof GRANT_OPERATIONS)[number];

/** Value of a condition or of a new record: a literal, a claim of the token, or the time of the statement. */
export type GrantValue =
  | { readonly kind: 'literal'; readonly value: unknown }
  | { readonly kind: 'claim'; readonly claim: string }
  | { readonly kind: 'now' };

/** Operators of conditions: those of filters, except the regular expressions. */
export type GrantOperator = Exclude<FilterOperator, 'matches'>;

export const GRANT_OPERATORS = FILTER_OPERATORS.filter((name): name is GrantOperator => name !== 'matches');

/** Condition on the records of an entity; a claim of `in` and `nin` stands for the whole list. */
export type GrantWhere = ConditionTree<GrantValue, GrantOperator>;

export type GrantComparison = Extract<GrantWhere, { kind: 'compare' }>;

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

/** Returns the comparisons of a condition, in its order. */
export function listComparisons(where: GrantWhere): readonly GrantComparison[] {
  if (where.kind === 'compare') return [where];
  return where.kind === 'not' ? listComparisons(where.member) : where.members.flatMap(listComparisons);
}

/** Most relations that the path of a condition may cross. */
export const MAX_GRANT_PATH = 3;
