// The shop that tests know: customers with orders of items, and tags on them. The shop of the API tests (shop.ts), the
// snapshot that the pure modules plan against (fixture.ts) and the document that migrations change
// (test/unit/migrations/exact-shop.ts) are this one with what each of them looks at besides.
export const SHOP = {
  customers: {
    fields: {
      name: { type: 'string', required: true, maxLength: 40 },
      email: { type: 'string', unique: true },
    },
    relations: {
      profile: { kind: 'hasOne', entity: 'profiles', inverse: 'customer' },
      orders: { kind: 'hasMany', entity: 'orders', inverse: 'customer' },
    },
  },
  profiles: {
    fields: { bio: { type: 'text' } },
    relations: {
      customer: { kind: 'belongsTo', entity: 'customers', required: true, unique: true, onDelete: 'cascade' },
    },
  },
  orders: {
    fields: {
      status: { type: 'enum', values: ['open', 'paid', 'shipped'], default: 'open' },
      total: { type: 'decimal', precision: 12, scale: 2, min: 0 },
      placedAt: { type: 'datetime' },
    },
    relations: {
      customer: { kind: 'belongsTo', entity: 'customers', required: true },
      items: { kind: 'hasMany', entity: 'items', inverse: 'order' },
      tags: { kind: 'manyToMany', entity: 'tags', through: 'orderTags', from: 'order', to: 'tag' },
    },
  },
  items: {
    fields: { quantity: { type: 'integer', required: true, min: 1, max: 1000 } },
    relations: { order: { kind: 'belongsTo', entity: 'orders', required: true, onDelete: 'cascade' } },
  },
  tags: {
    fields: { name: { type: 'string', required: true } },
    relations: { orders: { kind: 'manyToMany', entity: 'orders', through: 'orderTags', from: 'tag', to: 'order' } },
  },
  orderTags: {
    relations: {
      order: { kind: 'belongsTo', entity: 'orders', required: true, onDelete: 'cascade' },
      tag: { kind: 'belongsTo', entity: 'tags', required: true, onDelete: 'cascade' },
    },
  },
} as const;
