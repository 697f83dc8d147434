// Search: what is found, by whom, in which order, and what is refused; against a model in plain JavaScript.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { scansOf } from '../../support/database.ts';
import { use, useServer } from '../../support/resources.ts';
import { isFound, type ModelSearch, typed } from '../../support/search-model.ts';
import type { Answer } from '../../support/server.ts';

const server = useServer();

const WORDS = [
  'ann',
  'Anna',
  'Lee',
  'léé',
  'ZOË',
  'zoe',
  'straße',
  'Strasse',
  'new',
  'York',
  'ΟΔΟΣ',
  'οδος',
  'Søren',
  '007',
  'x1y',
  'Ёлка',
];
const SIGNS = [' ', ' ', ' ', '-', '.', '@', ", '", '/', ' <b>', '_', '\\', ' & ', '\u0301 '];

// biome-ignore lint/suspicious/noExplicitAny: records as the server gives them
type Json = any;

/** Always the same texts. */
function textsOf(n: number): { title: string; note: string | null } {
  let state = n * 7919 + 13;
  const next = (most: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor(state / 65_536) % most;
  };
  const text = (length: number): string =>
    Array.from({ length }, () => `${WORDS[next(WORDS.length)]}${SIGNS[next(SIGNS.length)]}`).join('');
  return { title: text(1 + next(3)), note: next(5) === 0 ? null : text(next(6)) };
}

const PEOPLE = Array.from({ length: 300 }, (_, index) => ({ id: index + 1, ...textsOf(index + 1) }));

const text = { type: 'text', searchable: true };
const SCHEMA = {
  entities: {
    teams: {
      fields: { name: { type: 'string' } },
      relations: { people: { kind: 'hasMany', entity: 'people', inverse: 'team' } },
    },
    people: {
      fields: { title: { ...text, type: 'string' }, note: text, hidden: { type: 'text' } },
      relations: { team: { kind: 'belongsTo', entity: 'teams' } },
    },
  },
};

const workspace = use(async () => {
  const made = await server.workspace('acme/search', SCHEMA);
  await made.create('teams', [{ name: 'a' }, { name: 'b' }]);
  const rows = PEOPLE.map(({ title, note, id }) =>
    JSON.stringify({ title, note, hidden: 'secret', teamId: (id % 2) + 1 }),
  );
  const answer = await made.call('people/_import', {
    method: 'POST',
    headers: { 'content-type': 'application/x-ndjson' },
    body: rows.join('\n'),
  });
  assert.equal(answer.status, 200, answer.text);
  return made;
});

async function get(query: string, path = 'people'): Promise<Json> {
  const answer = await workspace.call(`${path}?${query}`);
  assert.equal(answer.status, 200, `${query}: ${answer.text}`);
  return answer.json;
}

const idsOf = (records: readonly { readonly id: number }[]): number[] => records.map(({ id }) => id);
const inOrder = (ids: readonly number[]): number[] => [...ids].sort((a, b) => a - b);
const encoded = (search: ModelSearch): string => encodeURIComponent(typed(search));
const expected = (search: ModelSearch): number[] =>
  idsOf(PEOPLE.filter(({ title, note }) => isFound([title, note], search)));

const word = fc.constantFrom(...WORDS, 'nobody', 'an', 'strass');
const phrase = fc.array(word, { minLength: 1, maxLength: 2 });
const searches: fc.Arbitrary<ModelSearch> = fc
  .record({
    words: fc.array(word, { maxLength: 2 }),
    phrases: fc.array(phrase, { maxLength: 1 }),
    without: fc.array(phrase, { maxLength: 1 }),
    unfinished: fc.option(
      phrase.map((words) => words.with(-1, (words.at(-1) as string).slice(0, 2))),
      { nil: undefined },
    ),
  })
  .filter(({ words, phrases, unfinished }) => words.length + phrases.length > 0 || unfinished !== undefined);

test('a search finds what the model finds: words, phrases, exclusions and beginnings', async () => {
  await fc.assert(
    fc.asyncProperty(searches, async (search) => {
      const { data, meta } = await get(`search=${encoded(search)}&size=1000&fields=id`);
      assert.deepEqual(inOrder(idsOf(data)), expected(search), typed(search));
      assert.equal(meta.totalElements, data.length);
    }),
    { numRuns: 150 },
  );
});

