// The text of statements that read one record, with each kind of expansion.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { external, makeShop } from '../../support/field-types-fixture.ts';
import { type Asked, bound, compileRead, dateTime, flat } from './statements.ts';

const READS: readonly (readonly [name: string, entity: string, query: string, text: string])[] = [
  [
    'columns alone, one of them a text without a limit',
    'tags',
    '',
    `select case when octet_length("r0"."name") > 166 then null else row_to_json("$")::text end as data,
    "r0".xmin::text as version from "ws7_shop"."tags" "r0"
    cross join lateral (select "r0"."id", "r0"."name") "$" where "r0"."id" = $1::int8`,
  ],
  [
    'some columns, in the order asked for',
    'orders',
    'fields=total,id',
    `select row_to_json("$")::text as data, "r0".xmin::text as version from "ws7_shop"."orders" "r0"
    cross join lateral (select "r0"."total", "r0"."id") "$" where "r0"."id" = $1::int8`,
  ],
  [
    'a datetime',
    'orders',
    'fields=placedAt',
    `select row_to_json("$")::text as data, "r0".xmin::text as version from "ws7_shop"."orders" "r0"
    cross join lateral (select ${dateTime('r0', 'placedAt')} as "placedAt") "$" where "r0"."id" = $1::int8`,
  ],
  [
    'belongsTo: a row or null',
    'orders',
    'expand=customer&fields=id,customer.name',
    `select case when octet_length(q.data) <= 1000 then q.data end as data, q.version from
    (select row_to_json("$")::text as data, "r0".xmin::text as version from "ws7_shop"."orders" "r0"
    left join lateral (select row_to_json("$") as j from (select "r2"."name" from "ws7_shop"."customers" "r2"
    where "r2"."id" = "r0"."customerId") "$") "e1" on true
    cross join lateral (select "r0"."id", "e1".j as "customer") "$" where "r0"."id" = $1::int8 offset 0) q`,
  ],
  [
    'hasOne: a row or null',
    'customers',
    'expand=profile&fields=name,profile.bio',
    `select case when octet_length(q.data) <= 1000 then q.data end as data, q.version from
    (select row_to_json("$")::text as data, "r0".xmin::text as version from "ws7_shop"."customers" "r0"
    left join lateral (select row_to_json("$") as j from (select "r2"."bio" from "ws7_shop"."profiles" "r2"
    where "r2"."customerId" = "r0"."id") "$") "e1" on true
    cross join lateral (select "r0"."name", "e1".j as "profile") "$" where "r0"."id" = $1::int8 offset 0) q`,
  ],
  [
    'hasMany: an array by id, and null for a response that is too large',
    'orders',
    'expand=items&fields=id,items.product',
    `select case when octet_length(q.data) <= 1000 then q.data end as data, q.version from
    (select row_to_json("$")::text as data, "r0".xmin::text as version from "ws7_shop"."orders" "r0"
    left join lateral (select coalesce(json_agg("$"), '[]') as j from (select "r2"."product" from "ws7_shop"."items" "r2"
    where "r2"."orderId" = "r0"."id" order by "r2"."id" asc) "$") "e1" on true
    cross join lateral (select "r0"."id", "e1".j as "items") "$" where "r0"."id" = $1::int8 offset 0) q`,
  ],
  [
    'manyToMany: an array through the entity between',
    'orders',
    'expand=tags&fields=tags',
    `select case when octet_length(q.data) <= 1000 then q.data end as data, q.version from
    (select row_to_json("$")::text as data, "r0".xmin::text as version from "ws7_shop"."orders" "r0"
    left join lateral (select coalesce(json_agg("$"), '[]') as j from (select "r2"."id", "r2"."name" from "ws7_shop"."tags" "r2"
    where "r2"."id" in (select "m3"."tagId" from "ws7_shop"."orderTags" "m3" where "m3"."orderId" = "r0"."id")
    order by "r2"."id" asc) "$") "e1" on true
    cross join lateral (select "e1".j as "tags") "$" where "r0"."id" = $1::int8 offset 0) q`,
  ],
  [
    'nested, an entity related to itself',
    'categories',
    'expand=parent.children&fields=id,parent.children.name',
    `select case when octet_length(q.data) <= 1000 then q.data end as data, q.version from
    (select row_to_json("$")::text as data, "r0".xmin::text as version from "ws7_shop"."categories" "r0"
    left join lateral (select row_to_json("$") as j from (select "e3".j as "children" from "ws7_shop"."categories" "r2"
    left join lateral (select coalesce(json_agg("$"), '[]') as j from (select "r4"."name" from "ws7_shop"."categories" "r4"
    where "r4"."parentId" = "r2"."id" order by "r4"."id" asc) "$") "e3" on true
    where "r2"."id" = "r0"."parentId") "$") "e1" on true
    cross join lateral (select "r0"."id", "e1".j as "parent") "$" where "r0"."id" = $1::int8 offset 0) q`,
  ],
];

