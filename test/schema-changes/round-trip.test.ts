// What two schemas can both hold survives the way from one to the other and back, and is on the other side what a client
// would have written there.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { formatDecimal, parseDecimal } from '../../src/model/decimal.ts';
import { applySchema, assertTidy, type Json, settled } from '../support/migration.ts';
import { useServer } from '../support/resources.ts';
import type { TestWorkspace } from '../support/server.ts';

let count = 0;
const server = useServer();

/** One type, and the values of its group in it: JSON text, the same value at the same place in every type. */
interface Form {
  readonly field: Json;
  readonly values: readonly string[];
}

const text = (values: readonly string[]): readonly string[] => values.map((value) => JSON.stringify(value));
const raw = (values: readonly string[]): readonly string[] => values.map((value) => JSON.parse(value));

function textual(values: readonly string[]): readonly Form[] {
  return [
    { field: { type: 'string', maxLength: 400 }, values },
    { field: { type: 'text' }, values },
    { field: { type: 'enum', values: raw(values) }, values },
  ];
}

const all = (fields: readonly Json[], values: readonly string[]): readonly Form[] =>
  fields.map((field) => ({ field, values }));

const INTEGERS = ['0', '1', '-7', '2147483647', '-2147483648'];
const WIDE = ['9223372036854775807', '-9223372036854775808', '9007199254740993', '3'];
const FRACTIONS = ['0.5', '-1.25', '100.75', '0'];
const FAR = ['1e300', '5e-324', '-0.1', '123456789012345680000'];
const DATES = text(['2024-02-29', '0001-01-01', '9999-12-31', '1969-07-20']);
const MIDNIGHTS = text([
  '2024-02-29T00:00:00Z',
  '0001-01-01T00:00:00Z',
  '9999-12-31T00:00:00Z',
  '1969-07-20T00:00:00Z',
]);
const TIMES = text([
  '2024-02-29T12:34:56.789Z',
  '0001-01-01T00:00:00Z',
  '9999-12-31T23:59:59.999Z',
  '1969-07-20T20:17:40Z',
]);
const UUIDS = text(['00000000-0000-0000-0000-000000000000', 'f47ac10b-58cc-4372-a567-0e02b2c3d479']);
const WORDS = text(["it's", 'ü\u{1f600} $1 \\', '007', '1e3', 'null', ' true ', '2024-02-30', '{"a": 1']);
const JSONS = ['{"a": [1, 1.10, null]}', '[]', '"x"', '12345678901234567890.5', 'true'];

