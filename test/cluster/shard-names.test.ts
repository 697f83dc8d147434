// Entities whose names are those that the cluster would give to tables of its own.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isCluster } from '../support/citus.ts';
import { useServer } from '../support/resources.ts';

if (isCluster) onCluster();
else test('entities with the names of shards', { skip: 'needs a Citus cluster: TEST_CITUS_WORKERS' }, () => undefined);

function onCluster(): void {
  const server = useServer();

  test('a workspace is made whatever numbers the names of its entities end with', async () => {
    const [{ last } = {}] = await server.database.query(
      "select coalesce(pg_sequence_last_value('pg_dist_shardid_seq'), 102007)::int as last",
    );
    const fields = { n: { type: 'integer' } };
    const coming = Array.from({ length: 30 }, (_, n) => `a_${Number(last) + 1 + n}`);
    const names = ['a', ...coming];
    const made = await server.workspace('acme/numbers', {
      entities: Object.fromEntries(names.map((name) => [name, { fields }])),
    });
    for (const [n, name] of names.entries()) await made.create(name, [{ n }]);
    for (const [n, name] of names.entries()) {
      const { json, text } = await made.call(name);
      assert.deepEqual(
        json.data?.map((record: { n: number }) => record.n),
        [n],
        text,
      );
    }
  });
}
