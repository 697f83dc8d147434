// Conditional requests: entity tags, 304 for what the client has, 412 for what has changed meanwhile.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { use, useServer } from '../../support/resources.ts';
import type { Answer, Call } from '../../support/server.ts';
import { makeShop, SHOP_SCHEMA } from '../../support/shop.ts';

const server = useServer();
const shop = use(() => makeShop(server));

async function tagOf(path: string): Promise<string> {
  const { status, headers } = await shop.call(path);
  assert.equal(status, 200);
  const tag = headers.get('etag') ?? '';
  assert.match(tag, /^"[!-~]+"$/);
  return tag;
}

const put = (path: string, body: unknown, headers: Call['headers'] = {}): Promise<Answer> =>
  shop.call(path, { method: 'PUT', body, headers });

async function newTag(name: string): Promise<{ readonly path: string; readonly etag: string }> {
  const made = await shop.call('tags', { method: 'POST', body: { name } });
  return { path: `tags/${made.json.data.id}`, etag: made.headers.get('etag') ?? '' };
}

function refused(answer: Answer): void {
  assert.equal(answer.status, 412, answer.text);
  assert.equal(answer.json.error.code, 'PRECONDITION_FAILED');
}

test('the tag of a record is the same until the record changes', async () => {
  const { path, etag } = await newTag('one');
  assert.equal(await tagOf(path), etag);
  assert.equal(await tagOf(path), etag);
  const changed = await put(path, { name: 'two' });
  const after = changed.headers.get('etag');
  assert.notEqual(after, etag);
  assert.equal(await tagOf(path), after);
  assert.equal((await put(path, {})).headers.get('etag'), after);
});

test('two records, and two selections of one record, have different tags', async () => {
  const tags = await Promise.all(
    ['tags/1', 'tags/2', 'tags/1?fields=id', 'tags/1?fields=name', 'tags/1?expand=orders'].map(tagOf),
  );
  assert.equal(new Set(tags).size, 5);
});

test('a list carries no tag', async () => {
  assert.equal((await shop.call('tags')).headers.get('etag'), null);
});

test('If-None-Match answers 304 without a body for what the client has', async () => {
  const tag = await tagOf('customers/1');
  for (const value of [tag, `W/${tag}`, `"other", ${tag}`, `"other",W/${tag} , "more"`, '*']) {
    for (const method of ['GET', 'HEAD']) {
      const answer = await shop.call('customers/1', { method, headers: { 'if-none-match': value } });
      assert.equal(answer.status, 304, `${method} ${value}`);
      assert.equal(answer.text, '');
      assert.equal(answer.headers.get('etag'), tag);
    }
  }
});

test('If-None-Match answers in full what the client does not have', async () => {
  const tag = await tagOf('customers/1');
  for (const value of [
    '"other"',
    tag.replace('"', '"x'),
    tag.slice(1, -1),
    '',
    await tagOf('customers/1?fields=id'),
    await tagOf('customers/2'),
  ]) {
    const answer = await shop.call('customers/1', { headers: { 'if-none-match': value } });
    assert.equal(answer.status, 200, value);
    assert.equal(answer.json.data.id, 1);
  }
  assert.equal((await shop.call('customers/99', { headers: { 'if-none-match': '*' } })).status, 404);
});

test('a change of a related record changes the tag of the record that shows it', async () => {
  const toOne = await tagOf('profiles/1?expand=customer');
  const toMany = await tagOf('customers/1?expand=profile,orders.tags');
  await put('customers/1', { rating: 1 });
  assert.notEqual(await tagOf('profiles/1?expand=customer'), toOne);
  const changed = await tagOf('customers/1?expand=profile,orders.tags');
  assert.notEqual(changed, toMany);
  await put('tags/1', { name: 'present' });
  assert.notEqual(await tagOf('customers/1?expand=profile,orders.tags'), changed);
});

test('If-Match lets a change through while the record is the same', async () => {
  const { path, etag } = await newTag('guarded');
  const first = await put(path, { name: 'first' }, { 'if-match': etag });
  assert.equal(first.status, 200, first.text);
  const second = await shop.call(path, {
    method: 'PATCH',
    body: { name: 'second' },
    headers: { 'if-match': `"x", ${first.headers.get('etag')}` },
  });
  assert.equal(second.status, 200, second.text);
  const gone = await shop.call(path, { method: 'DELETE', headers: { 'if-match': second.headers.get('etag') ?? '' } });
  assert.equal(gone.status, 204, gone.text);
});

