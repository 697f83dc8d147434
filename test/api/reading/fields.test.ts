// Field selection: exactly what is named comes back, at every level.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { use, useServer } from '../../support/resources.ts';
import { runScenarios } from '../../support/scenario.ts';
import { COUNTRIES, CUSTOMERS, makeShop } from '../../support/shop.ts';

const server = useServer();
const shop = use(() => makeShop(server));

const country = (id: number) => ({ id, ...COUNTRIES[id - 1] });
const customer = (id: number) => ({ id, ...CUSTOMERS[id - 1] });

runScenarios(shop, [
  { name: 'without fields every column comes back', path: 'customers/1', status: 200, data: customer(1) },
  {
    name: 'fields returns only what it names',
    path: 'customers/1?fields=name,email',
    status: 200,
    data: { name: 'Ada Lovelace', email: 'ada@example.com' },
  },
  { name: 'the id comes back only when it is named', path: 'customers/1?fields=id', status: 200, data: { id: 1 } },
  {
    name: 'lists select as records do',
    path: 'tags?fields=name&size=2',
    status: 200,
    data: [{ name: 'gift' }, { name: 'express' }],
  },
  { name: 'a foreign key is a field', path: 'orders/3?fields=customerId', status: 200, data: { customerId: 2 } },
  {
    name: 'timestamps are fields',
    path: 'products/1?fields=createdAt',
    status: 200,
    check: ({ json }) => assert.deepEqual(Object.keys(json.data), ['createdAt']),
  },
  {
    name: 'fields given twice is joined',
    path: 'customers/1?fields=name&fields=vip',
    status: 200,
    data: { name: 'Ada Lovelace', vip: true },
  },
  { name: 'naming a field twice is naming it', path: 'customers/1?fields=vip,vip', status: 200, data: { vip: true } },
  {
    name: 'spaces around names do not matter',
    path: 'customers/1?fields=%20vip,%20id+',
    status: 200,
    data: { vip: true, id: 1 },
  },
  { name: 'an empty fields returns all columns', path: 'customers/1?fields=', status: 200, data: customer(1) },
  {
    name: 'an empty fields keeps expanded relationships',
    path: 'customers/1?fields=&expand=country',
    status: 200,
    data: { ...customer(1), country: country(1) },
  },
  {
    name: 'a relationship without a dot is all of the expanded record',
    path: 'customers/1?expand=country&fields=id,country',
    status: 200,
    data: { id: 1, country: country(1) },
  },
  {
    name: 'with a dot it is limited to the named fields',
    path: 'customers/1?expand=country&fields=id,country.code',
    status: 200,
    data: { id: 1, country: { code: 'GB' } },
  },
  {
    name: 'top-level fields that are not named are left out',
    path: 'customers/1?expand=country&fields=country.code',
    status: 200,
    data: { country: { code: 'GB' } },
  },
  {
    name: 'a relationship that is expanded and not named is left out',
    path: 'customers/1?expand=country,orders&fields=vip',
    status: 200,
    data: { vip: true },
  },
  {
    name: 'a relationship named both ways is all of it',
    path: 'customers/1?expand=country&fields=country,country.code',
    status: 200,
    data: { country: country(1) },
  },
  {
    name: 'also when the dotted form comes first',
    path: 'customers/1?expand=country&fields=country.code,country',
    status: 200,
    data: { country: country(1) },
  },
  {
    name: 'fields of lists',
    path: 'customers/1?expand=orders&fields=name,orders.status,orders.id',
    status: 200,
    data: {
      name: 'Ada Lovelace',
      orders: [
        { status: 'paid', id: 1 },
        { status: 'open', id: 2 },
        { status: 'open', id: 7 },
      ],
    },
  },
  {
    name: 'fields of a many-to-many relationship',
    path: 'orders/3?expand=tags&fields=tags.name',
    status: 200,
    data: { tags: [{ name: 'gift' }, { name: 'express' }] },
  },
  {
    name: 'fields at every level',
    path: 'orders/1?expand=customer.country,items.product&fields=id,customer.name,customer.country.code,items.product.sku',
    status: 200,
    data: {
      id: 1,
      customer: { name: 'Ada Lovelace', country: { code: 'GB' } },
      items: [{ product: { sku: 'MUG-01' } }, { product: { sku: 'TEA-02' } }],
    },
  },
  {
    name: 'naming a relationship takes what is expanded below it along',
    path: 'orders/1?expand=customer.country&fields=customer',
    status: 200,
    data: { customer: { ...customer(1), country: country(1) } },
  },
  {
    name: 'naming fields of it leaves out what is expanded below it',
    path: 'orders/1?expand=customer.country&fields=customer.id',
    status: 200,
    data: { customer: { id: 1 } },
  },
  {
    name: 'a null relationship stays null',
    path: 'customers/4?expand=country&fields=country.code',
    status: 200,
    data: { country: null },
  },
  {
    name: 'an expanded record keeps the fields that are only keys',
    path: 'orders/3?expand=customer&fields=customer',
    status: 200,
    data: { customer: customer(2) },
  },
  {
    name: 'lists page, sort, filter and select at once',
    path: 'orders?filter=status,eq,open&sort=placedAt,desc&size=2&page=1&expand=customer&fields=id,customer.name',
    status: 200,
    data: [{ id: 2, customer: { name: 'Ada Lovelace' } }],
    meta: { page: 1, size: 2, totalElements: 3, totalPages: 2 },
  },
  {
    name: 'sort, filter and cursor need no selected field',
    path: 'orders?fields=note&sort=total,desc&size=1&filter=total,lt,100&count=none',
    status: 200,
    data: [{ note: null }],
    check: ({ json }) => assert.equal(typeof json.meta.nextCursor, 'string'),
  },
  { name: 'a star is every column', path: 'customers/1?fields=*&expand=country', status: 200, data: customer(1) },
  {
    name: 'a star of an expanded record, beside others',
    path: 'orders/1?expand=customer.country&fields=id,customer.*,customer.country.code',
    status: 200,
    data: { id: 1, customer: { ...customer(1), country: { code: 'GB' } } },
  },
  {
    name: 'a star in _query',
    method: 'POST',
    path: 'customers/_query',
    body: { size: 1, expand: ['country'], fields: ['*', 'country.code'] },
    status: 200,
    data: [{ ...customer(1), country: { code: 'GB' } }],
  },
  {
    name: 'a star in _export',
    path: 'tags/_export?fields=name,*',
    status: 200,
    check: ({ text }) => assert.match(text, /^name,id\r?\ngift,1\r?\n/),
  },
  { name: 'a star that is no field to sort by', path: 'customers?sort=*', status: 400, code: 'BAD_REQUEST' },
  { name: 'fields of a record that does not exist', path: 'orders/99?fields=id', status: 404, code: 'NOT_FOUND' },
]);

