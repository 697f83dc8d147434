// Field types beyond what matrix.test.ts and test/unit/model/field-types.test.ts show: round trips of random values, how json
// and floats come back, bounds, defaults.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { use, useServer } from '../../support/resources.ts';
import { TYPES_SCHEMA } from '../../support/shop.ts';

const server = useServer();
const workspace = use(() => server.workspace('acme/types', TYPES_SCHEMA));

const JSON_TYPE = { 'content-type': 'application/json' };

/** Creates a sample by JSON text, reads it again, and gives the field's value as JSON text. */
async function roundTrip(field: string, json: string): Promise<string> {
  const created = await workspace.call('samples', {
    method: 'POST',
    headers: JSON_TYPE,
    body: `{"${field}":${json}}`,
  });
  assert.equal(created.status, 201, `${field} ${json}: ${created.text}`);
  const read = await workspace.call(`samples/${created.json.data.id}?fields=${field}`);
  const text = read.text.slice(`{"data":{"${field}":`.length, -'}}'.length);
  assert.ok(created.text.includes(`"${field}":${text}`), `create and read differ: ${created.text} ${read.text}`);
  return text;
}

/** What is sent and what comes back, as JSON text. */
const RETURNED: Readonly<Record<string, readonly (readonly [sent: string, back: string])[]>> = {
  aText: [[JSON.stringify('x'.repeat(100_000)), JSON.stringify('x'.repeat(100_000))]],
  aDecimal: [['1.50000000000000000000', '1.5000000000']],
  aNumeric: [[`"${'9'.repeat(1000)}"`, '9'.repeat(1000)]],
  aFloat: [
    ['0.1', '0.1'],
    ['1', '1'],
    ['-2.5', '-2.5'],
    ['1e300', '1e+300'],
    ['1.7976931348623157e308', '1.7976931348623157e+308'],
    ['5e-324', '5e-324'],
    ['0.30000000000000004', '0.30000000000000004'],
    ['123456789012345680000', '1.2345678901234568e+20'],
  ],
  aJson: [
    ['null', 'null'],
    ['true', 'true'],
    ['"text"', '"text"'],
    ['[]', '[]'],
    ['{}', '{}'],
    ['123456789012345678901234567890.5', '123456789012345678901234567890.5'],
    ['[1.10,9007199254740993,0.1000]', '[1.10, 9007199254740993, 0.1000]'],
    ['[1e2,-0]', '[100, 0]'],
    ['{"b":1,"a":2}', '{"a": 2, "b": 1}'],
    ['{"a":1,"a":2}', '{"a": 2}'],
    ['{"__proto__":{"x":1},"constructor":null}', '{"__proto__": {"x": 1}, "constructor": null}'],
    ['{"":{"\\u00e9":"\\ud83d\\ude42"}}', '{"": {"é": "🙂"}}'],
    [`${'['.repeat(60)}${']'.repeat(60)}`, `${'['.repeat(60)}${']'.repeat(60)}`],
  ],
};
for (const [field, cases] of Object.entries(RETURNED)) {
  test(`${field}: ${cases.length} values come back`, async () => {
    for (const [sent, back] of cases)
      assert.equal(await roundTrip(field, sent), back, `${field} ${sent.slice(0, 200)}`);
  });
}

const bounds: readonly (readonly [field: string, json: string, refused?: string])[] = [
  ['code', '"abcd"', 'TOO_LONG'],
  ['story', '"éééééé"', 'TOO_LONG'],
  ['big', '9007199254740993'],
  ['big', '9007199254740994', 'OUT_OF_RANGE'],
  ['big', '"-9007199254740993"'],
  ['big', '-9007199254740994', 'OUT_OF_RANGE'],
  ['ratio', '1.0000000000000002', 'OUT_OF_RANGE'],
  ['ratio', '-5e-324', 'OUT_OF_RANGE'],
  ['at', '"2020-01-01T00:30:00+01:00"', 'OUT_OF_RANGE'],
  ['at', '"2019-12-31T23:30:00-00:30"'],
];

