// Pages of a list: their numbers, and the cursor, an opaque string bound to its sort.
import { badRequest } from '../errors.ts';

export type CountMode = 'exact' | 'estimated' | 'none';

export const DEFAULT_PAGE_SIZE = 20;
// OFFSET is a 64-bit number in PostgreSQL; page times size must stay an exact JavaScript number.
export const MAX_PAGE = 1_000_000_000_000;

/** Position in a list: the sort keys of the last record of the previous page, as text (null for null). */
export interface Cursor {
  readonly sort: string;
  readonly keys: readonly (string | null)[];
}

export function encodeCursor(cursor: Cursor): string {
  return toBase64Url(JSON.stringify([cursor.sort, ...cursor.keys]));
}

/** Parses the cursor that encodeCursor made; throws 400 for anything else. */
export function parseCursor(text: string): Cursor {
  const decoded = fromBase64Url(text);
  try {
    const parts: unknown = JSON.parse(decoded ?? '');
    if (Array.isArray(parts) && parts.length > 1 && parts.every((part) => part === null || typeof part === 'string')) {
      const [sort, ...keys] = parts;
      if (typeof sort === 'string') return { sort, keys };
    }
  } catch {
    // Falls through to the refusal.
  }
  throw malformedCursor();
}

export const malformedCursor = (): Error =>
  badRequest(
    'INVALID_CURSOR',
    'after is not a cursor of this list: take meta.nextCursor of a response with the same sort',
  );

/** Refuses a cursor whose sort is right and whose workspace is not. */
export const outdatedCursor = (): Error =>
  badRequest(
    'INVALID_CURSOR',
    'after is not a cursor of this list: it is from another workspace, or from before the database was restored. Begin again with the first page, and take meta.nextCursor of its response',
  );

function toBase64Url(text: string): string {
  // Takes a third of the time of the general way (0.2 instead of 0.6 µs), and most cursors are ASCII.
  if (ASCII.test(text)) return btoa(text).replace(PADDING, '').replaceAll('+', '-').replaceAll('/', '_');
  return new TextEncoder().encode(text).toBase64({ alphabet: 'base64url', omitPadding: true });
}

const ASCII = /^[\x20-\x7e]*$/;
const PADDING = /=+$/;

function fromBase64Url(text: string): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.fromBase64(text, { alphabet: 'base64url' }));
  } catch {
    return undefined;
  }
}
