// Aggregates of the shop: functions, groups, date parts with zones, having, order, pages, both forms.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { use, useServer } from '../../support/resources.ts';
import { runScenarios } from '../../support/scenario.ts';
import { makeShop } from '../../support/shop.ts';

const server = useServer();
const shop = use(() => makeShop(server));

runScenarios(shop, [
  {
    name: 'without a group there is one record',
    path: 'orders/_aggregate?select=count,count:total,countDistinct:customerId',
    status: 200,
    data: [{ count: 8, 'count:total': 7, 'countDistinct:customerId': 5 }],
    meta: { page: 0, size: 100, totalElements: 1, totalPages: 1 },
  },
  {
    name: 'also of no records: nothing to count, nothing to add',
    path: 'orders/_aggregate?select=count,sum:total,avg:total,max:note,countDistinct:id&filter=id,gt,1000',
    status: 200,
    data: [{ count: 0, 'sum:total': null, 'avg:total': null, 'max:note': null, 'countDistinct:id': 0 }],
  },
  {
    name: 'with a group there is none then',
    path: 'orders/_aggregate?select=count&group=status&filter=id,gt,1000',
    status: 200,
    data: [],
    meta: { totalElements: 0, totalPages: 0 },
  },
  {
    name: 'groups come in ascending order, nulls last',
    path: 'orders/_aggregate?select=count&group=status',
    status: 200,
    data: [
      { status: 'open', count: 3 },
      { status: 'paid', count: 2 },
      { status: 'shipped', count: 2 },
      { status: null, count: 1 },
    ],
    meta: { page: 0, size: 100, totalElements: 4, totalPages: 1 },
  },
  {
    name: 'across to-one relations, where a record that is missing gives null',
    path: 'orders/_aggregate?select=count,max:customer.name&group=customer.country.name',
    status: 200,
    data: [
      { 'customer.country.name': 'Sweden', count: 2, 'max:customer.name': 'Zoë Åkesson' },
      { 'customer.country.name': 'Türkiye', count: 1, 'max:customer.name': 'Özge Yılmaz' },
      { 'customer.country.name': 'United Kingdom', count: 4, 'max:customer.name': 'Grace Hopper' },
      { 'customer.country.name': null, count: 1, 'max:customer.name': 'émile durand' },
    ],
  },
  {
    name: 'across a hasOne, without counting anything twice',
    path: 'customers/_aggregate?select=count,count:profile.id,count:profile.bio&group=vip',
    status: 200,
    data: [
      { vip: false, count: 3, 'count:profile.id': 1, 'count:profile.bio': 0 },
      { vip: true, count: 2, 'count:profile.id': 1, 'count:profile.bio': 1 },
      { vip: null, count: 1, 'count:profile.id': 0, 'count:profile.bio': 0 },
    ],
  },
  {
    name: 'a boolean and a foreign key are groups as well',
    path: 'customers/_aggregate?select=count&group=vip,countryId&filter=countryId,notNull',
    status: 200,
    data: [
      { vip: false, countryId: 2, count: 2 },
      { vip: true, countryId: 1, count: 1 },
      { vip: true, countryId: 3, count: 1 },
      { vip: null, countryId: 1, count: 1 },
    ],
  },
  {
    name: 'months are those of UTC',
    path: 'orders/_aggregate?select=count&group=placedAt:month',
    status: 200,
    data: [
      { 'placedAt:month': '2026-01-01', count: 1 },
      { 'placedAt:month': '2026-02-01', count: 2 },
      { 'placedAt:month': '2026-03-01', count: 4 },
      { 'placedAt:month': null, count: 1 },
    ],
  },
  {
    name: 'or of another zone: midnight in UTC is the day before in New York',
    path: 'orders/_aggregate?select=count&group=placedAt:day&tz=America/New_York&filter=id,eq,7',
    status: 200,
    data: [{ 'placedAt:day': '2026-03-08', count: 1 }],
  },
  {
    name: 'weeks begin on Monday, quarters and years with their first day, hours are moments',
    path: 'orders/_aggregate?select=count&group=placedAt:week,placedAt:quarter,placedAt:year,placedAt:hour&filter=id,eq,2&tz=Asia/Kolkata',
    status: 200,
    data: [
      {
        'placedAt:week': '2026-02-09',
        'placedAt:quarter': '2026-01-01',
        'placedAt:year': '2026-01-01',
        'placedAt:hour': '2026-02-11T16:30:00Z',
        count: 1,
      },
    ],
  },
  {
    name: 'a date has no zone',
    path: 'customers/_aggregate?select=count&group=joinedOn:month&filter=joinedOn,notNull&tz=America/New_York',
    status: 200,
    data: [
      { 'joinedOn:month': '1999-12-01', count: 1 },
      { 'joinedOn:month': '2020-12-01', count: 1 },
      { 'joinedOn:month': '2021-02-01', count: 2 },
    ],
  },
  {
    name: 'filters are those of lists',
    path: 'orders/_aggregate?select=count&filter=customer.country.code,eq,GB&or=status,eq,open;status,eq,paid',
    status: 200,
    data: [{ count: 3 }],
  },
  {
    name: 'having keeps groups by what was selected, and the total counts those',
    path: 'orders/_aggregate?select=count,sum:total&group=status&having=count,gte,2&having=sum:total,lt,100',
    status: 200,
    data: [
      { status: 'open', count: 3, 'sum:total': 34 },
      { status: 'shipped', count: 2, 'sum:total': 69.3 },
    ],
    meta: { totalElements: 2 },
  },
  {
    name: 'having without a group leaves one record or none',
    path: 'orders/_aggregate?select=count&having=count,gt,8',
    status: 200,
    data: [],
    meta: { totalElements: 0, totalPages: 0 },
  },
  {
    name: 'having compares what is null as a filter does',
    path: 'orders/_aggregate?select=max:total&group=customerId&having=max:total,isNull',
    status: 200,
    data: [{ customerId: 4, 'max:total': null }],
  },
  {
    name: 'having takes every operator of the type',
    path: 'orders/_aggregate?select=max:customer.name&group=customerId&having=max:customer.name,contains,ÅKE',
    status: 200,
    data: [{ customerId: 2, 'max:customer.name': 'Zoë Åkesson' }],
  },
  {
    name: 'sort by what was selected, then by the groups',
    path: 'orders/_aggregate?select=count&group=status&sort=count,desc&size=3',
    status: 200,
    data: [
      { status: 'open', count: 3 },
      { status: 'paid', count: 2 },
      { status: 'shipped', count: 2 },
    ],
    meta: { size: 3, totalElements: 4, totalPages: 2 },
  },
  {
    name: 'the next page',
    path: 'orders/_aggregate?select=count&group=status&sort=count,desc&size=3&page=1',
    status: 200,
    data: [{ status: null, count: 1 }],
    meta: { page: 1, size: 3, totalElements: 4, totalPages: 2 },
  },
  {
    name: 'a page past the end is empty',
    path: 'orders/_aggregate?select=count&group=status&page=7',
    status: 200,
    data: [],
    meta: { page: 7, totalElements: 4, totalPages: 1 },
  },
  {
    name: 'sort by a group, descending: nulls first',
    path: 'orders/_aggregate?select=count&group=customer.country.code&sort=customer.country.code,desc',
    status: 200,
    check: ({ json }) =>
      assert.deepEqual(
        json.data.map((group: Record<string, unknown>) => group['customer.country.code']),
        [null, 'TR', 'SE', 'GB'],
      ),
  },
  {
    name: 'POST takes the same as JSON, and is a read',
    as: 'readOnly',
    method: 'POST',
    path: 'orders/_aggregate',
    body: {
      select: ['count', 'sum:total'],
      group: ['status'],
      filter: { not: { field: 'status', op: 'isNull' } },
      having: ['count,gte,2', { field: 'sum:total', op: 'lt', value: 100 }],
      sort: ['sum:total,desc'],
      size: 1,
      page: 1,
    },
    status: 200,
    data: [{ status: 'open', count: 3, 'sum:total': 34 }],
    meta: { page: 1, size: 1, totalElements: 2, totalPages: 2 },
  },
  {
    name: 'POST takes no parameters',
    method: 'POST',
    path: 'orders/_aggregate?size=1',
    body: { select: ['count'] },
    status: 400,
  },
  {
    name: 'POST needs JSON',
    method: 'POST',
    path: 'orders/_aggregate',
    headers: { 'content-type': 'text/plain' },
    body: 'x',
    status: 415,
  },
  {
    name: 'no other method',
    method: 'DELETE',
    path: 'orders/_aggregate',
    status: 405,
    message: /Allowed: GET, HEAD, POST, OPTIONS$/,
  },
  { name: 'no credential', as: 'none', path: 'orders/_aggregate?select=count', status: 401 },
  { name: 'no such entity', path: 'order/_aggregate?select=count', status: 404 },
]);

