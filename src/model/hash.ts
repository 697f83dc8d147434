// A hash of a text: short, quick, and the same in every process and version. Not for secrets.

/** Computes FNV-1a over UTF-16 code units, as unsigned 32 bits. Another start and factor make another hash. */
export function hash32(text: string, start = 0x811c9dc5, factor = 0x01000193): number {
  let value = start;
  for (let index = 0; index < text.length; index++) value = Math.imul(value ^ text.charCodeAt(index), factor);
  return value >>> 0;
}
