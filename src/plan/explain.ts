// Explains which records of each entity an external user sees, in words and values, for administrators of the rules.
// Claims are read as the filter itself reads them (row-rules.ts).
import { findClaim } from '../model/claim.ts';
import type { Entity, ResolvedGrant, RowRule } from '../model/entity.ts';
import { fieldType } from '../model/field-types.ts';
import { type Grant, isGrantFor } from '../model/grant.ts';
import { describeClaimValue, describeGrant, describeWhere } from '../model/grant-words.ts';
import { grantWorkspace } from '../model/granted.ts';
import type { External } from '../model/principal.ts';
import type { Workspace } from '../model/workspace.ts';
import { readClaim, readClaimList, ruleField } from './row-rules.ts';

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

export interface GrantExplanation {
  /** The grant as a sentence. */
  readonly grant: string;
  readonly applies: boolean;
  /** Reasons why it does not apply, or null. */
  readonly reason: string | null;
}

export interface AccessExplanation extends EntityExplanation {
  /** Grants of the entity in the order of the document. */
  readonly grants: readonly GrantExplanation[];
}

/** Explains what a user with these claims and roles sees of every entity, and which grants apply. */
export function explainAccess(
  workspace: Workspace,
  { claims, roles }: Pick<External, 'claims' | 'roles'>,
): AccessExplanation[] {
  const visible = grantWorkspace(workspace, { roles, onlyGrants: false });
  return [...workspace.entities.values()].map((entity) => {
    const rows = explainEntity(entity, claims);
    if (entity.grants === null) return { ...rows, grants: [] };
    const access = visible.entities.get(entity.name)?.access;
    return explainGrants(rows, { entity, held: new Set(roles), resolved: access?.grants ?? [], claims });
  });
}

interface GrantedUser {
  readonly entity: Entity;
  readonly held: ReadonlySet<string>;
  /** Grants of the roles that are held, in the order of the document. */
  readonly resolved: readonly ResolvedGrant[];
  readonly claims: External['claims'];
}

function explainGrants(rows: EntityExplanation, { entity, held, resolved, claims }: GrantedUser): AccessExplanation {
  const ofRoles = (entity.grants ?? []).filter((grant) => isGrantFor(grant, held));
  const reasons = new Map(ofRoles.map((grant, at) => [grant, explainClaims(claims, resolved[at] as ResolvedGrant)]));
  const grants = (entity.grants ?? []).map((grant): GrantExplanation => {
    const reason = reasons.has(grant) ? (reasons.get(grant) ?? null) : describeRoles(grant);
    return { grant: describeGrant(grant, entity.name), applies: reason === null, reason };
  });
  const readers = ofRoles.filter(({ can }) => can.has('read'));
  const applying = readers.filter((grant) => reasons.get(grant) === null);
  const explain = (sees: EntityExplanation['sees'], filter: string): AccessExplanation => ({
    ...rows,
    sees,
    filter,
    grants,
  });
  if (ofRoles.length === 0) return explain('none', 'does not exist for this user: no grant is for its roles');
  if (readers.length === 0) return explain('none', 'matches no record: no grant of its roles can read');
  if (applying.length === 0)
    return explain('none', `matches no record: ${[...new Set(readers.map((grant) => reasons.get(grant)))].join('; ')}`);
  if (rows.sees === 'none' || applying.some(({ where }) => where === null)) return { ...rows, grants };
  const members = applying.flatMap(({ where }) => (where === null ? [] : [where]));
  const words = describeWhere({ kind: 'or', members }, (claim) => describeClaimValue(findClaim(claims, claim)));
  return explain('some', rows.sees === 'all' ? words : `(${words}) and ${rows.filter}`);
}

/** Returns why claims of the grant cannot be used, or null if all can. */
export function explainClaims(claims: External['claims'], { claims: uses }: ResolvedGrant): string | null {
  const reasons = uses.flatMap(({ claim, field, isList }) => {
    const reading = (isList ? readClaimList : readClaim)(claims, claim, field);
    return reading.ok ? [] : [`claim ${claim} ${reading.reason}`];
  });
  return reasons.length === 0 ? null : [...new Set(reasons)].join('; ');
}

const describeRoles = ({ roles }: Grant): string =>
  roles?.length === 1 ? `is for the role ${roles[0]}` : `is for one of the roles ${roles?.join(', ')}`;

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
