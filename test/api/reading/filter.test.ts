// Filters: every operator on every type, null, relations, alternatives, trees, escapes, and what is refused.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { use, useServer } from '../../support/resources.ts';
import { runScenarios, type Scenario } from '../../support/scenario.ts';
import type { TestServer, TestWorkspace } from '../../support/server.ts';
import { fillShop, SHOP_SCHEMA, TYPES_SCHEMA } from '../../support/shop.ts';

const SAMPLES = [
  {
    aString: 'Straße',
    aText: '100% _sure_',
    anInteger: 1,
    aBigint: '9007199254740993',
    aDecimal: '0.1',
    aNumeric: '1.10',
    aFloat: 0.1,
    aBoolean: true,
    aDate: '2024-02-29',
    aDatetime: '2024-02-29T12:00:00.500Z',
    aUuid: '123e4567-e89b-42d3-a456-426614174000',
    aJson: { a: 1, b: [true, 'x,"y"'] },
    anEnum: 'red',
  },
  {
    aString: 'STRASSE',
    aText: 'a,b;c\\d',
    anInteger: 2,
    aBigint: '-9223372036854775808',
    aDecimal: '-10',
    aNumeric: '100000000000000000000000.5',
    aFloat: -1e300,
    aBoolean: false,
    aDate: '1999-12-31',
    aDatetime: '1969-12-31T23:59:59Z',
    aUuid: 'ffffffff-ffff-4fff-bfff-ffffffffffff',
    aJson: 'text',
    anEnum: 'a,b',
  },
  {},
  {
    aString: 'ΣΊΣΥΦΟΣ',
    aText: 'Ünïcode 🙂',
    anInteger: 3,
    aDecimal: '2.5',
    aFloat: 3,
    aDate: '2024-03-01',
    anEnum: 'grün',
  },
  { aString: '', aText: 'line\nbreak', anInteger: -1, aBigint: 0, aDecimal: 0, aFloat: 0, aJson: 0, anEnum: 'Red' },
];

async function make(server: TestServer): Promise<TestWorkspace> {
  const workspace = await server.workspace('acme/shop', {
    entities: { ...SHOP_SCHEMA.entities, samples: TYPES_SCHEMA.entities.samples },
  });
  await fillShop(workspace);
  await workspace.create('samples', SAMPLES);
  return workspace;
}

const server = useServer();
const shop = use(() => make(server));

const query = (parameters: readonly string[]): string =>
  parameters
    .map((parameter) =>
      parameter.replace(/^(filter|or)=(.*)$/s, (_, name, value) => `${name}=${encodeURIComponent(value)}`),
    )
    .join('&');

/** The ids that the filters leave. */
function finds(entity: string, filters: string | readonly string[], ids: readonly number[]): Scenario {
  const parameters = typeof filters === 'string' ? [`filter=${filters}`] : filters;
  return {
    name: `${entity}: ${parameters.join(' & ')}`,
    path: `${entity}?fields=id&${query(parameters)}`,
    status: 200,
    data: ids.map((id) => ({ id })),
    meta: { totalElements: ids.length },
  };
}

