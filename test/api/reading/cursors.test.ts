// Cursors: they visit every record once, whatever the sort, and nobody makes one up.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { CLUB_SCHEMA, makePlayers } from '../../support/players-fixture.ts';
import { use, useServer } from '../../support/resources.ts';
import type { Answer } from '../../support/server.ts';

const server = useServer({ WDA_MAX_PAGE_SIZE: '50' });
const club = use(() => makePlayers(server));

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => ({ id: from + index }));

// biome-ignore lint/suspicious/noExplicitAny: records as the server gives them
type Records = any[];

async function page(query: string): Promise<Answer> {
  const answer = await club.call(`players?${query}`);
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
  ...Object.keys(CLUB_SCHEMA.entities.players.fields),
  'id',
  'teamId',
  'team.name',
  'team.rank',
  'friend.name',
  'friend.team.name',
];

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
    const refused = await club.call(`players?${sort}&after=${cursor}`);
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
  const extra = await club.create('players', [{ name: 'M1' }, { name: 'M2' }, { name: 'M3' }]);
  const query = 'filter=name,startsWith,M&sort=name&fields=name&size=1&count=none';
  const first = await page(query);
  assert.deepEqual(first.json.data, [{ name: 'M1' }]);
  for (const record of extra.slice(0, 2)) await club.call(`players/${record.id}`, { method: 'DELETE' });
  const [late] = await club.create('players', [{ name: 'M0' }]);
  const second = await page(`${query}&after=${first.json.meta.nextCursor}`);
  assert.deepEqual(second.json, {
    data: [{ name: 'M3' }],
    meta: { page: null, size: 1, totalElements: null, totalPages: null, nextCursor: null },
  });
  for (const id of [extra[2].id, late.id]) await club.call(`players/${id}`, { method: 'DELETE' });
});

test('_query pages in the same way', async () => {
  const first = await club.call('players/_query', {
    method: 'POST',
    body: { size: 30, sort: ['score,desc'], fields: ['id'] },
  });
  const second = await club.call('players/_query', {
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
    const answer = await club.call(`players?sort=${field}&after=${forged([`${field},asc;id,asc`, text, '1'])}`);
    assert.equal(answer.status, 400, `${field} ${text}: ${answer.text}`);
  }
});
