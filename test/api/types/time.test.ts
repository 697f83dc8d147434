// Fields of type time, through HTTP: in and out, filters, sorts, cursors, files, bounds, defaults, row rules, changes of type.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applySchema } from '../../support/migration.ts';
import { prepare, use, useServer } from '../../support/resources.ts';
import type { Answer } from '../../support/server.ts';

const document = (opens: object) => ({
  entities: {
    shops: { fields: { name: { type: 'string', required: true }, opens, closes: { type: 'time', default: '18:00' } } },
    visits: { fields: { at: { type: 'time', required: true, default: 'now' } } },
  },
});

const server = useServer();
const workspace = use(() =>
  server.workspace('acme/times', document({ type: 'time', min: '06:00', max: '12:00:00', index: true })),
);
prepare(async () => {
  await workspace.create('shops', [
    { name: 'late', opens: '10:30' },
    { name: 'early', opens: '06:00:00', closes: '12:00:01' },
    { name: 'never', opens: null, closes: null },
    { name: 'noon', opens: '12:00:00' },
    { name: 'late too', opens: '10:30:00', closes: '23:59:59' },
  ]);
});

const headers = { 'content-type': 'application/json' };
const send = (path: string, body: unknown, method = 'POST'): Promise<Answer> =>
  workspace.call(path, { method, headers, body: JSON.stringify(body) });

test('a time is answered with its seconds, and a default is one', async () => {
  assert.deepEqual((await workspace.call('shops?sort=id')).json.data, [
    { id: 1, name: 'late', opens: '10:30:00', closes: '18:00:00' },
    { id: 2, name: 'early', opens: '06:00:00', closes: '12:00:01' },
    { id: 3, name: 'never', opens: null, closes: null },
    { id: 4, name: 'noon', opens: '12:00:00', closes: '18:00:00' },
    { id: 5, name: 'late too', opens: '10:30:00', closes: '23:59:59' },
  ]);
});

test('now is the time of the day in UTC, to the second', async () => {
  const seconds = (text: string): number => Date.parse(`1970-01-01T${text}Z`) / 1000;
  const now = seconds(new Date().toISOString().slice(11, 19));
  const { at } = (await send('visits', {})).json.data;
  assert.match(at, /^\d\d:\d\d:\d\d$/);
  // Midnight may lie between the two.
  const apart = Math.abs(seconds(at) - now);
  assert.ok(Math.min(apart, 86_400 - apart) < 60, `${at} is ${apart} s from now`);
});

for (const [opens, code, message] of [
  ['05:59:59', 'OUT_OF_RANGE', 'must not be before 06:00:00'],
  ['12:00:01', 'OUT_OF_RANGE', 'must not be after 12:00:00'],
  ['24:00:00', 'INVALID', 'must be a time such as 12:00:00'],
  ['10:30:00+02:00', 'INVALID', 'must be a time such as 12:00:00'],
  [1030, 'TYPE_MISMATCH', 'must be a time string'],
] as const) {
  test(`${opens} is refused as ${code}`, async () => {
    const answer = await send('shops', { name: 'x', opens });
    assert.equal(answer.status, 400);
    assert.deepEqual(answer.json.error.details, [{ field: 'opens', code, message }]);
  });
}

const FILTERS: readonly (readonly [filter: string, ids: readonly number[]])[] = [
  ['opens,eq,10:30', [1, 5]],
  ['opens,ne,10:30:00', [2, 3, 4]],
  ['opens,gt,10:30', [4]],
  ['opens,lte,10:30', [1, 2, 5]],
  ['opens,between,06:00,10:30:00', [1, 2, 5]],
  ['opens,in,06:00,12:00', [2, 4]],
  ['closes,nin,18:00', [2, 3, 5]],
  ['opens,isNull', [3]],
];

for (const [filter, ids] of FILTERS) {
  test(`filter=${filter} finds ${ids}`, async () => {
    const { json } = await workspace.call(`shops?sort=id&fields=id&filter=${filter}`);
    assert.deepEqual(
      json.data.map(({ id }: { id: number }) => id),
      ids,
    );
  });
}

