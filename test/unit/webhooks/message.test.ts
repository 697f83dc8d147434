// Bodies of messages: one event, batches, pings, and what does not fit.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  formatBody,
  formatPing,
  MAX_BODY_BYTES,
  type MessageEvent,
  selectForMessage,
} from '../../../src/webhooks/message.ts';

const event = (text: string, entity: string | null = 'orders'): MessageEvent => ({
  type: 'updated',
  entity,
  at: '2026-11-22T00:43:53.838Z',
  text,
});

test('one event', () => {
  assert.deepEqual(formatBody('demo/shop', [event('{"id":"e_1","record":{"total":12.50}}')], false), {
    type: 'orders.updated',
    body: '{"type":"orders.updated","timestamp":"2026-11-22T00:43:53.838Z","workspace":"demo/shop","data":{"id":"e_1","record":{"total":12.50}}}',
  });
});

test('an event of all entities has no name of one', () => {
  assert.equal(formatBody('demo/shop', [{ ...event('{}', null), type: 'reset' }], false).type, 'reset');
});

test('a batch, also of one event', () => {
  for (const texts of [['{"id":"e_1"}'], ['{"id":"e_1"}', '{"id":"e_2"}']]) {
    const [first, ...rest] = texts.map((text) => event(text)) as [MessageEvent, ...MessageEvent[]];
    assert.deepEqual(formatBody('demo/shop', [first, ...rest], true), {
      type: 'changes',
      body: `{"type":"changes","timestamp":"2026-11-22T00:43:53.838Z","workspace":"demo/shop","data":[${texts}]}`,
    });
  }
});

test('a ping', () => {
  const { type, body } = formatPing('demo/shop', { webhook: 7, name: 'shop "A"', at: '2026-11-22T00:43:53.838Z' });
  assert.equal(type, 'ping');
  assert.deepEqual(JSON.parse(body), {
    type: 'ping',
    timestamp: '2026-11-22T00:43:53.838Z',
    workspace: 'demo/shop',
    data: { webhook: 7, name: 'shop "A"' },
  });
});

test('a batch ends at its limit of events, and before a mebibyte', () => {
  const small = Array.from({ length: 5 }, (_, index) => event(`{"id":${index}}`));
  assert.equal(selectForMessage(small, 3).length, 3);
  assert.equal(selectForMessage(small, 100).length, 5);
  const large = Array.from({ length: 5 }, () => event(JSON.stringify({ record: 'ü'.repeat(200_000) })));
  const fitting = selectForMessage(large, 100);
  assert.equal(fitting.length, 2);
  const { body } = formatBody('demo/shop', fitting as [MessageEvent, ...MessageEvent[]], true);
  assert.ok(Buffer.byteLength(body) <= MAX_BODY_BYTES);
  assert.equal(selectForMessage([event('x'.repeat(2 * MAX_BODY_BYTES))], 100).length, 1);
});

test('a single event that does not fit comes without its values, with all digits of its other members', () => {
  const text = `{"id":"e_1","recordId":9007199254740993,"record":{"note":"${'x'.repeat(MAX_BODY_BYTES)}"},"previous":{"a":1},"version":"1-a"}`;
  for (const isBatch of [false, true]) {
    const { body } = formatBody('demo/shop', [event(text)], isBatch);
    assert.ok(body.includes('{"id":"e_1","recordId":9007199254740993,"version":"1-a","truncated":true}'), body);
  }
});
