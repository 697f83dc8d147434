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
import { bound, OPTIONS } from './statements.ts';

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
