// Sorts; and filters of every kind of relation and of values with a form of their own; what an operator finds is in filter-model.test.ts
// and types/matrix.test.ts, what is refused in the tables of test/unit/request and test/unit/plan.
import { use, useServer } from '../../support/resources.ts';
import { runScenarios, type Scenario } from '../../support/scenario.ts';
import { fillShop, SHOP_SCHEMA, TYPES_SCHEMA } from '../../support/shop.ts';

const SAMPLES = [
  {
    aText: 'line\nbreak',
    aBigint: '9007199254740993',
    aDecimal: '0.1',
    aFloat: 0,
    aJson: { a: 1, b: [true, 'x,"y"'] },
  },
  { aText: 'Ünïcode 🙂', aBigint: '9007199254740992', aDecimal: '2.5', aFloat: 3, aJson: 'text', anEnum: 'a,b' },
  { aText: 'ΣΊΣΥΦΟΣ', aNumeric: '100000000000000000000000.5', aJson: 0, anEnum: 'Red' },
];

const server = useServer();
const shop = use(async () => {
  const made = await server.workspace('acme/shop', {
    entities: { ...SHOP_SCHEMA.entities, samples: TYPES_SCHEMA.entities.samples },
  });
  await fillShop(made);
  await made.create('samples', SAMPLES);
  return made;
});

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
  sorted('ties in the order of the id', 'orders?sort=status', [2, 5, 7, 1, 4, 3, 6, 8]),
  sorted(
    'ties of a descending sort in descending order of the id',
    'orders?sort=status,desc',
    [8, 6, 3, 4, 1, 7, 5, 2],
  ),
  sorted('by several keys, each in its direction', 'orders?sort=status,asc&sort=total,desc', [5, 2, 7, 4, 1, 3, 6, 8]),
  sorted('by a to-one path', 'orders?sort=customer.name,asc', [1, 2, 7, 5, 6, 4, 3, 8]),
  sorted(
    'by a path of two relations; without a record is null',
    'orders?sort=customer.country.code&sort=id,desc',
    [7, 6, 2, 1, 8, 3, 4, 5],
  ),
  sorted('by a path through itself', 'customers?sort=referrer.name,desc', [6, 5, 1, 4, 3, 2]),
  sorted('by a hasOne path, descending', 'customers?sort=profile.id,desc', [6, 5, 4, 3, 2, 1]),
  sorted('by names as people order them', 'customers?sort=name', [1, 4, 5, 6, 3, 2]),
  {
    name: 'a sort across a to-many relation is refused',
    path: 'orders?sort=items.quantity',
    status: 400,
    code: 'BAD_REQUEST',
    message: /leads to many records; only to-one relations give an order/,
  },
]);

