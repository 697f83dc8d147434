// What the first start makes is shown, also when the database goes away before the start is done.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bootstrap, type Secrets } from '../../../src/bootstrap/bootstrap.ts';
import { makeDatabases } from '../../../src/store/databases.ts';
import { createTestDatabase, openDatabase } from '../../support/database.ts';

test('a start that is tried again shows the keys that it has made; another start does not', async () => {
  const { url, query, drop } = await createTestDatabase();
  const db = openDatabase(url);
  const start = (secrets: Secrets) =>
    bootstrap({
      databases: makeDatabases(db),
      config: { adminKey: undefined, demo: true, maxResponseBytes: 1_048_576 },
      hasOperator: false,
      secrets,
    });
  try {
    const secrets: Secrets = {};
    // The demo cannot be made: the operator's key is stored by then.
    await query('alter table wda.organization rename to elsewhere');
    await assert.rejects(start(secrets));
    await query('alter table wda.elsewhere rename to organization');
    const shown = await start(secrets);
    assert.match(shown.operatorKey ?? '', /^wda_admin_/);
    assert.match(shown.demoKey ?? '', /^wda_/);
    const again = await start(secrets);
    assert.deepEqual([again.operatorKey, again.demoKey], [shown.operatorKey, shown.demoKey]);
    const other = await start({});
    assert.deepEqual([other.operatorKey, other.demoKey, other.hasDemo], [undefined, undefined, true]);
  } finally {
    await db.close();
    await drop();
  }
});
