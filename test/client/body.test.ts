// Objects of the client -> the body of `_query`, and the query string where one can say the same.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type LooseQuery, toBody, toQuery } from '../../client/src/body.ts';

/** As a query string, decoded for the eye; undefined: only a body can say it. */
const shown = (query: LooseQuery): string | undefined => {
  const parameters = toQuery(toBody(query));
  return parameters && [...parameters].map(([name, value]) => `${name}=${value}`).join('&');
};

const NONE = 'expand=&fields=';

const STRINGS: readonly (readonly [what: string, query: LooseQuery, shown: string | undefined])[] = [
  ['nothing', {}, NONE],
  ['columns', { fields: ['id', 'total'] }, 'expand=&fields=id,total'],
  ['a relation', { expand: { customer: true } }, 'expand=customer&fields='],
  ['columns of a relation', { expand: { customer: { fields: ['name'] } } }, 'expand=customer&fields=*,customer.name'],
  [
    'columns beside whole relations',
    { fields: ['id'], expand: { customer: true, items: { expand: { product: true } } } },
    'expand=customer,items,items.product&fields=id,customer.*,items.*,items.product.*',
  ],
  [
    'no column but those of a relation',
    { fields: [], expand: { customer: true } },
    'expand=customer&fields=customer.*',
  ],
  [
    'a part of a relation',
    { expand: { items: { size: 5, sort: ['price,desc', 'id'], filter: { quantity: { gt: 1 } }, search: 'a' } } },
    'expand=items&fields=&items.filter=quantity,gt,1&items.sort=price,desc&items.sort=id&items.size=5&items.search=a',
  ],
  [
    'a value',
    { filter: { status: 'open', total: 5, gone: false } },
    `filter=status,eq,open&filter=total,eq,5&filter=gone,eq,false&${NONE}`,
  ],
  ['null', { filter: { total: null } }, `filter=total,isNull&${NONE}`],
  [
    'operators',
    { filter: { total: { gte: 1, lt: 5, notNull: true } } },
    `filter=total,gte,1&filter=total,lt,5&filter=total,notNull&${NONE}`,
  ],
  ['a list of values', { filter: { name: { in: ['a,b', 'c'] } } }, `filter=name,in,a\\,b,c&${NONE}`],
  ['no list of values', { filter: { name: { in: [] } } }, undefined],
  ['a backslash in a list', { filter: { name: { in: ['a\\', 'b;'] } } }, `filter=name,in,a\\\\,b;&${NONE}`],
  ['a backslash elsewhere', { filter: { name: 'a\\,b' } }, `filter=name,eq,a\\,b&${NONE}`],
  [
    'a relation in a filter',
    { filter: { customer: { country: { name: 'Sweden' } } } },
    `filter=customer.country.name,eq,Sweden&${NONE}`,
  ],
  [
    'columns with the names of operators',
    { filter: { game: { matches: { eq: 3 }, in: { gt: 1 } } } },
    `filter=game.matches,eq,3&filter=game.in,gt,1&${NONE}`,
  ],
  ['json', { filter: { details: { eq: { a: 1 } } } }, undefined],
  ['$and', { filter: { $and: [{ a: 1 }, { b: { gt: 2 } }] } }, `filter=a,eq,1&filter=b,gt,2&${NONE}`],
  ['$or', { filter: { $or: [{ a: 'x;y' }, { b: { gt: 2 } }] } }, `or=a,eq,x\\;y;b,gt,2&${NONE}`],
  ['$or with a backslash', { filter: { $or: [{ a: 'x\\' }, { b: 1 }] } }, `or=a,eq,x\\\\;b,eq,1&${NONE}`],
  [
    '$or of a list with a backslash',
    { filter: { $or: [{ a: { in: ['x\\', ';,'] } }, { b: 1 }] } },
    `or=a,in,x\\\\,\\;\\,;b,eq,1&${NONE}`,
  ],
  ['$or of lists', { filter: { $or: [{ a: { in: ['1,2', '3'] } }, { b: 1 }] } }, `or=a,in,1\\,2,3;b,eq,1&${NONE}`],
  ['$or of several conditions', { filter: { $or: [{ a: 1, b: 2 }, { c: 3 }] } }, undefined],
  ['$or in an expanded list', { expand: { items: { filter: { $or: [{ a: 1 }, { b: 2 }] } } } }, undefined],
  ['$not', { filter: { $not: { a: 1 } } }, undefined],
  [
    'the rest',
    { size: 5, page: 2, count: 'none', after: undefined, sort: 'a' },
    `sort=a&size=5&page=2&count=none&${NONE}`,
  ],
];

for (const [what, query, string] of STRINGS)
  test(`${what} in a query string`, () => assert.equal(shown(query), string));

test('the body of _query', () => {
  const filter = {
    $or: [{ status: 'paid', note: null }, { customer: { country: { in: ['SE'] } } }],
    $not: { total: { eq: 5 } },
  };
  const expand = {
    items: { size: 5, sort: 'price', filter: { $not: { quantity: 1 } }, expand: { product: true } },
  } as const;
  assert.deepEqual(toBody({ filter, expand, sort: ['placedAt,desc'], size: 3 }), {
    expand: ['items', 'items.product'],
    fields: [],
    narrow: { items: { size: 5, sort: ['price'], filter: { not: { field: 'quantity', op: 'eq', value: 1 } } } },
    size: 3,
    sort: ['placedAt,desc'],
    filter: {
      and: [
        {
          or: [
            {
              and: [
                { field: 'status', op: 'eq', value: 'paid' },
                { field: 'note', op: 'isNull' },
              ],
            },
            { field: 'customer.country', op: 'in', value: ['SE'] },
          ],
        },
        { not: { field: 'total', op: 'eq', value: 5 } },
      ],
    },
  });
});

test('what would find more than was meant is refused', () => {
  assert.throws(() => toBody({ filter: { status: undefined } }), /filter: status is undefined/);
  assert.throws(() => toBody({ filter: { customer: { name: undefined } } }), /filter: customer.name is undefined/);
  assert.throws(() => toBody({ filter: { total: { gt: undefined } } }), /filter: total.gt is undefined/);
  assert.throws(() => toBody({ fields: [] }), /fields names no column/);
  assert.throws(() => toBody({ expand: { items: { fields: [] } } }), /fields names no column/);
});
