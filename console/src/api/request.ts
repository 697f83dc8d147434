// HTTP client of the console: requests go below /console/api, with the session's cookie, which no script can read.
// After a 401 the page asks for a new session and the request is sent once more; after a transient error the page shows
// it and the request is retried.

import { ApiError, type ApiErrorFields } from './api-error.ts';
import { type Json, parseExact, stringifyExact } from './json.ts';
import { retryDelay, sleep } from './retry.ts';
import type { ApiRequest, ApiResponse } from './types.ts';
import { rewriteForUser, unwrapUserResponse } from './view-as.ts';

/** Base path of the console's API. */
export const CONSOLE_API = '/console/api';

/** State of the connection, for the banner. */
export type Connection = 'there' | 'lost';

interface Watch {
  /** Resolves when the user has signed in again after a 401. */
  signInAgain: () => Promise<void>;
  connection: (state: Connection) => void;
  /** Reports the error that a request waits for, or undefined when it stops waiting. */
  waiting: (one: ApiRequest, refusal: ApiError | undefined) => void;
}

const watch: Watch = {
  signInAgain: () => Promise.reject(new Error('no handler of sessions')),
  connection: () => undefined,
  waiting: () => undefined,
};

/** Sets how the shell signs in again and shows the connection. */
export function setRequestListeners(listeners: Partial<Watch>): void {
  Object.assign(watch, listeners);
}

/** Resolves when the user has signed in again. */
export const signInAgain = (): Promise<void> => watch.signInAgain();

/** Fetches records, with numbers as Digits. Throws ApiError, or the reason of the signal. */
export const requestExact = <T = Json>(ask: ApiRequest): Promise<ApiResponse<T>> => parseResponse<T>(ask, parseExact);

/** Fetches everything else, with plain numbers. Throws ApiError, or the reason of the signal. */
export const request = <T>(one: ApiRequest): Promise<ApiResponse<T>> => parseResponse<T>(one, JSON.parse);

async function parseResponse<T>(one: ApiRequest, parse: (text: string) => unknown): Promise<ApiResponse<T>> {
  const response = await send(one);
  const text = await readText(response);
  if (text === '')
    return {
      status: response.status,
      data: undefined as T,
      meta: {},
      etag: readEtag(response),
      headers: response.headers,
    };
  const { data, meta = {} } = parse(text) as { data: T; meta?: Record<string, unknown> };
  const plain = parse === JSON.parse ? meta : JSON.parse(stringifyExact(meta));
  return { status: response.status, data, meta: plain, etag: readEtag(response), headers: response.headers };
}

/** Returns a successful response, for streams and documents. Throws ApiError. */
export async function send(one: ApiRequest): Promise<Response> {
  try {
    for (let failures = 0; ; failures++) {
      const outgoing = rewriteForUser(one);
      const outer = await detectConnection(fetch(CONSOLE_API + outgoing.path, toRequestInit(outgoing)), one.signal);
      const response = outer.ok && outgoing !== one ? unwrapUserResponse(await readText(outer), outer.headers) : outer;
      if (response.ok) return response;
      const refusal = await readError(response);
      const pause = isRetryable(one, refusal) ? retryDelay(refusal, failures) : undefined;
      if (pause !== undefined) {
        watch.waiting(one, refusal);
        await sleep(pause, one.signal);
      } else if (refusal.status === 401 && one.signsInAgain !== false) await watch.signInAgain();
      else throw refusal;
      one.signal?.throwIfAborted();
    }
  } finally {
    watch.waiting(one, undefined);
  }
}

/**
 * A 429 has changed nothing, so any request can be retried; after a 503 the screen of a write says that it is not
 * saved.
 */
const isRetryable = ({ method = 'GET', waits }: ApiRequest, { status }: ApiError): boolean =>
  waits !== false && (status === 429 || method === 'GET');

function toRequestInit({ method = 'GET', body, content, headers = {}, signal }: ApiRequest): RequestInit {
  const type = content?.type ?? (method === 'GET' ? undefined : 'application/json');
  return {
    method,
    credentials: 'same-origin',
    cache: 'no-store',
    headers: {
      // Required on every request: over plain http nothing else proves that the page sent it.
      'X-Console': '1',
      ...(type === undefined ? {} : { 'Content-Type': type }),
      ...headers,
    },
    body: content?.bytes ?? (body === undefined ? null : stringifyExact(body)),
    signal: signal ?? null,
  };
}

/** Reports the state of the connection; `fetch` and its bodies fail with a TypeError when the network does. */
async function detectConnection<T>(answer: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  try {
    const value = await answer;
    watch.connection('there');
    return value;
  } catch (thrown) {
    if (signal?.aborted) throw signal.reason;
    if (!(thrown instanceof TypeError)) throw thrown;
    watch.connection('lost');
    throw new ApiError('The server cannot be reached', { status: 0, code: 'UNREACHABLE' });
  }
}

const readText = (response: Response): Promise<string> => detectConnection(response.text(), undefined);
const readEtag = (response: Response): string | undefined => response.headers.get('ETag') ?? undefined;

interface ErrorBody extends Partial<ApiErrorFields> {
  readonly error?: Partial<ApiErrorFields> & { readonly message?: string };
}

/** Parses an error response. */
export async function readError(response: Response): Promise<ApiError> {
  const { status, headers } = response;
  const fromHeaders = {
    requestId: headers.get('X-Request-Id') ?? undefined,
    retryAfterSeconds: Number(headers.get('Retry-After')) || undefined,
  };
  const text = await readText(response);
  try {
    const { error, ...rest } = JSON.parse(text) as ErrorBody;
    if (error?.message !== undefined)
      return new ApiError(error.message, { ...fromHeaders, code: 'UNKNOWN', ...rest, ...error, status });
  } catch {}
  return new ApiError(`The server answered ${status} without a reason`, { ...fromHeaders, status, code: 'NO_API' });
}
