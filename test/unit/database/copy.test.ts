// Savepoints: what their work has thrown is what is told, also where the savepoint is gone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inRolledBackSavepoint, inSavepoint } from '../../../src/database/copy.ts';
import { sql, toQuery } from '../../../src/sql/fragment.ts';
import { openDatabase } from '../../support/database.ts';
import { useDatabase } from '../../support/resources.ts';

const database = useDatabase();

for (const [name, within] of Object.entries({ part: inSavepoint, undone: inRolledBackSavepoint })) {
  test(`an error is told, not that savepoint ${name} has gone with it, and the connection is as before`, async () => {
    const db = openDatabase(database.url);
    try {
      const done = db.transaction((session) =>
        within(session, async () => {
          // As a cancelling may leave it.
          await session.execute(`release savepoint ${name}`);
          throw new Error('the first');
        }),
      );
      await assert.rejects(done, { message: 'the first' });
      const rows = await db.transaction((session) => session.query<{ one: number }>(toQuery(sql`select 1 as one`)));
      assert.deepEqual(rows, [{ one: 1 }]);
    } finally {
      await db.close();
    }
  });
}
