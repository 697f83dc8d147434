// Keys that reach some entities alone.
import assert from 'node:assert/strict';
import type { TestWorkspace } from './server.ts';

/** A key of the workspace for these entities. */
export async function keyFor(
  workspace: Pick<TestWorkspace, 'admin'>,
  entities: readonly string[],
  permissions: 'READ_WRITE' | 'READ_ONLY' = 'READ_WRITE',
): Promise<string> {
  const body = { name: entities.join(), permissions, entities };
  const made = await workspace.admin('api-keys', { method: 'POST', body });
  assert.equal(made.status, 201, made.text);
  return made.json.data.key;
}
