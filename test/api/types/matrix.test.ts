// Each filter operator on each field type, and each type on every way in and out, against a model in plain JavaScript.
// A type or an operator that has no line here does not compile; a pair that nobody has thought of is asked for all the same.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FIELD_TYPE_NAMES, type FieldTypeName } from '../../../src/model/field-types.ts';
import { FILTER_OPERATORS, type FilterOperator } from '../../../src/model/operators.ts';
import { prepare, use, useServer } from '../../support/resources.ts';
import type { Answer, TestWorkspace } from '../../support/server.ts';
import { TYPE_SAMPLES, type TypeSample } from '../../support/type-samples.ts';

const SCHEMA = {
  entities: Object.fromEntries(
    FIELD_TYPE_NAMES.map((type) => [
      `${type}s`,
      { fields: { value: { type, ...TYPE_SAMPLES[type].attributes }, note: { type: 'integer' } } },
    ]),
  ),
};

const JSON_TYPE = { 'content-type': 'application/json' };
const send = (at: TestWorkspace, path: string, body: string, method = 'POST'): Promise<Answer> =>
  at.call(path, { method, headers: JSON_TYPE, body });

/** The records of each type, ids 1, 2, …: every value, null, and the first value again. Null is -1. */
const placesOf = ({ values }: TypeSample): readonly number[] => [...values.keys(), -1, 0];
const textAt = ({ values }: TypeSample, place: number): string => values[place] ?? 'null';
const idsWhere = (sample: TypeSample, holds: (place: number) => boolean): number[] =>
  placesOf(sample).flatMap((place, index) => (holds(place) ? [index + 1] : []));

const server = useServer();
const workspace = use(() => server.workspace('acme/matrix', SCHEMA));
prepare(async () => {
  for (const type of FIELD_TYPE_NAMES) {
    for (const place of placesOf(TYPE_SAMPLES[type])) {
      const answer = await send(workspace, `${type}s`, `{"value":${textAt(TYPE_SAMPLES[type], place)}}`);
      assert.equal(answer.status, 201, answer.text);
    }
  }
});

/* ---- operators ---- */

interface Asked {
  /** JSON texts. */
  readonly values: readonly string[];
  /** Of the place of a value among those of the type; null is -1. */
  readonly holds: (place: number) => boolean;
}

const folded = (text: string): string => text.toLowerCase().toUpperCase();
const stringOf = (sample: TypeSample, place: number): string => String(JSON.parse(textAt(sample, place)));
const last = ({ values }: TypeSample): number => values.length - 1;

/** An operator that takes a part of a text, in other capitals than the value has it. */
const part =
  (partOf: (text: string) => string, holds: (text: string, part: string) => boolean) =>
  (sample: TypeSample): Asked => {
    const asked = folded(partOf(stringOf(sample, 1)));
    return {
      values: [JSON.stringify(asked)],
      holds: (place) => place >= 0 && holds(folded(stringOf(sample, place)), asked),
    };
  };

const compared =
  (place: number, holds: (place: number, than: number) => boolean) =>
  (sample: TypeSample): Asked => ({
    values: [textAt(sample, place)],
    holds: (one) => one >= 0 && holds(one, place),
  });

/** What is asked of each type, and what finds it: null is unlike every value, and neither greater nor less. */
const MODEL: Readonly<Record<FilterOperator, (sample: TypeSample) => Asked>> = {
  eq: compared(0, (one, than) => one === than),
  ne: (sample) => ({ values: [textAt(sample, 0)], holds: (place) => place !== 0 }),
  gt: compared(0, (one, than) => one > than),
  gte: compared(1, (one, than) => one >= than),
  lt: compared(1, (one, than) => one < than),
  lte: compared(1, (one, than) => one <= than),
  in: (sample) => ({
    values: [textAt(sample, 0), textAt(sample, last(sample))],
    holds: (place) => place === 0 || place === last(sample),
  }),
  nin: (sample) => ({ values: [textAt(sample, last(sample))], holds: (place) => place !== last(sample) }),
  between: (sample) => ({
    values: [textAt(sample, 1), textAt(sample, last(sample))],
    holds: (place) => place >= 1,
  }),
  contains: part(
    (text) => text.slice(1, 3),
    (text, asked) => text.includes(asked),
  ),
  startsWith: part(
    (text) => text.slice(0, 2),
    (text, asked) => text.startsWith(asked),
  ),
  endsWith: part(
    (text) => text.slice(-2),
    (text, asked) => text.endsWith(asked),
  ),
  ieq: part(
    (text) => text,
    (text, asked) => text === asked,
  ),
  matches: (sample) => {
    const expression = `^${stringOf(sample, 1).slice(0, 2)}|${stringOf(sample, last(sample)).slice(-1)}$`;
    return {
      values: [JSON.stringify(expression)],
      holds: (place) => place >= 0 && new RegExp(expression).test(stringOf(sample, place)),
    };
  },
  isNull: () => ({ values: [], holds: (place) => place < 0 }),
  notNull: () => ({ values: [], holds: (place) => place >= 0 }),
};

