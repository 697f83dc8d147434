// HTTP client of the command line, for one server and one credential. Returns the `data` of a response, or throws the failure
// of an error response. Bodies stream both ways.
//
// Uses node:http rather than fetch: fetch fails when the headers of a response take longer than 300 s (undici's headersTimeout,
// which Node offers no way to change), and a large import is checked and stored before it is answered.
import type { IncomingMessage } from 'node:http';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { Readable } from 'node:stream';
import { parseExact } from '../model/exact-json.ts';
import {
  CommandFailure,
  runtimeFailure,
  type ServerError,
  serverFailure,
  unreachableFailure,
  usageFailure,
} from './failure.ts';

export const ADMIN_PREFIX = '/api/admin/v1';

/** Query parameters in order; names may repeat, and undefined values are left out. */
export type Query = readonly (readonly [string, string | number | boolean | undefined])[];

export interface ApiResponse<T = unknown> {
  readonly status: number;
  /** `data` of the envelope, or null for an empty body. */
  readonly data: T;
  readonly meta: unknown;
  /** Location header. */
  readonly location: string | null;
  /** ETag header with its quotes. */
  readonly tag: string | null;
}

export interface AdminClient {
  readonly url: string;
  /** Sends one request with an optional JSON body; `ifMatch`: If-Match header; `signal` ends it with an unreachable failure. */
  readonly send: <T>(
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    path: string,
    parts?: { query?: Query; body?: unknown; ifMatch?: string | undefined; signal?: AbortSignal },
  ) => Promise<ApiResponse<T>>;
  /** Reads all pages of a list. */
  readonly readAll: <T>(path: string) => Promise<readonly T[]>;
  /** Streams a request body; the chunks are read only as fast as the server takes them. */
  readonly upload: <T>(
    path: string,
    query: Query,
    contentType: string,
    body: AsyncIterable<Uint8Array>,
  ) => Promise<ApiResponse<T>>;
  /** Streams a request body; returns the response, whose body is a file. */
  readonly uploadForFile: (
    path: string,
    query: Query,
    contentType: string,
    body: AsyncIterable<Uint8Array>,
  ) => Promise<IncomingMessage>;
  /** Streams a response body. It ends with an error, never early, when the connection breaks. */
  readonly download: (path: string, query: Query, accept: string) => Promise<Readable>;
}

/** Creates a client for `url` (http or https, a path prefix is kept); throws a usage failure for anything else. */
export function makeAdminClient(url: string, key: string | undefined): AdminClient {
  const base = parseBase(url);

  const address = (path: string, query: Query = []): URL => {
    const target = new URL(base.href.replace(/\/+$/, '') + path);
    for (const [name, value] of query) if (value !== undefined) target.searchParams.append(name, String(value));
    return target;
  };
  const headers = (more: Readonly<Record<string, string>>): Record<string, string> => ({
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    accept: 'application/json',
    ...more,
  });

  const send: AdminClient['send'] = async (method, path, { query, body, ifMatch, signal } = {}) => {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const more = headers({
      ...(text === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) }),
      ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
    });
    return readResponse(await follow(method, address(path, query), more, text, signal));
  };

  const readAll: AdminClient['readAll'] = async <T>(path: string) => {
    const items: T[] = [];
    for (let page = 0; ; page++) {
      const { data, meta } = await send<readonly T[]>('GET', path, { query: [['page', page]] });
      if (!Array.isArray(data)) throw runtimeFailure(`The answer to GET ${path} is not a list`);
      items.push(...data);
      const pages = (meta as { totalPages?: unknown } | null)?.totalPages;
      if (typeof pages !== 'number' || page + 1 >= pages) return items;
    }
  };

  const upload: AdminClient['upload'] = async (path, query, contentType, body) =>
    readResponse(await exchange('POST', address(path, query), headers({ 'content-type': contentType }), body));

  const uploadForFile: AdminClient['uploadForFile'] = async (path, query, contentType, body) => {
    const accept = `${contentType}, application/json;q=0.5`;
    return requireFile(
      await exchange('POST', address(path, query), headers({ 'content-type': contentType, accept }), body),
    );
  };

  const download: AdminClient['download'] = async (path, query, accept) => {
    const more = headers({ accept: `${accept}, application/json;q=0.5` });
    return requireFile(await follow('GET', address(path, query), more, undefined));
  };

  return { url: base.href.replace(/\/+$/, ''), send, readAll, upload, uploadForFile, download };
}

/** Returns a response with a file; throws the failure of any other one. */
async function requireFile(response: IncomingMessage): Promise<IncomingMessage> {
  if (response.statusCode === 200) return response;
  await readResponse(response);
  throw runtimeFailure(`The server answered ${response.statusCode} where 200 was expected`);
}

