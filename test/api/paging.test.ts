// Pages: page and size, meta, ways to count, and cursors that visit every record once whatever the sort.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { runScenarios } from '../support/scenario.ts';
import type { Answer, TestServer, TestWorkspace } from '../support/server.ts';
import { useWorkspace } from '../support/shop.ts';

const SCHEMA = {
  entities: {
    teams: { fields: { name: { type: 'string' }, rank: { type: 'integer' } } },
    players: {
      fields: {
        name: { type: 'string' },
        score: { type: 'integer' },
        weight: { type: 'float' },
        worth: { type: 'decimal' },
        active: { type: 'boolean' },
        born: { type: 'date' },
        seenAt: { type: 'datetime' },
        key: { type: 'uuid' },
        level: { type: 'enum', values: ['low', 'high', 'a,b'] },
        big: { type: 'bigint', required: true, default: 0 },
        code: { type: 'string', required: true, default: '' },
      },
      relations: {
        team: { kind: 'belongsTo', entity: 'teams' },
        friend: { kind: 'belongsTo', entity: 'players', onDelete: 'setNull' },
        fans: { kind: 'hasMany', entity: 'players', inverse: 'friend' },
      },
    },
  },
};

// Few values of each, so that there are ties, and nulls in every nullable field.
const cycle = <T>(values: readonly T[], index: number): T => values[index % values.length] as T;
const PLAYERS = Array.from({ length: 37 }, (_, index) => ({
  name: cycle(['Zoë', 'ada', null, 'Ada', 'éva', 'z', 'ß', '', '日本', '🙂', "o'x"], index),
  score: cycle([3, null, -1, 3, 0, 7, 7], index),
  weight: cycle([0.1, 1e300, null, -2.5, 5e-324, 0.30000000000000004], index),
  worth: cycle(['10.50', '10.5', null, '99999999999999999999.000000001', '-3'], index),
  active: cycle([true, null, false], index),
  born: cycle(['2000-01-01', '1999-12-31', null, '2000-02-29'], index),
  seenAt: cycle(['2026-01-01T00:00:00Z', '2026-01-01T00:00:00.001Z', null, '0001-01-01T00:00:00Z'], index),
  key: cycle(['00000000-0000-4000-8000-000000000001', null, 'ffffffff-ffff-4fff-bfff-ffffffffffff'], index),
  level: cycle(['low', 'a,b', null, 'high'], index),
  big: cycle([0, 1, '9007199254740993', '-9223372036854775808'], index),
  code: cycle(['x', 'X', '', 'y'], index),
  teamId: cycle([1, 2, null, 3, 4], index),
  friendId: index === 0 || index % 6 === 5 ? null : Math.floor(index / 2) + 1,
}));

async function makePlayers(server: TestServer): Promise<TestWorkspace> {
  const workspace = await server.workspace('acme/club', SCHEMA);
  await workspace.create('teams', [
    { name: 'Reds', rank: 2 },
    { name: 'Blues', rank: null },
    { name: null, rank: 1 },
    { name: 'Reds', rank: 2 },
  ]);
  await workspace.create('players', PLAYERS);
  return workspace;
}

const { workspace: club } = useWorkspace(makePlayers, { WDA_MAX_PAGE_SIZE: '50' });

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => ({ id: from + index }));

