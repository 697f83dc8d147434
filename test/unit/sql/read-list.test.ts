// The text of statements that read a page: its total, its order, and whether another follows.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getEntity } from '../../../src/model/workspace.ts';
import { planList } from '../../../src/plan/plan.ts';
import { encodeCursor } from '../../../src/request/page.ts';
import { parseListRequest } from '../../../src/request/record-request.ts';
import { bindQuery, compileEstimate } from '../../../src/sql/compile.ts';
import { LIMITS, makePlanContext, makeShop, OWNER } from '../../support/field-types-fixture.ts';
import { bound, compileList, flat } from './statements.ts';

const TOO_LARGE = 'select case when octet_length(answer.data) <= 1000 then answer.data end as data';

/** The total as triggers keep it, of a list without filters. */
const kept = (table: string): string =>
  `, (select (select case when b.pending is not null and b.relation = '${table}'
      then b.n + (select coalesce(sum(t.n), 0)::int8
          from "ws7_shop"."$total" t
          where t.relid = b.relid and t.slot >= -b.slot)
        + (select coalesce(sum(t.n), 0)::int8
          from "ws7_shop"."$total" t
          where t.relid = b.relid and t.slot = any(b.pending)) end
      from "ws7_shop"."$total" b
      where b.relid = '"ws7_shop"."${table}"'::regclass and b.slot < 0
      order by b.slot
      limit 1) as n
    offset 0) total`;

