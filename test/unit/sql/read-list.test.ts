// The text of statements that read a page: its total, its order, and whether another follows.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getEntity } from '../../../src/model/workspace.ts';
import { planList } from '../../../src/plan/plan.ts';
import { encodeCursor } from '../../../src/request/page.ts';
import { parseListRequest } from '../../../src/request/record-request.ts';
import { bindQuery, compileEstimate } from '../../../src/sql/compile.ts';
import { LIMITS, makePlanContext, makeShop, OWNER } from '../../support/field-types-fixture.ts';
import { compileList, flat } from './statements.ts';

/** What a list asks of PostgreSQL for the sake of its speed; which records it shows is told by models in test/api/reading/. */
const SHAPES: readonly (readonly [name: string, entity: string, query: string, part: string])[] = [
  [
    'of all records asks for the kept total, and counts only without one',
    'tags',
    '',
    'coalesce(total.n, (select count(*) from "ws7_shop"."tags" "c0")) as total',
  ],
  [
    'that is deep passes over records by their ids alone',
    'tags',
    'page=250&size=4&sort=name&count=none',
    `from (select "d1"."id" from "ws7_shop"."tags" "d1" order by "d1"."name" asc, "d1"."id" asc limit 5 offset $1::int8) chosen
    join "ws7_shop"."tags" "r0" on`,
  ],
  [
    'in the order of related records joins their table',
    'orders',
    'sort=customer.name&count=none',
    `from "ws7_shop"."orders" "r0" left join "ws7_shop"."customers" "o1" on "o1"."id" = "r0"."customerId" order by "$sort0" asc`,
  ],
  [
    'that is deep joins them before it finds the ids',
    'orders',
    'page=250&size=4&sort=customer.name&count=none',
    `left join "ws7_shop"."customers" "o3" on "o3"."id" = "d2"."customerId" order by "o3"."name" asc`,
  ],
  [
    'with expansions joins them to the page alone',
    'orders',
    'expand=customer,items&sort=total',
    'order by "r0"."total" asc, "r0"."id" asc limit 20) numbered) "page" left join lateral',
  ],
  ['without a total reads one record more', 'tags', 'count=none', 'order by "r0"."id" asc limit 21) "page"'],
  [
    'without a total does not expand the record more',
    'tags',
    'count=none&expand=orders',
    'limit 21) numbered) numbered where "$at" <= 20) "page" left join lateral',
  ],
];

for (const [name, entity, query, part] of SHAPES) {
  test(`a list ${name}`, () => {
    const { text } = compileList(query, { entity });
    assert.ok(text.includes(flat(part)), text);
  });
}

for (const query of ['filter=status,eq,open', 'distinct=status']) {
  test(`a list with ${query} asks for no kept total`, () => {
    assert.ok(!compileList(query).text.includes('"$total"'));
  });
}

const after = (sort: string, ...keys: (string | null)[]): string => `after=${encodeCursor({ sort, keys })}`;

for (const [sort, comparison] of [
  ['asc', '>'],
  ['desc', '<'],
] as const) {
  test(`after a cursor of required fields, ${sort}, one range of an index is read`, () => {
    const { text } = compileList(`sort=name,${sort}&${after(`name,${sort};id,${sort}`, 'Ann', '5')}&count=none`, {
      entity: 'customers',
    });
    assert.ok(text.includes(`where ("r0"."name", "r0"."id") ${comparison} ($1::text, $2::int8) order by`), text);
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
