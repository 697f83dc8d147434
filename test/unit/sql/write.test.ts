// The text of statements that write, and of the look at the references of a body.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getEntity } from '../../../src/model/workspace.ts';
import { planAssignment } from '../../../src/plan/assignment.ts';
import { planCreate, planDelete, planReferences, planUpdate } from '../../../src/plan/plan.ts';
import { bindQuery, compile } from '../../../src/sql/compile.ts';
import { makePlanContext, makeShop, OWNER } from '../../support/field-types-fixture.ts';
import { dateTime, flat, OPTIONS } from './statements.ts';

const SHOP = makeShop();
/** Entities of the shop with a text without a limit: what is answered is guarded. */
const answer = (columns: string) =>
  `(select case when octet_length(q.t) <= 1000 then q.t else "ws7_shop"."$bounded_text"(q.t, 1000) end from (select (select row_to_json("$") from (select ${columns}) "$")::text as t offset 0) q) as data, "r0".xmin::text as version, "r0"."id"::text as id`;
const TAG = answer('"r0"."id", "r0"."name"');
const CUSTOMER = answer(
  `"r0"."id", "r0"."name", "r0"."email", "r0"."country", ${dateTime('r0', 'createdAt')} as "createdAt", ${dateTime('r0', 'updatedAt')} as "updatedAt"`,
);

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

test('a create names the columns that the body gives, and answers with all', () => {
  const { text, values } = create('customers', { email: null, name: 'Ann' });
  assert.equal(
    text,
    flat(
      `with "$r" as (insert into "ws7_shop"."customers" as "r0" ("email", "name") values ($1::text, $2::text) returning "r0"."id", "r0"."name", "r0"."email", "r0"."country", "r0"."createdAt", "r0"."updatedAt", "r0".xmin as "$version"), "$w" as (select ${CUSTOMER.replace('"r0".xmin', '"r0"."$version"')} from "$r" "r0") select * from "$w"`,
    ),
  );
  assert.deepEqual(values, [null, 'Ann']);
});

test('a create of nothing takes the defaults', () => {
  const { text, values } = create('categories', {});
  assert.match(
    text,
    /^with "\$r" as \(insert into "ws7_shop"\."categories" as "r0" default values returning "r0"\."id", .*"r0"\.xmin as "\$version"\), "\$w" as \(select \(select case when octet_length/,
  );
  assert.deepEqual(values, []);
});

test('every type is bound as its own', () => {
  const { text, values } = create('things', {
    aString: 'x',
    aText: 'y',
    anInteger: 1,
    aBigint: 2,
    aDecimal: 3,
    aFreeDecimal: 4,
    aFloat: 5,
    aBoolean: false,
    aDate: '2026-01-31',
    aDatetime: '2026-01-31T00:00:00Z',
    aUuid: '3f2504e0-4f89-11d3-9a0c-0305e82c3301',
    aJson: { a: [1] },
    anEnum: 'red',
  });
  assert.ok(
    text.includes(
      'values ($1::text, $2::text, $3::int4, $4::int8, $5::numeric, $6::numeric, $7::float8, $8::bool, $9::date, $10::timestamptz, $11::uuid, $12::jsonb, $13::text)',
    ),
    text,
  );
  assert.deepEqual(values.slice(7), [
    'false',
    '2026-01-31',
    '2026-01-31T00:00:00.000Z',
    '3f2504e0-4f89-11d3-9a0c-0305e82c3301',
    '{"a":[1]}',
    'red',
  ]);
});

test('an update sets what the body gives', () => {
  const { text, values } = update('tags', { name: 'x' });
  assert.equal(text, `update "ws7_shop"."tags" "r0" set "name" = $1::text where "r0"."id" = $2::int8 returning ${TAG}`);
  assert.deepEqual(values, ['x', '5']);
});

test('an update of an entity with timestamps notes when', () => {
  const { text } = update('customers', { country: null });
  assert.ok(
    text.startsWith('update "ws7_shop"."customers" "r0" set "country" = $1::text, "updatedAt" = now() where '),
    text,
  );
});

test('an update of nothing reads the record, and writes nothing', () => {
  const { text, values } = update('tags', {});
  assert.equal(text, `select ${TAG} from "ws7_shop"."tags" "r0" where "r0"."id" = $1::int8`);
  assert.deepEqual(values, ['5']);
});

test('a guarded update finds only the versions of If-Match', () => {
  const { text, values } = update('tags', { name: 'x' }, ['741', '742']);
  assert.equal(
    text,
    `update "ws7_shop"."tags" "r0" set "name" = $1::text where "r0"."id" = $2::int8 and "r0".xmin::text = any($3::text[]) returning ${TAG}`,
  );
  assert.deepEqual(values, ['x', '5', ['741', '742']]);
  const nothing = update('tags', {}, ['741']);
  assert.ok(nothing.text.endsWith('where "r0"."id" = $1::int8 and "r0".xmin::text = any($2::text[])'), nothing.text);
});

test('a delete answers with the id, guarded or not', () => {
  const remove = (guarded: boolean) =>
    bindQuery(compile(planDelete(getEntity(SHOP, 'tags'), makePlanContext(SHOP), guarded), OPTIONS), {
      principal: OWNER,
      id: '5',
      versions: ['741'],
    });
  assert.equal(
    remove(false).text,
    'delete from "ws7_shop"."tags" "r0" where "r0"."id" = $1::int8 returning "r0"."id"::text',
  );
  assert.deepEqual(remove(false).values, ['5']);
  assert.equal(
    remove(true).text,
    'delete from "ws7_shop"."tags" "r0" where "r0"."id" = $1::int8 and "r0".xmin::text = any($2::text[]) returning "r0"."id"::text',
  );
  assert.deepEqual(remove(true).values, ['5', ['741']]);
});

function references(operation: 'create' | 'update') {
  const body = valuesOf('orderTags', { orderId: 1, tagId: 2 });
  const plan = planReferences(body, getEntity(SHOP, 'orderTags'), makePlanContext(SHOP), operation);
  assert.notEqual(plan, undefined);
  return bindQuery(compile(plan as NonNullable<typeof plan>, OPTIONS), { principal: OWNER, id: '5', body });
}

test('the references of a create are all looked up by one statement', () => {
  const { text, values } = references('create');
  assert.equal(
    text,
    flat(`select 'orderId' where not exists (select from "ws7_shop"."orders" "k0" where "k0"."id" = $1::int8) union all
    select 'tagId' where not exists (select from "ws7_shop"."tags" "k1" where "k1"."id" = $2::int8)`),
  );
  assert.deepEqual(values, ['1', '2']);
});

test('a reference that an update leaves as it is needs no record', () => {
  const { text } = references('update');
  assert.ok(
    text.startsWith(
      flat(`select 'orderId' where not exists (select from "ws7_shop"."orders" "k0" where "k0"."id" = $1::int8)
      and not exists (select from "ws7_shop"."orderTags" "r1" where "r1"."id" = $2::int8 and "r1"."orderId" = $3::int8) union all `),
    ),
    text,
  );
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
