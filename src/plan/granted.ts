// Writes of a principal whose grants limit an entity: one statement for one record or many, which locks, checks the
// grants on the record before and after, checks references, and writes everything or nothing.
import { ApiError } from '../errors.ts';
import type { Entity, EntityAccess, Field, ResolvedGrant, StampedValue } from '../model/entity.ts';
import { fieldType } from '../model/field-types.ts';
import type { External, Principal } from '../model/principal.ts';
import { type Assignment, type AssignmentResult, isSameColumn, planAssignment } from './assignment.ts';
import { buildLists, IDS, type ListColumns, VERSIONS } from './bulk.ts';
import { fieldNotGranted, notGranted, valuesNotGranted } from './errors.ts';
import type { PlanContext } from './link.ts';
import type { Projection } from './projection.ts';
import { getReferences, passReferring, type Reference } from './references.ts';
import { applyRowRules, areUsable, getRuleColumns, readClaim } from './row-rules.ts';
import {
  type Alternative,
  crossesRelations,
  getGrants,
  type Scan,
  scanAll,
  scanGrantedResult,
  scanGrantedTarget,
  toAlternative,
} from './scan.ts';

export type GrantedOperation = 'create' | 'update' | 'delete';

export interface GrantedPlan extends ListColumns {
  readonly kind: 'granted';
  /** `find`: finds the records that upserts would change instead of a create, and writes nothing. */
  readonly operation: GrantedOperation | 'find';
  /** Fields by which `find` finds records, hidden ones included; empty otherwise. */
  readonly key: readonly Field[];
  readonly all: Scan;
  /** Records that can be read, and so be found by an update or delete. */
  readonly scan: Scan;
  /** Part of the written records that can be read. */
  readonly result: Scan;
  readonly projection: Projection;
  /** Grants of the roles with the operation: on the stored record, and on the record as the statement leaves it. */
  readonly before: readonly Alternative[];
  readonly after: readonly Alternative[];
  /** References that the statement checks. */
  readonly references: readonly Reference[];
  readonly guarded: boolean;
  /** Whether grants look at other records, which a statement that waits for the record sees as they were before. */
  readonly crossesRelations: boolean;
}

/** Names of the lists that are not columns, next to those of plan/bulk.ts. */
export const ITEMS = '$item';
export const GRANTS = '$grants';
export const CHECKS = '$checks';

/** In place of the grant of a create: no grant allows the record. */
export const NO_GRANT = '-1';

/** A row of the lists. `item`: index of its record; `grants`: the grant of a create, or bits for those that fit. */
export interface GrantedRow {
  readonly item: number;
  readonly values: Assignment;
  readonly grants: string;
  /** Names of the columns whose values come from the grant: their references are not checked. */
  readonly unchecked: ReadonlySet<string>;
}

/** An entity of a part that grants limit. */
export type GrantedEntity = Entity & { readonly access: EntityAccess };

export const isGranted = (entity: Entity): entity is GrantedEntity => entity.access !== undefined;

/** Checks a body against the fields that the roles may write, as planAssignment() does. */
export function planGrantedAssignment(
  body: unknown,
  entity: GrantedEntity,
  principal: Principal,
  pathId: string | undefined,
): AssignmentResult {
  const optional = pathId === undefined ? getOptionalNames(entity, principal) : undefined;
  return planAssignment(body, widenToWritable(entity), pathId, optional);
}

/** Returns the entity with the fields that a body may name, which are more than those that can be read. */
export const widenToWritable = (entity: GrantedEntity): GrantedEntity => ({
  ...entity,
  fields: entity.access.writable,
});

/** Returns the names of the fields that row rules or grants set, so that a new record need not give them. */
export function getOptionalNames(entity: Entity, principal: Principal): ReadonlySet<string> {
  const names = new Set(getRuleColumns(entity, principal));
  for (const { set, stamps } of getUsable(entity, 'create', principal))
    for (const name of [...set.keys(), ...stamps.keys()]) names.add(name);
  return names;
}

