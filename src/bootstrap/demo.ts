// The demo workspace: its schema document and its records, as values, for a first look at the product.

/** Customers who place orders of products, with tags on the orders. */
export const DEMO_SCHEMA = {
  entities: {
    customers: {
      description: 'People who buy',
      fields: {
        name: { type: 'string', required: true, maxLength: 200 },
        email: { type: 'string', unique: true, maxLength: 320 },
        country: { type: 'string', index: true, maxLength: 2 },
      },
      relations: { orders: { kind: 'hasMany', entity: 'orders', inverse: 'customer' } },
      timestamps: true,
    },
    products: {
      description: 'What is for sale',
      fields: {
        sku: { type: 'string', required: true, unique: true, maxLength: 20 },
        title: { type: 'string', required: true, maxLength: 200 },
        price: { type: 'decimal', precision: 10, scale: 2, min: 0, required: true },
        inStock: { type: 'boolean', default: true },
      },
      relations: { items: { kind: 'hasMany', entity: 'orderItems', inverse: 'product' } },
    },
    orders: {
      description: 'What a customer has ordered',
      fields: {
        status: { type: 'enum', values: ['open', 'paid', 'shipped'], default: 'open', index: true },
        total: { type: 'decimal', precision: 12, scale: 2, min: 0 },
        placedAt: { type: 'datetime', default: 'now' },
        note: { type: 'text' },
      },
      relations: {
        customer: { kind: 'belongsTo', entity: 'customers', required: true, onDelete: 'restrict' },
        items: { kind: 'hasMany', entity: 'orderItems', inverse: 'order' },
        tags: { kind: 'manyToMany', entity: 'tags', through: 'orderTags', from: 'order', to: 'tag' },
      },
    },
    orderItems: {
      description: 'One line of an order',
      fields: {
        quantity: { type: 'integer', required: true, min: 1 },
        price: { type: 'decimal', precision: 10, scale: 2, min: 0, required: true },
      },
      relations: {
        order: { kind: 'belongsTo', entity: 'orders', required: true, onDelete: 'cascade' },
        product: { kind: 'belongsTo', entity: 'products', required: true },
      },
    },
    tags: {
      fields: { name: { type: 'string', required: true, unique: true, maxLength: 50 } },
      relations: { orders: { kind: 'manyToMany', entity: 'orders', through: 'orderTags', from: 'tag', to: 'order' } },
    },
    orderTags: {
      description: 'Which order has which tag',
      relations: {
        order: { kind: 'belongsTo', entity: 'orders', required: true, onDelete: 'cascade' },
        tag: { kind: 'belongsTo', entity: 'tags', required: true, onDelete: 'cascade' },
      },
    },
  },
} as const;

/** Records by entity, in an order that references allow; ids are 1, 2, … in each. */
export const DEMO_RECORDS: readonly (readonly [entity: string, records: readonly Record<string, unknown>[]])[] = [
  [
    'customers',
    [
      { name: 'Ada Lovelace', email: 'ada@example.com', country: 'GB' },
      { name: 'Zoë Åkesson', email: 'zoe@example.com', country: 'SE' },
      { name: 'Grace Hopper', email: 'grace@example.com', country: 'US' },
      { name: 'Émile Durand', email: 'emile@example.com', country: 'FR' },
      { name: 'Özge Yılmaz', email: 'ozge@example.com', country: 'TR' },
    ],
  ],
  [
    'products',
    [
      { sku: 'MUG-01', title: 'Mug', price: 9.5 },
      { sku: 'TEA-02', title: 'Green tea, 100 g', price: 12.9 },
      { sku: 'POT-03', title: 'Tea pot', price: 34 },
      { sku: 'TRY-04', title: 'Oak tray', price: 27.25, inStock: false },
    ],
  ],
  ['tags', [{ name: 'gift' }, { name: 'express' }, { name: 'wholesale' }]],
  [
    'orders',
    [
      { customerId: 1, status: 'paid', total: 22.4, placedAt: '2026-01-05T09:30:00Z', note: 'Wrap it, please' },
      { customerId: 1, status: 'open', total: 34, placedAt: '2026-02-11T17:05:00Z' },
      { customerId: 2, status: 'shipped', total: 46.9, placedAt: '2026-02-14T08:00:00Z' },
      { customerId: 3, status: 'paid', total: 95, placedAt: '2026-03-01T12:45:30Z' },
      { customerId: 4, status: 'open', total: 27.25, placedAt: '2026-03-02T19:20:00Z' },
      { customerId: 5, status: 'shipped', total: 19, placedAt: '2026-03-08T06:10:00Z' },
    ],
  ],
  [
    'orderItems',
    [
      { orderId: 1, productId: 1, quantity: 1, price: 9.5 },
      { orderId: 1, productId: 2, quantity: 1, price: 12.9 },
      { orderId: 2, productId: 3, quantity: 1, price: 34 },
      { orderId: 3, productId: 2, quantity: 1, price: 12.9 },
      { orderId: 3, productId: 3, quantity: 1, price: 34 },
      { orderId: 4, productId: 1, quantity: 10, price: 9.5 },
      { orderId: 5, productId: 4, quantity: 1, price: 27.25 },
      { orderId: 6, productId: 1, quantity: 2, price: 9.5 },
    ],
  ],
  [
    'orderTags',
    [
      { orderId: 1, tagId: 1 },
      { orderId: 3, tagId: 1 },
      { orderId: 3, tagId: 2 },
      { orderId: 4, tagId: 3 },
    ],
  ],
];
