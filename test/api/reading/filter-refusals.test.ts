// Filters that are refused, loudly: an ignored filter shows everybody everything.
import { FILTER_OPERATORS } from '../../../src/request/operators.ts';
import { listParameterNames } from '../../../src/request/parameters.ts';
import { use, useServer } from '../../support/resources.ts';
import { runScenarios, type Scenario } from '../../support/scenario.ts';
import type { TestServer, TestWorkspace } from '../../support/server.ts';
import { SHOP_SCHEMA, TYPES_SCHEMA } from '../../support/shop.ts';

const make = (server: TestServer): Promise<TestWorkspace> =>
  server.workspace('acme/shop', {
    entities: { ...SHOP_SCHEMA.entities, samples: TYPES_SCHEMA.entities.samples },
  });

const server = useServer();
const shop = use(() => make(server));

const OPERATORS = FILTER_OPERATORS.join(', ');
const NOT_ORDERED = 'eq, ne, in, nin, isNull, notNull';
const NOT_TEXT = 'eq, ne, gt, gte, lt, lte, in, nin, between, isNull, notNull';

function refuses(entity: string, filter: string, message: string | RegExp, parameter = 'filter'): Scenario {
  return {
    name: `${entity}: ${parameter}=${filter.slice(0, 100)}`,
    path: `${entity}?${parameter}=${encodeURIComponent(filter)}`,
    status: 400,
    code: 'BAD_REQUEST',
    message,
  };
}

runScenarios(shop, [
  refuses('orders', '', 'filter is malformed: a name is empty'),
  refuses('orders', 'status', 'filter status is malformed: it takes <field>,<operator>,<value>'),
  refuses('orders', ',eq,1', 'filter is malformed: a name is empty'),
  refuses('orders', 'customer.,eq,1', 'filter is malformed: customer. has an empty name'),
  refuses('orders', 'status,', /^Unknown filter operator \.? ?.*Known: eq, ne/),
  refuses('orders', 'status,equals,open', `Unknown filter operator equals. Known: ${OPERATORS}`),
  refuses('orders', 'status,EQ,open', new RegExp(`^Unknown filter operator EQ\\. .*Known: ${OPERATORS}$`)),
  refuses(
    'orders',
    'status,contians,o',
    `Unknown filter operator contians. Did you mean contains? Known: ${OPERATORS}`,
  ),
  refuses('orders', 'status,eq', 'Filter status,eq: eq takes one value'),
  refuses('orders', 'total,in', 'Filter total,in: in takes one value or more, separated by commas'),
  refuses('orders', 'total,between,1', 'Filter total,between,1: between takes two values, separated by a comma'),
  refuses('orders', 'total,between,1,2,3', /^Filter total,between,1,2,3: between takes two values/),
  refuses('orders', 'total,isNull,true', 'Filter total,isNull,true: isNull takes no value'),
  refuses('orders', 'total,notNull,x', /notNull takes no value$/),
  refuses(
    'orders',
    'totl,eq,1',
    'Unknown field totl on entity orders. Did you mean total? Known: id, status, total, placedAt, note, customerId',
  ),
  refuses(
    'orders',
    'customer,eq,1',
    'filter: customer is a relation of orders; name a field behind it, such as customer.id',
  ),
  refuses('orders', 'customer.nme,eq,x', /^Unknown field nme on entity customers\. Did you mean name\?/),
  refuses('orders', 'client.name,eq,x', 'Unknown relation client on entity orders. Known: customer, items, tags'),
  refuses('orders', 'total.value,eq,x', /^Unknown relation total on entity orders\./),
  refuses('products', 'details.colour,eq,blue', /^Unknown relation details on entity products\./),
  refuses('customers', `${'referrer.'.repeat(8)}name,eq,x`, /crosses more than 5 relations$/),
  refuses('orders', 'status,eq,open;total,eq', 'Filter total,eq: eq takes one value', 'or'),
  refuses('orders', 'status,eq,open;', 'or is malformed: a name is empty', 'or'),
  refuses('orders', '', 'or is malformed: a name is empty', 'or'),
  refuses('orders', 'status,eq,open;x,eq,1', /^Unknown field x on entity orders/, 'or'),
]);

