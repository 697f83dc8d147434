// Every change of a type against PostgreSQL: what each value becomes, and which values are refused because the new type
// cannot hold them exactly. Both ways of changing a type must judge the same.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findCast } from '../../src/migrations/cast.ts';
import type { Field } from '../../src/model/entity.ts';
import { FIELD_TYPE_NAMES, type FieldTypeName } from '../../src/model/field-types.ts';
import { applySchema, assertTidy, type Json } from '../support/migration.ts';
import { useServer } from '../support/resources.ts';

let count = 0;
const server = useServer();

interface Pair {
  readonly from: Json;
  readonly to: Json;
  /** JSON text of a value -> JSON text of what it becomes, as the API shows it. */
  readonly becomes: Readonly<Record<string, string>>;
  readonly refused: readonly string[];
}

const quoted = (value: string): string => JSON.stringify(value);
const same = (...values: string[]): Record<string, string> => Object.fromEntries(values.map((value) => [value, value]));
const toText = (...values: string[]): Record<string, string> =>
  Object.fromEntries(values.map((value) => [value, quoted(value)]));
const fromText = (values: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(values).map(([value, becomes]) => [quoted(value), becomes]));

const T = Object.fromEntries(FIELD_TYPE_NAMES.map((type) => [type, { type }])) as Record<FieldTypeName, Json>;
const money = { type: 'decimal', precision: 5, scale: 2 };
const PAIRS: readonly Pair[] = [
  // Numbers.
  { from: T.integer, to: T.bigint, becomes: same('-2147483648', '0', '2147483647'), refused: [] },
  { from: T.integer, to: T.decimal, becomes: same('-2147483648', '0'), refused: [] },
  { from: T.integer, to: money, becomes: { '999': '999.00', '-1': '-1.00' }, refused: ['1000', '-1000'] },
  { from: T.integer, to: T.float, becomes: same('-2147483648', '2147483647'), refused: [] },
  { from: T.integer, to: T.boolean, becomes: { '0': 'false', '1': 'true' }, refused: ['2', '-1'] },
  { from: T.bigint, to: T.integer, becomes: same('-2147483648', '2147483647'), refused: ['2147483648', '-2147483649'] },
  { from: T.bigint, to: T.decimal, becomes: same('9223372036854775807'), refused: [] },
  { from: T.bigint, to: money, becomes: { '-999': '-999.00' }, refused: ['1000', '9223372036854775807'] },
  {
    from: T.bigint,
    to: T.float,
    becomes: { '9007199254740992': '9.007199254740992e+15', '-5': '-5' },
    refused: ['9007199254740993', '9223372036854775807'],
  },
  { from: T.bigint, to: T.boolean, becomes: { '0': 'false', '1': 'true' }, refused: ['2', '-1'] },
  {
    from: T.decimal,
    to: T.integer,
    becomes: { '5.00': '5', '-2147483648': '-2147483648' },
    refused: ['0.5', '2147483648', '1e300'],
  },
  {
    from: T.decimal,
    to: T.bigint,
    becomes: { '9223372036854775807': '9223372036854775807', '-1.0': '-1' },
    refused: ['9223372036854775808', '1e19', '-0.1'],
  },
  {
    from: T.decimal,
    to: money,
    becomes: { '1.5': '1.50', '999.990': '999.99' },
    refused: ['1000', '0.001', '999.995'],
  },
  { from: money, to: T.decimal, becomes: { '1.5': '1.50' }, refused: [] },
  { from: money, to: { type: 'decimal', precision: 7, scale: 2 }, becomes: { '999.99': '999.99' }, refused: [] },
  { from: money, to: { type: 'decimal', precision: 5, scale: 1 }, becomes: { '1.5': '1.5' }, refused: ['1.25'] },
  { from: money, to: { type: 'decimal', precision: 4, scale: 2 }, becomes: { '99.99': '99.99' }, refused: ['100'] },
  { from: money, to: { type: 'decimal', precision: 5 }, becomes: { '7': '7' }, refused: ['7.5'] },
  {
    from: T.decimal,
    to: T.float,
    becomes: { '0.1': '0.1', '1e300': '1e+300', '5': '5' },
    refused: ['0.10000000000000000001', '9007199254740993', `1${'0'.repeat(400)}`, `0.${'0'.repeat(400)}1`],
  },
  {
    from: T.float,
    to: T.integer,
    becomes: { '5': '5', '-2147483648': '-2147483648' },
    refused: ['0.5', '2147483648', '1e300'],
  },
  {
    from: T.float,
    to: T.bigint,
    becomes: { '9007199254740993': '9007199254740992', '1e18': '1000000000000000000' },
    refused: ['9.3e18', '0.5'],
  },
  { from: T.float, to: T.decimal, becomes: { '0.1': '0.1', '123456789.12345678': '123456789.12345678' }, refused: [] },
  { from: T.float, to: money, becomes: { '0.1': '0.10' }, refused: ['0.001', '1000'] },
  { from: T.boolean, to: T.integer, becomes: { true: '1', false: '0' }, refused: [] },
  { from: T.boolean, to: T.bigint, becomes: { true: '1', false: '0' }, refused: [] },
  // Dates.
  {
    from: T.date,
    to: T.datetime,
    becomes: {
      '"2024-02-29"': '"2024-02-29T00:00:00Z"',
      '"0001-01-01"': '"0001-01-01T00:00:00Z"',
      '"9999-12-31"': '"9999-12-31T00:00:00Z"',
    },
    refused: [],
  },
  {
    from: T.datetime,
    to: T.date,
    becomes: { '"2024-02-29T00:00:00Z"': '"2024-02-29"', '"2024-03-01T05:30:00+05:30"': '"2024-03-01"' },
    refused: ['"2024-02-29T00:00:00.001Z"', '"2024-02-29T23:59:59.999Z"', '"2024-02-29T00:00:00+01:00"'],
  },
  // As text.
  { from: T.integer, to: T.string, becomes: toText('-2147483648', '0'), refused: [] },
  { from: T.bigint, to: T.text, becomes: toText('9223372036854775807'), refused: [] },
  { from: T.decimal, to: T.string, becomes: toText('0.10', '-5'), refused: [] },
  { from: T.float, to: T.string, becomes: { '0.1': '"0.1"', '1e300': '"1e+300"' }, refused: [] },
  { from: T.boolean, to: T.string, becomes: toText('true', 'false'), refused: [] },
  { from: T.date, to: T.string, becomes: same('"0001-01-01"', '"9999-12-31"'), refused: [] },
  { from: T.datetime, to: T.text, becomes: same('"0001-01-01T00:00:00Z"', '"2024-02-29T12:00:00.001Z"'), refused: [] },
  { from: T.time, to: T.string, becomes: same('"00:00:00"', '"23:59:59"'), refused: [] },
  {
    from: T.uuid,
    to: T.string,
    becomes: { '"F47AC10B-58CC-4372-A567-0E02B2C3D479"': '"f47ac10b-58cc-4372-a567-0e02b2c3d479"' },
    refused: [],
  },
  {
    from: T.json,
    to: T.text,
    becomes: { '{"b":1.10,"a":[]}': quoted('{"a": [], "b": 1.10}'), '"x"': quoted('"x"') },
    refused: [],
  },
  { from: T.string, to: T.text, becomes: same('""', '"x"'), refused: [] },
  { from: T.string, to: { type: 'enum', values: ['a', 'b'] }, becomes: same('"a"'), refused: ['"A"', '""'] },
  {
    from: T.text,
    to: { type: 'string', maxLength: 2 },
    becomes: same('"ab"', '"\u{1f600}\u{1f600}"'),
    refused: ['"abc"'],
  },
  { from: T.integer, to: { type: 'enum', values: ['1', '2'] }, becomes: toText('1', '2'), refused: ['3'] },
  { from: T.integer, to: { type: 'string', maxLength: 2 }, becomes: toText('12', '-1'), refused: ['123'] },
  // From text.
  {
    from: T.string,
    to: T.integer,
    becomes: fromText({ '-2147483648': '-2147483648', '007': '7' }),
    refused: ['2147483648', '1.0', '1e3', 'NaN', '', ' 1', '1 ', '0x1f', '1_000', '١'].map(quoted),
  },
  {
    from: T.text,
    to: T.bigint,
    becomes: fromText({ '9223372036854775807': '9223372036854775807' }),
    refused: ['9223372036854775808', '1e3', 'NaN', '', '1\n'].map(quoted),
  },
  {
    from: T.string,
    to: T.decimal,
    becomes: fromText({ '007': '7', '1e3': '1000', '-.5': '-0.5', '0.10': '0.10', '1e999': `1${'0'.repeat(999)}` }),
    refused: ['NaN', 'Infinity', '', '1,5', '1e', '1e99999', '0x10', '.', '1e1000', '1e-1001'].map(quoted),
  },
  {
    from: T.string,
    to: money,
    becomes: fromText({ '1e2': '100.00', '0.50': '0.50' }),
    refused: ['1e3', '0.001', 'NaN', ''].map(quoted),
  },
  {
    from: T.string,
    to: T.float,
    becomes: fromText({ '0.1': '0.1', '1e3': '1000', '-2.50': '-2.5' }),
    refused: ['NaN', '-Infinity', '', '1e400', '1e-400', '9007199254740993', '0.10000000000000000001', '1d'].map(
      quoted,
    ),
  },
  {
    from: T.string,
    to: T.boolean,
    becomes: fromText({ true: 'true', false: 'false' }),
    refused: ['True', 't', '1', ''].map(quoted),
  },
  {
    from: T.string,
    to: T.date,
    becomes: same('"2024-02-29"', '"0001-01-01"', '"9999-12-31"'),
    refused: [
      '2023-02-29',
      '2024-2-1',
      '0000-01-01',
      '10000-01-01',
      'today',
      'infinity',
      '',
      '20240229',
      '2024-02-29 BC',
    ].map(quoted),
  },
  {
    from: T.string,
    to: T.datetime,
    becomes: {
      '"2024-02-29T12:00:00.123Z"': '"2024-02-29T12:00:00.123Z"',
      '"2024-02-29T12:00:00.120000Z"': '"2024-02-29T12:00:00.120Z"',
      '"2024-02-29t12:00z"': '"2024-02-29T12:00:00Z"',
      '"2024-03-01T00:00:00+05:30"': '"2024-02-29T18:30:00Z"',
    },
    refused: [
      '2024-02-29T12:00:00.0001Z',
      '2024-02-29T12:00:00',
      '2024-02-30T00:00:00Z',
      '2024-02-29T24:00:00Z',
      '2024-02-29T23:59:60Z',
      '2024-02-29T12:60:00Z',
      '2024-02-29T12:00:00+25:00',
      '9999-12-31T23:59:59-01:00',
      '0001-01-01T00:00:00+01:00',
      '2024-02-29',
      'now',
      '',
    ].map(quoted),
  },
  {
    from: T.string,
    to: T.uuid,
    becomes: { '"F47AC10B-58CC-4372-A567-0E02B2C3D479"': '"f47ac10b-58cc-4372-a567-0e02b2c3d479"' },
    refused: ['f47ac10b58cc4372a5670e02b2c3d479', '{f47ac10b-58cc-4372-a567-0e02b2c3d479}', 'x', ''].map(quoted),
  },
  {
    from: T.text,
    to: T.json,
    becomes: fromText({
      '{"b":1.10,"a":[]}': '{"a": [], "b": 1.10}',
      '"x"': '"x"',
      '12345678901234567890.5': '12345678901234567890.5',
      '{"a": [1e999]}': `{"a": [1${'0'.repeat(999)}]}`,
    }),
    refused: [
      ...['{', '', "{'a': 1}", 'NaN', '"\\u0000"', 'x'],
      ...['{"a": [1e1000]}', '1e131000', '0e-16000', `[${Array(1100).fill('1e999')}]`, '9'.repeat(1001)],
    ].map(quoted),
  },
  {
    from: T.string,
    to: T.time,
    becomes: { '"00:00:00"': '"00:00:00"', '"23:59:59"': '"23:59:59"', '"09:30"': '"09:30:00"' },
    refused: ['24:00:00', '12:00:60', '9:30', '12:00:00.5', '12:00:00Z', '12:00:00\n', 'now', 'allballs', ''].map(
      quoted,
    ),
  },
  // JSON of the right kind.
  { from: T.integer, to: T.json, becomes: same('-5'), refused: [] },
  { from: T.bigint, to: T.json, becomes: same('9223372036854775807'), refused: [] },
  { from: T.decimal, to: T.json, becomes: same('0.10'), refused: [] },
  { from: T.float, to: T.json, becomes: { '0.1': '0.1' }, refused: [] },
  { from: T.boolean, to: T.json, becomes: same('true'), refused: [] },
  { from: T.date, to: T.json, becomes: same('"0001-01-01"'), refused: [] },
  { from: T.datetime, to: T.json, becomes: same('"2024-02-29T12:00:00.001Z"', '"2024-02-29T12:00:00Z"'), refused: [] },
  { from: T.time, to: T.json, becomes: same('"23:59:59"'), refused: [] },
  { from: T.uuid, to: T.json, becomes: same('"f47ac10b-58cc-4372-a567-0e02b2c3d479"'), refused: [] },
  {
    from: T.json,
    to: T.integer,
    becomes: same('-5'),
    refused: ['"5"', '5.5', 'true', '[]', '{}', '2147483648', '1e300'],
  },
  {
    from: T.json,
    to: T.bigint,
    becomes: same('9223372036854775807'),
    refused: ['"5"', '9223372036854775808', 'false'],
  },
  { from: T.json, to: T.decimal, becomes: same('0.10', '-5'), refused: ['"5"', '[1]'] },
  { from: T.json, to: money, becomes: { '0.5': '0.50' }, refused: ['0.001', '1000', '"0.5"'] },
  {
    from: T.json,
    to: T.float,
    becomes: same('0.1', '-5'),
    refused: ['"5"', '9007199254740993', '0.10000000000000000001'],
  },
  { from: T.json, to: T.boolean, becomes: same('true', 'false'), refused: ['"true"', '1', '0', '[]'] },
  { from: T.json, to: T.date, becomes: same('"2024-02-29"'), refused: ['"2023-02-29"', '20240229', '["2024-02-29"]'] },
  {
    from: T.json,
    to: T.datetime,
    becomes: same('"2024-02-29T12:00:00.001Z"'),
    refused: ['"2024-02-29"', '1709164800', 'true'],
  },
  { from: T.json, to: T.time, becomes: same('"23:59:59"'), refused: ['"24:00:00"', '235959', '["12:00:00"]'] },
  { from: T.json, to: T.uuid, becomes: same('"f47ac10b-58cc-4372-a567-0e02b2c3d479"'), refused: ['"x"', '1', '{}'] },
];

