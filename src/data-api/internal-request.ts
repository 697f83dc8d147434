// Internal requests of the data API, in the form of HTTP requests, so that they pass the same stages.
import { setImmediate } from 'node:timers/promises';
import { payloadTooLarge } from '../errors.ts';
import type { RawRequest } from '../http/request.ts';

export interface InternalRequest {
  readonly method: string;
  /** Path with `/api/v1/`, as in a request. */
  readonly path: string;
  /** Query string, not decoded, without `?`. */
  readonly query?: string;
  /** Headers, such as If-Match and Idempotency-Key. */
  readonly headers?: Readonly<Record<string, string>>;
  /** A JSON value, whose numbers may keep their digits (model/exact-json.ts), or undefined if there is no body. */
  readonly body?: unknown;
}

/** Origin of an internal request: the client that waits for the reply, and the id for the log. */
export type RequestSource = Pick<RawRequest, 'id' | 'arrivedAt' | 'signal' | 'slices' | 'answerMemory'>;

/** Signal of a request that no client waits for. */
export const NEVER: RawRequest['signal'] = { isAborted: () => false, onAbort: () => () => undefined };

/** Slices of the thread for a request of the server itself, which takes none from others. */
export const AT_ONCE: RawRequest['slices'] = {
  next: async () => undefined,
  hasTime: () => true,
  addTime: () => undefined,
};

/** Slices of the thread for long work of the server itself: requests run in between. */
export const BETWEEN_REQUESTS: RawRequest['slices'] = { ...AT_ONCE, next: setImmediate };

export function makeRequest(
  { method, path, query = '', headers = {}, body }: InternalRequest,
  { id, arrivedAt, signal, slices, answerMemory }: RequestSource,
): RawRequest {
  const bytes = body === undefined ? Buffer.alloc(0) : Buffer.from(JSON.stringify(body));
  return {
    id,
    arrivedAt,
    signal,
    slices,
    answerMemory,
    method,
    path,
    query,
    // The principal is already authenticated.
    credential: undefined,
    address: undefined,
    headers: body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
    body: async (maxBytes) => {
      if (bytes.length > maxBytes) throw payloadTooLarge(maxBytes);
      return bytes;
    },
    stream: () => {
      throw new TypeError('a request that did not come by HTTP has no stream');
    },
  };
}
