// Inserts on a cluster: whatever their rows are made of, each goes to the node of its table alone, which an insert does that
// looks at a table, and calls nothing that Citus would have to work out first.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Workspace } from '../../../src/model/workspace.ts';
import { getEntity } from '../../../src/model/workspace.ts';
import { planAssignment } from '../../../src/plan/assignment.ts';
import { planBulkCreate, planBulkUpsert } from '../../../src/plan/bulk.ts';
import { planKey } from '../../../src/plan/conflict-key.ts';
import { planCsvImport } from '../../../src/plan/import-plan.ts';
import { type Plan, planCreate } from '../../../src/plan/plan.ts';
import { planUpsert, planUpsertAssignment } from '../../../src/plan/upsert.ts';
import { type ConflictMode, parseImportRequest } from '../../../src/request/import-request.ts';
import type { Upsert } from '../../../src/request/upsert.ts';
import { compile } from '../../../src/sql/compile.ts';
import { writeStaged } from '../../../src/sql/import.ts';
import { distributed, external, makePlanContext, makeShop } from '../../support/field-types-fixture.ts';
import { OPTIONS } from '../sql/statements.ts';

const PLAIN = makeShop({ customers: { rowRules: [{ column: 'country', claim: 'country' }] } });
const USER = external({ country: 'SE' });
const ORDER = { status: 'open', customerId: 1 };

const textOf = (plan: Plan): string => compile(plan, OPTIONS).text;

function create(workspace: Workspace): string {
  const orders = getEntity(workspace, 'orders');
  return textOf(planCreate(planAssignment(ORDER, orders, undefined).values, orders, makePlanContext(workspace, USER)));
}

function upsert(workspace: Workspace, asked: Upsert): string {
  const seen = makePlanContext(workspace);
  const customers = getEntity(workspace, 'customers');
  const key = planKey(asked, customers, seen);
  const { values } = planUpsertAssignment({ id: 7, name: 'Ann' }, customers, seen, key);
  return textOf(planUpsert(values, customers, seen, key));
}

function bulkCreate(workspace: Workspace, ...bodies: readonly object[]): string {
  const orders = getEntity(workspace, 'orders');
  const items = bodies.map((body) => planAssignment(body, orders, undefined).values);
  return textOf(planBulkCreate(items, orders, makePlanContext(workspace, USER)).plan);
}

function bulkUpsert(workspace: Workspace, asked: Upsert, ...bodies: readonly object[]): string {
  const seen = makePlanContext(workspace);
  const customers = getEntity(workspace, 'customers');
  const key = planKey(asked, customers, seen);
  const items = bodies.map((body) => planUpsertAssignment(body, customers, seen, key).values);
  return textOf(planBulkUpsert(items, key, customers, seen).plan);
}

function importing(workspace: Workspace, onConflict: ConflictMode): string {
  const request = parseImportRequest(`onConflict=${onConflict}`, { 'content-type': 'text/csv' });
  const customers = getEntity(workspace, 'customers');
  return writeStaged(planCsvImport(request, ['id', 'name'], customers, makePlanContext(workspace)).plan).text;
}

const BY_EMAIL: Upsert = { fields: ['email'], mode: 'update' };
const ANN = { email: 'a', name: 'Ann' };

const TEXTS: readonly (readonly [name: string, text: (workspace: Workspace) => string])[] = [
  ['a record with references that may be hidden', create],
  ['a record with an id', (shop) => upsert(shop, { fields: ['id'], mode: 'update' })],
  ['many records', (shop) => bulkCreate(shop, ORDER, ORDER)],
  ['many records that give different fields', (shop) => bulkCreate(shop, ORDER, { ...ORDER, placedAt: null })],
  ['many records or changes', (shop) => bulkUpsert(shop, BY_EMAIL, ANN)],
  ['many records or changes of different fields', (shop) => bulkUpsert(shop, BY_EMAIL, ANN, { ...ANN, country: 'SE' })],
  ['many records that are not there', (shop) => bulkUpsert(shop, { ...BY_EMAIL, mode: 'skip' }, ANN)],
  ['rows of a file that are not there', (shop) => importing(shop, 'skip')],
  ['rows of a file that change what is there', (shop) => importing(shop, 'update')],
];

const LOOK = /not exists \(select from "ws7_shop"\."\w+" limit 0\)/;

/** The inserts of a statement, up to what they give. */
const insertsIn = (text: string): string[] => text.match(/insert into .*?returning/gs) ?? [];

for (const [name, text] of TEXTS) {
  test(`${name}: the insert looks at its table, and its values are made before`, () => {
    const inserts = insertsIn(text(distributed(PLAIN)));
    assert.equal(inserts.length, 1);
    const [insert = ''] = inserts;
    assert.match(insert, LOOK);
    assert.doesNotMatch(insert, /now\(\)|nextval|reached_id|::|\$given/);
    assert.match(insert, /"(created|placed)At"/, 'what its column would be given by a function');
  });

  test(`${name}: one PostgreSQL is not asked for that`, () => {
    assert.doesNotMatch(text(PLAIN), LOOK);
    assert.doesNotMatch(text(PLAIN), /"\$new"/);
  });
}
