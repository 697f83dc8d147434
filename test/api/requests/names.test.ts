// Names of entities, fields and relations may be any that the schema allows: words of SQL, of JavaScript and of our own
// statements mean nothing special.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { use, useServer } from '../../support/resources.ts';

const OURS = 't j p q s x c r0 r1 e1 m2 f1 o1 c0 data version total last more keys key seen at row'.split(' ');
const SQL = [
  ...'select from where order group user table desc asc default null true limit offset values returning lateral'.split(
    ' ',
  ),
  ...'cast Id ID oid date text json timestamp'.split(' '),
];
const JAVASCRIPT = 'constructor toString hasOwnProperty valueOf prototype then length name undefined NaN'.split(' ');
const API = 'page size sort filter or expand fields count after meta error and not field op value format'.split(' ');
const WORDS = [...OURS, ...SQL, ...JAVASCRIPT, ...API];
// Planning dozens of joins takes its time; these are the words that could mean something there.
const RELATIONS = 't j p q s x r0 e1 data last select user constructor then toString size filter'.split(' ');
const LONG = 'a'.repeat(63);

const fieldsOf = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, { type: 'string' }]));

/** One entity whose fields, and one whose relations, have these names; and an entity of each name. */
const SCHEMA = {
  entities: {
    ...Object.fromEntries(WORDS.map((word) => [word, { fields: { [word]: { type: 'string', unique: true } } }])),
    things: {
      fields: { ...fieldsOf(WORDS), [LONG]: { type: 'datetime' } },
      relations: {
        parent: { kind: 'belongsTo', entity: 'things' },
        children: { kind: 'hasMany', entity: 'things', inverse: 'parent' },
      },
    },
    links: {
      fields: { label: { type: 'string' } },
      relations: Object.fromEntries(
        RELATIONS.map((word) => [word, { kind: 'belongsTo', entity: 'links', column: `of_${word}` }]),
      ),
    },
    backs: {
      relations: {
        [LONG]: { kind: 'belongsTo', entity: 'things', column: 'thing' },
        ...Object.fromEntries(
          ['t', 'j', 'constructor', 'select'].map((word) => [
            word,
            { kind: 'belongsTo', entity: 'things', column: `of_${word}` },
          ]),
        ),
      },
    },
  },
};

const server = useServer();
const workspace = use(() => server.workspace('acme/words', SCHEMA));

const THING = Object.fromEntries(WORDS.map((word) => [word, `value of ${word}`]));

// biome-ignore lint/suspicious/noExplicitAny: records of any schema
async function data(path: string, body?: unknown): Promise<any> {
  const answer = await workspace.call(path, body === undefined ? {} : { method: 'POST', body });
  assert.ok(answer.status < 300, `${path}: ${answer.text}`);
  return answer.json.data;
}

test('fields of any name are written and read, alone, in lists and expanded', async () => {
  const first = await data('things', { ...THING, [LONG]: '2026-01-01T00:00:00.5Z' });
  assert.deepEqual(first, { id: 1, ...THING, [LONG]: '2026-01-01T00:00:00.500Z', parentId: null });
  const second = await data('things', { parentId: 1 });
  assert.deepEqual(await data('things/1'), first);
  assert.deepEqual(await data('things'), [first, second]);
  assert.deepEqual(await data('things?count=none&size=1'), [first]);
  assert.deepEqual(await data('things/2?expand=parent.children'), {
    ...second,
    parent: { ...first, children: [second] },
  });
  assert.deepEqual(await data('things?expand=parent,children&sort=select,desc'), [
    { ...second, parent: first, children: [] },
    { ...first, parent: null, children: [second] },
  ]);
  const changed = await workspace.call('things/1', { method: 'PUT', body: THING });
  assert.deepEqual(changed.json.data, first);
});

test('fields of any name are selected, sorted, filtered and paged by', async () => {
  for (const word of [...WORDS, LONG]) {
    assert.deepEqual(await data(`things?fields=${word}&filter=${word},notNull`), [
      { [word]: THING[word] ?? '2026-01-01T00:00:00.500Z' },
    ]);
    assert.deepEqual(
      await data(`things?fields=id&sort=${word},desc&sort=parent.${word}&filter=parent.${word},notNull`),
      [{ id: 2 }],
    );
    const page = await workspace.call(`things?fields=${word}&sort=${word}&size=1&count=none`);
    assert.deepEqual(await data(`things?fields=id&sort=${word}&size=1&after=${page.json.meta.nextCursor}`), [
      { id: 2 },
    ]);
    if (word !== LONG)
      assert.deepEqual(
        await data('things/_query', { fields: ['id'], filter: { field: word, op: 'contains', value: `OF ${word}` } }),
        [{ id: 1 }],
      );
    assert.deepEqual(
      await data(
        `things/1?expand=children&fields=children.${word}&children.sort=${word}&children.filter=${word},isNull`,
      ),
      { children: [{ [word]: null }] },
    );
  }
});

test('relations of any name are expanded, filtered and sorted across', async () => {
  const first = await data('links', { label: 'first' });
  for (const word of RELATIONS) {
    const made = await data('links', { [`of_${word}`]: first.id, label: word });
    assert.deepEqual((await data(`links/${made.id}?expand=${word}`))[word], first, word);
    assert.deepEqual(
      await data(`links?fields=id,${word}.label&expand=${word}&filter=${word}.label,eq,first&sort=${word}.label`),
      [{ id: made.id, [word]: { label: 'first' } }],
    );
  }
  const all = await data(
    `links/2?expand=${RELATIONS.join(',')}&fields=${RELATIONS.map((word) => `${word}.id`).join(',')}`,
  );
  assert.deepEqual(Object.keys(all), RELATIONS);
});

test('entities of any name are read and written', async () => {
  for (const word of WORDS) {
    assert.deepEqual(await data(word, { [word]: 'x' }), { id: 1, [word]: 'x' });
    assert.deepEqual(await data(`${word}?sort=${word}`), [{ id: 1, [word]: 'x' }]);
    const again = await workspace.call(word, { method: 'POST', body: { [word]: 'x' } });
    assert.deepEqual(again.json.error.details, [
      { field: word, code: 'NOT_UNIQUE', message: 'must be unique: another record has this value' },
    ]);
    const removed = await workspace.call(`${word}/1`, { method: 'DELETE' });
    assert.equal(removed.status, 204);
  }
});

test('relations of any name refuse a reference that points nowhere by their field', async () => {
  for (const [body, field] of [
    [{ thing: 99 }, 'thing'],
    [{ of_t: 99 }, 'of_t'],
    [{ of_constructor: 99 }, 'of_constructor'],
  ] as const) {
    const answer = await workspace.call('backs', { method: 'POST', body });
    assert.equal(answer.status, 400, answer.text);
    assert.equal(answer.json.error.details[0].field, field);
  }
});