test('with sort it filters, and with a filter both hold, in lists, _query and _export', async () => {
  const search: ModelSearch = { words: ['zoe'], phrases: [], without: [['york']], unfinished: ['an'] };
  const found = expected(search);
  assert.ok(found.length > 5);
  const sorted = await get(`search=${encoded(search)}&sort=id,desc&size=1000`);
  assert.deepEqual(idsOf(sorted.data), [...found].reverse());
  const few = found.filter((id) => id > 100);
  const filtered = await get(`search=${encoded(search)}&filter=id,gt,100&sort=id&size=1000`);
  assert.deepEqual(idsOf(filtered.data), few);
  const query = await workspace.call('people/_query', {
    method: 'POST',
    body: { search: typed(search), filter: { field: 'id', op: 'gt', value: 100 }, sort: ['id'], size: 1000 },
  });
  assert.deepEqual(idsOf(query.json.data), few);
  const file = await workspace.call(
    `people/_export?format=ndjson&fields=id&filter=id,gt,100&search=${encoded(search)}`,
  );
  assert.deepEqual(
    file.text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).id),
    few,
  );
  const total = await get(`select=count&filter=id,gt,100&search=${encoded(search)}`, 'people/_aggregate');
  assert.deepEqual(total.data, [{ count: few.length }]);
});

test('expanded lists are searched, too', async () => {
  const search: ModelSearch = { words: ['ann'], phrases: [], without: [], unfinished: undefined };
  const { data } = await get(
    `expand=people&people.search=${encoded(search)}&people.filter=id,lte,150&sort=id`,
    'teams',
  );
  const found = expected(search).filter((id) => id <= 150);
  assert.deepEqual(
    idsOf(data[0].people),
    found.filter((id) => id % 2 === 0),
  );
  assert.deepEqual(
    idsOf(data[1].people),
    found.filter((id) => id % 2 === 1),
  );
});

test('the best match comes first, the id breaks ties, and cursors and pages go through all of them', async () => {
  for (const search of ['ann', 'zoe str', 'york -"lee ann"', 's']) {
    const query = `search=${encodeURIComponent(search)}&fields=id`;
    const whole = idsOf((await get(`${query}&size=1000`)).data);
    assert.ok(whole.length > 3, search);
    for (const count of ['exact', 'none', 'estimated']) {
      const walked: number[] = [];
      let cursor = '';
      do {
        const { data, meta } = await get(`${query}&size=7&count=${count}${cursor}`);
        walked.push(...idsOf(data));
        cursor = meta.nextCursor === null ? '' : `&after=${meta.nextCursor}`;
      } while (cursor !== '');
      assert.deepEqual(walked, whole, `${search} ${count}`);
    }
    const paged: number[] = [];
    for (let page = 0; page * 7 < whole.length; page++) {
      paged.push(...idsOf((await get(`${query}&size=7&page=${page}&expand=team&fields=id,team`)).data));
    }
    assert.deepEqual(paged, whole);
  }
  const made = await workspace.create('people', [
    { title: 'rare', note: 'something else that is long enough to matter' },
    { title: 'rare rare rare', note: 'rare' },
    { title: 'rare', note: 'something else that is long enough to matter' },
  ]);
  const [first, best, third] = idsOf(made);
  try {
    assert.deepEqual(idsOf((await get('search=rare')).data), [best, first, third]);
  } finally {
    for (const id of idsOf(made)) await workspace.call(`people/${id}`, { method: 'DELETE' });
  }
});

test('a long text is found by all of its words and ranked by those near its beginning', async () => {
  const filler = 'filler '.repeat(80);
  const made = await workspace.create('people', [
    { title: 'Z', note: `${filler}scarce scarce scarce scarce` },
    { title: 'Z', note: `scarce ${filler}` },
    { title: 'Z', note: `${filler}scarce` },
    { title: 'Z', note: `scarce scarce ${filler}` },
  ]);
  const [first, second, third, best] = idsOf(made);
  try {
    const order = [best, second, first, third];
    assert.deepEqual(idsOf((await get('search=scarce')).data), order);
    const walked: number[] = [];
    let cursor = '';
    do {
      const { data, meta } = await get(`search=scarce&size=1${cursor}`);
      walked.push(...idsOf(data));
      cursor = meta.nextCursor === null ? '' : `&after=${meta.nextCursor}`;
    } while (cursor !== '' && walked.length < 9);
    assert.deepEqual(walked, order);
  } finally {
    for (const id of idsOf(made)) await workspace.call(`people/${id}`, { method: 'DELETE' });
  }
});

const NO_FIELDS =
  'teams has no searchable field. An owner makes one of type string or text searchable by "searchable": true in the schema document';
