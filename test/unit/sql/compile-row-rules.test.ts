// Row rules in the statements: the text that is sent for an external user, and the values it is sent with.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Principal } from '../../../src/model/principal.ts';
import { getEntity } from '../../../src/model/workspace.ts';
import { planCreate, planDelete, planList, planReferences, planUpdate } from '../../../src/plan/plan.ts';
import { parseListRequest } from '../../../src/request/record-request.ts';
import { bindQuery, compile, type Inputs } from '../../../src/sql/compile.ts';
import { external, LIMITS, makePlanContext, makeShop, OWNER, SHOP } from '../../support/field-types-fixture.ts';
import { type Asked, bound, compileExport, compileRead, flat } from './statements.ts';

/** Orders belong to customers, and a user sees one customer by email and the orders of one customer by id. */
const shop = makeShop({
  customers: { ...SHOP.entities.customers, rowRules: [{ column: 'email', claim: 'email' }] },
  orders: { ...SHOP.entities.orders, rowRules: [{ column: 'customerId', claim: 'customer_id' }] },
} as never);
const orders = getEntity(shop, 'orders');
const ADA = external({ email: 'ada@example.com', customer_id: 7 });
const OPTIONS = { maxResponseBytes: 1000 };

/** The text with its aliases unquoted, for people to read. */
const plain = (text: string): string => text.replace(/"([a-z]\d+)"/g, '$1');

// A decimal without a scale may be long, so the text is held against the limit.
const RECORD =
  '(select case when octet_length(q.t) <= 1000 then q.t else "ws7_shop"."$bounded_text_ws7"(q.t, 1000) end from (select (select row_to_json("$") from (select r0."id", r0."status", r0."total", case when r0."placedAt"::timestamptz(0) = r0."placedAt" then replace(replace(r0."placedAt"::text, \' \', \'T\'), \'+00\', \'Z\') else to_char(r0."placedAt", \'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"\') end as "placedAt", r0."customerId") "$")::text as t offset 0) q) as data, r0.xmin::text as version, r0."id"::text as id';

/** Of an insert, whose version comes by name, and the rest of its statement. */
const GIVEN = 'r0."id", r0."status", r0."total", r0."placedAt", r0."customerId", r0.xmin as "$version"';
const INSERTED = `returning ${GIVEN}), "$w" as (select ${RECORD.replace('r0.xmin', 'r0."$version"')} from "$r" r0) select * from "$w"`;

function created(principal: Principal, body: Record<string, string | null>) {
  const plan = planCreate(new Map(Object.entries(body)), orders, makePlanContext(shop, principal));
  return bindQuery(compile(plan, OPTIONS), { principal, body: plan.values });
}

function updated(principal: Principal, body: Record<string, string | null>, inputs: Partial<Inputs> = {}) {
  const values = new Map(Object.entries(body));
  const plan = planUpdate(values, orders, makePlanContext(shop, principal), inputs.versions !== undefined);
  return bindQuery(compile(plan, OPTIONS), { principal, body: values, id: '3', ...inputs });
}

test('a create is stamped, and looks for what it refers to in the statement that writes', () => {
  const { text, values } = created(ADA, { total: '9.5' });
  assert.equal(
    plain(text),
    `with "$seen" as materialized (select true as "is" where exists (select from "ws7_shop"."customers" k1 where k1."id" = $1::int8 and k1."email" = $2::text)), "$s" as materialized (select nextval((select pg_get_serial_sequence('"ws7_shop"."orders"', 'id')::regclass)) as "id" from "$seen"), "$r" as (insert into "ws7_shop"."orders" as r0 ("id", "total", "customerId") select "$s"."id", $3::numeric, $4::int8 from "$s" ${INSERTED}`,
  );
  assert.deepEqual(values, ['7', 'ada@example.com', '9.5', '7']);
});

test("an owner's create leaves references to the foreign key", () => {
  const { text, values } = created(OWNER, { total: '9.5', customerId: '8' });
  assert.equal(
    plain(text),
    `with "$r" as (insert into "ws7_shop"."orders" as r0 ("total", "customerId") values ($1::numeric, $2::int8) ${INSERTED}`,
  );
  assert.deepEqual(values, ['9.5', '8']);
});

test('an update finds only rows of the user, and lets a reference stay as it is', () => {
  const { text, values } = updated(ADA, { total: '1', customerId: '7' });
  assert.equal(
    plain(text),
    `update "ws7_shop"."orders" r0 set "total" = $1::numeric, "customerId" = $2::int8 where r0."id" = $3::int8 and r0."customerId" = any(array[$4::int8]) and (r0."customerId" = $5::int8 or exists (select from "ws7_shop"."customers" k1 where k1."id" = $6::int8 and k1."email" = $7::text)) returning ${RECORD}`,
  );
  assert.deepEqual(values, ['1', '7', '3', '7', '7', '7', 'ada@example.com']);
});

test('an empty update shows only rows of the user', () => {
  const { text } = updated(ADA, {});
  assert.equal(
    plain(text),
    `select ${RECORD} from "ws7_shop"."orders" r0 where r0."id" = $1::int8 and r0."customerId" = any(array[$2::int8])`,
  );
});

