// The proofs about feeds can fail: each thing that no feed may do is found.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { applyFeed, compareFeeds, type FeedEvent } from '../support/feed-journal.ts';
import { compareMarks } from './feeds.ts';

/** A record that is created and updated twice, by two transactions, and one that is created and removed by a third. */
const FEED: readonly FeedEvent[] = [
  { id: 'e_1', type: 'created', entity: 'a', recordId: 1, transaction: 't_1', record: { n: 0 } },
  { id: 'e_2', type: 'updated', entity: 'a', recordId: 1, transaction: 't_1', record: { n: 1 }, previous: { n: 0 } },
  { id: 'e_3', type: 'schema', entity: 'a' },
  { id: 'e_4', type: 'updated', entity: 'a', recordId: 1, transaction: 't_2', record: { n: 2 }, previous: { n: 1 } },
  { id: 'e_5', type: 'created', entity: 'b', recordId: 1, transaction: 't_3', record: { n: 0 } },
  { id: 'e_6', type: 'removed', entity: 'b', recordId: 1, transaction: 't_3', previous: { n: 0 } },
];
const [one, two, schema, three, four, five] = FEED as [
  FeedEvent,
  FeedEvent,
  FeedEvent,
  FeedEvent,
  FeedEvent,
  FeedEvent,
];

const CASES: readonly { what: string; feed: readonly FeedEvent[]; wrong: RegExp | undefined }[] = [
  { what: 'as it must be', feed: FEED, wrong: undefined },
  { what: 'with an event twice', feed: [one, two, two], wrong: /e_2 .* comes twice/ },
  { what: 'with a schema event twice', feed: [schema, schema], wrong: /e_3 .* comes twice/ },
  { what: 'without the first event', feed: FEED.slice(1), wrong: /e_2 .* was not there/ },
  { what: 'without an update', feed: [one, three], wrong: /n was 0, not 1/ },
  { what: 'with two updates swapped', feed: [one, three, two], wrong: /n was 0, not 1.*n was 2, not 0/ },
  { what: 'without a removal', feed: [four, { ...four, id: 'e_7' }], wrong: /e_7 .* was there/ },
  { what: 'with another value removed', feed: [four, { ...five, previous: { n: 5 } }], wrong: /n was 0, not 5/ },
  { what: 'with a transaction in two pieces', feed: [one, four, five, two], wrong: /t_1 is in several pieces/ },
];

describe('applyFeed', () => {
  for (const { what, feed, wrong } of CASES)
    test(`a feed ${what}`, () => {
      const found = applyFeed(feed).wrong;
      if (wrong === undefined) assert.deepEqual(found, []);
      else assert.match(found.join('; '), wrong);
    });

  test('returns what results from the records at the beginning', () => {
    const start = new Map([['a 7', { n: 7 }]]);
    assert.deepEqual([...applyFeed(FEED, { start }).records], [...start, ['a 1', { n: 2 }]]);
    assert.deepEqual(applyFeed([one, { ...two, previous: { n: 5 } }], { unstable: ['n'] }).wrong, []);
  });
});

test('compareFeeds names the first event in which two readers differ', () => {
  assert.deepEqual(compareFeeds('r', FEED, FEED), []);
  assert.match(compareFeeds('r', [one, three], FEED).join(), /^r: event 1 of 6 is e_4 .*, not e_2/);
  assert.match(compareFeeds('r', [one], FEED).join(), /event 1 of 6 is nothing/);
  assert.match(compareFeeds('r', FEED, [one]).join(), /event 1 of 1 is e_2 .*, not nothing/);
});

test('marks of a transaction are there whole or not at all, and none of one that was refused', () => {
  const mark = (recordId: number, transaction = 't_1'): FeedEvent => ({
    id: `e_${recordId}`,
    type: 'updated',
    entity: 'counters',
    recordId,
    transaction,
    record: { mark: 'm' },
  });
  const batch = (acknowledged: boolean, events: readonly FeedEvent[]) =>
    compareMarks([{ name: 'm', rows: 2, acknowledged }], events);
  assert.deepEqual(batch(true, [mark(1), mark(2)]), []);
  assert.deepEqual(batch(false, []), []);
  assert.deepEqual(batch(true, []), ['m has 0 events of 2']);
  assert.deepEqual(batch(false, [mark(1)]), ['m has 1 events of 2']);
  assert.deepEqual(batch(true, [mark(1), mark(2, 't_2')]), ['m has several transactions']);
  assert.deepEqual(compareMarks([], [mark(1)]), ['m was refused and has 1 events']);
});