test('bounds and lengths hold to the last unit, for create and update', async () => {
  const [record] = await workspace.create('bounded', [{ code: 'new', count: 5 }]);
  let made = 0;
  for (const [field, json, refused] of bounds) {
    const rest = { code: `"${made++}"`, count: '5', [field]: json };
    const body = `{${Object.entries(rest).map(([name, value]) => `"${name}":${value}`)}}`;
    const created = await workspace.call('bounded', { method: 'POST', headers: JSON_TYPE, body });
    const updated = await workspace.call(`bounded/${record.id}`, {
      method: 'PUT',
      headers: JSON_TYPE,
      body: `{"${field}":${json}}`,
    });
    for (const answer of [created, updated]) {
      if (refused === undefined)
        assert.ok(answer.status < 300 || answer.json.error.code === 'CONFLICT', `${field} ${json}: ${answer.text}`);
      else {
        assert.equal(answer.json.error?.code, 'VALIDATION_FAILED', `${field} ${json}: ${answer.text}`);
        const details = answer.json.error.details.map((detail: { field: string; code: string }) => [
          detail.field,
          detail.code,
        ]);
        assert.deepEqual(details, [[field, refused]]);
      }
    }
    if (created.status === 201) await workspace.call(`bounded/${created.json.data.id}`, { method: 'DELETE' });
  }
});

test('messages of bounds say the bound', async () => {
  const answer = await workspace.call('bounded', {
    method: 'POST',
    body: { code: 'abcd', count: 11, amount: -1, day: '2019-01-01', at: '2031-01-01T00:00:00Z', story: '123456' },
  });
  const messages = Object.fromEntries(
    answer.json.error.details.map((detail: { field: string; message: string }) => [detail.field, detail.message]),
  );
  assert.deepEqual(messages, {
    code: 'must have at most 3 characters, has 4',
    count: 'must be at most 10',
    amount: 'must be at least -0.5',
    day: 'must not be before 2020-01-01',
    at: messages.at,
    story: 'must have at most 5 characters, has 6',
  });
  assert.match(messages.at, /^must not be after 2029-12-31T23:59:59/);
});

