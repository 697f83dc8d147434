// Messages from PostgreSQL, before the driver reads them (PostgreSQL documentation, "Message Formats": a type, then a length
// that counts itself). A message that is too long ends its connection, and long rows are read here: the driver would allocate
// a larger buffer for each doubling of such a row, and decode all of it.

import type { Socket } from 'node:net';
import type { LongText } from '../model/long-text.ts';
import { MessageTooLong } from './errors.ts';
import type { Row } from './executor.ts';
import { type Memory, takeMemory } from './message-memory.ts';

/**
 * Longest message in bytes. The driver makes a string of each column, which can hold 512 MiB: beyond that it throws an error
 * that cannot be caught, and before that it fills the memory.
 */
export const MAX_MESSAGE_BYTES = 268_435_456;

/** Reserves memory for a message; returns the function that releases it, or undefined if there is none. */
export type ReserveMessage = (bytes: number) => (() => void) | undefined;

export interface MessageLimits {
  /** Longest message of an answer, in bytes; by default as long as JavaScript can hold. */
  readonly maxMessageBytes?: number;
  /** Reserves memory for a long message while it arrives; undefined when there is none, which ends the connection. */
  readonly reserveMessage?: ReserveMessage | undefined;
}

const NOTHING = Buffer.alloc(0);
const keep = (): void => undefined;
const HEADER = 5;
const LENGTH = 4;
const DATA_ROW = 0x44;
// Shorter messages are not counted: several hundred of them fit into what is left.
const RESERVED_BYTES = 1_048_576;

// Shorter ones arrive with others in one chunk, where the driver reads them without another copy.
const LONG_BYTES = 16_384;

const decode = (bytes: Buffer | null): string | null => bytes?.toString() ?? null;

/** A long row, whose memory is used again once its columns are read. */
export class LongRow {
  readonly #memory: Memory;

  constructor(memory: Memory) {
    this.#memory = memory;
  }

  /** Columns as the driver reads them: text, and null. */
  get fields(): Row {
    const fields = this.#split().map(decode);
    this.#memory.release();
    return fields;
  }

  /** Takes the first column, if it is long; then `row` has '' in its place. */
  takeFirst(): { readonly first: LongText; readonly row: Row } | undefined {
    const [bytes, ...others] = this.#split();
    if (!bytes || bytes.length < LONG_BYTES) return undefined;
    const row = ['', ...others.map(decode)];
    return { first: { bytes, release: this.#memory.release }, row };
  }

  #split(): (Buffer | null)[] {
    const bytes = this.#memory.bytes;
    const columns: (Buffer | null)[] = new Array(bytes.readInt16BE(0));
    let offset = 2;
    for (let index = 0; index < columns.length; index++) {
      const length = bytes.readInt32BE(offset);
      offset += 4;
      columns[index] = length < 0 ? null : bytes.subarray(offset, offset + length);
      offset += Math.max(0, length);
    }
    return columns;
  }
}

/**
 * Reads the messages of a connection that is open and at rest, in place of the driver's listener, which gets all but long
 * rows. Ends the connection when a message begins that is too long, or for which there is no memory.
 */
export function readMessages(
  { connection }: { readonly connection: NodeJS.EventEmitter & { readonly stream: Socket } },
  { maxMessageBytes = MAX_MESSAGE_BYTES, reserveMessage }: MessageLimits,
): void {
  const { stream } = connection;
  const [readByDriver] = stream.listeners('data') as [(chunk: Buffer) => void];
  /** Bytes of the current message that have not arrived yet. */
  let remainingBytes = 0;
  /** The start of a header that has arrived in part. */
  let header: Buffer = NOTHING;
  /** A long row that has arrived in part. */
  let row: Memory | undefined;
  let release: (() => void) | undefined;
  stream.once('close', () => release?.());

  /** Returns the reason to end the connection, if there is one. */
  function checkLength(length: number): MessageTooLong | undefined {
    if (length > maxMessageBytes) return new MessageTooLong(length, maxMessageBytes);
    if (length <= RESERVED_BYTES || reserveMessage === undefined) return undefined;
    release = reserveMessage(length);
    return release === undefined ? new MessageTooLong(length, undefined) : undefined;
  }

  function finishMessage(): void {
    // The message is read after this listener.
    if (release !== undefined) setImmediate(release);
    release = undefined;
    if (row !== undefined) connection.emit('dataRow', new LongRow(row));
    row = undefined;
  }

  stream.off('data', readByDriver);
  stream.on('data', (arrived: Buffer) => {
    const chunk = header.length === 0 ? arrived : Buffer.concat([header, arrived]);
    header = NOTHING;
    let offset = 0;
    /** Start of the bytes that the driver gets. */
    let start = 0;
    const passOn = (end: number): void => {
      if (end > start) readByDriver(end - start === chunk.length ? chunk : chunk.subarray(start, end));
      start = end;
    };
    while (offset < chunk.length) {
      if (remainingBytes === 0) {
        if (chunk.length - offset < HEADER) {
          passOn(offset);
          header = chunk.subarray(offset);
          return;
        }
        const length = chunk.readUInt32BE(offset + 1);
        const error = checkLength(length);
        if (error !== undefined) {
          passOn(offset);
          stream.destroy(error);
          return;
        }
        remainingBytes = length - LENGTH;
        if (length > LONG_BYTES && chunk[offset] === DATA_ROW) {
          passOn(offset);
          const end = offset + 1 + length;
          // Most rows up to 64 kB arrive whole.
          row =
            end <= chunk.length
              ? { bytes: chunk.subarray(offset + HEADER, end), release: keep }
              : takeMemory(remainingBytes);
        }
        offset += HEADER;
      }
      const end = Math.min(offset + remainingBytes, chunk.length);
      if (row !== undefined) {
        if (row.release !== keep) chunk.copy(row.bytes, row.bytes.length - remainingBytes, offset, end);
        start = end;
      }
      remainingBytes -= end - offset;
      offset = end;
      if (remainingBytes === 0) finishMessage();
    }
    passOn(chunk.length);
  });
}
