// Writes by filter: the records that match, and the members of `set` that copy other fields of the record.
import { badRequest, shorten } from '../errors.ts';
import type { Entity, Field } from '../model/entity.ts';
import { isWritable } from '../model/writable.ts';
import type { MatchingWrite } from '../request/matching.ts';
import { isRecord } from '../request/members.ts';
import { splitPath } from '../request/paths.ts';
import type { Copy, LockPlan, MatchPlan } from './bulk.ts';
import type { PlanContext } from './link.ts';
import { type Follower, followToOne } from './ordering.ts';
import { planFilter, shieldScan } from './predicate.ts';
import { scan } from './scan.ts';
import { planSearch } from './search.ts';

/** Plans the search for the ids of the records that match, in their order; `max`: the most that are returned. */
export function planMatch(
  { filter, search }: Pick<MatchingWrite, 'filter' | 'search'>,
  max: number,
  entity: Entity,
  context: PlanContext,
): MatchPlan {
  const words = search === undefined ? undefined : planSearch(search, entity);
  const predicate = planFilter(filter, entity, context, words);
  const target = shieldScan(scan(entity, context.principal, 'read'), predicate);
  return { kind: 'match', scan: target, predicate, max };
}

/** Plans the lock of records that a MatchPlan has found, as far as they still match. */
export function planMatchLock(
  { scan: target, predicate }: MatchPlan,
  { fields, copies }: Pick<LockPlan, 'fields' | 'copies'>,
  strength: LockPlan['strength'],
): LockPlan {
  return { kind: 'lock', scan: target, fields, copies, predicate, strength };
}

// Types whose values are texts, and those that take any of them within their lengths.
const TEXTS: ReadonlySet<string> = new Set(['string', 'text', 'enum']);
const LONG_TEXTS: ReadonlySet<string> = new Set(['string', 'text']);
const FROM: Follower = { parameter: '$field', only: 'have one value' };

/** Members of `set`: `values` as of the body of an update, and fields that take the value of another one. */
export interface SetMembers {
  readonly values: Readonly<Record<string, unknown>>;
  readonly copies: readonly Copy[];
}

/**
 * Splits the members of `set`. Throws 400 for a `$field` that leads to no field, to many records, or to a field of
 * another type, unless both are texts. Members that cannot be written are among `values`, where they are refused with the others.
 */
export function planSet(set: Readonly<Record<string, unknown>>, entity: Entity, context: PlanContext): SetMembers {
  const values: Record<string, unknown> = {};
  const copies: Copy[] = [];
  const { writable = entity.fields } = entity.access ?? {};
  for (const [name, value] of Object.entries(set)) {
    const path = readPath(value);
    const field = writable.get(name);
    if (path === undefined || field === undefined || !isWritable(field)) values[name] = value;
    else copies.push(planCopy(field, path, entity, context));
  }
  return { values, copies };
}

function readPath(value: unknown): string | undefined {
  if (!isRecord(value) || !Object.hasOwn(value, '$field') || Object.keys(value).length !== 1) return undefined;
  if (typeof value.$field !== 'string')
    throw badRequest('INVALID_PATH', '$field takes the name of a field, or a path such as customer.name');
  return value.$field;
}

function planCopy(field: Field, path: string, entity: Entity, context: PlanContext): Copy {
  const { links, field: source } = followToOne(FROM, splitPath('$field', path), entity, context);
  if (source.type !== field.type && !(TEXTS.has(source.type) && LONG_TEXTS.has(field.type)))
    throw badRequest(
      'INVALID_PATH',
      `$field ${shorten(path)} is of type ${source.type}, and ${field.name} of type ${field.type}`,
    );
  return { field, links, source };
}
