// Errors of PostgreSQL and of connections by what they say themselves, whatever table they are about.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getViolatedConstraint, StaleStatement, translateStatementError } from '../../../src/database/errors.ts';
import { notFound } from '../../../src/errors.ts';

const failure = (code: string): Error => Object.assign(new Error('secret'), { code });

for (const [code, status, name, detail] of [
  ['23505', 409, 'CONFLICT', 'NOT_UNIQUE'],
  ['23503', 400, 'VALIDATION_FAILED', 'REFERENCE_NOT_FOUND'],
  ['23001', 409, 'CONFLICT', 'STILL_REFERENCED'],
  ['23502', 400, 'VALIDATION_FAILED', 'REQUIRED'],
  ['23514', 400, 'VALIDATION_FAILED', 'OUT_OF_RANGE'],
  ['22003', 400, 'VALIDATION_FAILED', 'OUT_OF_RANGE'],
  ['22008', 400, 'VALIDATION_FAILED', 'OUT_OF_RANGE'],
  ['22P02', 400, 'VALIDATION_FAILED', 'INVALID'],
  ['54000', 400, 'BAD_REQUEST', undefined],
  ['57014', 503, 'QUERY_TIMEOUT', undefined],
  ['25P02', 503, 'SERVICE_UNAVAILABLE', undefined],
  ['55P03', 503, 'SERVICE_UNAVAILABLE', undefined],
  ['40001', 503, 'SERVICE_UNAVAILABLE', undefined],
  ['40P01', 503, 'SERVICE_UNAVAILABLE', undefined],
  ['53100', 503, 'SERVICE_UNAVAILABLE', undefined],
  ['25006', 503, 'SERVICE_UNAVAILABLE', undefined],
  ['25P03', 503, 'SERVICE_UNAVAILABLE', undefined],
  ['25P04', 503, 'SERVICE_UNAVAILABLE', undefined],
  ['58030', 503, 'SERVICE_UNAVAILABLE', undefined],
  ['42703', 503, 'SERVICE_UNAVAILABLE', undefined],
  ['2200H', 500, 'INTERNAL_ERROR', undefined],
  ['XX000', 500, 'INTERNAL_ERROR', undefined],
] as const) {
  test(`${code} is ${status} ${name}, and says nothing of the database's own words`, () => {
    const error = translateStatementError(failure(code));
    assert.deepEqual([error.status, error.code], [status, name]);
    assert.deepEqual(
      error.details?.map((each) => [each.field, each.code]),
      detail === undefined ? undefined : [[null, detail]],
    );
    assert.doesNotMatch(JSON.stringify([error.message, error.details]), /secret/);
  });
}

test('a refusal stays what it is, and a statement of the past is a 503', () => {
  const refusal = notFound('PATH_NOT_FOUND', 'not here');
  assert.equal(translateStatementError(refusal), refusal);
  assert.equal(translateStatementError(new StaleStatement()).code, 'SERVICE_UNAVAILABLE');
  assert.equal(translateStatementError(new TypeError('a mistake of ours')).code, 'INTERNAL_ERROR');
});

for (const code of ['EPIPE', 'ECONNRESET', 'ECONNREFUSED', '57P01', '08006']) {
  test(`a connection that broke with ${code} is a 503`, () => {
    const { status, code: name } = translateStatementError(failure(code));
    assert.deepEqual([status, name], [503, 'SERVICE_UNAVAILABLE']);
  });
}

for (const [said, message] of [
  ['invalid regular expression: parentheses () not balanced', 'has parentheses () that are not balanced'],
  ['regulärer Ausdruck ist ungültig: regular expression is too complex', 'is too complex'],
  ['something about ws7_shop.orders', 'is invalid'],
] as const) {
  test(`"${said}" becomes a regular expression that ${message}`, () => {
    const error = translateStatementError(Object.assign(new Error(said), { code: '2201B' }));
    assert.deepEqual([error.code, error.message], ['BAD_REQUEST', `The regular expression of a filter ${message}`]);
  });
}

test('a time zone that only the database does not know is a bad parameter', () => {
  const said = (message: string) => translateStatementError(Object.assign(new Error(message), { code: '22023' }));
  const zone = said('time zone "Mars/Base" not recognized');
  assert.deepEqual([zone.code, zone.message], ['BAD_REQUEST', 'The database does not know the time zone of tz']);
  assert.equal(said('something else').code, 'VALIDATION_FAILED');
});

for (const [error, name] of [
  [{ code: '23505', constraint: 'orders$number$uq' }, 'orders$number$uq'],
  // Citus: the number of a shard behind the name, and the name in the message alone.
  [{ code: '23505', constraint: 'orders$number$uq_102017' }, 'orders$number$uq'],
  [{ code: '23503' }, 'orders$customerId$fk'],
] as const) {
  test(`what refused is ${name}, by ${JSON.stringify(error)}`, () => {
    const said =
      'insert or update on table "orders_102017" violates foreign key constraint "orders$customerId$fk_102017"';
    assert.equal(getViolatedConstraint(Object.assign(new Error(said), error)), name);
  });
}
