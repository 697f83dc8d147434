// Sort terms and a cursor -> Ordering: the sort keys with an id at the end, and the position to continue from. Throws
// 400.
import { badRequest, shorten } from '../errors.ts';
import type { Entity, Field } from '../model/entity.ts';
import { fieldType } from '../model/field-types.ts';
import { isToOne } from '../model/relation.ts';
import { type Cursor, malformedCursor, outdatedCursor } from '../request/page.ts';
import type { SortTerm } from '../request/sort.ts';
import { getField, getRelation, MAX_PATH_LENGTH } from './condition.ts';
import { buildLink, getTarget, type Link, type PlanContext } from './link.ts';
import { type Operand, valueOperand } from './operand.ts';
import type { Search } from './search.ts';

export interface OrderKey {
  /** To-one links to follow; empty for a field of the entity itself. */
  readonly links: readonly Link[];
  readonly field: Field;
  readonly direction: 'asc' | 'desc';
}

export interface Ordering {
  /** Sort keys; the last is always the entity's own id. */
  readonly keys: readonly OrderKey[];
  /** Canonical text, which binds a cursor to its sort. */
  readonly text: string;
  /** Search whose best matches come first; `keys` then breaks ties. */
  readonly rankBy?: Search;
}

/** Plans the sort terms of a request; without any the order is id ascending. */
export function planOrdering(terms: readonly SortTerm[], entity: Entity, context: PlanContext): Ordering {
  const { keys, text } = planKeys(terms, entity, context);
  // The epoch invalidates cursors from before a restore of the workspace.
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
  // Keys after the id cannot change the order.
  if (own >= 0) return { keys: keys.slice(0, own + 1), text: texts.slice(0, own + 1).join(';') };
  const id = entity.fields.get('id');
  if (id === undefined) throw new TypeError(`entity ${entity.name} has no id`);
  const direction = keys.at(-1)?.direction ?? 'asc';
  return { keys: [...keys, { links: [], field: id, direction }], text: [...texts, `id,${direction}`].join(';') };
}

/** Plans the order by relevance to a search. */
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

/** Parameter that follows a path, and the use of to-one relations in its messages. */
export interface Follower {
  readonly parameter: string;
  readonly only: string;
}

const SORT: Follower = { parameter: 'sort', only: 'give an order' };

/** Returns the field at the end of a path of to-one relations, and the links; throws 400 for any other path. */
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

/** Returns the cursor's keys as operands (null for null), in order; throws 400 when it belongs to another sort. */
export function planCursor(cursor: Cursor, ordering: Ordering): (Operand | null)[] {
  if (ordering.rankBy !== undefined) {
    const [rank = null, ...keys] = cursor.keys;
    return [
      rankOperand(rank),
      ...planCursor({ sort: cursor.sort, keys }, { keys: ordering.keys, text: ordering.text }),
    ];
  }
  if (cursor.sort !== ordering.text && removeEpoch(cursor.sort) === removeEpoch(ordering.text)) throw outdatedCursor();
  if (cursor.sort !== ordering.text || cursor.keys.length !== ordering.keys.length) throw malformedCursor();
  return ordering.keys.map((key, index) => {
    const text = cursor.keys[index] ?? null;
    if (text === null) {
      if (isNeverNull(key)) throw malformedCursor();
      return null;
    }
    // The schema may have dropped an enum value since; any text has a place in the order.
    const type = fieldType(key.field.type);
    const decoded = (type.textual ? fieldType('text') : type).parseText(text, key.field);
    if (!decoded.ok) throw malformedCursor();
    return valueOperand(key.field, decoded.value);
  });
}

/** Returns the text of a sort without the epoch of its workspace; a key of a sort has a comma. */
const removeEpoch = (text: string): string => text.replace(/;[^;,]+$/, '');

// Format in which PostgreSQL prints a float4; it would refuse smaller ones.
const RANK = /^\d{1,3}(\.\d{1,12})?(e-\d{1,2})?$/;
const LEAST_RANK = 1e-37;

/** Returns the operand of a rank, or null for a record without one. */
function rankOperand(text: string | null): Operand | null {
  if (text === null) return null;
  const isRank = RANK.test(text) && (Number(text) >= LEAST_RANK || Number(text) === 0);
  if (!isRank) throw malformedCursor();
  return { kind: 'value', value: text, type: 'float4' };
}

/** Returns whether the key is a required column of the entity itself. */
function isNeverNull(key: OrderKey): boolean {
  return key.links.length === 0 && key.field.required;
}