test('defaults are set for what is left out, and only then', async () => {
  const before = Date.now();
  const [made, nulls] = await workspace.create('defaults', [
    {},
    {
      aString: null,
      anInteger: null,
      aDecimal: null,
      aBoolean: null,
      aDate: null,
      aDatetime: null,
      aUuid: null,
      aJson: null,
      anEnum: null,
    },
  ]);
  const { id, aDate, aDatetime, aUuid, ...rest } = made;
  assert.deepEqual(rest, {
    aString: 'it\'s "quoted" \\ and ü',
    anInteger: 7,
    aDecimal: 1.5,
    aBoolean: true,
    aJson: { a: [1, null] },
    anEnum: 'off',
    required: 0,
  });
  assert.match(aUuid, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  // Datetimes keep milliseconds; the database's clock is that of this machine.
  assert.ok(Math.abs(Date.parse(aDatetime) - before) < 60_000, aDatetime);
  assert.ok(Math.abs(Date.parse(aDate) - before) < 2 * 86_400_000, aDate);
  assert.deepEqual(
    new Set(Object.entries(nulls).map(([name, value]) => (value === null ? null : name))),
    new Set(['id', null, 'required']),
  );
  assert.equal(id + 1, nulls.id);
});

/** Creates samples of one field by JSON texts; gives the values as they come back, as JSON text. */
async function returned(field: string, json: string): Promise<string> {
  const { status, text } = await workspace.call('samples', {
    method: 'POST',
    headers: JSON_TYPE,
    body: `{"${field}":${json}}`,
  });
  assert.equal(status, 201, `${json}: ${text}`);
  const at = text.indexOf(`"${field}":`) + field.length + 3;
  const names = Object.keys(TYPES_SCHEMA.entities.samples.fields);
  const next = names[names.indexOf(field) + 1];
  return text.slice(at, next === undefined ? text.lastIndexOf('}}') : text.lastIndexOf(`,"${next}":`));
}

const RUNS = { numRuns: 60 };

test('bigints keep every digit, as numbers and as strings', async () => {
  const value = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
  await fc.assert(
    fc.asyncProperty(value, fc.boolean(), async (number, quoted) => {
      assert.equal(await returned('aBigint', quoted ? `"${number}"` : String(number)), String(number));
    }),
    RUNS,
  );
});

const digits = (maxLength: number): fc.Arbitrary<string> =>
  fc.array(fc.constantFrom(...'0123456789'), { minLength: 1, maxLength }).map((list) => list.join(''));
const whole = (maxLength: number): fc.Arbitrary<string> =>
  digits(maxLength).map((text) => text.replace(/^0+(?=\d)/, ''));

test('decimals keep every digit', async () => {
  await fc.assert(
    fc.asyncProperty(fc.boolean(), whole(28), digits(10), fc.boolean(), async (negative, left, right, quoted) => {
      const isZero = /^0*$/.test(left + right);
      const text = `${negative && !isZero ? '-' : ''}${left}.${right}`;
      assert.equal(await returned('aDecimal', quoted ? `"${text}"` : text), text + '0'.repeat(10 - right.length));
    }),
    RUNS,
  );
});

test('decimals without a precision keep the digits they were sent with', async () => {
  await fc.assert(
    fc.asyncProperty(fc.boolean(), whole(200), fc.option(digits(200)), async (negative, left, right) => {
      const isZero = /^0*$/.test(left + (right ?? ''));
      const text = `${negative && !isZero ? '-' : ''}${left}${right === null ? '' : `.${right}`}`;
      assert.equal(await returned('aNumeric', text), text);
    }),
    RUNS,
  );
});

test('floats come back as the same double', async () => {
  const value = fc.double({ noNaN: true, noDefaultInfinity: true });
  await fc.assert(
    fc.asyncProperty(value, async (number) => {
      const back = JSON.parse(await returned('aFloat', Object.is(number, -0) ? '-0' : String(number)));
      assert.ok(Object.is(back, number), `${number} came back as ${back}`);
    }),
    RUNS,
  );
});

test('datetimes with any offset and fraction come back as the same instant in UTC', async () => {
  const instant = fc.date({
    min: new Date('0002-01-01T00:00:00Z'),
    max: new Date('9998-12-31T23:59:59Z'),
    noInvalidDate: true,
  });
  const offset = fc.integer({ min: -15 * 60 - 59, max: 15 * 60 + 59 });
  await fc.assert(
    fc.asyncProperty(instant, offset, fc.option(digits(9)), async (date, minutes, fraction) => {
      const seconds = Math.floor(date.getTime() / 1000) * 1000;
      const local = new Date(seconds + minutes * 60_000).toISOString().slice(0, 19);
      const zone = `${minutes < 0 ? '-' : '+'}${String(Math.floor(Math.abs(minutes) / 60)).padStart(2, '0')}:${String(Math.abs(minutes) % 60).padStart(2, '0')}`;
      const sent = `${local}${fraction === null ? '' : `.${fraction}`}${zone}`;
      const milliseconds = Number((fraction ?? '').slice(0, 3).padEnd(3, '0'));
      const wanted = new Date(seconds + milliseconds).toISOString().replace('.000Z', 'Z');
      assert.equal(await returned('aDatetime', `"${sent}"`), `"${wanted}"`, sent);
    }),
    RUNS,
  );
});

test('any Unicode text without NUL comes back as it was', async () => {
  const text = fc.string({ unit: 'binary', maxLength: 200 }).map((value) => value.replaceAll('\u0000', ''));
  await fc.assert(
    fc.asyncProperty(text, async (value) => {
      assert.equal(JSON.parse(await returned('aString', JSON.stringify(value))), value);
    }),
    RUNS,
  );
});

test('any JSON comes back as it was', async () => {
  const clean = (text: string): boolean => !/\\u0000|\\ud[89a-f]|-0/i.test(text);
  await fc.assert(
    fc.asyncProperty(fc.json({ stringUnit: 'binary' }).filter(clean), async (text) => {
      assert.deepEqual(JSON.parse(await returned('aJson', text)), JSON.parse(text));
    }),
    RUNS,
  );
});

test('uuids come back in lower case', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uuid(), fc.boolean(), async (uuid, upper) => {
      assert.equal(await returned('aUuid', `"${upper ? uuid.toUpperCase() : uuid}"`), `"${uuid}"`);
    }),
    RUNS,
  );
});

test('any day of the calendar comes back as it was', async () => {
  const instant = fc.date({
    min: new Date('0001-01-01T00:00:00Z'),
    max: new Date('9999-12-31T00:00:00Z'),
    noInvalidDate: true,
  });
  await fc.assert(
    fc.asyncProperty(instant, async (date) => {
      const day = date.toISOString().slice(0, 10);
      assert.equal(await returned('aDate', `"${day}"`), `"${day}"`);
    }),
    RUNS,
  );
});

test('a default of now is the time of the day in UTC, to the second', async () => {
  const at = { type: 'time', required: true, default: 'now' };
  const visits = await server.workspace('acme/times', { entities: { visits: { fields: { at } } } });
  const seconds = (text: string): number => Date.parse(`1970-01-01T${text}Z`) / 1000;
  const now = seconds(new Date().toISOString().slice(11, 19));
  const [visit] = await visits.create('visits', [{}]);
  assert.match(visit.at, /^\d\d:\d\d:\d\d$/);
  // Midnight may lie between the two.
  const apart = Math.abs(seconds(visit.at) - now);
  assert.ok(Math.min(apart, 86_400 - apart) < 60, `${visit.at} is ${apart} s from now`);
});
