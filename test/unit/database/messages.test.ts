// Messages are read as the driver reads them, however they are cut into pieces, and long rows in memory that is used again.
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import fc from 'fast-check';
import pg from 'pg';
import { MessageTooLong } from '../../../src/database/errors.ts';
import type { Row } from '../../../src/database/executor.ts';
import { type LongRow, type MessageLimits, readMessages } from '../../../src/database/messages.ts';

type Connection = NodeJS.EventEmitter & { readonly stream: Socket; attachListeners(stream: Socket): void };

/** A connection of the driver whose bytes from the server are written to `stream`. */
function openConnection(limits?: MessageLimits): { readonly connection: Connection; readonly stream: PassThrough } {
  const stream = new PassThrough();
  const connection = new pg.Connection({ stream } as unknown as pg.ConnectionConfig) as unknown as Connection;
  connection.attachListeners(stream as unknown as Socket);
  if (limits !== undefined) readMessages({ connection }, limits);
  return { connection, stream };
}

function message(type: string, content: Buffer): Buffer {
  const head = Buffer.from(`${type}0000`);
  head.writeUInt32BE(content.length + 4, 1);
  return Buffer.concat([head, content]);
}

function dataRow(row: Row): Buffer {
  const count = Buffer.alloc(2);
  count.writeInt16BE(row.length);
  const columns = row.map((text) => {
    const bytes = Buffer.from(text ?? '');
    const length = Buffer.alloc(4);
    length.writeInt32BE(text === null ? -1 : bytes.length);
    return Buffer.concat([length, bytes]);
  });
  return message('D', Buffer.concat([count, ...columns]));
}

/** Lets bytes arrive in pieces of these sizes, until the connection is ended. */
function arrive(stream: PassThrough, bytes: Buffer, pieces: readonly number[]): void {
  for (let at = 0, turn = 0; at < bytes.length && !stream.destroyed; turn++) {
    const size = pieces[turn % pieces.length] ?? bytes.length;
    stream.emit('data', bytes.subarray(at, at + size));
    at += size;
  }
}

/** What a connection reads from bytes: rows, and the names of other messages. */
function readAll(bytes: Buffer, pieces: readonly number[], limits?: MessageLimits): (Row | string)[] {
  const { connection, stream } = openConnection(limits);
  const events: (Row | string)[] = [];
  connection.on('dataRow', ({ fields }: { fields: Row }) => events.push(fields));
  connection.on('commandComplete', ({ text }: { text: string }) => events.push(text));
  connection.on('readyForQuery', () => events.push('ready'));
  arrive(stream, bytes, pieces);
  return events;
}

const cell = fc.oneof(
  fc.constant(null),
  fc.string({ unit: 'grapheme' }),
  fc
    .tuple(fc.string({ unit: 'grapheme', minLength: 1 }), fc.integer({ min: 1, max: 40_000 }))
    .map(([text, length]) => text.repeat(Math.ceil(length / text.length))),
);
const anyMessage = fc.oneof(
  fc.array(cell, { maxLength: 3 }).map(dataRow),
  fc.constantFrom(message('C', Buffer.from('SELECT 1\0')), message('Z', Buffer.from('I'))),
);

test('long rows and short ones are read as the driver reads them', () => {
  fc.assert(
    fc.property(
      fc.array(anyMessage, { maxLength: 8 }).map((all) => Buffer.concat(all)),
      fc.array(fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 65_536 })), {
        minLength: 1,
        maxLength: 5,
      }),
      (bytes, pieces) => {
        const sizes = bytes.length / Math.min(...pieces) > 2000 ? [65_536] : pieces;
        assert.deepEqual(readAll(bytes, sizes, {}), readAll(bytes, sizes));
      },
    ),
  );
});

test('a connection is ended when a message is too long, and only then', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 4, max: 40 }), { minLength: 1, maxLength: 12 }),
      fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 5 }),
      fc.integer({ min: 4, max: 40 }),
      async (lengths, pieces, maxMessageBytes) => {
        const { connection, stream } = openConnection({ maxMessageBytes });
        const ended = new Promise<Error | null>((resolve) => {
          stream.on('error', resolve);
          stream.on('end', () => resolve(null));
        });
        const completed: string[] = [];
        connection.on('commandComplete', ({ text }: { text: string }) => completed.push(text));
        const texts = lengths.map((length) => 'x'.repeat(length - 4));
        arrive(stream, Buffer.concat(texts.map((text) => message('C', Buffer.from(`${text}\0`)))), pieces);
        if (!stream.destroyed) stream.resume().end();
        const fitting = texts.findIndex((text) => text.length + 5 > maxMessageBytes);
        assert.equal((await ended) instanceof MessageTooLong, fitting >= 0);
        assert.deepEqual(completed, fitting < 0 ? texts : texts.slice(0, fitting));
      },
    ),
  );
});

test('memory for a long message is reserved while it arrives, and without any the connection is ended', async () => {
  const row = dataRow(['x'.repeat(2_000_000)]);
  let reserved = 0;
  const reserveMessage = (bytes: number) => {
    reserved += bytes;
    return () => {
      reserved -= bytes;
    };
  };
  const { stream } = openConnection({ reserveMessage });
  arrive(stream, row.subarray(0, 1_000_000), []);
  assert.equal(reserved, row.length - 1);
  arrive(stream, row.subarray(1_000_000), []);
  await new Promise(setImmediate);
  assert.equal(reserved, 0);
  const refused = openConnection({ reserveMessage: () => undefined });
  const ended = new Promise((resolve) => refused.stream.on('error', resolve));
  arrive(refused.stream, row.subarray(0, 10), []);
  assert.ok((await ended) instanceof MessageTooLong);
});

test('bytes that were taken are unchanged until they are released, and their memory is used again after that', () => {
  const { connection, stream } = openConnection({});
  const rows: LongRow[] = [];
  connection.on('dataRow', (row: LongRow) => rows.push(row));
  const send = (letter: string) => {
    arrive(stream, dataRow([letter.repeat(100_000), 'b', null]), [65_536]);
    return (rows.at(-1) as LongRow).takeFirst() as NonNullable<ReturnType<LongRow['takeFirst']>>;
  };
  const [one, other] = [send('1'), send('2')];
  assert.deepEqual(one.row, ['', 'b', null]);
  one.first.release();
  one.first.release();
  const [third, fourth] = [send('3'), send('4')];
  const memory = (taken: typeof one) => taken.first.bytes.buffer;
  assert.equal(memory(third), memory(one));
  assert.equal(new Set([other, third, fourth].map(memory)).size, 3);
  for (const [taken, letter] of [
    [other, '2'],
    [third, '3'],
    [fourth, '4'],
  ] as const)
    assert.equal(Buffer.from(taken.first.bytes).toString(), letter.repeat(100_000));
});

test('a short first column is not taken', () => {
  const { connection, stream } = openConnection({});
  const rows: LongRow[] = [];
  connection.on('dataRow', (row: LongRow) => rows.push(row));
  arrive(stream, dataRow(['1', 'x'.repeat(100_000)]), []);
  assert.equal(rows[0]?.takeFirst(), undefined);
  assert.deepEqual(rows[0]?.fields, ['1', 'x'.repeat(100_000)]);
});
