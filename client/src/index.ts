// Client of the Workspace Data API.
import { type Answer, type MatchOptions, makeAsk } from './ask.ts';
import type { WorkspaceFeed } from './changes.ts';
import type { Entity } from './entity.ts';
import { makeFeed } from './feed.ts';
import { makeRequests } from './requests.ts';
import type { Shape } from './shape.ts';
import { type ClientOptions, makeSend } from './transport.ts';

export type { MatchOptions, WriteOptions } from './ask.ts';
export type * from './changes.ts';
export { clientCredentials } from './credential.ts';
export type * from './entity.ts';
export { type ClientCode, type Detail, type DetailCode, type ErrorCode, isWdaError, WdaError } from './error.ts';
export type * from './history.ts';
export type { Job } from './job.ts';
export type * from './shape.ts';
export type { CallOptions, ClientOptions, Content, Credential, CredentialContext } from './transport.ts';

/** Client of one workspace. */
export interface Client<S extends Shape<S>> extends WorkspaceFeed<S> {
  entity<const E extends keyof S & string>(name: E): Entity<S, E>;
  /**
   * Sends any other request. `path` is relative to the workspace (`orders/_query`), or to the server when it starts with a
   * slash. `body` is sent as JSON. A write is retried only with an `idempotencyKey`.
   */
  request(
    method: string,
    path: string,
    init?: MatchOptions & { readonly query?: Readonly<Record<string, string>>; readonly body?: unknown },
  ): Promise<Answer>;
}

/** Creates a client of one workspace; `S` is the interface that `wda types` generates. */
export function createClient<S extends Shape<S>>(options: ClientOptions): Client<S> {
  const { workspace } = options;
  const ask = makeAsk(makeSend(options), workspace);
  return {
    ...(makeFeed(ask, '_changes') as unknown as WorkspaceFeed<S>),
    entity: <const E extends keyof S & string>(name: E) =>
      ({ name, workspace, ...makeRequests(ask, encodeURIComponent(name)) }) as unknown as Entity<S, E>,
    request: (method, path, { query, ...init } = {}) =>
      ask(method, path, {
        ...init,
        query: new URLSearchParams(query),
        ...(init.idempotencyKey === undefined && method !== 'GET' ? { retries: 0 } : {}),
      }),
  };
}
