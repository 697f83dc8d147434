// Each function of an aggregate, and groups, on each field type that they fit. A type or a function without its line does not
// compile.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { numberText, parseExact } from '../../../src/model/exact-json.ts';
import { FIELD_TYPE_NAMES, type FieldTypeName } from '../../../src/model/field-types.ts';
import { type AggregateFunction, FUNCTION_NAMES } from '../../../src/request/aggregate-terms.ts';
import { averageOf, exactOf, sumOf, textOf } from '../../support/aggregate-model.ts';
import { prepare, use, useServer } from '../../support/resources.ts';
import { TYPE_SAMPLES, type TypeSample } from '../../support/type-samples.ts';

const SCHEMA = {
  entities: Object.fromEntries(
    FIELD_TYPE_NAMES.map((type) => [`${type}s`, { fields: { value: { type, ...TYPE_SAMPLES[type].attributes } } }]),
  ),
};

const server = useServer();
const workspace = use(() => server.workspace('acme/matrix', SCHEMA));
const headers = { 'content-type': 'application/json' };
/** Of each type every value, null, and the first value again. */
const storedOf = ({ values }: TypeSample): readonly string[] => [...values, values[0] as string];
prepare(async () => {
  for (const type of FIELD_TYPE_NAMES) {
    for (const value of [...storedOf(TYPE_SAMPLES[type]), 'null']) {
      const answer = await workspace.call(`${type}s`, { method: 'POST', headers, body: `{"value":${value}}` });
      assert.equal(answer.status, 201, answer.text);
    }
  }
});

const NUMBERS: readonly FieldTypeName[] = ['integer', 'bigint', 'decimal', 'float'];
const ORDERED: readonly FieldTypeName[] = FIELD_TYPE_NAMES.filter((type) => type !== 'boolean' && type !== 'json');

interface Line {
  readonly types: readonly FieldTypeName[];
  /** JSON text of the result. */
  readonly of: (sample: TypeSample, type: FieldTypeName) => string;
}

const exacts = (sample: TypeSample) => storedOf(sample).map(exactOf);

const FUNCTIONS: Readonly<Record<AggregateFunction, Line>> = {
  count: { types: FIELD_TYPE_NAMES, of: (sample) => String(storedOf(sample).length) },
  countDistinct: { types: FIELD_TYPE_NAMES, of: ({ values }) => String(values.length) },
  sum: { types: NUMBERS, of: (sample) => textOf(sumOf(exacts(sample))) },
  avg: {
    types: NUMBERS,
    of: (sample) => textOf(averageOf(exacts(sample), sumOf(exacts(sample)).scale + 6)),
  },
  min: { types: ORDERED, of: ({ values }) => values[0] as string },
  max: { types: ORDERED, of: ({ values }) => values.at(-1) as string },
};

/** The value of the only member of the only group, as JSON text with all its digits. */
function resultOf(text: string): string {
  const [group] = (parseExact(text) as { data: Record<string, unknown>[] }).data;
  const [value] = Object.values(group as object);
  return numberText(value) ?? JSON.stringify(value);
}

// Which function and which group fits which type, and how the others are refused, is in test/unit/plan/aggregate.test.ts.
for (const type of FIELD_TYPE_NAMES) {
  for (const word of FUNCTION_NAMES) {
    const { types, of } = FUNCTIONS[word];
    if (!types.includes(type)) continue;
    test(`${word} of ${type}`, async () => {
      const { status, text } = await workspace.call(`${type}s/_aggregate?select=${word}:value`);
      assert.equal(status, 200, text);
      assert.equal(resultOf(text), of(TYPE_SAMPLES[type], type));
    });
  }

  if (type === 'json') continue;
  test(`groups of ${type}`, async () => {
    const { text } = await workspace.call(`${type}s/_aggregate?select=count&group=value`);
    const groups = (parseExact(text) as { data: { value: unknown; count: number }[] }).data;
    const { values } = TYPE_SAMPLES[type];
    assert.deepEqual(
      groups.map(({ value, count }) => [numberText(value) ?? JSON.stringify(value), count]),
      [...values.map((value, place) => [value, place === 0 ? 2 : 1]), ['null', 1]],
    );
  });
}
