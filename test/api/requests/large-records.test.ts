// No answer is longer than it may be, on any path, and PostgreSQL builds none that is: records made too large by SQL, many
// large ones together, and expansions whose rows multiply.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertRefused, besideHealth } from '../../support/hostile-input.ts';
import { prepare, use, useServer } from '../../support/resources.ts';
import type { Answer, TestWorkspace } from '../../support/server.ts';

const SCHEMA = {
  entities: {
    notes: {
      fields: {
        title: { type: 'string', maxLength: 20 },
        details: { type: 'json' },
        amount: { type: 'decimal' },
        story: { type: 'text' },
      },
      relations: { lines: { kind: 'hasMany', entity: 'lines', inverse: 'note' } },
    },
    texts: { fields: { story: { type: 'text' } } },
    lines: {
      fields: { story: { type: 'text' } },
      relations: { note: { kind: 'belongsTo', entity: 'notes' } },
    },
  },
};

const server = useServer();
const workspace = use(() => server.workspace('a/large', SCHEMA));
prepare(async () => {
  const [{ schema }] = (await server.database.query(
    "select table_schema as schema from information_schema.tables where table_name = 'notes'",
  )) as [{ schema: string }];
  // 1: json of 39 MB, 2: a text of 40 MB, 3: a small record with 3,000 lines.
  await server.database.query(`set search_path = "${schema}"`);
  await server.database.query(`insert into notes (title, details) select 'json', jsonb_agg(1e131000) from generate_series(1, 300);
    insert into notes (title, story) values ('text', repeat('x', 40000000));
    insert into notes (title) values ('lines');
    insert into texts (story) values (repeat('x', 40000000)), ('short'), (repeat(chr(1), 6000000));
    insert into texts (story) select repeat('y', 2000000) from generate_series(1, 100);
    insert into lines (story, "noteId") select repeat('z', 200), 3 from generate_series(1, 3000)`);
});

async function refused(path: string, options: Parameters<TestWorkspace['call']>[1] = {}): Promise<Answer> {
  const { answer } = await besideHealth(server, () => workspace.call(path, options));
  assertRefused(answer);
  return answer;
}

const TOO_LARGE = /^The response would be larger than 33554432 bytes\. Narrow it: .*fields=/;

for (const path of [
  'notes/1',
  'notes/2',
  'texts/1',
  'texts/3',
  'notes/1?expand=lines',
  'notes?filter=id,eq,1',
  'notes?count=none&sort=title',
  'texts?size=1000&sort=id,desc',
  'texts/_aggregate?select=max:story&group=id',
  'texts/_aggregate?select=count&group=id,story',
  'notes/_aggregate?select=min:story&group=title',
  'texts?size=1000&sort=id,desc&fields=story&count=none',
  'notes/3?expand=lines.note.lines',
  'notes?filter=id,eq,3&expand=lines.note.lines',
  'lines?size=1000&expand=note.lines',
  'lines?size=1000&sort=story,desc&expand=note.lines&count=none',
]) {
  test(`GET ${path} is refused with what to narrow`, async () => {
    // Again, as what is learned of the first run decides how the next one goes.
    for (let time = 0; time < 2; time++) {
      const { error } = (await refused(path)).json;
      assert.equal(error.code, 'BAD_REQUEST');
      assert.match(error.message, TOO_LARGE);
    }
  });
}

for (const path of [
  'notes/1?fields=id,title',
  'notes/2?fields=id,title',
  'notes?fields=title',
  'texts/2',
  'texts?size=3&filter=id,gt,3',
  'notes/3?expand=lines',
  'notes/3?expand=lines.note.lines&lines.size=10&lines.note.lines.size=10',
  'lines?size=1000&expand=note.lines&note.lines.size=5&sort=story,desc',
]) {
  test(`GET ${path} is answered`, async () => {
    const answers = [await workspace.call(path), await workspace.call(path)];
    for (const answer of answers) assert.equal(answer.status, 200, answer.text.slice(0, 300));
    assert.equal(answers[0]?.text === answers[1]?.text, true);
  });
}

test('a write whose record no answer could hold is undone', async () => {
  const { error } = (await refused('notes/2', { method: 'PUT', body: { title: 'changed' } })).json;
  assert.equal(error.code, 'VALIDATION_FAILED');
  assert.match(error.message, /^The record would be larger than an answer may be.* Nothing was written/);
  assert.equal((await workspace.call('notes/2?fields=title')).json.data.title, 'text');
  assert.match((await refused('notes/1', { method: 'PUT', body: {} })).json.error.message, /Nothing was written/);
});

test('a write that makes a large record small is answered with it', async () => {
  const [{ id }] = (await workspace.create('notes', [{ title: 'shrinks' }])) as [{ id: number }];
  await server.database.query(`update notes set story = repeat('x', 40000000) where id = ${id}`);
  await refused(`notes/${id}`);
  const answer = await workspace.call(`notes/${id}`, { method: 'PUT', body: { story: 'x' } });
  assert.equal(answer.status, 200, answer.text.slice(0, 300));
  assert.equal(answer.json.data.story, 'x');
});

test('an export with a row that no answer could hold is refused before anything is sent, or cut', async () => {
  for (const format of ['csv', 'ndjson']) {
    await refused(`notes/_export?format=${format}`);
    const answer = await workspace.call(`notes/_export?format=${format}&fields=title`);
    assert.equal(answer.status, 200);
  }
});

test('the careful and the plain words of a list give the same bytes', async () => {
  const path = 'lines?size=50&sort=story,desc&expand=note.lines&note.lines.size=3';
  const texts = new Set<string>();
  for (let time = 0; time < 5; time++) texts.add((await workspace.call(path)).text);
  assert.equal(texts.size, 1);
});

test('ids that are used up are told as such', async () => {
  const type = { 'content-type': 'application/x-ndjson' };
  const body = `{"id":${Number.MAX_SAFE_INTEGER},"story":"last"}\n`;
  assert.equal((await workspace.call('lines/_import', { method: 'POST', headers: type, body })).status, 200);
  for (const answer of [
    await workspace.call('lines', { method: 'POST', body: { story: 'x' } }),
    await workspace.call('lines/_import', { method: 'POST', headers: type, body: '{"story":"x"}\n' }),
  ]) {
    assertRefused(answer, [409]);
    assert.equal(answer.json.error.code, 'CONFLICT');
    assert.match(answer.json.error.message, /^The ids of lines are used up: the last one given is 9007199254740991,/);
  }
});