const samples: readonly (readonly [filter: string, ids: readonly number[]])[] = [
  ['aString,eq,Straße', [1]],
  ['aString,eq,straße', []],
  ['aString,eq,', [5]],
  ['aString,ne,Straße', [2, 3, 4, 5]],
  ['aString,in,STRASSE,,none', [2, 5]],
  ['aString,nin,STRASSE,Straße', [3, 4, 5]],
  ['aString,gt,a', [1, 2, 4]],
  ['aString,lte,straze', [1, 2, 5]],
  ['aString,between,s,t', [1, 2]],
  ['aString,contains,strasse', [1, 2]],
  ['aString,contains,ß', [1, 2]],
  ['aString,contains,', [1, 2, 4, 5]],
  ['aString,contains,συφος', [4]],
  ['aString,startsWith,sTRA', [1, 2]],
  ['aString,startsWith,tra', []],
  ['aString,startsWith,', [1, 2, 4, 5]],
  ['aString,endsWith,SSE', [1, 2]],
  ['aString,endsWith,φος', [4]],
  ['aString,endsWith,', [1, 2, 4, 5]],
  ['aString,isNull', [3]],
  ['aString,isNull,', [3]],
  ['aString,notNull', [1, 2, 4, 5]],
  ['aText,eq,a,b;c\\d', [2]],
  ['aText,contains,%', [1]],
  ['aText,contains,_', [1]],
  ['aText,contains,\\', [2]],
  ['aText,contains,B;C\\D', [2]],
  ['aText,startsWith,100% _S', [1]],
  ['aText,endsWith,URE_', [1]],
  ['aText,contains,\n', [5]],
  ['aText,contains,🙂', [4]],
  ['aText,startsWith,ünÏ', [4]],
  ['aText,in,a\\,b;c\\d,x', [2]],
  ['aText,nin,a\\,b;c\\d', [1, 3, 4, 5]],
  ['anInteger,eq,2', [2]],
  ['anInteger,eq,+2', [2]],
  ['anInteger,ne,2', [1, 3, 4, 5]],
  ['anInteger,gt,1', [2, 4]],
  ['anInteger,gte,1', [1, 2, 4]],
  ['anInteger,lt,1', [5]],
  ['anInteger,lte,1', [1, 5]],
  ['anInteger,in,1,-1,99', [1, 5]],
  ['anInteger,in,3', [4]],
  ['anInteger,nin,1,2', [3, 4, 5]],
  ['anInteger,between,1,2', [1, 2]],
  ['anInteger,between,2,1', []],
  ['anInteger,isNull', [3]],
  ['anInteger,notNull', [1, 2, 4, 5]],
  ['aBigint,eq,9007199254740993', [1]],
  ['aBigint,eq,9007199254740992', []],
  ['aBigint,lt,0', [2]],
  ['aBigint,in,-9223372036854775808,0', [2, 5]],
  ['aBigint,between,9007199254740992,9007199254740994', [1]],
  ['aDecimal,eq,0.1', [1]],
  ['aDecimal,eq,0.1000', [1]],
  ['aDecimal,eq,1e-1', [1]],
  ['aDecimal,gt,0.09999999999999999999999999', [1, 4]],
  ['aDecimal,nin,0.1,0', [2, 3, 4]],
  ['aNumeric,eq,1.1', [1]],
  ['aNumeric,gte,100000000000000000000000.5', [2]],
  ['aNumeric,gt,100000000000000000000000.49999', [2]],
  ['aFloat,eq,0.1', [1]],
  ['aFloat,lt,-1e299', [2]],
  ['aFloat,between,0,3', [1, 4, 5]],
  ['aFloat,in,-0,3.0', [4, 5]],
  ['aBoolean,eq,true', [1]],
  ['aBoolean,ne,true', [2, 3, 4, 5]],
  ['aBoolean,in,true,false', [1, 2]],
  ['aBoolean,nin,false', [1, 3, 4, 5]],
  ['aBoolean,isNull', [3, 4, 5]],
  ['aDate,eq,2024-02-29', [1]],
  ['aDate,gt,2024-02-29', [4]],
  ['aDate,between,1999-12-31,2024-02-29', [1, 2]],
  ['aDate,in,2024-03-01,1999-12-31', [2, 4]],
  ['aDatetime,eq,2024-02-29T12:00:00.5Z', [1]],
  ['aDatetime,eq,2024-02-29T13:00:00.500+01:00', [1]],
  ['aDatetime,lt,1970-01-01T00:00:00Z', [2]],
  ['aDatetime,in,1969-12-31T23:59:59Z', [2]],
  ['aDatetime,ne,1969-12-31T23:59:59Z', [1, 3, 4, 5]],
  ['aUuid,eq,123E4567-E89B-42D3-A456-426614174000', [1]],
  ['aUuid,gt,123e4567-e89b-42d3-a456-426614174000', [2]],
  ['aUuid,nin,ffffffff-ffff-4fff-bfff-ffffffffffff', [1, 3, 4, 5]],
  ['aJson,eq,{"b":[true,"x,\\"y\\""],"a":1.0}', [1]],
  ['aJson,eq,"text"', [2]],
  ['aJson,ne,0', [1, 2, 3, 4]],
  ['aJson,in,0,"text"', [2, 5]],
  ['aJson,in,{"a":1\\,"b":[true\\,"x\\,\\"y\\""]}', [1]],
  ['aJson,isNull', [3, 4]],
  ['anEnum,eq,a,b', [2]],
  ['anEnum,eq,red', [1]],
  ['anEnum,in,a\\,b,Red', [2, 5]],
  ['anEnum,contains,RED', [1, 5]],
  ['anEnum,startsWith,a', [2]],
  ['anEnum,endsWith,N', [4]],
  ['anEnum,gt,grün', [1, 5]],
  ['id,in,5,1,1', [1, 5]],
  ['id,gt,3', [4, 5]],
];
runScenarios(
  shop,
  samples.map(([filter, ids]) => finds('samples', filter, ids)),
);

