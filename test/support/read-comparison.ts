// Compares the answers to a wish, in every form of a request that there is, with the model of what a user sees.
import assert from 'node:assert/strict';
import {
  type Claims,
  type Condition,
  type Model,
  type ModelEntity,
  makeRowModel,
  type Rec,
} from './row-rules-read-model.ts';
import { choiceOf, choiceParametersOf, pathsOf, type Wish } from './row-rules-requests.ts';

export type Ask = (
  path: string,
  body?: unknown,
) => Promise<{
  status: number;
  text: string;
  json: { data: unknown; meta: { totalElements: number; nextCursor: string | null } };
}>;

/** Which records the wish is about, as the model knows it. */
function selectCondition({ condition, search }: Wish): Condition {
  return search === undefined ? condition : { and: [condition, { path: ['word'], op: 'eq', value: search }] };
}

/** Asks for the wish in every way that there is, and holds each answer against the model. */
export async function compareReads(model: Model, claims: Claims, ask: Ask, wish: Wish): Promise<void> {
  const { entity, expand, fields, search, sort, size } = wish;
  const condition = selectCondition(wish);
  const { visible, list, show } = makeRowModel(model, claims);
  const select = (record: Rec): Record<string, unknown> => {
    const shown = show(entity, record, expand);
    return fields === undefined ? shown : Object.fromEntries(fields.map((name) => [name, shown[name]]));
  };
  const wanted = list(entity, condition, sort);
  const tree = { ...choiceOf(wish), sort: sort.map(([path, direction]) => `${path.join('.')},${direction}`) };
  const selection = { expand: pathsOf(expand), ...(fields === undefined ? {} : { fields }) };

  for (let page = 0; page === 0 || page * size < wanted.length + size; page++) {
    const answer = await ask(`${entity}/_query`, { ...tree, ...selection, size, page });
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(answer.json.data, wanted.slice(page * size, (page + 1) * size).map(select));
    assert.equal(answer.json.meta.totalElements, wanted.length);
  }
  const found: unknown[] = [];
  for (let after: string | null | undefined; after !== null; ) {
    const answer = await ask(`${entity}/_query`, {
      ...tree,
      ...selection,
      size,
      count: 'none',
      ...(after === undefined ? {} : { after }),
    });
    assert.equal(answer.status, 200, answer.text);
    found.push(...(answer.json.data as unknown[]));
    after = answer.json.meta.nextCursor;
  }
  assert.deepEqual(found, wanted.map(select));

  const parameters = choiceParametersOf(wish);
  if (parameters !== undefined) {
    const query = [...parameters, ...tree.sort.map((key) => `sort=${key}`)].join('&');
    const selected = `expand=${selection.expand.join()}${fields === undefined ? '' : `&fields=${fields.join()}`}`;
    const answer = await ask(`${entity}?${query}&${selected}&size=100`);
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(answer.json.data, wanted.map(select));
    const counted = await ask(`${entity}?${query}&size=1&count=estimated`);
    const isRuled = (model[entity] as ModelEntity).rules.some(({ enabled }) => enabled);
    if (isRuled) assert.equal(counted.json.meta.totalElements, wanted.length);
    const exported = await ask(`${entity}/_export?${query}&format=ndjson`);
    const lines = exported.text.split('\n').filter((line) => line !== '');
    assert.deepEqual(
      lines.map((line) => JSON.parse(line)),
      wanted.map((record) => show(entity, record, {})),
    );
  }

  for (const [name, { isToOne, to }] of Object.entries((model[entity] as ModelEntity).relations)) {
    if (isToOne || search === undefined || !model[to]?.fields.includes('word')) continue;
    const answer = await ask(`${entity}?expand=${name}&${name}.search=${search}&size=100`);
    const shown = visible(entity).map((record) => show(entity, record, { [name]: {} }));
    const expected = shown.map((record) => ({
      ...record,
      [name]: (record[name] as Rec[]).filter(({ word }) => word === search),
    }));
    assert.deepEqual(answer.json.data, expected);
  }
  await compareAggregates(model, claims, ask, wish);

  const seen = new Set(visible(entity).map(({ id }) => id));
  for (const record of (model[entity] as ModelEntity).records) {
    const answer = await ask(`${entity}/${record.id}?expand=${selection.expand.join()}`);
    assert.equal(answer.status, seen.has(record.id) ? 200 : 404, answer.text);
    if (seen.has(record.id)) assert.deepEqual(answer.json.data, show(entity, record, expand));
  }
}

/** Asks for the groups of the wish in both forms: no hidden record is counted or named, and none is missed. */
async function compareAggregates(model: Model, claims: Claims, ask: Ask, wish: Wish): Promise<void> {
  const { entity, grouping, size } = wish;
  const of = grouping.of.join('.');
  const group = grouping.groups.map((path) => path.join('.'));
  const select = ['count', `count:${of}`, `countDistinct:${of}`, `min:${of}`];
  const groups = makeRowModel(model, claims).aggregate(entity, selectCondition(wish), grouping);
  const wanted = groups.map(({ key, count, present, distinct, least }) => ({
    ...Object.fromEntries(group.map((name, index) => [name, key[index]])),
    ...Object.fromEntries([count, present, distinct, least].map((value, index) => [select[index], value])),
  }));
  for (let page = 0; page === 0 || page * size < wanted.length + size; page++) {
    const answer = await ask(`${entity}/_aggregate`, { select, group, ...choiceOf(wish), size, page });
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(answer.json.data, wanted.slice(page * size, (page + 1) * size));
    assert.equal(answer.json.meta.totalElements, wanted.length);
  }
  const parameters = choiceParametersOf(wish);
  if (parameters === undefined) return;
  const query = [`select=${select.join()}`, `group=${group.join()}`, ...parameters].join('&');
  const answer = await ask(`${entity}/_aggregate?${query}`);
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(answer.json.data, wanted);
  // The whole table, whose total may be kept, is counted for an owner alone.
  const total = await ask(`${entity}/_aggregate?select=count&${parameters.join('&')}`);
  assert.deepEqual(total.json.data, [{ count: wanted.reduce((sum, { count }) => sum + Number(count), 0) }]);
}
