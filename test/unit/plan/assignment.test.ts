// Bodies of creates and updates: every mistake at once, and the text of what is written.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getEntity } from '../../../src/model/workspace.ts';
import { planAssignment } from '../../../src/plan/assignment.ts';
import { parseBody } from '../../../src/request/body.ts';
import { refuses } from '../../support/error-response.ts';
import { makeShop } from '../../support/field-types-fixture.ts';

const SHOP = makeShop();

interface Asked {
  readonly entity?: string;
  /** Of an update; undefined for a create. */
  readonly id?: string;
  readonly stamped?: readonly string[];
}

function assign(json: string, { entity = 'orders', id, stamped = [] }: Asked = {}) {
  return planAssignment(parseBody(Buffer.from(json)), getEntity(SHOP, entity), id, new Set(stamped));
}

const mistakes = (json: string, asked?: Asked) =>
  assign(json, asked).details.map(({ field, code }) => `${field} ${code}`);

test('values are the text of their columns, in the order of the body', () => {
  const { values, details } = assign(
    '{"customerId":5,"total":"1.50","status":null,"placedAt":"2026-01-31T12:00:00+01:00"}',
  );
  assert.deepEqual(details, []);
  assert.deepEqual(
    [...values],
    [
      ['customerId', '5'],
      ['total', '1.50'],
      ['status', null],
      ['placedAt', '2026-01-31T11:00:00.000Z'],
    ],
  );
});

test('every mistake of a body is found, in one go', () => {
  const body = `{"aString":"abcd","aText":"\\u0000","anInteger":1.5,"aBigint":"x","aDecimal":0.001,"aFloat":101,
    "aBoolean":1,"aDate":"2026-02-30","aDatetime":"2026-01-31","aUuid":"x","aJson":["\\ud800"],"anEnum":"blue","id":1,"aStrin":1}`;
  assert.deepEqual(mistakes(body, { entity: 'things' }), [
    'aString TOO_LONG',
    'aText INVALID',
    'anInteger TYPE_MISMATCH',
    'aBigint TYPE_MISMATCH',
    'aDecimal OUT_OF_RANGE',
    'aFloat OUT_OF_RANGE',
    'aBoolean TYPE_MISMATCH',
    'aDate INVALID',
    'aDatetime INVALID',
    'aUuid INVALID',
    'aJson INVALID',
    'anEnum NOT_IN_ENUM',
    'id READ_ONLY',
    'aStrin UNKNOWN_FIELD',
  ]);
});

test('what a create leaves out is missing when it is required and has no default', () => {
  assert.deepEqual(mistakes('{}', { entity: 'customers' }), ['name REQUIRED']);
  assert.deepEqual(mistakes('{}', { entity: 'orderTags' }), ['orderId REQUIRED', 'tagId REQUIRED']);
  assert.deepEqual(mistakes('{"total":-1,"x":1}'), ['total OUT_OF_RANGE', 'x UNKNOWN_FIELD', 'customerId REQUIRED']);
  assert.deepEqual(mistakes('{}', { entity: 'things' }), []);
});

test('an update may leave out anything', () => {
  assert.deepEqual(mistakes('{}', { entity: 'customers', id: '5' }), []);
  assert.equal(assign('{}', { entity: 'customers', id: '5' }).values.size, 0);
});

test('null is refused for what is required, by creates and updates', () => {
  assert.deepEqual(mistakes('{"name":null}', { entity: 'customers' }), ['name REQUIRED']);
  assert.deepEqual(mistakes('{"name":null,"email":null}', { entity: 'customers', id: '5' }), ['name REQUIRED']);
  assert.deepEqual(mistakes('{"customerId":null}', { id: '5' }), ['customerId REQUIRED']);
});

test('a required field with a default may be left out, not be null', () => {
  const { entities } = makeShop({ tags: { fields: { name: { type: 'string', required: true, default: 'new' } } } });
  const details = (body: object) => planAssignment(body, getEntity({ ...SHOP, entities }, 'tags'), undefined).details;
  assert.deepEqual(details({}), []);
  assert.equal(details({ name: null })[0]?.code, 'REQUIRED');
});

test('a column that a row rule sets need not be given', () => {
  assert.deepEqual(mistakes('{}', { stamped: ['customerId'] }), []);
  assert.deepEqual(mistakes('{"customerId":null}', { stamped: ['customerId'] }), ['customerId REQUIRED']);
});

for (const [name, json, asked, expected] of [
  ['a create gives no id', '{"id":1,"name":"x"}', { entity: 'tags' }, ['id READ_ONLY']],
  ['an update may repeat the id of its path', '{"id":5}', { entity: 'tags', id: '5' }, []],
  ['however the path writes it', '{"id":5}', { entity: 'tags', id: '005' }, []],
  ['a large one digit by digit', '{"id":9007199254740993}', { entity: 'tags', id: '9007199254740993' }, []],
  ['but no neighbour', '{"id":9007199254740993}', { entity: 'tags', id: '9007199254740992' }, ['id READ_ONLY']],
  ['no other id', '{"id":6}', { entity: 'tags', id: '5' }, ['id READ_ONLY']],
  ['nor null', '{"id":null}', { entity: 'tags', id: '5' }, ['id READ_ONLY']],
  [
    'timestamps are the server’s',
    '{"name":"a","createdAt":"2026-01-31T00:00:00Z","updatedAt":null}',
    { entity: 'customers' },
    ['createdAt READ_ONLY', 'updatedAt READ_ONLY'],
  ],
] as const) {
  test(`read-only: ${name}`, () => assert.deepEqual(mistakes(json, asked), expected));
}

for (const [json, entity, message] of [
  ['{"nmae":1}', 'customers', 'is not a field of customers. Did you mean name? Known: name, email, country'],
  ['{"zzz":1}', 'customers', 'is not a field of customers. Known: name, email, country'],
  ['{"customer":{"id":1}}', 'orders', 'is a relation; write the id of the other record into customerId'],
  ['{"items":[]}', 'orders', 'is a relation; write it from the records of items'],
  ['{"__proto__":{"name":"x"}}', 'customers', 'is not a field of customers. Known: name, email, country'],
  ['{"constructor":1}', 'customers', /^is not a field of customers\./],
] as const) {
  test(`${json} for ${entity} is an unknown field`, () => {
    const detail = assign(json, { entity, id: '5' }).details[0];
    assert.equal(detail?.code, 'UNKNOWN_FIELD');
    if (typeof message === 'string') assert.equal(detail.message, message);
    else assert.match(detail.message, message);
  });
}

for (const json of ['null', '[]', '[{}]', '"x"', '1', '1.50', 'true']) {
  test(`a body of ${json} is no record`, () => refuses(() => assign(json), 'The request body must be one JSON object'));
}

test('a create takes no operator, and says so', () => {
  const { details } = assign('{"customerId":5,"total":{"$inc":1}}');
  const message = 'must be a value: operators are for updates';
  assert.deepEqual(details, [{ field: 'total', code: 'TYPE_MISMATCH', message }]);
});
