// Ids of messages follow from webhook, epoch and range alone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeMessageIds } from '../../../src/webhooks/outgoing.ts';

const makeId = makeMessageIds('secret');
const range = { first: 1, last: 2 };

test('whoever sends a message gives it the same id, of at most 64 characters', () => {
  assert.match(makeId('7', 'epoch', range), /^msg_[\w-]{32}$/);
  assert.equal(makeId('7', 'epoch', range), makeMessageIds('secret')('7', 'epoch', { ...range }));
});

test('messages of other webhooks, epochs, ranges, kinds and installations have other ids', () => {
  const ids = [
    makeId('7', 'epoch', range),
    makeId('8', 'epoch', range),
    makeId('7', 'other', range),
    makeId('7', 'epoch', { first: 1, last: 3 }),
    makeId('7', 'epoch', { first: 2, last: 2 }),
    makeId('7', 'epoch', { first: 12, last: 2 }),
    makeId('7', 'epoch', range, 'expired'),
    makeMessageIds('other')('7', 'epoch', range),
  ];
  assert.equal(new Set(ids).size, ids.length);
});
