// One request that was made to freeze the process, to fill its memory or to be answered by far more than was sent. And no
// answer is longer than it may be, on any path, and PostgreSQL builds none that is: records made too large by SQL, many large
// ones together, and expansions whose rows multiply.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertRefused, besideHealth } from '../../support/hostile-input.ts';
import { prepare, use, useServer } from '../../support/resources.ts';
import type { Answer, TestWorkspace } from '../../support/server.ts';

const FIELDS = Object.fromEntries(
  Array.from({ length: 60 }, (_, at) => [`field${at}withAName`, { type: 'string', maxLength: 50 }]),
);
const SCHEMA = {
  entities: {
    forms: { fields: { ...FIELDS, kind: { type: 'enum', values: enumValues(900) } } },
    linked: { fields: { name: { type: 'string' } }, relations: { next: { kind: 'belongsTo', entity: 'linked' } } },
    open: {
      fields: {
        name: { type: 'string' },
        number: { type: 'integer' },
        details: { type: 'json' },
        more: { type: 'json' },
      },
    },
  },
};

function enumValues(count: number): string[] {
  return Array.from({ length: count }, (_, at) => `${at}-${'v'.repeat(500)}`);
}

const repeated = (count: number, text: string): string => Array(count).fill(text).join();

const server = useServer();
const workspace = use(() => server.workspace('a/b', SCHEMA));

// The process of the tests is the server's, and shares two cores with others: ten seconds without an answer is a freeze.
const FREEZE_MS = 10_000;

async function hostile(path: string, body: string, type = 'application/json'): Promise<Answer> {
  const { answer, longest } = await besideHealth(server, () =>
    workspace.call(path, { method: 'POST', headers: { 'content-type': type }, body }),
  );
  assert.ok(longest < FREEZE_MS, `/healthz waited ${longest} ms`);
  assertRefused(answer);
  return answer;
}

const members = (count: number, name: (at: number) => string): string =>
  `{${Array.from({ length: count }, (_, at) => `"${name(at)}":0`).join()}}`;

for (const [what, body] of [
  ['a hundred thousand members', members(100_000, (at) => String(at))],
  ['forty thousand members that resemble fields', members(40_000, (at) => `field${at}withAName`)],
] as const) {
  test(`a body of ${what}`, async () => {
    const { error } = (await hostile('forms', body)).json;
    assert.deepEqual(error, {
      code: 'BAD_REQUEST',
      message: 'The request body has more than 5000 members',
      reason: 'LIMIT_EXCEEDED',
    });
  });
}

for (const [what, body] of [
  ['five thousand unknown members', members(5000, (at) => String(at))],
  ['five thousand unknown members that resemble fields', members(5000, (at) => `field${at}withAName`)],
  ['one member with a name of 900 kB', members(1, () => 'x'.repeat(900_000))],
  ['forty members with names of 20 kB', members(40, (at) => `${at}${'x'.repeat(20_000)}`)],
  ['a value that is not among long values', '{"kind":"none"}'],
] as const) {
  test(`a body of ${what}`, async () => {
    const { error } = (await hostile('forms', body)).json;
    assert.equal(error.code, 'VALIDATION_FAILED');
    assert.ok(error.details.length >= 1 && error.details.length <= 100, error.details.length);
    for (const { field, message } of error.details) assert.ok(field.length <= 101 && message.length <= 3000);
  });
}

test('an unknown member is told with what was meant and what there is', async () => {
  const { error } = (await hostile('open', '{"nmae":"x"}')).json;
  assert.equal(
    error.details[0].message,
    'is not a field of open. Did you mean name? Known: name, number, details, more',
  );
});

for (const [what, path, body] of [
  ['half a million columns', 'open/_import', `${'a,'.repeat(500_000)}a\n`],
  [
    'columns with names of 20 kB',
    'open/_import',
    `${Array.from({ length: 50 }, (_, at) => at + 'h'.repeat(20_000)).join()}\n`,
  ],
  [
    'a map of 500 headers that are not there',
    `open/_import?map=${mapOf(500)}`,
    `${Array.from({ length: 1900 }, (_, at) => `col${at}`).join()}\n`,
  ],
  ['a map of 2,000 entries', `open/_import?map=${mapOf(2000)}`, 'a\n1\n'],
  ['rows of 2,000 mistaken cells', 'forms/_import', `kind\n${'x\n'.repeat(1000)}`],
] as const) {
  test(`an import with ${what}`, async () => {
    const { error } = (await hostile(path, body, 'text/csv')).json;
    assert.ok((error.details ?? []).length <= 100);
  });
}

