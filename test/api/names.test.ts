// Any name of a schema document works: keywords, and the names that our statements use themselves.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useWorkspace } from '../support/shop.ts';

const NAMES = [
  ...['t', 'x', 'q', 's', 'p', 'j', 'e1', 'r0', 'c0', 'f1', 'o1', 'm3', 'k0'],
  ...['data', 'version', 'total', 'last', 'more', 'row', 'count', 'json_agg', 'value', 'key', 'name'],
  ...['select', 'from', 'where', 'order', 'user', 'table', 'null', 'default', 'current_user', 'public', 'oid'],
];
const fields = Object.fromEntries(NAMES.map((name) => [name, { type: 'string' }]));
const record = Object.fromEntries(NAMES.map((name) => [name, `value of ${name}`]));

const SCHEMA = {
  entities: {
    t: {
      fields,
      relations: {
        r: { kind: 'hasMany', entity: 'select', inverse: 'parent' },
        g: { kind: 'manyToMany', entity: 'select', through: 'q', from: 'a', to: 'b' },
      },
    },
    select: { fields, relations: { parent: { kind: 'belongsTo', entity: 't', column: 'r1' } } },
    q: { relations: { a: { kind: 'belongsTo', entity: 't' }, b: { kind: 'belongsTo', entity: 'select' } } },
  },
};

const { workspace } = useWorkspace(async (server) => {
  const made = await server.workspace('acme/names', SCHEMA);
  await made.create('t', [record]);
  await made.create('select', [{ ...record, r1: 1 }]);
  await made.create('q', [{ aId: 1, bId: 1 }]);
  return made;
});

const T = { id: 1, ...record };
const SELECT = { id: 1, ...record, r1: 1 };

for (const [path, data] of [
  ['t/1', T],
  ['t', [T]],
  [`t?${NAMES.map((name) => `filter=${name},eq,value of ${name}`).join('&')}`, [T]],
  ['t?expand=r,g', [{ ...T, r: [SELECT], g: [SELECT] }]],
  ['t?expand=r,g&sort=t&count=none', [{ ...T, r: [SELECT], g: [SELECT] }]],
  ['t/1?expand=g.parent&fields=g.parent.t', { g: [{ parent: { t: 'value of t' } }] }],
  ['select?expand=parent&sort=parent.t&filter=parent.x,eq,value of x', [{ ...SELECT, parent: T }]],
  ['t?filter=r.t,eq,value of t&or=g.q,isNull;g.q,notNull&fields=j', [{ j: 'value of j' }]],
] as const) {
  test(`GET ${path.slice(0, 60)}`, async () => {
    const answer = await workspace().call(path);
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(answer.json.data, data);
  });
}

for (const name of NAMES) {
  test(`records are sorted by ${name} and paged by it`, async () => {
    const answer = await workspace().call(`t?sort=${name},desc&count=none&size=1&fields=${name}`);
    assert.deepEqual(answer.json.data, [{ [name]: record[name] }], answer.text);
  });
}

test('a record is updated, exported and imported', async () => {
  const updated = await workspace().call('t/1', { method: 'PUT', body: record });
  assert.deepEqual(updated.json.data, T);
  const exported = await workspace().call('t/_export?format=ndjson');
  assert.deepEqual(JSON.parse(exported.text), T);
  const imported = await workspace().call('t/_import?onConflict=update', {
    method: 'POST',
    headers: { 'content-type': 'application/x-ndjson' },
    body: exported.text,
  });
  assert.deepEqual(imported.json, { data: { inserted: 0, updated: 1, skipped: 0 } });
});
