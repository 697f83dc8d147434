// Filters by parts of texts: with an index of parts they find what they find without it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { scansOf } from '../../support/database.ts';
import { use, useServer } from '../../support/resources.ts';

const server = useServer();
const PIECES = [
  'abc',
  'ABC',
  'straße',
  'STRASSE',
  '50%',
  '_',
  '\\',
  'Çelik',
  'ΟΔΟΣ',
  ' ',
  '-',
  'x',
  '%',
  'é',
  'ı',
  'IFI',
  'ﬁ',
];
const DOTLESS = ['akılıb', 'AKILIB', 'kILıC', 'kiliﬁ'];

const piece = fc.constantFrom(...PIECES);
const values = fc.array(piece, { minLength: 1, maxLength: 4 }).map((pieces) => pieces.join(''));

const workspace = use(async () => {
  const text = { type: 'text' };
  const made = await server.workspace('acme/parts', {
    entities: { notes: { fields: { indexed: { ...text, index: 'substring' }, plain: text } } },
  });
  const texts = fc.sample(values, { numRuns: 300, seed: 7 });
  const filler = Array.from({ length: 20_000 }, (_, n) => `filler ${n.toString(36)} ${(n * 7919) % 10_007}`);
  const rows = [...texts, ...DOTLESS, ...filler].map((value) => JSON.stringify({ indexed: value, plain: value }));
  const answer = await made.call('notes/_import', {
    method: 'POST',
    headers: { 'content-type': 'application/x-ndjson' },
    body: rows.join('\n'),
  });
  assert.equal(answer.status, 200, answer.text);
  return made;
});

test('contains, startsWith and endsWith find the same with and without the index', async () => {
  const operators = fc.constantFrom('contains', 'startsWith', 'endsWith');
  await fc.assert(
    fc.asyncProperty(operators, values, async (op, value) => {
      const find = async (field: string): Promise<unknown> => {
        const body = { filter: { field, op, value }, fields: ['id'], size: 1000 };
        const answer = await workspace.call('notes/_query', { method: 'POST', body });
        assert.equal(answer.status, 200, answer.text);
        return answer.json;
      };
      assert.deepEqual(await find('indexed'), await find('plain'), `${op} ${value}`);
    }),
    { numRuns: 80 },
  );
});

for (const [op, value, texts] of [
  ['contains', 'KıLı', ['akılıb']],
  ['contains', 'KILI', ['AKILIB', 'kiliﬁ']],
  ['contains', 'ILıC', ['kILıC']],
  ['startsWith', 'aki', ['AKILIB']],
  ['endsWith', 'ıb', ['akılıb']],
  ['endsWith', 'IFI', ['kiliﬁ']],
  ['ieq', 'kILIFI', ['kiliﬁ']],
  ['ieq', 'KıLıFı', []],
] as const) {
  test(`${op},${value} takes no dotless ı for an i`, async () => {
    for (const field of ['indexed', 'plain']) {
      const query = new URLSearchParams({ filter: `${field},${op},${value}`, fields: field, size: '1000' });
      const { json } = await workspace.call(`notes?${query}`);
      const found = json.data.map((record: Record<string, string>) => record[field]);
      assert.deepEqual(
        found.filter((text: string) => DOTLESS.includes(text)),
        texts,
      );
    }
  });
}

test('PostgreSQL uses the index from three letters on', async () => {
  const { database } = server;
  const [{ schema } = {}] = await database.query(
    "select database_schema as schema from wda.workspace where slug = 'parts'",
  );
  // Vacuum, too: of entries that still wait to be put into the index PostgreSQL reads all.
  await database.query(`vacuum analyze "${schema}".notes`);
  const uses = (): Promise<number> => scansOf(database, String(schema), 'notes$indexed$parts');
  const before = await uses();
  // A session tells what it has used at most once a second, at the end of a statement.
  for (let looks = 0; looks < 100 && (await uses()) === before; looks++) {
    const { json } = await workspace.call('notes?filter=indexed,contains,er%20fa9&count=none');
    assert.equal(json.data.length, 1);
    await sleep(100);
  }
  assert.ok((await uses()) > before);
});
