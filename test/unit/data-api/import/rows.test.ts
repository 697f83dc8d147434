// Bodies of imports, however they are cut into chunks: the same rows, and the same fault at the same row.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { PassThrough, Readable } from 'node:stream';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { ImportFault, readCsv, readLines } from '../../../../src/data-api/import/rows.ts';
import { readUpload } from '../../../../src/limits/upload.ts';

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc') as () => void;

async function atOnce<T>(work: Generator<undefined, T>): Promise<T> {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}

const LIMITS = { maxBytes: 1_000_000, maxRowBytes: 1000 };

/** The bytes in chunks of these sizes, the last size again and again. */
function chunked(bytes: Buffer, sizes: readonly number[]): Readable {
  const chunks: Buffer[] = [];
  for (let start = 0, index = 0; start < bytes.length; index++) {
    const size = sizes[Math.min(index, sizes.length - 1)] as number;
    chunks.push(bytes.subarray(start, start + size));
    start += size;
  }
  return Readable.from(chunks);
}

/** All rows, and the fault that ended them. */
async function collect<T>(batches: AsyncIterable<readonly T[]>): Promise<{ rows: T[]; fault: string | undefined }> {
  const rows: T[] = [];
  try {
    for await (const batch of batches) rows.push(...batch);
  } catch (error) {
    if (!(error instanceof ImportFault)) throw error;
    return { rows, fault: `${error.code} ${error.message}` };
  }
  return { rows, fault: undefined };
}

const csv = (bytes: Buffer | string, sizes: readonly number[] = [65_536], limits = LIMITS) =>
  collect(readCsv(readUpload(chunked(Buffer.from(bytes as string), sizes)).chunks, limits));
const lines = (bytes: Buffer | string, sizes: readonly number[] = [65_536], limits = LIMITS) =>
  collect(readLines(readUpload(chunked(Buffer.from(bytes as string), sizes)).chunks, limits, atOnce));

const SIZES = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 20 });

test('CSV gives the same rows however it is cut', async () => {
  const cell = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 8 }),
    fc.constantFrom('"', ',', '\n', '\r\n', '', '🧑🏽‍🚀', 'ß'),
  );
  const rows = fc.array(fc.array(cell, { minLength: 2, maxLength: 2 }), { minLength: 1, maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(rows, SIZES, fc.constantFrom('\n', '\r\n', '\r'), fc.boolean(), async (table, sizes, end, bom) => {
      const text = table.map((row) => row.map((value) => `"${value.replaceAll('"', '""')}"`).join(',')).join(end);
      const body = `${bom ? '\ufeff' : ''}${text}${end}`;
      const { rows: read, fault } = await csv(body, sizes);
      assert.deepEqual([read.map(({ cells }) => cells), fault], [table, undefined]);
    }),
  );
});

