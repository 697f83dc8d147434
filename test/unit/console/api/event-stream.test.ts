import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventStreamParser } from '../../../../console/src/api/event-stream.ts';

const TEXT = [
  'retry: 2000\n\n',
  'event: change\nid: c_1\ndata: {"a":1}\n\n',
  ': \n\n',
  'id: c_2\n\n',
  'data:first\r\ndata:  second: third\r\n\r\n',
].join('');
const MESSAGES = [
  { event: 'change', id: 'c_1', data: '{"a":1}' },
  { event: '', id: 'c_2', data: '' },
  { event: '', id: undefined, data: 'first\n second: third' },
];

test('messages are the same however the text is cut', () => {
  for (let size = 1; size <= TEXT.length; size++) {
    const parser = new EventStreamParser();
    const messages = [];
    for (let at = 0; at < TEXT.length; at += size) messages.push(...parser.push(TEXT.slice(at, at + size)));
    assert.deepEqual(messages, MESSAGES, `pieces of ${size}`);
  }
});

test('a message is complete with its empty line', () => {
  const parser = new EventStreamParser();
  assert.deepEqual(parser.push('event: end\ndata: {}\n'), []);
  assert.deepEqual(parser.push('\n'), [{ event: 'end', id: undefined, data: '{}' }]);
});
