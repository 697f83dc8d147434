// Filters by long parts of long texts: they find what is there, and end when they are told to.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { queryNodes } from '../../support/database.ts';
import { use, useServer } from '../../support/resources.ts';
import { until } from '../../support/wait-until.ts';

const server = useServer({ WDA_STATEMENT_TIMEOUT_MS: '60000' });
const impatient = useServer({ WDA_STATEMENT_TIMEOUT_MS: '1000' });

// Characters of one, three and four bytes, without case. The second text repeats, so that much of a part is found everywhere.
const CHARACTERS = Array.from({ length: 60_000 }, (_, n) => [...`${n} 漢𝒳`]).flat();
const CHANGING = CHARACTERS.join('');
const SAME = 'a'.repeat(1_000_000);
const DOTLESS = `ı${'b'.repeat(120_000)}ﬁ`;

const notes = use(async () => {
  const text = { type: 'text' };
  const made = await server.workspace('acme/long', {
    entities: { notes: { fields: { plain: text, indexed: { ...text, index: 'substring' } } } },
  });
  await made.create('notes', [{ plain: CHANGING, indexed: slice(0, 5000) }]);
  await made.create('notes', [{ plain: SAME }]);
  await made.create('notes', [{ plain: null }]);
  await made.create('notes', [{ plain: DOTLESS }]);
  return made;
});

const find = (field: string, op: string, value: string) =>
  notes.call('notes/_query', { method: 'POST', body: { filter: { field, op, value }, fields: ['id'] } });

const slice = (start: number, end?: number): string => CHARACTERS.slice(start, end).join('');
const LONG = slice(250_003, 400_000);

for (const [words, op, value, ids] of [
  ['that is there', 'contains', LONG, [1]],
  ['of other case', 'contains', SAME.slice(0, 300_000).toUpperCase(), [2]],
  ['with another end', 'contains', `${LONG}!`, []],
  ['with another beginning', 'contains', `!${LONG}`, []],
  ['from the first character', 'contains', slice(0, 100_000), [1]],
  ['to the last character', 'contains', slice(-100_000), [1]],
  ['of one character', 'contains', '漢', [1]],
  ['of no character', 'contains', '', [1, 2, 4]],
  ['with a dotless ı', 'contains', `ı${'B'.repeat(1000)}`, [4]],
  ['with an I for a dotless ı', 'contains', `I${'b'.repeat(1000)}`, []],
  ['with letters for a ligature', 'endsWith', `${'b'.repeat(1000)}FI`, [4]],
  ['that is the beginning', 'startsWith', slice(0, 100_000), [1]],
  ['that is no beginning', 'startsWith', slice(1, 100_000), []],
  ['that is the end', 'endsWith', slice(-100_000), [1]],
  ['that is no end', 'endsWith', slice(-100_000, -1), []],
] as const) {
  test(`${op} finds a text by a part ${words}`, async () => {
    const { json, status, text } = await find('plain', op, value);
    assert.equal(status, 200, text);
    assert.deepEqual(
      json.data.map(({ id }: { id: number }) => id),
      ids,
    );
  });
}

test('with an index of parts only what has the whole part is found', async () => {
  const value = slice(100, 4000);
  for (const [part, count] of [[value, 1] as const, [`${value}!`, 0] as const]) {
    const { json, text } = await find('indexed', 'contains', part);
    assert.equal(json.data?.length, count, text);
  }
});

test('a part that PostgreSQL compares for minutes is no longer looked for once the request has ended', async () => {
  const made = await impatient.workspace('acme/impatient', {
    entities: { notes: { fields: { plain: { type: 'text' } } } },
  });
  await made.create('notes', [{ plain: SAME }]);
  for (const value of [`b${SAME.slice(0, 500_000)}`, `${SAME.slice(0, 500_000)}b`]) {
    const body = { filter: { field: 'plain', op: 'contains', value }, fields: ['id'] };
    const { status, text } = await made.call('notes/_query', { method: 'POST', body });
    assert.ok(status === 200 || status === 503, text);
  }
  const working = `select pid from pg_stat_activity
where datname = current_database() and state = 'active' and pid <> pg_backend_pid() and query like '%notes%'`;
  await until('no statement is at work', async () => (await queryNodes(impatient.database, working)).length === 0);
});
