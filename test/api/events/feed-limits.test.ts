// Pages of a feed end before they take too much memory, also of records of before that they do not show.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { use, useServer } from '../../support/resources.ts';

const server = useServer({ WDA_MAX_RESPONSE_BYTES: '1048576' });
const shop = use(() =>
  server.workspace('acme/limits', {
    entities: { notes: { fields: { text: { type: 'text' } }, settings: { changes: 'feed' } } },
  }),
);

interface Event {
  readonly type: string;
  readonly recordId: number;
  readonly truncated?: true;
  readonly changed?: readonly string[];
  readonly record?: { readonly text: string };
}

async function readPages(query = ''): Promise<readonly (readonly Event[])[]> {
  const pages: Event[][] = [];
  for (let after = 'oldest'; ; ) {
    const { status, json } = await shop.call(`notes/_changes?after=${after}&size=1000${query}`);
    assert.equal(status, 200, JSON.stringify(json));
    pages.push(json.data);
    after = json.meta.cursor;
    if (!json.meta.more) return pages;
  }
}

test('a page ends before the images that it reads are too large, and no event is lost', async () => {
  const text = 'x'.repeat(200_000);
  await shop.create('notes', [{ text }, { text }, { text }, { text }]);
  for (const id of [1, 2, 3, 4])
    assert.equal((await shop.call(`notes/${id}`, { method: 'PATCH', body: { text: 'y' } })).status, 200);
  for (const query of [
    '&types=updated',
    '&types=updated&previous=true',
    '&types=updated&filter=id,gte,0&previous=true',
  ]) {
    const pages = await readPages(query);
    assert.deepEqual(
      pages.flat().map(({ type, recordId, changed, record }) => [type, recordId, changed, record?.text]),
      [1, 2, 3, 4].map((id) => ['updated', id, ['text'], 'y']),
    );
    assert.ok(pages.length > 1, query);
  }
});

test('an event that alone is too large comes without its record, and the next one with what has changed', async () => {
  await shop.create('notes', [{ text: 'x'.repeat(600_000) }]);
  assert.equal((await shop.call('notes/5', { method: 'PATCH', body: { text: 'y' } })).status, 200);
  const events = (await readPages()).flat().filter(({ recordId }) => recordId === 5);
  assert.deepEqual(
    events.map(({ type, truncated, changed, record }) => [type, truncated, changed, record?.text]),
    [
      ['created', true, undefined, undefined],
      ['updated', undefined, ['text'], 'y'],
    ],
  );
});
