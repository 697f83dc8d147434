// Routes outside the data API as values: method, pattern and handler. Handlers take a RouteRequest and give a Reply; a
// table of them is a mount (route-mount.ts).
import type { Reply } from '../response/reply.ts';

export interface RouteRequest {
  readonly id: string;
  readonly params: Readonly<Record<string, string>>;
  /** Decoded query parameters, a repeated one with several values; 400 when the route does not know one. */
  readonly query: () => ReadonlyMap<string, readonly string[]>;
  readonly authorization: string | undefined;
  /**
   * Reads and parses the JSON body (numbers keep their digits, see model/exact-json.ts); undefined when there is none.
   * Nothing of it is read before a handler asks, which it does only for a known sender: 415, 413 or 400.
   */
  readonly body: () => Promise<unknown>;
}

export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** With the names of parameters: `/api/admin/v1/organizations/:org`. */
  readonly pattern: string;
  /** Names of the query parameters that the route knows. */
  readonly parameters: readonly string[];
  readonly handle: (request: RouteRequest) => Promise<Reply>;
}