/** Returns the rows of planCandidates(), none if no grant allows the record. */
export function planAllowed(values: Assignment, entity: GrantedEntity, principal: Principal): readonly GrantedRow[] {
  try {
    return planCandidates(values, 0, false, entity, principal);
  } catch (error) {
    if (error instanceof ApiError && error.status === 403) return [];
    throw error;
  }
}

/** Throws 403 when no grant of the principal allows a create, whatever the record. */
export function requireCreate(entity: GrantedEntity, principal: Principal): void {
  if (getCreators(entity, principal).length === 0) throw notGranted('create', entity.name);
}

const getCreators = (entity: Entity, principal: Principal): ReturnType<typeof getUsable> =>
  getUsable(entity, 'create', principal).filter(({ demandsId }) => !demandsId);

/** Returns the grants with the operation that apply to the principal, with their index among all of the roles. */
function getUsable(
  entity: Entity,
  operation: GrantedOperation,
  principal: Principal,
): readonly (ResolvedGrant & { readonly index: number })[] {
  if (principal.kind !== 'external') return [];
  return getGrants(entity, operation)
    .map((grant, index) => ({ ...grant, index }))
    .filter(({ claims }) => areUsable(principal.claims, claims));
}

/**
 * Returns the rows that a create may make of a record, in the order of the grants: the first that its grant allows is
 * stored. Throws 403 when no grant allows the fields or values of the record.
 */
export function planCandidates(
  values: Assignment,
  item: number,
  isMany: boolean,
  entity: GrantedEntity,
  principal: Principal,
): readonly GrantedRow[] {
  const grants = getCreators(entity, principal);
  if (principal.kind !== 'external' || grants.length === 0)
    throw notGranted('create', entity.name, isMany ? item : undefined);
  const rows: GrantedRow[] = [];
  for (const grant of grants) {
    const stored = stampValues(values, grant, entity, principal);
    if (stored === undefined) continue;
    const base = entity.access.base;
    const unchecked = new Set(
      [...grant.set.keys(), ...grant.stamps.keys()].filter((name) => {
        const field = base.fields.get(name) as Field;
        const value = readStamp((grant.set.get(name) ?? grant.stamps.get(name)) as StampedValue, field, principal);
        return isSameColumn(field, stored.get(name), value);
      }),
    );
    rows.push({ item, values: applyRowRules(entity, principal, stored), grants: String(grant.index), unchecked });
  }
  if (rows.length > 0) return rows;
  const refused = findRefusedField(
    [...values.keys()],
    grants,
    ({ write, set }, name) => write.has(name) || set.has(name),
  );
  const named = isMany ? item : undefined;
  throw refused === undefined ? valuesNotGranted(entity.name, named) : fieldNotGranted(refused, entity.name, named);
}

/** Returns the values of a create under a grant, or undefined if the grant does not allow the record. */
function stampValues(
  values: Assignment,
  { write, set, stamps }: ResolvedGrant,
  { access: { base } }: GrantedEntity,
  principal: External,
): Assignment | undefined {
  const stored = new Map(values);
  for (const name of values.keys()) if (!write.has(name) && !set.has(name)) return undefined;
  for (const [name, source] of [...set, ...stamps]) {
    const field = base.fields.get(name) as Field;
    const value = readStamp(source, field, principal);
    if (value === undefined) return undefined;
    if (!values.has(name)) stored.set(name, value);
    else if (set.has(name) && !isSameColumn(field, values.get(name), value)) return undefined;
  }
  return stored;
}

/** Returns the value as text of the column, or undefined if it cannot be stored. */
function readStamp(value: StampedValue, field: Field, { claims }: External): string | null | undefined {
  if (value.kind === 'literal') return value.text;
  const reading = readClaim(claims, value.claim, field);
  if (!reading.ok || fieldType(field.type).check?.(reading.text, field).ok === false) return undefined;
  return reading.text;
}

