// Cursors of feeds and ids of events: opaque texts, sealed with keys that only this installation has.
import { createCipheriv, createDecipheriv, hash, hkdfSync, randomBytes } from 'node:crypto';

/** A place in the feed of a workspace, and the view that it continues. */
export interface FeedCursor {
  readonly position: number;
  /** Epoch of the workspace (install/data). */
  readonly epoch: string;
  /** Text of the parameters: entities, types, fields, filter. */
  readonly query: string;
  /** Text of the rules, grants and claims of the principal. */
  readonly view: string;
  /** Changes after the position that the reader has seen. */
  readonly seen: SeenChanges | undefined;
}

/** Changes up to the position `until` of transactions before `end` that are not `running`. */
export interface SeenChanges {
  readonly until: number;
  readonly end: bigint;
  readonly running: readonly bigint[];
}

/** A cursor that was opened; queries and views are known by their hashes alone. */
export type OpenedCursor = Pick<FeedCursor, 'position' | 'epoch' | 'seen'> & {
  readonly isSameQuery: boolean;
  readonly isSameView: boolean;
};

export interface FeedSeals {
  readonly seal: (workspaceId: string, cursor: FeedCursor) => string;
  /** Opens a cursor of the workspace, or returns undefined for any other text. */
  readonly open: (
    workspaceId: string,
    text: string,
    now: Pick<FeedCursor, 'query' | 'view'>,
  ) => OpenedCursor | undefined;
  /** Returns the id of the event of a change; the same whenever it is read. */
  readonly toEventId: (workspaceId: string, seq: string) => string;
  /** Returns the ids of the events of changes, by their numbers. */
  readonly toEventIds: (workspaceId: string, seqs: Iterable<string>) => ReadonlyMap<string, string>;
  readonly toTransactionIds: (workspaceId: string, xids: Iterable<string>) => ReadonlyMap<string, string>;
  /** Returns the change of an event id, or undefined for any other text. */
  readonly toChange: (workspaceId: string, eventId: string) => string | undefined;
}

const HASH_BYTES = 16;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const EPOCH_BYTES = 8;
const BLOCK_BYTES = 16;
// A block as base64url, and a number of bytes that is one of characters: 18 are 24.
const ID_CHARACTERS = 22;
const SPACED_BYTES = 18;
const SPACED_CHARACTERS = 24;
// Digits of a number that fits into 48 bits.
const SAFE_DIGITS = 14;
// 400 characters: `c_` and 298 bytes in base64.
const CURSOR = /^c_[\w-]{20,398}$/;
const FIXED_BYTES = IV_BYTES + 8 + EPOCH_BYTES + 2 * HASH_BYTES + TAG_BYTES;
const MAX_SEEN_BYTES = 298 - FIXED_BYTES;
const EVENT = /^e_([\w-]{22})$/;

/** A kind of ids: the letter that they begin with, and a number that keeps equal numbers of two kinds apart. */
interface IdKind {
  readonly name: string;
  readonly number: number;
}

const EVENTS: IdKind = { name: 'e', number: 1 };
const TRANSACTIONS: IdKind = { name: 't', number: 2 };

const digest = (text: string): Buffer => hash('sha256', text, 'buffer').subarray(0, HASH_BYTES);

