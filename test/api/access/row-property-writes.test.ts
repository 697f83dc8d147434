// The property of row rules for writes: over any schema, rules, records and claims, what an external user writes, one by
// one, in bulk, as upserts or as a batch, does what the model says and nothing else: no hidden record is changed or
// answered with, hidden and absent ones get the same answer, and nothing is stored of a refused request.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc, { type GeneratorValue } from 'fast-check';
import { useIssuer, useServer } from '../../support/resources.ts';
import { type Drawn, documentOf, drawClaims, drawSchema, fill, WORDS } from '../../support/row-rules-arbitrary.ts';
import {
  type Claims,
  type Model,
  type ModelEntity,
  makeRowModel,
  type Rec,
  type Value,
} from '../../support/row-rules-read-model.ts';
import {
  type Body,
  type Done,
  isRef,
  makeWriteModel,
  type Ref,
  type Write,
} from '../../support/row-rules-write-model.ts';
import { draws } from '../../support/runs.ts';
import type { Answer, TestWorkspace } from '../../support/server.ts';
import { LOCAL_PROVIDER, makeUsers } from '../../support/users.ts';

const WORKSPACES = 6;
const USERS = 3;
const REQUESTS = 30;

const issuer = useIssuer();
const server = useServer(LOCAL_PROVIDER);

/** No record has such an id; those of hidden records are changed into one from the second on. */
const ABSENT = 8000;
const ABSENT_TWIN = 9000;

interface Wish {
  readonly form: 'single' | 'bulk' | 'batch';
  readonly writes: readonly Write[];
  readonly isDry: boolean;
  readonly isMinimal: boolean;
}

