// `preview=<n>` of lists: long values are cut to their beginning, and told.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { use, useServer } from '../../support/resources.ts';
import type { Answer } from '../../support/server.ts';

const SCHEMA = {
  entities: {
    notes: {
      fields: {
        title: { type: 'string', maxLength: 10 },
        name: { type: 'string' },
        body: { type: 'text' },
        data: { type: 'json' },
        at: { type: 'datetime' },
      },
      relations: { parent: { kind: 'belongsTo', entity: 'notes' } },
    },
  },
} as const;
const LIMIT = 1_000_000;
const server = useServer({ WDA_MAX_RESPONSE_BYTES: String(LIMIT) });
const workspace = use(async () => {
  const made = await server.workspace('acme/preview', SCHEMA);
  const at = '2026-01-01T00:00:00Z';
  await made.create('notes', [
    { title: 'short', name: 'a', body: 'abc', data: { a: 1 }, at },
    { title: '1234567890', name: 'b'.repeat(30), body: '€😀'.repeat(50), data: { list: [1, 2, 3, 4], text: 'x"y' } },
    { title: null, name: null, body: null, data: null, parentId: 2 },
    { title: 'last', name: 'é'.repeat(21), body: '', data: 'a text of more than 20 characters', parentId: 2 },
  ]);
  return made;
});
const list = (query: string): Promise<Answer> => workspace.call(`notes?${query}`);

test('values longer than that are cut and told, all others are as they are', async () => {
  const plain = (await list('')).json;
  const answer = await list('preview=20');
  assert.equal(answer.status, 200, answer.text);
  const { previews, ...meta } = answer.json.meta;
  assert.deepEqual(meta, plain.meta);
  assert.deepEqual(previews, [
    { index: 1, field: 'name', length: 30 },
    { index: 1, field: 'body', length: 100 },
    { index: 1, field: 'data', length: 38 },
    { index: 3, field: 'name', length: 21 },
    { index: 3, field: 'data', length: 35 },
  ]);
  const [one, two, three, four] = plain.data;
  assert.deepEqual(answer.json.data, [
    one,
    { ...two, name: 'b'.repeat(20), body: '€😀'.repeat(10), data: '{"list": [1, 2, 3, 4' },
    three,
    { ...four, name: 'é'.repeat(20), data: '"a text of more than' },
  ]);
});

test('cursors, sorts, selections and expansions are those of the whole values', async () => {
  const whole = await list('sort=name,desc&size=1&count=none');
  const cut = await list('sort=name,desc&size=1&count=none&preview=1&versions=true');
  assert.equal(cut.json.meta.nextCursor, whole.json.meta.nextCursor);
  assert.deepEqual(Object.keys(cut.json.meta).slice(-2), ['versions', 'previews']);
  const next = await list(`sort=name,desc&size=2&preview=1&after=${whole.json.meta.nextCursor}`);
  assert.deepEqual(
    next.json.data.map(({ id }: { id: number }) => id),
    [4, 2],
  );
  assert.deepEqual((await list('fields=id,at&preview=1')).json.meta.previews, []);
  const expanded = await list('fields=body,parent&expand=parent&preview=3&filter=id,eq,4');
  assert.equal(expanded.json.data[0].parent.body.length, 150);
  assert.deepEqual(expanded.json.meta.previews, []);
});

test('a page of large records is possible', async () => {
  const body = 'x'.repeat(LIMIT / 4);
  await workspace.create(
    'notes',
    Array.from({ length: 10 }, () => ({ name: 'large', body })),
  );
  const large = 'filter=name,eq,large&sort=id,desc';
  const refusal = await list(large);
  assert.equal(refusal.status, 400);
  const cut = await workspace.call('notes/_query', {
    method: 'POST',
    body: { filter: { field: 'name', op: 'eq', value: 'large' }, preview: 100 },
  });
  assert.equal(cut.status, 200, cut.text.slice(0, 300));
  assert.equal(cut.json.data.length, 10);
  assert.deepEqual(cut.json.meta.previews[9], { index: 9, field: 'body', length: LIMIT / 4 });
  assert.ok(cut.text.length < 10_000);
});