test('fields come in the order asked for', async () => {
  const { text } = await shop.call('customers/1?expand=country&fields=vip,country.name,country.code,id');
  assert.equal(text, '{"data":{"vip":true,"country":{"name":"United Kingdom","code":"GB"},"id":1}}');
});

test('a whole record has its columns in the order of the schema, id first', async () => {
  const { text } = await shop.call('orders/1');
  assert.equal(
    text,
    '{"data":{"id":1,"status":"paid","total":22.40,"placedAt":"2026-01-05T09:30:00Z","note":"Wrap it, please","customerId":1}}',
  );
});

runScenarios(shop, [
  {
    name: 'an unknown field is named with its entity, a suggestion and what there is',
    path: 'customers?fields=nmae',
    status: 400,
    code: 'BAD_REQUEST',
    message:
      'Unknown field nmae on entity customers. Did you mean name? Known: id, name, email, vip, joinedOn, rating, countryId, referredBy, country, referrer, referrals, profile, orders',
  },
  {
    name: 'field names are case-sensitive',
    path: 'customers/1?fields=Name',
    status: 400,
    code: 'BAD_REQUEST',
    message: /Did you mean name\?/,
  },
  {
    name: 'an unknown field of an expanded record is named with the entity it was looked for on',
    path: 'orders?expand=customer&fields=customer.nothing',
    status: 400,
    code: 'BAD_REQUEST',
    message: /^Unknown field nothing on entity customers\./,
  },
  {
    name: 'a relationship that is not expanded',
    path: 'orders?fields=customer',
    status: 400,
    code: 'BAD_REQUEST',
    message: 'fields: customer is a relation that is not expanded; add expand=customer',
  },
  {
    name: 'a field of a relationship that is not expanded',
    path: 'orders?fields=id,customer.name',
    status: 400,
    code: 'BAD_REQUEST',
    message: 'fields: customer is a relation that is not expanded; add expand=customer',
  },
  {
    name: 'a nested relationship that is not expanded',
    path: 'orders?expand=customer&fields=customer.country.code',
    status: 400,
    code: 'BAD_REQUEST',
    message: 'fields: customer.country is a relation that is not expanded; add expand=customer.country',
  },
  {
    name: 'a relationship that an empty expand leaves unexpanded',
    path: 'orders?expand=&fields=customer',
    status: 400,
    code: 'BAD_REQUEST',
  },
  {
    name: 'a field has nothing below it',
    path: 'customers?fields=name.first',
    status: 400,
    code: 'BAD_REQUEST',
    message: 'fields: name is a field of customers, not a relation, and has nothing below it',
  },
  { name: 'also a field of type json', path: 'products?fields=details.colour', status: 400, code: 'BAD_REQUEST' },
]);

for (const fields of ['name,', ',name', 'name,,vip', 'name.', '.name', 'a..b', '.', ',']) {
  runScenarios(shop, [
    {
      name: `fields=${fields} is malformed`,
      path: `customers?fields=${fields}`,
      status: 400,
      code: 'BAD_REQUEST',
      message: /^fields is malformed: /,
    },
  ]);
}
for (const name of [
  '__proto__',
  'constructor',
  'hasOwnProperty',
  'toString',
  'id*',
  'id"',
  "id'",
  'id;',
  '$row',
  'xmin',
  'ctid',
  'tableoid',
]) {
  for (const parameter of ['fields', 'expand', 'sort', 'filter']) {
    const value = encodeURIComponent(parameter === 'filter' ? `${name},eq,1` : name);
    runScenarios(shop, [
      {
        name: `${parameter} names ${name}, which is nothing`,
        path: `customers?${parameter}=${value}`,
        status: 400,
        code: 'BAD_REQUEST',
        message: /^Unknown (field|relation) /,
      },
      {
        name: `${parameter} names ${name} behind a relationship`,
        path: `orders?expand=customer&${parameter}=${encodeURIComponent('customer.')}${value}`,
        status: 400,
        code: 'BAD_REQUEST',
      },
    ]);
  }
}
