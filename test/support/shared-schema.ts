// A shared schema with workspaces that follow it, and its rollouts, by the admin API.
import assert from 'node:assert/strict';
import { ADMIN_KEY, type Answer, type TestClient } from './server.ts';
import { until } from './wait-until.ts';

export interface TestFleet {
  /** Calls below the shared schema, as the operator. */
  call(path: string, method?: string, body?: unknown): Promise<Answer>;
  /** Calls below /organizations/{organization}, as the operator. */
  organization(path: string, method?: string, body?: unknown): Promise<Answer>;
  publish(document: unknown): Promise<number>;
  /** Makes workspaces that follow the schema. */
  follow(slugs: readonly string[], version?: number): Promise<void>;
  /** Starts a rollout; returns its id. */
  start(body: object): Promise<number>;
  /** Waits until a rollout is in this state and works on no workspace. */
  // biome-ignore lint/suspicious/noExplicitAny: a rollout as answered
  waitFor(id: number, state: string): Promise<any>;
  /** Returns the states of the workspaces of a rollout by their slugs, in order. */
  states(id: number): Promise<Record<string, string>>;
  /** Returns the versions of the workspaces by their slugs. */
  versions(): Promise<Record<string, number>>;
}

/** Waits until `read` gives a value. */
export async function waitForValue<T>(what: string, read: () => Promise<T | undefined>): Promise<T> {
  let value: T | undefined;
  await until(what, async () => {
    value = await read();
    return value !== undefined;
  });
  return value as T;
}

/** Creates an organization with a shared schema that has these versions. */
export async function makeFleet(
  client: Pick<TestClient, 'call'>,
  organization: string,
  documents: readonly unknown[],
  name = 'desk',
): Promise<TestFleet> {
  const base = `/api/admin/v1/organizations/${organization}`;
  const send = (path: string, method = 'GET', body?: unknown): Promise<Answer> =>
    client.call(path, { method, credential: ADMIN_KEY, ...(body === undefined ? {} : { body }) });
  const created = await send('/api/admin/v1/organizations', 'POST', { slug: organization });
  assert.ok([201, 409].includes(created.status), created.text);
  assert.equal((await send(`${base}/schemas`, 'POST', { name })).status, 201);
  const fleet: TestFleet = {
    call: (path, method, body) => send(`${base}/schemas/${name}${path}`, method, body),
    organization: (path, method, body) => send(`${base}${path}`, method, body),
    async publish(document) {
      const answer = await fleet.call('/versions', 'POST', document);
      assert.equal(answer.status, 201, answer.text);
      return answer.json.data.version;
    },
    async follow(slugs, version) {
      for (const slug of slugs) {
        const follows = { schema: name, ...(version === undefined ? {} : { version }) };
        const answer = await send(`${base}/workspaces`, 'POST', { slug, follows });
        assert.equal(answer.status, 201, answer.text);
      }
    },
    async start(body) {
      const answer = await fleet.call('/rollouts', 'POST', body);
      assert.equal(answer.status, 202, answer.text);
      const { id } = answer.json.data;
      assert.equal(answer.headers.get('location'), `${base}/schemas/${name}/rollouts/${id}`);
      return id;
    },
    waitFor: (id, state) =>
      waitForValue(`rollout ${id} is ${state}`, async () => {
        const { json, text } = await fleet.call(`/rollouts/${id}`);
        const { data } = json;
        assert.ok(data !== undefined, text);
        return data.state === state && data.counts.running === 0 ? data : undefined;
      }),
    async states(id) {
      const { json } = await fleet.call(`/rollouts/${id}/workspaces?size=1000`);
      return Object.fromEntries(
        json.data.map(({ workspace, state }: Record<string, string>) => [workspace, state] as const),
      );
    },
    async versions() {
      const { json } = await fleet.organization('/workspaces?size=1000');
      return Object.fromEntries(
        // biome-ignore lint/suspicious/noExplicitAny: workspaces as answered
        json.data.flatMap(({ slug, follows }: any) => (follows ? [[slug, follows.version]] : [])),
      );
    },
  };
  for (const document of documents) await fleet.publish(document);
  return fleet;
}
