// Converts between the pieces of a backup and the bytes of its file. The first line is its header as JSON, for people
// and for later versions; then frames, each with its length and checksum; the last one has a digest of all bytes before
// it. A file that is read to its end without an error is complete and unchanged. Memory: some frames of a megabyte.
//
//     {"product":"workspace-data-api","format":1,"version":"1.4.0","scope":"workspace","createdAt":"…"}\n
//     kind (1 byte)  bytes of the content (4)  bytes that follow (4)  CRC-32 of all of the frame but itself (4)  content (zstd)
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { crc32, zstdCompress, zstdDecompress } from 'node:zlib';
import { backupDamaged, backupForeign, backupNewer, documentTooLong } from './errors.ts';

/** The version of the format that this server writes, and the newest that it reads. */
export const FORMAT = 1;
const PRODUCT = 'workspace-data-api';

export type Scope = 'instance' | 'workspace';

export interface Header {
  readonly scope: Scope;
  /** Version of the server that has written the file. */
  readonly version: string;
  /** Time of the snapshot, ISO 8601 in UTC. */
  readonly createdAt: string;
}

/** Description of the data that follows: a JSON object with at least a `kind`. */
export interface Entry {
  readonly kind: string;
  readonly [member: string]: unknown;
}

/** An entry, or a part of the data of the last entry. */
export type Piece = { readonly entry: Entry } | { readonly data: Buffer };

/** The longest part of data in bytes. */
export const MAX_DATA = 1_048_576;
const MAX_HEADER = 1024;
const FRAME_HEAD = 13;
// zstd makes incompressible data a little longer.
const MAX_STORED = MAX_DATA + 65_536;

const ENTRY = 0x45;
const DATA = 0x44;
const END = 0x5a;

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

/** Yields the bytes of a file. Frames are compressed concurrently, in the threads of libuv. */
export async function* writeFile(header: Header, pieces: AsyncIterable<Piece>): AsyncGenerator<Buffer> {
  const digest = createHash('sha256');
  const updateDigest = (bytes: Buffer): Buffer => {
    digest.update(bytes);
    return bytes;
  };
  yield updateDigest(Buffer.from(`${JSON.stringify({ product: PRODUCT, format: FORMAT, ...header })}\n`));
  let frames = 0;
  for await (const frame of mapConcurrently(skipEmptyData(pieces), (piece) =>
    'entry' in piece ? buildFrame(ENTRY, jsonBytes(piece.entry)) : buildFrame(DATA, piece.data),
  )) {
    frames++;
    yield updateDigest(frame);
  }
  yield await buildFrame(END, jsonBytes({ frames, sha256: digest.digest('hex') }));
}

/** Skips empty data. */
async function* skipEmptyData(pieces: AsyncIterable<Piece>): AsyncGenerator<Piece> {
  for await (const piece of pieces) if ('entry' in piece || piece.data.length > 0) yield piece;
}

const jsonBytes = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

async function buildFrame(kind: number, content: Buffer): Promise<Buffer> {
  const stored = await compress(content);
  const frame = Buffer.allocUnsafe(FRAME_HEAD + stored.length);
  frame[0] = kind;
  frame.writeUInt32BE(content.length, 1);
  frame.writeUInt32BE(stored.length, 5);
  stored.copy(frame, FRAME_HEAD);
  frame.writeUInt32BE(checksum(frame.subarray(0, 9), stored), 9);
  return frame;
}

const checksum = (head: Buffer, stored: Buffer): number => crc32(stored, crc32(head));

// Two frames that are compressed and one that waits: more would not keep two processors busier.
const MAX_CONCURRENT = 3;

/** Runs `work` on each value with limited concurrency; yields the results in order. */
async function* mapConcurrently<T, R>(values: AsyncIterable<T>, work: (value: T) => Promise<R>): AsyncGenerator<R> {
  const running: Promise<R>[] = [];
  for await (const value of values) {
    const result = work(value);
    // Awaited below; until then its failure must not end the process.
    result.catch(() => undefined);
    running.push(result);
    if (running.length === MAX_CONCURRENT) yield await (running.shift() as Promise<R>);
  }
  for (const result of running) yield await result;
}

export interface OpenedFile {
  readonly header: Header;
  /**
   * Pieces, which can be read once. Only at the end it is certain that none is missing. Throws the damage of the file.
   */
  readonly pieces: AsyncIterable<Piece>;
}

/** Reads the header of a file. Throws for a file of another product, of a newer version, or a damaged one. */
export async function readFile(bytes: AsyncIterable<Uint8Array>): Promise<OpenedFile> {
  const source = openSource(bytes);
  const header = parseHeader(await source.line(MAX_HEADER));
  return { header, pieces: readPieces(source) };
}

/** Reads a file to its end, without its data: returns its header, or throws its damage. */
export async function checkFile(bytes: AsyncIterable<Uint8Array>): Promise<Header> {
  const source = openSource(bytes);
  const header = parseHeader(await source.line(MAX_HEADER));
  for await (const _ of readPieces(source, false));
  return header;
}

const FIRST_LINE = 'its first line is not as it was written';
const FIRST_BYTES = `{"product":"${PRODUCT}",`;

function parseHeader(line: string): Header {
  if (!line.startsWith(FIRST_BYTES.slice(0, line.length)) || line === '') throw backupForeign();
  if (!line.endsWith('\n')) throw backupDamaged('it is cut off in its first line');
  const { format, scope, version, createdAt } = parseObject(line, FIRST_LINE);
  const isHeader = typeof version === 'string' && typeof createdAt === 'string' && Number.isSafeInteger(format);
  if (!isHeader) throw backupDamaged(FIRST_LINE);
  if ((format as number) > FORMAT) throw backupNewer(version, format as number, FORMAT);
  if (format !== FORMAT || (scope !== 'instance' && scope !== 'workspace')) throw backupDamaged(FIRST_LINE);
  return { scope, version, createdAt };
}

