// The OpenAPI document of a small workspace, as far as types are made of it.

interface Leads {
  readonly kind: string;
  readonly entity: string;
  readonly isList: boolean;
  readonly isNullable: boolean;
  readonly key?: string;
}

const id = { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER, readOnly: true };
const reads = (
  entity: string,
  properties: object,
  relations: Readonly<Record<string, Leads>> = {},
  description = `A record of ${entity}.`,
) => ({
  type: 'object',
  description,
  properties: { id, ...properties, ...Object.fromEntries(Object.keys(relations).map((name) => [name, {}])) },
  'x-wda': { entity, expandDepth: 3, relations },
});

export const smallDescription = () => ({
  openapi: '3.1.1',
  info: { title: 'acme/my-shop', version: '1' },
  'x-wda': { organization: 'acme', workspace: 'my-shop', selection: 'free', principal: 'owner', mayWrite: true },
  components: {
    schemas: {
      'customers.Read': reads('customers', {
        name: { type: 'string', description: 'Given  name */ and\n family name' },
        balance: { type: ['number', 'null'], format: 'decimal', 'x-wda': { type: 'decimal', precision: 16, scale: 2 } },
        visits: { type: 'integer', minimum: Number.MIN_SAFE_INTEGER - 1, maximum: 9, 'x-wda': { type: 'bigint' } },
      }),
      'customers.Create': {
        required: ['name'],
        properties: {
          name: { type: 'string' },
          balance: { type: ['number', 'string', 'null'] },
          visits: { type: ['integer', 'string'], description: 'Left out: 0.' },
        },
      },
      'customers.Update': { properties: { name: { type: 'string' } } },
      'orders.Read': reads(
        'orders',
        {
          status: { type: ['string', 'null'], enum: ['open', "it's", 'a\\b', null] },
          total: { type: 'number', format: 'decimal', 'x-wda': { type: 'decimal', precision: 15, scale: 2 } },
          weight: { type: 'number', format: 'double' },
          details: { description: 'Anything' },
          gift: { type: 'boolean' },
          customerId: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
          'full-text': { type: 'string' },
        },
        {
          customer: { kind: 'belongsTo', entity: 'customers', isList: false, isNullable: false, key: 'customerId' },
          gifted: { kind: 'hasOne', entity: 'orders', isList: false, isNullable: true },
          parts: { kind: 'hasMany', entity: 'orders', isList: true, isNullable: false },
        },
        'What was ordered',
      ),
      'orders.Create': {
        required: ['customerId', 'total'],
        properties: { total: { type: ['number', 'string'] }, customerId: { type: 'integer' } },
      },
      'orders.Update': { properties: { total: { type: ['number', 'string'] }, customerId: { type: 'integer' } } },
      'logs.Read': reads('logs', {}),
      'wda.Meta': { type: 'object', properties: { page: { type: 'integer' } } },
    },
  },
});
