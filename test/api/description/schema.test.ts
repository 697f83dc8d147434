// GET …/_schema: the schema for every credential of the workspace, as far as it reaches, without row rules.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseExact } from '../../../src/model/exact-json.ts';
import { OPERATIONS } from '../../../src/request/operations.ts';
import { use, useIssuer, useServer } from '../../support/resources.ts';
import type { Answer } from '../../support/server.ts';
import { LOCAL_PROVIDER, makeUsers } from '../../support/users.ts';

// Every attribute that a document may have, and numbers whose digits a double would lose.
const DOCUMENT = `{"entities": {
  "customers": {
    "description": "Who buys",
    "fields": {
      "name": {"type": "string", "description": "As on the door", "required": true, "maxLength": 100, "searchable": true},
      "code": {"type": "string", "unique": true, "index": "substring"},
      "constructor": {"type": "boolean", "default": false}
    },
    "relations": {"orders": {"kind": "hasMany", "entity": "orders", "inverse": "customer"}},
    "searchLanguage": "english",
    "timestamps": true,
    "rowRules": [{"column": "code", "claim": "secretClaim"}]
  },
  "orders": {
    "fields": {
      "status": {"type": "enum", "values": ["open", "paid"], "default": "open", "index": true},
      "total": {"type": "decimal", "precision": 30, "scale": 2, "min": 0.10, "max": 12345678901234567890.10}
    },
    "relations": {
      "customer": {"kind": "belongsTo", "entity": "customers", "required": true, "onDelete": "cascade", "description": "Who"},
      "tags": {"kind": "manyToMany", "entity": "tags", "through": "labels", "from": "order", "to": "tag"}
    },
    "indexes": [{"fields": ["status", "total"], "unique": true}],
    "settings": {"defaultExpand": ["customer"], "maxExpandDepth": 2, "defaultFields": ["status", "customer.name"]}
  },
  "tags": {},
  "labels": {
    "relations": {
      "order": {"kind": "belongsTo", "entity": "orders", "column": "ofOrder"},
      "tag": {"kind": "belongsTo", "entity": "tags"}
    }
  }
}}`;

const server = useServer(LOCAL_PROVIDER);
const issuer = useIssuer();
const shop = use(() => server.workspace('acme/shop', parseExact(DOCUMENT)));

const schemaFor = (credential: string, headers = {}): Promise<Answer> => shop.call('_schema', { credential, headers });
const NO_CHANGES = { changes: null, historyDays: null, historyForUsers: null, changesOmit: null };
const NONE = {
  defaultExpand: null,
  expandable: null,
  maxExpandDepth: null,
  defaultFields: null,
  label: null,
  ...NO_CHANGES,
};
const READS = Object.entries(OPERATIONS).flatMap(([name, { access }]) =>
  access === 'read' && !/^(changes|history|restore|forget)/.test(name) ? [name] : [],
);

test('everything that the document says is there, but row rules; columns of relations have their names', async () => {
  const { data } = (await schemaFor(shop.key)).json;
  assert.deepEqual([data.organization, data.workspace, data.name], ['acme', 'shop', 'shop']);
  const { entities } = JSON.parse(DOCUMENT);
  delete entities.customers.rowRules;
  entities.orders.relations.customer.column = 'customerId';
  entities.labels.relations.tag.column = 'tagId';
  const operations = Object.keys(OPERATIONS).filter((name) => !/^(changes|history|restore|forget)/.test(name));
  const rest = { relations: {}, fields: {}, indexes: [], timestamps: false, operations };
  const { settings } = entities.orders;
  assert.deepEqual(data.entities, {
    customers: { ...rest, label: 'name', settings: NONE, ...entities.customers },
    orders: { ...rest, label: null, ...entities.orders, settings: { ...NONE, ...settings } },
    tags: { ...rest, label: null, settings: NONE },
    labels: { ...rest, label: null, settings: NONE, ...entities.labels },
  });
  assert.deepEqual(Object.keys(data.entities), Object.keys(entities));
});

test('numbers keep their digits', async () => {
  const { text } = await schemaFor(shop.key);
  assert.match(text, /"min":0\.10,"max":12345678901234567890\.10\b/);
});

test('keys for data alone and users of the identity provider have it, with what they may do', async () => {
  const whole = (await schemaFor(shop.key)).json.data.entities;
  assert.deepEqual((await schemaFor(shop.readWriteKey)).json.data.entities, whole);
  const user = (await makeUsers(shop, issuer))({ sub: 'user', secretClaim: 'x' });
  for (const credential of [shop.readOnlyKey, user]) {
    const { status, text, json } = await schemaFor(credential);
    assert.equal(status, 200, text);
    assert.doesNotMatch(text, /rowRules|secretClaim/);
    for (const [name, entity] of Object.entries<object>(json.data.entities)) {
      const operations = credential === user ? whole[name].operations : READS;
      assert.deepEqual(entity, { ...whole[name], operations });
    }
  }
});

