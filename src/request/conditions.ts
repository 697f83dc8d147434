// Conditional requests (RFC 9110 section 13): If-Match and If-None-Match -> the entity tags they name. Our tags are
// `"<row version>.<representation>"`, so that If-Match holds whatever selection the record was read with.

/** `any` for `*`, else the tags as written, quotes and weakness taken off. */
export type EntityTags = 'any' | readonly string[];

const TAG = /(?:W\/)?"([^"]*)"/g;

export function parseEntityTags(header: string): EntityTags {
  if (header.trim() === '*') return 'any';
  return [...header.matchAll(TAG)].map((match) => match[1] as string);
}

/** The row versions among If-Match's tags; a tag that is not ours matches no row. */
export function versionsOf(tags: readonly string[]): string[] {
  return tags.map((tag) => tag.slice(0, tag.indexOf('.') < 0 ? tag.length : tag.indexOf('.')));
}

export function matches(tags: EntityTags, tag: string): boolean {
  return tags === 'any' || tags.includes(tag);
}
