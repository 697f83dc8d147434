// Changes of type, and of what fields demand of their records, by the same proof as in operations.test.ts.
import { test } from 'node:test';
import type { Json } from '../support/migration.ts';
import { type OperationCase, proveBlocking, proveOnline } from '../support/operation-proof.ts';
import { useServer } from '../support/resources.ts';

const server = useServer();

/** Notes with a field `v`, beside another one that stays as it is. */
const notes = (v: Json, more: Json = {}): Json => ({
  entities: { notes: { fields: { rank: { type: 'integer', index: true }, v }, ...more } },
});
const V = (value: (n: number) => Json) => (n: number) => ({ rank: n, v: value(n) });
const uuid = (n: number): string => `f47ac10b-58cc-4372-a567-${String(n).padStart(12, '0')}`;
const day = (n: number): string => new Date(Date.UTC(2000, 0, 1 + (n % 5000))).toISOString().slice(0, 10);

/** A change of type: what is written before and after, and what cannot be converted. */
function typeChange(
  from: Json,
  to: Json,
  [write, writeAfter]: readonly [(n: number) => Json, ((n: number) => Json)?],
  conflicts: readonly Json[],
  middle: OperationCase['middle'] = 'notes',
): OperationCase {
  const words = ({ type, ...rest }: Json): string => [type, ...Object.keys(rest)].join(' ');
  return {
    name: `${words(from)} to ${words(to)}`,
    before: notes(from),
    after: notes(to),
    write: V(write),
    ...(writeAfter === undefined ? {} : { writeAfter: V(writeAfter) }),
    // The same number gives the same value in both shapes.
    shows: ({ rank }) => ({ rank, v: (writeAfter ?? write)(rank) }),
    ...(conflicts.length === 0 ? {} : { conflict: { records: conflicts.map((v) => ({ v })), field: 'v' } }),
    refusals: ['VALIDATION_FAILED'],
    fitsAsItIs: to.type === 'json',
    middle,
  };
}

// Every pair of types is converted in casts.test.ts; here are those that also carry an index, a default or a demand, those
// that need no second column, and those whose new values the API shows in another form.
const CHANGES: readonly OperationCase[] = [
  typeChange(
    { type: 'string', required: true, unique: true },
    { type: 'bigint', required: true, unique: true, min: 1 },
    [(n) => `${n}`, (n) => n],
    ['x', '0', '-5'],
  ),
  typeChange(
    { type: 'bigint', default: 7 },
    { type: 'integer', default: 8, required: true },
    [(n) => n],
    [3_000_000_000, null, '-9223372036854775808'],
  ),
  typeChange(
    { type: 'integer' },
    { type: 'string', maxLength: 7, required: true },
    [(n) => n, (n) => `${n}`],
    [null, 12345678],
  ),
  typeChange(
    { type: 'decimal', precision: 10, scale: 2, min: 0 },
    { type: 'decimal', precision: 12, scale: 2, min: 0 },
    [(n) => n + 0.25],
    [],
    null,
  ),
  typeChange(
    { type: 'datetime', index: true },
    { type: 'date', max: '2030-01-01' },
    [(n) => `${day(n)}T00:00:00Z`, day],
    ['2024-01-01T00:00:00.001Z', '2030-01-02T00:00:00Z'],
  ),
  typeChange({ type: 'text' }, { type: 'uuid', unique: true }, [uuid], ['x']),
  typeChange({ type: 'uuid', default: 'uuid' }, { type: 'string' }, [uuid], []),
  typeChange({ type: 'text' }, { type: 'json' }, [(n) => `{"n":${n}}`, (n) => ({ n })], ['{', '']),
  typeChange({ type: 'enum', values: ['a', 'b'] }, { type: 'text' }, [(n) => ['a', 'b'][n % 2]], [], null),
  typeChange({ type: 'integer' }, { type: 'enum', values: ['0', '1'] }, [(n) => n % 2, (n) => `${n % 2}`], [2]),
];

const TEXT = { type: 'string' };
const DEMANDS: readonly OperationCase[] = [
  {
    name: 'a field becomes required',
    before: notes(TEXT),
    after: notes({ ...TEXT, required: true }),
    write: V((n) => `t${n}`),
    conflict: { records: [{ rank: 1 }, { v: null }, {}], field: 'v' },
    middle: 'notes',
  },
  {
    name: 'a field is required no more',
    before: notes({ ...TEXT, required: true }),
    after: notes(TEXT),
    write: V((n) => `t${n}`),
    middle: null,
  },
  {
    name: 'a field becomes unique',
    before: notes(TEXT),
    after: notes({ ...TEXT, unique: true }),
    write: V((n) => `t${n}`),
    conflict: { records: [{ v: 'same' }, { v: 'same' }, { v: 'other' }, { v: 'other' }, { v: 'other' }], field: 'v' },
    middle: 'snapshot',
  },
  {
    name: 'two fields become unique together',
    before: notes(TEXT),
    after: notes(TEXT, { indexes: [{ fields: ['v', 'rank'], unique: true }] }),
    write: V(() => 'same'),
    conflict: {
      records: [
        { v: 'same', rank: -1 },
        { v: 'same', rank: -1 },
      ],
      field: 'v, rank',
    },
    middle: 'snapshot',
  },
  {
    name: 'another default, of a text that looks like a number',
    before: notes({ ...TEXT, default: '1' }),
    after: notes({ ...TEXT, default: '1.0' }),
    write: V((n) => `t${n}`),
    middle: null,
  },
  {
    name: 'a length that goes',
    before: notes({ ...TEXT, maxLength: 10 }),
    after: notes(TEXT),
    write: V((n) => `t${n}`),
    middle: null,
  },
  {
    name: 'a range',
    before: notes({ type: 'integer' }),
    after: notes({ type: 'integer', min: 1, max: 2_000_000 }),
    write: V((n) => n),
    conflict: { records: [{ v: 0 }, { v: 2_000_001 }], field: 'v' },
    middle: 'notes',
  },
  {
    name: 'another range',
    before: notes({ type: 'integer', min: -5, max: 3_000_000 }),
    after: notes({ type: 'integer', max: 2_000_000 }),
    write: V((n) => n),
    conflict: { records: [{ v: 2_000_001 }], field: 'v' },
    middle: 'notes',
  },
  {
    name: 'fewer values',
    before: notes({ type: 'enum', values: ['a', 'b', 'c'] }),
    after: notes({ type: 'enum', values: ['b', 'a'] }),
    write: V((n) => ['a', 'b'][n % 2]),
    conflict: { records: [{ v: 'c' }, { v: 'c' }], field: 'v' },
    middle: 'notes',
  },
  {
    name: 'more values',
    before: notes({ type: 'enum', values: ['a', 'b'] }),
    after: notes({ type: 'enum', values: ['a', 'b', "it's"] }),
    write: V((n) => ['a', 'b'][n % 2]),
    middle: 'notes',
  },
];

for (const one of [...CHANGES, ...DEMANDS]) test(`online: ${one.name}`, () => proveOnline(server, one));

// Each waits a second before it begins.
const AT_ONCE = [
  'integer to string maxLength required',
  'datetime index to date max',
  'a field becomes unique',
  'another range',
];
for (const one of [...CHANGES, ...DEMANDS].filter(({ name }) => AT_ONCE.includes(name))) {
  test(`at once: ${one.name}`, () => proveBlocking(server, one));
}
