// The part of a snapshot that users with some roles may use: entities and fields exist by the roles alone, records by
// the claims of each user. Grants are resolved to columns here, so that plan/scan.ts can attach them to every table.
import type {
  ClaimUse,
  Condition,
  Declared,
  Entity,
  EntityAccess,
  EntitySettings,
  Field,
  Hop,
  ResolvedGrant,
  ResolvedValue,
  StampedValue,
} from './entity.ts';
import { type FieldTypeName, fieldType } from './field-types.ts';
import {
  type Grant,
  type GrantOperator,
  type GrantValue,
  type GrantWhere,
  isGrantFor,
  PART_OPERATORS,
} from './grant.ts';
import { isToOne, type Relation } from './relation.ts';
import { getUnrestricted, restrictSettings } from './restricted.ts';
import { getEntity, type Workspace } from './workspace.ts';

/** Roles of a principal. `onlyGrants`: whether an entity without grants does not exist for it. */
export interface HeldRoles {
  readonly roles: readonly string[];
  readonly onlyGrants: boolean;
}

/** Constants of all grants of a snapshot. */
export interface GrantSummary {
  readonly hasGrants: boolean;
  /** Roles that grants name, in a fixed order. */
  readonly roles: readonly string[];
}

export function summarizeGrants({ entities }: Workspace): GrantSummary {
  const lists = [...entities.values()].flatMap(({ grants }) => (grants === null ? [] : [grants]));
  const roles = new Set(lists.flat().flatMap((grant) => grant.roles ?? []));
  return { hasGrants: lists.length > 0, roles: [...roles].sort() };
}

/** Returns the part of the snapshot that users with these roles may use. */
export function grantWorkspace(workspace: Workspace, { roles, onlyGrants }: HeldRoles): Workspace {
  const whole = getUnrestricted(workspace);
  const held = new Set(roles);
  const accesses = new Map<string, EntityAccess | undefined>();
  for (const entity of workspace.entities.values()) {
    if (entity.grants === null) {
      if (!onlyGrants) accesses.set(entity.name, undefined);
      continue;
    }
    const grants = entity.grants.filter((grant) => isGrantFor(grant, held));
    if (grants.length > 0) accesses.set(entity.name, resolveAccess(getEntity(whole, entity.name), grants, whole));
  }
  const fieldsOf = new Map<string, ReadonlyMap<string, Field>>();
  for (const [name, access] of accesses) {
    const { fields } = getEntity(workspace, name);
    const visible = access && readableNames(access.grants);
    fieldsOf.set(name, visible === undefined ? fields : new Map([...fields].filter(([field]) => visible.has(field))));
  }
  const isKey = (entity: string, relation: string): boolean => {
    const link = whole.entities.get(entity)?.relations.get(relation);
    return link?.kind === 'belongsTo' && fieldsOf.get(entity)?.has(link.column) === true;
  };
  const isFollowed = (owner: string, relation: Relation): boolean => {
    if (!accesses.has(relation.entity)) return false;
    switch (relation.kind) {
      case 'belongsTo':
        return isKey(owner, relation.name);
      case 'hasMany':
      case 'hasOne':
        return isKey(relation.entity, relation.inverse);
      case 'manyToMany':
        return (
          accesses.has(relation.through) &&
          isKey(relation.through, relation.from) &&
          isKey(relation.through, relation.to)
        );
      default:
        return relation satisfies never;
    }
  };
  const linked = new Map<string, Entity>();
  for (const [name, access] of accesses) {
    const entity = getEntity(workspace, name);
    const relations = new Map([...entity.relations].filter(([, relation]) => isFollowed(name, relation)));
    const fields = new Map(
      [...(fieldsOf.get(name) ?? [])].map(([key, field]) => [key, limitField(field, relations, access)]),
    );
    const texts = entity.search?.fields.filter((field) => fields.has(field.name)) ?? [];
    const search = entity.search === null || texts.length === 0 ? null : { ...entity.search, fields: texts };
    const limited = access === undefined ? {} : { access, declared: declareVisible(entity, fields) };
    linked.set(name, { ...entity, fields, relations, search, ...limited });
  }
  const entities = new Map(
    [...linked].map(([name, entity]) => [name, { ...entity, settings: withoutHiddenLabel(entity, linked) }]),
  );
  const isKnown = (entity: string, field: string): boolean => {
    const owner = entities.get(entity);
    return owner !== undefined && (owner.fields.has(field) || owner.access?.writable.has(field) === true);
  };
  return {
    ...workspace,
    entities,
    entityIds: new Map([...workspace.entityIds].filter(([name]) => entities.has(name))),
    constraints: new Map(
      [...workspace.constraints].filter(([, { entity, fields }]) => fields.every((field) => isKnown(entity, field))),
    ),
    part: {
      of: whole,
      key: `${workspace.part?.key ?? ''} grants ${onlyGrants} ${JSON.stringify(roles)}`,
      beforeGrants: workspace,
    },
  };
}

