// The text of aggregates: what is grouped, joined and counted, clause by clause, and what is bound.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Principal } from '../../../src/model/principal.ts';
import { getEntity, type Workspace } from '../../../src/model/workspace.ts';
import { planAggregate } from '../../../src/plan/aggregate.ts';
import { parseAggregateRequest } from '../../../src/request/aggregate.ts';
import { compile } from '../../../src/sql/compile.ts';
import { unlessBadRequest } from '../../support/error-response.ts';
import { external, makePlanContext, makeShop, OWNER } from '../../support/field-types-fixture.ts';
import { bound, dateTime, flat, OPTIONS } from './statements.ts';

const SHOP = makeShop();

function query(text: string, entity = 'orders', workspace: Workspace = SHOP, principal: Principal = OWNER) {
  const request = parseAggregateRequest(text);
  const plan = planAggregate(request, getEntity(workspace, entity), makePlanContext(workspace, principal));
  return bound(compile(plan, OPTIONS), principal);
}

/** What is between the two marks of a text. */
function between(text: string, from: string, to: string): string {
  const start = text.indexOf(from) + from.length;
  return text.slice(start, text.indexOf(to, start));
}

/** The select list of the groups, up to a column. */
const upTo = (name: string) => (text: string) => {
  const end = text.indexOf(` as "${name}"`);
  return text.slice(text.lastIndexOf('(select ', end) + '(select '.length, end);
};
const column = upTo('a0');
const key = upTo('g0');

const Q = 'select case when octet_length(q.data) <= 1000 then q.data end as data, q.total, q.counted from (';
const GROUPED =
  flat(`select "r0"."status" as "g0", "j1"."country" as "g1", count(*) as "a0", sum("r0"."total") as "a1" from "ws7_shop"."orders" "r0"
  left join "ws7_shop"."customers" "j1" on "j1"."id" = "r0"."customerId"
  where "r0"."total" > $1::numeric group by 1, 2`);
const OBJECT = `json_build_object('status', p."g0", 'customer.country', p."g1", 'count', p."a0", 'sum:total', p."a1") as "$"`;
const SIZE = flat(
  `coalesce(octet_length((p."g0")::text), 0)::int8 + coalesce(octet_length((p."g1")::text), 0)::int8 as "$size"`,
);
const BOUND = flat(
  `p) s) w where case when w."$sum" <= 1000 then true else "ws7_shop"."$goes_on"(w."$sum", 1000) end) x) q`,
);
const RUNNING = 'select w.* from (select s.*, sum(s."$size") over (rows unbounded preceding) as "$sum" from (';
const WHOLE =
  'select=count,sum:total&group=status,customer.country&filter=total,gt,5&having=count,gte,2&sort=count,desc&size=10';

test('a first page counts its groups while it is made', () => {
  const { text, values } = query(WHOLE);
  assert.equal(
    text,
    `${Q}select coalesce(json_agg(x."$"), '[]')::text as data, coalesce(max(x."$groups"), 0) as total, null::int8 as counted from (${RUNNING}select ${OBJECT}, p."$groups", ${SIZE} from (select "g".*, count(*) over () as "$groups" from (select h.* from (${GROUPED}) h where "h"."a0" >= $2::int8) "g" order by "g"."a0" desc, "g"."g0" asc, "g"."g1" asc limit 10) ${BOUND}`,
  );
  assert.deepEqual(values, ['5', '2']);
});

test('a later page looks at the groups twice, as it may be empty', () => {
  const { text, values } = query(`${WHOLE}&page=2`);
  assert.equal(
    text,
    `${Q}with "g" as materialized (select h.* from (${GROUPED}) h where "h"."a0" >= $2::int8) select coalesce(json_agg(x."$"), '[]')::text as data, (select count(*) from "g") as total, null::int8 as counted from (${RUNNING}select ${OBJECT}, ${SIZE} from (select "g".* from "g" order by "g"."a0" desc, "g"."g0" asc, "g"."g1" asc limit 10 offset $3::int8) ${BOUND}`,
  );
  assert.deepEqual(values, ['5', '2', '20']);
});

