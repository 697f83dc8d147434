// A request of the data API that did not come by HTTP, in the form of one that did: so it passes the same stages.
import { payloadTooLarge } from '../errors.ts';
import type { RawRequest } from '../http/request.ts';

export interface InternalRequest {
  readonly method: string;
  /** As of a request, with `/api/v1/`. */
  readonly path: string;
  /** Undecoded, without `?`. */
  readonly query?: string;
  /** If-Match, Idempotency-Key. */
  readonly headers?: Readonly<Record<string, string>>;
  /** A JSON value, whose numbers may keep their digits (model/exact-json.ts); undefined: none. */
  readonly body?: unknown;
}

/** Where the request came from: whoever waits for the reply, and the id by which it is logged. */
export type RequestSource = Pick<RawRequest, 'id' | 'arrivedAt' | 'signal' | 'slices'>;

export function makeRequest(
  { method, path, query = '', headers = {}, body }: InternalRequest,
  { id, arrivedAt, signal, slices }: RequestSource,
): RawRequest {
  const bytes = body === undefined ? Buffer.alloc(0) : Buffer.from(JSON.stringify(body));
  return {
    id,
    arrivedAt,
    signal,
    slices,
    method,
    path,
    query,
    // Who asks is known.
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
