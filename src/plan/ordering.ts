// Sort terms and a cursor -> Ordering: the keys with an id at the end, and where to continue. Throws 400.
import { badRequest, shorten } from '../errors.ts';
import type { Entity, Field } from '../model/entity.ts';
import { fieldType } from '../model/field-types.ts';
import { isToOne } from '../model/relation.ts';
import { type Cursor, malformedCursor } from '../request/page.ts';
import type { SortTerm } from '../request/sort.ts';
import { buildLink, getTarget, type Link, type PlanContext } from './link.ts';
import { type Operand, valueOperand } from './operand.ts';
import { getField, getRelation, MAX_PATH_LENGTH } from './predicate.ts';
import type { Search } from './search.ts';

export interface OrderKey {
  /** To-one links to follow; empty for a field of the entity itself. */
  readonly links: readonly Link[];
  readonly field: Field;
  readonly direction: 'asc' | 'desc';
}

export interface Ordering {
  /** The last key is always the entity's own id. */
  readonly keys: readonly OrderKey[];
  /** Canonical text, which binds a cursor to its sort. */
  readonly text: string;
  /** The best matches of it come first; `keys` is what breaks ties. */
  readonly rankBy?: Search;
}

/** Sort terms of a request; no term: id ascending. */
export function planOrdering(terms: readonly SortTerm[], entity: Entity, context: PlanContext): Ordering {
  const { keys, text } = planKeys(terms, entity, context);
  // A workspace that was restored goes on with no cursor of the one before.
  return { keys, text: entity.epoch ? `${text};${entity.epoch}` : text };
}

function planKeys(terms: readonly SortTerm[], entity: Entity, context: PlanContext): Ordering {
  const keys: OrderKey[] = [];
  const paths: string[] = [];
  for (const term of terms) {
    const path = term.path.join('.');
    if (paths.includes(path)) throw badRequest('INVALID_SORT', `sort names ${path} twice`);
    paths.push(path);
    keys.push(planKey(term, entity, context));
  }
  const texts = keys.map((key, index) => `${paths[index]},${key.direction}`);
  const own = paths.indexOf('id');
  // Nothing after the id can change the order.
  if (own >= 0) return { keys: keys.slice(0, own + 1), text: texts.slice(0, own + 1).join(';') };
  const id = entity.fields.get('id');
  if (id === undefined) throw new TypeError(`entity ${entity.name} has no id`);
  const direction = keys.at(-1)?.direction ?? 'asc';
  return { keys: [...keys, { links: [], field: id, direction }], text: [...texts, `id,${direction}`].join(';') };
}

/** By how well records satisfy a search. */
export function planRankedOrdering(search: Search, entity: Entity, context: PlanContext): Ordering {
  const { keys, text } = planOrdering([], entity, context);
  return { keys, text: `search ${JSON.stringify(search.text)};${text}`, rankBy: search };
}

function planKey(term: SortTerm, entity: Entity, context: PlanContext): OrderKey {
  const { links, field } = followToOne(SORT, term.path, entity, context);
  if (!fieldType(field.type).comparable) {
    throw badRequest('INVALID_SORT', `sort ${term.path.join('.')}: a field of type ${field.type} has no order`);
  }
  return { links, field, direction: term.direction };
}

/** Who follows a path: the parameter, and what to-one relations alone do for it. */
export interface Follower {
  readonly parameter: string;
  readonly only: string;
}

const SORT: Follower = { parameter: 'sort', only: 'give an order' };

/** The field at the end of a path of to-one relations, and the links on the way; 400 for any other path. */
export function followToOne(
  { parameter, only }: Follower,
  path: readonly string[],
  entity: Entity,
  context: PlanContext,
): { readonly links: readonly Link[]; readonly field: Field } {
  if (path.length > MAX_PATH_LENGTH) {
    throw badRequest(
      'INVALID_PATH',
      `${parameter} ${shorten(path.join('.'))} crosses more than ${MAX_PATH_LENGTH - 1} relations`,
    );
  }
  const links: Link[] = [];
  let level = entity;
  for (const name of path.slice(0, -1)) {
    const relation = getRelation(level, name);
    if (!isToOne(relation)) {
      throw badRequest(
        'INVALID_PATH',
        `${parameter} ${path.join('.')} crosses ${name}, which leads to many records; only to-one relations ${only}`,
      );
    }
    links.push(buildLink(relation, context));
    level = getTarget(relation, context);
  }
  return { links, field: getField(level, path.at(-1) ?? '', parameter) };
}

/** The cursor's keys as operands (null for null), in the order of the ordering's keys; 400 when it belongs to another sort. */
export function planCursor(cursor: Cursor, ordering: Ordering): (Operand | null)[] {
  if (ordering.rankBy !== undefined) {
    const [rank = null, ...keys] = cursor.keys;
    return [
      rankOperand(rank),
      ...planCursor({ sort: cursor.sort, keys }, { keys: ordering.keys, text: ordering.text }),
    ];
  }
  if (cursor.sort !== ordering.text || cursor.keys.length !== ordering.keys.length) throw malformedCursor();
  return ordering.keys.map((key, index) => {
    const text = cursor.keys[index] ?? null;
    if (text === null) {
      if (isNeverNull(key)) throw malformedCursor();
      return null;
    }
    // An enum value may have left the schema since; any text has a place in the order.
    const type = fieldType(key.field.type);
    const decoded = (type.textual ? fieldType('text') : type).parseText(text, key.field);
    if (!decoded.ok) throw malformedCursor();
    return valueOperand(key.field, decoded.value);
  });
}

// As PostgreSQL prints a float4. Smaller ones than this it would refuse.
const RANK = /^\d{1,3}(\.\d{1,12})?(e-\d{1,2})?$/;
const LEAST_RANK = 1e-37;

/** null: of a record that is not ranked. */
function rankOperand(text: string | null): Operand | null {
  if (text === null) return null;
  const isRank = RANK.test(text) && (Number(text) >= LEAST_RANK || Number(text) === 0);
  if (!isRank) throw malformedCursor();
  return { kind: 'value', value: text, type: 'float4' };
}

/** True when the key is a required column of the entity itself. */
function isNeverNull(key: OrderKey): boolean {
  return key.links.length === 0 && key.field.required;
}
