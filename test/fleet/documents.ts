// Four versions of one schema: a new name of an entity and a field, another type and a required field, a value less.

const STRING = { type: 'string' };

/** Entities that no version changes, so that a workspace has `count` of them. */
const buildFillers = (count: number) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, index) => [
      `area${index}`,
      {
        fields: {
          name: { ...STRING, required: true },
          size: { type: 'integer', index: true },
          at: { type: 'datetime' },
        },
      },
    ]),
  );

/** Returns the versions, in order. `entities`: how many each has. */
export function buildVersions(entities: number): readonly { readonly entities: Record<string, object> }[] {
  const others = { customers: { fields: { name: { ...STRING, required: true } } }, ...buildFillers(entities - 2) };
  const relations = { customer: { kind: 'belongsTo', entity: 'customers' } };
  const status = (...values: string[]) => ({ type: 'enum', values });
  const all = status('open', 'closed', 'spam');
  const converted = { priority: { type: 'integer' }, channel: { ...STRING, required: true, default: 'mail' } };
  return [
    { tickets: { fields: { title: STRING, priority: STRING, status: all }, relations } },
    {
      issues: {
        renamedFrom: 'tickets',
        fields: { subject: { ...STRING, renamedFrom: 'title' }, priority: STRING, status: all },
        relations,
      },
    },
    { issues: { fields: { subject: STRING, ...converted, status: all }, relations } },
    { issues: { fields: { subject: STRING, ...converted, status: status('open', 'closed') }, relations } },
  ].map((entities) => ({ entities: { ...entities, ...others } }));
}

/** The last version with one more column. */
export function addColumn(version: { readonly entities: Record<string, object> }, field: string) {
  const issues = version.entities.issues as { readonly fields: object };
  return { entities: { ...version.entities, issues: { ...issues, fields: { ...issues.fields, [field]: STRING } } } };
}
