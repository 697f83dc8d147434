// A property: whatever `fields` and `expand` ask for, the answer has exactly the members that its type has.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { LooseQuery } from '../../client/src/body.ts';
import { DEMO_SCHEMA } from '../../src/bootstrap/demo.ts';
import { useDemo } from './demo.ts';

const demo = useDemo();

type Name = keyof typeof DEMO_SCHEMA.entities;
interface Model {
  readonly columns: readonly string[];
  readonly relations: Readonly<Record<string, { readonly entity: Name; readonly isList: boolean }>>;
}

/** As `wda types` reads the schema. */
const MODELS = Object.fromEntries(
  Object.entries(DEMO_SCHEMA.entities).map(([name, entity]): [string, Model] => {
    const {
      fields = {},
      relations,
      timestamps,
    } = entity as { fields?: object; relations: object; timestamps?: boolean };
    const all = Object.entries(relations as Record<string, { kind: string; entity: Name }>);
    const keys = all.filter(([, { kind }]) => kind === 'belongsTo').map(([relation]) => `${relation}Id`);
    const stamps = timestamps ? ['createdAt', 'updatedAt'] : [];
    return [
      name,
      {
        columns: ['id', ...Object.keys(fields), ...keys, ...stamps],
        relations: Object.fromEntries(
          all.map(([relation, { kind, entity: to }]) => [relation, { entity: to, isList: kind !== 'belongsTo' }]),
        ),
      },
    ];
  }),
) as Record<Name, Model>;

/** A query of an entity, of so many levels at most. */
function queries(name: Name, levels: number): fc.Arbitrary<LooseQuery> {
  const { columns, relations } = MODELS[name];
  const parts = Object.entries(levels === 0 ? {} : relations).map(([relation, { entity, isList }]) => {
    const part = fc.tuple(
      queries(entity, levels - 1),
      fc.constantFrom<object>(...(isList ? [{}, { size: 2 }, { sort: 'id,desc', filter: { $not: { id: 3 } } }] : [{}])),
    );
    return [
      relation,
      fc.oneof(
        fc.constant(true as const),
        part.map(([query, narrowing]) => ({ ...query, ...narrowing })),
      ),
    ] as const;
  });
  const fields = fc.subarray([...columns], { minLength: 1 });
  const expand = fc.record(Object.fromEntries(parts), { requiredKeys: [] });
  return fc.record({ fields, expand }, { requiredKeys: [] }) as fc.Arbitrary<LooseQuery>;
}

/** The members that the record must have are those that it has, and so on below them. */
function check(record: Readonly<Record<string, unknown>>, name: Name, { fields, expand = {} }: LooseQuery): void {
  const { columns, relations } = MODELS[name];
  assert.deepEqual(Object.keys(record).sort(), [...(fields ?? columns), ...Object.keys(expand)].sort());
  for (const [relation, part] of Object.entries(expand)) {
    const { entity, isList } = relations[relation] as Model['relations'][string];
    const value = record[relation];
    assert.equal(Array.isArray(value), isList);
    for (const one of [value].flat()) check(one as never, entity, part === true ? {} : part);
  }
}

test('answers have the members of their types', async () => {
  const names = Object.keys(MODELS) as Name[];
  const drawn = fc.constantFrom(...names).chain((name) => fc.tuple(fc.constant(name), queries(name, 3), fc.boolean()));
  await fc.assert(
    fc.asyncProperty(drawn, async ([name, query, isPost]) => {
      const entity = demo.client().entity(name as 'orders');
      const { data } = await (isPost ? entity.query(query as never) : entity.list(query as never));
      assert.ok(data.length > 0 || name === 'orderTags');
      for (const record of data) check(record as never, name, query);
    }),
    { numRuns: 150 },
  );
});
