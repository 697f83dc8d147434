// Caches key sets of identity providers: located by URI or by discovery (OpenID Connect Discovery 1.0), and refetched
// no more often than the rules below allow, whatever tokens arrive. An outage of a provider, or of the network, does
// not affect users whose key is cached.
import { LRUCache } from 'lru-cache';
import { HttpClientError } from '../http-client/errors.ts';
import type { Contact, HttpClient } from '../http-client/http-client.ts';
import type { Metric } from '../metric.ts';
import type { IdentityProvider } from '../model/workspace.ts';
import { parseKeySet, type VerificationKey } from './jwk.ts';

/** Location of the keys of a provider. */
export type KeySource = Pick<IdentityProvider, 'issuerUrl' | 'jwksUri'>;

/** Keys as published at one moment; a changed set is another object. */
export interface KeySet {
  /** Unique in this process. */
  readonly id: number;
  readonly keys: readonly VerificationKey[];
}

export interface KeySets {
  /** Returns the cached keys, or fetches them if there are none. Throws HttpClientError. */
  getCurrent(source: KeySource): Promise<KeySet>;
  /**
   * Refetches the key set, unless `previous` is outdated already or the rules below forbid it. Returns undefined if
   * there is no newer one.
   */
  fetchNewer(source: KeySource, previous: KeySet): Promise<KeySet | undefined>;
  size(): number;
}

export interface KeySetOptions {
  readonly outbound: HttpClient;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  readonly onError: (source: KeySource, error: HttpClientError) => void;
}

const MAX_SETS = 1000;
const REFRESH_AFTER_MS = 10 * 60_000;
// After a time without tokens the keys may be hours old: the first token waits for a refetch, unless the last fetch
// failed.
const WAIT_AFTER_MS = 15 * 60_000;
const USELESS_AFTER_MS = 24 * 3_600_000;
// Tokens with unknown keys cause one fetch in this time, however many they are.
const UNKNOWN_EVERY_MS = 30_000;
// After failures: 10, 20, 30, 30 … s. Requests do not wait for the network in between.
const RETRY_AFTER_MS = 10_000;
const MAX_RETRY_AFTER_MS = 30_000;
const FETCH_TIMEOUT_MS = 5000;

interface Entry {
  readonly source: KeySource;
  set: KeySet | undefined;
  /** JSON text of the set. */
  text: string;
  fetchedAt: number;
  failures: number;
  retryAt: number;
  failure: HttpClientError | undefined;
  /** Time of the last fetch for a token with an unknown key. */
  unknownAt: number;
  running: Promise<void> | undefined;
}

export function makeKeySets({ outbound, now, onError }: KeySetOptions): KeySets {
  const entries = new LRUCache<string, Entry>({ max: MAX_SETS });
  let lastId = 0;

  function getEntry(source: KeySource): Entry {
    const key = JSON.stringify([source.issuerUrl, source.jwksUri]);
    let entry = entries.get(key);
    if (entry === undefined) {
      entry = {
        source: { issuerUrl: source.issuerUrl, jwksUri: source.jwksUri },
        set: undefined,
        text: '',
        fetchedAt: Number.NEGATIVE_INFINITY,
        failures: 0,
        retryAt: Number.NEGATIVE_INFINITY,
        failure: undefined,
        unknownAt: Number.NEGATIVE_INFINITY,
        running: undefined,
      };
      entries.set(key, entry);
    }
    return entry;
  }

  /** Fetches the key set, once at a time; resolves with the outcome in the entry. */
  function refresh(entry: Entry): Promise<void> {
    entry.running ??= fetchKeySet(outbound, entry.source)
      .then(
        ({ keys, text }) => {
          if (entry.set === undefined || entry.text !== text) entry.set = { id: ++lastId, keys };
          entry.text = text;
          entry.fetchedAt = now();
          entry.failures = 0;
          entry.retryAt = Number.NEGATIVE_INFINITY;
        },
        (error: unknown) => {
          entry.failures++;
          entry.retryAt = now() + Math.min(RETRY_AFTER_MS * entry.failures, MAX_RETRY_AFTER_MS);
          entry.failure =
            error instanceof HttpClientError ? error : new HttpClientError('CONNECTION_FAILED', String(error), error);
          onError(entry.source, entry.failure);
        },
      )
      .finally(() => {
        entry.running = undefined;
      });
    return entry.running;
  }

  return {
    async getCurrent(source) {
      const entry = getEntry(source);
      const age = now() - entry.fetchedAt;
      if (age > USELESS_AFTER_MS) entry.set = undefined;
      const mayFetch = now() >= entry.retryAt;
      if (entry.set !== undefined) {
        if (age > WAIT_AFTER_MS && entry.failures === 0) await refresh(entry);
        else if (age > REFRESH_AFTER_MS && mayFetch) void refresh(entry);
        return entry.set;
      }
      if (mayFetch) await refresh(entry);
      if (entry.set === undefined) throw entry.failure as HttpClientError;
      return entry.set;
    },
    async fetchNewer(source, previous) {
      const entry = getEntry(source);
      if (entry.set === previous) {
        if (entry.running === undefined) {
          if (now() - entry.unknownAt < UNKNOWN_EVERY_MS) return undefined;
          entry.unknownAt = now();
        }
        await refresh(entry);
      }
      return entry.set === previous ? undefined : entry.set;
    },
    size: () => entries.size,
  };
}

