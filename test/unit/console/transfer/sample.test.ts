import assert from 'node:assert/strict';
import { test } from 'node:test';
import { convertToCommas, detectDelimiter, parseSample, pickRows } from '../../../../console/src/transfer/sample.ts';

test('CSV with quotes, a byte order mark and short rows', () => {
  assert.deepEqual(parseSample('\uFEFFname,note\r\nAda,"a, ""b""\nc"\r\nBob\r\n', true), {
    kind: 'csv',
    headers: ['name', 'note'],
    rows: [['Ada', 'a, "b"\nc'], ['Bob']],
  });
});

test('the row that is cut is left out', () => {
  assert.deepEqual(parseSample('a,b\n1,2\n3,"4', false).rows, [['1', '2']]);
  assert.deepEqual(parseSample('{"a":1}\n{"a":', false).rows, [['1']]);
});

test('NDJSON keeps digits and names the members of all lines', () => {
  assert.deepEqual(parseSample('{"n":9223372036854775807,"d":0.10}\n\n{"constructor":null,"j":{"x":1.0}}', true), {
    kind: 'ndjson',
    headers: ['n', 'd', 'constructor', 'j'],
    rows: [
      ['9223372036854775807', '0.10', '', ''],
      ['', '', '', '{"x":1.0}'],
    ],
  });
  assert.throws(() => parseSample('{"a":1}\n{x', true), /Line 2 is not JSON/);
});

test('a file without commas gets them', () => {
  assert.equal(detectDelimiter('a,b;c\n1,2'), undefined);
  assert.equal(detectDelimiter('name\nAda; Bob'), undefined);
  assert.equal(detectDelimiter('{"a;b":1}'), undefined);
  assert.equal(detectDelimiter('"a, b"\tc\n'), '\t');
  const text = '\uFEFFname;note\r\nAda;"a; ""b"", c"\r\n\r\nBob;\r\n';
  assert.equal(detectDelimiter(text), ';');
  assert.equal(convertToCommas(text, ';'), 'name,note\nAda,"a; ""b"", c"\nBob,\n');
});

test('the rows that were refused are written as they were, with the header', () => {
  assert.equal(pickRows('a,b\n1,"x\ny"\n\n2,z\n3,w\n', new Set([1, 3])), 'a,b\n1,"x\ny"\n3,w');
  // The parser gives the half of a line end of two characters with the row before it.
  assert.equal(pickRows('\uFEFFa,b\r\n1,x\r\n2,"y\r\n"\r\n', new Set([1, 2])), 'a,b\n1,x\n2,"y\r\n"');
  assert.equal(pickRows('{"a":1}\n\n{"a":2}\n', new Set([2])), '{"a":2}');
});
