// Requests of users that write into a drawn workspace: which records they write, drawn at random, and as requests.
import fc, { type GeneratorValue } from 'fast-check';
import { type Drawn, VALUES, WORDS } from './row-rules-arbitrary.ts';
import type { Model, ModelEntity, Value } from './row-rules-read-model.ts';
import type { View } from './row-rules-view.ts';
import { type Body, isRef, type Ref, type Write } from './row-rules-write-model.ts';

/** No record has such an id. */
export const ABSENT = 8000;

/** One request that writes: of one record, of several of an entity, or a batch. */
export interface WriteWish {
  readonly form: 'single' | 'bulk' | 'batch';
  readonly writes: readonly Write[];
  readonly isDry: boolean;
  readonly isMinimal: boolean;
}

export function drawWrites(
  g: GeneratorValue,
  schema: ReadonlyMap<string, Drawn>,
  model: Model,
  { visible, isStamped: isStampedIn }: View,
): WriteWish {
  const pick = <T>(values: readonly T[]): T => g(fc.constantFrom, ...values) as T;
  // Integers that are drawn are small or large most of the time.
  const chance = (share: number): boolean => g(() => fc.noBias(fc.integer({ min: 1, max: 100 }))) <= share;
  const form = pick(['single', 'bulk', 'bulk', 'batch', 'batch'] as const);
  const made = new Map<string, number[]>();

  function id(name: string): number | Ref {
    const earlier = made.get(name) ?? [];
    if (earlier.length > 0 && chance(50)) return { operation: pick(earlier) };
    const seen = visible(name).map((record) => record.id);
    if (seen.length > 0 && chance(88)) return pick(seen);
    return pick([ABSENT, ...(model[name] as ModelEntity).records.map((record) => record.id)]);
  }
  function body(name: string, isCreate: boolean): Body {
    const { fields, references } = schema.get(name) as Drawn;
    const values: Record<string, Value | Ref> = {};
    const isStamped = (column: string): boolean => isStampedIn(name, column);
    const isGiven = (column: string): boolean => chance(isStamped(column) ? 15 : 60);
    if (isGiven('word')) values.word = pick([...WORDS, null]);
    if (isGiven('number')) values.number = pick([1, 2, 3, null]);
    if (chance(isStamped('code') ? 15 : isCreate ? 60 : 20)) values.code = pick([null, 2, 4, 14, 15, 16, 17, 18, 19]);
    for (const { column, to, required, unique } of references)
      if (required && isCreate ? !isStamped(column) && chance(96) : isGiven(column) && (!unique || chance(30)))
        values[column] = required || chance(85) ? id(to) : null;
    for (const [column, all] of Object.entries(VALUES))
      if (fields.includes(column) && chance(20)) values[column] = pick([...all, null]);
    return Object.keys(values).length > 0 ? values : { word: pick(WORDS) };
  }
  // Entities of which the user sees a part: keys of the others are refused for the claims of the user alone.
  const mixed = [...schema.keys()].filter((name) => {
    const seen = visible(name).length;
    return name !== 'link' && seen > 0 && seen < (model[name] as ModelEntity).records.length;
  });
  function write(count: number): Write {
    const kind = pick(['create', 'create', 'upsert', 'upsert', 'upsert', 'update', 'update', 'delete'] as const);
    const entity = pick(kind === 'upsert' && mixed.length > 0 && chance(60) ? mixed : [...schema.keys()]);
    const times = <T>(make: () => T): T[] => Array.from({ length: count }, make);
    switch (kind) {
      case 'create':
        return { kind: 'create', entity, bodies: times(() => body(entity, true)) };
      case 'upsert': {
        const { records } = model[entity] as ModelEntity;
        const seen = visible(entity).map(({ code }) => code ?? null);
        const hidden = records.map(({ code }) => code ?? null).filter((code) => code !== null && !seen.includes(code));
        const key = (): Value => pick([...(seen.length > 0 && chance(65) ? seen : [21, 22, 23, 24, 25, 26, null])]);
        const open = ['word', 'number'].filter((column) => !isStampedIn(entity, column));
        // Keys of hidden records are drawn with bodies that nothing else refuses.
        if (hidden.length > 0 && entity !== 'link' && chance(50)) {
          const harmless = (code: Value): Body => ({
            ...Object.fromEntries(open.map((name) => [name, name === 'word' ? 'y' : 3])),
            code,
          });
          const codes = new Set(times(() => pick(chance(70) ? hidden : [...hidden, ...seen])));
          return { kind: 'upsert', entity, skips: chance(20), bodies: [...codes].map(harmless) };
        }
        // A body of the key alone is drawn, too.
        const one = (): Body => ({ ...(chance(90) ? body(entity, true) : {}), code: key() });
        return { kind: 'upsert', entity, skips: chance(30), bodies: times(one) };
      }
      case 'update': {
        const ids = new Map(times(() => id(entity)).map((each) => [JSON.stringify(each), each]));
        return {
          kind: 'update',
          entity,
          bodies: [...ids.values()].map((each) => ({ ...body(entity, false), id: each })),
        };
      }
      default:
        return { kind: 'delete', entity, ids: times(() => id(entity)) };
    }
  }
  const isDry = form !== 'single' && chance(15);
  const isMinimal = form === 'bulk' && chance(20);
  if (form !== 'batch') return { form, isDry, isMinimal, writes: [write(form === 'bulk' ? pick([1, 2, 3]) : 1)] };
  const writes: Write[] = [];
  for (let operation = 0, count = pick([1, 2, 3, 4]); operation < count; operation++) {
    const entity = pick([...schema.keys()]);
    const reads = pick(['list', 'read', ...Array<'no'>(6).fill('no')] as const);
    if (reads === 'list') writes.push({ kind: 'list', entity });
    else if (reads === 'read') writes.push({ kind: 'read', entity, ids: [id(entity)] });
    else {
      const one = write(1);
      writes.push(one);
      if (one.kind === 'create') made.set(one.entity, [...(made.get(one.entity) ?? []), operation]);
    }
  }
  return { form, isDry, isMinimal, writes };
}

