// What waits for the database while the schema is replaced is planned anew before it is sent: a statement never meets a
// schema that it was not made for.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { schemaOf, withClient } from '../support/migration.ts';
import { prepare, use, useServer } from '../support/resources.ts';
import type { Answer } from '../support/server.ts';
import { until } from '../support/wait-until.ts';

const schemaWith = (fields: Record<string, unknown>): unknown => ({
  entities: { notes: { fields }, others: { fields: { text: { type: 'string' } } } },
});

const server = useServer({ WDA_SLOW_CONNECTIONS: '2', WDA_STATEMENT_TIMEOUT_MS: '20000' });
const workspace = use(() => server.workspace('stale/one', schemaWith({ a: { type: 'string' } })));
prepare(async () => {
  await workspace.create('notes', [{ a: 'first' }]);
  await workspace.create('others', [{ text: 'x' }]);
});

test('lists that wait for their turn while a field is renamed and its name given to another show the new schema', async () => {
  await withClient(server, async (client) => {
    await client.query(`begin; lock table "${await schemaOf(server, workspace)}".others in access exclusive mode`);
    // The only connection for slow statements that the workspace may have waits for the lock; behind it wait lists of notes.
    const blocked = workspace.call('others?size=7');
    await until('the statement waits for the lock', async () => {
      const waiting = await server.database.query("select from pg_stat_activity where wait_event_type = 'Lock'");
      return waiting.length > 0;
    });
    const waiting: Promise<Answer>[] = [];
    for (let size = 1; size <= 5; size++) waiting.push(workspace.call(`notes?size=${size}&filter=a,isNull&sort=a`));
    for (const fields of [
      { old: { type: 'string', renamedFrom: 'a' } },
      { old: { type: 'string' }, a: { type: 'string' } },
    ]) {
      const put = await workspace.admin('schema', { method: 'PUT', body: schemaWith(fields) });
      assert.equal(put.status, 200, put.text);
    }
    await client.query('rollback');
    assert.equal((await blocked).status, 200);
    for (const answer of await Promise.all(waiting)) {
      assert.equal(answer.status, 200, answer.text);
      assert.deepEqual(answer.json.data, [{ id: 1, old: 'first', a: null }]);
    }
  });
});