const ORDER: readonly FilterOperator[] = ['gt', 'gte', 'lt', 'lte', 'between'];
const PARTS: readonly FilterOperator[] = ['contains', 'startsWith', 'endsWith', 'ieq', 'matches'];
const LISTS: readonly FilterOperator[] = ['in', 'nin', 'between'];
const applies = (operator: FilterOperator, { isOrdered, isText }: TypeSample): boolean =>
  ORDER.includes(operator) ? isOrdered : PARTS.includes(operator) ? isText : true;

/** JSON text of a value as it stands in a query string: strings without their quotes, but those that are JSON. */
function queryText(type: FieldTypeName, json: string, isOneOfMany: boolean): string {
  const text = type !== 'json' && json.startsWith('"') ? JSON.parse(json) : json;
  return isOneOfMany ? text.replaceAll(/[\\,]/g, '\\$&') : text;
}

for (const type of FIELD_TYPE_NAMES) {
  const sample = TYPE_SAMPLES[type];
  const known = FILTER_OPERATORS.filter((operator) => applies(operator, sample)).join(', ');
  for (const operator of FILTER_OPERATORS) {
    const isTaken = applies(operator, sample);
    test(`${operator} on ${type} ${isTaken ? 'finds what the model finds' : 'is refused with what applies'}`, async () => {
      // An operator that does not apply is asked with as many values as it takes, whatever they are.
      const some = [textAt(sample, 0), textAt(sample, 1)].slice(0, operator === 'between' ? 2 : 1);
      const asked = isTaken ? MODEL[operator](sample) : { values: some, holds: () => false };
      const isList = LISTS.includes(operator);
      const texts = asked.values.map((value) => queryText(type, value, isList));
      const filter = encodeURIComponent(['value', operator, ...(texts.length > 0 ? [texts.join()] : [])].join());
      const value = isList ? `,"value":[${asked.values}]` : asked.values.map((one) => `,"value":${one}`).join('');
      const answers = [
        await workspace.call(`${type}s?fields=id&filter=${filter}`),
        await send(
          workspace,
          `${type}s/_query`,
          `{"fields":["id"],"filter":{"field":"value","op":"${operator}"${value}}}`,
        ),
      ];
      for (const { status, json, text } of answers) {
        assert.equal(status, isTaken ? 200 : 400, text);
        if (isTaken) {
          const ids = idsWhere(sample, asked.holds);
          assert.deepEqual(json.data.map(({ id }: { id: number }) => id), ids); // biome-ignore format: a line
        } else {
          const words = `Filter operator ${operator} does not apply to value of type ${type}. Known: ${known}`;
          assert.deepEqual(json.error, { code: 'BAD_REQUEST', message: words, reason: 'OPERATOR_NOT_APPLICABLE' });
        }
      }
    });
  }
}

test('every operator that applies finds some records of a type and leaves others', () => {
  for (const type of FIELD_TYPE_NAMES) {
    const sample = TYPE_SAMPLES[type];
    const all = placesOf(sample).length;
    for (const operator of FILTER_OPERATORS.filter((one) => applies(one, sample))) {
      const found = idsWhere(sample, MODEL[operator](sample).holds).length;
      assert.ok(found > 0 && found < all, `${operator} on ${type} finds ${found} of ${all}`);
    }
  }
});

/* ---- every way in and out ---- */

/** JSON text of the value of a record, as it is answered. */
async function valueAt(path: string): Promise<string> {
  const { text } = await workspace.call(`${path}?fields=value`);
  return text.slice('{"data":{"value":'.length, -'}}'.length);
}

/** Sends a record, and holds what is answered and what is read afterwards against the text of the value. */
async function writes(path: string, body: string, value: string, method = 'PUT'): Promise<string> {
  const answer = await send(workspace, path, body, method);
  assert.ok(answer.status < 300 && answer.text.includes(`"value":${value},`), answer.text);
  const record = method === 'POST' ? `${path}/${answer.json.data.id}` : path;
  assert.equal(await valueAt(record), value);
  return record;
}

