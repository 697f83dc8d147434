// Keys and clients for some entities, as administrators make and see them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { use, useServer } from '../../support/resources.ts';
import { makeShop } from '../../support/shop.ts';

const server = useServer();
const shop = use(() => makeShop(server));

for (const place of ['api-keys', 'oauth-clients']) {
  const make = (body: object) => shop.admin(place, { method: 'POST', body: { name: 'x', ...body } });

  test(`${place} show the names of their entities, null for all`, async () => {
    const some = await make({ permissions: 'READ_ONLY', entities: ['tags', 'orders'] });
    assert.equal(some.status, 201, some.text);
    assert.deepEqual(some.json.data.entities, ['orders', 'tags']);
    for (const body of [{}, { entities: null }]) assert.equal((await make(body)).json.data.entities, null);
    const { data } = (await shop.admin(`${place}?size=100`)).json;
    assert.deepEqual(
      data.slice(-3).map(({ entities }: { entities: unknown }) => entities),
      [['orders', 'tags'], null, null],
    );
  });

  for (const [why, body, details] of [
    ['an unknown entity', { entities: ['orders', 'order'] }, ['entities.1 REFERENCE_NOT_FOUND']],
    ['a name of the prototype', { entities: ['constructor'] }, ['entities.0 REFERENCE_NOT_FOUND']],
    ['none', { entities: [] }, ['entities INVALID']],
    ['the same twice', { entities: ['orders', 'orders'] }, ['entities INVALID']],
    ['no list', { entities: 'orders' }, ['entities TYPE_MISMATCH']],
    ['no names', { entities: [1] }, ['entities.0 TYPE_MISMATCH']],
    ['the right to administer', { entities: ['orders'], permissions: 'OWNER' }, ['permissions INVALID']],
    ['no permissions, which means OWNER', { entities: ['orders'], permissions: undefined }, ['permissions INVALID']],
  ] as const) {
    test(`${place} with ${why} are refused`, async () => {
      const answer = await make({ permissions: 'READ_ONLY', ...body });
      assert.equal(answer.status, 400, answer.text);
      const found = answer.json.error.details.map((one: { field: string; code: string }) => `${one.field} ${one.code}`);
      assert.deepEqual(found, details);
    });
  }
}

test('an unknown entity is answered with what was meant and what there is', async () => {
  const body = { name: 'x', permissions: 'READ_ONLY', entities: ['order'] };
  const { json } = await shop.admin('api-keys', { method: 'POST', body });
  assert.match(
    json.error.details[0].message,
    /^must be an entity of the workspace\. Did you mean orders\? Known: countries, customers, /,
  );
});