const wrongValues: readonly (readonly [filter: string, message: string])[] = [
  ['anInteger,eq,one', 'must be an integer'],
  ['anInteger,eq,', 'must be an integer'],
  ['anInteger,eq,1.5', 'must be an integer'],
  ['anInteger,eq,1e2', 'must be an integer'],
  ['anInteger,eq,2147483648', 'must fit into 32 bits'],
  ['anInteger,in,1,two', 'must be an integer'],
  ['anInteger,between,1,', 'must be an integer'],
  ['aBigint,eq,9223372036854775808', 'must fit into 64 bits'],
  ['aDecimal,eq,1,5', 'must be a number'],
  ['aDecimal,gt,NaN', 'must be a number'],
  ['aFloat,eq,Infinity', 'must be a number'],
  ['aFloat,eq,1e999', 'must fit into a 64-bit float'],
  ['aBoolean,eq,yes', 'must be true or false'],
  ['aBoolean,eq,TRUE', 'must be true or false'],
  ['aDate,eq,2024-02-30', 'must be a date such as 2026-01-31'],
  ['aDate,eq,2024-02-29T00:00:00Z', 'must be a date such as 2026-01-31'],
  ['aDate,gt,yesterday', 'must be a date such as 2026-01-31'],
  ['aDatetime,gt,2024-02-29', 'must be an ISO 8601 datetime with Z or an offset such as 2026-01-31T12:00:00Z'],
  ['aDatetime,gt,2024-02-29T12:00:00', 'must be an ISO 8601 datetime with Z or an offset such as 2026-01-31T12:00:00Z'],
  ['aUuid,eq,123', 'must be a UUID'],
  ['aJson,eq,{', 'must be JSON'],
  ['aJson,eq,"\\u0000"', 'must not contain NUL characters or lone surrogates'],
  ['aJson,eq,"\\ud800"', 'must not contain NUL characters or lone surrogates'],
  ['anEnum,eq,blue', 'must be one of red, a,b, c;d, grün, Red'],
  ['anEnum,in,a,b', 'must be one of red, a,b, c;d, grün, Red'],
  ['id,eq,abc', 'must be an integer'],
];
runScenarios(
  shop,
  wrongValues.map(([filter, message]) =>
    refuses('samples', filter, `Filter value for ${filter.slice(0, filter.indexOf(','))} ${message}`),
  ),
);

for (const [field, type, known] of [
  ['aBoolean', 'boolean', NOT_ORDERED],
  ['aJson', 'json', NOT_ORDERED],
] as const) {
  for (const operator of ['gt', 'gte', 'lt', 'lte', 'between', 'contains', 'startsWith', 'endsWith', 'matches']) {
    runScenarios(shop, [
      refuses(
        'samples',
        `${field},${operator},${operator === 'between' ? '1,2' : '1'}`,
        `Filter operator ${operator} does not apply to ${field} of type ${type}. Known: ${known}`,
      ),
    ]);
  }
}
for (const [field, type] of [
  ['anInteger', 'integer'],
  ['aBigint', 'bigint'],
  ['aDecimal', 'decimal'],
  ['aFloat', 'float'],
  ['aDate', 'date'],
  ['aDatetime', 'datetime'],
  ['aUuid', 'uuid'],
] as const) {
  runScenarios(shop, [
    refuses(
      'samples',
      `${field},contains,1`,
      `Filter operator contains does not apply to ${field} of type ${type}. Known: ${NOT_TEXT}`,
    ),
  ]);
}

