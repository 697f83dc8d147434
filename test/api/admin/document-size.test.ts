// Settings and row rules make the schema document no longer than a restore takes it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prepare, use, useServer } from '../../support/resources.ts';
import type { Answer } from '../../support/server.ts';

const server = useServer({ WDA_MAX_BODY_BYTES: '1024' });
const names = ['a', 'b', 'c', 'd'];
const workspace = use(() =>
  server.workspace('acme/long', {
    entities: Object.fromEntries(names.map((name) => [name, { fields: { owner: { type: 'string' } } }])),
  }),
);
const rules = (entity: string, letter: string): Promise<Answer> =>
  workspace.admin(`entities/${entity}/row-rules`, {
    method: 'PUT',
    body: [1, 2, 3].map((n) => ({ column: 'owner', claim: `${letter.repeat(200)}${n}` })),
  });

let answers: Answer[] = [];
prepare(async () => {
  for (const name of names) answers = [...answers, await rules(name, 'x')];
});

test('the document grows by rules to twice the longest body, and no further', () => {
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 400, 400],
  );
  assert.deepEqual(answers[3]?.json.error, {
    code: 'BAD_REQUEST',
    message: 'The schema document would have more than 2048 bytes with its settings and row rules: nothing was changed',
    reason: 'SCHEMA_TOO_LARGE',
  });
});

test('rules can be replaced by others, and taken away, at the limit', async () => {
  assert.equal((await rules('a', 'y')).status, 200);
  const gone = await workspace.admin('entities/a/row-rules', { method: 'PUT', body: [] });
  assert.equal(gone.status, 200, gone.text);
  assert.equal((await rules('c', 'z')).status, 200);
});

test('what was not changed is as it was', async () => {
  const { json } = await workspace.admin('entities/d/row-rules');
  assert.deepEqual(json.data, []);
});
