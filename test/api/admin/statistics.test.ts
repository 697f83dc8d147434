// Statistics: records and sizes of entities and workspaces, by what is known of them without counting.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { isCluster, skipOnCluster } from '../../support/citus.ts';
import { prepare, use, useServer } from '../../support/resources.ts';
import { ADMIN_KEY, type Answer } from '../../support/server.ts';
import { until } from '../../support/wait-until.ts';

const RECORDS = 6000;
const ESTIMATED = skipOnCluster('statistics of a cluster are what its nodes estimate, and not kept totals');
const server = useServer();
const shop = use(() =>
  server.workspace('acme/shop', {
    entities: {
      zebras: { fields: { name: { type: 'string', index: true } } },
      constructor: { fields: { name: { type: 'string' } } },
      ants: { fields: { name: { type: 'string' } } },
    },
  }),
);
use(() => server.workspace('acme/empty', { entities: {} }));
prepare(async () => {
  const rows = Array.from({ length: RECORDS }, (_, at) => `n${at}`).join('\n');
  const headers = { 'content-type': 'text/csv' };
  const imported = await shop.call('zebras/_import', { method: 'POST', headers, body: `name\n${rows}\n` });
  assert.equal(imported.status, 200, imported.text);
  await shop.create('constructor', [{ name: 'a' }, { name: 'b' }]);
});

interface Size {
  readonly entity: string;
  readonly records: number;
  readonly exact: boolean;
  readonly tableBytes: number;
  readonly indexBytes: number;
}

async function statistics(): Promise<readonly Size[]> {
  const { status, json, text } = await shop.admin('statistics', { credential: shop.key });
  assert.equal(status, 200, text);
  return json.data;
}
const of = async (entity: string): Promise<Size> => (await statistics()).find((one) => one.entity === entity) as Size;
const workspaces = (query: string): Promise<Answer> =>
  server.call(`/api/admin/v1/organizations/acme/workspaces${query}`, { credential: ADMIN_KEY });

test('there is an entry for each entity, in the order of the document', async () => {
  assert.deepEqual(
    (await statistics()).map(({ entity }) => entity),
    ['zebras', 'constructor', 'ants'],
  );
});

test('an empty table has exactly no records', async () => {
  const { records, exact } = await of('ants');
  assert.deepEqual([records, exact], [0, true]);
});

test('without a kept total it is an estimate, which has what was written before long', async () => {
  await until('the database has told of the writes', async () => (await of('constructor')).records === 2);
  assert.equal((await of('constructor')).exact, false);
});

test('a total that lists keep is exact at once, whatever was written since', ESTIMATED, async () => {
  await until('the total is kept', async () => {
    await shop.call('zebras?size=1');
    return (await of('zebras')).exact;
  });
  assert.equal((await of('zebras')).records, RECORDS);
  await shop.create('zebras', [{ name: 'one more' }]);
  const { records, tableBytes, indexBytes } = await of('zebras');
  assert.equal(records, RECORDS + 1);
  assert.ok(tableBytes > RECORDS * 20 && indexBytes > RECORDS * 10, `${tableBytes} ${indexBytes}`);
});

test('a table whose name in PostgreSQL is another one is found', async () => {
  const document = { entities: { emus: { fields: { name: { type: 'string' } }, renamedFrom: 'ants' } } };
  const rest = (await shop.admin('schema')).json.data.entities;
  const { ants: _, ...entities } = rest;
  const changed = await shop.admin('schema', {
    method: 'PUT',
    body: { entities: { ...entities, ...document.entities } },
  });
  assert.equal(changed.json.data.state, 'succeeded', changed.text);
  assert.deepEqual((await statistics()).at(-1)?.entity, 'emus');
});

test('a table that is locked is told of without waiting for it', ESTIMATED, async () => {
  const client = new pg.Client({ connectionString: server.database.url });
  await client.connect();
  try {
    await client.query('begin');
    await client.query('lock table ws1_shop.zebras in access exclusive mode');
    const { records, exact } = await of('zebras');
    assert.deepEqual([records, exact], [RECORDS + 1, true]);
  } finally {
    await client.end();
  }
});

test('the list of workspaces has the sums when it is asked for them', async () => {
  const [first, second] = (await workspaces('?statistics=true&size=100')).json.data;
  const sizes = await statistics();
  const sum = (member: 'records' | 'tableBytes' | 'indexBytes'): number =>
    sizes.reduce((all, size) => all + size[member], 0);
  assert.deepEqual(first.statistics, {
    entities: 3,
    records: isCluster ? sum('records') : RECORDS + 3,
    exact: false,
    tableBytes: sum('tableBytes'),
    indexBytes: sum('indexBytes'),
  });
  assert.deepEqual(second.statistics, { entities: 0, records: 0, exact: true, tableBytes: 0, indexBytes: 0 });
  assert.equal('statistics' in (await workspaces('')).json.data[0], false);
});

test('with statistics a page is no larger than its statement can be', async () => {
  const { status, json } = await workspaces('?statistics=true&size=101');
  assert.equal(status, 400);
  assert.equal(json.error.message, 'size must be at most 100 together with statistics=true');
});