/** Returns the row of an update: the grants that may carry it, by the fields that it names. */
export function planCarriers(
  values: Assignment,
  item: number,
  entity: GrantedEntity,
  principal: Principal,
): GrantedRow & { readonly refusedField: string | undefined } {
  const usable = getUsable(entity, 'update', principal);
  const carriers = new Set(
    usable.filter(({ write }) => [...values.keys()].every((name) => write.has(name))).map(({ index }) => index),
  );
  const grants = getGrants(entity, 'update')
    .map((_, index) => (carriers.has(index) ? '1' : '0'))
    .join('');
  const refusedField =
    carriers.size > 0 || usable.length === 0
      ? undefined
      : findRefusedField([...values.keys()], usable, ({ write }, name) => write.has(name));
  return { item, values, grants, unchecked: new Set(), refusedField };
}

/** Returns the field that no grant allows, or else one that the first grant does not allow. */
function findRefusedField(
  names: readonly string[],
  grants: readonly ResolvedGrant[],
  allows: (grant: ResolvedGrant, name: string) => boolean,
): string | undefined {
  const [first] = grants;
  return (
    names.find((name) => !grants.some((grant) => allows(grant, name))) ??
    names.find((name) => first !== undefined && !allows(first, name))
  );
}

/** Plans the write of rows from planCandidates() or planCarriers(), or a delete. */
export function planGranted(
  operation: GrantedPlan['operation'],
  rows: readonly Pick<GrantedRow, 'values'>[],
  entity: GrantedEntity,
  context: PlanContext,
  { guarded, projection, key = [] }: Pick<GrantedPlan, 'guarded' | 'projection'> & Partial<Pick<GrantedPlan, 'key'>>,
): GrantedPlan {
  const { base } = entity.access;
  const { principal } = context;
  if (operation === 'delete') passReferring(entity, context.workspace);
  const names = new Set(rows.flatMap(({ values }) => [...values.keys()]));
  const columns = [...base.fields.values()].filter(({ name }) => names.has(name));
  const grants = getGrants(entity, operation === 'find' ? 'create' : operation);
  return {
    kind: 'granted',
    operation,
    key,
    all: scanAll(base),
    scan: scanGrantedTarget(entity, principal),
    result: scanGrantedResult(entity, principal),
    projection,
    columns,
    isSparse: rows.some(({ values }) => values.size < names.size),
    before: grants.map((grant) => toAlternative(grant, entity)),
    after: grants.map((grant) => toAlternative(grant, entity, true)),
    references: operation === 'find' ? [] : getReferences((field) => columns.includes(field), base, context),
    guarded,
    crossesRelations: entity.access.grants.some(({ where }) => where !== null && crossesRelations(where)),
  };
}

/** Builds the lists of a plan. `targets`: the existing records of an update or delete, by item. */
export function buildGrantedLists(
  plan: GrantedPlan,
  rows: readonly GrantedRow[],
  targets: readonly ({ readonly id: string; readonly version: string | undefined } | undefined)[] | undefined,
): Map<string, readonly (string | null)[]> {
  const lists = buildLists(
    rows.map(({ values }) => values),
    plan,
  );
  lists.set(
    ITEMS,
    rows.map(({ item }) => String(item)),
  );
  lists.set(
    GRANTS,
    rows.map(({ grants }) => grants),
  );
  lists.set(
    CHECKS,
    rows.map(({ values, unchecked }) => {
      const isChecked = ({ field: { name } }: Reference): boolean => values.has(name) && !unchecked.has(name);
      return plan.references.map((reference) => (isChecked(reference) ? '1' : '0')).join('');
    }),
  );
  if (targets !== undefined) {
    lists.set(
      IDS,
      rows.map(({ item }) => targets[item]?.id ?? null),
    );
    lists.set(
      VERSIONS,
      rows.map(({ item }) => targets[item]?.version ?? null),
    );
  }
  return lists;
}