runScenarios(shop, [
  finds('samples', ['filter=anInteger,gt,0', 'filter=anInteger,lt,3'], [1, 2]),
  finds('samples', ['or=anInteger,eq,1;anInteger,eq,3'], [1, 4]),
  finds('samples', ['or=anInteger,eq,1;aString,isNull', 'or=aBoolean,eq,true;aFloat,eq,3'], [1]),
  finds('samples', ['filter=anInteger,notNull', 'or=anInteger,lt,0;aDate,gte,2024-01-01'], [1, 4, 5]),
  finds('samples', ['or=aText,eq,a,b\\;c\\d;anInteger,eq,3'], [2, 4]),
  finds('samples', ['or=aText,in,a\\,b\\;c\\d,100% _sure_'], [1, 2]),
  finds('samples', ['or=anInteger,eq,2'], [2]),
  finds('orders', 'note,eq,', [7]),
  finds('orders', 'note,eq,back\\slash', [8]),
  finds('orders', 'note,contains,off;', [3]),
  finds('products', 'details,isNull', [2]),
  finds('products', 'createdAt,gt,2020-01-01T00:00:00Z', [1, 2, 3, 4]),
  // to-one
  finds('orders', 'customer.country.code,eq,GB', [1, 2, 6, 7]),
  finds('orders', 'customer.country.code,ne,GB', [3, 4, 5, 8]),
  finds('orders', 'customer.country.code,nin,GB,SE', [4, 5]),
  finds('orders', 'customer.country.code,isNull', [5]),
  finds('orders', 'customer.country.code,notNull', [1, 2, 3, 4, 6, 7, 8]),
  finds('orders', 'customer.email,isNull', [5]),
  finds('orders', 'customerId,in,1,4', [1, 2, 5, 7]),
  finds('customers', 'countryId,isNull', [4]),
  finds('customers', 'referrer.name,startsWith,ada', [2, 3]),
  finds('customers', 'referrer.referrer.id,eq,1', [4]),
  finds('customers', 'profile.bio,contains,PROGRAM', [1]),
  finds('customers', 'profile.bio,isNull', [2, 3, 4, 5, 6]),
  finds('customers', 'profile.id,isNull', [3, 4, 5, 6]),
  finds('profiles', 'customer.rating,between,3,4', [2]),
  // to-many
  finds('customers', 'orders.total,gt,40', [2, 3]),
  finds('customers', 'orders.total,isNull', [4]),
  finds('customers', 'orders.id,notNull', [1, 2, 3, 4, 5]),
  finds('customers', 'orders.status,ne,open', [1, 2, 3, 5]),
  finds('customers', 'referrals.vip,ne,false', [1]),
  finds('orders', 'tags.name,in,gift,wholesale', [1, 3, 4]),
  finds('tags', 'orders.customer.name,contains,ö', [3]),
  // to-many and to-one mixed
  finds('customers', 'orders.items.product.sku,eq,TEA-02', [1, 2]),
  finds('customers', 'orders.items.product.sku,isNull', [5]),
  finds('customers', 'orders.items.product.price,ne,9.5', [1, 2, 4, 5]),
  finds('countries', 'customers.orders.tags.name,eq,gift', [1, 2]),
  finds('items', 'order.tags.name,eq,gift', [1, 2, 4, 5]),
  finds('items', 'order.tags.name,ne,gift', [4, 5, 6]),
  // two filters on one to-many path are met by any record each
  finds('customers', ['filter=orders.status,eq,paid', 'filter=orders.total,eq,0'], [1]),
  finds('customers', ['or=orders.total,gt,40;name,eq,Nobody'], [2, 3, 6]),
]);

/** As `finds`, by a filter tree. */
const findsTree = (entity: string, filter: unknown, ids: readonly number[]): Scenario => ({
  name: `${entity}: ${JSON.stringify(filter)}`,
  method: 'POST',
  path: `${entity}/_query`,
  body: { filter, fields: ['id'] },
  status: 200,
  data: ids.map((id) => ({ id })),
  meta: { totalElements: ids.length },
});

