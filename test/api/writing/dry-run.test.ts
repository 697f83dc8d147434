// `dryRun=true` of `_bulk`: the same answers and refusals, and nothing is stored.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { use, useServer } from '../../support/resources.ts';
import type { Answer } from '../../support/server.ts';
import { makeShop } from '../../support/shop.ts';

const server = useServer();
const shop = use(() => makeShop(server));

const call = (path: string, method: string, body?: unknown): Promise<Answer> =>
  shop.call(path, { method, ...(body === undefined ? {} : { body }) });
/** All that is stored of an entity, with its versions. */
const stored = async (entity: string): Promise<unknown> => {
  const { data, meta } = (await shop.call(`${entity}?size=1000&versions=true`)).json;
  return [data, meta.versions];
};

for (const [name, path, method, body, status, told] of [
  [
    'a create',
    'tags/_bulk',
    'POST',
    { data: [{ name: 'dry' }] },
    201,
    ({ data, meta }: Answer['json']) => assert.deepEqual([data[0].name, meta], ['dry', { dryRun: true }]),
  ],
  [
    'an update',
    'tags/_bulk',
    'PATCH',
    { data: [{ id: 1, name: 'dry' }] },
    200,
    ({ data, meta }: Answer['json']) =>
      assert.deepEqual([data, meta], [[{ ...data[0], id: 1, name: 'dry' }], { dryRun: true }]),
  ],
  [
    'an upsert',
    'countries/_bulk?onConflict=code&return=minimal',
    'POST',
    { data: [{ code: 'SE' }, { code: 'ZZ' }] },
    200,
    ({ data, meta }: Answer['json']) =>
      assert.deepEqual([data.length, meta], [2, { inserted: 1, updated: 1, dryRun: true }]),
  ],
  [
    'a delete',
    'tags/_bulk?ids=1,2',
    'DELETE',
    undefined,
    200,
    (json: Answer['json']) => assert.deepEqual(json, { meta: { dryRun: true } }),
  ],
  [
    'a delete of a list',
    'tags/_bulk/delete',
    'POST',
    { ids: [1] },
    200,
    (json: Answer['json']) => assert.deepEqual(json, { meta: { dryRun: true } }),
  ],
  [
    'nothing',
    'tags/_bulk',
    'POST',
    { data: [] },
    201,
    (json: Answer['json']) => assert.deepEqual(json, { data: [], meta: { dryRun: true } }),
  ],
] as const)
  test(`a dry run of ${name} answers, and stores nothing`, async () => {
    const entity = path.slice(0, path.indexOf('/'));
    const before = await stored(entity);
    const dry = await call(`${path}${path.includes('?') ? '&' : '?'}dryRun=true`, method, body);
    assert.equal(dry.status, status, dry.text);
    told(dry.json);
    assert.deepEqual(await stored(entity), before);
  });

for (const [name, path, method, body, status] of [
  ['mistakes', 'customers/_bulk', 'POST', { data: [{ name: 1 }, { name: 'x', countryId: 99 }] }, 400],
  ['a reference to nothing', 'orders/_bulk', 'POST', { data: [{ customerId: 1 }, { customerId: 99 }] }, 400],
  ['a value that is taken', 'countries/_bulk', 'POST', { data: [{ code: 'AA' }, { code: 'SE' }, { code: 'AA' }] }, 409],
  [
    'a key that is there twice',
    'countries/_bulk?onConflict=code',
    'POST',
    { data: [{ code: 'AA' }, { code: 'AA' }] },
    409,
  ],
  ['records that are not there', 'tags/_bulk', 'PUT', { data: [{ id: 1, name: 'x' }, { id: 99 }] }, 404],
  ['a version', 'tags/_bulk', 'PUT', { data: [{ id: 1, name: 'x', $version: '1' }] }, 412],
  ['a record that others refer to', 'customers/_bulk?ids=1', 'DELETE', undefined, 409],
  ['too many', 'tags/_bulk', 'POST', { data: Array.from({ length: 1001 }, () => ({})) }, 413],
] as const)
  test(`a dry run is refused as it would be: ${name}`, async () => {
    const dry = await call(`${path}${path.includes('?') ? '&' : '?'}dryRun=true`, method, body);
    const real = await call(path, method, body);
    assert.equal(real.status, status, real.text);
    assert.deepEqual([dry.status, dry.text], [real.status, real.text]);
  });

test('a key is not used up by a dry run, and changes no refusal', async () => {
  const headers = { 'idempotency-key': 'dry-then-real' };
  const send = (path: string, data: readonly unknown[]): Promise<Answer> =>
    shop.call(path, { method: 'POST', headers, body: { data } });
  assert.deepEqual((await send('tags/_bulk?dryRun=true', [{ name: 'k' }])).json.meta, { dryRun: true });
  const real = await send('tags/_bulk', [{ name: 'k' }]);
  assert.deepEqual([real.status, real.headers.get('idempotent-replayed')], [201, null]);
  for (const [path, data] of [
    ['countries/_bulk', [{ code: 'AA' }, { code: 'SE' }]],
    ['countries/_bulk?onConflict=code', [{ code: 'AA' }, { code: 'AA' }]],
    ['orders/_bulk', [{ customerId: 1 }, { customerId: 99 }]],
  ] as const)
    assert.equal((await send(path, data)).text, (await call(path, 'POST', { data })).text);
});
