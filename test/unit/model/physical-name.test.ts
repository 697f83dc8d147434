// Names in the database: they fit, are stable, and no name of a document is one of them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { databaseSchemaName, derivedName } from '../../../src/model/physical-name.ts';

test('derived names hold a $, which no name of a document may', () => {
  assert.equal(derivedName('orders', ['status', 'placedAt'], 'ix'), 'orders$status$placedAt$ix');
  assert.equal(derivedName('orders', ['total'], 'ck_range'), 'orders$total$ck_range');
  assert.equal(databaseSchemaName('12', 'my-shop'), 'ws12_my_shop');
});

test('derived names fit into 63 bytes, end in a hash of the whole when cut, and are stable', () => {
  const long = derivedName('e'.repeat(63), ['f'.repeat(63)], 'ix');
  assert.equal(long, derivedName('e'.repeat(63), ['f'.repeat(63)], 'ix'));
  assert.notEqual(long, derivedName('e'.repeat(63), ['f'.repeat(63)], 'uq'));
  assert.match(long, /^e{54}\$[0-9a-f]{8}$/);
  const name = fc.stringMatching(/^[A-Za-z][A-Za-z0-9_]{0,62}$/);
  fc.assert(
    fc.property(name, fc.array(name, { minLength: 1, maxLength: 4 }), (entity, parts) => {
      const derived = derivedName(entity, parts, 'uq');
      assert.ok(derived.length <= 63);
      assert.ok(derived.includes('$'));
      assert.ok(databaseSchemaName('9'.repeat(19), 's'.repeat(63)).length <= 63);
    }),
  );
});
