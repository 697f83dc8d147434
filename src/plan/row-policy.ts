// Who may see and write which rows: the row filter of an entity for a principal, and the stamp on what it writes.
// Closed by default: a principal that is not an owner gets the entity's rules, and a claim that cannot be used matches
// nothing, because null equals nothing.
import { type Detail, forbidden } from '../errors.ts';
import type { Entity, Field } from '../model/entity.ts';
import { fieldType } from '../model/field-types.ts';
import type { External, Principal } from '../model/principal.ts';
import type { Operand } from './operand.ts';

export type RowFilter =
  | { readonly kind: 'unrestricted' }
  | { readonly kind: 'rules'; readonly rules: readonly { readonly field: Field; readonly operand: Operand }[] };

const UNRESTRICTED: RowFilter = { kind: 'unrestricted' };

/** The filter that every read and write of the entity carries. It depends on the principal's kind alone, so plans are shared. */
export function rowFilter(entity: Entity, principal: Principal): RowFilter {
  switch (principal.kind) {
    case 'owner':
    case 'operator':
      return UNRESTRICTED;
    case 'external': {
      const rules = entity.rowRules.filter((rule) => rule.enabled);
      if (rules.length === 0) return UNRESTRICTED;
      return {
        kind: 'rules',
        rules: rules.map((rule) => {
          const field = ruleField(entity, rule.column);
          return { field, operand: { kind: 'claim', claim: rule.claim, field, type: fieldType(field.type).bindType } };
        }),
      };
    }
    default:
      return principal satisfies never;
  }
}

/** The columns that stampRow will set on a create, so that the body need not give them. */
export function stampedColumns(entity: Entity, principal: Principal): ReadonlySet<string> {
  if (principal.kind !== 'external') return new Set();
  return new Set(entity.rowRules.filter((rule) => rule.enabled).map((rule) => rule.column));
}

/**
 * Sets the columns of the entity's rules from the claims of an external user. Throws 403 when the body gives another
 * value, or when a claim cannot be used (on create).
 */
export function stampRow(
  entity: Entity,
  principal: Principal,
  values: ReadonlyMap<string, string | null>,
  operation: 'create' | 'update',
): ReadonlyMap<string, string | null> {
  if (principal.kind !== 'external') return values;
  const rules = entity.rowRules.filter((rule) => rule.enabled);
  if (rules.length === 0) return values;
  const stamped = new Map(values);
  for (const rule of rules) {
    const field = ruleField(entity, rule.column);
    const claimed = claimText(principal, rule.claim, field);
    const given = values.get(rule.column);
    if (operation === 'create') {
      if (claimed === null || (given !== undefined && given !== claimed)) throw foreignRow(rule.column);
      stamped.set(rule.column, claimed);
    } else if (given !== undefined && given !== claimed) throw foreignRow(rule.column);
  }
  return stamped;
}

/** The claim as the text of the column's type, or null when it is missing, structured or of another type. */
export function claimText(principal: External, claim: string, field: Field): string | null {
  const value = findClaim(principal.claims, claim);
  if (value === null || value === undefined || typeof value === 'object') return null;
  const type = fieldType(field.type);
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const decoded = type.parseText(text, field);
  return decoded.ok ? decoded.value : null;
}

/** A claim by its literal name, else as a dotted path. */
function findClaim(claims: Readonly<Record<string, unknown>>, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  let value: unknown = claims;
  for (const part of name.split('.')) {
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, part))
      return undefined;
    value = (value as Record<string, unknown>)[part];
  }
  return value;
}

function ruleField(entity: Entity, column: string): Field {
  const field = entity.fields.get(column);
  // A rule that points at nothing must not become "no rule".
  if (field === undefined)
    throw new TypeError(`row rule of ${entity.name} names column ${column}, which does not exist`);
  return field;
}

function foreignRow(column: string): Error {
  const detail: Detail = { field: column, code: 'INVALID', message: 'must have the value of your token' };
  return forbidden(`Column ${detail.field} may only have the value of your token`);
}
