// The workspaces that API tests talk to: a shop with every kind of relation, and an entity with every type of field.
// Ids are 1, 2, … in the order of the lists below.
import type { TestServer, TestWorkspace } from './server.ts';
import { SHOP } from './shop-document.ts';

/** belongsTo, hasMany, hasOne, manyToMany, an entity related to itself both ways, and each way of deleting. */
export const SHOP_SCHEMA = {
  entities: {
    countries: {
      fields: {
        code: { type: 'string', unique: true, maxLength: 2 },
        name: { type: 'string' },
        population: { type: 'bigint' },
      },
      relations: { customers: { kind: 'hasMany', entity: 'customers', inverse: 'country' } },
    },
    customers: {
      fields: {
        ...SHOP.customers.fields,
        vip: { type: 'boolean', default: false },
        joinedOn: { type: 'date' },
        rating: { type: 'float' },
      },
      relations: {
        country: { kind: 'belongsTo', entity: 'countries', onDelete: 'setNull' },
        referrer: { kind: 'belongsTo', entity: 'customers', column: 'referredBy', onDelete: 'setNull' },
        referrals: { kind: 'hasMany', entity: 'customers', inverse: 'referrer' },
        ...SHOP.customers.relations,
      },
    },
    profiles: SHOP.profiles,
    products: {
      fields: {
        sku: { type: 'string', required: true, unique: true },
        title: { type: 'string', required: true },
        price: { type: 'decimal', precision: 10, scale: 2, min: 0 },
        details: { type: 'json' },
      },
      relations: { items: { kind: 'hasMany', entity: 'items', inverse: 'product' } },
      timestamps: true,
    },
    orders: { ...SHOP.orders, fields: { ...SHOP.orders.fields, note: { type: 'text' } } },
    items: {
      ...SHOP.items,
      relations: { ...SHOP.items.relations, product: { kind: 'belongsTo', entity: 'products' } },
    },
    tags: SHOP.tags,
    orderTags: SHOP.orderTags,
  },
} as const;

export const COUNTRIES = [
  { code: 'GB', name: 'United Kingdom', population: 67596281 },
  { code: 'SE', name: 'Sweden', population: 10549347 },
  { code: 'TR', name: 'Türkiye', population: 85279553 },
] as const;

export const CUSTOMERS = [
  {
    name: 'Ada Lovelace',
    email: 'ada@example.com',
    vip: true,
    joinedOn: '2020-12-10',
    rating: 4.5,
    countryId: 1,
    referredBy: null,
  },
  {
    name: 'Zoë Åkesson',
    email: 'zoe@example.com',
    vip: false,
    joinedOn: '2021-02-28',
    rating: 3.25,
    countryId: 2,
    referredBy: 1,
  },
  {
    name: 'Özge Yılmaz',
    email: 'ozge@example.com',
    vip: true,
    joinedOn: null,
    rating: null,
    countryId: 3,
    referredBy: 1,
  },
  {
    name: 'émile durand',
    email: null,
    vip: false,
    joinedOn: '2021-02-28',
    rating: 4.5,
    countryId: null,
    referredBy: 2,
  },
  {
    name: 'Grace Hopper',
    email: 'grace@example.com',
    vip: null,
    joinedOn: '1999-12-31',
    rating: -1,
    countryId: 1,
    referredBy: null,
  },
  { name: 'Nobody', email: null, vip: false, joinedOn: null, rating: null, countryId: 2, referredBy: null },
] as const;

export const ORDERS = [
  { status: 'paid', total: 22.4, placedAt: '2026-01-05T09:30:00Z', note: 'Wrap it, please', customerId: 1 },
  { status: 'open', total: 34, placedAt: '2026-02-11T17:05:00.250Z', note: null, customerId: 1 },
  { status: 'shipped', total: 46.9, placedAt: '2026-02-14T08:00:00Z', note: '50% off; half', customerId: 2 },
  { status: 'paid', total: 95, placedAt: '2026-03-01T12:45:30Z', note: null, customerId: 3 },
  { status: 'open', total: null, placedAt: '2026-03-02T19:20:00Z', note: 'Straße', customerId: 4 },
  { status: 'shipped', total: 22.4, placedAt: null, note: 'ASAP', customerId: 5 },
  { status: 'open', total: 0, placedAt: '2026-03-09T00:00:00Z', note: '', customerId: 1 },
  { status: null, total: 12345678.9, placedAt: '2026-03-08T06:10:00Z', note: 'back\\slash', customerId: 2 },
] as const;

