// The part of a snapshot that users with some roles may use: entities and fields exist by the roles alone, records by
// the claims of each user. plan/scan.ts attaches the grants to every table.
import type {
  ClaimUse,
  Declared,
  Entity,
  EntityAccess,
  EntitySettings,
  Field,
  ResolvedGrant,
  StampedValue,
} from './entity.ts';
import { fieldType } from './field-types.ts';
import {
  type Grant,
  type GrantComparison,
  type GrantOperator,
  type GrantValue,
  type GrantWhere,
  isGrantFor,
  listComparisons,
} from './grant.ts';
import { listLabelFields } from './label.ts';
import { type FilterOperator, OPERATORS } from './operators.ts';
import type { Relation } from './relation.ts';
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
    const grants = new Map([...entity.grants.entries()].filter(([, grant]) => isGrantFor(grant, held)));
    if (grants.size > 0) accesses.set(entity.name, resolveAccess(getEntity(whole, entity.name), grants, whole));
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
  return settings.label !== null && !listLabelFields(settings.label).every((name) => entity.fields.has(name))
    ? { ...settings, label: null }
    : settings;
}

/** Returns the names of the fields that some of the grants show. */
function readableNames(grants: readonly ResolvedGrant[]): ReadonlySet<string> {
  const names = new Set(['id']);
  for (const { can, fields } of grants) if (can.has('read')) for (const name of fields) names.add(name);
  return names;
}

const isWritten = ({ role }: Field): boolean => role === 'data' || role === 'reference';

/** `grants`: those of the roles by their index in the document. */
function resolveAccess(base: Entity, grants: ReadonlyMap<number, Grant>, workspace: Workspace): EntityAccess {
  const resolved = [...grants].map(([index, grant]) => resolveGrant(grant, index, base, workspace));
  const names = new Set(readableNames(resolved));
  for (const { can, write, set } of resolved) {
    if (!can.has('create') && !can.has('update')) continue;
    for (const name of [...write, ...set.keys()]) names.add(name);
  }
  return {
    base,
    entities: workspace.entities,
    grants: resolved,
    writable: new Map([...base.fields].filter(([name]) => names.has(name))),
  };
}

function resolveGrant(grant: Grant, index: number, base: Entity, workspace: Workspace): ResolvedGrant {
  const { where } = grant;
  const set = new Map([...grant.set].map(([name, value]) => [name, resolveStamp(value, getColumn(base, name))]));
  const fields = new Set(['id', ...(grant.fields ?? base.fields.keys())]);
  const demands = where === null ? [] : collectDemands(where);
  const stamps = new Map<string, StampedValue>();
  for (const { path, values } of demands) {
    const field = getColumn(base, path[0] ?? '');
    const [value] = values;
    if (!isWritten(field) || set.has(field.name) || stamps.has(field.name)) continue;
    if (value?.kind === 'literal' || value?.kind === 'claim') stamps.set(field.name, resolveStamp(value, field));
  }
  const claims = [
    ...(where === null ? [] : collectClaims(where, base, workspace)),
    ...[...set.values()].flatMap((value) => (value.kind === 'claim' ? [value] : [])),
  ];
  const covered = where === null ? new Set() : collectCovered(where);
  return {
    index,
    can: grant.can,
    claims,
    needsGuard: claims.some((use) => !covered.has(use.claim) || claims.some((other) => isOtherUse(use, other))),
    where,
    fields,
    write: new Set(grant.write ?? [...fields].filter((name) => isWritten(getColumn(base, name)))),
    set,
    stamps,
    demandsId: demands.some(({ path: [name] }) => name === 'id'),
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

/** Returns the comparisons by eq on fields of the entity that every record must satisfy. */
function collectDemands(where: GrantWhere): readonly GrantComparison[] {
  if (where.kind === 'and') return where.members.flatMap(collectDemands);
  return where.kind === 'compare' && where.operator === 'eq' && where.path.length === 1 ? [where] : [];
}

const collectClaims = (where: GrantWhere, entity: Entity, workspace: Workspace): readonly ClaimUse[] =>
  listComparisons(where).flatMap(({ path, operator, values }) => {
    const field = getColumnAt(path, entity, workspace);
    return values.flatMap((value) => (value.kind === 'claim' ? [makeClaimUse(value.claim, operator, field)] : []));
  });

function getColumnAt([name = '', ...rest]: readonly string[], entity: Entity, workspace: Workspace): Field {
  if (rest.length === 0) return getColumn(entity, name);
  const relation = entity.relations.get(name);
  if (relation === undefined)
    throw new TypeError(`grant of ${entity.name} names relation ${name}, which does not exist`);
  return getColumnAt(rest, getEntity(workspace, relation.entity), workspace);
}

/** Returns the use of a claim as the value of an operator: a part of a text is any text, whatever the field holds. */
export function makeClaimUse(claim: string, operator: FilterOperator, field: Field): ClaimUse {
  const { arity, value } = OPERATORS[operator];
  const asText = { type: 'text', maxLength: undefined, values: undefined } as const;
  return { claim, field: value === 'part' ? { ...field, ...asText } : field, isList: arity === 'many' };
}

const NEGATIVE: ReadonlySet<GrantOperator> = new Set(['ne', 'nin', 'isNull', 'notNull']);

/** Returns claims without which the condition is false, as null equals nothing. */
function collectCovered(where: GrantWhere): ReadonlySet<string> {
  if (where.kind === 'and') return new Set(where.members.flatMap((member) => [...collectCovered(member)]));
  if (where.kind !== 'compare' || NEGATIVE.has(where.operator)) return new Set();
  return new Set(where.values.flatMap((value) => (value.kind === 'claim' ? [value.claim] : [])));
}

function resolveStamp(value: GrantValue, field: Field): StampedValue {
  if (value.kind === 'claim') return { kind: 'claim', claim: value.claim, field, isList: false };
  if (value.kind === 'literal' && value.value === null) return { kind: 'literal', text: null };
  const decoded = value.kind === 'literal' ? fieldType(field.type).decode(value.value, field) : undefined;
  // The checks of the document have accepted it.
  if (decoded?.ok !== true) throw new TypeError(`grant has a value that does not fit ${field.name}`);
  return { kind: 'literal', text: decoded.value };
}