const FOUND: readonly (readonly [entity: string, filter: string, ids: readonly number[]])[] = [
  ['samples', 'aText,contains,\n', [1]],
  ['samples', 'aText,contains,🙂', [2]],
  ['samples', 'aText,startsWith,ünÏ', [2]],
  ['samples', 'aText,endsWith,φος', [3]],
  ['samples', 'aBigint,eq,9007199254740993', [1]],
  ['samples', 'aDecimal,in,1e-1,2.500', [1, 2]],
  ['samples', 'aNumeric,gt,100000000000000000000000.49999', [3]],
  ['samples', 'aFloat,in,-0,3.0', [1, 2]],
  ['samples', 'aJson,eq,{"b":[true,"x,\\"y\\""],"a":1.0}', [1]],
  ['samples', 'aJson,in,{"a":1\\,"b":[true\\,"x\\,\\"y\\""]},0', [1, 3]],
  ['samples', 'anEnum,in,a\\,b,Red', [2, 3]],
  ['samples', `id,in,${Array.from({ length: 1000 }, (_, index) => index).join()}`, [1, 2, 3]],
  ['products', 'createdAt,gt,2020-01-01T00:00:00Z', [1, 2, 3, 4]],
  // hasOne, and a belongsTo with a column of its own
  ['customers', 'profile.bio,contains,PROGRAM', [1]],
  ['customers', 'profile.bio,isNull', [2, 3, 4, 5, 6]],
  ['customers', 'profile.id,isNull', [3, 4, 5, 6]],
  ['customers', 'referrer.name,startsWith,ada', [2, 3]],
  // to-many and to-one mixed
  ['customers', 'orders.items.product.sku,isNull', [5]],
  ['customers', 'orders.items.product.price,ne,9.5', [1, 2, 4, 5]],
  ['countries', 'customers.orders.tags.name,eq,gift', [1, 2]],
  ['items', 'order.tags.name,ne,gift', [4, 5, 6]],
  // two filters on one to-many path are met by any record each
  ['customers', 'orders.status,eq,paid&filter=orders.total,eq,0', [1]],
];
runScenarios(
  shop,
  FOUND.map(
    ([entity, filter, ids]): Scenario => ({
      name: `${entity}: ${filter.slice(0, 100)}`,
      path: `${entity}?fields=id&filter=${encodeURIComponent(filter).replace('%26filter%3D', '&filter=')}`,
      status: 200,
      data: ids.map((id) => ({ id })),
      meta: { totalElements: ids.length },
    }),
  ),
);

const TREES: readonly (readonly [filter: object, ids: readonly number[]])[] = [
  [{ field: 'aBigint', op: 'eq', value: '9007199254740993' }, [1]],
  [{ field: 'aDecimal', op: 'eq', value: '2.50' }, [2]],
  [{ field: 'aDecimal', op: 'lte', value: 0.1 }, [1]],
  [{ field: 'aJson', op: 'in', value: [{ b: [true, 'x,"y"'], a: 1 }, 'text'] }, [1, 2]],
  [{ field: 'aText', op: 'in', value: [] }, []],
  [{ field: 'aText', op: 'nin', value: [] }, [1, 2, 3]],
];
runScenarios(
  shop,
  TREES.map(
    ([filter, ids]): Scenario => ({
      name: JSON.stringify(filter),
      method: 'POST',
      path: 'samples/_query',
      body: { filter, fields: ['id'] },
      status: 200,
      data: ids.map((id) => ({ id })),
    }),
  ),
);

// An ignored filter shows everybody everything.
const REFUSED: readonly (readonly [path: string, message: string | RegExp])[] = [
  ['orders?filter=totl,eq,1', /^Unknown field totl on entity orders\. Did you mean total\? Known: /],
  ['orders?filter=status,equals,open', /^Unknown filter operator equals\. Known: /],
  ['orders?filter=id,eq,abc', 'Filter value for id must be an integer'],
  ['orders?or=status,eq,open;total,eq', 'Filter total,eq: eq takes one value'],
  ['orders?filters=id,eq,1', /^Unknown query parameter filters\. Did you mean filter\?/],
  ['orders/1?filter=id,eq,1', /^Unknown query parameter filter\./],
];
runScenarios(
  shop,
  REFUSED.map(([path, message]) => ({ name: path, path, status: 400, code: 'BAD_REQUEST', message })),
);

runScenarios(shop, [
  {
    name: 'a filter tree that is none is refused',
    method: 'POST',
    path: 'samples/_query',
    body: { filter: 'id,eq,1' },
    status: 400,
    code: 'BAD_REQUEST',
    message: 'filter is malformed: each node is {"and": []}, {"or": []}, {"not": {}} or {"field", "op", "value"}',
  },
  {
    name: '_query takes no query parameters',
    method: 'POST',
    path: 'samples/_query?size=1',
    body: {},
    status: 400,
    code: 'BAD_REQUEST',
    message: /^Unknown query parameter size/,
  },
  {
    name: '_query is a read, so Read Only may, and its body may be empty',
    as: 'readOnly',
    method: 'POST',
    path: 'samples/_query/',
    body: {},
    status: 200,
    meta: { size: 20, totalElements: 3 },
  },
]);
