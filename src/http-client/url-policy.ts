// Decides which configured URLs and addresses this server connects to: https to public addresses, and what the operator has
// allowed of the private network.
import type { LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
import { HttpClientError } from './errors.ts';
import { addressKind, makeNetworks } from './ip-address.ts';

const MAX_URL_LENGTH = 2048;

export type Scheme = 'http:' | 'https:';

/** Addresses of the private network that an operator has allowed. */
export interface PrivateNetwork {
  /**
   * Private and loopback addresses that may be connected to, and they alone by plain http: all of them, none, or those in
   * networks (CIDR).
   */
  readonly allowPrivate: boolean | readonly string[];
  /** Setting that says so, for messages. */
  readonly setting: 'WDA_IDP_PRIVATE_NETWORK' | 'WDA_WEBHOOK_PRIVATE_NETWORK';
}

/** Policy for URLs and addresses. */
export interface UrlPolicy {
  /** Describes the mistake in the URL itself, or returns undefined if there is none. No network access. */
  readonly findMistake: (url: string) => string | undefined;
  /** Parses an allowed URL. Throws HttpClientError. */
  readonly parse: (text: string) => { readonly url: URL; readonly scheme: Scheme };
  /** Checks that all addresses of a name are allowed, as we do not choose the one in use. Throws HttpClientError. */
  readonly checkAddresses: (scheme: Scheme, addresses: readonly LookupAddress[]) => void;
}

export function makeUrlPolicy({ allowPrivate, setting }: PrivateNetwork): UrlPolicy {
  const isAllowed = typeof allowPrivate === 'boolean' ? () => allowPrivate : makeNetworks(allowPrivate);
  const allowsAny = allowPrivate === true || (allowPrivate !== false && allowPrivate.length > 0);

  function findRejection(scheme: Scheme, address: string): string | undefined {
    const kind = addressKind(address);
    if (kind === 'private' ? isAllowed(address) : kind === 'public' && scheme === 'https:') return undefined;
    switch (kind) {
      case 'public':
        return 'must be an https URL: http is for private networks only';
      case 'private':
        return `must not lead to a loopback or private address, unless the server runs with ${setting}=allow`;
      case 'forbidden':
        return 'must not lead to a link-local, multicast or reserved address';
      default:
        return kind satisfies never;
    }
  }

  function checkAddresses(scheme: Scheme, addresses: readonly LookupAddress[]): void {
    for (const { address } of addresses) {
      const rejection = findRejection(scheme, address);
      if (rejection !== undefined) throw new HttpClientError('ADDRESS_REFUSED', rejection);
    }
  }

  function findMistake(text: string): string | undefined {
    if (text.length > MAX_URL_LENGTH) return `must have at most ${MAX_URL_LENGTH} characters`;
    // The URL parser silently drops tabs and line ends, and turns backslashes into slashes.
    if (!/^[\x21-\x7e]+$/.test(text) || text.includes('\\'))
      return 'must be a URL without spaces or control characters';
    const url = URL.parse(text);
    if (url === null || !/^https?:\/\//i.test(text)) {
      return allowsAny ? 'must be an https or http URL' : 'must be an https URL';
    }
    if (url.protocol === 'http:' && !allowsAny) {
      return `must be an https URL (plain http only in a private network, with ${setting}=allow)`;
    }
    if (url.username !== '' || url.password !== '') return 'must not contain a user name or password';
    const host = getHost(url);
    return isIP(host) === 0 ? undefined : findRejection(url.protocol as Scheme, host);
  }

  function parse(text: string): ReturnType<UrlPolicy['parse']> {
    const mistake = findMistake(text);
    if (mistake !== undefined) throw new HttpClientError('ADDRESS_REFUSED', mistake);
    const url = new URL(text);
    return { url, scheme: url.protocol as Scheme };
  }

  return { findMistake, parse, checkAddresses };
}

/** Returns the host of a URL: an IPv6 address is without brackets. */
export function getHost(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1');
}
