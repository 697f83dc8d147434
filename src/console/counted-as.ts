// Addresses of the network, as attempts to sign in are counted by them.

/**
 * What attempts of an address (RFC 4291 section 2.2) count for: an IPv4 address itself, of an IPv6 address its first 64 bits, as
 * whoever has one of them has all of its network.
 */
export function countedAs(address: string | undefined): string {
  const [text = ''] = (address ?? '').split('%');
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(text);
  if (mapped !== null) return mapped[1] as string;
  if (!text.includes(':')) return text;
  const [before = [], after = []] = text.split('::').map((part) => (part === '' ? [] : part.split(':')));
  const zeros = Array<string>(Math.max(0, 8 - before.length - after.length)).fill('0');
  return [...before, ...zeros, ...after].slice(0, 4).join(':').toLowerCase();
}
