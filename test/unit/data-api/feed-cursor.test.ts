// Cursors of feeds: what they hold comes back, and nothing else opens.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fitsCursor, makeFeedSeals, type SeenChanges, toSnapshot } from '../../../src/data-api/feed-cursor.ts';

const seals = makeFeedSeals('secret');
const identity = { query: 'q', view: 'v' };
const CURSOR = { position: 7, epoch: '1a2b3c4d', seen: undefined, ...identity };

const SEEN: readonly (readonly [name: string, seen: SeenChanges, snapshot: string])[] = [
  ['no transaction', { until: 1, end: 5n, running: [] }, '5:5:'],
  ['some in any order', { until: 2 ** 53 - 1, end: 1000n, running: [3n, 999n, 500n] }, '3:1000:3,500,999'],
  [
    'numbers above 32 bits',
    { until: 128, end: 2n ** 63n - 1n, running: [2n ** 40n] },
    `${2n ** 40n}:${2n ** 63n - 1n}:${2n ** 40n}`,
  ],
  [
    'a hundred',
    { until: 9, end: 800n, running: Array.from({ length: 100 }, (_, n) => BigInt(n + 700)) },
    `700:800:${Array.from({ length: 100 }, (_, n) => n + 700).join()}`,
  ],
];
for (const [name, seen, snapshot] of SEEN) {
  test(`changes that were seen: ${name}`, () => {
    assert.equal(fitsCursor(seen), true);
    const text = seals.seal('3', { ...CURSOR, seen });
    assert.match(text, /^c_[\w-]{20,398}$/);
    const opened = seals.open('3', text, identity);
    assert.deepEqual(opened?.position, 7);
    assert.equal(opened?.seen && toSnapshot(opened.seen), snapshot);
    assert.equal(opened?.seen?.until, seen.until);
  });
}

test('more transactions than a cursor can name do not fit', () => {
  const running = Array.from({ length: 300 }, (_, n) => BigInt(n));
  assert.equal(fitsCursor({ until: 1, end: 1000n, running }), false);
});

test('a cursor opens in its workspace alone, unchanged', () => {
  const text = seals.seal('3', CURSOR);
  assert.deepEqual(seals.open('3', text, { query: 'q', view: 'other' }), {
    position: 7,
    epoch: '1a2b3c4d',
    isSameQuery: true,
    isSameView: false,
    seen: undefined,
  });
  assert.equal(seals.open('4', text, identity), undefined);
  assert.equal(makeFeedSeals('other').open('3', text, identity), undefined);
  for (let at = 2; at < text.length; at++) {
    const changed = `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`;
    assert.equal(seals.open('3', changed, identity), undefined, `character ${at}`);
  }
  for (const other of ['', 'c_', 'now', text.slice(0, -4), `${text}AAAA`])
    assert.equal(seals.open('3', other, identity), undefined);
});

test('ids of many changes are those of each, and tell their change', () => {
  const seqs = ['1', '2', '1', String(2n ** 60n)];
  const ids = seals.toEventIds('3', seqs);
  assert.equal(ids.size, 3);
  for (const seq of seqs) {
    assert.equal(ids.get(seq), seals.toEventId('3', seq));
    assert.equal(seals.toChange('3', ids.get(seq) ?? ''), seq);
  }
  const transactions = seals.toTransactionIds('3', seqs);
  assert.match(transactions.get('1') ?? '', /^t_[\w-]{22}$/);
  assert.notEqual(transactions.get('1')?.slice(2), ids.get('1')?.slice(2));
});