for (const type of FIELD_TYPE_NAMES) {
  const sample = TYPE_SAMPLES[type];
  const path = `${type}s`;
  const ids = (answer: Answer): number[] => {
    assert.equal(answer.status, 200, answer.text);
    return answer.json.data.map(({ id }: { id: number }) => id);
  };

  test(`${type}: what is created is read, and what is changed is there`, async () => {
    for (const [index, place] of placesOf(sample).entries()) {
      assert.equal(await valueAt(`${path}/${index + 1}`), textAt(sample, place));
    }
    const [first, second] = [textAt(sample, 0), textAt(sample, 1)];
    const one = await writes(path, `{"value":${first}}`, first, 'POST');
    await writes(one, `{"value":${second}}`, second);
    await writes(one, '{"note":1}', second);
    await writes(one, '{"value":null}', 'null');
    assert.equal((await workspace.call(one, { method: 'DELETE' })).status, 204);
  });

  test(`${type}: what is no value of it is refused, created and changed`, async () => {
    const [json, code, message] = sample.refused;
    for (const [target, method] of [
      [path, 'POST'],
      [`${path}/1`, 'PUT'],
    ] as const) {
      const answer = await send(workspace, target, `{"value":${json}}`, method);
      assert.equal(answer.status, 400, answer.text);
      assert.deepEqual(answer.json.error.details, [{ field: 'value', code, message }]);
    }
  });

  for (const direction of ['asc', 'desc'] as const) {
    const sign = direction === 'asc' ? 1 : -1;
    // Null is the greatest; the id goes with the last key.
    const rank = (place: number): number => (place < 0 ? Number.POSITIVE_INFINITY : place);
    const sorted = placesOf(sample)
      .map((place, index) => ({ rank: rank(place), id: index + 1 }))
      .sort((a, b) => sign * (a.rank === b.rank ? a.id - b.id : a.rank - b.rank))
      .map(({ id }) => id);

    test(`${type}: a sort ${direction} and a walk by cursors are in its order${sample.isSorted ? '' : ', which it has not'}`, async () => {
      const list = `${path}?fields=id&sort=value,${direction}`;
      const whole = await workspace.call(list);
      if (!sample.isSorted) {
        const message = `sort value: a field of type ${type} has no order`;
        assert.deepEqual(
          [whole.status, whole.json.error],
          [400, { code: 'BAD_REQUEST', message, reason: 'INVALID_SORT' }],
        );
        return;
      }
      assert.deepEqual(ids(whole), sorted);
      const walked: number[] = [];
      let cursor: string | null = '';
      while (cursor !== null) {
        const after = cursor === '' ? '' : `&after=${encodeURIComponent(cursor)}`;
        const page = await workspace.call(`${list}&size=1${after}`);
        walked.push(...ids(page));
        cursor = page.json.meta.nextCursor;
      }
      assert.deepEqual(walked, sorted);
    });
  }
}

const FORMATS = [
  ['csv', 'text/csv', 'id,value\n1,', '\n'],
  ['ndjson', 'application/x-ndjson', '{"id":1,"value":', '}\n'],
] as const;

for (const [format, mediaType, before, after] of FORMATS) {
  const copy = use(() => server.workspace(`acme/matrix-${format}`, SCHEMA));
  for (const type of FIELD_TYPE_NAMES) {
    const path = `${type}s`;
    const load = (body: string): Promise<Answer> =>
      copy.call(`${path}/_import`, { method: 'POST', headers: { 'content-type': mediaType }, body });

    test(`${type}: what ${format} exports it imports as it was, and it refuses what is no value with its row`, async () => {
      const file = await workspace.call(`${path}/_export?format=${format}&sort=id`);
      assert.equal(file.status, 200, file.text);
      const loaded = await load(file.text);
      assert.equal(loaded.status, 200, loaded.text);
      const [was, is] = [await workspace.call(`${path}?sort=id`), await copy.call(`${path}?sort=id`)];
      assert.equal(is.text, was.text);
      assert.equal(is.json.data.length, placesOf(TYPE_SAMPLES[type]).length);

      const { mistakenCell, refused } = TYPE_SAMPLES[type];
      const [mistake, code] = format === 'csv' ? (mistakenCell ?? []) : refused;
      if (mistake === undefined) return;
      const cell = format === 'csv' ? `"${mistake}"` : mistake;
      const { status, json, text } = await load(`${before}${cell}${after}`);
      assert.equal(status, 400, text);
      const details = json.error.details.map((detail: Record<string, unknown>) => [
        detail.row,
        detail.field,
        detail.code,
      ]);
      assert.deepEqual(details, [[1, 'value', code]]);
    });
  }
}