/** Parses the URL of a server; throws a usage failure for an invalid one. */
export function parseBase(url: string): URL {
  const base = URL.parse(url);
  if (base === null || !/^https?:$/.test(base.protocol))
    throw usageFailure(`The server's address must be an http or https URL, not ${url}`, [
      'Example: http://localhost:3000',
    ]);
  if (base.username !== '' || base.search !== '' || base.hash !== '')
    throw usageFailure(
      "The server's address takes no user name, query or fragment; the credential goes into WDA_KEY or --key",
    );
  return base;
}

/** Sends one request; rejects with an `unreachable` failure without a response. */
function exchange(
  method: string,
  url: URL,
  headers: Record<string, string>,
  body: string | AsyncIterable<Uint8Array> | undefined,
  signal?: AbortSignal,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const outgoing = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, { method, headers, signal });
    outgoing.on('error', (error) => reject(error instanceof CommandFailure ? error : connectionFailure(url, error)));
    if (body === undefined || typeof body === 'string') {
      outgoing.on('response', resolve);
      outgoing.end(body);
      return;
    }
    const source = Readable.from(body, { objectMode: false });
    source.on('error', (error) =>
      outgoing.destroy(error instanceof CommandFailure ? error : runtimeFailure(error.message, undefined, error)),
    );
    outgoing.on('close', () => source.destroy());
    // A response before the end of the body is an error: the rest need not be read or sent.
    outgoing.on('response', (response) => {
      if (!source.readableEnded) {
        source.unpipe(outgoing);
        source.destroy();
        response.on('close', () => outgoing.destroy());
      }
      resolve(response);
    });
    source.pipe(outgoing);
  });
}

/** Sends a request whose body can be sent again, and follows the redirect of a workspace that was renamed, on the same server. */
async function follow(
  method: string,
  url: URL,
  headers: Record<string, string>,
  body: string | undefined,
  signal?: AbortSignal,
): Promise<IncomingMessage> {
  const response = await exchange(method, url, headers, body, signal);
  const target = response.statusCode === 308 ? URL.parse(response.headers.location ?? '', url) : null;
  if (target === null || target.origin !== url.origin) return response;
  response.resume();
  return exchange(method, target, headers, body, signal);
}

function connectionFailure(url: URL, error: Error & { readonly code?: string }): CommandFailure {
  const reasons: Readonly<Record<string, string>> = {
    ECONNREFUSED: 'nothing listens there',
    ENOTFOUND: 'there is no host of that name',
    EAI_AGAIN: 'the name of the host cannot be resolved at the moment',
    ECONNRESET: 'the connection was closed before the answer came',
    EPIPE: 'the connection was closed before the answer came',
    ETIMEDOUT: 'the connection timed out',
  };
  const code = error.code ?? '';
  return unreachableFailure(
    `The server at ${url.origin} is not reachable: ${reasons[code] ?? (error.message || code)}`,
    error,
  );
}

async function readResponse<T>(response: IncomingMessage): Promise<ApiResponse<T>> {
  const status = response.statusCode ?? 0;
  const text = await readText(response);
  const requestId = headerText(response.headers['x-request-id']);
  const document = text === '' ? null : parseDocument(text);
  if (status >= 200 && status < 300) {
    if (document === undefined)
      throw runtimeFailure(
        `The server answered ${status} with something that is not JSON: is it a Workspace Data API?`,
      );
    const envelope = document as { data?: unknown; meta?: unknown } | null;
    return {
      status,
      data: (envelope?.data ?? null) as T,
      meta: envelope?.meta ?? null,
      location: headerText(response.headers.location),
      tag: headerText(response.headers.etag),
    };
  }
  const error = (document as { error?: Partial<ServerError> } | null | undefined)?.error;
  if (typeof error?.code !== 'string' || typeof error.message !== 'string')
    throw serverFailure(
      status,
      { code: 'UNKNOWN', message: `The server answered ${status} without an error document` },
      requestId,
    );
  throw serverFailure(status, error as ServerError, requestId, HINTS[error.code]);
}

const HINTS: Readonly<Record<string, readonly string[]>> = {
  UNAUTHORIZED: ['Check WDA_KEY, WDA_ADMIN_KEY or --key, and that the key belongs to the workspace named with -w.'],
  FOLLOWS_SHARED_SCHEMA: [
    'By this command line: wda schema publish <file> --as <org/schema>, or wda workspace unfollow <org/workspace>',
  ],
  DESTRUCTIVE_CHANGE: ['By this command line: the same command with --allow-destructive'],
  CHANGES_OFF: ['By this command line: wda changes set <entity> --keep feed, or --keep history'],
};

async function readText(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of response) chunks.push(chunk as Buffer);
  } catch (error) {
    throw unreachableFailure('The connection was lost in the middle of the answer', error);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Parses JSON; returns undefined for any other text. */
function parseDocument(text: string): unknown {
  try {
    return parseExact(text);
  } catch {
    return undefined;
  }
}

const headerText = (value: string | string[] | undefined): string | null => (typeof value === 'string' ? value : null);

/** Returns the number of all entries of a list, from the `meta` of a page. */
export const totalElements = (meta: unknown): number => Number((meta as { totalElements: unknown }).totalElements);