function drawWish(g: GeneratorValue, schema: ReadonlyMap<string, Drawn>, model: Model, claims: Claims): Wish {
  const pick = <T>(values: readonly T[]): T => g(fc.constantFrom, ...values) as T;
  const chance = (share: number): boolean => g(fc.integer, { min: 1, max: 100 }) <= share;
  const { visible } = makeRowModel(model, claims);
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
    const { references, rules } = schema.get(name) as Drawn;
    const values: Record<string, Value | Ref> = {};
    const isStamped = (column: string): boolean => rules.some((rule) => rule.enabled && rule.column === column);
    const isGiven = (column: string): boolean => chance(isStamped(column) ? 15 : 60);
    if (isGiven('word')) values.word = pick([...WORDS, null]);
    if (isGiven('number')) values.number = pick([1, 2, 3, null]);
    if (chance(isStamped('code') ? 15 : isCreate ? 60 : 20)) values.code = pick([null, 2, 4, 14, 15, 16, 17, 18, 19]);
    for (const { column, to, required, unique } of references)
      if (required && isCreate ? !isStamped(column) && chance(96) : isGiven(column) && (!unique || chance(30)))
        values[column] = required || chance(85) ? id(to) : null;
    return Object.keys(values).length > 0 ? values : { word: pick(WORDS) };
  }
  function write(count: number): Write {
    const entity = pick([...schema.keys()]);
    const times = <T>(make: () => T): T[] => Array.from({ length: count }, make);
    switch (pick(['create', 'create', 'upsert', 'upsert', 'update', 'update', 'delete'] as const)) {
      case 'create':
        return { kind: 'create', entity, bodies: times(() => body(entity, true)) };
      case 'upsert': {
        const { records } = model[entity] as ModelEntity;
        const known = (chance(75) ? visible(entity) : records).map(({ code }) => code ?? null);
        const key = (): Value => pick([...(known.length > 0 && chance(70) ? known : [21, 22, 23, 24, 25, 26, null])]);
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

type Ask = (path: string, method: string, body?: object) => Promise<Answer>;

function send(ask: Ask, { form, writes, isDry, isMinimal }: Wish): Promise<Answer> {
  const dry: Record<string, string> = isDry ? { dryRun: 'true' } : {};
  const [write] = writes as [Write];
  if (form === 'batch') {
    const operations = writes.map((each, index) => ({
      ...singleOf(each),
      ...upsertOf(each),
      ...(each.kind === 'list' ? { query: 'size=100' } : {}),
      ref: `o${index}`,
    }));
    return ask(`_batch?${new URLSearchParams(dry)}`, 'POST', { operations });
  }
  if (form === 'single') {
    const { method, entity, id, body } = singleOf(write);
    return ask(`${entity}${id === undefined ? '' : `/${id}`}?${new URLSearchParams(upsertOf(write))}`, method, body);
  }
  const isDelete = write.kind === 'delete';
  const minimal: Record<string, string> = isMinimal && !isDelete ? { return: 'minimal' } : {};
  const query = new URLSearchParams({ ...dry, ...minimal, ...upsertOf(write) });
  const path = `${write.entity}/_bulk`;
  if (write.kind === 'delete') return ask(`${path}/delete?${query}`, 'POST', { ids: write.ids });
  const data = 'bodies' in write ? write.bodies : [];
  return ask(`${path}?${query}`, write.kind === 'update' ? 'PATCH' : 'POST', { data });
}

/** The same with every id of a hidden record that it names replaced by one of no record. */
function twinOf({ writes, ...wish }: Wish, schema: ReadonlyMap<string, Drawn>, model: Model, claims: Claims): Wish {
  const { visible } = makeRowModel(model, claims);
  const change = <T>(name: string, id: T): T | number => {
    const isThere = (model[name] as ModelEntity).records.some((record) => record.id === id);
    return isThere && !visible(name).some((record) => record.id === id) ? ABSENT_TWIN + Number(id) : id;
  };
  const changeBody = (name: string, body: Body): Body => {
    const { references, rules } = schema.get(name) as Drawn;
    const now = (model[name] as ModelEntity).records.find(({ id }) => id === body.id);
    const changed: Record<string, Value | Ref> = { ...body };
    if (body.id !== undefined) changed.id = change(name, body.id);
    for (const { column, to } of references) {
      const isStamped = rules.some((rule) => rule.enabled && rule.column === column);
      const value = body[column];
      if (value !== undefined && !isStamped && value !== now?.[column]) changed[column] = change(to, value);
    }
    return changed;
  };
  const twins = writes.map((write): Write => {
    if ('bodies' in write) return { ...write, bodies: write.bodies.map((body) => changeBody(write.entity, body)) };
    return 'ids' in write ? { ...write, ids: write.ids.map((id) => change(write.entity, id)) } : write;
  });
  return { ...wish, writes: twins };
}

/** What is answered to a wish that is done, with the ids as the model calls them. */
function answerOf({ form, writes, isDry, isMinimal }: Wish, done: readonly Done[]): [number, unknown] {
  const dry = isDry ? { dryRun: true } : {};
  const one = (write: Write, { records, drawn }: Done): { status: number; data?: unknown; total?: number } => {
    const [data] = records;
    if (write.kind === 'list') return { status: 200, data: records, total: records.length };
    if (write.kind === 'delete') return { status: 204 };
    return { status: drawn.length > 0 ? 201 : 200, data };
  };
  if (form === 'batch') {
    const data = writes.map((write, index) => one(write, done[index] as Done));
    return [200, { data, ...(isDry ? { meta: dry } : {}) }];
  }
  const [write, only] = [writes[0] as Write, done[0] as Done];
  if (form === 'single') {
    const { status, data } = one(write, only);
    return [status, data === undefined ? undefined : { data }];
  }
  if (write.kind === 'delete') return isDry ? [200, { meta: dry }] : [204, undefined];
  const inserted = only.drawn.length;
  const updated = write.kind === 'upsert' && write.skips ? 0 : only.records.length - inserted;
  const meta = { ...(write.kind === 'upsert' ? { inserted, updated } : {}), ...dry };
  const data = only.records.map((record) => (isMinimal ? { id: record.id } : record));
  return [write.kind === 'create' ? 201 : 200, { data, ...(Object.keys(meta).length > 0 ? { meta } : {}) }];
}

/** Of a list in a batch, what the model speaks of: its records and their number. */
function plain(json: unknown): unknown {
  const { data, ...rest } = (json ?? {}) as { data?: unknown };
  if (!Array.isArray(data)) return json;
  const entries = data.map(({ meta, ...entry }) => ({
    ...entry,
    ...(meta === undefined ? {} : { total: meta.totalElements }),
  }));
  return { data: entries, ...rest };
}

/** Gives each id that the model drew the one that the server answers with. */
function realIds(
  { form, writes }: Wish,
  done: readonly Done[],
  json: { data: never } | undefined,
): Map<number, number> {
  const real = new Map<number, number>();
  if (json === undefined) return real;
  const { data }: { data: unknown } = json;
  done.forEach(({ records, drawn }, operation) => {
    const answered = form === 'batch' ? [(data as { data?: unknown }[])[operation]?.data] : [data].flat();
    if (writes[operation]?.kind === 'list') return;
    records.forEach(({ id }, index) => {
      if (drawn.includes(id)) real.set(id, (answered[index] as Rec).id);
    });
  });
  return real;
}

const withIds = <T>(value: T, real: ReadonlyMap<number, number>): T =>
  JSON.parse(JSON.stringify(value), (_, each) => real.get(each) ?? each);

/** Sends the wish and holds its answer and all that is stored afterwards against the model; gives the state that it leaves. */
async function holdAgainst(
  setting: { schema: ReadonlyMap<string, Drawn>; claims: Claims; ask: Ask; workspace: TestWorkspace },
  before: Model,
  wish: Wish,
): Promise<Model> {
  const { schema, claims, ask, workspace } = setting;
  const done = makeWriteModel(schema, claims, wish.form === 'batch').run(before, wish.writes);
  const last = done.at(-1) as Done;
  const answer = await send(ask, wish);
  const told = JSON.stringify({ wish, answer: [answer.status, answer.text] });
  let after = before;
  const isAllowed = done.some(({ allowed }) => allowed.includes(answer.status));
  if (last.refusals.length > 0 || isAllowed) {
    const mayBe = [...last.refusals, ...done.flatMap(({ allowed }) => allowed)];
    assert.ok(mayBe.includes(answer.status), `${mayBe}: ${told}`);
    if (last.refusals.length > 0 && !isAllowed && wish.form === 'batch')
      assert.equal(answer.json.error.operation, done.length - 1, told);
    const twin = await send(ask, twinOf(wish, schema, before, claims));
    const named = (text: string): string => text.replaceAll(/\b9(0\d\d)\b/g, (_, id) => `${Number(id)}`);
    assert.deepEqual([twin.status, named(twin.text)], [answer.status, answer.text], told);
  } else {
    const [status, expected] = answerOf(wish, done);
    assert.equal(answer.status, status, told);
    const real = realIds(wish, done, answer.json);
    for (const id of real.values()) assert.ok(Number.isInteger(id) && id > 0, told);
    const answered = wish.form === 'batch' ? plain(answer.json) : answer.json;
    assert.deepEqual(answered, expected === undefined ? undefined : withIds(expected, real), told);
    if (!wish.isDry) after = withIds(last.model, real);
  }
  const lists = Object.keys(after).map((entity) => ({ method: 'GET', entity, query: 'size=1000' }));
  const stored = await workspace.call('_batch', { method: 'POST', body: { operations: lists } });
  assert.deepEqual(
    stored.json.data.map(({ data }: { data: Rec[] }) => data),
    Object.values(after).map(({ records }) => records.toSorted((a, b) => a.id - b.id)),
    told,
  );
  return after;
}

test('every write does what the model says with records that the user sees, and nothing else', async () => {
  let count = 0;
  const property = fc.asyncProperty(fc.gen(), async (g) => {
    const schema = drawSchema(g);
    const workspace = await server.workspace(`acme/w${count++}`, documentOf(schema));
    let model = await fill(g, workspace, schema);
    const tokenOf = await makeUsers(workspace, issuer, 'READ_WRITE');
    for (let user = 0; user < USERS; user++) {
      const claims = drawClaims(g);
      const credential = tokenOf(claims);
      const ask: Ask = (path, method, body) =>
        workspace.call(path, { credential, method, ...(body === undefined ? {} : { body }) });
      for (let request = 0; request < REQUESTS / USERS; request++)
        model = await holdAgainst({ schema, claims, ask, workspace }, model, drawWish(g, schema, model, claims));
    }
  });
  await fc.assert(property, { ...draws(WORKSPACES), endOnFailure: true });
});
