// The text of statements that write, and of the look at the references of a body.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getEntity } from '../../../src/model/workspace.ts';
import { planAssignment } from '../../../src/plan/assignment.ts';
import { planCreate, planUpdate } from '../../../src/plan/plan.ts';
import { bindQuery, compile } from '../../../src/sql/compile.ts';
import { makePlanContext, makeShop, OWNER } from '../../support/field-types-fixture.ts';
import { OPTIONS } from './statements.ts';

const SHOP = makeShop();
/** Entities of the shop with a text without a limit: what is answered is guarded. */
const answer = (columns: string) =>
  `(select case when octet_length(q.t) <= 1000 then q.t else "ws7_shop"."$bounded_text_ws7"(q.t, 1000) end from (select (select row_to_json("$") from (select ${columns}) "$")::text as t offset 0) q) as data, "r0".xmin::text as version, "r0"."id"::text as id`;
const TAG = answer('"r0"."id", "r0"."name"');

function valuesOf(entity: string, body: object, id?: string) {
  const { values, details } = planAssignment(body, getEntity(SHOP, entity), id);
  assert.deepEqual(details, []);
  return values;
}

function create(entity: string, body: object) {
  const plan = planCreate(valuesOf(entity, body), getEntity(SHOP, entity), makePlanContext(SHOP));
  return bindQuery(compile(plan, OPTIONS), { principal: OWNER, body: plan.values });
}

function update(entity: string, body: object, versions?: readonly string[]) {
  const plan = planUpdate(
    valuesOf(entity, body, '5'),
    getEntity(SHOP, entity),
    makePlanContext(SHOP),
    versions !== undefined,
  );
  return bindQuery(compile(plan, OPTIONS), { principal: OWNER, id: '5', body: plan.values, versions: versions ?? [] });
}

test('an update of nothing reads the record, and writes nothing', () => {
  const { text, values } = update('tags', {});
  assert.equal(text, `select ${TAG} from "ws7_shop"."tags" "r0" where "r0"."id" = $1::int8`);
  assert.deepEqual(values, ['5']);
});

test('a value of the body that a statement does not ask for is not bound, one that it asks for and is not there is null', () => {
  const plan = planCreate(valuesOf('tags', { name: 'x' }), getEntity(SHOP, 'tags'), makePlanContext(SHOP));
  const statement = compile(plan, OPTIONS);
  assert.deepEqual(bindQuery(statement, { principal: OWNER, body: new Map([['other', 'y']]) }).values, [null]);
  assert.deepEqual(bindQuery(statement, { principal: OWNER }).values, [null]);
});

test('writes of the same columns share a statement', () => {
  assert.equal(create('tags', { name: 'x' }).name, create('tags', { name: 'y' }).name);
  assert.notEqual(create('customers', { name: 'x' }).name, create('customers', { name: 'x', email: 'y' }).name);
});