test('a delete finds only rows of the user', () => {
  const plan = planDelete(orders, makePlanContext(shop, ADA), false);
  const { text, values } = bindQuery(compile(plan, OPTIONS), { principal: ADA, id: '3' });
  assert.equal(
    plain(text),
    'delete from "ws7_shop"."orders" r0 where r0."id" = $1::int8 and r0."customerId" = any(array[$2::int8]) returning r0."id"::text',
  );
  assert.deepEqual(values, ['3', '7']);
});

test('missing references of an update are those that change and cannot be seen', () => {
  const body = new Map([['customerId', '8']]);
  const plan = planReferences(body, orders, makePlanContext(shop, ADA), 'update');
  assert.ok(plan);
  const { text, values } = bindQuery(compile(plan, OPTIONS), { principal: ADA, id: '3', body });
  assert.equal(
    plain(text),
    'select \'customerId\' where not exists (select from "ws7_shop"."customers" k0 where k0."id" = $1::int8 and k0."email" = $2::text) and not exists (select from "ws7_shop"."orders" r1 where r1."id" = $3::int8 and r1."customerId" = $4::int8 and r1."customerId" = $5::int8)',
  );
  assert.deepEqual(values, ['8', 'ada@example.com', '3', '7', '8']);
});

test('one statement serves every user: a claim that cannot be used is bound as null', () => {
  const plan = planList(parseListRequest('fields=id', LIMITS), orders, makePlanContext(shop, ADA));
  const statement = compile(plan, OPTIONS);
  const claimsOf = (principal: Principal) =>
    bindQuery(statement, { principal }).values.filter((value) => value !== '20');
  assert.deepEqual(claimsOf(ADA), ['7', '7']);
  assert.deepEqual(claimsOf(external({ customer_id: '8' })), ['8', '8']);
  for (const claims of [{}, { customer_id: null }, { customer_id: [7] }, { customer_id: 'seven' }]) {
    assert.deepEqual(claimsOf(external(claims)), [null, null]);
  }
});

test('every table of a list carries its rules: root, total, expansion, filter, sort', () => {
  const query = 'expand=customer,tags&filter=customer.name,eq,x&sort=customer.name&tags.filter=orders.total,gt,1';
  const plan = planList(parseListRequest(query, LIMITS), orders, makePlanContext(shop, ADA));
  const { text } = bindQuery(compile(plan, OPTIONS), { principal: ADA });
  const tables = [...plain(text).matchAll(/"ws7_shop"\."(customers|orders)" (\w+)/g)];
  assert.equal(tables.filter(([, table]) => table === 'orders').length, 3);
  assert.ok(tables.length >= 7, text);
  for (const [, table, alias] of tables) {
    const rule = table === 'orders' ? `${alias}."customerId" = $` : `${alias}."email" = $`;
    assert.ok(plain(text).includes(rule), `${table} ${alias} is without its rule in ${text}`);
  }
});

test('the row filter stands beside every table that a user’s read names', () => {
  const rules = [{ column: 'customerId', claim: 'sub' }];
  const asked: Asked = {
    entity: 'orders',
    principal: external({ sub: '9' }),
    workspace: makeShop({
      orders: { rowRules: rules },
      tags: { rowRules: [{ column: 'name', claim: 'name' }] },
      orderTags: { rowRules: [{ column: 'tagId', claim: 'tag' }] },
    }),
  };
  const statement = compileRead('expand=tags&fields=id,tags.id', asked);
  assert.equal(
    statement.text,
    flat(`select case when octet_length(q.data) <= 1000 then q.data end as data, q.version from
    (select row_to_json("$")::text as data, "r0".xmin::text as version from "ws7_shop"."orders" "r0"
    left join lateral (select coalesce(json_agg("$"), '[]') as j from (select "r2"."id" from "ws7_shop"."tags" "r2"
    where "r2"."id" in (select "m3"."tagId" from "ws7_shop"."orderTags" "m3" where "m3"."orderId" = "r0"."id" and "m3"."tagId" = $1::int8)
    and "r2"."name" = $2::text order by "r2"."id" asc) "$") "e1" on true
    cross join lateral (select "r0"."id", "e1".j as "tags") "$" where "r0"."id" = $3::int8 and "r0"."customerId" = any(array[$4::int8]) offset 0) q`),
  );
  assert.deepEqual(bound(statement, external({ sub: '9', tag: 4 })).values, ['4', null, '5', '9']);
});

test('an export of a user holds the row filter', () => {
  const statement = compileExport('fields=id', {
    entity: 'tags',
    principal: external({ name: 'x' }),
    workspace: makeShop({ tags: { rowRules: [{ column: 'name', claim: 'name' }] } }),
  });
  assert.ok(statement.text.endsWith('"$" where "r0"."name" = $1::text order by "r0"."id" asc'), statement.text);
  assert.deepEqual(bound(statement, external({ name: 'x' })).values, ['x']);
  assert.deepEqual(bound(statement, external({})).values, [null]);
});
