// The demo workspace on a server of its own, and a typed client of it.
import { type Client, type ClientOptions, createClient } from '../../client/src/index.ts';
import { DEMO_RECORDS, DEMO_SCHEMA } from '../../src/bootstrap/demo.ts';
import { prepare, use, useServer } from '../support/resources.ts';
import type { TestServer, TestWorkspace } from '../support/server.ts';
import type { Shop } from './shop.ts';

export interface Demo {
  readonly server: TestServer;
  readonly workspace: TestWorkspace;
  /** A client with the owner's key, unless something else is said. */
  client(options?: Partial<ClientOptions>): Client<Shop>;
}

export function useDemo(env: Readonly<Record<string, string>> = {}): Demo {
  const server = useServer(env);
  const workspace = use(() => server.workspace('demo/shop', DEMO_SCHEMA));
  prepare(async () => {
    for (const [entity, records] of DEMO_RECORDS) await workspace.create(entity, records);
  });
  return {
    server,
    workspace,
    client: (options) =>
      createClient<Shop>({ url: server.url, workspace: workspace.path, credential: workspace.key, ...options }),
  };
}

/** What `fetch` is asked while `run` runs, and what it is answered; `answer` may answer in its place. */
export function watchedFetch(
  answer: (request: Request, index: number) => Response | undefined | Promise<Response | undefined> = () => undefined,
): {
  readonly fetch: typeof fetch;
  readonly requests: Request[];
} {
  const requests: Request[] = [];
  return {
    requests,
    fetch: async (input, init) => {
      const request = new Request(input as string, init);
      requests.push(request.clone() as Request);
      return (await answer(request, requests.length - 1)) ?? fetch(request);
    },
  };
}
