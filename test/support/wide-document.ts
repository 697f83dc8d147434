// A schema document of many entities, as large workspaces have them: every type, descriptions, relations to neighbours.

// A column of one name has one type throughout, as people name them.
const COLUMNS: readonly (readonly [name: string, type: string])[] = [
  ...['name', 'title', 'email', 'phone', 'street', 'city', 'country', 'code', 'colour'].map(
    (name) => [name, 'string'] as const,
  ),
  ...['note', 'remark', 'summary'].map((name) => [name, 'text'] as const),
  ...['quantity', 'weight', 'position', 'rank'].map((name) => [name, 'integer'] as const),
  ...['price', 'total', 'amount', 'discount'].map((name) => [name, 'decimal'] as const),
  ...['active', 'visible', 'paid'].map((name) => [name, 'boolean'] as const),
  ...['startsOn', 'endsOn', 'bornOn'].map((name) => [name, 'date'] as const),
  ...['placedAt', 'seenAt', 'sentAt'].map((name) => [name, 'datetime'] as const),
  ['views', 'bigint'],
  ['rating', 'float'],
  ['token', 'uuid'],
  ['details', 'json'],
];

/** So many entities of 17 columns. */
export function wideDocument(count: number): unknown {
  const entityOf = (index: number) => ({
    description: `Things of kind ${index}`,
    fields: {
      ...Object.fromEntries(
        Array.from({ length: 14 }, (_, column) => {
          const [name, type] = COLUMNS[(index * 5 + column * 3) % COLUMNS.length] as readonly [string, string];
          return [name, { type, required: column < 4 }];
        }),
      ),
      status: { type: 'enum', values: ['open', 'paid', 'shipped'], default: 'open' },
    },
    relations: {
      ...(index === 0 ? {} : { parent: { kind: 'belongsTo', entity: `entity${index - 1}` } }),
      ...(index === count - 1
        ? {}
        : { children: { kind: 'hasMany', entity: `entity${index + 1}`, inverse: 'parent' } }),
    },
  });
  return {
    entities: Object.fromEntries(Array.from({ length: count }, (_, index) => [`entity${index}`, entityOf(index)])),
  };
}