test('a filter tree takes times as strings, and what is none is refused', async () => {
  const found = await send('shops/_query', {
    filter: { field: 'closes', op: 'gte', value: '23:59:59' },
    fields: ['id'],
  });
  assert.deepEqual(found.json.data, [{ id: 5 }]);
  const refused = await workspace.call('shops?filter=opens,eq,noon');
  assert.equal(refused.status, 400);
  assert.equal(refused.json.error.message, 'Filter value for opens must be a time such as 12:00:00');
  assert.equal((await workspace.call('shops?filter=opens,contains,10')).status, 400);
});

for (const [direction, ids] of [
  ['asc', [2, 1, 5, 4, 3]],
  ['desc', [3, 4, 5, 1, 2]],
] as const) {
  test(`a walk by cursors goes by the time of day, ${direction}`, async () => {
    const walked: number[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const after = cursor === '' ? '' : `&after=${encodeURIComponent(cursor)}`;
      const { json }: Answer = await workspace.call(`shops?sort=opens,${direction}&size=2${after}`);
      walked.push(...json.data.map(({ id }: { id: number }) => id));
      cursor = json.meta.nextCursor;
    }
    assert.deepEqual(walked, ids);
  });
}

for (const [format, type] of [
  ['csv', 'text/csv'],
  ['ndjson', 'application/x-ndjson'],
] as const) {
  test(`what ${format} exports it imports as it was`, async () => {
    const file = (await workspace.call(`shops/_export?format=${format}&sort=id`)).text;
    assert.match(file, /10:30:00/);
    const copy = await server.workspace(`acme/copy-${format}`, document({ type: 'time' }));
    const answer = await copy.call('shops/_import', { method: 'POST', headers: { 'content-type': type }, body: file });
    assert.equal(answer.status, 200, answer.text);
    const [was, is] = await Promise.all([workspace, copy].map((one) => one.call('shops?sort=id')));
    assert.deepEqual(is?.json.data, was?.json.data);
  });
}

test('a cell that is no time is refused with its row', async () => {
  const csv = { 'content-type': 'text/csv' };
  const answer = await workspace.call('shops/_import', {
    method: 'POST',
    headers: csv,
    body: 'name,opens\nx,07:00\ny,7 am\n',
  });
  assert.equal(answer.status, 400, answer.text);
  assert.deepEqual(
    answer.json.error.details.map(({ row, field, code }: Record<string, unknown>) => [row, field, code]),
    [[2, 'opens', 'INVALID']],
  );
});

for (const [field, path] of [
  [{ type: 'time', min: '24:00' }, 'entities.shops.fields.opens.min'],
  [{ type: 'time', min: '12:00', max: '06:00' }, 'entities.shops.fields.opens.min'],
  [{ type: 'time', default: 'soon' }, 'entities.shops.fields.opens.default'],
  [{ type: 'time', maxLength: 5 }, 'entities.shops.fields.opens.maxLength'],
] as const) {
  test(`a document with ${JSON.stringify(field)} is refused`, async () => {
    const answer = await applySchema(workspace, document(field));
    assert.equal(answer.status, 400, answer.text);
    assert.deepEqual(
      answer.json.error.details.map((detail: { field: string }) => detail.field),
      [path],
    );
  });
}

test('times become texts, and texts times again, online', async () => {
  const change = async (type: string): Promise<unknown> => {
    const moving = await server.workspace(
      `acme/moving-${type}`,
      document({ type: type === 'time' ? 'string' : 'time' }),
    );
    await moving.create('shops', [{ name: 'a', opens: '10:30:00' }, { name: 'b' }]);
    const answer = await applySchema(moving, document({ type, required: false }), '?wait=60');
    assert.equal(answer.json.data.state, 'succeeded', answer.text);
    await moving.create('shops', [{ name: 'c', opens: '23:00:00' }]);
    return (await moving.call('shops?sort=id&fields=opens')).json.data;
  };
  const expected = [{ opens: '10:30:00' }, { opens: null }, { opens: '23:00:00' }];
  assert.deepEqual(await change('time'), expected);
  assert.deepEqual(await change('string'), expected);
});
