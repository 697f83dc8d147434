// page, size, count and after -> PageRequest; and the cursor, an opaque string bound to its sort.
import { badRequest, shown } from '../errors.ts';

export type CountMode = 'exact' | 'estimated' | 'none';

export const COUNT_MODES: readonly CountMode[] = ['exact', 'estimated', 'none'];

export const DEFAULT_PAGE_SIZE = 20;
// OFFSET is a 64-bit number in PostgreSQL; page times size must stay an exact JavaScript number.
const MAX_PAGE = 1_000_000_000_000;

/** Where a list continues: the sort keys of the last record of the page before, as text (null for null). */
export interface Cursor {
  readonly sort: string;
  readonly keys: readonly (string | null)[];
}

export function parsePage(text: string): number {
  return parseCount('page', text, 0, MAX_PAGE);
}

export function parseSize(name: string, text: string, maximum: number): number {
  return parseCount(name, text, 1, maximum);
}

function parseCount(name: string, text: string, minimum: number, maximum: number): number {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= minimum && value <= maximum) return value;
  throw badRequest(`${shown(name)} must be an integer from ${minimum} to ${maximum}`);
}

// A preview should be short.
const MAX_PREVIEW = 10_000;

/** Characters that long values are cut to. */
export function parsePreview(text: string): number {
  return parseCount('preview', text, 1, MAX_PREVIEW);
}

export function parseVersions(text: string): boolean {
  if (text !== 'true' && text !== 'false') throw badRequest(`versions must be true or false, not ${shown(text)}`);
  return text === 'true';
}

export function parseCountMode(text: string): CountMode {
  const mode = COUNT_MODES.find((known) => known === text);
  if (mode === undefined) throw badRequest(`Unknown count ${shown(text)}. Known: ${COUNT_MODES.join(', ')}`);
  return mode;
}

export function encodeCursor(cursor: Cursor): string {
  return toBase64Url(JSON.stringify([cursor.sort, ...cursor.keys]));
}

/** The cursor that encodeCursor made; 400 for anything else. */
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

export function malformedCursor(): Error {
  return badRequest('after is not a cursor of this list: take meta.nextCursor of a response with the same sort');
}

function toBase64Url(text: string): string {
  // A third of the time of the general way (0.2 instead of 0.6 µs), and most cursors are ASCII.
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