const nameOf = ({ type, precision, scale = 0, maxLength }: Json): string =>
  precision === undefined
    ? `${type}${maxLength === undefined ? '' : `(${maxLength})`}`
    : `${type}(${precision}, ${scale})`;

/** Forms of text: one of them stands for all. */
const familyOf = (type: FieldTypeName): string => (['string', 'text', 'enum'].includes(type) ? 'text' : type);

test('every pair of types that can be changed is looked at below', () => {
  const looked = new Set(PAIRS.map(({ from, to }) => `${familyOf(from.type)} ${familyOf(to.type)}`));
  const field = (type: FieldTypeName): Field => ({ type }) as Field;
  for (const from of FIELD_TYPE_NAMES) {
    for (const to of FIELD_TYPE_NAMES) {
      if (findCast(field(from), field(to)).kind !== 'convert') continue;
      const pair = `${familyOf(from)} ${familyOf(to)}`;
      assert.ok(looked.has(pair), `${pair} is missing`);
    }
  }
});

const STRATEGIES = [
  ['online', PAIRS],
  // At once on filled tables; the expressions are the same, so that a few pairs show that they are used.
  ['blocking', PAIRS.filter(({ from }) => ['string', 'decimal'].includes(from.type))],
] as const;

for (const [strategy, pairs] of STRATEGIES) {
  test(`${strategy}: values become what the new type has, and those that it cannot hold are counted`, async () => {
    const slug = `w${++count}`;
    const document = (side: 'from' | 'to', changed: (entity: string) => boolean = () => true): Json => ({
      entities: Object.fromEntries(
        pairs.map((pair, index) => {
          const entity = `pair${index}`;
          return [entity, { fields: { v: pair[changed(entity) ? side : 'from'] } }];
        }),
      ),
    });
    const workspace = await server.workspace(`acme/${slug}`, document('from'));
    const listOf = async (entity: string): Promise<string> => (await workspace.call(`${entity}?size=100&sort=id`)).text;

    const tables = await Promise.all(
      pairs.map(async ({ from, to, becomes, refused }, index) => {
        const entity = `pair${index}`;
        const values = [...Object.keys(becomes), 'null'];
        const create = async (records: readonly string[]): Promise<number[]> => {
          if (records.length === 0) return [];
          const body = `{"data":[${records.map((value) => `{"v":${value}}`)}]}`;
          const answer = await workspace.call(`${entity}/_bulk`, {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body,
          });
          assert.equal(answer.status, 201, answer.text);
          return answer.json.data.map(({ id }: Json) => id);
        };
        await create(values);
        const before = await listOf(entity);
        const ids = await create(refused);
        return {
          name: `${nameOf(from)} to ${nameOf(to)}`,
          entity,
          before,
          ids,
          shown: [...Object.values(becomes), 'null'],
        };
      }),
    );

    // All are counted, and the first ten are named.
    const planned = await workspace.admin(`schema/plan?strategy=${strategy}`, { method: 'POST', body: document('to') });
    assert.equal(planned.status, 200, planned.text);
    for (const { name, entity, ids } of tables) {
      const conflicts = planned.json.data.steps
        .filter((step: Json) => step.entity === entity && step.conflicts !== null)
        .map((step: Json) => step.conflicts);
      const expected = ids.length === 0 ? [] : [{ count: ids.length, sampleIds: ids.slice(0, 10) }];
      assert.deepEqual(conflicts, expected, name);
    }

    const apply = async (changed?: (entity: string) => boolean): Promise<Json> =>
      (await applySchema(workspace, document('to', changed), `?wait=60&strategy=${strategy}`)).json.data;
    const most = tables.reduce((one, other) => (other.ids.length > one.ids.length ? other : one));
    const { state, error } = await apply((entity) => entity === most.entity);
    assert.equal(state, 'failed');
    const { code, entity, field, count: counted, sampleIds } = error;
    assert.deepEqual(
      { code, entity, field, counted, sampleIds },
      {
        code: 'DATA_CONFLICT',
        entity: most.entity,
        field: 'v',
        counted: most.ids.length,
        sampleIds: most.ids.slice(0, 10),
      },
    );
    await assertTidy(server, slug);

    for (const { entity, ids, before, name } of tables) {
      if (ids.length === 0) continue;
      const answer = await workspace.call(`${entity}/_bulk?ids=${ids}`, { method: 'DELETE' });
      assert.ok(answer.status < 300, answer.text);
      assert.equal(await listOf(entity), before, name);
    }
    const done = await apply();
    assert.equal(done.state, 'succeeded', JSON.stringify(done.error));
    await assertTidy(server, slug);
    for (const { name, entity, shown } of tables) {
      const records = shown.map((value, index) => `{"id":${index + 1},"v":${value}}`);
      const text = (await listOf(entity)).replaceAll(/,\s*\n\s*/g, ',');
      assert.ok(text.startsWith(`{"data":[${records}]`), `${name}: ${text}`);
    }
  });
}