test('numbers keep their digits: sums those of the field, averages six more', async () => {
  const { text } = await shop.call('orders/_aggregate?select=sum:total,avg:total,min:total,sum:id,avg:id');
  assert.match(
    text,
    /"sum:total" : 12345899\.60, "avg:total" : 1763699\.94285714, "min:total" : 0\.00, "sum:id" : 36, "avg:id" : 4\.500000\}/,
  );
});

test('HEAD answers as GET does, without the body', async () => {
  const path = 'orders/_aggregate?select=count';
  const [get, head] = [await shop.call(path), await shop.call(path, { method: 'HEAD' })];
  assert.equal(head.status, 200);
  assert.equal(head.text, '');
  assert.equal(head.headers.get('content-length'), get.headers.get('content-length'));
});

test('groups at the ends of time have names that are dates', async () => {
  const made = await shop.create('orders', [
    { customerId: 1, placedAt: '0001-01-01T00:00:00Z' },
    { customerId: 1, placedAt: '0001-01-01T23:00:00Z' },
    { customerId: 1, placedAt: '9999-12-31T23:59:59.999Z' },
    { customerId: 1 },
  ]);
  try {
    const ids = made.map(({ id }) => id);
    const ask = async (part: string, zone: string): Promise<unknown[]> => {
      const answer = await shop.call(
        `orders/_aggregate?select=count&group=placedAt:${part}&tz=${zone}&filter=id,in,${ids}`,
      );
      assert.equal(answer.status, 200, answer.text);
      return answer.json.data.map((group: Record<string, unknown>) => [group[`placedAt:${part}`], group.count]);
    };
    const rows: readonly (readonly [part: string, zone: string, ...groups: string[]])[] = [
      ['hour', 'America/New_York', '0001-01-01T00:00:00Z', '0001-01-01T22:56:02Z', '9999-12-31T23:00:00Z'],
      ['hour', 'Asia/Kolkata', '0001-01-01T00:00:00Z', '0001-01-01T22:06:32Z', '9999-12-31T23:30:00Z'],
      ['day', 'America/New_York', '0001-01-01', '9999-12-31'],
      ['day', 'Pacific/Kiritimati', '0001-01-01', '9999-12-31'],
      ['week', 'America/New_York', '0001-01-01', '9999-12-27'],
      ['month', 'Pacific/Kiritimati', '0001-01-01', '9999-12-01'],
      ['quarter', 'America/New_York', '0001-01-01', '9999-10-01'],
      ['year', 'Pacific/Kiritimati', '0001-01-01', '9999-01-01'],
    ];
    for (const [part, zone, ...groups] of rows) {
      const all = (await ask(part, zone)) as [string | null, number][];
      assert.deepEqual(
        all.map(([name]) => name),
        [...groups, null],
        `${part} ${zone}`,
      );
      assert.equal(
        all.reduce((sum, [, count]) => sum + count, 0),
        4,
      );
    }
  } finally {
    for (const { id } of made) await shop.call(`orders/${id}`, { method: 'DELETE' });
  }
});

test('an hour that summer time repeats is two hours', async () => {
  const [first] = await shop.create('orders', [{ customerId: 1, placedAt: '2025-10-26T00:30:00Z' }]);
  const [second] = await shop.create('orders', [{ customerId: 1, placedAt: '2025-10-26T01:30:00Z' }]);
  try {
    const ask = (part: string) =>
      shop.call(`orders/_aggregate?select=count&group=placedAt:${part}&tz=Europe/Berlin&filter=id,gte,${first.id}`);
    assert.deepEqual((await ask('hour')).json.data, [
      { 'placedAt:hour': '2025-10-26T00:00:00Z', count: 1 },
      { 'placedAt:hour': '2025-10-26T01:00:00Z', count: 1 },
    ]);
    assert.deepEqual((await ask('day')).json.data, [{ 'placedAt:day': '2025-10-26', count: 2 }]);
  } finally {
    for (const { id } of [first, second]) await shop.call(`orders/${id}`, { method: 'DELETE' });
  }
});