for (const [page, data] of [
  ['', `coalesce(json_agg(x."$"), '[]')::text`],
  ['&page=3', `'[]'`],
] as const) {
  test(`without a group${page} there is one row`, () => {
    const { text } = query(`select=count,sum:id&filter=id,gt,0${page}`);
    assert.equal(
      text,
      `${Q}select ${data} as data, count(*) as total, null::int8 as counted from (select json_build_object('count', p."a0", 'sum:id', p."a1") as "$" from (select count(*) as "a0", sum("r0"."id") as "a1" from "ws7_shop"."orders" "r0" where "r0"."id" > $1::int8) p) x) q`,
    );
  });
}

for (const [entity, select, text] of [
  ['orders', 'count', 'count(*)'],
  ['orders', 'count:total', 'count("r0"."total")'],
  ['orders', 'countDistinct:customerId', 'count(distinct "r0"."customerId")'],
  ['orders', 'sum:total', 'sum("r0"."total")'],
  ['things', 'sum:anInteger', 'sum("r0"."anInteger")'],
  ['things', 'sum:aFloat', 'sum("r0"."aFloat"::text::numeric)'],
  [
    'orders',
    'avg:total',
    `div(2 * sum("r0"."total")::numeric * '1e8'::numeric + sign(sum("r0"."total")::numeric) * count("r0"."total"), 2 * count("r0"."total")) * '1e-8'::numeric`,
  ],
  [
    'things',
    'avg:aFloat',
    `div(2 * sum("r0"."aFloat"::text::numeric)::numeric * ('1e' || least(1000, scale(sum("r0"."aFloat"::text::numeric)::numeric) + 6))::numeric + sign(sum("r0"."aFloat"::text::numeric)::numeric) * count("r0"."aFloat"), 2 * count("r0"."aFloat")) * ('1e-' || least(1000, scale(sum("r0"."aFloat"::text::numeric)::numeric) + 6))::numeric`,
  ],
  ['things', 'min:aString', 'min("r0"."aString")'],
  ['things', 'min:aUuid', 'min("r0"."aUuid"::text collate "C")::uuid'],
  ['things', 'max:aUuid', 'max("r0"."aUuid"::text collate "C")::uuid'],
] as const) {
  test(`${select} is ${text}`, () => {
    const from = `filter=id,gt,0&select=${select}`;
    assert.equal(column(query(from, entity).text), text);
  });
}

for (const [group, text, values] of [
  ['status', '"r0"."status"', []],
  ['placedAt', '"r0"."placedAt"', []],
  [
    'placedAt:month',
    `date_trunc('month', case when "r0"."placedAt" < '0001-01-02T00:00Z'::timestamptz or "r0"."placedAt" >= '9999-12-31T00:00Z'::timestamptz then least(greatest("r0"."placedAt" at time zone $1::text, '0001-01-01'::timestamp), '9999-12-31'::timestamp) else "r0"."placedAt" at time zone $2::text end)::date`,
    ['Asia/Tokyo', 'Asia/Tokyo'],
  ],
  [
    'placedAt:hour',
    `case when "r0"."placedAt" < '0001-01-02T00:00Z'::timestamptz then greatest(date_trunc('hour', "r0"."placedAt", $1::text), '0001-01-01T00:00Z'::timestamptz) else date_trunc('hour', "r0"."placedAt", $2::text) end`,
    ['Asia/Tokyo', 'Asia/Tokyo'],
  ],
] as const) {
  test(`a group by ${group} is ${text}`, () => {
    const found = query(`select=count&tz=Asia/Tokyo&group=${group}`);
    assert.equal(key(found.text), text);
    assert.deepEqual(found.values, values);
  });
}

test('days of the calendar have no zone', () => {
  const found = query('select=count&tz=Asia/Tokyo&group=aDate:week', 'things');
  assert.equal(key(found.text), `date_trunc('week', "r0"."aDate"::timestamp)::date`);
  assert.deepEqual(found.values, []);
});

test('datetimes are answered as everywhere', () => {
  const { text } = query('select=max:placedAt&group=placedAt:hour');
  const object = between(text, 'json_build_object(', ') as "$", ').replaceAll('p.', '"p".');
  assert.equal(object, `'placedAt:hour', ${dateTime('p', 'g0')}, 'max:placedAt', ${dateTime('p', 'a0')}`);
});