function mapOf(count: number): string {
  return Array.from({ length: count }, (_, at) => `${at}:`).join();
}

for (const [what, body] of [
  ['a hundred thousand unknown members', members(100_000, (at) => String(at))],
  ['members with long names', members(40, (at) => `${at}${'x'.repeat(20_000)}`)],
] as const) {
  test(`a line of an import with ${what}`, async () => {
    const { error } = (await hostile('forms/_import', `${body}\n`, 'application/x-ndjson')).json;
    assert.ok(error.details.length >= 40 && error.details.length <= 100);
  });
}

for (const [what, filter] of [
  ['a hundred thousand empty groups', `{"and":[${repeated(95_000, '{"and":[]}')}]}`],
  ['fifty thousand denials of nothing', `{"or":[${repeated(50_000, '{"not":{"and":[]}}')}]}`],
  [
    'a hundred conditions of five relations',
    `{"and":[${repeated(100, '{"field":"next.next.next.next.next.name","op":"eq","value":"x"}')}]}`,
  ],
] as const) {
  test(`a query of ${what}`, async () => {
    const { error } = (await hostile('linked/_query', `{"filter":${filter}}`)).json;
    assert.match(error.message, /^(filter has more than 200 nodes|The request follows more than 60 relations)/);
  });
}

test('60 relations are followed in the time of a request', async () => {
  await workspace.create('linked', [{ name: 'x' }, { name: 'y', nextId: 1 }]);
  const path = `linked?${repeated(12, 'filter=next.next.next.next.next.name,isNull').replaceAll(',filter', '&filter')}`;
  const { answer } = await besideHealth(server, () => workspace.call(path));
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.json.data.length, 2);
});

for (const [what, body] of [
  ['an unknown member', `{"${'x'.repeat(900_000)}":1}`],
  ['an unknown operator', `{"filter":{"field":"name","op":"${'x'.repeat(900_000)}","value":1}}`],
  ['an unknown field', `{"filter":{"field":"${'x'.repeat(900_000)}","op":"eq","value":1}}`],
  ['a path without end', `{"filter":{"field":"${'a.'.repeat(400_000)}a","op":"eq","value":1}}`],
  ['a sort of commas', `{"sort":["${','.repeat(900_000)}"]}`],
  ['a sort', `{"sort":["${'x'.repeat(900_000)}"]}`],
  ['an expansion', `{"expand":["${'x.'.repeat(400_000)}x"]}`],
  ['fields', `{"fields":["${'x.'.repeat(400_000)}x"]}`],
  ['a count', `{"count":"${'x'.repeat(900_000)}"}`],
  ['a cursor', `{"after":"${'x'.repeat(900_000)}"}`],
] as const) {
  test(`a query with ${what} of a megabyte`, async () => {
    await hostile('open/_query', body);
  });
}

for (const [what, details, more] of [
  ['digits that would make half a gigabyte', `[${repeated(4100, '1e131000')}]`, 'null'],
  ['one number of 1,001 digits', '1e1000', 'null'],
  ['a zero of 16,000 digits', '[0e-16000]', 'null'],
  ['a megabyte of small numbers that would make 150', `[${repeated(150_000, '1e999')}]`, 'null'],
  ['two values that are too much together', `[${repeated(600, '1e999')}]`, `[${repeated(600, '1e999')}]`],
] as const) {
  test(`json of ${what} is refused on every way in`, async () => {
    const body = `{"details":${details},"more":${more}}`;
    const cell = (json: string) => `"${json.replaceAll('"', '""')}"`;
    const [{ id }] = (await workspace.create('open', [{ name: 'sound' }])) as [{ id: number }];
    const answers = [
      await hostile('open', body),
      await hostile('open/_import', `${body}\n`, 'application/x-ndjson'),
      await hostile(
        'open/_import',
        `details,more\n${cell(details)},${more === 'null' ? '' : cell(more)}\n`,
        'text/csv',
      ),
      await workspace.call(`open/${id}`, { method: 'PUT', headers: { 'content-type': 'application/json' }, body }),
      await workspace.admin('schema/plan', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: `{"entities":{"open":{"fields":{"details":{"type":"json","default":${details}},"more":{"type":"json","default":${more}}}}}}`,
      }),
    ];
    for (const answer of answers) {
      assertRefused(answer);
      assert.equal(answer.json.error.details[0].code, 'OUT_OF_RANGE', answer.text.slice(0, 300));
    }
    assert.deepEqual((await workspace.call(`open/${id}?fields=details,more`)).json.data, {
      details: null,
      more: null,
    });
  });
}