/** Forms that can each hold all values of the group exactly. */
const GROUPS: readonly (readonly Form[])[] = [
  [
    ...all(
      [
        { type: 'integer' },
        { type: 'bigint', min: -2147483648 },
        { type: 'decimal' },
        { type: 'decimal', precision: 10 },
      ],
      INTEGERS,
    ),
    ...all([{ type: 'float', max: 2147483647 }, { type: 'json' }], INTEGERS),
    ...textual(text(INTEGERS)),
  ],
  [
    ...all(
      [
        { type: 'decimal', precision: 12, scale: 2 },
        { type: 'decimal', precision: 5, scale: 2 },
      ],
      FRACTIONS,
    ),
    ...all([{ type: 'decimal', min: '-1.25' }, { type: 'float' }, { type: 'json' }], FRACTIONS),
  ],
  [...all([{ type: 'decimal' }, { type: 'float' }, { type: 'json' }], FRACTIONS), ...textual(text(FRACTIONS))],
  [...all([{ type: 'bigint' }, { type: 'decimal' }, { type: 'decimal', precision: 19 }], WIDE), ...textual(text(WIDE))],
  all([{ type: 'bigint' }, { type: 'json' }], WIDE),
  all([{ type: 'float' }, { type: 'decimal' }, { type: 'json' }], FAR),
  [
    { field: { type: 'float' }, values: FAR },
    ...textual(
      text(
        ['1e+300', '5e-324', '-0.1', '123456789012345680000'].map((n) =>
          n.replace(/^1234.*/, '1.2345678901234568e+20'),
        ),
      ),
    ),
  ],
  [...all([{ type: 'boolean' }, { type: 'json' }], ['true', 'false']), ...textual(text(['true', 'false']))],
  [
    { field: { type: 'boolean' }, values: ['true', 'false'] },
    ...all([{ type: 'integer' }, { type: 'bigint', min: 0 }], ['1', '0']),
  ],
  all([{ type: 'date', min: '0001-01-01' }, { type: 'json' }], DATES),
  [{ field: { type: 'date' }, values: DATES }, ...textual(DATES)],
  [
    { field: { type: 'date' }, values: DATES },
    { field: { type: 'datetime', max: '9999-12-31T00:00:00Z' }, values: MIDNIGHTS },
  ],
  all([{ type: 'datetime' }, { type: 'json' }], TIMES),
  [{ field: { type: 'datetime' }, values: TIMES }, ...textual(TIMES)],
  all([{ type: 'uuid' }, { type: 'json' }], UUIDS),
  [{ field: { type: 'uuid' }, values: UUIDS }, ...textual(UUIDS)],
  textual(WORDS),
  [
    { field: { type: 'json' }, values: JSONS },
    { field: { type: 'text' }, values: text(JSONS) },
    { field: { type: 'string' }, values: text(JSONS) },
  ],
  [
    { field: { kind: 'belongsTo', entity: 'others' }, values: ['1', '2', '3'] },
    { field: { kind: 'belongsTo', entity: 'more', onDelete: 'cascade' }, values: ['1', '2', '3'] },
    ...all([{ type: 'integer' }, { type: 'bigint' }, { type: 'decimal' }, { type: 'json' }], ['1', '2', '3']),
    ...textual(text(['1', '2', '3'])),
  ],
];
assert.deepEqual(
  [...new Set(GROUPS.flat().map(({ field }) => field.type ?? 'relation'))].sort(),
  'bigint boolean date datetime decimal enum float integer json relation string text uuid'.split(' '),
);

/** A field on one side: what it is called, and what it demands beside its type. */
const side = fc.record({
  name: fc.constantFrom('same', 'other'),
  required: fc.boolean(),
  unique: fc.boolean(),
  index: fc.boolean(),
  hasDefault: fc.boolean(),
});
const slot = fc.constantFrom(...GROUPS).chain((group) =>
  fc.record({
    from: fc.constantFrom(...group),
    to: fc.constantFrom(...group),
    here: side,
    there: side,
    /** Which value each record has; beyond the last: none. */
    records: fc.shuffledSubarray([0, 1, 2, 3, 4], { minLength: 2 }),
    /** Is it there on one side only? */
    stays: fc.constantFrom(true, true, true, false),
  }),
);
type Slot = typeof slot extends fc.Arbitrary<infer T> ? T : never;
type Side = Slot['here'];

const nameOf = (at: number, { name }: Side): string => (name === 'same' ? `f${at}` : `g${at}`);
const isFull = ({ from, records }: Slot): boolean => records.every((index) => index < from.values.length);

/** The digits of bigint and decimal are kept in strings. */
function defaultOf({ field, values }: Form): Json {
  const [first = 'null'] = values;
  return field.type === 'bigint' || field.type === 'decimal' ? first : JSON.parse(first);
}

const ROWS = 5;
const NONE = 99;

/** `was`: what it was called in the other document. */
function documentOf(
  slots: readonly Slot[],
  entity: string,
  pick: (slot: Slot) => { form: Form; side: Side; was: Side | null } | null,
  was: string | null,
): Json {
  const fields: Json = {};
  const relations: Json = {};
  for (const [at, one] of slots.entries()) {
    const picked = pick(one);
    if (picked === null) continue;
    const { form, side } = picked;
    const name = nameOf(at, side);
    const before = picked.was === null ? name : nameOf(at, picked.was);
    // What comes back empty can demand nothing.
    const required = side.required && one.stays && isFull(one) && one.records.length === ROWS;
    const unique = side.unique && one.stays;
    if (form.field.kind !== undefined) {
      relations[`to_${name}`] = { ...form.field, column: name, required, unique };
      continue;
    }
    const isJson = form.field.type === 'json';
    fields[name] = {
      ...form.field,
      required,
      ...(isJson ? {} : { unique, index: side.index }),
      ...(side.hasDefault && !required ? { default: defaultOf(form) } : {}),
      ...(before === name ? {} : { renamedFrom: before }),
    };
  }
  const others = { fields: { n: { type: 'integer' } } };
  return {
    entities: {
      [entity]: { ...(was === entity || was === null ? {} : { renamedFrom: was }), fields, relations },
      others,
      more: others,
    },
  };
}

