// Workspaces of an earlier version are raised in the background, unless a node that would be asked is silent.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeRaising, stageOfWorkspace } from '../../../src/catalog/raise.ts';
import { readConfig } from '../../../src/config.ts';
import { makeDatabase } from '../../../src/db/pool.ts';
import { skipOnCluster } from '../../support/citus.ts';
import { createTestDatabase } from '../../support/database.ts';
import { makeEarlier } from '../../support/earlier-version.ts';
import { startTestServer } from '../../support/server.ts';

test(
  'workspaces wait behind a node that is silent, and are raised when it is back',
  skipOnCluster('the version before made no workspaces on a cluster'),
  async (t) => {
    const database = await createTestDatabase();
    t.after(() => database.drop());
    // Gone again before it can raise them itself.
    const server = await startTestServer({}, database);
    await server.workspace('acme/shop', { entities: {} });
    await server.stop();
    await makeEarlier(database, 'ws1_shop', { file: false });
    const connection = { connectionString: database.url };
    const db = makeDatabase({ ...readConfig({}), connection, processes: 1, onError: () => undefined });
    t.after(() => db.close());
    let isSilent = true;
    const raising = makeRaising(db, { isAway: () => isSilent });
    assert.equal(await raising.turn(), 0);
    assert.equal(await stageOfWorkspace(db, '1'), 0);
    isSilent = false;
    assert.equal(await raising.turn(), 1);
    assert.notEqual(await stageOfWorkspace(db, '1'), 0);
  },
);