test('json of 1,000 digits a number and a million characters is read as it was written', async () => {
  const digits = `1${'0'.repeat(999)}`;
  const body = `{"details":[${repeated(900, '1e999')}]}`;
  const made = await workspace.call('open', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  assert.equal(made.status, 201);
  const read = await workspace.call(`open/${made.json.data.id}?fields=details`);
  assert.equal(read.text, `{"data":{"details":[${Array(900).fill(digits).join(', ')}]}}`);
});

test('the cursor of a long text is too long for a URL, which says so, and goes on in a body', async () => {
  await workspace.create('open', [
    { name: 'z'.repeat(20_000), number: -7 },
    { name: 'zz'.repeat(20_000), number: -7 },
  ]);
  const list = { size: 1, sort: ['name'], fields: ['id', 'number'], filter: { field: 'number', op: 'eq', value: -7 } };
  const first = await workspace.call('open/_query', { method: 'POST', body: list });
  const after: string = first.json.meta.nextCursor;
  const byUrl = await workspace.call(`open?size=1&sort=name&filter=number,eq,-7&after=${after}`);
  assertRefused(byUrl, [431]);
  assert.match(byUrl.json.error.message, /goes into the body of POST …\/_query$/);
  const second = await workspace.call('open/_query', { method: 'POST', body: { ...list, after } });
  assert.deepEqual([second.status, second.json.data.length, second.json.meta.nextCursor], [200, 1, null]);
  assert.notEqual(second.json.data[0].id, first.json.data[0].id);
});

/* ---- answers that would be too long ---- */

const LARGE_SCHEMA = {
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

const large = use(() => server.workspace('a/large', LARGE_SCHEMA));
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
  const { answer } = await besideHealth(server, () => large.call(path, options));
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
    const answers = [await large.call(path), await large.call(path)];
    for (const answer of answers) assert.equal(answer.status, 200, answer.text.slice(0, 300));
    assert.equal(answers[0]?.text === answers[1]?.text, true);
  });
}

test('a write whose record no answer could hold is undone', async () => {
  const { error } = (await refused('notes/2', { method: 'PUT', body: { title: 'changed' } })).json;
  assert.equal(error.code, 'VALIDATION_FAILED');
  assert.match(error.message, /^The record would be larger than an answer may be.* Nothing was written/);
  assert.equal((await large.call('notes/2?fields=title')).json.data.title, 'text');
  assert.match((await refused('notes/1', { method: 'PUT', body: {} })).json.error.message, /Nothing was written/);
});

test('a write that makes a large record small is answered with it', async () => {
  const [{ id }] = (await large.create('notes', [{ title: 'shrinks' }])) as [{ id: number }];
  await server.database.query(`update notes set story = repeat('x', 40000000) where id = ${id}`);
  await refused(`notes/${id}`);
  const answer = await large.call(`notes/${id}`, { method: 'PUT', body: { story: 'x' } });
  assert.equal(answer.status, 200, answer.text.slice(0, 300));
  assert.equal(answer.json.data.story, 'x');
});

test('an export with a row that no answer could hold is refused before anything is sent, or cut', async () => {
  for (const format of ['csv', 'ndjson']) {
    await refused(`notes/_export?format=${format}`);
    const answer = await large.call(`notes/_export?format=${format}&fields=title`);
    assert.equal(answer.status, 200);
  }
});

test('the careful and the plain words of a list give the same bytes', async () => {
  const path = 'lines?size=50&sort=story,desc&expand=note.lines&note.lines.size=3';
  const texts = new Set<string>();
  for (let time = 0; time < 5; time++) texts.add((await large.call(path)).text);
  assert.equal(texts.size, 1);
});

test('ids that are used up are told as such', async () => {
  const type = { 'content-type': 'application/x-ndjson' };
  const body = `{"id":${Number.MAX_SAFE_INTEGER},"story":"last"}\n`;
  assert.equal((await large.call('lines/_import', { method: 'POST', headers: type, body })).status, 200);
  for (const answer of [
    await large.call('lines', { method: 'POST', body: { story: 'x' } }),
    await large.call('lines/_import', { method: 'POST', headers: type, body: '{"story":"x"}\n' }),
  ]) {
    assertRefused(answer, [409]);
    assert.equal(answer.json.error.code, 'CONFLICT');
    assert.match(answer.json.error.message, /^The ids of lines are used up: the last one given is 9007199254740991,/);
  }
});