runScenarios(shop, [
  {
    name: 'text with NUL does not decode',
    path: 'samples?filter=aString,eq,%00',
    status: 400,
    code: 'BAD_REQUEST',
    message: /does not decode as UTF-8 text without NUL$/,
  },
  {
    name: 'text that is no UTF-8 does not decode',
    path: 'samples?filter=aString,eq,%ff',
    status: 400,
    code: 'BAD_REQUEST',
  },
  {
    name: 'more than 1000 values',
    path: `samples?filter=id,in,${Array.from({ length: 1001 }, (_, index) => index).join(',')}`,
    status: 400,
    code: 'BAD_REQUEST',
    message: /: in takes at most 1000 values$/,
  },
  {
    name: '1000 values',
    path: `samples?filter=id,in,${Array.from({ length: 1000 }, (_, index) => index).join(',')}`,
    status: 200,
    data: [],
  },
  {
    name: 'more than 100 conditions',
    path: `samples?${Array.from({ length: 101 }, () => 'filter=id,gt,0').join('&')}`,
    status: 400,
    code: 'BAD_REQUEST',
    message: 'More than 100 filter conditions',
  },
  {
    name: 'more than 100 conditions in groups',
    path: `samples?${Array.from({ length: 51 }, () => 'or=id,gt,0;id,lt,0').join('&')}`,
    status: 400,
    code: 'BAD_REQUEST',
    message: 'More than 100 filter conditions',
  },
  {
    name: 'a filter on a single record',
    path: 'samples/1?filter=id,eq,1',
    status: 400,
    code: 'BAD_REQUEST',
    message: /^Unknown query parameter filter\./,
  },
  {
    name: 'a misspelt filter parameter',
    path: 'samples?filters=id,eq,1',
    status: 400,
    code: 'BAD_REQUEST',
    message: `Unknown query parameter filters. Did you mean filter? Known: ${listParameterNames('list', 'query')}`,
  },
]);

let deep: unknown = { field: 'id', op: 'eq', value: 1 };
for (let depth = 0; depth < 20; depth++) deep = { not: deep };

const MALFORMED = 'filter is malformed: each node is {"and": []}, {"or": []}, {"not": {}} or {"field", "op", "value"}';
const trees: readonly (readonly [filter: unknown, message: string | RegExp])[] = [
  ['id,eq,1', MALFORMED],
  [[], MALFORMED],
  [[{ field: 'id', op: 'eq', value: 1 }], MALFORMED],
  [1.5, MALFORMED],
  [{}, MALFORMED],
  [{ field: 'id' }, MALFORMED],
  [{ op: 'eq', value: 1 }, MALFORMED],
  [{ field: 1, op: 'eq', value: 1 }, MALFORMED],
  [{ field: 'id', op: 'eq', value: 1, not: true }, MALFORMED],
  [{ field: 'id', op: 'eq', values: [1] }, MALFORMED],
  [{ and: [], or: [] }, MALFORMED],
  [{ and: [null] }, MALFORMED],
  [{ and: {} }, 'filter: and takes an array'],
  [{ or: 'x' }, 'filter: or takes an array'],
  [{ not: [] }, MALFORMED],
  [{ nor: [] }, MALFORMED],
  [{ field: '', op: 'eq', value: 1 }, /^filter is malformed/],
  [{ field: 'id', op: 'is', value: 1 }, /^Unknown filter operator is\. /],
  [{ field: 'id', op: 'eq' }, 'Filter id: eq takes one value'],
  [{ field: 'id', op: 'eq', value: null }, 'Filter id: null is no value to compare with; use isNull or notNull'],
  [{ field: 'id', op: 'in', value: [1, null] }, 'Filter id: null is no value to compare with; use isNull or notNull'],
  [{ field: 'id', op: 'in', value: 1 }, 'Filter id: in takes an array of values'],
  [{ field: 'id', op: 'between', value: [1] }, /between takes two values/],
  [{ field: 'id', op: 'between', value: '1,2' }, 'Filter id: between takes an array of values'],
  [{ field: 'id', op: 'isNull', value: true }, 'Filter id: isNull takes no value'],
  [{ field: 'id', op: 'eq', value: [1] }, 'Filter value for id must be an integer, as a number or a numeric string'],
  [{ field: 'anInteger', op: 'eq', value: '1' }, 'Filter value for anInteger must be an integer'],
  [{ field: 'anInteger', op: 'eq', value: 1.5 }, 'Filter value for anInteger must be an integer'],
  [{ field: 'aString', op: 'eq', value: 1 }, 'Filter value for aString must be a string'],
  [{ field: 'aString', op: 'contains', value: {} }, 'Filter value for aString must be a string'],
  [{ field: 'aString', op: 'eq', value: 'a\u0000b' }, /must not contain NUL/],
  [{ field: 'aString', op: 'eq', value: '\ud800' }, /lone surrogates/],
  [{ field: 'aBoolean', op: 'eq', value: 'true' }, 'Filter value for aBoolean must be true or false'],
  [{ field: 'aDate', op: 'eq', value: 20240229 }, 'Filter value for aDate must be a date string'],
  [{ field: 'nothing', op: 'eq', value: 1 }, /^Unknown field nothing on entity samples/],
  [{ or: Array.from({ length: 101 }, () => ({ field: 'id', op: 'gt', value: 0 })) }, 'More than 100 filter conditions'],
  [{ field: 'id', op: 'in', value: Array.from({ length: 1001 }, () => 1) }, /at most 1000 values/],
  [deep, 'filter is nested more than 20 levels deep'],
];
runScenarios(
  shop,
  trees.map(([filter, message]) => ({
    name: `a filter tree that is refused: ${JSON.stringify(filter).slice(0, 80)}`,
    method: 'POST',
    path: 'samples/_query',
    body: { filter },
    status: 400,
    code: 'BAD_REQUEST',
    message,
  })),
);

