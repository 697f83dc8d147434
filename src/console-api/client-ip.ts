// Rate-limit keys of client IP addresses.

/**
 * Returns the rate-limit key of a client IP (RFC 4291 section 2.2). IPv6 is truncated to its first 64 bits, since a
 * subscriber owns the whole prefix.
 */
export function getRateLimitKey(address: string | undefined): string {
  const [text = ''] = (address ?? '').split('%');
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(text);
  if (mapped !== null) return mapped[1] as string;
  if (!text.includes(':')) return text;
  const [before = [], after = []] = text.split('::').map((part) => (part === '' ? [] : part.split(':')));
  const zeros = Array<string>(Math.max(0, 8 - before.length - after.length)).fill('0');
  return [...before, ...zeros, ...after].slice(0, 4).join(':').toLowerCase();
}
