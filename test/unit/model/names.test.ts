// Did-you-mean, names in the database, and who may write.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { closest } from '../../../src/model/closest.ts';
import { databaseSchemaName, derivedName } from '../../../src/model/physical-name.ts';
import { mayAdminister, mayWrite } from '../../../src/model/principal.ts';
import { isToOne, type Relation } from '../../../src/model/relation.ts';
import { external, makeShop, OPERATOR, OWNER } from '../../support/fixture.ts';

const FIELDS = ['id', 'name', 'email', 'country', 'placedAt', 'createdAt'];

for (const [name, known, nearest] of [
  ['nmae', FIELDS, 'name'],
  ['Name', FIELDS, 'name'],
  ['names', FIELDS, 'name'],
  ['e-mail', FIELDS, 'email'],
  ['contry', FIELDS, 'country'],
  ['placed_at', FIELDS, 'placedAt'],
  ['created_on', FIELDS, 'createdAt'],
  ['it', FIELDS, 'id'],
  ['xy', FIELDS, null],
  ['telephone', FIELDS, null],
  ['', FIELDS, null],
  ['name', [], null],
  ['n'.repeat(81), ['n'.repeat(80)], null],
] as const) {
  test(`${name.slice(0, 20)} is near to ${nearest}`, () => assert.equal(closest(name, known), nearest));
}

test('a name that is known is the nearest to itself', () => {
  for (const name of FIELDS) assert.equal(closest(name, FIELDS), name);
});

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

for (const [name, principal, writes, administers] of [
  ['an owner', OWNER, true, true],
  ['a read-write key', { ...OWNER, permissions: 'READ_WRITE' }, true, false],
  ['a read-only key', { ...OWNER, permissions: 'READ_ONLY' }, false, false],
  ['an owner of another workspace', { ...OWNER, workspaceId: '8' }, true, false],
  ['the operator', OPERATOR, true, true],
  ['an external user', external({ sub: 'a' }), true, false],
  ['an external user with Read Only', external({ sub: 'a' }, 'READ_ONLY'), false, false],
] as const) {
  test(`${name} may ${writes ? '' : 'not '}write and may ${administers ? '' : 'not '}administer`, () => {
    assert.equal(mayWrite(principal), writes);
    assert.equal(mayAdminister(principal, '7'), administers);
  });
}

test('belongsTo and hasOne lead to one record, hasMany and manyToMany to many', () => {
  const { entities } = makeShop();
  const relation = (entity: string, name: string) => entities.get(entity)?.relations.get(name) as Relation;
  assert.equal(isToOne(relation('orders', 'customer')), true);
  assert.equal(isToOne(relation('customers', 'profile')), true);
  assert.equal(isToOne(relation('customers', 'orders')), false);
  assert.equal(isToOne(relation('orders', 'tags')), false);
});