test('a key has its own operations, whoever read the schema before', async () => {
  const papers = await server.workspace('acme/papers', { entities: { notes: { settings: { changes: 'history' } } } });
  const tokenOf = await makeUsers(papers, issuer, 'READ_ONLY');
  for (const [credential, hasHistory] of [
    [tokenOf({ sub: 'u' }), false],
    [papers.readOnlyKey, true],
  ] as const) {
    const { notes } = (await papers.call('_schema', { credential })).json.data.entities;
    assert.equal(notes.operations.includes('history'), hasHistory);
  }
});

test('a scope has its part: relations that lead out are gone, and their columns are numbers', async () => {
  const body = { name: 'part', permissions: 'READ_ONLY', entities: ['orders', 'tags'] };
  const { key } = (await shop.admin('api-keys', { method: 'POST', body })).json.data;
  const { entities } = (await schemaFor(key)).json.data;
  assert.deepEqual(Object.keys(entities), ['orders', 'tags']);
  const { fields, relations, settings } = entities.orders;
  assert.deepEqual(relations, {});
  assert.deepEqual(fields.customerId, { type: 'bigint', required: true, unique: false, index: true });
  assert.deepEqual(settings, { ...NONE, maxExpandDepth: 2, defaultExpand: [], defaultFields: ['status'] });
  assert.deepEqual(entities.tags.operations, READS);
});

test('the tag is that of the answer: 304 until the schema is another one', async () => {
  const first = await schemaFor(shop.key);
  const tag = first.headers.get('etag') as string;
  const again = (credential = shop.key): Promise<Answer> => schemaFor(credential, { 'if-none-match': tag });
  assert.deepEqual([(await again()).status, (await again()).text], [304, '']);
  assert.equal((await again(shop.readOnlyKey)).status, 200);
  // The version of the workspace grows with every key.
  await shop.admin('api-keys', { method: 'POST', body: { name: 'another' } });
  assert.equal((await again()).status, 304);
  await shop.admin('entities/tags/settings', { method: 'PUT', body: { maxExpandDepth: 1 } });
  const changed = await again();
  assert.equal(changed.status, 200);
  assert.equal(changed.json.data.entities.tags.settings.maxExpandDepth, 1);
  assert.notEqual(changed.headers.get('etag'), tag);
});

test('a label is guessed until it is set; it follows a renaming, and a text it must be', async () => {
  const people = (fields: object, more = {}): object => ({ entities: { people: { fields, ...more } } });
  const text = { type: 'text' };
  const club = await server.workspace(
    'acme/club',
    people({ age: { type: 'integer' }, code: { type: 'string' }, bio: text }),
  );
  const label = async (): Promise<unknown> => (await club.call('_schema')).json.data.entities.people.label;
  const put = (body: object): Promise<Answer> => club.admin('schema?allowDestructive=true', { method: 'PUT', body });
  const set = (body: object): Promise<Answer> => club.admin('entities/people/settings', { method: 'PUT', body });
  assert.equal(await label(), 'code');
  await put(
    people({ age: { type: 'integer' }, code: { type: 'string' }, bio: text, email: { type: 'string' }, title: text }),
  );
  assert.equal(await label(), 'title');
  assert.equal((await set({ label: 'bio' })).json.data.label, 'bio');
  assert.equal(await label(), 'bio');
  const renamed = await put(people({ age: { type: 'integer' }, about: { ...text, renamedFrom: 'bio' } }));
  assert.equal(renamed.status, 200, renamed.text);
  assert.equal(await label(), 'about');
  // What the settings in force name does not go unless they are changed with it, as with defaultFields.
  const dropped = await put(people({ age: { type: 'integer' } }));
  assert.equal(dropped.status, 400);
  assert.match(dropped.text, /settings\.label.*stays in force unless/);
  for (const [wrong, words] of [
    ['abuot', /Did you mean about\?/],
    ['age', /must be a field of type string or text, and age is integer/],
    [5, /settings|label/],
    ['{abuot}', /Did you mean about\?/],
    ['{about', /must have a \} for each \{/],
    ['{}', /must name a field in each pair of braces/],
    ['{about}'.padEnd(501), /at most 500 characters/],
  ] as const) {
    const refused = await set({ label: wrong });
    assert.equal(refused.status, 400, refused.text);
    assert.match(refused.text, words);
  }
  assert.equal((await set({ label: '{about} ({age})' })).status, 200);
  await put(people({ years: { type: 'integer', renamedFrom: 'age' }, about: text }));
  assert.equal(await label(), '{about} ({years})');
  await set({ label: null });
  assert.equal(await label(), null);
});

test('a renamed workspace tells its new name', async () => {
  await server.call('/api/admin/v1/organizations/acme/workspaces/shop', {
    method: 'PUT',
    credential: shop.key,
    body: { name: 'The "shop"' },
  });
  assert.equal((await schemaFor(shop.readOnlyKey)).json.data.name, 'The "shop"');
});

test('it is read alone, without parameters, with a credential', async () => {
  const refused = await shop.call('_schema', { method: 'PUT', body: {} });
  assert.deepEqual([refused.status, refused.headers.get('allow')], [405, 'GET, HEAD, OPTIONS']);
  assert.match((await shop.call('_schema?entities=tags')).text, /Unknown query parameter entities/);
  assert.equal((await shop.call('_schema', { credential: null })).status, 401);
  const head = await shop.call('_schema', { method: 'HEAD' });
  assert.deepEqual([head.status, head.text], [200, '']);
});
