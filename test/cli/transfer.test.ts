import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stringify } from 'csv-stringify/sync';
import fc from 'fast-check';
import { chooseFormat, type FileFormat, makeRecordCounter } from '../../src/cli/commands/transfer.ts';
import { CommandFailure } from '../../src/cli/failure.ts';

const count = (format: FileFormat, ...chunks: readonly string[]): number => {
  const counter = makeRecordCounter(format);
  for (const chunk of chunks) counter.add(Buffer.from(chunk));
  return counter.count();
};

test('the extension tells the format unless one is asked for', () => {
  assert.equal(chooseFormat(undefined, 'a/b.csv'), 'csv');
  assert.equal(chooseFormat(undefined, 'A.CSV'), 'csv');
  assert.equal(chooseFormat(undefined, 'b.ndjson'), 'ndjson');
  assert.equal(chooseFormat(undefined, 'b.jsonl'), 'ndjson');
  assert.equal(chooseFormat('ndjson', 'b.csv'), 'ndjson');
  assert.equal(chooseFormat(undefined, '-', 'csv'), 'csv');
});

test('a file whose format nobody knows is wrong usage', () => {
  for (const file of ['-', 'people', 'people.txt', 'archive.csv.gz'])
    assert.throws(
      () => chooseFormat(undefined, file),
      (error) => error instanceof CommandFailure && error.failure.kind === 'usage',
    );
});

test('records of a CSV are lines outside quotes, without the header', () => {
  assert.equal(count('csv', ''), 0);
  assert.equal(count('csv', 'id,name\r\n'), 0);
  assert.equal(count('csv', 'id,name\r\n1,a\r\n2,b\r\n'), 2);
  assert.equal(count('csv', 'id,name\n1,a\n2,b'), 2);
  assert.equal(count('csv', 'id,name\n1,"a\nb"\n2,"say ""x\n"""\n'), 2);
  assert.equal(count('csv', 'id,name\n1,"a', '\n', 'b"', '\n'), 1);
});

test('records of NDJSON are lines that are not empty', () => {
  assert.equal(count('ndjson', ''), 0);
  assert.equal(count('ndjson', '{"a":"\\""}\n{"a":1}\n\n'), 2);
  assert.equal(count('ndjson', '{"a":', '1}'), 1);
});

test('the count is right for any content, however it is cut into chunks', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.string(), fc.string({ unit: fc.constantFrom('"', '\n', '\r', ',', 'a', 'é') })), {
        maxLength: 20,
      }),
      fc.integer({ min: 1, max: 9 }),
      (rows, size) => {
        const text = stringify([['x', 'y'], ...rows], { quoted: true });
        const counter = makeRecordCounter('csv');
        const bytes = Buffer.from(text);
        for (let at = 0; at < bytes.length; at += size) counter.add(bytes.subarray(at, at + size));
        assert.equal(counter.count(), rows.length);
      },
    ),
  );
});