const LISTS: readonly (readonly [
  name: string,
  entity: string,
  query: string,
  text: string,
  values: readonly unknown[],
])[] = [
  [
    'by id: page and total in one statement',
    'tags',
    '',
    `${TOO_LARGE}, coalesce(total.n, (select count(*) from "ws7_shop"."tags" "c0")) as total, answer.last, answer.more, total.n is null as counted
    from (select coalesce(json_agg(records."$"), '[]')::text as data, json_build_array((array_agg(records."$key"))[count(*)]::text)::text as last, null::bool as more
      from (select "$", "page"."id" as "$key"
        from (select "r0"."id", "r0"."name"
          from "ws7_shop"."tags" "r0"
          order by "r0"."id" asc
          limit 20) "page"
        cross join lateral (select "page"."id", "page"."name") "$") records) answer${kept('tags')}`,
    [],
  ],
  [
    'a later page in another order: its keys are carried for the cursor',
    'tags',
    'page=2&size=5&sort=name,desc',
    `${TOO_LARGE}, coalesce(total.n, (select count(*) from "ws7_shop"."tags" "c0")) as total, answer.last, answer.more, total.n is null as counted
    from (select coalesce(json_agg(records."$"), '[]')::text as data, (array_agg(records."$key"))[count(*)] as last, null::bool as more
      from (select "$", "page"."$keys" as "$key"
        from (select "r0"."id", "r0"."name", json_build_array(("r0"."name")::text, ("r0"."id")::text)::text as "$keys"
          from "ws7_shop"."tags" "r0"
          order by "r0"."name" desc, "r0"."id" desc
          limit 5 offset $1::int8) "page"
        cross join lateral (select "page"."id", "page"."name") "$") records) answer${kept('tags')}`,
    ['10'],
  ],
  [
    'a deep page: records are passed over by their ids alone',
    'tags',
    'page=250&size=4&sort=name&count=none',
    `${TOO_LARGE}, null::int8 as total, answer.last, answer.more
    from (select coalesce(json_agg(records."$"), '[]')::text as data, (array_agg(records."$key"))[least(count(*), 4)] as last, count(*) > 4 as more
      from (select "$", "page"."$keys" as "$key"
        from (select "r0"."id", "r0"."name", json_build_array(("r0"."name")::text, ("r0"."id")::text)::text as "$keys"
          from (select "d1"."id"
            from "ws7_shop"."tags" "d1"
            order by "d1"."name" asc, "d1"."id" asc
            limit 5 offset $1::int8) chosen
          join "ws7_shop"."tags" "r0" on "r0"."id" = chosen."id"
          order by "r0"."name" asc, "r0"."id" asc) "page"
        cross join lateral (select "page"."id", "page"."name") "$") records) answer`,
    ['1000'],
  ],
  [
    'of distinct values: the cursor is outside of what chooses the first of each, and no kept total is asked for',
    'orders',
    'distinct=status&sort=total,desc&filter=total,gt,5&size=2&fields=id&after=WyJ0b3RhbCxkZXNjO2lkLGRlc2MiLCI5LjUiLCI0Il0',
    `${TOO_LARGE}, (select count(*)
      from (select distinct "c0"."status"
        from "ws7_shop"."orders" "c0"
        where "c0"."total" > $1::numeric) "v1") as total, answer.last, answer.more
    from (select coalesce(json_agg(records."$"), '[]')::text as data, (array_agg(records."$key"))[least(count(*), 2)] as last, count(*) > 2 as more
      from (select "$", "page"."$keys" as "$key"
        from (select "r0"."id", json_build_array(("r0"."total")::text, ("r0"."id")::text)::text as "$keys"
          from (select distinct on ("d1"."status") "d1"."id"
            from "ws7_shop"."orders" "d1"
            where "d1"."total" > $2::numeric
            order by "d1"."status", "d1"."total" desc, "d1"."id" desc) chosen
          join "ws7_shop"."orders" "r0" on "r0"."id" = chosen."id"
          where (("r0"."total" < $3::numeric) or ("r0"."total" = $4::numeric and "r0"."id" < $5::int8))
          order by "r0"."total" desc, "r0"."id" desc
          limit 3) "page"
        cross join lateral (select "page"."id") "$") records) answer`,
    ['5', '5', '9.5', '9.5', '4'],
  ],
  [
    'with a filter: the total counts what it matches',
    'tags',
    'filter=name,eq,x',
    `${TOO_LARGE}, (select count(*)
      from "ws7_shop"."tags" "c0"
      where "c0"."name" = $1::text) as total, answer.last, answer.more
    from (select coalesce(json_agg(records."$"), '[]')::text as data, json_build_array((array_agg(records."$key"))[count(*)]::text)::text as last, null::bool as more
      from (select "$", "page"."id" as "$key"
        from (select "r0"."id", "r0"."name"
          from "ws7_shop"."tags" "r0"
          where "r0"."name" = $2::text
          order by "r0"."id" asc
          limit 20) "page"
        cross join lateral (select "page"."id", "page"."name") "$") records) answer`,
    ['x', 'x'],
  ],
  [
    'with expansions: joined to the page alone, put back into its order',
    'orders',
    'expand=customer,items&fields=total,customer.name,items.quantity&sort=total',
    `${TOO_LARGE}, coalesce(total.n, (select count(*) from "ws7_shop"."orders" "c0")) as total, answer.last, answer.more, total.n is null as counted
    from (select coalesce(json_agg(records."$"), '[]')::text as data, (array_agg(records."$key"))[count(*)] as last, null::bool as more
      from (select "$", "page"."$keys" as "$key"
        from (select numbered.*, row_number() over () as "$row"
          from (select "r0"."id", "r0"."total", "r0"."customerId", json_build_array(("r0"."total")::text, ("r0"."id")::text)::text as "$keys"
            from "ws7_shop"."orders" "r0"
            order by "r0"."total" asc, "r0"."id" asc
            limit 20) numbered) "page"
        left join lateral (select row_to_json("$") as j
          from (select "r2"."name"
            from "ws7_shop"."customers" "r2"
            where "r2"."id" = "page"."customerId") "$") "e1" on true
        left join lateral (select coalesce(json_agg("$"), '[]') as j
          from (select "r4"."quantity"
            from "ws7_shop"."items" "r4"
            where "r4"."orderId" = "page"."id"
            order by "r4"."id" asc) "$") "e3" on true
        cross join lateral (select "page"."total", "e1".j as "customer", "e3".j as "items") "$"
        order by "page"."$row") records) answer${kept('orders')}`,
    [],
  ],
  [
    'without a total: one record more is read',
    'tags',
    'count=none',
    `${TOO_LARGE}, null::int8 as total, answer.last, answer.more
    from (select coalesce(json_agg(records."$"), '[]')::text as data, json_build_array((array_agg(records."$key"))[least(count(*), 20)]::text)::text as last, count(*) > 20 as more
      from (select "$", "page"."id" as "$key"
        from (select "r0"."id", "r0"."name"
          from "ws7_shop"."tags" "r0"
          order by "r0"."id" asc
          limit 21) "page"
        cross join lateral (select "page"."id", "page"."name") "$") records) answer`,
    [],
  ],
  [
    'without a total, with lists: the record more is counted, not expanded',
    'tags',
    'count=none&expand=orders&fields=name,orders.id',
    `${TOO_LARGE}, null::int8 as total, answer.last, answer.more
    from (select coalesce(json_agg(records."$"), '[]')::text as data, json_build_array((array_agg(records."$key"))[count(*)]::text)::text as last, max(records."$seen") > 20 as more
      from (select "$", "page"."id" as "$key", "page"."$seen"
        from (select *
          from (select numbered.*, row_number() over () as "$at", count(*) over () as "$seen"
            from (select "r0"."id", "r0"."name"
              from "ws7_shop"."tags" "r0"
              order by "r0"."id" asc
              limit 21) numbered) numbered
          where "$at" <= 20) "page"
        left join lateral (select coalesce(json_agg("$"), '[]') as j
          from (select "r2"."id"
            from "ws7_shop"."orders" "r2"
            where "r2"."id" in (select "m3"."orderId"
              from "ws7_shop"."orderTags" "m3"
              where "m3"."tagId" = "page"."id")
            order by "r2"."id" asc) "$") "e1" on true
        cross join lateral (select "page"."name", "e1".j as "orders") "$"
        order by "page"."id" asc) records) answer`,
    [],
  ],
];

