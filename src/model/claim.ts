// Looks up claims of tokens (RFC 7519), which may be nested.
import { compareDecimals, parseDecimal } from './decimal.ts';
import { numberText } from './exact-json.ts';

export type Claims = Readonly<Record<string, unknown>>;

/** Finds a claim by its literal name, or as a dotted path. */
export function findClaim(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  let value: unknown = claims;
  for (const part of name.split('.')) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    if (numberText(value) !== undefined || !Object.hasOwn(value, part)) return undefined;
    value = (value as Record<string, unknown>)[part];
  }
  return value;
}

// Most roles of one user. A workspace declares at most 64.
const MAX_ROLES = 1000;

/** Returns the roles of a user: one text or a list of them. Entries that are no text are ignored. */
export function findRoles(claims: Claims, roleClaim: string | null): readonly string[] {
  if (roleClaim === null) return [];
  const value = findClaim(claims, roleClaim);
  const roles = Array.isArray(value) ? value.slice(0, MAX_ROLES) : [value];
  return roles.filter((role): role is string => typeof role === 'string');
}

/**
 * Returns the names of required claims that the claims of a token lack: a claim must equal the required value as JSON, or
 * be a list that contains it.
 */
export function findLackingClaims(claims: Claims, requiredClaims: Claims): readonly string[] {
  return Object.entries(requiredClaims).flatMap(([name, value]) => {
    const claim = findClaim(claims, name);
    const isThere = isSameJson(claim, value) || (Array.isArray(claim) && claim.some((one) => isSameJson(one, value)));
    return isThere ? [] : [name];
  });
}

/** Returns whether two JSON values are equal: numbers by value, objects in any order of their members. */
function isSameJson(one: unknown, other: unknown): boolean {
  const numbers = [numberText(one), numberText(other)] as const;
  if (numbers[0] !== undefined || numbers[1] !== undefined) return isSameNumber(...numbers);
  if (typeof one !== 'object' || one === null || typeof other !== 'object' || other === null) return one === other;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const entries = Object.entries(one);
  return (
    entries.length === Object.keys(other).length &&
    entries.every(([name, value]) => Object.hasOwn(other, name) && isSameJson(value, Reflect.get(other, name)))
  );
}

function isSameNumber(one: string | undefined, other: string | undefined): boolean {
  if (one === undefined || other === undefined) return false;
  const [left, right] = [parseDecimal(one), parseDecimal(other)];
  return left === undefined || right === undefined ? one === other : compareDecimals(left, right) === 0;
}
