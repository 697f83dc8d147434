// Aggregates of the shop beyond what aggregate-model.test.ts draws: to-one relations, both forms, the ends of time, refusals.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertRefused } from '../../support/hostile-input.ts';
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
    name: 'filters are those of lists',
    path: 'orders/_aggregate?select=count&filter=customer.country.code,eq,GB&or=status,eq,open;status,eq,paid',
    status: 200,
    data: [{ count: 3 }],
  },
  {
    name: 'having takes every operator of the type',
    path: 'orders/_aggregate?select=max:customer.name&group=customerId&having=max:customer.name,contains,ÅKE',
    status: 200,
    data: [{ customerId: 2, 'max:customer.name': 'Zoë Åkesson' }],
  },
  {
    name: 'a page past the end is empty',
    path: 'orders/_aggregate?select=count&group=status&page=7',
    status: 200,
    data: [],
    meta: { page: 7, totalElements: 4, totalPages: 1 },
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

runScenarios(shop, [
  {
    name: 'a field that does not exist is refused with what there is',
    path: 'orders/_aggregate?select=sum:totl',
    status: 400,
    code: 'BAD_REQUEST',
    message: /^Unknown field totl on entity orders\. Did you mean total\? Known: id, status, total/,
  },
]);

// What is refused is in test/unit/request/aggregate.test.ts and test/unit/plan/aggregate.test.ts; these are answered in few bytes.
const LONG = 'x'.repeat(500_000);
for (const [name, body] of [
  ['a long unknown member', { select: ['count'], [LONG]: 1 }],
  ['a long function', { select: [LONG] }],
  ['a long field', { select: [`sum:${LONG}`] }],
  ['a long path', { select: [`sum:${'customer.'.repeat(9_000)}id`] }],
  ['a long group', { select: ['count'], group: [`placedAt:${LONG}`] }],
  ['a long zone', { select: ['count'], tz: `Europe/${LONG}` }],
  ['a long condition', { select: ['count'], having: [`${LONG},gt,1`] }],
  ['a long value', { select: ['count'], having: [`count,gt,${LONG}`] }],
  ['a long sort', { select: ['count'], sort: [LONG] }],
  ['many functions', { select: Array(100_000).fill('count') }],
  ['many groups', { select: ['count'], group: Array(100_000).fill('status') }],
  ['many conditions', { select: ['count'], having: Array(20_000).fill('count,gt,1') }],
] as const) {
  test(`a body with ${name}`, async () => {
    assertRefused(await shop.call('orders/_aggregate', { method: 'POST', body }));
  });
}

// Nothing is joined to a record that is not there, also when a condition says which record that would be.
const house = use(async () => {
  const made = await server.workspace('acme/house', {
    entities: {
      rooms: {
        fields: { word: { type: 'string' } },
        relations: { holder: { kind: 'hasOne', entity: 'people', inverse: 'office' } },
      },
      people: {
        relations: {
          home: { kind: 'belongsTo', entity: 'rooms' },
          office: { kind: 'belongsTo', entity: 'rooms', unique: true },
        },
      },
    },
  });
  await made.create('rooms', [{ word: 'one' }, { word: 'two' }, { word: 'three' }, { word: 'four' }]);
  await made.create('people', [
    { homeId: 4, officeId: 2 },
    { homeId: 2, officeId: 3 },
    { homeId: 3, officeId: 1 },
  ]);
  return made;
});
runScenarios(house, [
  {
    name: 'no person has the office at home, so there is no office of that person',
    path: 'people/_aggregate?select=count,count:home.holder.office.word&group=home.holder.office.id&filter=homeId,eq,4',
    status: 200,
    data: [{ 'home.holder.office.id': null, count: 1, 'count:home.holder.office.word': 0 }],
  },
  {
    name: 'and where a person has, it is that one',
    path: 'people/_aggregate?select=count,max:home.holder.office.word&group=home.holder.office.id&filter=homeId,eq,2',
    status: 200,
    data: [{ 'home.holder.office.id': 2, count: 1, 'max:home.holder.office.word': 'two' }],
  },
]);
