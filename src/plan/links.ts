// Many-to-many relations in the body of a write: `{"tags": [1, 2]}` and `{"tags": {"$add": [3], "$remove": [1]}}` -> the
// links that the write makes and removes, which are records of the entity between the two.
import { type Detail, shorten } from '../errors.ts';
import type { Entity, Field } from '../model/entity.ts';
import { decodeValue } from '../model/field-types.ts';
import type { BelongsTo, ManyToMany } from '../model/relation.ts';
import { getEntity } from '../model/workspace.ts';
import { getRequiredFields } from '../model/writable.ts';
import type { FilterTree } from '../request/filter.ts';
import { isRecord } from '../request/members.ts';
import { checkId } from './assignment.ts';
import type { LockPlan, MatchPlan } from './bulk.ts';
import { fieldNotGranted } from './errors.ts';
import { getOptionalNames } from './granted.ts';
import type { PlanContext } from './link.ts';
import { planMatch, planMatchLock } from './matching.ts';
import { MAX_DETAILS } from './unknown-name.ts';

/** Most ids in one list of a body. */
export const MAX_LINKED = 1000;

/** A change of the links of one record; the ids are digits, each once. */
export interface LinkChange {
  readonly relation: ManyToMany;
  readonly add: readonly string[];
  /** Ids to take away, or null for all that `add` does not name. */
  readonly remove: readonly string[] | null;
}

export interface BodyParts {
  /** The body without its relations. */
  readonly members: Readonly<Record<string, unknown>>;
  readonly links: readonly LinkChange[];
  /** Mistakes in the relations. */
  readonly details: readonly Detail[];
}

/** Returns whether a body of the entity can hold links. */
export const hasLinks = ({ relations }: Entity): boolean =>
  relations.values().some(({ kind }) => kind === 'manyToMany');

/** Splits the body of a write, or returns undefined if it has no links. `isUpdate`: whether it may have operators. */
export function splitLinks(
  body: Readonly<Record<string, unknown>>,
  entity: Entity,
  context: PlanContext,
  isUpdate: boolean,
): BodyParts | undefined {
  const relations = listWritten(body, entity);
  if (relations.length === 0) return undefined;
  const members = { ...body };
  const links: LinkChange[] = [];
  const details: Detail[] = [];
  for (const relation of relations) {
    delete members[relation.name];
    const change = readChange(relation, body[relation.name], context, isUpdate);
    if ('relation' in change) links.push(change);
    else details.push(...change);
  }
  return { members, links, details: details.slice(0, MAX_DETAILS) };
}

/** Returns the many-to-many relations that a body names, in the order of the schema. */
const listWritten = (body: Readonly<Record<string, unknown>>, { relations }: Entity): readonly ManyToMany[] =>
  [...relations.values()].filter(
    (relation) => relation.kind === 'manyToMany' && Object.hasOwn(body, relation.name),
  ) as ManyToMany[];

/** Counts the ids in the relations of a body, which costs nothing while reading them takes time. */
export const countIds = (body: Readonly<Record<string, unknown>>, entity: Entity): number =>
  listWritten(body, entity)
    .flatMap(({ name }) => [body[name], ...(isRecord(body[name]) ? Object.values(body[name]) : [])])
    .reduce((sum: number, list) => sum + (Array.isArray(list) ? list.length : 0), 0);

function readChange(
  relation: ManyToMany,
  value: unknown,
  context: PlanContext,
  isUpdate: boolean,
): LinkChange | readonly Detail[] {
  const { name } = relation;
  const fault = (message: string, code: Detail['code'] = 'TYPE_MISMATCH'): readonly Detail[] => [
    { field: name, code, message },
  ];
  const missing = listMissingFields(relation, context);
  if (missing.length > 0) {
    const fields = missing.map((field) => field.name).join(', ');
    return fault(`cannot be written here, as ${relation.through} requires ${fields}: write records of it`, 'INVALID');
  }
  if (Array.isArray(value)) {
    const { ids, details } = readIds(value, relation, context);
    return details.length > 0 ? details : { relation, add: ids, remove: null };
  }
  const form = isUpdate ? 'an array of ids, or {"$add": [ids], "$remove": [ids]}' : 'an array of ids';
  if (!isUpdate || !isRecord(value)) return fault(`must be ${form}`);
  const unknown = Object.keys(value).find((key) => key !== '$add' && key !== '$remove');
  if (unknown !== undefined || Object.keys(value).length === 0)
    return fault(`${unknown === undefined ? '' : `does not take ${shorten(unknown)}, and `}must be ${form}`);
  const { $add = [], $remove = [] } = value;
  if (!Array.isArray($add) || !Array.isArray($remove)) return fault('$add and $remove must be arrays of ids');
  const [added, removed] = [readIds($add, relation, context), readIds($remove, relation, context)];
  const both = removed.ids.find((id) => added.ids.includes(id));
  const details = [...added.details, ...removed.details];
  if (details.length > 0) return details;
  if (both !== undefined) return fault(`names ${both} in $add and in $remove`, 'INVALID');
  return { relation, add: added.ids, remove: removed.ids };
}

