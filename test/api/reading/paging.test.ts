// Pages by number: page and size, meta, and ways to count.
import assert from 'node:assert/strict';
import { makePlayers } from '../../support/players-fixture.ts';
import { use, useServer } from '../../support/resources.ts';
import { runScenarios } from '../../support/scenario.ts';

const server = useServer({ WDA_MAX_PAGE_SIZE: '50' });
const club = use(() => makePlayers(server));

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
    name: 'a page that fits exactly',
    path: 'players?fields=id&size=37',
    status: 200,
    data: range(1, 37),
    meta: { totalPages: 1, nextCursor: null },
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

// What is no page and no size is in test/unit/request/page.test.ts.
const REFUSED: readonly (readonly [query: string, message: string])[] = [
  ['page=-1', 'page must be an integer from 0 to 1000000000000'],
  ['size=51', 'size must be an integer from 1 to 50'],
  ['size=1&size=1', 'Query parameter size may be given only once'],
];
runScenarios(
  club,
  REFUSED.map(([query, message]) => ({
    name: `${query} is refused`,
    path: `players?${query}`,
    status: 400,
    code: 'BAD_REQUEST',
    message,
  })),
);

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
]);