runScenarios(club, [
  {
    name: 'the first 20 records are the default page',
    path: 'players?fields=id',
    status: 200,
    data: range(1, 20),
    meta: { page: 0, size: 20, totalElements: 37, totalPages: 2 },
  },
  {
    name: 'the second page has the rest',
    path: 'players?fields=id&page=1',
    status: 200,
    data: range(21, 37),
    meta: { page: 1, size: 20, totalElements: 37, totalPages: 2, nextCursor: null },
  },
  {
    name: 'pages are counted from zero',
    path: 'players?fields=id&page=0&size=10',
    status: 200,
    data: range(1, 10),
    meta: { page: 0, size: 10, totalElements: 37, totalPages: 4 },
  },
  {
    name: 'a page that fits exactly',
    path: 'players?fields=id&size=37',
    status: 200,
    data: range(1, 37),
    meta: { totalPages: 1, nextCursor: null },
  },
  {
    name: 'a size larger than the list',
    path: 'players?fields=id&size=50',
    status: 200,
    data: range(1, 37),
    meta: { size: 50, totalElements: 37, totalPages: 1, nextCursor: null },
  },
  {
    name: 'a page past the end is empty with a true meta',
    path: 'players?page=2',
    status: 200,
    data: [],
    meta: { page: 2, size: 20, totalElements: 37, totalPages: 2, nextCursor: null },
  },
  {
    name: 'a page far past the end',
    path: 'players?page=1000000000000&size=50',
    status: 200,
    data: [],
    meta: { page: 1000000000000, totalElements: 37 },
  },
  {
    name: 'the total is that of the filtered list',
    path: 'players?filter=score,eq,7&size=5&fields=score',
    status: 200,
    meta: { totalElements: 10, totalPages: 2 },
  },
  {
    name: 'an empty list has no pages',
    path: 'players?filter=id,lt,0',
    status: 200,
    data: [],
    meta: { page: 0, size: 20, totalElements: 0, totalPages: 0, nextCursor: null },
  },
  {
    name: 'meta has these members and no other',
    path: 'players',
    status: 200,
    check: ({ json }) =>
      assert.deepEqual(Object.keys(json.meta), ['page', 'size', 'totalElements', 'totalPages', 'nextCursor']),
  },
]);

for (const page of ['-1', '1.5', 'one', '', '1e1', '0x1', '+1', '%201', '1000000000001', '99999999999999999999', '٣']) {
  runScenarios(club, [
    {
      name: `page ${page} is refused`,
      path: `players?page=${page}`,
      status: 400,
      code: 'BAD_REQUEST',
      message: 'page must be an integer from 0 to 1000000000000',
    },
  ]);
}
for (const size of ['0', '-1', '51', '1.0', 'ten', '', 'null', '1e1', '99999999999999999999']) {
  runScenarios(club, [
    {
      name: `size ${size} is refused`,
      path: `players?size=${size}`,
      status: 400,
      code: 'BAD_REQUEST',
      message: 'size must be an integer from 1 to 50',
    },
  ]);
}
for (const name of ['page', 'size', 'count', 'after']) {
  runScenarios(club, [
    {
      name: `${name} is given once`,
      path: `players?${name}=1&${name}=1`,
      status: 400,
      code: 'BAD_REQUEST',
      message: `Query parameter ${name} may be given only once`,
    },
  ]);
}

runScenarios(club, [
  {
    name: 'count=exact is the default',
    path: 'players?count=exact&size=1',
    status: 200,
    meta: { totalElements: 37, totalPages: 37 },
  },
  {
    name: 'count=none counts nothing',
    path: 'players?count=none&size=10&page=1&fields=id',
    status: 200,
    data: range(11, 20),
    meta: { page: 1, size: 10, totalElements: null, totalPages: null },
  },
  {
    name: 'count=none knows the last page',
    path: 'players?count=none&size=37&fields=id',
    status: 200,
    data: range(1, 37),
    meta: { nextCursor: null },
  },
  {
    name: 'count=none on a page past the end',
    path: 'players?count=none&page=9',
    status: 200,
    data: [],
    meta: { nextCursor: null },
  },
  {
    name: "count=estimated is the planner's figure",
    path: 'players?count=estimated&size=10&fields=id',
    status: 200,
    data: range(1, 10),
    check: ({ json: { meta } }) => {
      assert.ok(Number.isInteger(meta.totalElements) && meta.totalElements > 0);
      assert.equal(meta.totalPages, Math.ceil(meta.totalElements / 10));
      assert.equal(typeof meta.nextCursor, 'string');
    },
  },
  {
    name: 'another count is refused',
    path: 'players?count=all',
    status: 400,
    code: 'BAD_REQUEST',
    message: 'Unknown count all. Known: exact, estimated, none',
  },
  {
    name: 'page and after do not go together',
    path: 'players?page=0&after=WyJpZCxhc2MiLCIxIl0',
    status: 400,
    code: 'BAD_REQUEST',
    message: /^page and after do not go together/,
  },
]);