/** Returns the field without a relation that is hidden, and not required if some records do not show it. */
function limitField(field: Field, relations: ReadonlyMap<string, Relation>, access: EntityAccess | undefined): Field {
  const isBare = field.relation !== undefined && !relations.has(field.relation);
  const isPartial = access?.grants.some(({ can, fields }) => can.has('read') && !fields.has(field.name)) === true;
  return {
    ...field,
    relation: isBare ? undefined : field.relation,
    required: field.required && !isPartial,
  };
}

/** Returns the entity of the document without the fields that are hidden, and the indexes on them. */
function declareVisible({ declared }: Entity, visible: ReadonlyMap<string, Field>): Declared {
  const { fields = {}, indexes, ...rest } = declared;
  const isVisible = (index: object): boolean =>
    ((index as { readonly fields?: readonly string[] }).fields ?? []).every((name) => visible.has(name));
  return {
    ...rest,
    fields: Object.fromEntries(Object.entries(fields).filter(([name]) => visible.has(name))),
    ...(indexes === undefined ? {} : { indexes: indexes.filter(isVisible) }),
  };
}

function withoutHiddenLabel(entity: Entity, entities: ReadonlyMap<string, Entity>): EntitySettings {
  const settings = restrictSettings(entity, entities);
  return settings.label !== null && !entity.fields.has(settings.label) ? { ...settings, label: null } : settings;
}

/** Returns the names of the fields that some of the grants show. */
function readableNames(grants: readonly ResolvedGrant[]): ReadonlySet<string> {
  const names = new Set(['id']);
  for (const { can, fields } of grants) if (can.has('read')) for (const name of fields) names.add(name);
  return names;
}

const isWritten = ({ role }: Field): boolean => role === 'data' || role === 'reference';

function resolveAccess(base: Entity, grants: readonly Grant[], workspace: Workspace): EntityAccess {
  const resolved = grants.map((grant) => resolveGrant(grant, base, workspace));
  const names = new Set(readableNames(resolved));
  for (const { can, write, set } of resolved) {
    if (!can.has('create') && !can.has('update')) continue;
    for (const name of [...write, ...set.keys()]) names.add(name);
  }
  return { base, grants: resolved, writable: new Map([...base.fields].filter(([name]) => names.has(name))) };
}

function resolveGrant(grant: Grant, base: Entity, workspace: Workspace): ResolvedGrant {
  const where = grant.where === null ? null : resolveWhere(grant.where, base, workspace);
  const set = new Map([...grant.set].map(([name, value]) => [name, resolveStamp(value, getColumn(base, name))]));
  const fields = new Set(['id', ...(grant.fields ?? base.fields.keys())]);
  const demands = where === null ? [] : collectDemands(where);
  const stamps = new Map<string, StampedValue>();
  for (const { field, values } of demands) {
    const [value] = values;
    if (!isWritten(field) || set.has(field.name) || stamps.has(field.name)) continue;
    if (value?.kind === 'literal' || value?.kind === 'claim') stamps.set(field.name, value);
  }
  const uses = [...(where === null ? [] : collectClaims(where)), ...[...set.values()].flatMap(toUse)];
  const covered = new Set(where === null ? [] : collectCovered(where).map(({ claim }) => claim));
  return {
    can: grant.can,
    claims: uses,
    needsGuard: uses.some((use) => !covered.has(use.claim) || uses.some((other) => isOtherUse(use, other))),
    where,
    fields,
    write: new Set(grant.write ?? [...fields].filter((name) => isWritten(getColumn(base, name)))),
    set,
    stamps,
    demandsId: demands.some(({ field }) => field.role === 'id'),
  };
}

/** Returns whether two uses of one claim read it as values of different types, of which one may fit and one not. */
const isOtherUse = (use: ClaimUse, other: ClaimUse): boolean =>
  use.claim === other.claim && (use.isList !== other.isList || use.field.type !== other.field.type);

function getColumn(entity: Entity, name: string): Field {
  const field = entity.fields.get(name);
  // A grant for a missing column must not become "no condition".
  if (field === undefined) throw new TypeError(`grant of ${entity.name} names column ${name}, which does not exist`);
  return field;
}

type Comparison = Extract<Condition, { kind: 'compare' }>;

/** Returns the comparisons by eq on fields of the entity that every record must satisfy. */
function collectDemands(condition: Condition): readonly Comparison[] {
  if (condition.kind === 'and') return condition.members.flatMap(collectDemands);
  return condition.kind === 'compare' && condition.operator === 'eq' ? [condition] : [];
}

const toUse = (value: ResolvedValue): readonly ClaimUse[] =>
  value.kind === 'claim' ? [{ claim: value.claim, field: value.field, isList: value.isList }] : [];

function collectClaims(condition: Condition): readonly ClaimUse[] {
  switch (condition.kind) {
    case 'and':
    case 'or':
      return condition.members.flatMap(collectClaims);
    case 'not':
    case 'exists':
      return collectClaims(condition.member);
    case 'compare':
      return condition.values.flatMap(toUse);
    default:
      return condition satisfies never;
  }
}

const NEGATIVE: ReadonlySet<GrantOperator> = new Set(['ne', 'nin', 'isNull', 'notNull']);