test('If-Match refuses a change of a record that has changed, and nothing is changed', async () => {
  const { path, etag } = await newTag('guarded');
  await put(path, { name: 'meanwhile' });
  refused(await put(path, { name: 'late' }, { 'if-match': etag }));
  refused(await put(path, {}, { 'if-match': etag }));
  refused(await shop.call(path, { method: 'PATCH', body: { name: 'late' }, headers: { 'if-match': etag } }));
  refused(await shop.call(path, { method: 'DELETE', headers: { 'if-match': etag } }));
  refused(await put(path, { name: 'late' }, { 'if-match': '"never given"' }));
  assert.equal((await shop.call(path)).json.data.name, 'meanwhile');
});

test('If-Match takes the tag of any selection of the record', async () => {
  const { path } = await newTag('selected');
  for (const selection of ['?fields=name', '?expand=orders', '?fields=id,orders.id&expand=orders']) {
    const answer = await put(path, { name: selection }, { 'if-match': await tagOf(`${path}${selection}`) });
    assert.equal(answer.status, 200, answer.text);
  }
});

test('If-Match: * asks only that the record exists', async () => {
  const { path } = await newTag('any');
  assert.equal((await put(path, { name: 'x' }, { 'if-match': '*' })).status, 200);
  assert.equal((await put('tags/9999', { name: 'x' }, { 'if-match': '*' })).status, 404);
});

test('a record that is gone is 404, whatever its tag', async () => {
  const { path, etag } = await newTag('gone');
  await shop.call(path, { method: 'DELETE' });
  assert.equal((await put(path, { name: 'x' }, { 'if-match': etag })).status, 404);
  assert.equal((await shop.call(path, { method: 'DELETE', headers: { 'if-match': etag } })).status, 404);
});

test('If-Match without an entity tag in quotes is refused', async () => {
  for (const value of ['abc', '"abc', 'W/', '1']) {
    for (const method of ['PUT', 'DELETE']) {
      const answer = await shop.call('tags/2', {
        method,
        headers: { 'if-match': value },
        ...(method === 'PUT' ? { body: {} } : {}),
      });
      assert.equal(answer.status, 400, `${method} ${value}: ${answer.text}`);
      assert.match(answer.json.error.message, /^If-Match is malformed/);
    }
  }
});

test('mistakes of the body come before the condition', async () => {
  const answer = await put('tags/2', { name: 7 }, { 'if-match': '"stale"' });
  assert.equal(answer.json.error.code, 'VALIDATION_FAILED');
});

test('of many changes with one tag exactly one is made', async () => {
  const { path, etag } = await newTag('contested');
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) => put(path, { name: `writer ${index}` }, { 'if-match': etag })),
  );
  const made = answers.filter((answer) => answer.status === 200);
  assert.equal(made.length, 1);
  for (const answer of answers) if (answer.status !== 200) refused(answer);
  assert.equal((await shop.call(path)).json.data.name, made[0]?.json.data.name);
});

test('a change of the schema changes the tags of records that it shows otherwise', async () => {
  const whole = await tagOf('tags/1');
  const part = await tagOf('tags/1?fields=id');
  const { tags } = SHOP_SCHEMA.entities;
  const schema = {
    entities: { ...SHOP_SCHEMA.entities, tags: { ...tags, fields: { ...tags.fields, colour: { type: 'string' } } } },
  };
  const changed = await shop.admin('schema', { method: 'PUT', body: schema });
  assert.equal(changed.status, 200, changed.text);
  assert.notEqual(await tagOf('tags/1'), whole);
  assert.equal(await tagOf('tags/1?fields=id'), part);
});

test('a change behind the back of the server is seen', async () => {
  const before = await tagOf('tags/3');
  const [row] = await server.database.query('select database_schema from wda.workspace');
  await server.database.query(`update "${row?.database_schema}".tags set name = 'changed' where id = 3`);
  assert.notEqual(await tagOf('tags/3'), before);
  refused(await put('tags/3', { name: 'x' }, { 'if-match': before }));
});