for (const [name, entity, query, text] of READS) {
  test(`a read of ${name}`, () => {
    const statement = compileRead(query, { entity });
    assert.equal(statement.text, flat(text));
    assert.deepEqual(bound(statement).values, ['5']);
  });
}

test('a read with a json looks at the length of its text', () => {
  assert.equal(
    compileRead('fields=aJson', { entity: 'things' }).text,
    flat(`select (select case when octet_length(q.t) <= 1000 then q.t else "ws7_shop"."$bounded_text"(q.t, 1000) end
    from (select row_to_json("$")::text as t offset 0) q) as data, "r0".xmin::text as version from "ws7_shop"."things" "r0"
    cross join lateral (select "r0"."aJson") "$" where "r0"."id" = $1::int8`),
  );
});

test('the careful text of a read stops at the limit while it builds lists', () => {
  const statement = compileRead('expand=items&fields=items.product&items.size=3&items.filter=product,eq,x');
  const bounded = statement.bounded?.();
  assert.equal(
    bounded?.text,
    flat(`select case when octet_length(q.data) <= 1000 then q.data end as data, q.version from
    (select row_to_json("$")::text as data, "r0".xmin::text as version from "ws7_shop"."orders" "r0"
    left join lateral (select coalesce(json_agg(x."$"), '[]') as j from
    (select w.* from (select s.*, sum(s."$size") over (rows unbounded preceding) as "$sum" from
    (select "$", "r2"."$row", 12 + coalesce(octet_length("r2"."product"), 0)::int8 as "$size" from
    (select "r2".*, row_number() over () as "$row" from (select "r2".* from "ws7_shop"."items" "r2"
    where "r2"."orderId" = "r0"."id" and "r2"."product" = $1::text order by "r2"."id" asc limit 3) "r2") "r2"
    cross join lateral (select "r2"."product") "$") s) w
    where case when w."$sum" <= 1000 then true else "ws7_shop"."$goes_on"(w."$sum", 1000) end order by w."$row") x) "e1" on true
    cross join lateral (select "e1".j as "items") "$" where "r0"."id" = $2::int8 offset 0) q`),
  );
  assert.deepEqual(bound(statement).bounded?.().values, ['x', '5']);
  assert.equal(compileRead('fields=id').bounded, undefined);
});

test('the careful text of a record with a long text tells its length by itself', () => {
  assert.equal(
    compileRead('', { entity: 'tags' }).bounded?.().text,
    flat(`select (select case when octet_length(q.t) <= 1000 then q.t else "ws7_shop"."$bounded_text"(q.t, 1000) end
    from (select row_to_json("$")::text as t offset 0) q) as data, "r0".xmin::text as version from "ws7_shop"."tags" "r0"
    cross join lateral (select "r0"."id", "r0"."name") "$" where "r0"."id" = $1::int8`),
  );
});

test('a narrowed list has its filter, order and limit inside the expansion', () => {
  const statement = compileRead(
    'expand=items&fields=items.id&items.size=3&items.sort=quantity,desc&items.filter=product,eq,x',
  );
  assert.ok(
    statement.text.includes(
      flat(`(select "r2"."id" from "ws7_shop"."items" "r2" where "r2"."orderId" = "r0"."id" and "r2"."product" = $1::text
      order by "r2"."quantity" desc, "r2"."id" desc limit 3)`),
    ),
    statement.text,
  );
  assert.deepEqual(bound(statement).values, ['x', '5']);
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