// biome-ignore lint/suspicious/noExplicitAny: records as the server gives them
type Records = any[];

async function page(query: string): Promise<Answer> {
  const answer = await club().call(`players?${query}`);
  assert.equal(answer.status, 200, `${query}: ${answer.text}`);
  return answer;
}

/** All records by cursors, page by page. */
async function walk(query: string, size: number): Promise<Records> {
  const records: Records = [];
  let cursor: string | null = null;
  for (let pages = 0; pages < 60; pages++) {
    const { json }: Answer = await page(
      `${query}&size=${size}${cursor === null ? '' : `&after=${encodeURIComponent(cursor)}`}`,
    );
    records.push(...json.data);
    cursor = json.meta.nextCursor;
    if (cursor === null) return records;
    assert.equal(json.data.length, size, 'every page but the last is full');
  }
  throw new Error('the walk does not end');
}

const FIELDS = [
  ...Object.keys(SCHEMA.entities.players.fields),
  'id',
  'teamId',
  'team.name',
  'team.rank',
  'friend.name',
  'friend.team.name',
];

for (const field of FIELDS) {
  for (const direction of ['asc', 'desc']) {
    test(`a walk by ${field},${direction} is the one big page`, async () => {
      const query = `sort=${field},${direction}&fields=id&count=none`;
      const whole = (await page(`${query}&size=50`)).json.data;
      assert.equal(new Set(whole.map((record: { id: number }) => record.id)).size, 37);
      assert.deepEqual(await walk(query, 4), whole);
    });
  }
}

test('a walk by any sort, filter, count and size gives each record once, in the order of one big page', async () => {
  const key = fc.tuple(fc.constantFrom(...FIELDS), fc.constantFrom('asc', 'desc'));
  const keys = fc.uniqueArray(key, { minLength: 0, maxLength: 3, selector: ([field]) => field });
  await fc.assert(
    fc.asyncProperty(
      keys,
      fc.integer({ min: 1, max: 20 }),
      fc.constantFrom('', '&count=none', '&count=estimated'),
      fc.constantFrom(
        '',
        '&filter=score,ne,3',
        '&filter=team.rank,notNull',
        '&expand=team',
        '&expand=fans,team&fields=id,fans.id',
      ),
      async (sorts, size, count, rest) => {
        const query = `${sorts.map(([field, direction]) => `sort=${field},${direction}`).join('&')}${count}${rest}`;
        const whole = (await page(`${query}&size=50`)).json.data;
        assert.deepEqual(await walk(query, size), whole);
      },
    ),
    { numRuns: 40 },
  );
});

test('the total of a cursor page stays that of the whole list', async () => {
  const first = await page('size=10&sort=score&filter=score,notNull');
  const second = await page(`size=10&sort=score&filter=score,notNull&after=${first.json.meta.nextCursor}`);
  assert.equal(second.json.meta.totalElements, first.json.meta.totalElements);
  assert.equal(second.json.meta.totalPages, first.json.meta.totalPages);
});

test('a page by number has a cursor to go on from', async () => {
  const { json } = await page('page=1&size=10&fields=id');
  const next = await page(`size=10&fields=id&after=${json.meta.nextCursor}`);
  assert.deepEqual(next.json.data, range(21, 30));
});

