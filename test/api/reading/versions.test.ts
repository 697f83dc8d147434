// `versions=true` of lists: the version of each record, as guards of writes take it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { use, useServer } from '../../support/resources.ts';
import type { Answer } from '../../support/server.ts';
import { makeShop } from '../../support/shop.ts';

const server = useServer();
const shop = use(() => makeShop(server));

const query = (entity: string, body: object): Promise<Answer> =>
  shop.call(`${entity}/_query`, { method: 'POST', body });
const idsOf = ({ json }: Answer): number[] => json.data.map(({ id }: { id: number }) => id);

for (const path of [
  'orders?versions=true',
  'orders?versions=true&size=3',
  'orders?versions=true&size=3&count=none',
  'orders?versions=true&size=2&count=none&expand=items,customer&sort=status,desc',
  'orders?versions=true&filter=id,gt,2&sort=customer.name,desc&fields=id',
  'orders?versions=true&expand=items&size=2&page=1',
  'orders?versions=true&page=1000&size=2',
])
  test(`${path} tells the version of each record in its place`, async () => {
    const answer = await shop.call(path);
    assert.equal(answer.status, 200, answer.text);
    const { versions, ...meta } = answer.json.meta;
    const singles = [];
    for (const id of idsOf(answer)) singles.push((await shop.call(`orders/${id}`)).headers.get('etag') ?? '');
    assert.deepEqual(
      versions,
      singles.map((etag) => etag.slice(1, etag.indexOf('.'))),
    );
    const plain = await shop.call(path.replace('versions=true', 'versions=false'));
    assert.deepEqual(plain.json, { data: answer.json.data, meta });
  });

test('a version guards a single write and one of many', async () => {
  const listed = await query('tags', { versions: true, size: 2 });
  const [first, second] = idsOf(listed);
  const [old, other] = listed.json.meta.versions;
  const change = (): Promise<Answer> =>
    shop.call(`tags/${first}`, { method: 'PUT', headers: { 'if-match': `"${old}"` }, body: { name: 'changed' } });
  assert.equal((await change()).status, 200);
  assert.equal((await change()).status, 412);
  const many = (version: string): Promise<Answer> =>
    shop.call('tags/_bulk', {
      method: 'PUT',
      body: {
        data: [
          { id: first, name: 'again', $version: version },
          { id: second, name: 'too', $version: other },
        ],
      },
    });
  assert.equal((await many(old)).status, 412);
  const now = await shop.call('tags?versions=true&size=1');
  assert.equal((await many(now.json.meta.versions[0])).status, 200);
});

for (const minimal of ['', '&return=minimal'])
  test(`an update of many records tells the version of each, in its place${minimal}`, async () => {
    const listed = await query('products', { versions: true, size: 3, sort: ['id,desc'] });
    const [first, second, third] = idsOf(listed);
    const [, old] = listed.json.meta.versions;
    // The last one is sent without a change, and keeps its version.
    const data = [{ id: second, title: `New${minimal}`, $version: old }, { id: first, price: 3 }, { id: third }];
    const path = `products/_bulk?versions=true${minimal}`;
    const request = { method: 'PATCH', headers: { 'idempotency-key': `versions${minimal}` }, body: { data } };
    const answer = await shop.call(path, request);
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(idsOf(answer), [second, first, third]);
    const { versions } = answer.json.meta;
    assert.notEqual(versions[0], old);
    const now = await shop.call(`products?versions=true&filter=id,in,${first},${second},${third}&sort=id,desc`);
    const [ofFirst, ofSecond, ofThird] = now.json.meta.versions;
    assert.deepEqual(versions, [ofSecond, ofFirst, ofThird]);
    assert.deepEqual((await shop.call(path, request)).json, answer.json, 'and once more to who asks again');
    assert.deepEqual((await shop.call(path, { method: 'PUT', body: { data: [] } })).json, {
      data: [],
      meta: { versions: [] },
    });
    assert.equal((await shop.call('products/_bulk', { method: 'PATCH', body: { data } })).status, 412);
  });
