// Bytes of a body become a JSON value, or a 400.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isJsonType, MAX_NESTING, parseBody, readBody } from '../../../src/request/body.ts';
import { refuses, unlessBadRequest } from '../../support/error-response.ts';

const parse = (text: string) => parseBody(Buffer.from(text));

for (const [text, value] of [
  ['{}', {}],
  ['\uFEFF{"a":1}', { a: 1 }],
  ['"\\u00e4\\ud83d\\ude00"', 'ä😀'],
  ['"\\ud800"', '\ud800'],
] as const) {
  test(`${JSON.stringify(text)} is ${JSON.stringify(value)}`, () => assert.deepEqual(parse(text), value));
}

for (const [name, text, message] of [
  ['nothing', '', 'The request body is empty; send a JSON object'],
  ['blanks', ' \r\n', 'The request body is empty; send a JSON object'],
  ['a form', 'a=1&b=2', 'The request body is malformed JSON'],
  ['two byte order marks', '\uFEFF\uFEFF{}', 'The request body is malformed JSON'],
] as const) {
  test(`a body of ${name} is refused`, () => refuses(() => parse(text), message));
}

test('bytes that are not UTF-8 are refused, and the next body is read as if nothing had been', () => {
  for (const bytes of [
    [0xff],
    [0x22, 0xe4, 0x22],
    [0x22, 0xc0, 0xaf, 0x22],
    [0x22, 0xed, 0xa0, 0x80, 0x22],
    [0x22, 0xc3],
  ]) {
    refuses(() => parseBody(Uint8Array.from(bytes)), 'The request body is not UTF-8');
    assert.deepEqual(parse('{"a":"ä"}'), { a: 'ä' });
  }
});

test(`${MAX_NESTING} levels are the most, brackets in strings are none`, () => {
  const nested = (levels: number, open: string, close: string) => open.repeat(levels) + 1 + close.repeat(levels);
  for (const [open, close] of [
    ['[', ']'],
    ['{"a":', '}'],
  ] as const) {
    assert.notEqual(parse(nested(MAX_NESTING, open, close)), undefined);
    refuses(() => parse(nested(MAX_NESTING + 1, open, close)), 'The request body is nested more than 64 levels deep');
  }
  assert.equal(parse(`"${'['.repeat(100)}"`), '['.repeat(100));
  assert.equal(parse(`"${'\\"['.repeat(100)}"`), '"['.repeat(100));
  refuses(() => parse('['.repeat(100_000)), 'The request body is nested more than 64 levels deep');
});

for (const text of ['-0', '1E-7', '[0.10,{"a":[100000000000000000001]}]']) {
  test(`${text} keeps its digits`, () => assert.equal(JSON.stringify(parse(text)), text));
}

test('of duplicate keys the last counts, digits and all', () => {
  assert.equal(JSON.stringify(parse('{"a":1.10,"b":0,"a":2.20}')), '{"a":2.20,"b":0}');
  assert.equal(JSON.stringify(parse('{"a":{"b":1.10},"a":[1.10,2.20]}')), '{"a":[1.10,2.20]}');
  assert.equal(JSON.stringify(parse('{"a":[1.10,2.20],"a":3}')), '{"a":3}');
  assert.equal(JSON.stringify(parse('{"a":3,"a":[1.10,2.20]}')), '{"a":[1.10,2.20]}');
});

test('no bytes make anything but a value or a 400', () => {
  fc.assert(fc.property(fc.uint8Array(), (bytes) => void unlessBadRequest(() => parseBody(bytes))));
});

function readLong(bytes: Uint8Array): unknown {
  const reading = readBody(bytes);
  for (;;) {
    const { done, value } = reading.next();
    if (done === true) return value;
  }
}
const filler = `"filler":"${'x'.repeat(40_000)}"`;

test('a long body is read to the same value', () => {
  const text = `{${filler},"a":[1.10,{"b":null}],"a":3}`;
  assert.deepEqual(readLong(Buffer.from(text)), parse(text));
});

for (const [name, text, message] of [
  ['that is no JSON', `{${filler}} x`, 'The request body is malformed JSON'],
  ['of blanks', ' '.repeat(40_000), 'The request body is empty; send a JSON object'],
  [
    'nested too deep',
    `{${filler},"a":${'['.repeat(64)}${']'.repeat(64)}}`,
    'The request body is nested more than 64 levels deep',
  ],
  [
    'with members without end',
    `{${Array.from({ length: 5001 }, (_, index) => `"m${index}":0`)}}`,
    'The request body has more than 5000 members',
  ],
] as const) {
  test(`a long body ${name} is refused`, () => refuses(() => readLong(Buffer.from(text)), message));
}

test('a long body that is not UTF-8 is refused', () =>
  refuses(() => readLong(Buffer.alloc(40_000, 0xff)), 'The request body is not UTF-8'));

for (const [type, verdict] of [
  ['application/json', true],
  ['application/json;charset=utf-8', true],
  ['application/json; charset="utf-8"', true],
  [undefined, false],
  ['', false],
  ['text/plain', false],
  ['application/jsonp', false],
  ['multipart/form-data; boundary=application/json', false],
  ['application/json; charset=latin1', false],
  ['application/json, text/plain', false],
] as const) {
  test(`Content-Type ${type} is ${verdict ? '' : 'not '}JSON`, () => assert.equal(isJsonType(type), verdict));
}
