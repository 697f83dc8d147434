// Inspects the configuration of an identity provider: returns mistakes in its URLs, and as warnings the current
// problems of the provider, which may be temporary.

import { HttpClientError } from '../http-client/errors.ts';
import type { Contact, HttpClient } from '../http-client/http-client.ts';
import { fetchKeySet, type KeySource } from './key-set.ts';

export interface Inspection {
  readonly mistakes: readonly UrlMistake[];
  /** Sentences for the administrator. */
  readonly warnings: readonly string[];
  /** Whether the warnings describe a private network, which only the operator of the server may see. */
  readonly isPrivate: boolean;
}

/** Replacement of such warnings for everyone else. */
export const PRIVATE_WARNING =
  'No token can be verified at the moment. The provider is in a private network: the log of the server says what is wrong';

export interface UrlMistake {
  readonly field: 'issuerUrl' | 'jwksUri';
  readonly message: string;
}

const RESOLVE_TIMEOUT_MS = 3000;

/** Inspects a provider. `ownIssuer`: issuer of internal tokens, which no provider may use. */
export async function inspectProvider(outbound: HttpClient, ownIssuer: string, source: KeySource): Promise<Inspection> {
  const urlMistakes = findUrlMistakes(outbound, ownIssuer, source);
  if (urlMistakes.length > 0) return { mistakes: urlMistakes, warnings: [], isPrivate: false };
  const mistakes = await findAddressMistakes(outbound, source);
  if (mistakes.length > 0) return { mistakes, warnings: [], isPrivate: false };
  const contact: Contact = { isPrivate: false };
  try {
    const { keys } = await fetchKeySet(outbound, source, contact);
    const warnings =
      keys.length > 0 ? [] : ['The key set has no RSA key of 2048 bits or more and no P-256, P-384 or P-521 key'];
    return { mistakes, warnings, isPrivate: contact.isPrivate };
  } catch (error) {
    if (!(error instanceof HttpClientError)) throw error;
    const warning = `No token can be verified at the moment: ${error.message}`;
    return { mistakes, warnings: [warning], isPrivate: contact.isPrivate };
  }
}

/** Finds URLs that no provider can have, without asking the network. */
export const findUrlMistakes = (outbound: HttpClient, ownIssuer: string, source: KeySource): readonly UrlMistake[] => [
  ...findIssuerMistakes(outbound, ownIssuer, source.issuerUrl),
  ...findUriMistakes(outbound, source),
];

function findIssuerMistakes(outbound: HttpClient, ownIssuer: string, issuerUrl: string): UrlMistake[] {
  const message = outbound.findMistake(issuerUrl) ?? findIssuerMistake(ownIssuer, new URL(issuerUrl));
  return message === undefined ? [] : [{ field: 'issuerUrl', message }];
}

function findIssuerMistake(ownIssuer: string, url: URL): string | undefined {
  // OpenID Connect Discovery 1.0 section 3.
  if (/[?#]/.test(url.href)) return 'must not have a query or a fragment';
  if (trimSlash(url.href) !== trimSlash(new URL(ownIssuer).href)) return undefined;
  return 'must not be this server: its own tokens need no identity provider';
}

function findUriMistakes(outbound: HttpClient, { jwksUri }: KeySource): UrlMistake[] {
  const message = jwksUri === null ? undefined : outbound.findMistake(jwksUri);
  return message === undefined ? [] : [{ field: 'jwksUri', message }];
}

/** Finds forbidden addresses. A name that does not resolve now is no mistake: each connection checks it again. */
async function findAddressMistakes(outbound: HttpClient, { issuerUrl, jwksUri }: KeySource): Promise<UrlMistake[]> {
  const signal = AbortSignal.timeout(RESOLVE_TIMEOUT_MS);
  const checkAddress = async (field: UrlMistake['field'], url: string): Promise<UrlMistake[]> => {
    try {
      await outbound.resolve(url, signal);
      return [];
    } catch (error) {
      if (!(error instanceof HttpClientError)) throw error;
      return error.kind === 'refused' ? [{ field, message: error.message }] : [];
    }
  };
  const mistakes = await Promise.all([
    checkAddress('issuerUrl', issuerUrl),
    jwksUri === null ? [] : checkAddress('jwksUri', jwksUri),
  ]);
  return mistakes.flat();
}

const trimSlash = (href: string): string => href.replace(/\/+$/, '');
