// A Citus cluster that lets tables have no triggers: what would need them is planned as blocking, and says why.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isCluster } from '../support/citus.ts';
import { prepare, use, useServer } from '../support/resources.ts';

const document = (type: string) => ({ entities: { notes: { fields: { rank: { type } } } } });

const server = useServer();
const workspace = use(() => server.workspace('acme/shop', document('integer')));
prepare(async () => {
  if (!isCluster) return;
  await workspace.create('notes', [{ rank: 1 }, { rank: 2 }]);
  const name = new URL(server.database.url).pathname.slice(1);
  await server.database.query(`alter database ${name} set citus.enable_unsafe_triggers = off`);
  // Connections of before know the setting of before.
  await server.database.query(
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  );
});

test('a change of type is blocking where tables may have no triggers', {
  skip: !isCluster && 'needs a Citus cluster',
}, async () => {
  const plan = await workspace.admin('schema/plan', { method: 'POST', body: document('string') });
  assert.equal(plan.status, 200, plan.text);
  const [step] = plan.json.data.steps;
  assert.equal(
    step.description,
    'change field rank of notes from integer to string, blocking, as citus.enable_unsafe_triggers is off in the database',
  );
  assert.deepEqual([step.blocksReads, step.blocksWrites], [true, true]);
  const applied = await workspace.admin('schema?wait=60', { method: 'PUT', body: document('string') });
  assert.deepEqual([applied.json.data.state, applied.json.data.strategy], ['succeeded', 'blocking'], applied.text);
  const records = await workspace.call('notes?sort=id');
  assert.deepEqual(
    records.json.data.map(({ rank }: { rank: unknown }) => rank),
    ['1', '2'],
    records.text,
  );
});
