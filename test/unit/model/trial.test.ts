// Row rules that are tried: a snapshot with them, and no snapshot when they point at nothing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getUnrestricted, restrictWorkspace } from '../../../src/model/restricted.ts';
import { withRules } from '../../../src/model/trial.ts';
import { getEntity } from '../../../src/model/workspace.ts';
import { makeShop } from '../../support/field-types-fixture.ts';

const SHOP = makeShop();
const RULES = [{ column: 'customerId', claim: 'customer_id', enabled: true }];
const tried = (entity: string, column = 'customerId', key = 'k') =>
  withRules(SHOP, { byEntity: new Map([[entity, [{ column, claim: 'customer_id', enabled: true }]]]), key });

test('the entity has the rules, the others are as they were, and so is the snapshot in force', () => {
  const trial = tried('orders');
  assert.deepEqual(getEntity(trial, 'orders').rowRules, RULES);
  assert.equal(getEntity(trial, 'customers'), getEntity(SHOP, 'customers'));
  assert.notDeepEqual(getEntity(SHOP, 'orders').rowRules, RULES);
  assert.equal(getUnrestricted(trial), SHOP);
});

test('plans of different rules, and of parts, are kept apart', () => {
  const part = restrictWorkspace(SHOP, new Set(['orders']));
  const keys = [tried('orders'), tried('orders', 'customerId', 'other'), part].map(({ part }) => part?.key);
  const trialOfPart = withRules(part, { byEntity: new Map([['orders', RULES]]), key: 'k' });
  assert.equal(new Set([...keys, trialOfPart.part?.key]).size, 4);
  assert.equal(getUnrestricted(trialOfPart), SHOP);
});

for (const [words, entity, column] of [
  ['an entity', 'gone', 'customerId'],
  ['a column', 'orders', 'gone'],
] as const) {
  test(`a rule for ${words} that is gone is no rule that shows everything`, () => {
    assert.throws(() => tried(entity, column), { code: 'CONFLICT' });
  });
}
