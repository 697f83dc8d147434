// Searches for words that most records have: they are found by the index of words or among the first records of the list, and
// either way the answer is the same.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import fc from 'fast-check';
import { getEntity, type Workspace } from '../../../src/model/workspace.ts';
import { planList } from '../../../src/plan/plan.ts';
import { encodeCursor } from '../../../src/request/page.ts';
import { parseListRequest } from '../../../src/request/record-request.ts';
import { bindQuery, compile } from '../../../src/sql/compile.ts';
import { makeDatabases } from '../../../src/store/databases.ts';
import { loadWorkspace } from '../../../src/store/load-workspace.ts';
import { makeCommonWords } from '../../../src/workspace-schema/common-words.ts';
import { isCluster } from '../../support/citus.ts';
import { openDatabase } from '../../support/database.ts';
import { makePlanContext, OWNER } from '../../support/field-types-fixture.ts';
import { prepare, use, useServer } from '../../support/resources.ts';
import { until } from '../../support/wait-until.ts';

const server = useServer();
const shop = use(() =>
  server.workspace('acme/shop', {
    entities: {
      groups: { fields: { name: { type: 'string' } } },
      notes: {
        fields: {
          body: { type: 'text', searchable: true },
          place: { type: 'integer', index: true },
          kind: { type: 'enum', values: ['a', 'b'] },
        },
        relations: { group: { kind: 'belongsTo', entity: 'groups' } },
      },
    },
  }),
);

const NOTES = 3000;
/** Words in most notes, in a third, and in one of a hundred; `odd` and `even` are never together. */
const bodyOf = (n: number): string =>
  [
    'order',
    n % 8 === 0 ? '' : 'note for',
    n % 2 === 0 ? 'even' : 'odd',
    n % 3 === 0 ? 'third' : '',
    n % 100 === 7 ? 'seven' : '',
    n < 2000 ? 'early' : 'late',
  ].join(' ');

let workspace: Workspace;
const database = use(
  async () => openDatabase(server.database.url),
  (db) => db.close(),
);

prepare(async () => {
  await shop.create('groups', [{ name: 'one' }, { name: 'two' }]);
  workspace = (await loadWorkspace(makeDatabases(database), 'acme', 'shop')) as Workspace;
  const notes = Array.from({ length: NOTES }, (_, index) => {
    const n = index + 1;
    const place = n % 5 === 0 ? null : (n * 7919) % 500;
    return { body: bodyOf(n), place, kind: n % 7 === 0 ? 'a' : 'b', groupId: (n % 2) + 1 };
  });
  await server.database.query(
    `insert into ${JSON.stringify(workspace.databaseSchema)}.notes (body, place, kind, "groupId")
      select * from json_to_recordset($1) r (body text, place int, kind text, "groupId" int8)`,
    [JSON.stringify(notes)],
  );
});

const COMMON = ['order', 'note', 'for', 'even', 'odd', 'early', 'late'];

function bind(query: string, words: readonly string[]) {
  const plan = planList(
    parseListRequest(`${query}&count=none`, { maxPageSize: 1000 }),
    getEntity(workspace, 'notes'),
    makePlanContext(workspace, OWNER),
  );
  const statement = compile(plan, { maxResponseBytes: 10_000_000 });
  const { text, values } = bindQuery(statement, { principal: OWNER, findCommonWords: () => words });
  return { plan, text, values: values as unknown[] };
}

async function runBoth(query: string) {
  const { plan, text, values } = bind(query, COMMON);
  const [first] = await server.database.query(text, values);
  const [byIndex] = await server.database.query(text, bind(query, []).values);
  assert.deepEqual(first, byIndex, query);
  return { plan, row: first };
}

const oneOf = <const T extends readonly string[]>(...values: T) => fc.constantFrom(...values);

