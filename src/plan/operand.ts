// Bound values of a statement: constants of the plan, and slots that each request of the same shape fills.
import type { ClaimUse, Field } from '../model/entity.ts';
import { fieldType } from '../model/field-types.ts';

export type Operand =
  /** Text form of a PostgreSQL value; an array is bound as one. */
  | { readonly kind: 'value'; readonly value: string | null | readonly string[]; readonly type: string }
  /** Id in the request's path. */
  | { readonly kind: 'id'; readonly type: 'int8' }
  /** Value to write into a field, from the body or a claim. */
  | { readonly kind: 'body'; readonly field: string; readonly type: string }
  /** List with an entry for each record. `name`: the field, or a list name of plan/bulk.ts. */
  | { readonly kind: 'list'; readonly name: string; readonly type: string }
  /** Row versions that If-Match allows. */
  | { readonly kind: 'versions'; readonly type: 'text[]' }
  /** Claim of the external user, decoded as the column's type; null, which matches nothing, if it cannot be. */
  | { readonly kind: 'claim'; readonly claim: string; readonly field: Field; readonly type: string }
  /** Claim as a list of values of the column; null, which matches nothing, if one of them cannot be read. */
  | { readonly kind: 'claims'; readonly claim: string; readonly field: Field; readonly type: string }
  /** Whether all claims can be read as values of their columns. */
  | { readonly kind: 'applies'; readonly claims: readonly ClaimUse[]; readonly type: 'bool' }
  /** Principal and request of a write, as JSON for stored changes. */
  | { readonly kind: 'actor'; readonly type: 'text' }
  /** Words that many records have, where reading so many rows may cost less than the index of words; else none. */
  | { readonly kind: 'commonWords'; readonly rows: number; readonly type: 'text[]' }
  /** Time of the statement, which PostgreSQL knows. */
  | { readonly kind: 'now'; readonly type: string };

export function valueOperand(field: Field, text: string): Operand {
  return { kind: 'value', value: text, type: fieldType(field.type).bindType };
}

export function valuesOperand(field: Field, texts: readonly string[]): Operand {
  return { kind: 'value', value: texts, type: `${fieldType(field.type).bindType}[]` };
}

export function numberOperand(value: number): Operand {
  return { kind: 'value', value: String(value), type: 'int8' };
}

/** Returns the operand of a number of 64 bits in digits. */
export const digitsOperand = (value: string): Operand => ({ kind: 'value', value, type: 'int8' });

export function textOperand(value: string): Operand {
  return { kind: 'value', value, type: 'text' };
}

export function claimOperand({ claim, field, isList }: ClaimUse): Operand {
  const type = fieldType(field.type).bindType;
  return isList ? { kind: 'claims', claim, field, type: `${type}[]` } : { kind: 'claim', claim, field, type };
}

/** Returns the operand of the value that the request writes into the field. */
export function bodyOperand(field: Field): Operand {
  return { kind: 'body', field: field.name, type: fieldType(field.type).bindType };
}

/** Returns the operand of the values that the request writes into the field of each record. */
export function listOperand(field: Field): Operand {
  return { kind: 'list', name: field.name, type: `${fieldType(field.type).bindType}[]` };
}

export const ACTOR_OPERAND: Operand = { kind: 'actor', type: 'text' };

export const ID_OPERAND: Operand = { kind: 'id', type: 'int8' };
