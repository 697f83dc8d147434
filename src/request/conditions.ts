// Parses conditional requests (RFC 9110 section 13): If-Match and If-None-Match -> the entity tags in them. Our tags
// are `"<row version>.<representation>"`, so that If-Match holds for every selection of the record.

import { badRequest } from '../errors.ts';
import { isStorable } from '../model/exact-json.ts';

/** `any` for `*`, else the tags without quotes and weakness. */
export type EntityTags = 'any' | readonly string[];

const TAG = /(?:W\/)?"([^"]*)"/g;

export function parseEntityTags(header: string): EntityTags {
  if (header.trim() === '*') return 'any';
  return [...header.matchAll(TAG)].map((match) => match[1] as string);
}

/** Returns the row versions among If-Match's tags; a tag that is not ours, or that PostgreSQL cannot store, matches no row. */
export function getVersions(tags: readonly string[]): string[] {
  return tags.map((tag) => (isStorable(tag) ? tag.slice(0, tag.indexOf('.') < 0 ? tag.length : tag.indexOf('.')) : ''));
}

export function matches(tags: EntityTags, tag: string): boolean {
  return tags === 'any' || tags.includes(tag);
}

/** Row versions that a write may change. */
export interface Guard {
  /** Whether versions are required: not without If-Match, nor for `*`, which only requires that the record exists. */
  readonly guarded: boolean;
  readonly versions: readonly string[];
}

/** Parses If-Match of a write; throws 400 when it names nothing. */
export function parseGuard(header: string | undefined): Guard {
  const tags = header === undefined ? 'any' : parseEntityTags(header);
  if (tags === 'any') return { guarded: false, versions: [] };
  if (tags.length === 0)
    throw badRequest('INVALID_HEADER', 'If-Match is malformed: it takes entity tags in quotes, or *');
  return { guarded: true, versions: getVersions(tags) };
}

/** Returns whether If-Match of a read names the record's version. */
export function isCurrent(tags: EntityTags, version: string): boolean {
  return tags === 'any' || getVersions(tags).includes(version);
}