function parseObject(text: string, problem: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw backupDamaged(problem);
  }
  if (typeof value !== 'object' || value === null) throw backupDamaged(problem);
  return value as Readonly<Record<string, unknown>>;
}

async function* readPieces(source: Source, isRead = true): AsyncGenerator<Piece> {
  try {
    for (let frames = 0; ; frames++) {
      const sha256 = source.digest();
      const { kind, content } = await readFrame(source, isRead);
      if (kind === DATA) yield { data: content };
      else if (kind === ENTRY) yield { entry: parseObject(content.toString(), NOT_JSON) as Entry };
      else if (kind === END) {
        const end = parseObject(content.toString(), NOT_JSON);
        if (end.sha256 !== sha256 || end.frames !== frames)
          throw backupDamaged('its parts are not those that were written');
        if (!(await source.isAtEnd())) throw backupDamaged('something follows its end');
        return;
      } else throw makeDamagedError(source.position());
    }
  } finally {
    await source.close();
  }
}

async function readFrame(
  source: Source,
  isRead: boolean,
): Promise<{ readonly kind: number | undefined; readonly content: Buffer }> {
  const head = await source.take(FRAME_HEAD);
  const [size, length] = [head.readUInt32BE(1), head.readUInt32BE(5)];
  // Empty data is never written: a small file could have millions of such frames.
  const isEmpty = head[0] === DATA && size === 0;
  if (isEmpty || size > MAX_DATA || length > MAX_STORED) throw makeDamagedError(source.position());
  const stored = await source.take(length);
  if (checksum(head.subarray(0, 9), stored) !== head.readUInt32BE(9)) throw makeDamagedError(source.position());
  // The checksum is of the compressed data.
  if (head[0] === DATA && !isRead) return { kind: DATA, content: stored };
  const content = await decompress(stored, { maxOutputLength: MAX_DATA }).catch(() => undefined);
  if (content?.length !== size) throw makeDamagedError(source.position());
  return { kind: head[0], content };
}

const NOT_JSON = 'a part of it is no JSON object';
const makeDamagedError = (byte: number): Error =>
  backupDamaged(`a part that ends at byte ${byte} has another checksum`);

interface Source {
  /** Reads `count` bytes; throws when the file ends before. */
  readonly take: (count: number) => Promise<Buffer>;
  /** Reads up to and including the end of the line, or to the end of the file. */
  readonly line: (maxBytes: number) => Promise<string>;
  readonly isAtEnd: () => Promise<boolean>;
  /** Returns the digest of all bytes that were read, in hex. */
  readonly digest: () => string;
  /** Returns the number of bytes that were read. */
  readonly position: () => number;
  /** Closes the source. */
  readonly close: () => Promise<unknown>;
}

function openSource(bytes: AsyncIterable<Uint8Array>): Source {
  const iterator = bytes[Symbol.asyncIterator]();
  const digest = createHash('sha256');
  let buffers: Buffer[] = [];
  let size = 0;
  let position = 0;

  async function readMore(): Promise<boolean> {
    const { done, value } = await iterator.next();
    if (done === true) return false;
    if (value.length > 0) buffers.push(Buffer.from(value.buffer, value.byteOffset, value.length));
    size += value.length;
    return true;
  }

  function takeBytes(count: number): Buffer {
    const buffer = buffers.length === 1 ? (buffers[0] as Buffer) : Buffer.concat(buffers);
    const part = buffer.subarray(0, count);
    buffers = buffer.length > count ? [buffer.subarray(count)] : [];
    size -= part.length;
    position += part.length;
    digest.update(part);
    return part;
  }

  return {
    async take(count) {
      while (size < count) {
        if (!(await readMore())) throw backupDamaged(`it is cut off after ${position + size} bytes`);
      }
      return takeBytes(count);
    },
    async line(maxBytes) {
      for (;;) {
        const buffer = Buffer.concat(buffers);
        const end = buffer.indexOf('\n');
        if (end >= 0 && end < maxBytes) return takeBytes(end + 1).toString();
        if (size >= maxBytes || !(await readMore())) return buffer.subarray(0, maxBytes).toString();
      }
    },
    isAtEnd: async () => size === 0 && !(await readMore().then((hasMore) => hasMore && size > 0)),
    digest: () => digest.copy().digest('hex'),
    position: () => position,
    close: async () => iterator.return?.(),
  };
}

/** An entry with its data. */
export interface Section {
  readonly entry: Entry;
  readonly data: AsyncIterable<Buffer>;
}

/** Yields the entries, each with its data; unread data is skipped. */
export async function* readSections(pieces: AsyncIterable<Piece>): AsyncGenerator<Section> {
  const reader = pieces[Symbol.asyncIterator]();
  let next: Piece | undefined;
  const advance = async (): Promise<void> => {
    const { done, value } = await reader.next();
    next = done === true ? undefined : value;
  };
  async function* data(): AsyncGenerator<Buffer> {
    for (await advance(); next !== undefined && 'data' in next; await advance()) yield next.data;
  }
  try {
    await advance();
    while (next !== undefined) {
      const current: Piece = next;
      if (!('entry' in current)) throw backupDamaged('it has data that belongs to nothing');
      yield { entry: current.entry, data: data() };
      while (next === current || (next !== undefined && 'data' in next)) await advance();
    }
  } finally {
    await reader.return?.();
  }
}

/** Reads all data as text, at most `maxBytes`. */
export async function collectText(data: AsyncIterable<Buffer>, maxBytes: number): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of data) {
    size += part.length;
    if (size > maxBytes) throw documentTooLong(maxBytes);
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}