/** Fetches the published keys, in 5 s at most. Throws HttpClientError, its message naming the URL. */
export async function fetchKeySet(
  outbound: HttpClient,
  source: KeySource,
  contact: Contact = { isPrivate: false },
): Promise<{ readonly keys: readonly VerificationKey[]; readonly text: string }> {
  const signal = AbortSignal.timeout(FETCH_TIMEOUT_MS);
  const uri = source.jwksUri ?? (await discover(outbound, source.issuerUrl, signal, contact));
  const document = await fetchDocument(outbound, uri, signal, contact);
  const keys = parseKeySet(document);
  if (keys === undefined)
    throw new HttpClientError('BAD_RESPONSE', `${uri.split('?')[0]} answered a document that is no JWK Set`);
  return { keys, text: JSON.stringify(document) };
}

/** Builds the URL of the provider's metadata (OpenID Connect Discovery 1.0 section 4). */
export function buildDiscoveryUrl(issuerUrl: string): string {
  return `${issuerUrl.replace(/\/$/, '')}/.well-known/openid-configuration`;
}

/** Fetches the provider's metadata, which must be those of this issuer. Throws HttpClientError, its message naming the URL. */
export async function fetchMetadata(
  outbound: HttpClient,
  issuerUrl: string,
  signal: AbortSignal,
  contact: Contact,
): Promise<unknown> {
  const url = buildDiscoveryUrl(issuerUrl);
  const document = await fetchDocument(outbound, url, signal, contact);
  const { issuer } = (document ?? {}) as { issuer?: unknown };
  if (issuer !== issuerUrl) {
    const actualIssuer = typeof issuer === 'string' ? JSON.stringify(issuer.slice(0, 200)) : 'missing';
    throw new HttpClientError(
      'BAD_RESPONSE',
      `${url}: its issuer is ${actualIssuer}, not ${JSON.stringify(issuerUrl)}`,
    );
  }
  return document;
}

async function discover(
  outbound: HttpClient,
  issuerUrl: string,
  signal: AbortSignal,
  contact: Contact,
): Promise<string> {
  const { jwks_uri: jwksUri } = (await fetchMetadata(outbound, issuerUrl, signal, contact)) as { jwks_uri?: unknown };
  if (typeof jwksUri === 'string') return jwksUri;
  throw new HttpClientError('BAD_RESPONSE', `${buildDiscoveryUrl(issuerUrl)}: it has no jwks_uri`);
}

async function fetchDocument(
  outbound: HttpClient,
  url: string,
  signal: AbortSignal,
  contact: Contact,
): Promise<unknown> {
  try {
    return await outbound.fetchJson(url, signal, contact);
  } catch (error) {
    if (!(error instanceof HttpClientError)) throw error;
    throw new HttpClientError(error.code, `${url.split('?')[0]?.slice(0, 200)} ${error.message}`, error);
  }
}

export const buildKeySetMetrics = ({ size }: Pick<KeySets, 'size'>): readonly Metric[] => [
  { name: 'wda_cached_key_sets', help: 'Key sets of identity providers in memory', read: size },
];
