// The columns that an import stages, by its headers, its parameters and who imports; rows are in import-row.test.ts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Principal } from '../../../src/model/principal.ts';
import { getEntity } from '../../../src/model/workspace.ts';
import { type ImportPlan, planCsvImport } from '../../../src/plan/import-plan.ts';
import { parseImportRequest } from '../../../src/request/import-request.ts';
import { external, makePlanContext, makeShop, OWNER } from '../../support/field-types-fixture.ts';

const SHOP = makeShop({ orders: { rowRules: [{ column: 'customerId', claim: 'customer' }] } });
const USER = external({ customer: 5 });

interface Asked {
  readonly entity?: string;
  readonly query?: string;
  readonly principal?: Principal;
}

function planOf(headers: string, { entity = 'customers', query = '', principal = OWNER }: Asked = {}): ImportPlan {
  const request = parseImportRequest(query, { 'content-type': 'text/csv' });
  const context = makePlanContext(SHOP, principal);
  return planCsvImport(request, headers.split(','), getEntity(SHOP, entity), context).plan;
}

const PLANS: readonly (readonly [headers: string, asked: Asked, plan: string])[] = [
  ['name,email', {}, 'name,email; ids none; required '],
  ['id,name', {}, 'id,name; ids new; required '],
  ['name,createdAt,updatedAt', {}, 'name,createdAt,updatedAt; ids none; required '],
  ['Mail,Full name,Junk', { query: 'map=Mail:email,Full name:name,Junk:' }, 'email,name; ids none; required '],
  ['id,email', { query: 'onConflict=update' }, 'id,email; ids new; required name'],
  [
    'id,status',
    { entity: 'orders', principal: USER, query: 'onConflict=update' },
    'id,status,customerId; ids known; required ',
  ],
  ['status', { entity: 'orders', principal: USER }, 'status,customerId; ids none; required '],
  ['customerId,status', { entity: 'orders', principal: USER }, 'customerId,status; ids none; required '],
];
for (const [headers, asked, plan] of PLANS) {
  test(`headers ${headers} ${JSON.stringify(asked)} are staged as ${plan}`, () => {
    const { columns, ids, required } = planOf(headers, asked);
    const names = (fields: typeof columns) => fields.map((field) => field.name).join();
    assert.equal(`${names(columns)}; ids ${ids}; required ${names(required)}`, plan);
  });
}

test('unique values are checked where the file gives all columns of a constraint', () => {
  const uniques = (headers: string) => planOf(headers).uniques.map((fields) => fields.map((field) => field.name));
  assert.deepEqual(uniques('name,email'), [['email']]);
  assert.deepEqual(uniques('name'), []);
});