const PROFILES = [
  { bio: 'Wrote the first program', customerId: 1 },
  { bio: null, customerId: 2 },
];

const PRODUCTS = [
  { sku: 'MUG-01', title: 'Mug', price: 9.5, details: { colour: 'blue', sizes: [1, 2.5] } },
  { sku: 'TEA-02', title: 'Green tea, 100 g', price: 12.9, details: null },
  { sku: 'POT-03', title: 'Tea pot', price: 34, details: 'plain' },
  { sku: 'TRY-04', title: 'Oak tray', price: null, details: [] },
];

const ITEMS = [
  { quantity: 1, orderId: 1, productId: 1 },
  { quantity: 1, orderId: 1, productId: 2 },
  { quantity: 1, orderId: 2, productId: 3 },
  { quantity: 2, orderId: 3, productId: 2 },
  { quantity: 1, orderId: 3, productId: 3 },
  { quantity: 10, orderId: 4, productId: 1 },
  { quantity: 3, orderId: 5, productId: 4 },
  { quantity: 5, orderId: 6, productId: null },
];

const TAGS = [{ name: 'gift' }, { name: 'express' }, { name: 'wholesale' }, { name: 'unused' }];

const ORDER_TAGS = [
  { orderId: 1, tagId: 1 },
  { orderId: 3, tagId: 2 },
  { orderId: 3, tagId: 1 },
  { orderId: 4, tagId: 3 },
];

const SHOP_RECORDS: readonly (readonly [entity: string, records: readonly Readonly<Record<string, unknown>>[]])[] = [
  ['countries', COUNTRIES],
  ['customers', CUSTOMERS],
  ['profiles', PROFILES],
  ['products', PRODUCTS],
  ['orders', ORDERS],
  ['items', ITEMS],
  ['tags', TAGS],
  ['orderTags', ORDER_TAGS],
];

/** `samples`: every type without a constraint. `bounded`: every constraint. `defaults`: every default. */
export const TYPES_SCHEMA = {
  entities: {
    samples: {
      fields: {
        aString: { type: 'string' },
        aText: { type: 'text' },
        anInteger: { type: 'integer' },
        aBigint: { type: 'bigint' },
        aDecimal: { type: 'decimal', precision: 38, scale: 10 },
        aNumeric: { type: 'decimal' },
        aFloat: { type: 'float' },
        aBoolean: { type: 'boolean' },
        aDate: { type: 'date' },
        aDatetime: { type: 'datetime' },
        aUuid: { type: 'uuid' },
        aJson: { type: 'json' },
        anEnum: { type: 'enum', values: ['red', 'a,b', 'c;d', 'grün', 'Red'] },
      },
    },
    bounded: {
      fields: {
        code: { type: 'string', required: true, unique: true, maxLength: 3 },
        story: { type: 'text', maxLength: 5 },
        count: { type: 'integer', required: true, min: 1, max: 10 },
        big: { type: 'bigint', min: '-9007199254740993', max: '9007199254740993' },
        amount: { type: 'decimal', precision: 6, scale: 2, min: '-0.5', max: 999.5 },
        ratio: { type: 'float', min: 0, max: 1 },
        day: { type: 'date', min: '2020-01-01', max: '2029-12-31' },
        at: { type: 'datetime', min: '2020-01-01T00:00:00Z', max: '2029-12-31T23:59:59Z' },
      },
    },
    defaults: {
      fields: {
        aString: { type: 'string', default: 'it\'s "quoted" \\ and ü' },
        anInteger: { type: 'integer', default: 7 },
        aDecimal: { type: 'decimal', precision: 10, scale: 2, default: '1.50' },
        aBoolean: { type: 'boolean', default: true },
        aDate: { type: 'date', default: 'now' },
        aDatetime: { type: 'datetime', default: 'now' },
        aUuid: { type: 'uuid', default: 'uuid' },
        aJson: { type: 'json', default: { a: [1, null] } },
        anEnum: { type: 'enum', values: ['on', 'off'], default: 'off' },
        required: { type: 'integer', required: true, default: 0 },
      },
    },
  },
} as const;

/** The shop with its records. */
export async function makeShop(server: TestServer, path = 'acme/shop'): Promise<TestWorkspace> {
  const shop = await server.workspace(path, SHOP_SCHEMA);
  await fillShop(shop);
  return shop;
}

/** Puts the records into a workspace whose schema has the shop's entities, among others. */
export async function fillShop(workspace: TestWorkspace): Promise<void> {
  for (const [entity, records] of SHOP_RECORDS) await workspace.create(entity, records);
}
