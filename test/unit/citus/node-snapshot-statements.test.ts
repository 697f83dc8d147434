// Statements for the node of a cluster that holds the workspace: those of the coordinator but for the names of the tables,
// and they fail where the root lies no longer.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildNodeRoot, buildNodeSnapshot } from '../../../src/citus/node-snapshot.ts';
import type { Principal } from '../../../src/model/principal.ts';
import { getEntity, type Workspace } from '../../../src/model/workspace.ts';
import { planAggregate } from '../../../src/plan/aggregate.ts';
import { planList, planRead } from '../../../src/plan/plan.ts';
import { parseAggregateRequest } from '../../../src/request/aggregate.ts';
import { parseListRequest, parseReadRequest } from '../../../src/request/record-request.ts';
import { compile } from '../../../src/sql/compile.ts';
import { external, LIMITS, makePlanContext, makeShop, OWNER } from '../../support/field-types-fixture.ts';
import { OPTIONS } from '../sql/statements.ts';

const shop = makeShop({ orders: { rowRules: [{ column: 'customerId', claim: 'customer', enabled: true }] } });
const tables = new Map(
  ['$total', ...[...shop.entities.values()].map(({ table }) => table.name)].map((name) => [name, `${name}_102008`]),
);
const placed: Workspace = {
  ...shop,
  placement: { node: { group: '2', host: 'db2', port: 5432 }, shard: '102008', tables },
};

const LIES = '(select 1 / count(*) > 0 from pg_catalog.pg_dist_placement where shardid = 102008 and groupid = 2)';

type Text = (workspace: Workspace, entity: ReturnType<typeof getEntity>, principal: Principal) => string;

const read =
  (query: string): Text =>
  (workspace, entity, principal) =>
    compile(planRead(parseReadRequest(query, LIMITS), entity, makePlanContext(workspace, principal)), OPTIONS).text;
const list =
  (query: string): Text =>
  (workspace, entity, principal) =>
    compile(planList(parseListRequest(query, LIMITS), entity, makePlanContext(workspace, principal)), OPTIONS).text;
const aggregate =
  (query: string): Text =>
  (workspace, entity, principal) =>
    compile(planAggregate(parseAggregateRequest(query), entity, makePlanContext(workspace, principal)), OPTIONS).text;

const STATEMENTS: readonly (readonly [what: string, text: Text, entity?: string])[] = [
  ['a record', read('')],
  ['a record with three levels', read('expand=customer.profile,items,tags')],
  ['a list', list('')],
  ['a deep page', list('page=500&size=20&count=none')],
  ['a list with a filter and a sort across relations', list('filter=items.product,eq,x&sort=customer.name,desc')],
  ['a list through many to many', list('filter=tags.name,eq,x&expand=tags')],
  ['a list of a self relation', list('expand=parent,children&filter=parent.name,eq,x'), 'categories'],
  ['an aggregate', aggregate('select=count,sum:total&group=customer.name')],
];

for (const [what, text, name = 'orders'] of STATEMENTS) {
  for (const [who, principal] of [
    ['owner', OWNER],
    ['external user', external({ customer: '7' })],
  ] as const) {
    test(`${what} for an ${who}`, () => {
      const near = buildNodeSnapshot(placed);
      assert.ok(near !== undefined && placed.placement);
      const far = getEntity(shop, name);
      const root = buildNodeRoot(placed.placement, getEntity(near, name));
      const there = text(near, root, principal);
      assert.ok(there.includes(LIES), there);
      const back = there
        .replaceAll(`where ${LIES} and `, 'where ')
        .replaceAll(` and ${LIES}`, '')
        .replaceAll(` where ${LIES}`, '')
        .replaceAll('_102008@2', '') // as bases of totals on the node call the table
        .replaceAll('_102008', '');
      assert.equal(back, text(shop, far, principal));
    });
  }
}