runScenarios(shop, [
  findsTree('samples', { field: 'anInteger', op: 'eq', value: 2 }, [2]),
  findsTree('samples', { field: 'aBigint', op: 'eq', value: '9007199254740993' }, [1]),
  findsTree('samples', { field: 'aDecimal', op: 'lt', value: 0.1 }, [2, 5]),
  findsTree('samples', { field: 'aDecimal', op: 'eq', value: '2.50' }, [4]),
  findsTree('samples', { field: 'aFloat', op: 'in', value: [3, 0.1] }, [1, 4]),
  findsTree('samples', { field: 'aBoolean', op: 'eq', value: false }, [2]),
  findsTree('samples', { field: 'aText', op: 'in', value: ['a,b;c\\d', 'line\nbreak'] }, [2, 5]),
  findsTree('samples', { field: 'anEnum', op: 'in', value: ['a,b'] }, [2]),
  findsTree('samples', { field: 'aJson', op: 'eq', value: { a: 1, b: [true, 'x,"y"'] } }, [1]),
  findsTree('samples', { field: 'aJson', op: 'in', value: [{ b: [true, 'x,"y"'], a: 1 }, 'text', 0] }, [1, 2, 5]),
  findsTree('samples', { field: 'aDate', op: 'between', value: ['1999-12-31', '2024-02-29'] }, [1, 2]),
  findsTree('samples', { field: 'aString', op: 'in', value: [] }, []),
  findsTree('samples', { field: 'aString', op: 'nin', value: [] }, [1, 2, 3, 4, 5]),
  findsTree('samples', { field: 'aString', op: 'isNull' }, [3]),
  findsTree('samples', { field: 'aString', op: 'notNull', value: null }, [1, 2, 4, 5]),
  findsTree('samples', { and: [] }, [1, 2, 3, 4, 5]),
  findsTree('samples', { or: [] }, []),
  findsTree('samples', { not: { or: [] } }, [1, 2, 3, 4, 5]),
  findsTree('samples', { not: { field: 'anInteger', op: 'gt', value: 1 } }, [1, 3, 5]),
  findsTree('samples', { not: { field: 'anInteger', op: 'eq', value: 1 } }, [2, 3, 4, 5]),
  findsTree('samples', { not: { field: 'anInteger', op: 'ne', value: 1 } }, [1]),
  findsTree('samples', { not: { field: 'anInteger', op: 'in', value: [1, 2] } }, [3, 4, 5]),
  findsTree('samples', { not: { field: 'anInteger', op: 'nin', value: [1, 2] } }, [1, 2]),
  findsTree('samples', { not: { field: 'aString', op: 'contains', value: 's' } }, [3, 4, 5]),
  findsTree('samples', { not: { field: 'aDate', op: 'between', value: ['2024-01-01', '2024-12-31'] } }, [2, 3, 5]),
  findsTree('samples', { not: { not: { field: 'anInteger', op: 'gt', value: 1 } } }, [2, 4]),
  findsTree('samples', { not: { field: 'anInteger', op: 'isNull' } }, [1, 2, 4, 5]),
  findsTree(
    'samples',
    {
      not: {
        and: [
          { field: 'anInteger', op: 'gt', value: 0 },
          { field: 'aBoolean', op: 'eq', value: true },
        ],
      },
    },
    [2, 3, 4, 5],
  ),
  findsTree(
    'samples',
    { or: [{ not: { field: 'aFloat', op: 'gt', value: 0 } }, { and: [{ field: 'id', op: 'eq', value: 4 }] }] },
    [2, 3, 4, 5],
  ),
  findsTree('customers', { not: { field: 'orders.id', op: 'notNull' } }, [6]),
  findsTree('customers', { not: { field: 'orders.total', op: 'lt', value: 50 } }, [3, 4, 6]),
  findsTree('customers', { not: { field: 'country.code', op: 'eq', value: 'GB' } }, [2, 3, 4, 6]),
  findsTree('customers', { not: { field: 'country.code', op: 'ne', value: 'GB' } }, [1, 5]),
  findsTree(
    'orders',
    {
      and: [
        { field: 'tags.name', op: 'eq', value: 'gift' },
        { not: { field: 'tags.name', op: 'eq', value: 'express' } },
      ],
    },
    [1],
  ),
]);

test('a filter in a query string and one in a tree are the same', async () => {
  for (const [filter, ids] of [
    ['status,eq,open', [2, 5, 7]],
    ['total,gte,34', [2, 3, 4, 8]],
  ] as const) {
    const [field, op, value] = filter.split(',') as [string, string, string];
    const tree = { field, op, value: field === 'total' ? Number(value) : value };
    const answer = await shop.call('orders/_query', { method: 'POST', body: { filter: tree, fields: ['id'] } });
    assert.deepEqual(
      answer.json.data,
      ids.map((id) => ({ id })),
    );
    assert.deepEqual(answer.json, (await shop.call(`orders?filter=${filter}&fields=id`)).json);
  }
});