for (const [name, entity, query, text, values] of LISTS) {
  test(`a list ${name}`, () => {
    const statement = compileList(query, { entity });
    assert.equal(statement.text, flat(text));
    assert.deepEqual(bound(statement).values, values);
  });
}

/** What stands between `where` and `order by` of the page, and its order. */
function pageOf(query: string, entity = 'orders'): { where: string; order: string; values: readonly unknown[] } {
  const statement = compileList(`count=none&fields=id&${query}`, { entity });
  const match = /from "ws7_shop"\."\w+" "r0"(?: where (.*?))? order by (.*?) limit \d/.exec(statement.text);
  return { where: match?.[1] ?? '', order: match?.[2] ?? '', values: bound(statement).values };
}

const after = (sort: string, ...keys: (string | null)[]): string => `after=${encodeCursor({ sort, keys })}`;

const CURSORS: readonly (readonly [
  name: string,
  query: string,
  entity: string,
  where: string,
  values: readonly unknown[],
])[] = [
  ['by id', after('id,asc', '5'), 'orders', '("r0"."id") > ($1::int8)', ['5']],
  ['by id backwards', `sort=id,desc&${after('id,desc', '5')}`, 'orders', '("r0"."id") < ($1::int8)', ['5']],
  [
    'by a required field: one range of an index',
    `sort=name&${after('name,asc;id,asc', 'Ann', '5')}`,
    'customers',
    '("r0"."name", "r0"."id") > ($1::text, $2::int8)',
    ['Ann', '5'],
  ],
  [
    'by a required field backwards',
    `sort=name,desc&${after('name,desc;id,desc', 'Ann', '5')}`,
    'customers',
    '("r0"."name", "r0"."id") < ($1::text, $2::int8)',
    ['Ann', '5'],
  ],
  [
    'by a field that may be null, which comes last',
    `sort=total&${after('total,asc;id,asc', '1.5', '5')}`,
    'orders',
    '((("r0"."total" > $1::numeric or "r0"."total" is null)) or ("r0"."total" = $2::numeric and ("r0"."id" > $3::int8 or "r0"."id" is null)))',
    ['1.5', '1.5', '5'],
  ],
  [
    'behind the nulls nothing but more of them',
    `sort=total&${after('total,asc;id,asc', null, '5')}`,
    'orders',
    '(("r0"."total" is null and ("r0"."id" > $1::int8 or "r0"."id" is null)))',
    ['5'],
  ],
  [
    'backwards nulls come first',
    `sort=total,desc&${after('total,desc;id,desc', null, '5')}`,
    'orders',
    '(("r0"."total" is not null) or ("r0"."total" is null and "r0"."id" < $1::int8))',
    ['5'],
  ],
  [
    'backwards from a value',
    `sort=total,desc&${after('total,desc;id,desc', '1.5', '5')}`,
    'orders',
    '(("r0"."total" < $1::numeric) or ("r0"."total" = $2::numeric and "r0"."id" < $3::int8))',
    ['1.5', '1.5', '5'],
  ],
  [
    'required fields in two directions',
    `sort=customerId,desc&sort=id,asc&${after('customerId,desc;id,asc', '9', '5')}`,
    'orders',
    '(("r0"."customerId" < $1::int8) or ("r0"."customerId" = $2::int8 and ("r0"."id" > $3::int8 or "r0"."id" is null)))',
    ['9', '9', '5'],
  ],
  [
    'by a field of a related record',
    `sort=customer.name&${after('customer.name,asc;id,asc', 'Ann', '5')}`,
    'orders',
    flat(`((((select "o1"."name" from "ws7_shop"."customers" "o1" where "o1"."id" = "r0"."customerId") > $1::text
    or (select "o1"."name" from "ws7_shop"."customers" "o1" where "o1"."id" = "r0"."customerId") is null))
    or ((select "o1"."name" from "ws7_shop"."customers" "o1" where "o1"."id" = "r0"."customerId") = $2::text and ("r0"."id" > $3::int8 or "r0"."id" is null)))`),
    ['Ann', 'Ann', '5'],
  ],
];

