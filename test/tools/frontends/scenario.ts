// What the scenarios of a framework get: clients of one demo workspace, and requests that wait.
import type { Client, ClientOptions } from '../../../client/src/index.ts';
import type { Shop } from '../../client/shop.ts';

export type MakeClient = (options?: Partial<ClientOptions>) => Client<Shop>;

/** A scenario by its title. */
export type Scenarios = Readonly<Record<string, (client: MakeClient) => Promise<void>>>;

/** A `fetch` whose updates wait until they are let go. */
export function heldFetch(): { readonly fetch: typeof fetch; letGo(): void } {
  let letGo = (): void => undefined;
  const gate = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  return {
    letGo: () => letGo(),
    fetch: async (input, init) => {
      if (init?.method === 'PATCH') await gate;
      return fetch(input, init);
    },
  };
}
