// Looks up claims of tokens (RFC 7519), which may be nested.
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