/** References to earlier operations as a batch has them. */
const sent = (value: Value | Ref | undefined): unknown => (isRef(value) ? { $ref: `o${value.operation}.id` } : value);
const sentBody = (body: Body): Record<string, unknown> =>
  Object.fromEntries(Object.entries(body).map(([name, value]) => [name, sent(value)]));

const upsertOf = (write: Write) =>
  write.kind !== 'upsert' ? {} : { onConflict: 'code', ...(write.skips ? { conflict: 'skip' } : {}) };

/** Method, id and body of a write of one record. */
function singleOf(write: Write): { method: string; entity: string; id?: unknown; body?: object } {
  const { kind, entity } = write;
  switch (kind) {
    case 'create':
    case 'upsert':
      return { method: 'POST', entity, body: sentBody(write.bodies[0] as Body) };
    case 'update': {
      const { id, ...body } = sentBody(write.bodies[0] as Body);
      return { method: 'PATCH', entity, id, body };
    }
    case 'delete':
    case 'read':
      return { method: kind === 'read' ? 'GET' : 'DELETE', entity, id: sent(write.ids[0]) };
    default:
      return { method: 'GET', entity };
  }
}

/** As a request below the workspace. */
export function requestOf({ form, writes, isDry, isMinimal }: WriteWish): {
  path: string;
  method: string;
  body?: object | undefined;
} {
  const dry: Record<string, string> = isDry ? { dryRun: 'true' } : {};
  const [write] = writes as [Write];
  if (form === 'batch') {
    const operations = writes.map((each, index) => ({
      ...singleOf(each),
      ...upsertOf(each),
      ...(each.kind === 'list' ? { query: 'size=100' } : {}),
      ref: `o${index}`,
    }));
    return { path: `_batch?${new URLSearchParams(dry)}`, method: 'POST', body: { operations } };
  }
  if (form === 'single') {
    const { method, entity, id, body } = singleOf(write);
    return {
      path: `${entity}${id === undefined ? '' : `/${id}`}?${new URLSearchParams(upsertOf(write))}`,
      method,
      body,
    };
  }
  const isDelete = write.kind === 'delete';
  const minimal: Record<string, string> = isMinimal && !isDelete ? { return: 'minimal' } : {};
  const query = new URLSearchParams({ ...dry, ...minimal, ...upsertOf(write) });
  const path = `${write.entity}/_bulk`;
  if (write.kind === 'delete') {
    // Both forms of the same operation.
    if (isMinimal) return { path: `${path}?ids=${write.ids.join()}&${query}`, method: 'DELETE' };
    return { path: `${path}/delete?${query}`, method: 'POST', body: { ids: write.ids } };
  }
  const data = 'bodies' in write ? write.bodies : [];
  return { path: `${path}?${query}`, method: write.kind === 'update' ? 'PATCH' : 'POST', body: { data } };
}