/** `secret`: the same in all processes. */
export function makeFeedSeals(secret: string): FeedSeals {
  const deriveKey = (purpose: string): Buffer => Buffer.from(hkdfSync('sha256', secret, '', purpose, 32));
  const cursorKey = deriveKey('feed cursor');
  const idKey = deriveKey('event id');
  // Blocks do not depend on each other, so one cipher serves all: making one takes 15 us.
  const idCipher = createCipheriv('aes-256-ecb', idKey, null).setAutoPadding(false);

  /**
   * One block of AES is a permutation: equal numbers give equal texts, which tell nothing of the order (FIPS 197). One call
   * of the cipher for each number would take 1 us.
   */
  function toIds(workspaceId: string, { name, number }: IdKind, numbers: Iterable<string>): Map<string, string> {
    const ids = new Map<string, string>();
    for (const text of numbers) ids.set(text, '');
    const blocks = Buffer.alloc(ids.size * BLOCK_BYTES);
    const tail = Buffer.alloc(8);
    tail.writeUIntBE(Number(workspaceId), 0, 6);
    tail.writeUInt16BE(number, 6);
    let at = 0;
    // Bytes one by one, as a call for each number would take longer than the cipher.
    for (const text of ids.keys()) {
      if (text.length > SAFE_DIGITS) blocks.writeBigUInt64BE(BigInt(text), at);
      else
        for (let rest = Number(text), byte = at + 7; rest > 0; rest = Math.floor(rest / 256))
          blocks[byte--] = rest % 256;
      for (let byte = 0; byte < tail.length; byte++) blocks[at + 8 + byte] = tail[byte] as number;
      at += BLOCK_BYTES;
    }
    const sealed = idCipher.update(blocks);
    // All texts at once: zeros follow each block, so that each begins with a character of its own.
    const spaced = Buffer.alloc(ids.size * SPACED_BYTES);
    for (let from = 0, to = 0; from < sealed.length; from++, to++) {
      if (from > 0 && from % BLOCK_BYTES === 0) to += SPACED_BYTES - BLOCK_BYTES;
      spaced[to] = sealed[from] as number;
    }
    const texts = spaced.toString('base64url');
    let start = 0;
    for (const text of ids.keys()) {
      ids.set(text, `${name}_${texts.slice(start, start + ID_CHARACTERS)}`);
      start += SPACED_CHARACTERS;
    }
    return ids;
  }

  return {
    seal(workspaceId, { position, epoch, query, view, seen }) {
      const iv = randomBytes(IV_BYTES);
      const plain = Buffer.alloc(8 + EPOCH_BYTES);
      plain.writeBigUInt64BE(BigInt(position), 0);
      plain.write(epoch.padEnd(EPOCH_BYTES, ' '), 8, EPOCH_BYTES, 'latin1');
      const cipher = createCipheriv('aes-256-gcm', cursorKey, iv).setAAD(Buffer.from(workspaceId));
      const rest = seen === undefined ? Buffer.alloc(0) : encodeSeen(seen);
      const body = Buffer.concat([plain, digest(query), digest(view), rest]);
      const sealed = Buffer.concat([iv, cipher.update(body), cipher.final(), cipher.getAuthTag()]);
      return `c_${sealed.toString('base64url')}`;
    },
    open(workspaceId, text, now) {
      if (!CURSOR.test(text)) return undefined;
      const sealed = Buffer.from(text.slice(2), 'base64url');
      if (sealed.length < FIXED_BYTES) return undefined;
      if (sealed.toString('base64url') !== text.slice(2)) return undefined;
      const decipher = createDecipheriv('aes-256-gcm', cursorKey, sealed.subarray(0, IV_BYTES));
      decipher.setAAD(Buffer.from(workspaceId)).setAuthTag(sealed.subarray(-TAG_BYTES));
      let body: Buffer;
      try {
        body = Buffer.concat([decipher.update(sealed.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]);
      } catch {
        return undefined;
      }
      const hashes = body.subarray(8 + EPOCH_BYTES);
      const seen = hashes.subarray(2 * HASH_BYTES);
      return {
        position: Number(body.readBigUInt64BE(0)),
        epoch: body.toString('latin1', 8, 8 + EPOCH_BYTES).trimEnd(),
        isSameQuery: hashes.subarray(0, HASH_BYTES).equals(digest(now.query)),
        isSameView: hashes.subarray(HASH_BYTES, 2 * HASH_BYTES).equals(digest(now.view)),
        seen: seen.length === 0 ? undefined : decodeSeen(seen),
      };
    },
    toEventId: (workspaceId, seq) => toIds(workspaceId, EVENTS, [seq]).get(seq) ?? '',
    toEventIds: (workspaceId, seqs) => toIds(workspaceId, EVENTS, seqs),
    toTransactionIds: (workspaceId, xids) => toIds(workspaceId, TRANSACTIONS, xids),
    toChange(workspaceId, eventId) {
      const encrypted = EVENT.exec(eventId)?.[1];
      if (encrypted === undefined) return undefined;
      const bytes = Buffer.from(encrypted, 'base64url');
      if (bytes.length !== BLOCK_BYTES) return undefined;
      const decipher = createDecipheriv('aes-256-ecb', idKey, null).setAutoPadding(false);
      const block = Buffer.concat([decipher.update(bytes), decipher.final()]);
      const isOwn = block.readUIntBE(8, 6) === Number(workspaceId) && block.readUInt16BE(14) === EVENTS.number;
      return isOwn ? String(block.readBigUInt64BE(0)) : undefined;
    },
  };
}

/** Makes the function that derives the seals once from a secret. */
export function makeLoadSeals(loadSecret: () => Promise<string>): () => Promise<FeedSeals> {
  let seals: Promise<FeedSeals> | undefined;
  return () => {
    seals ??= loadSecret()
      .then(makeFeedSeals)
      .catch((error) => {
        seals = undefined;
        throw error;
      });
    return seals;
  };
}

/** Returns whether a cursor is long enough for them. */
export const fitsCursor = (seen: SeenChanges): boolean => encodeSeen(seen).length <= MAX_SEEN_BYTES;

/** Encodes numbers in groups of seven bits (LEB128), those of transactions as distances: most are a byte or two. */
function encodeSeen({ until, end, running }: SeenChanges): Buffer {
  const bytes: number[] = [];
  const push = (number: bigint): void => {
    let rest = number;
    for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
    bytes.push(Number(rest));
  };
  push(BigInt(until));
  push(end);
  let last = end;
  for (const one of running.toSorted((a, b) => Number(b - a))) {
    push(last - one);
    last = one;
  }
  return Buffer.from(bytes);
}

function decodeSeen(bytes: Buffer): SeenChanges {
  const numbers: bigint[] = [];
  let number = 0n;
  let shift = 0n;
  for (const byte of bytes) {
    number |= BigInt(byte & 127) << shift;
    shift += 7n;
    if (byte > 127) continue;
    numbers.push(number);
    number = 0n;
    shift = 0n;
  }
  const [until = 0n, end = 0n, ...distances] = numbers;
  let last = end;
  const running = distances.map((distance) => {
    last -= distance;
    return last;
  });
  return { until: Number(until), end, running };
}

/** Returns the text of the snapshot (pg_snapshot) in which the changes are visible. */
export function toSnapshot({ end, running }: SeenChanges): string {
  const ascending = running.toSorted((a, b) => Number(a - b));
  return `${ascending[0] ?? end}:${end}:${ascending.join()}`;
}