// On a cluster the index of words is always asked.
describe('a search for common words', { skip: isCluster }, () => {
  test('has the same records in the same order by either way, on every page', async () => {
    const words = fc.uniqueArray(
      oneOf(
        'order',
        'note',
        'for',
        'even',
        'odd',
        'third',
        'seven',
        'early',
        'late',
        '-third',
        '-odd',
        '"note for"',
        '"for note"',
        'no',
      ),
      {
        minLength: 1,
        maxLength: 3,
      },
    );
    const shape = fc.record({
      search: words.filter((list) => list.some((word) => !word.startsWith('-'))),
      size: oneOf('1', '3', '20', '200'),
      sort: oneOf('', '&sort=id,desc', '&sort=place', '&sort=place,desc&sort=kind', '&sort=kind', '&sort=group.name'),
      filter: oneOf(
        '',
        '&filter=kind,eq,a',
        '&filter=place,lt,3',
        '&filter=group.name,eq,one',
        '&filter=id,gt,2990',
        '&filter=id,lt,0',
      ),
      page: oneOf('', '', '&page=2', '&page=60'),
      pages: fc.integer({ min: 1, max: 4 }),
    });
    await fc.assert(
      fc.asyncProperty(shape, async ({ search, size, sort, filter, page, pages }) => {
        const list = `search=${encodeURIComponent(search.join(' '))}&size=${size}${sort}${filter}`;
        let start = page;
        for (let count = 0; count < pages; count++) {
          const { plan, row } = await runBoth(`${list}${start}`);
          if (row?.last === null || row?.more !== true) break;
          start = `&after=${encodeCursor({ sort: plan.ordering.text, keys: JSON.parse(String(row.last)) })}`;
        }
      }),
      { numRuns: Number(process.env.TEST_RUNS ?? 60) },
    );
  });

  test('does not ask the index of words, unless too few of the first records match', async () => {
    const asksIndex = async (query: string): Promise<boolean> => {
      const { text, values } = bind(query, COMMON);
      const rows = await server.database.query(`explain (analyze, costs off, timing off) ${text}`, values);
      const scans = rows
        .map((row) => String(row['QUERY PLAN']))
        .filter((line) => /Index Scan on \S*(search|words|body)/.test(line));
      assert.ok(scans.length > 0, JSON.stringify(rows));
      return scans.some((line) => !line.includes('never executed'));
    };
    assert.equal(await asksIndex('search=note%20order'), false);
    assert.equal(await asksIndex('search=note%20order&sort=id,desc&size=5'), false);
    assert.equal(await asksIndex('search=note%20order&sort=place&filter=id,gt,2990'), false);
    assert.equal(await asksIndex('search=%22note%20for%22'), false);
    assert.equal(await asksIndex('search=note%20seven%20'), true);
    assert.equal(await asksIndex('search=odd%20even&sort=id&size=5'), true);
  });

  test('knows these words by the statistics of the table, and none where rows take longer than the index', async () => {
    await server.database.query(`analyze ${JSON.stringify(workspace.databaseSchema)}.notes`);
    const errors: unknown[] = [];
    const commonWords = makeCommonWords(database, (_, error) => errors.push(error));
    const notes = getEntity(workspace, 'notes');
    assert.deepEqual(commonWords.find(notes, 4), []);
    await until('the statistics are read', async () => commonWords.find(notes, 4).length > 0);
    assert.deepEqual([...commonWords.find(notes, 4)].sort(), [
      'early',
      'even',
      'for',
      'late',
      'note',
      'odd',
      'order',
      'third',
    ]);
    assert.deepEqual(commonWords.find(notes, 1_000_000), []);
    assert.deepEqual(errors, []);
    assert.deepEqual(commonWords.find(getEntity(workspace, 'groups'), 4), []);
  });

  test('knows old words while newer ones are read', async () => {
    let now = 1;
    const commonWords = makeCommonWords(
      database,
      () => undefined,
      () => now,
    );
    const notes = getEntity(workspace, 'notes');
    await until('the statistics are read', async () => commonWords.find(notes, 4).length > 0);
    now += 3_600_000;
    // The cache reads the clock once a millisecond.
    await setTimeout(5);
    const words = commonWords.find(notes, 4);
    assert.ok(words.includes('note'));
    assert.deepEqual(commonWords.find(notes, 4), words);
  });

  test('answers the same over HTTP before the statistics are known and afterwards', async () => {
    const read = async (count: string) =>
      (await shop.call(`notes?search=note%20order&sort=id,desc&size=3&count=${count}`)).json.data;
    const [exact, before] = [await read('exact'), await read('none')];
    assert.deepEqual(before, exact);
    for (let again = 0; again < 3; again++) assert.deepEqual(await read('none'), exact);
  });

  test('has an estimated total from 10,000 on, and an exact one below', async () => {
    const notes = `${JSON.stringify(workspace.databaseSchema)}.notes`;
    await server.database.query(`insert into ${notes} (body) select 'many notes' from generate_series(1, 12000)`);
    await server.database.query(`analyze ${notes}`);
    const read = async (search: string, count: string) =>
      (await shop.call(`notes?search=${search}&size=2&count=${count}`)).json;
    const many = await read('many', 'estimated');
    assert.ok(many.meta.totalElements > 10_000 && many.meta.totalElements < 14_000, JSON.stringify(many.meta));
    assert.deepEqual(many.data, (await read('many', 'none')).data);
    assert.notEqual(many.meta.nextCursor, null);
    for (const search of ['order', 'seven', 'nothing']) {
      assert.deepEqual(await read(search, 'estimated'), await read(search, 'exact'));
    }
  });
});
