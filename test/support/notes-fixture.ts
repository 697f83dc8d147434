// A small workspace for tests of who may see what: notes that everybody shares, and letters that belong to somebody.
import assert from 'node:assert/strict';
import { reasonFor } from './error-catalog.ts';
import type { TestServer, TestWorkspace } from './server.ts';

export const NOTES = {
  entities: {
    notes: { fields: { text: { type: 'string', required: true } } },
    letters: {
      fields: { text: { type: 'string' }, owner: { type: 'string', index: true } },
      rowRules: [{ column: 'owner', claim: 'sub', enabled: true }],
    },
  },
} as const;

/** The workspace with two notes and two letters, one of them the user `app`'s. */
export async function makeNotes(server: TestServer, path: string): Promise<TestWorkspace> {
  const workspace = await server.workspace(path, NOTES);
  await workspace.create('notes', [{ text: 'one' }, { text: 'two' }]);
  await workspace.create('letters', [
    { text: 'to the app', owner: 'app' },
    { text: 'to somebody else', owner: 'else' },
  ]);
  return workspace;
}

interface ProviderWish {
  readonly issuerUrl: string;
  readonly jwksUri?: string | null;
  readonly audience?: string | null;
  readonly defaultPermissions?: 'READ_ONLY' | 'READ_WRITE';
  readonly enabled?: boolean;
}

/** The only warning about a provider that works, but has no audience. */
export const BLANK_AUDIENCE = [
  'audience is blank: tokens that the provider issued for any other application are accepted here, too',
];

/** The warnings without the one that notes are open to every user. */
export const aboutProvider = (warnings: readonly string[] = []): readonly string[] =>
  warnings.filter((warning) => !warning.startsWith('1 entity has neither row rules nor grants: '));

/** Puts exactly this provider in force; gives the warnings about it. */
export async function configure(workspace: TestWorkspace, wish: ProviderWish): Promise<readonly string[]> {
  const body = { defaultPermissions: 'READ_WRITE', enabled: true, ...wish };
  const answer = await workspace.admin('identity-provider', { method: 'PUT', body });
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(answer.json.data, { jwksUri: null, audience: null, ...body });
  return aboutProvider(answer.json.meta?.warnings);
}

/** Asserts that the token is refused with 401 and the message. */
export async function isRefused(workspace: TestWorkspace, token: string, message: string): Promise<void> {
  const answer = await workspace.call('notes', { credential: token });
  assert.equal(answer.status, 401, answer.text);
  assert.deepEqual(answer.json, { error: { code: 'UNAUTHORIZED', message, reason: reasonFor(message) } });
  assert.equal(answer.headers.get('www-authenticate'), 'Bearer realm="workspace-data-api", error="invalid_token"');
}

/** Asserts that the token gives its user the notes. */
export async function isAccepted(workspace: TestWorkspace, token: string): Promise<void> {
  const answer = await workspace.call('notes?fields=text', { credential: token });
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(answer.json.data, [{ text: 'one' }, { text: 'two' }]);
}
