// Routes outside the data API as values: method, pattern, description and handler. Handlers take a RouteRequest and give a Reply; a
// table of them is a mount (route-mount.ts).

import type { Readable } from 'node:stream';
import type { Credential } from '../model/credential.ts';
import type { Operation } from '../openapi/operation.ts';
import type { Reply } from '../response/reply.ts';
import type { Caller } from './raw-request.ts';

export interface RouteRequest {
  readonly id: string;
  readonly params: Readonly<Record<string, string>>;
  /** Decoded query parameters, a repeated one with several values; 400 when the route does not know one. */
  readonly query: () => ReadonlyMap<string, readonly string[]>;
  readonly credential: Credential;
  /** The header of a conditional read, as sent. */
  readonly ifNoneMatch: string | undefined;
  /** The header of a conditional change, as sent. */
  readonly ifMatch: string | undefined;
  /**
   * Reads and parses the JSON body (numbers keep their digits, see model/exact-json.ts); undefined when there is none.
   * Nothing of it is read before a handler asks, which it does only for a known sender: 415, 413 or 400.
   */
  readonly body: () => Promise<unknown>;
  /** The body as a stream, in place of body(): 415 unless it is of this media type. Errors when it is silent for too long. */
  readonly upload: (mediaType: string) => Readable;
  readonly caller: Caller;
}

/** What it does not describe it refuses: unknown query parameters are 400. */
export interface Route extends Operation {
  readonly handle: (request: RouteRequest) => Promise<Reply>;
}
