// Row-level access: the row filter of an entity for a principal, and the values that rules set on writes. Closed by
// default: a principal that is not an owner gets the entity's rules, and a claim that cannot be used matches nothing,
// because null equals nothing.
import { ApiError, type Detail, forbidden } from '../errors.ts';
import { findClaim } from '../model/claim.ts';
import type { ClaimUse, Entity, Field, RowRule } from '../model/entity.ts';
import { numberText } from '../model/exact-json.ts';
import { fieldType } from '../model/field-types.ts';
import type { External, Principal } from '../model/principal.ts';
import { claimOperand, type Operand } from './operand.ts';
import { MAX_DETAILS } from './unknown-name.ts';

export type RowFilter = { readonly kind: 'unrestricted' } | RuleFilter;

export interface RuleFilter {
  readonly kind: 'rules';
  readonly rules: readonly { readonly field: Field; readonly operand: Operand }[];
}

const UNRESTRICTED: RowFilter = { kind: 'unrestricted' };

/** Returns the filter of all statements on the entity. It depends on the kind of principal alone: plans are shared. */
export function rowFilter(entity: Entity, principal: Principal): RowFilter {
  switch (principal.kind) {
    case 'owner':
    case 'operator':
      return UNRESTRICTED;
    case 'external': {
      const rules = rulesFor(entity, principal);
      if (rules.length === 0) return UNRESTRICTED;
      return {
        kind: 'rules',
        rules: rules.map((rule) => {
          const field = ruleField(entity, rule.column);
          return { field, operand: claimOperand({ claim: rule.claim, field, isList: false }) };
        }),
      };
    }
    default:
      return principal satisfies never;
  }
}

/** Returns the columns that applyRowRules sets on a create, so that the body need not give them. */
export function getRuleColumns(entity: Entity, principal: Pick<Principal, 'kind'>): ReadonlySet<string> {
  return new Set(rulesFor(entity, principal).flatMap(({ column }) => (column === 'id' ? [] : [column])));
}

/** Returns whether rules may hide records of the entity from the principal. */
export const mayHideRecords = (entity: Entity, principal: Pick<Principal, 'kind'>): boolean =>
  rulesFor(entity, principal).length > 0;

/** Returns the entity's rules for the principal. */
function rulesFor(entity: Entity, principal: Pick<Principal, 'kind'>): readonly RowRule[] {
  return principal.kind === 'external' ? entity.rowRules.filter((rule) => rule.enabled) : [];
}

/**
 * Returns the values of a create with the columns of the entity's rules set from the claims of an external user. Throws
 * 403 when the body gives another value (null is one), or when a claim cannot be used or stored; and for every create
 * under a rule by id, which the server alone chooses.
 */
export function applyRowRules(
  entity: Entity,
  principal: Principal,
  values: ReadonlyMap<string, string | null>,
): ReadonlyMap<string, string | null> {
  const rules = rulesFor(entity, principal);
  if (principal.kind !== 'external' || rules.length === 0) return values;
  if (rules.some(({ column }) => column === 'id')) throw createNotAllowed(entity);
  const row = new Map(values);
  const decided = new Map<string, string>();
  for (const rule of rules) {
    const field = ruleField(entity, rule.column);
    const claim = readClaim(principal.claims, rule.claim, field);
    if (!claim.ok || fieldType(field.type).check?.(claim.text, field).ok === false) throw unusableClaim(rule.column);
    // Two rules on one column whose claims differ allow no record at all.
    const earlier = decided.get(rule.column);
    if (earlier !== undefined && !isSameValue(field, earlier, claim.text)) throw unusableClaim(rule.column);
    const provided = values.get(rule.column);
    if (provided !== undefined && !isSameValue(field, provided, claim.text)) throw foreignRow(rule.column);
    decided.set(rule.column, claim.text);
    row.set(rule.column, claim.text);
  }
  return row;
}

/** Returns the values as applyRowRules(), or for an update as they are; undefined where the rules refuse the write. */
export function applyRowRulesIfAllowed(
  entity: Entity,
  principal: Principal,
  values: ReadonlyMap<string, string | null>,
  isUpdate: boolean,
): ReadonlyMap<string, string | null> | undefined {
  if (isUpdate) return foreignColumn(entity, principal, values) === undefined ? values : undefined;
  try {
    return applyRowRules(entity, principal, values);
  } catch (error) {
    if (error instanceof ApiError) return undefined;
    throw error;
  }
}

/** Returns the rule's column to which an update gives another value than the claim's, or undefined if there is none. */
export function foreignColumn(
  entity: Entity,
  principal: Principal,
  values: ReadonlyMap<string, string | null>,
): string | undefined {
  if (principal.kind !== 'external') return undefined;
  return rulesFor(entity, principal).find((rule) => {
    const provided = values.get(rule.column);
    const field = ruleField(entity, rule.column);
    return provided !== undefined && !isSameValue(field, provided, claimText(principal, rule.claim, field));
  })?.column;
}

/** Throws 403 when an update would give a record to another user. */
export function checkRowRules(entity: Entity, principal: Principal, values: ReadonlyMap<string, string | null>): void {
  const column = foreignColumn(entity, principal, values);
  if (column !== undefined) throw foreignRow(column);
}