test('lines give the same values however they are cut', async () => {
  const values = fc.array(fc.jsonValue(), { minLength: 1, maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(values, SIZES, fc.constantFrom('\n', '\r\n', '\n \n'), async (list, sizes, end) => {
      const body = list.map((value) => JSON.stringify(value)).join(end);
      const whole = await lines(body);
      assert.equal(whole.rows.length, list.length);
      assert.deepEqual(await lines(body, sizes), whole);
    }),
  );
});

test('a byte that is not UTF-8 ends the rows before its own', async () => {
  const bodies: readonly (readonly [body: Buffer, rows: number])[] = [
    [Buffer.from([0xff]), 0],
    [Buffer.concat([Buffer.from('a\nb\nc'), Buffer.from([0xc3]), Buffer.from('\nd\n')]), 2],
    [Buffer.concat([Buffer.from('a\nb\n'), Buffer.from([0xed, 0xa0, 0x80])]), 2],
    [Buffer.concat([Buffer.from('a\n"b\n'), Buffer.from([0x80]), Buffer.from('"\n')]), 1],
    [Buffer.concat([Buffer.from('a\nb\n\u{1f600}'), Buffer.from([0xf0, 0x9f])]), 2],
    [Buffer.from('\ufeffa\nb\n', 'utf16le'), 0],
  ];
  for (const [body, count] of bodies) {
    for (const size of [1, 2, 3, 65_536]) {
      const { rows, fault } = await csv(body, [size]);
      assert.equal(fault, 'INVALID is not UTF-8 text', body.toString('hex'));
      assert.equal(rows.length, count, `${body.toString('hex')} in chunks of ${size}`);
    }
  }
});

test('rows before a malformed one are given', async () => {
  const bodies: readonly (readonly [body: string, rows: number, fault: RegExp])[] = [
    ['a\nb\n"c\nd', 2, /INVALID has a quote that is not closed/],
    ['a\n"b"c\n', 1, /INVALID has text after a closing quote/],
    ['a\nb"\n', 1, /INVALID has a quote inside of a cell/],
    [`a\nb\n${'x'.repeat(1100)}\nc\n`, 2, /TOO_LONG is longer than 1000 bytes/],
    [`a\n"${'\n'.repeat(2000)}`, 1, /TOO_LONG is longer than 1000 bytes/],
  ];
  for (const [body, count, expected] of bodies) {
    for (const size of [1, 65_536]) {
      const { rows, fault } = await csv(body, [size]);
      assert.equal(rows.length, count, body.slice(0, 20));
      assert.match(fault ?? '', expected);
    }
  }
});

test('a line that is no JSON is told, and the next one is read', async () => {
  const { rows, fault } = await lines(`1\n{"a":\n${'['.repeat(65)}${']'.repeat(65)}\n\n 2 `);
  assert.equal(fault, undefined);
  assert.deepEqual(
    rows.map(({ text: _, ...row }) => row),
    [
      { line: 1, value: 1 },
      { line: 2, fault: 'is malformed JSON' },
      { line: 3, fault: 'is nested more than 64 levels deep' },
      { line: 5, value: 2 },
    ],
  );
});

for (const end of ['\n', '\r\n', '\r']) {
  test(`each row has the line where it begins, of lines that end in ${JSON.stringify(end)}`, async () => {
    const text = ['', 'a,b', '', '"x', 'y",1', '3,"p', '', 'q"', '', '', '4,5', '"6', ''].join(end);
    for (const size of [1, 3, 65_536]) {
      const rows: number[] = [];
      const reading = readCsv(readUpload(chunked(Buffer.from(text), [size])).chunks, LIMITS);
      await assert.rejects(
        async () => {
          for await (const batch of reading) rows.push(...batch.map(({ line }) => line));
        },
        { name: 'ImportFault', line: 12 },
      );
      assert.deepEqual(rows, [2, 4, 6, 11]);
    }
  });
}

test('a line beyond the limit ends the lines, with its end or without', async () => {
  for (const end of ['\n', '']) {
    for (const size of [1, 100, 65_536]) {
      const { rows, fault } = await lines(`1\n"${'x'.repeat(1000)}"${end}`, [size]);
      assert.equal(rows.length, 1);
      assert.equal(fault, 'TOO_LONG is longer than 1000 bytes');
    }
  }
});

test('a line that comes byte by byte is kept in few pieces', async () => {
  const limits = { maxBytes: 10_000_000, maxRowBytes: 1_000_000 };
  const text = JSON.stringify('x'.repeat(39_998));
  let kept = 0;
  async function* bytes(): AsyncGenerator<Buffer> {
    // Each in memory of its own, as a socket gives them.
    for (let index = 0; index < text.length; index++) {
      if (index === text.length - 1) kept = keptBytes();
      yield Buffer.alloc(1, text[index]);
    }
  }
  const before = keptBytes();
  const { rows } = await collect(readLines(bytes(), limits, atOnce));
  assert.equal(rows.length, 1);
  // 40,000 buffers of a byte take some 8 MB.
  assert.ok(kept - before < 2_000_000, `${kept - before} bytes`);
});

function keptBytes(): number {
  gc();
  return process.memoryUsage().heapUsed;
}

test('a body beyond the limit is a 413', async () => {
  const limits = { ...LIMITS, maxBytes: 10 };
  await assert.rejects(csv('a\nb\nc\nd\ne\nf\n', [3], limits), { code: 'PAYLOAD_TOO_LARGE' });
  assert.equal((await csv('a\nb\nc\nd\ne\n', [3], limits)).rows.length, 5);
});

test('a body that breaks off is an error, and reading less of it does not end it', async () => {
  const broken = new Readable({ read() {} });
  broken.push('a\nb\n');
  const reading = collect(readCsv(readUpload(broken).chunks, LIMITS));
  broken.destroy(new Error('gone'));
  await assert.rejects(reading, { code: 'BAD_REQUEST', message: /cut off/ });

  const kept = new Readable({ read() {} });
  kept.push('a\nb\nc\nd\n');
  const batches = readCsv(readUpload(kept).chunks, LIMITS);
  await batches.next();
  await batches.return(undefined);
  assert.equal(kept.destroyed, false);
});

test('a body that is ended while more of it is waited for gives the reason, and can still be read', async () => {
  const silent = new PassThrough();
  silent.write('a\nb\n');
  const arrival = readUpload(silent);
  const reading = collect(readCsv(arrival.chunks, LIMITS));
  await new Promise(setImmediate);
  arrival.end(new Error('enough'));
  await assert.rejects(reading, { message: 'enough' });
  const rest = once(silent, 'data');
  silent.end('c\n');
  assert.equal(String((await rest)[0]), 'c\n');
});

test('an empty body has no rows', async () => {
  assert.deepEqual(await csv(''), { rows: [], fault: undefined });
  assert.deepEqual(await lines('\ufeff'), { rows: [], fault: undefined });
});
