// Order of lists: directions, several keys, nulls, to-one paths, and the id that always comes last.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { use, useServer } from '../../support/resources.ts';
import { runScenarios, type Scenario } from '../../support/scenario.ts';
import type { TestServer, TestWorkspace } from '../../support/server.ts';
import { fillShop, SHOP_SCHEMA, TYPES_SCHEMA } from '../../support/shop.ts';

const SAMPLES = [
  {
    aString: 'b',
    anInteger: 2,
    aBigint: '9223372036854775807',
    aDecimal: '1.5',
    aFloat: 1e300,
    aBoolean: true,
    aDate: '2024-02-29',
    aDatetime: '2024-01-01T00:00:00.002Z',
    aUuid: 'b0000000-0000-4000-8000-000000000000',
    anEnum: 'red',
  },
  {
    aString: 'a',
    anInteger: -10,
    aBigint: '9223372036854775806',
    aDecimal: '-1.5',
    aFloat: -0.5,
    aBoolean: false,
    aDate: '0001-01-01',
    aDatetime: '2024-01-01T01:00:00+01:00',
    aUuid: 'a0000000-0000-4000-8000-000000000000',
    anEnum: 'grün',
  },
  {},
  {
    aString: 'B',
    anInteger: 10,
    aBigint: '-9223372036854775808',
    aDecimal: '10',
    aFloat: 5e-324,
    aBoolean: true,
    aDate: '9999-12-31',
    aDatetime: '2024-01-01T00:00:00.001Z',
    aUuid: 'A0000000-0000-4000-8000-000000000001',
    anEnum: 'a,b',
  },
  {
    aString: 'á',
    anInteger: 0,
    aBigint: 0,
    aDecimal: '1.4999999999',
    aFloat: 0,
    aBoolean: false,
    aDate: '1970-01-01',
    aDatetime: '1969-12-31T23:59:59.999Z',
    aUuid: null,
    anEnum: null,
  },
];

async function make(server: TestServer): Promise<TestWorkspace> {
  const workspace = await server.workspace('acme/shop', {
    entities: { ...SHOP_SCHEMA.entities, ...TYPES_SCHEMA.entities },
  });
  await fillShop(workspace);
  await workspace.create('samples', SAMPLES);
  return workspace;
}

const server = useServer();
const shop = use(() => make(server));

/** The ids of the list, in order. */
const sorted = (name: string, path: string, ids: readonly number[]): Scenario => ({
  name,
  path: `${path}&fields=id`,
  status: 200,
  data: ids.map((id) => ({ id })),
});

runScenarios(shop, [
  sorted('without sort, the id ascending', 'orders?', [1, 2, 3, 4, 5, 6, 7, 8]),
  sorted('by one field, nulls last', 'orders?sort=placedAt,asc', [1, 2, 3, 4, 5, 8, 7, 6]),
  sorted('descending is the exact reverse, nulls first', 'orders?sort=placedAt,desc', [6, 7, 8, 5, 4, 3, 2, 1]),
  sorted('the direction is optional: ascending', 'orders?sort=placedAt', [1, 2, 3, 4, 5, 8, 7, 6]),
  sorted('the direction in any case', 'orders?sort=placedAt,DESC', [6, 7, 8, 5, 4, 3, 2, 1]),
  sorted('the direction in mixed case, with spaces', 'orders?sort=%20placedAt%20,%20Desc%20', [6, 7, 8, 5, 4, 3, 2, 1]),
  sorted('ties in the order of the id', 'orders?sort=status', [2, 5, 7, 1, 4, 3, 6, 8]),
  sorted(
    'ties of a descending sort in descending order of the id',
    'orders?sort=status,desc',
    [8, 6, 3, 4, 1, 7, 5, 2],
  ),
  sorted('by several keys, each in its direction', 'orders?sort=status,asc&sort=total,desc', [5, 2, 7, 4, 1, 3, 6, 8]),
  sorted('by several keys in the order given', 'orders?sort=total,desc&sort=status,asc', [5, 8, 4, 3, 2, 1, 6, 7]),
  sorted(
    'the id takes the direction of the key before it',
    'orders?sort=status,asc&sort=customerId,desc',
    [5, 7, 2, 4, 1, 6, 3, 8],
  ),
  sorted('by the id itself', 'orders?sort=id,desc', [8, 7, 6, 5, 4, 3, 2, 1]),
  sorted('an id in the middle ends the order', 'orders?sort=status&sort=id,desc&sort=total', [7, 5, 2, 4, 1, 6, 3, 8]),
  sorted('by a foreign key', 'customers?sort=countryId', [1, 5, 2, 6, 3, 4]),
  sorted('by a to-one path', 'orders?sort=customer.name,asc', [1, 2, 7, 5, 6, 4, 3, 8]),
  sorted('by a to-one path, descending', 'orders?sort=customer.name,desc', [8, 3, 4, 6, 5, 7, 2, 1]),
  sorted(
    'by a path of two relations; without a record is null',
    'orders?sort=customer.country.code&sort=id,desc',
    [7, 6, 2, 1, 8, 3, 4, 5],
  ),
  sorted('by a path through itself', 'customers?sort=referrer.name,desc', [6, 5, 1, 4, 3, 2]),
  sorted('by a hasOne path', 'customers?sort=profile.bio', [1, 2, 3, 4, 5, 6]),
  sorted('by a hasOne path, descending', 'customers?sort=profile.id,desc', [6, 5, 4, 3, 2, 1]),
  sorted('a path and a field', 'customers?sort=country.name&sort=rating,desc', [6, 2, 3, 1, 5, 4]),
  sorted(
    'a path needs no expansion, and bears one',
    'orders?sort=customer.name&expand=customer',
    [1, 2, 7, 5, 6, 4, 3, 8],
  ),
  sorted('text as Unicode orders it, not by bytes', 'samples?sort=aString', [2, 5, 1, 4, 3]),
  sorted('names as people order them', 'customers?sort=name', [1, 4, 5, 6, 3, 2]),
  sorted('integers by value', 'samples?sort=anInteger', [2, 5, 1, 4, 3]),
  sorted('64-bit integers by value', 'samples?sort=aBigint,desc', [3, 1, 2, 5, 4]),
  sorted('decimals by value', 'samples?sort=aDecimal', [2, 5, 1, 4, 3]),
  sorted('floats by value', 'samples?sort=aFloat', [2, 5, 4, 1, 3]),
  sorted('false before true', 'samples?sort=aBoolean', [2, 5, 1, 4, 3]),
  sorted('dates by day', 'samples?sort=aDate', [2, 5, 1, 4, 3]),
  sorted('datetimes by instant', 'samples?sort=aDatetime', [5, 2, 4, 1, 3]),
  sorted('uuids', 'samples?sort=aUuid', [2, 4, 1, 3, 5]),
  sorted('enums as their text', 'samples?sort=anEnum', [4, 2, 1, 3, 5]),
]);

