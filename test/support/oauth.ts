// Asking for internal tokens in tests, by real HTTP.
import assert from 'node:assert/strict';
import type { Answer, TestServer, TestWorkspace } from './server.ts';

export interface TestClient {
  readonly clientId: string;
  readonly clientSecret: string;
}

const FORM = { 'content-type': 'application/x-www-form-urlencoded' } as const;

export async function createClient(workspace: TestWorkspace, name = 'service'): Promise<TestClient> {
  const made = await workspace.admin('oauth-clients', { method: 'POST', body: { name } });
  assert.equal(made.status, 201, made.text);
  return made.json.data;
}

/** POST /oauth/token with these form parameters. */
export function askToken(
  server: TestServer,
  parameters: Readonly<Record<string, string>> | string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const body = typeof parameters === 'string' ? parameters : new URLSearchParams(parameters).toString();
  return server.call('/oauth/token', { method: 'POST', body, headers: { ...FORM, ...headers } });
}

export const basic = ({ clientId, clientSecret }: TestClient): Readonly<Record<string, string>> => ({
  authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`,
});

/** A token of the client. */
export async function tokenOf(server: TestServer, client: TestClient): Promise<string> {
  const answer = await askToken(server, { grant_type: 'client_credentials' }, basic(client));
  assert.equal(answer.status, 200, answer.text);
  return answer.json.access_token;
}

/** Waits for what is promised within a second; a busy machine may take longer, and a broken promise for ever. */
export async function until(holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (!(await holds())) assert.ok(performance.now() < deadline, 'it never came true');
}
