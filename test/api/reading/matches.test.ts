// The operator `matches`, through HTTP: what an expression finds, what is refused and how, and that none takes longer than
// any other filter.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prepare, use, useServer } from '../../support/resources.ts';
import type { Answer } from '../../support/server.ts';

const SCHEMA = {
  entities: {
    parts: {
      fields: {
        code: { type: 'string' },
        story: { type: 'text' },
        colour: { type: 'enum', values: ['red', 'green'] },
        extra: { type: 'json' },
        weight: { type: 'integer' },
      },
      relations: {
        whole: { kind: 'belongsTo', entity: 'parts' },
        pieces: { kind: 'hasMany', entity: 'parts', inverse: 'whole' },
      },
    },
  },
};

const server = useServer({ WDA_STATEMENT_TIMEOUT_MS: '1500' });
const workspace = use(() => server.workspace('acme/parts', SCHEMA));
prepare(async () => {
  await workspace.create('parts', [
    { code: 'AB-12', story: 'one\ntwo', colour: 'red' },
    { code: 'ab-34', story: 'Straße, no. 5', colour: 'green', wholeId: 1 },
    { code: null, wholeId: 1 },
    { code: 'AB-1', story: 'a'.repeat(4999), wholeId: 2 },
  ]);
});

const headers = { 'content-type': 'application/json' };
const list = (filter: string): Promise<Answer> =>
  workspace.call(`parts?sort=id&fields=id&filter=${encodeURIComponent(filter)}`);

const FOUND: readonly (readonly [filter: string, ids: readonly number[]])[] = [
  ['code,matches,^AB-[0-9]{2}$', [1]],
  ['code,matches,AB', [1, 4]],
  ['code,matches,(?i)^ab', [1, 2, 4]],
  ['code,matches,-(12|34)', [1, 2]],
  ['code,matches,\\d\\d', [1, 2]],
  ['code,matches,', [1, 2, 4]],
  ['code,matches,^.{2,3},x', []],
  ['story,matches,one.two', [1]],
  ['story,matches,^two', []],
  ['story,matches,(?n)^two', [1]],
  ['story,matches,ße, no\\. [0-9]', [2]],
  ['colour,matches,e{2}', [2]],
  ['whole.code,matches,^AB', [2, 3]],
  ['pieces.code,matches,^AB', [2]],
];

for (const [filter, ids] of FOUND) {
  test(`filter=${filter} finds ${ids.length === 0 ? 'nothing' : ids}`, async () => {
    const { status, text, json } = await list(filter);
    assert.equal(status, 200, text);
    assert.deepEqual(
      json.data.map(({ id }: { id: number }) => id),
      ids,
    );
  });
}

test('a tree takes it, denied too: null is unlike every expression', async () => {
  const filter = { not: { field: 'code', op: 'matches', value: '^AB' } };
  const { json } = await workspace.call('parts/_query', {
    method: 'POST',
    headers,
    body: JSON.stringify({ filter, fields: ['id'], sort: ['id'] }),
  });
  assert.deepEqual(json.data, [{ id: 2 }, { id: 3 }]);
});

const REFUSED: readonly (readonly [filter: string, message: string])[] = [
  ['code,matches,(', 'The regular expression of a filter has parentheses () that are not balanced'],
  ['code,matches,[a', 'The regular expression of a filter has brackets [] that are not balanced'],
  ['code,matches,a{1', 'The regular expression of a filter has braces {} that are not balanced'],
  [
    'code,matches,a{2,1}',
    'The regular expression of a filter has an invalid repetition: counts go from 0 to 255, the smaller one first',
  ],
  ['code,matches,*a', 'The regular expression of a filter has a quantifier (* + ? {}) with nothing to repeat'],
  ['code,matches,a\\', 'The regular expression of a filter has an unknown escape sequence, or ends in a backslash'],
  ['code,matches,(a)\\2', 'The regular expression of a filter refers back to a group that is not there'],
  [
    'code,matches,[z-a]',
    'The regular expression of a filter has a character range whose end comes before its beginning',
  ],
  ['code,matches,[[:nope:]]', 'The regular expression of a filter has an unknown character class'],
  ['code,matches,(?z)a', 'The regular expression of a filter has an unknown embedded option'],
  ['code,matches', 'Filter code,matches: matches takes one value'],
  [`code,matches,${'a'.repeat(201)}`, 'Filter value for code must have at most 200 characters, has 201'],
];

for (const [filter, message] of REFUSED) {
  test(`filter=${filter.slice(0, 30)} is refused with what is wrong`, async () => {
    const { status, json } = await list(filter);
    assert.deepEqual([status, json.error.code, json.error.message], [400, 'BAD_REQUEST', message]);
  });
}

for (const field of ['extra', 'weight', 'id']) {
  test(`${field} has no text that could match`, async () => {
    const { status, json } = await list(`${field},matches,1`);
    assert.equal(status, 400);
    assert.match(json.error.message, new RegExp(`^Filter operator matches does not apply to ${field} of type `));
  });
}

test('exports and narrowed expansions take it, and refuse what is mistaken', async () => {
  const file = await workspace.call(`parts/_export?fields=code&filter=${encodeURIComponent('code,matches,^AB-\\d$')}`);
  assert.equal(file.text, 'code\nAB-1\n');
  assert.equal((await workspace.call('parts/_export?filter=code,matches,%28')).status, 400);
  const expand = (expression: string) =>
    workspace.call(
      `parts/1?expand=pieces&fields=id,pieces.id&pieces.filter=code,matches,${encodeURIComponent(expression)}`,
    );
  assert.deepEqual((await expand('^ab')).json.data, { id: 1, pieces: [{ id: 2 }] });
  assert.equal((await expand('(')).status, 400);
});

// The first takes hours, the second more memory than there is.
for (const [expression, status, code] of [
  ['^(a*)(a*)(a*)\\1\\2\\3$', 503, 'QUERY_TIMEOUT'],
  [`${'('.repeat(20)}a${'{1,99})'.repeat(20)}`, 400, 'BAD_REQUEST'],
] as const) {
  test(`${expression.slice(0, 30)} is given up in time, and nobody else waits for it`, async () => {
    const long = list(`story,matches,${expression}`);
    assert.equal((await workspace.call('parts/1')).status, 200);
    const answer = await long;
    assert.deepEqual([answer.status, answer.json.error.code], [status, code]);
    assert.equal((await list('code,eq,AB-1')).status, 200);
  });
}
