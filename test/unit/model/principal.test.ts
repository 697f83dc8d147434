// Who may write, and who may administer.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mayAdminister, mayWrite } from '../../../src/model/principal.ts';
import { external, OPERATOR, OWNER } from '../../support/field-types-fixture.ts';

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
