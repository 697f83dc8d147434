// Messages of an event stream, and which requests want one.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatId, formatMessage, prefersStream } from '../../../src/response/event-stream.ts';

const MESSAGES: readonly (readonly [message: string, expected: string])[] = [
  [formatMessage('change', 'c_1', '{"a":"x\\ny"}'), 'event: change\nid: c_1\ndata: {"a":"x\\ny"}\n\n'],
  [formatMessage('change', 'c_1', '{"a":1,\r\n "b":2}'), 'event: change\nid: c_1\ndata: {"a":1,   "b":2}\n\n'],
  [formatMessage('end', undefined, '{}'), 'event: end\ndata: {}\n\n'],
  [formatId('c_2'), 'id: c_2\n\n'],
];
for (const [message, expected] of MESSAGES) test(JSON.stringify(expected), () => assert.equal(message, expected));

const ACCEPTED: readonly (readonly [accept: string | undefined, isStream: boolean])[] = [
  [undefined, false],
  ['', false],
  ['*/*', false],
  ['text/*', false],
  ['text/event-stream', true],
  ['Text/Event-Stream; q=0.9, application/json', true],
  ['application/json, text/event-stream', false],
];
for (const [accept, isStream] of ACCEPTED)
  test(`Accept: ${accept}`, () => assert.equal(prefersStream(accept), isStream));
