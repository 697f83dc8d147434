// Classifies an IP address that the server should connect to: the public internet, a private network, or a range where
// neither an identity provider nor a receiver of webhooks can be. Takes addresses in any notation.
import { BlockList, isIP, isIPv4 } from 'node:net';

/** `private`: loopback, RFC 1918, unique local, shared (RFC 6598). `forbidden`: link-local, metadata services, multicast, reserved. */
export type AddressKind = 'public' | 'private' | 'forbidden';

// IANA special-purpose address registries (RFC 6890), and the metadata services of clouds at other addresses.
const FORBIDDEN = [
  '0.0.0.0/8',
  '168.63.129.16/32',
  '169.254.0.0/16',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '100.100.100.200/32',
  '::/128',
  '100::/64',
  '2001::/23',
  '2001:db8::/32',
  '3fff::/20',
  '5f00::/16',
  'fd00:ec2::/32',
  'fe80::/10',
  'ff00::/8',
];
const PRIVATE = [
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '::1/128',
  '64:ff9b:1::/48',
  'fc00::/7',
  'fec0::/10',
];

const forbiddenNetworks = toBlockList(FORBIDDEN);
const privateNetworks = toBlockList(PRIVATE);

/** Classifies an IPv4 or IPv6 address; anything that is no address is forbidden. */
export function addressKind(address: string): AddressKind {
  const plain = plainAddress(address);
  if (plain === undefined || isIn(forbiddenNetworks, plain)) return 'forbidden';
  return isIn(privateNetworks, plain) ? 'private' : 'public';
}

/** Makes a test whether an address, in any notation, is in one of these networks (CIDR). */
export function makeNetworks(networks: readonly string[]): (address: string) => boolean {
  const list = toBlockList(networks);
  return (address) => {
    const plain = plainAddress(address);
    return plain !== undefined && isIn(list, plain);
  };
}

const isIn = (list: BlockList, plain: string): boolean => list.check(plain, isIPv4(plain) ? 'ipv4' : 'ipv6');

/** Returns the address without its zone, an IPv4 address in its own notation, or undefined if it is not an address. */
function plainAddress(address: string): string | undefined {
  // A zone (fe80::1%eth0) belongs to link-local addresses, which are forbidden with and without it.
  const text = address.split('%')[0] as string;
  if (isIP(text) === 0) return undefined;
  return isIPv4(text) ? text : (embeddedIPv4(text) ?? text);
}

/** Returns the IPv4 address in a mapped, compatible, NAT64 (RFC 6052) or 6to4 (RFC 3056) address. */
function embeddedIPv4(address: string): string | undefined {
  const parts = hextets(address);
  const [a, b, c, d, e, f, g, h] = parts as [number, number, number, number, number, number, number, number];
  const low = formatIpv4(g, h);
  if (a === 0x2002) return formatIpv4(b, c);
  if (a === 0x64 && b === 0xff9b && c === 0 && d === 0 && e === 0 && f === 0) return low;
  if (a !== 0 || b !== 0 || c !== 0 || d !== 0) return undefined;
  if (e === 0 && f === 0xffff) return low;
  // Translated (RFC 2765) and compatible; :: and ::1 are not of these.
  if (e === 0xffff && f === 0) return low;
  return e === 0 && f === 0 && (g !== 0 || h > 1) ? low : undefined;
}

/** Returns the eight 16-bit parts of an IPv6 address that isIP accepts. */
function hextets(address: string): number[] {
  // The URL parser (WHATWG) gives the canonical form, without dotted parts.
  const [head = '', tail] = new URL(`http://[${address}]/`).hostname.slice(1, -1).split('::');
  const numbers = (text: string): number[] =>
    text === '' ? [] : text.split(':').map((part) => Number.parseInt(part, 16));
  const headParts = numbers(head);
  if (tail === undefined) return headParts;
  const right = numbers(tail);
  return [...headParts, ...new Array<number>(8 - headParts.length - right.length).fill(0), ...right];
}

function formatIpv4(high: number, low: number): string {
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

function toBlockList(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', prefix] = network.split('/');
    list.addSubnet(address, Number(prefix), isIPv4(address) ? 'ipv4' : 'ipv6');
  }
  return list;
}