const bodies: readonly (readonly [body: unknown, message: string | RegExp])[] = [
  [[], 'The body must be one JSON object'],
  ['text', 'The body must be one JSON object'],
  [1, 'The body must be one JSON object'],
  [
    { filters: {} },
    `Unknown member filters of the query. Did you mean filter? Known: ${listParameterNames('query', 'body')}`,
  ],
  [{ or: [] }, /^Unknown member or of the query/],
  [{ 'orders.size': 1 }, /^Unknown member orders\.size of the query/],
  [{ page: -1 }, /^page must be an integer from 0/],
  [{ page: '0' }, 'page must be an integer'],
  [{ page: 1.5 }, /^page must be an integer/],
  [{ size: 1001 }, 'size must be an integer from 1 to 1000'],
  [{ size: true }, 'size must be an integer'],
  [{ sort: 'id,desc' }, 'sort must be an array of strings'],
  [{ sort: ['id,down'] }, /^Unknown sort direction down/],
  [{ sort: [1] }, 'sort must be an array of strings'],
  [{ expand: 'customer' }, 'expand must be an array of strings'],
  [{ fields: { id: 1 } }, 'fields must be an array of strings'],
  [{ fields: ['nothing'] }, /^Unknown field nothing on entity samples/],
  [{ count: 'some' }, 'Unknown count some. Did you mean none? Known: exact, estimated, none'],
  [{ count: 1 }, 'count must be a string'],
  [{ after: 'x' }, /^after is not a cursor/],
  [{ after: 'x', page: 0 }, /^page and after do not go together/],
];
runScenarios(
  shop,
  bodies.map(([body, message]) => ({
    name: `a query that is refused: ${JSON.stringify(body)}`,
    method: 'POST',
    path: 'samples/_query',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    status: 400,
    code: 'BAD_REQUEST',
    message,
  })),
);
runScenarios(shop, [
  {
    name: 'a query that is a number with more digits than a double keeps',
    method: 'POST',
    path: 'samples/_query',
    headers: { 'content-type': 'application/json' },
    body: '1.50',
    status: 400,
    code: 'BAD_REQUEST',
    message: 'The body must be one JSON object',
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
    name: '_query may be empty',
    method: 'POST',
    path: 'samples/_query',
    body: {},
    status: 200,
    data: [],
    meta: { size: 20 },
  },
  {
    name: 'null members of _query are none',
    method: 'POST',
    path: 'samples/_query',
    body: { page: null, sort: null, filter: null, expand: null, fields: null },
    status: 200,
    data: [],
  },
  {
    name: '_query is a read: Read Only may',
    as: 'readOnly',
    method: 'POST',
    path: 'samples/_query/',
    body: {},
    status: 200,
    data: [],
  },
]);
