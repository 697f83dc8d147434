// Messages of PostgreSQL's protocol, byte by byte, and read back.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  bindAndRun,
  closeStatement,
  type Parameter,
  parseStatement,
} from '../../../src/database/statement-messages.ts';

/** Type, and what follows the length, of each message. */
function messages(bytes: Buffer): { readonly type: string; readonly content: Buffer }[] {
  const found = [];
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.readInt32BE(at + 1);
    found.push({ type: String.fromCharCode(bytes[at] as number), content: bytes.subarray(at + 5, at + 1 + length) });
    at += 1 + length;
  }
  return found;
}

/** The parameters of a Bind message whose names are as given. */
function parametersOf(content: Buffer, statement: string): (string | null)[] {
  assert.equal(content.toString('latin1', 0, statement.length + 2), `\0${statement}\0`);
  let at = statement.length + 2;
  assert.equal(content.readInt16BE(at), 0, 'formats of parameters');
  const count = content.readUInt16BE(at + 2);
  at += 4;
  const found = [];
  for (let index = 0; index < count; index++) {
    const length = content.readInt32BE(at);
    at += 4;
    found.push(length < 0 ? null : content.toString('utf8', at, at + length));
    at += Math.max(0, length);
  }
  assert.equal(content.readInt16BE(at), 0, 'formats of results');
  assert.equal(content.length, at + 2);
  return found;
}

const forms: readonly [what: string, value: Parameter, text: string | null][] = [
  ['text', 'a', 'a'],
  ['no text', '', ''],
  ['text beyond ASCII', 'Łódź 🎵', 'Łódź 🎵'],
  ['null', null, null],
  ['undefined', undefined, null],
  ['a number', 12.5, '12.5'],
  ['a boolean', false, 'false'],
  ['bytes', new Uint8Array([0, 255]), '\\x00ff'],
  ['a list', ['a', 'b'], '{"a","b"}'],
  ['an empty list', [], '{}'],
  ['a list of lists', [['a'], ['b']], '{{"a"},{"b"}}'],
  ['what a list must escape', ['"', '\\', '{,}', 'NULL', null], '{"\\"","\\\\","{,}","NULL",NULL}'],
  ['a list of numbers', [1, 2], '{"1","2"}'],
];

for (const [what, value, text] of forms) {
  test(`as a parameter: ${what}`, () => {
    const [bind] = messages(bindAndRun('s1', [value]));
    assert.deepEqual(parametersOf((bind as { content: Buffer }).content, 's1'), [text]);
  });
}

test('a run is Bind, Execute of all rows and Sync', () => {
  const sent = messages(bindAndRun('s1', ['7']));
  assert.deepEqual(
    sent.map(({ type }) => type),
    ['B', 'E', 'S'],
  );
  assert.deepEqual([...(sent[1]?.content ?? [])], [0, 0, 0, 0, 0]);
});

test('any parameters arrive as they are', () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.string({ unit: 'grapheme' })), { maxLength: 300 }), (parameters) => {
      const [bind] = messages(bindAndRun('name', parameters));
      assert.deepEqual(parametersOf((bind as { content: Buffer }).content, 'name'), parameters);
    }),
  );
});

test('as many parameters as the protocol can count', () => {
  const [bind] = messages(bindAndRun('', new Array<null>(65_535).fill(null)));
  assert.equal(parametersOf((bind as { content: Buffer }).content, '').length, 65_535);
});

test('Parse has name, text and no types', () => {
  const [{ type, content }] = messages(parseStatement('s1', "select 'ä'")) as [{ type: string; content: Buffer }];
  assert.equal(type, 'P');
  assert.equal(content.toString('utf8'), "s1\0select 'ä'\0\0\0");
});

test('Close names a statement', () => {
  const [{ type, content }] = messages(closeStatement('s1')) as [{ type: string; content: Buffer }];
  assert.equal(type, 'C');
  assert.equal(content.toString('latin1'), 'Ss1\0');
});