test('the number of all records is the one that is kept', () => {
  const { text, values } = query('select=count');
  assert.match(
    text,
    / from \(select t\.n as "a0", t\."\$counted" from \(select coalesce\(k\.n, \(select count\(\*\) from "ws7_shop"\."orders" "r0"\)\) as n, k\.n is null as "\$counted" from \(select \(select case when/,
  );
  assert.ok(text.includes('count(*) as total, max(x."a0") filter (where x."$counted") as counted'));
  assert.deepEqual(values, []);
});

test('the rules of a user stand beside each table, in the join where it is joined', () => {
  const rules = makeShop({
    customers: { rowRules: [{ column: 'country', claim: 'country' }] } as never,
    orders: { rowRules: [{ column: 'customerId', claim: 'customer' }] } as never,
  });
  const user = external({ country: 'SE', customer: 7 });
  const { text, values } = query('select=count&group=customer.name', 'orders', rules, user);
  assert.equal(
    between(text, 'count(*) over () as "$groups" from (', ') "g"'),
    'select "j1"."name" as "g0", count(*) as "a0" from "ws7_shop"."orders" "r0" left join "ws7_shop"."customers" "j1" on "j1"."id" = "r0"."customerId" and "j1"."country" = $1::text where "r0"."customerId" = $2::int8 group by 1',
  );
  assert.deepEqual(values, ['SE', '7']);
});

test('requests that differ in values alone share a prepared statement', () => {
  const one = query('select=count&group=placedAt:day&tz=Asia/Tokyo&filter=total,gt,1&having=count,gt,1&page=1');
  const two = query('select=count&group=placedAt:day&tz=Europe/Rome&filter=total,gt,2&having=count,gt,3&page=2');
  assert.notEqual(one.name, undefined);
  assert.equal(one.name, two.name);
});

test('nothing of a request becomes SQL but names of the schema and of functions', () => {
  const hostile = fc
    .string({ unit: fc.constantFrom("'", '"', '\\', ';', '-', '$', '1', ' ', ')', '/', '*', 'ä', ',', ':', '.') })
    .map((text) => `zq${text}`);
  const mostly = (...usual: string[]) =>
    fc.oneof({ weight: 12, arbitrary: fc.constantFrom(...usual) }, { weight: 1, arbitrary: hostile });
  const path = mostly('id', 'total', 'status', 'placedAt', 'customer.name', 'customer.profile.bio');
  const select = fc
    .tuple(mostly('count', 'sum', 'avg', 'min', 'max', 'countDistinct'), path)
    .map((parts) => parts.join(':'));
  const group = fc.oneof(
    path,
    fc.tuple(path, mostly('month', 'hour')).map((parts) => parts.join(':')),
  );
  const name = fc.oneof(select, group, fc.constant('count'));
  const value = fc.oneof(hostile, fc.constantFrom('7', '7.5', 'open', '2026-01-31T12:00:00Z'));
  const condition = (of: fc.Arbitrary<string>) =>
    fc.tuple(of, mostly('eq', 'gt', 'in', 'contains'), value).map((parts) => parts.join());
  const parameter = fc.oneof(
    select.map((text) => ['select', text]),
    group.map((text) => ['group', text]),
    condition(path).map((text) => ['filter', text]),
    condition(name).map((text) => ['having', text]),
    fc.tuple(name, mostly('asc', 'desc')).map((parts) => ['sort', parts.join()]),
    mostly('UTC', 'Asia/Tokyo').map((text) => ['tz', text]),
    mostly('0', '3').map((text) => ['page', text]),
  );
  let compiled = 0;
  fc.assert(
    fc.property(fc.array(parameter, { maxLength: 4 }), (pairs) => {
      const words = [['select', 'count'], ...pairs].map((pair) =>
        pair.map((text) => encodeURIComponent(`${text}`)).join('='),
      );
      const found = unlessBadRequest(() => query(words.join('&')));
      if (found === undefined) return;
      compiled++;
      assert.ok(!found.text.includes('zq'), found.text);
      const slots = new Set(found.text.match(/\$\d+/g) ?? []);
      assert.equal(slots.size, found.values.length);
    }),
    { numRuns: 2000 },
  );
  assert.ok(compiled > 100, `only ${compiled} requests were compiled`);
});