/** Returns the ids of a list, each once, or the mistakes in it. */
function readIds(
  list: readonly unknown[],
  relation: ManyToMany,
  context: PlanContext,
): { readonly ids: readonly string[]; readonly details: readonly Detail[] } {
  const { name } = relation;
  if (list.length > MAX_LINKED) {
    const message = `names ${list.length} records, and at most ${MAX_LINKED} can be in one list`;
    return { ids: [], details: [{ field: name, code: 'OUT_OF_RANGE', message }] };
  }
  const { toField } = getKeys(relation, context);
  const ids = new Set<string>();
  const details: Detail[] = [];
  for (const [index, value] of list.entries()) {
    const decoded =
      value === null
        ? ({ ok: false, code: 'TYPE_MISMATCH', message: 'must be an id' } as const)
        : checkId(decodeValue(toField, value));
    if (decoded.ok) ids.add(decoded.value);
    else if (details.length < MAX_DETAILS)
      details.push({ field: name, code: decoded.code, message: `item ${index} ${decoded.message}` });
  }
  return { ids: [...ids], details };
}

/** The entity between the two of a relation, and its fields that hold the ids of both. */
export interface LinkKeys {
  readonly through: Entity;
  readonly fromField: Field;
  readonly toField: Field;
}

export function getKeys({ through: name, from, to }: ManyToMany, { workspace }: PlanContext): LinkKeys {
  const through = getEntity(workspace, name);
  const { fields, relations } = through.access?.base ?? through;
  const getField = (relation: string): Field => fields.get((relations.get(relation) as BelongsTo).column) as Field;
  return { through, fromField: getField(from), toField: getField(to) };
}

/** Returns the fields besides its two ids that a link must have, and that nothing but a body gives. */
export function listMissingFields(relation: ManyToMany, context: PlanContext): readonly Field[] {
  const { through, fromField, toField } = getKeys(relation, context);
  const { access } = through;
  const required = getRequiredFields(access?.base ?? through, getOptionalNames(through, context.principal));
  return required.filter((field) => field !== fromField && field !== toField);
}

/** Search and lock of links. `fields`: those of LinkKeys, which the lock reads. */
export interface LinksPlan {
  readonly match: MatchPlan;
  readonly lock: LockPlan;
}

/**
 * Plans the search for the links of records with these ids that the principal sees, to records that it sees. `targets`:
 * the ids to which the links lead, or null for any; `max`: the most links.
 */
export function planLinks(
  relation: ManyToMany,
  ids: readonly string[],
  targets: readonly string[] | null,
  max: number,
  context: PlanContext,
): LinksPlan {
  const { through, fromField, toField } = getKeys(relation, context);
  for (const { name } of [fromField, toField]) if (!through.fields.has(name)) throw fieldNotGranted(name, through.name);
  const compare = (path: readonly string[], texts: readonly string[]): FilterTree => {
    const values = texts.map((text) => ({ kind: 'text', text }) as const);
    return { kind: 'compare', path, operator: 'in', values };
  };
  const filter: FilterTree = {
    kind: 'and',
    members: [
      compare([fromField.name], ids),
      ...(targets === null ? [] : [compare([toField.name], targets)]),
      { kind: 'compare', path: [relation.to, 'id'], operator: 'notNull', values: [] },
    ],
  };
  const match = planMatch({ filter, search: undefined }, max, through, context);
  return { match, lock: planMatchLock(match, { fields: [fromField, toField], copies: [] }, 'delete') };
}