/** A claim as text of a column's type, or the reason why it matches nothing. */
export type ClaimReading =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly reason: string };

/** Returns the claim as text of the column's type, or null if it is missing, structured or of another type. */
export function claimText(principal: External, claim: string, field: Field): string | null {
  const reading = readClaim(principal.claims, claim, field);
  return reading.ok ? reading.text : null;
}

/**
 * Reads a claim (RFC 7519) as a value of the column. A string is parsed as in a filter; a number or boolean is read as
 * in a body, and for a text column as its JSON text.
 */
export function readClaim(claims: Readonly<Record<string, unknown>>, claim: string, field: Field): ClaimReading {
  const value = findClaim(claims, claim);
  if (value === undefined) return unusable('is missing');
  if (value === null) return unusable('is null');
  const number = numberText(value);
  if (typeof value === 'object' && number === undefined) {
    return unusable(Array.isArray(value) ? 'is an array' : 'is an object');
  }
  const type = fieldType(field.type);
  const decoded =
    typeof value === 'string' || type.textual
      ? type.parseText(typeof value === 'string' ? value : (number ?? JSON.stringify(value)), field)
      : type.decode(value, field);
  return decoded.ok
    ? { ok: true, text: decoded.value }
    : unusable(`does not fit the column of type ${field.type}: it ${decoded.message}`);
}

const unusable = (reason: string): { readonly ok: false; readonly reason: string } => ({ ok: false, reason });

/** Returns whether the database considers two texts of the column's type equal; null equals nothing. */
function isSameValue(field: Field, one: string | null, other: string | null): boolean {
  return one !== null && other !== null && fieldType(field.type).equal(one, other);
}

/**
 * Reads a claim as a list of values of the column, one value as a list of one. An entry that cannot be read makes the
 * whole list unusable: without it, `nin` would match more.
 */
export function readClaimList(
  claims: External['claims'],
  claim: string,
  field: Field,
): { readonly ok: true; readonly texts: readonly string[] } | { readonly ok: false; readonly reason: string } {
  const value = findClaim(claims, claim);
  if (!Array.isArray(value)) {
    const reading = readClaim(claims, claim, field);
    return reading.ok ? { ok: true, texts: [reading.text] } : reading;
  }
  const texts: string[] = [];
  for (const entry of value) {
    const reading = readClaim({ entry }, 'entry', field);
    if (!reading.ok) return unusable(`has an entry that ${reading.reason}`);
    texts.push(reading.text);
  }
  return { ok: true, texts };
}

/** Returns whether all of the claims can be read as values of their columns. */
export const areUsable = (claims: External['claims'], uses: readonly ClaimUse[]): boolean =>
  uses.every(({ claim, field, isList }) => (isList ? readClaimList : readClaim)(claims, claim, field).ok);

/** Returns the column of a rule, which grants may hide from the principal. */
export function ruleField(entity: Entity, column: string): Field {
  const field = (entity.access?.base ?? entity).fields.get(column);
  // A rule for a missing column must not become "no rule".
  if (field === undefined)
    throw new TypeError(`row rule of ${entity.name} names column ${column}, which does not exist`);
  return field;
}

const foreignRow = (column: string): Error => new ForeignRow(column);

/** The 403 of a record that gives a rule's column another value than the claim's. */
export class ForeignRow extends ApiError {
  readonly column: string;

  constructor(column: string, details?: readonly Detail[]) {
    super(
      'ROW_NOT_ALLOWED',
      `Column ${column} may only have the value of your token`,
      details === undefined ? {} : { details },
    );
    this.column = column;
  }

  /** Copies the error with one detail, for the record in this place of the request. */
  at(place: Pick<Detail, 'index' | 'row' | 'line'>): ForeignRow {
    return new ForeignRow(this.column, [makeForeignDetail(place, this.column)]);
  }
}

const makeForeignDetail = (place: Pick<Detail, 'index' | 'row' | 'line'>, column: string): Detail => ({
  ...place,
  field: column,
  code: 'READ_ONLY',
  message: 'may only have the value of your token',
});

/**
 * Checks each record of a request by `apply`, which throws the 403 of applyRowRules() or checkRowRules(). Throws the first
 * of them with the indexes of all, 100 at most.
 */
export function applyToEach<T, R>(items: readonly T[], apply: (item: T) => R): R[] {
  const details: Detail[] = [];
  const results: R[] = [];
  for (const [index, item] of items.entries()) {
    try {
      results.push(apply(item));
    } catch (error) {
      if (!(error instanceof ForeignRow)) throw error;
      details.push(makeForeignDetail({ index }, error.column));
      if (details.length === MAX_DETAILS) break;
    }
  }
  const [first] = details;
  if (first !== undefined) throw new ForeignRow(first.field as string, details);
  return results;
}

const createNotAllowed = ({ name }: Entity): Error =>
  forbidden('ROW_NOT_ALLOWED', `You may not create records of ${name}`);

const unusableClaim = (column: string): Error =>
  forbidden('CLAIM_MISSING', `Column ${column} is set from your token, which has no usable value for it`);
