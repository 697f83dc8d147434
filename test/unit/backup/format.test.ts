// The file of a backup: whatever is written is read, however it is cut into chunks, and no file that was changed is.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  checkFile,
  collectText,
  type Entry,
  type Piece,
  readFile,
  readSections,
  writeFile,
} from '../../../src/backup/format.ts';
import { ApiError } from '../../../src/errors.ts';

const HEADER = { scope: 'workspace', version: '1.2.3', createdAt: '2026-01-31T12:00:00.000Z' } as const;

type Plain = readonly { readonly entry: Entry; readonly data: readonly Uint8Array[] }[];

const plain: fc.Arbitrary<Plain> = fc.array(
  fc.record({
    entry: fc.record({ kind: fc.string(), more: fc.jsonValue() }).map((entry) => entry as unknown as Entry),
    data: fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 3 }),
  }),
  { maxLength: 4 },
);

async function* piecesOf(parts: Plain): AsyncGenerator<Piece> {
  for (const { entry, data } of parts) {
    yield { entry };
    for (const one of data) yield { data: Buffer.from(one) };
  }
}

async function fileOf(parts: Plain): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of writeFile(HEADER, piecesOf(parts))) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function* inChunks(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function read(bytes: Uint8Array, size = 64): Promise<{ entry: Entry; data: string }[]> {
  const { header, pieces } = await readFile(inChunks(bytes, size));
  const found: { entry: Entry; data: string }[] = [];
  for await (const { entry, data } of readSections(pieces)) {
    const parts: Buffer[] = [];
    for await (const part of data) parts.push(part);
    found.push({ entry, data: Buffer.concat(parts).toString('hex') });
  }
  assert.deepEqual(header, HEADER);
  return found;
}

const shownAs = (parts: Plain) =>
  parts.map(({ entry, data }) => ({
    entry: JSON.parse(JSON.stringify(entry)),
    data: Buffer.concat(data).toString('hex'),
  }));

const refused = (bytes: Uint8Array) =>
  assert.rejects(read(bytes), (error) => error instanceof ApiError && error.status === 400);

test('what is written is read, in chunks of any size', async () => {
  await fc.assert(
    fc.asyncProperty(plain, fc.integer({ min: 1, max: 2000 }), async (parts, size) => {
      assert.deepEqual(await read(await fileOf(parts), size), shownAs(parts));
    }),
  );
});

test('every cut and every changed byte is found, by a look that reads no data, too', async () => {
  const bytes = await fileOf([
    { entry: { kind: 'records' }, data: [Buffer.from('1\tAda\n'), Buffer.from('2\tZoë\n')] },
    { entry: { kind: 'end' }, data: [] },
  ]);
  assert.deepEqual(await checkFile(inChunks(bytes, 10)), HEADER);
  for (let at = 0; at < bytes.length; at++) {
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] as number) ^ 0x20;
    for (const wrong of [bytes.subarray(0, at), changed]) {
      await refused(wrong);
      await assert.rejects(checkFile(inChunks(wrong, 10)), ApiError);
    }
  }
});

test('a file with something behind its end is refused', async () => {
  const bytes = await fileOf([]);
  await refused(Buffer.concat([bytes, bytes]));
  await refused(Buffer.concat([bytes, Buffer.from([0])]));
});

test('a part of another file is refused, however right it is by itself', async () => {
  const one = await fileOf([{ entry: { kind: 'a' }, data: [] }]);
  const other = await fileOf([{ entry: { kind: 'b' }, data: [] }]);
  const begin = one.indexOf('\n') + 1;
  const end = begin + 13 + one.readUInt32BE(begin + 5);
  await refused(Buffer.concat([one.subarray(0, begin), other.subarray(begin, end), one.subarray(end)]));
  await refused(Buffer.concat([one.subarray(0, begin), one.subarray(end)]));
  await refused(Buffer.concat([one.subarray(0, end), one.subarray(begin)]));
});

test('data that is empty is not written, and no file has it', async () => {
  const one = Buffer.from('1');
  const entry = { kind: 'records' };
  const bytes = await fileOf([{ entry, data: [one, Buffer.alloc(0), one] }]);
  assert.equal(bytes.length, (await fileOf([{ entry, data: [one, one] }])).length);
});

test('data that is not read is passed over', async () => {
  const bytes = await fileOf([
    { entry: { kind: 'a' }, data: [Buffer.from('1'), Buffer.from('2'), Buffer.from('3')] },
    { entry: { kind: 'b' }, data: [Buffer.from('4')] },
  ]);
  const { pieces } = await readFile(inChunks(bytes, 7));
  const found: string[] = [];
  for await (const { entry, data } of readSections(pieces)) {
    found.push(entry.kind);
    if (entry.kind === 'a') for await (const _ of data) break;
  }
  assert.deepEqual(found, ['a', 'b']);
});

test('a text that is longer than it may be is refused', async () => {
  const data = (async function* () {
    yield Buffer.alloc(10);
  })();
  await assert.rejects(collectText(data, 9), /schema document of more than 9 bytes/);
});