const REFUSALS: readonly [string, string, string][] = [
  ['an entity without searchable fields', 'teams?search=a', NO_FIELDS],
  [
    'an expanded list without searchable fields',
    'people?expand=team&team.search=a',
    'team cannot be narrowed: it is no to-many relation that this request expands and returns. Known: none',
  ],
  [
    'operators alone in an expanded list',
    'teams?expand=people&people.search=-',
    'people.search must have a word to look for: letters or digits',
  ],
];
for (const [what, path, message] of REFUSALS) {
  test(`a search of ${what} is refused`, async () => {
    const { status, json } = await workspace.call(path);
    assert.deepEqual([status, json.error.code, json.error.message], [400, 'BAD_REQUEST', message]);
  });
}

test('a cursor is bound to its search, and nobody makes one up', async () => {
  const { meta } = await get('search=ann&size=2');
  const decoded = JSON.parse(Buffer.from(meta.nextCursor, 'base64url').toString());
  const [sort, rank, id] = decoded as [string, string, string];
  const answer = (keys: unknown[], search = 'ann'): Promise<Answer> =>
    workspace.call(
      `people?search=${search}&size=2&after=${Buffer.from(JSON.stringify([sort, ...keys])).toString('base64url')}`,
    );
  assert.equal((await answer([rank, id])).status, 200);
  for (const keys of [
    [rank],
    [rank, id, id],
    ['x', id],
    ['1e-99', id],
    ['1e99', id],
    ['-1', id],
    ['NaN', id],
    ['Infinity', id],
    [rank, null],
    [rank, 'x'],
    ['1'.repeat(40), id],
  ]) {
    assert.equal((await answer(keys)).status, 400, JSON.stringify(keys));
  }
  assert.equal((await answer([rank, id], 'anna')).status, 400);
  const plain = await get('size=2');
  assert.equal((await workspace.call(`people?search=ann&after=${plain.meta.nextCursor}`)).status, 400);
});

test('PostgreSQL knows that words are expensive to make', async () => {
  const costs = await server.database.query("select procost::int as cost from pg_proc where proname = '$words'");
  assert.deepEqual(costs, [{ cost: 10_000 }]);
});

test('whatever is typed is an answer or a refusal', async () => {
  const junk = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 200 }),
    fc.string({ unit: fc.constantFrom(...`'"\\-&|!:*()<>%_ aé1\u0301½…ß`), maxLength: 200 }),
  );
  await fc.assert(
    fc.asyncProperty(junk, async (search) => {
      const { status, text: body } = await workspace.call('people/_query', {
        method: 'POST',
        body: { search, size: 1 },
      });
      assert.ok(status === 200 || status === 400, `${status} ${body}`);
      assert.ok(body.length < 100_000);
    }),
    { numRuns: 300, examples: [["a'b"], ['a\\'], ["'"], ['½'], ['\u02bc'], ['ʼa'], [`a ${"'".repeat(150)}`]] },
  );
});

test('PostgreSQL uses the index for it', async () => {
  const { database } = server;
  const [{ schema } = {}] = await database.query(
    "select database_schema as schema from wda.workspace where slug = 'search'",
  );
  const uses = (): Promise<number> => scansOf(database, String(schema), 'people$title$note$words');
  const rows = Array.from({ length: 20_000 }, (_, n) => `{"title":"t${n}","note":"filler ${n % 977}"}`);
  const made = await workspace.call('people/_import', {
    method: 'POST',
    headers: { 'content-type': 'application/x-ndjson' },
    body: rows.join('\n'),
  });
  assert.equal(made.status, 200, made.text);
  await database.query(`analyze "${schema}".people`);
  const before = await uses();
  // A session tells what it has used at most once a second, at the end of a statement.
  for (let looks = 0; looks < 100 && (await uses()) === before; looks++) {
    assert.ok((await get(`search=filler%20t${(looks % 9) + 1}77&count=none`)).data.length > 0);
    await sleep(100);
  }
  assert.ok((await uses()) > before);

  // More than are ranked: those first, the others by their ids.
  const whole: number[] = [];
  let cursor = '';
  do {
    const { data, meta } = await get(`search=filler&fields=id&size=1000&count=none${cursor}`);
    whole.push(...idsOf(data));
    cursor = meta.nextCursor === null ? '' : `&after=${meta.nextCursor}`;
  } while (cursor !== '' && whole.length < 4000);
  assert.equal(new Set(whole).size, 4000);
  const rest = whole.slice(1000);
  assert.deepEqual(rest, inOrder(rest));
  assert.ok(Math.max(...whole.slice(0, 1000)) < (rest[0] as number));
  const paged: number[] = [];
  for (let page = 0; page < 6; page++)
    paged.push(...idsOf((await get(`search=filler&fields=id&size=300&count=none&page=${page}`)).data));
  assert.deepEqual(paged, whole.slice(0, 1800));
});
