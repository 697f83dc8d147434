// Explains which records of each entity an external user sees, in words and values, for administrators of the rules.
// Claims are read as the filter itself reads them (row-rules.ts).
import type { Entity, RowRule } from '../model/entity.ts';
import { fieldType } from '../model/field-types.ts';
import type { External } from '../model/principal.ts';
import { readClaim, ruleField } from './row-rules.ts';

export interface RuleExplanation {
  readonly column: string;
  readonly claim: string;
  /** Value that the column must equal, as text of its type, or null if the claim matches nothing. */
  readonly value: string | null;
  /** Reason why the claim matches nothing, or null if it can be used. */
  readonly reason: string | null;
}

export interface EntityExplanation {
  readonly entity: string;
  /** `none`: no record can match. `some`: the records that match, if there are any. */
  readonly sees: 'all' | 'some' | 'none';
  readonly filter: string;
  /** Active rules. */
  readonly rules: readonly RuleExplanation[];
}

/** Explains the row filter of every entity for a user with these claims, in the order of the schema. */
export function explainRows(entities: Iterable<Entity>, claims: External['claims']): EntityExplanation[] {
  return [...entities].map((entity) => explainEntity(entity, claims));
}

function explainEntity(entity: Entity, claims: External['claims']): EntityExplanation {
  const enabled = entity.rowRules.filter((rule) => rule.enabled);
  const disabled = entity.rowRules.length - enabled.length;
  if (enabled.length === 0) {
    const suffix = disabled === 0 ? '' : ` (${disabled} ${disabled === 1 ? 'rule is' : 'rules are'} disabled)`;
    return { entity: entity.name, sees: 'all', filter: `every record${suffix}`, rules: [] };
  }
  const rules = enabled.map((rule) => explainRule(entity, rule, claims));
  const useless = rules.filter((rule) => rule.reason !== null);
  const filter =
    useless.length > 0
      ? `matches no record: ${useless.map(({ claim, reason }) => `claim ${claim} ${reason}`).join('; ')}`
      : rules.map(({ column, value }) => `${column} = ${formatValue(entity, column, value as string)}`).join(' and ');
  return { entity: entity.name, sees: useless.length > 0 ? 'none' : 'some', filter, rules };
}

function explainRule(entity: Entity, { column, claim }: RowRule, claims: External['claims']): RuleExplanation {
  const reading = readClaim(claims, claim, ruleField(entity, column));
  return reading.ok
    ? { column, claim, value: reading.text, reason: null }
    : { column, claim, value: null, reason: reading.reason };
}

/** Formats numbers, booleans and JSON as they are, and everything else in quotes. */
function formatValue(entity: Entity, column: string, value: string): string {
  return fieldType(ruleField(entity, column).type).json === 'string' ? JSON.stringify(value) : value;
}
