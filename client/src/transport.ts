// Sends HTTP requests: adds the credential, retries after the delay that the server requests, and throws error responses.
import { isWdaError, type Refusal, WdaError } from './error.ts';
import { parseJson } from './json.ts';

/** Argument of a credential function. */
export interface CredentialContext {
  /** URL of the server, without a slash at its end. */
  readonly url: string;
  /** Previous credential, if the server has just rejected it (401). */
  readonly refused: string | undefined;
  readonly fetch: typeof fetch;
}

/** API key, token or function that returns one; it is called for each request, and once more after a 401. */
export type Credential = string | ((context: CredentialContext) => string | Promise<string>);

export interface ClientOptions {
  /** URL of the server, such as `https://data.example.com`; a path prefix is kept. */
  readonly url: string;
  /** Workspace as `organization/workspace`. */
  readonly workspace: string;
  readonly credential: Credential;
  /** Number of retries of a repeatable request; 2 by default. */
  readonly retries?: number;
  /** Replacement for the global `fetch`. */
  readonly fetch?: typeof fetch;
}

/** Options of every call. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Number of retries in place of the client's. */
  readonly retries?: number | undefined;
}

/** Body of a request. */
export type Content = string | Blob | Uint8Array | ReadableStream<Uint8Array>;

export interface Outgoing extends CallOptions {
  readonly method: string;
  /** Path below the URL of the server, with the query string. */
  readonly path: string;
  readonly headers?: readonly [string, string][];
  readonly body?: Content | undefined;
  /** Whether sending the request twice has the effect of once. */
  readonly isRepeatable: boolean;
}

const MOST_SECONDS = 30;

/** Sends a request; returns the result of `read` for a successful response. Throws WdaError or the reason of `signal`. */
export type Send = <T>(outgoing: Outgoing, read: (response: Response) => Promise<T>) => Promise<T>;

export function makeSend(options: ClientOptions): Send {
  const { credential, fetch: ask = globalThis.fetch } = options;
  const url = options.url.replace(/\/+$/, '');
  return async (outgoing, read) => {
    const { method, headers = [], body, signal, isRepeatable } = outgoing;
    const isStream = body instanceof ReadableStream;
    const most = outgoing.retries ?? options.retries ?? 2;
    let refused: string | undefined;
    for (let retries = 0; ; ) {
      let token: string | undefined;
      try {
        token = typeof credential === 'string' ? credential : await credential({ url, refused, fetch: ask });
        const init = { method, headers: [...headers, ['Authorization', `Bearer ${token}`]], body, signal };
        const response = await reached(
          ask(url + outgoing.path, (isStream ? { ...init, ...STREAM } : init) as RequestInit),
        );
        if (!response.ok) throw await reached(parseError(response));
        return await reached(read(response));
      } catch (error) {
        if (signal?.aborted) throw signal.reason;
        if (!isWdaError(error) || isStream) throw error;
        if (error.status === 401 && typeof credential === 'function' && refused === undefined) refused = token ?? '';
        else if (retries < most && canRetry(error, isRepeatable)) await pause(toDelay(error, retries++), signal);
        else throw error;
      }
    }
  };
}

// Node.js and browsers require this option to stream a body.
const STREAM = { duplex: 'half' };

/** Converts network failures, for which `fetch` and its bodies throw a TypeError, to a WdaError. */
export const reached = <T>(answer: Promise<T>): Promise<T> =>
  answer.catch((thrown) => {
    if (!(thrown instanceof TypeError)) throw thrown;
    throw new WdaError(`No answer came: ${thrown.message}`, { status: 0, code: 'UNREACHABLE' }, thrown);
  });

/** Returns true if a retry may succeed and does not repeat an effect. */
function canRetry({ status, code }: WdaError, isRepeatable: boolean): boolean {
  if (status === 429) return true;
  // A statement that was too slow stays too slow.
  const isPassing = status === 503 ? code !== 'QUERY_TIMEOUT' : status === 0 || code === 'IDEMPOTENCY_KEY_IN_USE';
  return isRepeatable && isPassing;
}

/** Returns the delay that the server requests, or half a second or more, doubled with each retry. */
const toDelay = ({ retryAfterSeconds }: WdaError, retries: number): number =>
  Math.min(MOST_SECONDS, retryAfterSeconds ?? (0.5 + Math.random() / 4) * 2 ** retries);

/** Waits; throws the reason of the signal if that aborts first. */
export async function pause(seconds: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<unknown>((resolve) => {
    const timer = setTimeout(end, seconds * 1000);
    signal?.addEventListener('abort', end);
    function end(): void {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve(undefined);
    }
  });
  signal?.throwIfAborted();
}

/** Body of an error response of the API. */
interface ErrorDocument extends Pick<Refusal, 'retryAfterSeconds' | 'blocksReads' | 'blocksWrites'> {
  readonly error?: Pick<Refusal, 'code' | 'reason' | 'details' | 'operation'> & { readonly message: string };
}

async function parseError(response: Response): Promise<WdaError> {
  const { status, headers } = response;
  const text = await response.text();
  let message = `The answer ${status} is none of this API`;
  let body: Partial<Refusal> = {};
  try {
    const { error, ...rest } = parseJson(text) as ErrorDocument;
    // Error bodies of `/oauth/token` and proxies have other forms.
    if (error?.message) {
      message = error.message;
      body = { ...rest, ...error };
    }
  } catch {}
  return new WdaError(message, {
    code: 'NO_API',
    retryAfterSeconds: Number(headers.get('Retry-After')) || undefined,
    ...body,
    status,
    requestId: headers.get('X-Request-Id') ?? undefined,
  });
}
