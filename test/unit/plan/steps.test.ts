// A request follows 60 relations at most, over everything that it may name them in.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getEntity } from '../../../src/model/workspace.ts';
import { planExport, planList, planRead } from '../../../src/plan/plan.ts';
import { parseExportRequest, parseListRequest, parseReadRequest } from '../../../src/request/record-request.ts';
import { refuses } from '../../support/error-response.ts';
import { LIMITS, makePlanContext, makeShop } from '../../support/field-types-fixture.ts';

const SHOP = makeShop();
const ORDERS = getEntity(SHOP, 'orders');
const VIEW = makePlanContext(SHOP);

const list = (...parameters: string[]) => planList(parseListRequest(parameters.join('&'), LIMITS), ORDERS, VIEW);
const conditions = (count: number, path: string) => Array.from({ length: count }, () => `filter=${path},eq,1`);

const TOO_MANY = /^The request follows more than 60 relations\./;

test('60 relations are followed, 61 are not', () => {
  list(...conditions(60, 'customer.id'));
  list(...conditions(30, 'items.order.id'));
  list('expand=customer.orders,items', 'sort=customer.name', ...conditions(56, 'customer.id'));
  refuses(() => list(...conditions(61, 'customer.id')), TOO_MANY);
  refuses(() => list(...conditions(31, 'items.order.id')), TOO_MANY);
  refuses(() => list('expand=customer.orders,items', 'sort=customer.name', ...conditions(57, 'customer.id')), TOO_MANY);
});

test('alternatives, narrowed expansions and exports count as well', () => {
  const group = (count: number) => `or=${Array.from({ length: count }, () => 'customer.id,eq,1').join(';')}`;
  list(group(60));
  refuses(() => list(group(61)), TOO_MANY);
  const narrowed = (count: number) => ['expand=items', ...conditions(count, 'order.id').map((text) => `items.${text}`)];
  list(...narrowed(59));
  refuses(() => list(...narrowed(60)), TOO_MANY);
  refuses(() => planRead(parseReadRequest(narrowed(60).join('&'), LIMITS), ORDERS, VIEW), TOO_MANY);
  refuses(() => planExport(parseExportRequest(conditions(61, 'customer.id').join('&')), ORDERS, VIEW), TOO_MANY);
});

test('conditions on the entity itself follow nothing', () => {
  assert.equal(list(...conditions(100, 'id')).kind, 'list');
});
