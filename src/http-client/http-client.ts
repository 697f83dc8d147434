// Opens all connections to configured URLs: JSON documents of identity providers, and messages of webhooks. The address is
// checked when the connection is made, so that neither a name that resolves differently the second time nor a redirect leads
// inside (SSRF). The only importer of undici.
import { type LookupAddress, type LookupOptions, lookup as systemLookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import type { Agent } from 'undici';
import { HttpClientError, MAX_DOCUMENT_BYTES, toHttpClientError, tooLarge } from './errors.ts';
import { addressKind } from './ip-address.ts';
import { getHost, makeUrlPolicy, type PrivateNetwork, type Scheme, type UrlPolicy } from './url-policy.ts';

export interface HttpClient {
  readonly findMistake: UrlPolicy['findMistake'];
  /** Resolves the URL's host and checks its addresses without connecting. Throws HttpClientError. */
  resolve(url: string, signal: AbortSignal): Promise<void>;
  /** Fetches a JSON document by GET, at most MAX_DOCUMENT_BYTES, no redirects. Throws HttpClientError. Sets the fields of `contact`. */
  fetchJson(url: string, signal: AbortSignal, contact?: Contact): Promise<unknown>;
  /** Sends a request under the same limits, and returns its answer whatever the status is. Throws HttpClientError. */
  fetch(url: string, options: FetchOptions): Promise<Response>;
  /**
   * Sends a body by POST; no redirects. Resolves whatever the status is, also when the body of the answer does not come.
   * Throws HttpClientError, and the reason of the signal when it has ended the request.
   */
  post(url: string, options: PostOptions): Promise<PostAnswer>;
  close(): Promise<void>;
}

export interface PostOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Milliseconds from the begin of the connection to the last header. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

export interface FetchOptions {
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | null;
  readonly signal: AbortSignal | null;
}

export interface PostAnswer {
  readonly status: number;
  readonly retryAfter: string | undefined;
  /** First bytes of the body, KEPT_BYTES at most. */
  readonly body: Buffer;
  readonly isPrivate: boolean;
}

/** Facts about the addresses that a fetch connected to. */
export interface Contact {
  /** True for a loopback or private address, whose answers must not be shown to every user who may configure a URL. */
  isPrivate: boolean;
}

export type Lookup = (
  hostname: string,
  options: LookupOptions & { readonly all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

export interface HttpClientOptions extends PrivateNetwork {
  readonly lookup?: Lookup;
}

const CONNECT_TIMEOUT_MS = 3000;
// Answers to a POST: bytes that are read, bytes that are kept, and the time for them.
const MAX_ANSWER_BYTES = 65_536;
export const KEPT_BYTES = 2048;
const ANSWER_TIMEOUT_MS = 5000;
// A connection to a receiver is used again for this time; then the address is checked again.
const MAX_CONNECTION_MS = 30_000;
const IDLE_CONNECTION_MS = 4000;
// Names whose addresses are remembered.
const MAX_CONTACTS = 10_000;

export function makeHttpClient({ lookup = systemLookup, ...options }: HttpClientOptions): HttpClient {
  const { findMistake, parse, checkAddresses } = makeUrlPolicy(options);
  const guardedLookup =
    (scheme: Scheme, findContact: (hostname: string) => Contact): LookupFunction =>
    (hostname, options, callback) => {
      lookup(hostname, { ...options, all: true }, (error, addresses) => {
        if (error !== null) return callback(error, '', 0);
        const first = addresses[0];
        const contact = findContact(hostname);
        contact.isPrivate ||= addresses.some(({ address }) => addressKind(address) === 'private');
        try {
          checkAddresses(scheme, addresses);
        } catch (rejection) {
          return callback(rejection as NodeJS.ErrnoException, '', 0);
        }
        if (first === undefined) return callback(new HttpClientError('DNS_FAILED', 'has no address'), '', 0);
        // Node.js requests all of them and tries one after the other; the types know the other form only.
        if (options.all) (callback as unknown as (error: null, all: LookupAddress[]) => void)(null, addresses);
        else callback(null, first.address, first.family);
      });
    };

  // Requests for documents are rare: each has an agent of its own, so that no connection outlives the check of its address.
  const agents = new Set<Agent>();
  const receivers = makeReceivers((scheme, findContact) => guardedLookup(scheme, findContact), agents);
  const agentOptions = (scheme: Scheme, contact: Contact): Agent.Options => ({
    connect: { lookup: guardedLookup(scheme, () => contact), timeout: CONNECT_TIMEOUT_MS },
    headersTimeout: CONNECT_TIMEOUT_MS,
    bodyTimeout: CONNECT_TIMEOUT_MS,
    maxResponseSize: MAX_DOCUMENT_BYTES,
    pipelining: 0,
    // One request for each connection has no use for HTTP/2, and its frames are not limited by the sizes above.
    allowH2: false,
  });

  /** Sends a request for a document. Throws HttpClientError, also for another status than 200 unless `takesAny`. */
  async function requestDocument(
    text: string,
    options: FetchOptions,
    contact: Contact,
    takesAny = false,
  ): Promise<{ readonly status: number; readonly type: string; readonly bytes: Buffer }> {
    const { url, scheme } = parse(text);
    const host = getHost(url);
    // An address is not looked up, so it is checked here.
    contact.isPrivate ||= isIP(host) !== 0 && addressKind(host) === 'private';
    // Loaded on demand: many servers have no identity provider, and undici has 110 modules of 1.3 MB.
    const { Agent, request } = await import('undici');
    const agent = new Agent(agentOptions(scheme, contact));
    agents.add(agent);
    try {
      const response = await request(url, {
        ...options,
        dispatcher: agent,
        headers: { accept: 'application/json', 'accept-encoding': 'identity', ...options.headers },
      });
      const { statusCode } = response;
      if (statusCode !== 200 && !takesAny) {
        response.body.on('error', () => undefined).destroy();
        const redirected = statusCode >= 300 && statusCode < 400 ? ', and redirects are not followed' : '';
        throw new HttpClientError('BAD_RESPONSE', `answered ${statusCode}${redirected}`);
      }
      const chunks: Buffer[] = [];
      let size = 0;
      for await (const chunk of response.body) {
        size += (chunk as Buffer).length;
        if (size > MAX_DOCUMENT_BYTES) throw tooLarge();
        chunks.push(chunk as Buffer);
      }
      const type = String(response.headers['content-type']);
      return { status: statusCode, type, bytes: Buffer.concat(chunks) };
    } catch (error) {
      throw toHttpClientError(error);
    } finally {
      agents.delete(agent);
      agent.destroy().catch(() => undefined);
    }
  }

  return {
    findMistake,
    async resolve(text, signal) {
      const { url, scheme } = parse(text);
      const host = getHost(url);
      if (isIP(host) !== 0) return;
      const addresses = await new Promise<LookupAddress[]>((resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
        lookup(host, { all: true }, (error, results) => (error === null ? resolve(results) : reject(error)));
      }).catch((error) => {
        throw toHttpClientError(error);
      });
      checkAddresses(scheme, addresses);
    },
    async fetchJson(text, signal, contact = { isPrivate: false }) {
      return parseJson((await requestDocument(text, { method: 'GET', headers: {}, signal }, contact)).bytes);
    },
    async fetch(text, options) {
      const { status, type, bytes } = await requestDocument(text, options, { isPrivate: false }, true);
      return new Response(bytes.length === 0 ? null : bytes, { status, headers: { 'content-type': type } });
    },
    post: makePost(parse, receivers),
    async close() {
      await Promise.all([...agents].map((agent) => agent.destroy()));
    },
  };
}

/** Makes the function that sends messages to receivers. */
function makePost(parse: UrlPolicy['parse'], receivers: ReturnType<typeof makeReceivers>): HttpClient['post'] {
  return async (text, { headers, body, timeoutMs, signal }) => {
    const { url, scheme } = parse(text);
    const host = getHost(url);
    const { request } = await import('undici');
    const ending = new AbortController();
    const end = (): void => ending.abort(signal?.reason);
    signal?.addEventListener('abort', end);
    if (signal?.aborted) end();
    const endLate = (): void => ending.abort(new HttpClientError('TIMEOUT', 'did not answer in time'));
    let timer = setTimeout(endLate, timeoutMs);
    try {
      const response = await request(url, {
        method: 'POST',
        dispatcher: await receivers.getAgent(scheme),
        signal: ending.signal,
        headers,
        body,
      });
      clearTimeout(timer);
      timer = setTimeout(endLate, ANSWER_TIMEOUT_MS);
      const retryAfter = response.headers['retry-after'];
      return {
        status: response.statusCode,
        retryAfter: typeof retryAfter === 'string' ? retryAfter : undefined,
        body: await readStart(response.body),
        // An address is not looked up.
        isPrivate: isIP(host) === 0 ? receivers.isPrivate(host) : addressKind(host) === 'private',
      };
    } catch (error) {
      throw signal?.aborted ? signal.reason : toHttpClientError(error);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
    }
  };
}

/** Makes the agents for receivers of messages, whose connections are used again, and remembers which names were private. */
function makeReceivers(
  makeLookup: (scheme: Scheme, findContact: (hostname: string) => Contact) => LookupFunction,
  agents: Set<Agent>,
) {
  const contacts = new Map<string, Contact>();
  const byScheme = new Map<Scheme, Promise<Agent>>();

  function findContact(hostname: string): Contact {
    const contact = contacts.get(hostname) ?? { isPrivate: false };
    contacts.delete(hostname);
    contacts.set(hostname, contact);
    const [oldest] = contacts.keys();
    if (contacts.size > MAX_CONTACTS && oldest !== undefined) contacts.delete(oldest);
    return contact;
  }

  async function openAgent(scheme: Scheme): Promise<Agent> {
    const { Agent } = await import('undici');
    const agent = new Agent({
      // The time of a request limits the rest, too.
      connect: { lookup: makeLookup(scheme, findContact), timeout: 0 },
      headersTimeout: 0,
      bodyTimeout: 0,
      clientTtl: MAX_CONNECTION_MS,
      keepAliveTimeout: IDLE_CONNECTION_MS,
      keepAliveMaxTimeout: MAX_CONNECTION_MS,
      allowH2: false,
    });
    agents.add(agent);
    return agent;
  }

  return {
    getAgent(scheme: Scheme): Promise<Agent> {
      const agent = byScheme.get(scheme) ?? openAgent(scheme);
      byScheme.set(scheme, agent);
      return agent;
    },
    /** A name that is not remembered may be private. */
    isPrivate: (hostname: string): boolean => contacts.get(hostname)?.isPrivate ?? true,
  };
}

/** Reads the body of an answer and throws it away but for its first bytes; what does not come, or is too long, is not read. */
async function readStart(body: AsyncIterable<unknown> & { destroy: () => unknown }): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of body) {
      const bytes = chunk as Buffer;
      if (size < KEPT_BYTES) chunks.push(bytes.subarray(0, KEPT_BYTES - size));
      size += bytes.length;
      if (size > MAX_ANSWER_BYTES) break;
    }
  } catch {
    // The status has come, and it alone counts.
  }
  return Buffer.concat(chunks);
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new HttpClientError('BAD_RESPONSE', 'answered something that is not JSON', cause);
  }
}