test('the size may change between pages, the sort may not', async () => {
  const first = await page('size=5&sort=score,desc');
  const cursor = first.json.meta.nextCursor;
  assert.equal((await page(`size=7&sort=score,desc&after=${cursor}`)).json.data.length, 7);
  for (const sort of ['', 'sort=score', 'sort=name,desc', 'sort=score,desc&sort=name']) {
    const refused = await club().call(`players?${sort}&after=${cursor}`);
    assert.equal(refused.status, 400, sort);
    assert.match(refused.json.error.message, /^after is not a cursor of this list/);
  }
});

test('the same sort in other words takes the cursor', async () => {
  const first = await page('size=5&sort=score');
  const cursor = first.json.meta.nextCursor;
  const again = await page(`size=5&sort=score,ASC&after=${cursor}`);
  assert.deepEqual(again.json.data, (await page(`size=5&sort=score&sort=id&after=${cursor}`)).json.data);
});

test('records deleted and created between pages move no other record', async () => {
  const extra = await club().create('players', [{ name: 'M1' }, { name: 'M2' }, { name: 'M3' }]);
  const query = 'filter=name,startsWith,M&sort=name&fields=name&size=1&count=none';
  const first = await page(query);
  assert.deepEqual(first.json.data, [{ name: 'M1' }]);
  for (const record of extra.slice(0, 2)) await club().call(`players/${record.id}`, { method: 'DELETE' });
  const [late] = await club().create('players', [{ name: 'M0' }]);
  const second = await page(`${query}&after=${first.json.meta.nextCursor}`);
  assert.deepEqual(second.json, {
    data: [{ name: 'M3' }],
    meta: { page: null, size: 1, totalElements: null, totalPages: null, nextCursor: null },
  });
  for (const id of [extra[2].id, late.id]) await club().call(`players/${id}`, { method: 'DELETE' });
});

test('_query pages in the same way', async () => {
  const first = await club().call('players/_query', {
    method: 'POST',
    body: { size: 30, sort: ['score,desc'], fields: ['id'] },
  });
  const second = await club().call('players/_query', {
    method: 'POST',
    body: { size: 30, sort: ['score,desc'], fields: ['id'], after: first.json.meta.nextCursor },
  });
  assert.deepEqual(
    [...first.json.data, ...second.json.data],
    (await page('size=50&sort=score,desc&fields=id')).json.data,
  );
  assert.equal(second.json.meta.nextCursor, null);
});

const forged = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
for (const cursor of [
  '',
  'x',
  '!!!',
  '%00',
  'null',
  forged(null),
  forged({}),
  forged([]),
  forged(['id,asc']),
  forged(['id,asc', null]),
  forged(['id,asc', 1]),
  forged(['id,asc', 'one']),
  forged(['id,asc', '1.5']),
  forged(['id,asc', '1', '2']),
  forged(['id,asc', '99999999999999999999']),
  forged(['id,asc', ['1']]),
  forged(['id,desc', '1']),
  forged(['id,asc;', '1']),
  forged([['id,asc'], '1']),
  Buffer.from([0xff, 0xfe]).toString('base64url'),
  'A'.repeat(5000),
]) {
  test(`a cursor that was not given is refused: ${cursor.slice(0, 40)}`, async () => {
    const answer = await club().call(`players?after=${cursor}`);
    assert.equal(answer.status, 400, answer.text);
    assert.equal(answer.json.error.code, 'BAD_REQUEST');
  });
}

test('a cursor that was not given for other types is refused', async () => {
  for (const [field, text] of [
    ['name', 'a\u0000b'],
    ['name', '\ud800'],
    ['seenAt', 'yesterday'],
    ['seenAt', "2026-01-01T00:00:00Z'; drop table x"],
    ['born', '2026-02-30'],
    ['key', 'nokey'],
    ['weight', 'Infinity'],
    ['weight', 'NaN'],
    ['active', 'maybe'],
    ['worth', '1e999999'],
  ]) {
    const answer = await club().call(`players?sort=${field}&after=${forged([`${field},asc;id,asc`, text, '1'])}`);
    assert.equal(answer.status, 400, `${field} ${text}: ${answer.text}`);
  }
});