test('timestamps sort', async () => {
  const { json } = await shop.call('products?sort=createdAt,desc&sort=updatedAt&fields=id');
  assert.equal(json.data.length, 4);
});

const refused: readonly (readonly [why: string, sort: string, message: RegExp])[] = [
  [
    'an unknown field',
    'sort=totl',
    /^Unknown field totl on entity orders\. Did you mean total\? Known: id, status, total, placedAt, note, customerId$/,
  ],
  ['an unknown direction', 'sort=total,down', /^Unknown sort direction down .*Known: asc, desc$/],
  ['an empty direction', 'sort=total,', /^Unknown sort direction /],
  ['several keys in one parameter', 'sort=total,asc,status,desc', /repeat the parameter for several keys/],
  ['nothing', 'sort=', /^sort is malformed/],
  ['an empty name', 'sort=,desc', /^sort is malformed/],
  ['an empty name in a path', 'sort=customer.', /^sort is malformed/],
  ['a sign', 'sort=-total', /^Unknown field -total on entity orders/],
  [
    'a relation',
    'sort=customer',
    /^sort: customer is a relation of orders; name a field behind it, such as customer\.id$/,
  ],
  ['an unknown relation', 'sort=client.name', /^Unknown relation client on entity orders/],
  ['an unknown field of a related entity', 'sort=customer.title', /^Unknown field title on entity customers/],
  ['a field behind a field', 'sort=total.x', /^Unknown relation total on entity orders/],
  ['a to-many relation', 'sort=items.quantity', /leads to many records; only to-one relations give an order/],
  ['a many-to-many relation', 'sort=tags.name', /leads to many records/],
  ['a to-many relation further on', 'sort=customer.orders.total', /crosses orders, which leads to many records/],
  ['a field twice', 'sort=total&sort=total,desc', /^sort names total twice$/],
  ['too many keys', Array.from({ length: 11 }, () => 'sort=id').join('&'), /^sort has more than 10 keys$/],
  ['a path of many relations', `sort=customer${'.referrer'.repeat(8)}.name`, /crosses more than 5 relations/],
];
for (const [why, sort, message] of refused) {
  runScenarios(shop, [
    { name: `sort by ${why} is refused`, path: `orders?${sort}`, status: 400, code: 'BAD_REQUEST', message },
  ]);
}
runScenarios(shop, [
  {
    name: 'json has no order',
    path: 'products?sort=details',
    status: 400,
    code: 'BAD_REQUEST',
    message: /has no order$/,
  },
  {
    name: 'a single record has no order',
    path: 'orders/1?sort=total',
    status: 400,
    code: 'BAD_REQUEST',
    message: /^Unknown query parameter sort\./,
  },
]);