for (const [name, query, entity, where, values] of CURSORS) {
  test(`after a cursor ${name}`, () => {
    const page = pageOf(query, entity);
    assert.equal(page.where.replace(/ order by .*/, ''), where);
    assert.deepEqual(page.values.slice(0, values.length), values);
  });
}

test('a filter of the list stands beside the cursor, and in the total without it', () => {
  const statement = compileList(`filter=name,eq,x&${after('id,asc', '5')}`, { entity: 'tags' });
  assert.ok(
    statement.text.includes('(select count(*) from "ws7_shop"."tags" "c0" where "c0"."name" = $1::text) as total'),
  );
  assert.ok(statement.text.includes('where "r0"."name" = $2::text and ("r0"."id") > ($3::int8)'), statement.text);
});

test('the statement of a page does not depend on its values, so that all requests of its shape share it', () => {
  for (const [one, other] of [
    ['page=1&size=5', 'page=7&size=5'],
    ['filter=name,eq,x', 'filter=name,eq,y'],
    ['filter=name,in,a', 'filter=name,in,a,b,c'],
    [after('id,asc', '5'), after('id,asc', '6')],
  ] as const) {
    const [a, b] = [compileList(one, { entity: 'tags' }), compileList(other, { entity: 'tags' })];
    assert.equal(a.text, b.text);
    assert.equal(a.name, b.name);
  }
  assert.notEqual(compileList('', { entity: 'tags' }).name, compileList('', { entity: 'orders' }).name);
});

test('an estimate is the plan of the list without its page', () => {
  const shop = makeShop();
  const request = parseListRequest('count=estimated&filter=name,eq,x&sort=name&page=3', LIMITS);
  const statement = compileEstimate(planList(request, getEntity(shop, 'tags'), makePlanContext(shop)));
  assert.equal(
    statement.text,
    'explain (format json) select 1 from "ws7_shop"."tags" "c0" where "c0"."name" = $1::text',
  );
  assert.deepEqual(bindQuery(statement, { principal: OWNER }).values, ['x']);
});