/** Numbers by their value with all digits, anything else as it is. */
function exact(json: string): Json {
  return JSON.parse(json, ((_key: string, value: unknown, { source }: { source?: string }) => {
    if (typeof value !== 'number') return value;
    const number = parseDecimal(source as string);
    return number === undefined ? `number ${source}` : `number ${formatDecimal(number)}`;
  }) as Parameters<typeof JSON.parse>[1]);
}

async function recordsOf(workspace: TestWorkspace, entity: string): Promise<Json[]> {
  const answer = await workspace.call(`${entity}?sort=id`);
  assert.equal(answer.status, 200, answer.text);
  return exact(answer.text).data;
}

const isRelation = ({ field }: Form): boolean => field.kind !== undefined;

test('what two schemas both hold is the same on the way there and back', async () => {
  const property = fc.asyncProperty(
    fc.array(slot, { minLength: 1, maxLength: 5 }),
    fc.boolean(),
    fc.constantFrom('', '', '', '', '&strategy=blocking'),
    async (slots, renames, strategy) => {
      // Relations cannot be renamed together with what becomes of them, so those keep their names.
      for (const one of slots) {
        if ([one.from, one.to].some(isRelation)) Object.assign(one, { there: { ...one.there, name: one.here.name } });
      }
      const [here, there] = ['things', renames ? 'items' : 'things'] as const;
      const first = documentOf(slots, here, (one) => ({ form: one.from, side: one.here, was: null }), null);
      const second = documentOf(
        slots,
        there,
        (one) => (one.stays ? { form: one.to, side: one.there, was: one.here } : null),
        here,
      );
      const back = documentOf(
        slots,
        here,
        (one) => ({ form: one.from, side: one.here, was: one.stays ? one.there : null }),
        there,
      );
      const slug = `w${++count}`;
      const workspace = await server.workspace(`any/${slug}`, first);
      for (const entity of ['others', 'more']) await workspace.create(entity, [{}, {}, {}]);
      for (let row = 0; row < ROWS; row++) {
        const members = slots.flatMap((one, at) => {
          const value = one.from.values[one.records[row] ?? NONE] ?? 'null';
          return [`${JSON.stringify(nameOf(at, one.here))}: ${value}`];
        });
        const headers = { 'content-type': 'application/json' };
        const made = await workspace.call(here, { method: 'POST', headers, body: `{${members.join()}}` });
        assert.equal(made.status, 201, made.text);
      }
      const before = await recordsOf(workspace, here);
      const query = `?allowDestructive=true&wait=60${strategy}`;

      const changed = await applySchema(workspace, second, query);
      assert.equal(changed.json.data?.state, 'succeeded', changed.text);
      await assertTidy(server, slug);
      for (const [row, record] of (await recordsOf(workspace, there)).entries()) {
        for (const [at, one] of slots.entries()) {
          if (!one.stays) continue;
          const value = one.to.values[one.records[row] ?? NONE] ?? 'null';
          assert.deepEqual(record[nameOf(at, one.there)], exact(value), changed.text);
        }
      }

      const returned = await applySchema(workspace, back, query);
      assert.equal(returned.json.data?.state, 'succeeded', returned.text);
      await assertTidy(server, slug);
      for (const [row, record] of (await recordsOf(workspace, here)).entries()) {
        for (const [at, one] of slots.entries()) {
          const name = nameOf(at, one.here);
          if (one.stays) assert.deepEqual(record[name], before[row][name], returned.text);
        }
      }
    },
  );
  await fc.assert(property, { numRuns: 25 });
  // Whatever names that took on the way, in the end they are those of the documents.
  for (let made = 1; made <= count; made++) await settled(server, `w${made}`, 120_000);
});
