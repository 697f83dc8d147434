// `<path>,<direction>` -> SortTerm. Syntax only.
import { badRequest, shorten } from '../errors.ts';
import { splitPath } from './paths.ts';

export interface SortTerm {
  readonly path: readonly string[];
  readonly direction: 'asc' | 'desc';
}

const MAX_SORT_KEYS = 10;

export function parseSort(values: readonly string[]): SortTerm[] {
  if (values.length > MAX_SORT_KEYS) throw badRequest('LIMIT_EXCEEDED', `sort has more than ${MAX_SORT_KEYS} keys`);
  return values.map(parseSortTerm);
}

/** Returns the term for a direction written as in other APIs (`-price`, `price:desc`, `price desc`), or undefined. */
function toIntendedSort(value: string): string | undefined {
  const [, descending] = /^-([\w.]+)$/.exec(value) ?? [];
  if (descending !== undefined) return `${descending},desc`;
  const [, path, direction] = /^([\w.]+)[ :](asc|desc)$/i.exec(value) ?? [];
  return path === undefined ? undefined : `${path},${direction?.toLowerCase()}`;
}

function parseSortTerm(value: string): SortTerm {
  const intended = toIntendedSort(value);
  if (intended !== undefined) {
    throw badRequest(
      'INVALID_SORT',
      `sort ${shorten(value)} is malformed: the direction follows the field. Did you mean ${shorten(intended)}?`,
    );
  }
  const [path = '', direction = 'asc', ...rest] = value.split(',', 3).map((part) => part.trim());
  if (rest.length > 0) {
    throw badRequest(
      'INVALID_SORT',
      `sort ${shorten(value)} is malformed: it takes <field>,<asc or desc>; repeat the parameter for several keys`,
    );
  }
  const lowerDirection = direction.toLowerCase();
  if (lowerDirection !== 'asc' && lowerDirection !== 'desc') {
    throw badRequest(
      'INVALID_SORT',
      `Unknown sort direction ${shorten(direction)} in sort=${shorten(value)}. Known: asc, desc`,
    );
  }
  return { path: splitPath('sort', path), direction: lowerDirection };
}
