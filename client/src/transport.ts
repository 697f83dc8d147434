// One request after the other way: the credential, the wait that a refusal asks for, and the error that an answer stands for.
import { isWdaError, type Refusal, WdaError } from './error.ts';
import { parseJson } from './json.ts';

/** What a credential function is told. */
export interface CredentialContext {
  /** Address of the server, without a slash at its end. */
  readonly url: string;
  /** What it gave before, when that has just been refused (401). */
  readonly refused: string | undefined;
  readonly fetch: typeof fetch;
}

/** An API key or a token, or a function that gives one; it is asked for each request, and once more after a 401. */
export type Credential = string | ((context: CredentialContext) => string | Promise<string>);

export interface ClientOptions {
  /** Address of the server, such as `https://data.example.com`; a path prefix is kept. */
  readonly url: string;
  /** `organization/workspace` */
  readonly workspace: string;
  readonly credential: Credential;
  /** How often a request that may be repeated is sent again: 2. */
  readonly retries?: number;
  /** Another `fetch`. */
  readonly fetch?: typeof fetch;
}

/** What every call takes. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** In place of the client's. */
  readonly retries?: number | undefined;
}

/** What a body may be. */
export type Content = string | Blob | Uint8Array | ReadableStream<Uint8Array>;

export interface Outgoing extends CallOptions {
  readonly method: string;
  /** Below the address of the server, with its query. */
  readonly path: string;
  readonly headers?: readonly [string, string][];
  readonly body?: Content | undefined;
  /** It may be sent twice and is done once. */
  readonly isRepeatable: boolean;
}

const MOST_SECONDS = 30;

/** Gives what `read` makes of a good answer; throws WdaError, or the reason of `signal`. */
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
        if (!response.ok) throw await reached(errorOf(response));
        return await reached(read(response));
      } catch (error) {
        if (signal?.aborted) throw signal.reason;
        if (!isWdaError(error) || isStream) throw error;
        if (error.status === 401 && typeof credential === 'function' && refused === undefined) refused = token ?? '';
        else if (retries < most && isWorthwhile(error, isRepeatable)) await pause(secondsOf(error, retries++), signal);
        else throw error;
      }
    }
  };
}

// Node.js and browsers send a stream as it comes only when they are told so.
const STREAM = { duplex: 'half' };

/** `fetch` and the bodies that it gives fail with a TypeError when the network does. */
export const reached = <T>(answer: Promise<T>): Promise<T> =>
  answer.catch((thrown) => {
    if (!(thrown instanceof TypeError)) throw thrown;
    throw new WdaError(`No answer came: ${thrown.message}`, { status: 0, code: 'UNREACHABLE' }, thrown);
  });

/** Whether the same request may succeed later, and is not done twice. */
function isWorthwhile({ status, code }: WdaError, isRepeatable: boolean): boolean {
  if (status === 429) return true;
  // A statement that was too slow is as slow again.
  const isPassing = status === 503 ? code !== 'QUERY_TIMEOUT' : status === 0 || code === 'IDEMPOTENCY_KEY_IN_USE';
  return isRepeatable && isPassing;
}

/** What the server says; else half a second or more, and twice as long each time. */
const secondsOf = ({ retryAfterSeconds }: WdaError, retries: number): number =>
  Math.min(MOST_SECONDS, retryAfterSeconds ?? (0.5 + Math.random() / 4) * 2 ** retries);

/** Throws the reason of the signal when it comes first. */
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

/** The body of a refusal, as far as it is one. */
interface ErrorDocument extends Pick<Refusal, 'retryAfterSeconds' | 'blocksReads' | 'blocksWrites'> {
  readonly error?: Pick<Refusal, 'code' | 'reason' | 'details' | 'operation'> & { readonly message: string };
}

async function errorOf(response: Response): Promise<WdaError> {
  const { status, headers } = response;
  const text = await response.text();
  let message = `The answer ${status} is none of this API`;
  let told: Partial<Refusal> = {};
  try {
    const { error, ...beside } = parseJson(text) as ErrorDocument;
    // `/oauth/token` and proxies have other forms.
    if (error?.message) {
      message = error.message;
      told = { ...beside, ...error };
    }
  } catch {}
  return new WdaError(message, {
    code: 'NO_API',
    retryAfterSeconds: Number(headers.get('Retry-After')) || undefined,
    ...told,
    status,
    requestId: headers.get('X-Request-Id') ?? undefined,
  });
}
