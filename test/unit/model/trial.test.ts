// Row rules and grants that are tried: a snapshot with them, and no snapshot when they point at nothing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getUnrestricted } from '../../../src/model/restricted.ts';
import { describeDeclarations, type EntityTrial, tryAccess } from '../../../src/model/trial.ts';
import { getEntity } from '../../../src/model/workspace.ts';
import { buildGrants } from '../../../src/schema/grants.ts';
import { makeShop } from '../../support/field-types-fixture.ts';

const SHOP = makeShop();
const RULES = [{ column: 'customerId', claim: 'customer_id', enabled: true }];
const tried = (change: EntityTrial, { roles = [] as string[], key = 'k', workspace = SHOP } = {}) =>
  tryAccess(
    workspace,
    { byEntity: new Map([['orders', change]]), key, declarations: describeDeclarations(SHOP) },
    { roles, onlyGrants: false },
  );

test('the entity has the rules, the others are as they were, and so is the snapshot in force', () => {
  const trial = tried({ rowRules: RULES });
  assert.deepEqual(getEntity(trial, 'orders').rowRules, RULES);
  assert.equal(getEntity(trial, 'customers'), getEntity(SHOP, 'customers'));
  assert.notDeepEqual(getEntity(SHOP, 'orders').rowRules, RULES);
  assert.equal(getUnrestricted(trial), SHOP);
});

test('grants are those of the roles', () => {
  const grants = buildGrants({ grants: [{ role: 'agent', can: ['read'], fields: ['total'] }] });
  const visible = (roles: string[]) => tried({ grants }, { roles }).entities.get('orders')?.fields.keys().toArray();
  assert.deepEqual(visible(['agent', 'other']), ['id', 'total']);
  assert.equal(visible(['other']), undefined);
  const granted = makeShop({ orders: { grants: [] } });
  const opened = tried({ grants: null }, { workspace: granted });
  assert.equal(getEntity(opened, 'orders').access, undefined);
  assert.equal(tried({ rowRules: RULES }, { workspace: granted }).entities.has('orders'), false);
});

test('plans of different trials are kept apart', () => {
  const grants = buildGrants({ grants: [{ role: 'agent', can: ['read'] }] });
  const keys = [
    tried({ rowRules: RULES }),
    tried({ rowRules: RULES }, { key: 'other' }),
    tried({ grants }),
    tried({ grants }, { roles: ['agent'] }),
  ].map(({ part }) => part?.key);
  assert.equal(new Set(keys).size, 4);
});

test('a schema that has changed since is refused: a rule for a missing column is no rule that shows everything', () => {
  const { total: _, ...fields } = getEntity(SHOP, 'orders').declared.fields as Record<string, never>;
  const changed = makeShop({ orders: { fields } });
  assert.throws(() => tried({ rowRules: RULES }, { workspace: changed }), { code: 'CONFLICT' });
});
