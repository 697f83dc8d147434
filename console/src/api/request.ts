// Every request of the console goes through here: below /console/api, with the session's cookie, which no script can read. A
// session that has ended is asked for again over the page, and the request is sent once more. So is one that was refused for a
// while: the page says meanwhile what it waits for.

import { Refusal, type RefusalParts } from './api-error.ts';
import { type Json, parseExact, stringifyExact } from './json.ts';
import type { Answered, Ask } from './request-types.ts';
import { pauseAfter, waited } from './retry.ts';
import { asSent, responseOfUser } from './view-as.ts';

/** Where the console's API begins. */
export const DOOR = '/console/api';

/** What happens to the connection, for the banner. */
export type Connection = 'there' | 'lost';

interface Watch {
  /** Resolves when a session is there again; called when a request was refused with 401. */
  signInAgain: () => Promise<void>;
  connection: (state: Connection) => void;
  /** A request waits because of this refusal; undefined: it waits no longer. */
  waiting: (one: Ask, refusal: Refusal | undefined) => void;
}

const watch: Watch = {
  signInAgain: () => Promise.reject(new Error('nobody asks for sessions')),
  connection: () => undefined,
  waiting: () => undefined,
};

/** The shell says how a session is asked for and where the state of the connection is shown. */
export function watchRequests(given: Partial<Watch>): void {
  Object.assign(watch, given);
}

/** Resolves when there is a session again. */
export const signInAgain = (): Promise<void> => watch.signInAgain();

/** Reads records: numbers are Digits. Throws Refusal, or the reason of the signal. */
export const askExact = <T = Json>(ask: Ask): Promise<Answered<T>> => answered<T>(ask, parseExact);

/** Reads everything else: numbers are numbers. Throws Refusal, or the reason of the signal. */
export const ask = <T>(one: Ask): Promise<Answered<T>> => answered<T>(one, JSON.parse);

async function answered<T>(one: Ask, parse: (text: string) => unknown): Promise<Answered<T>> {
  const response = await send(one);
  const text = await textOf(response);
  if (text === '')
    return {
      status: response.status,
      data: undefined as T,
      meta: {},
      etag: etagOf(response),
      headers: response.headers,
    };
  const { data, meta = {} } = parse(text) as { data: T; meta?: Record<string, unknown> };
  const plain = parse === JSON.parse ? meta : JSON.parse(stringifyExact(meta));
  return { status: response.status, data, meta: plain, etag: etagOf(response), headers: response.headers };
}

/** The response to a request that was not refused: for streams and documents. Throws Refusal. */
export async function send(one: Ask): Promise<Response> {
  try {
    for (let failures = 0; ; failures++) {
      const sent = asSent(one);
      const outer = await reached(fetch(DOOR + sent.path, initOf(sent)), one.signal);
      const response = outer.ok && sent !== one ? responseOfUser(await textOf(outer), outer.headers) : outer;
      if (response.ok) return response;
      const refusal = await refusalOf(response);
      const pause = mayWait(one, refusal) ? pauseAfter(refusal, failures) : undefined;
      if (pause !== undefined) {
        watch.waiting(one, refusal);
        await waited(pause, one.signal);
      } else if (refusal.status === 401 && one.signsInAgain !== false) await watch.signInAgain();
      else throw refusal;
      one.signal?.throwIfAborted();
    }
  } finally {
    watch.waiting(one, undefined);
  }
}

/** A 429 has done nothing, whatever was asked; of a write that met a 503 its screen says that it is not saved. */
const mayWait = ({ method = 'GET', waits }: Ask, { status }: Refusal): boolean =>
  waits !== false && (status === 429 || method === 'GET');

function initOf({ method = 'GET', body, content, headers = {}, signal }: Ask): RequestInit {
  const type = content?.type ?? (method === 'GET' ? undefined : 'application/json');
  return {
    method,
    credentials: 'same-origin',
    cache: 'no-store',
    headers: {
      // On every request: over plain http nothing else says that the page sent it.
      'X-Console': '1',
      ...(type === undefined ? {} : { 'Content-Type': type }),
      ...headers,
    },
    body: content?.bytes ?? (body === undefined ? null : stringifyExact(body)),
    signal: signal ?? null,
  };
}

/** `fetch` and the bodies it gives fail with a TypeError when the network does. */
async function reached<T>(answer: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  try {
    const value = await answer;
    watch.connection('there');
    return value;
  } catch (thrown) {
    if (signal?.aborted) throw signal.reason;
    if (!(thrown instanceof TypeError)) throw thrown;
    watch.connection('lost');
    throw new Refusal('The server cannot be reached', { status: 0, code: 'UNREACHABLE' });
  }
}

const textOf = (response: Response): Promise<string> => reached(response.text(), undefined);
const etagOf = (response: Response): string | undefined => response.headers.get('ETag') ?? undefined;

interface ErrorBody extends Partial<RefusalParts> {
  readonly error?: Partial<RefusalParts> & { readonly message?: string };
}

/** What an answer refuses. */
export async function refusalOf(response: Response): Promise<Refusal> {
  const { status, headers } = response;
  const beside = {
    requestId: headers.get('X-Request-Id') ?? undefined,
    retryAfterSeconds: Number(headers.get('Retry-After')) || undefined,
  };
  const text = await textOf(response);
  try {
    const { error, ...rest } = JSON.parse(text) as ErrorBody;
    if (error?.message !== undefined)
      return new Refusal(error.message, { ...beside, code: 'UNKNOWN', ...rest, ...error, status });
  } catch {}
  return new Refusal(`The server answered ${status} without a reason`, { ...beside, status, code: 'NO_API' });
}