/** Returns claims without which the condition is false, as null equals nothing. */
function collectCovered(condition: Condition): readonly ClaimUse[] {
  switch (condition.kind) {
    case 'and':
      return condition.members.flatMap(collectCovered);
    case 'exists':
      return collectCovered(condition.member);
    case 'compare':
      return NEGATIVE.has(condition.operator) ? [] : condition.values.flatMap(toUse);
    case 'or':
    case 'not':
      return [];
    default:
      return condition satisfies never;
  }
}

/** Operators that negate others: through to-one relations the `not` is put outside, as in filters. */
const DENIES: Readonly<Partial<Record<GrantOperator, GrantOperator>>> = { ne: 'eq', nin: 'in', isNull: 'notNull' };

function resolveWhere(where: GrantWhere, entity: Entity, workspace: Workspace): Condition {
  switch (where.kind) {
    case 'and':
    case 'or':
      return { kind: where.kind, members: where.members.map((member) => resolveWhere(member, entity, workspace)) };
    case 'not':
      return { kind: 'not', member: resolveWhere(where.member, entity, workspace) };
    case 'compare':
      return resolveComparison(where.path, where.operator, where.values, entity, workspace);
    default:
      return where satisfies never;
  }
}

function resolveComparison(
  path: readonly string[],
  operator: GrantOperator,
  values: readonly GrantValue[],
  entity: Entity,
  workspace: Workspace,
): Condition {
  const [name = '', ...rest] = path;
  if (rest.length === 0) {
    const field = getColumn(entity, name);
    return { kind: 'compare', field, operator, values: resolveValues(operator, values, field) };
  }
  const relation = entity.relations.get(name);
  if (relation === undefined)
    throw new TypeError(`grant of ${entity.name} names relation ${name}, which does not exist`);
  const target = getEntity(workspace, relation.entity);
  const hop = resolveHop(relation, target, workspace);
  const denied = DENIES[operator];
  if (denied !== undefined && isToOne(relation) && isToOnePath(target, rest, workspace)) {
    const member = resolveComparison(rest, denied, values, target, workspace);
    return { kind: 'not', member: { kind: 'exists', hop, member } };
  }
  return { kind: 'exists', hop, member: resolveComparison(rest, operator, values, target, workspace) };
}

function isToOnePath(entity: Entity, path: readonly string[], workspace: Workspace): boolean {
  let at: Entity | undefined = entity;
  for (const name of path.slice(0, -1)) {
    const relation: Relation | undefined = at?.relations.get(name);
    if (relation === undefined || !isToOne(relation)) return false;
    at = workspace.entities.get(relation.entity);
  }
  return true;
}

function resolveHop(relation: Relation, entity: Entity, workspace: Workspace): Hop {
  switch (relation.kind) {
    case 'belongsTo':
      return { kind: 'key', entity, relatedColumn: 'id', parentColumn: relation.key };
    case 'hasMany':
    case 'hasOne':
      return { kind: 'key', entity, relatedColumn: relation.key, parentColumn: 'id' };
    case 'manyToMany': {
      const through = getEntity(workspace, relation.through);
      return { kind: 'through', entity, through, from: relation.fromKey, to: relation.toKey };
    }
    default:
      return relation satisfies never;
  }
}

/** A field whose values are any text. */
const asText = (field: Field): Field => ({
  ...field,
  type: 'text' as FieldTypeName,
  maxLength: undefined,
  values: undefined,
});

function resolveValues(operator: GrantOperator, values: readonly GrantValue[], field: Field): readonly ResolvedValue[] {
  const type = PART_OPERATORS.has(operator) ? asText(field) : field;
  const isMany = operator === 'in' || operator === 'nin';
  const [first] = values;
  if (isMany && first?.kind === 'claim') return [{ kind: 'claim', claim: first.claim, field: type, isList: true }];
  if (isMany && !values.some(({ kind }) => kind === 'now'))
    return [{ kind: 'list', texts: values.map((value) => decodeLiteral(value, type)) }];
  if (isMany) throw new TypeError('a list of a grant holds the time of the statement');
  return values.map((value): ResolvedValue => {
    if (value.kind === 'now') return value;
    if (value.kind === 'claim') return { kind: 'claim', claim: value.claim, field: type, isList: false };
    return { kind: 'literal', text: decodeLiteral(value, type) };
  });
}

/** Decodes a literal, which the checks of the document have accepted. */
function decodeLiteral(value: GrantValue, field: Field): string {
  const decoded = value.kind === 'literal' ? fieldType(field.type).decode(value.value, field) : undefined;
  if (decoded?.ok !== true) throw new TypeError(`grant has a value that does not fit ${field.name}`);
  return decoded.value;
}

function resolveStamp(value: GrantValue, field: Field): StampedValue {
  if (value.kind === 'claim') return { kind: 'claim', claim: value.claim, field, isList: false };
  if (value.kind === 'literal' && value.value === null) return { kind: 'literal', text: null };
  return { kind: 'literal', text: decodeLiteral(value, field) };
}
