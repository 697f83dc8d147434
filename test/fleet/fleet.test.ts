// Rollouts to a fleet while clients read and write and the server is killed.
import { test } from 'node:test';
import { useDatabase } from '../support/resources.ts';
import { runFleet } from './fleet.ts';

const database = useDatabase();

test('three versions go to 30 workspaces though the server is killed in each rollout, and no request fails by that', async (t) => {
  await runFleet({ databaseUrl: database.url, workspaces: 30, entities: 3, say: (line) => t.diagnostic(line) });
});
