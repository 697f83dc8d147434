// The makers of schemas against those of typebox, whose types they have.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import TypeBox from 'typebox';
import { Type } from '../../../src/schema/type.ts';

const name = { description: 'A name' };

/** The same calls of either. */
const schemasOf = (maker: typeof Type): readonly object[] => {
  const text = maker.String({ ...name, minLength: 1 });
  return [
    text,
    maker.Number({ minimum: 0 }),
    maker.Integer(),
    maker.Boolean(name),
    maker.Array(text, { maxItems: 3 }),
    maker.Union([text, maker.Integer()], name),
    maker.Unsafe<null>({ type: 'null' }),
    maker.Object({}),
    maker.Object({ text: maker.Optional(text), deep: maker.Object({ text }) }, { additionalProperties: false }),
    maker.Object({ a: maker.Optional(maker.Unsafe<1>({ const: 1 })) }),
  ];
};

test('a schema has the members that typebox gives it, in their order', () => {
  const made = schemasOf(Type).map((schema) => JSON.stringify(schema));
  assert.deepEqual(
    made,
    schemasOf(TypeBox).map((schema) => JSON.stringify(schema)),
  );
});

test('what is optional in one object is required in another that has it as it is', () => {
  const text = Type.String();
  Type.Object({ text: Type.Optional(text) });
  assert.deepEqual(Type.Object({ text }).required, ['text']);
});
