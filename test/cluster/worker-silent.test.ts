// A worker of a cluster that takes connections and answers nothing: what lies there is refused as soon as that is known, and
// what lies elsewhere is answered all the time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isCluster } from '../support/citus.ts';
import { openProxy } from '../support/database-proxy.ts';
import { judgeNothing } from '../support/openapi-conformance.ts';
import { use, useDatabase, useServer } from '../support/resources.ts';
import { ADMIN_KEY, type Answer, type TestWorkspace } from '../support/server.ts';
import { until } from '../support/wait-until.ts';

// Which of the answers come is a matter of time.
judgeNothing();

if (isCluster) onCluster();
else test('a worker that is silent', { skip: 'needs a Citus cluster: TEST_CITUS_WORKERS' }, () => undefined);

const SCHEMA = { entities: { notes: { fields: { text: { type: 'string' } } } } };
const CLIENTS = 50;

type Ask = () => Promise<Answer>;
const AWAY = 'The part of the database that has this workspace is not reachable; retry';

function onCluster(): void {
  const database = useDatabase();
  const server = useServer({}, { database });

  /** Workspaces on two nodes; the way to the first leads through a wire. */
  const [far, near, wire] = usePair();

  function usePair() {
    const made = use(
      async () => {
        const [row] = await database.query(`select current_setting('citus.node_conninfo') as settings`);
        assert.match(
          `${row?.settings}`,
          /sslmode=(disable|prefer)/,
          'the proxy needs nodes without TLS: CONTRIBUTING.md',
        );
        const first = await server.workspace('acme/far', SCHEMA);
        const second = await server.workspace('acme/near', SCHEMA);
        const places = (await database.query(
          `select table_name::text as name, nodename as host, nodeport as port from citus_shards where table_name::text ~ 'notes$'`,
        )) as unknown as readonly { readonly name: string; readonly host: string; readonly port: number }[];
        const { host, port } = places.find(({ name }) => name.includes('far')) ?? places[0]!;
        assert.notEqual(port, places.find(({ name }) => name.includes('near'))?.port, JSON.stringify(places));
        const url = Object.assign(new URL(database.url), { host: `${host}:${port}` }).href;
        const proxy = await openProxy({ ...database, url });
        await database.query(
          'update pg_dist_node set nodename = $1, nodeport = $2 where nodename = $3 and nodeport = $4',
          ['127.0.0.1', Number(new URL(proxy.database.url).port), host, port],
        );
        return { first, second, proxy };
      },
      async ({ proxy }) => {
        proxy.restore();
        await proxy.close();
      },
    );
    return [() => made.first, () => made.second, () => made.proxy] as const;
  }

  const write = (workspace: TestWorkspace): Promise<Answer> =>
    workspace.call('notes', { method: 'POST', body: { text: 'x' } });
  const kinds = (workspace: TestWorkspace): readonly Ask[] => [
    () => write(workspace),
    () => workspace.call('notes?size=1'),
    () => workspace.call('notes/_bulk', { method: 'POST', body: { data: [{ text: 'y' }] } }),
    () =>
      workspace.call('notes', {
        method: 'POST',
        body: { text: 'z' },
        headers: { 'idempotency-key': `${Math.random()}` },
      }),
    () =>
      workspace.call('_batch', {
        method: 'POST',
        body: { operations: [{ method: 'POST', entity: 'notes', body: { text: 'b' } }] },
      }),
    () => workspace.call('notes/_export?format=csv'),
    () => workspace.call('notes/_import', { method: 'POST', body: 'text\ni', headers: { 'content-type': 'text/csv' } }),
  ];

  test('its workspaces are refused once it is known, all others are answered, and it comes back', async () => {
    for (const workspace of [far(), near()])
      for (const ask of kinds(workspace)) {
        const { status, text } = await ask();
        assert.ok(status < 300, text);
      }
    // Told by the condition of such a read that its table lies there.
    await until('reads go straight to the node', async () => {
      wire().statements();
      await far().call('notes?size=1');
      return wire()
        .statements()
        .some((text) => text.includes('pg_catalog.pg_dist_placement'));
    });
    wire().freeze();
    let isOver = false;
    const told: Answer[] = [];
    const clients = Array.from({ length: CLIENTS }, async (_, index) => {
      const asks = kinds(far());
      while (!isOver) told.push(await (asks[index % asks.length] as Ask)());
    });
    const healthy = (async () => {
      const asks = kinds(near());
      for (let turn = 0; !isOver; turn++) {
        const { status, text } = await (asks[turn % asks.length] as Ask)();
        assert.ok(status < 300, text);
      }
    })();
    const areRefused = (): boolean =>
      told.length > CLIENTS && told.slice(-CLIENTS).every(({ text }) => text.includes(AWAY));
    try {
      await Promise.race([healthy, until('all are refused', areRefused)]);
    } finally {
      isOver = true;
      await Promise.all([healthy, ...clients]);
    }
    for (const { status, text, headers } of told) {
      assert.equal(status, 503, text);
      // A write that was sent may be done when the node goes on.
      const isUnknown = text.includes('OUTCOME_UNKNOWN');
      assert.ok(isUnknown || text.includes(AWAY), text);
      assert.equal(headers.has('retry-after'), !isUnknown, text);
    }
    assert.ok(told.some(({ text }) => text.includes('OUTCOME_UNKNOWN')));
    wire().restore();
    await until('it is back', async () => (await write(far())).status === 201);
  });

  test('a worker that has all the connections that it may is not silent: what is open goes on', async () => {
    const read = (): Promise<Answer> => far().call('notes?size=1');
    const isNear = async (): Promise<boolean> => {
      wire().statements();
      await read();
      return wire()
        .statements()
        .some((text) => text.includes('pg_catalog.pg_dist_placement'));
    };
    await until('reads go straight to the node', isNear);
    wire().refuse();
    await until('it is told', async () => {
      const { text } = await server.call('/readyz', { credential: null });
      return text.includes(new URL(wire().database.url).port);
    });
    for (let turn = 0; turn < 20; turn++) {
      const { status, text } = await read();
      assert.equal(status, 200, text);
    }
    wire().restore();
  });

  const isFoundOut = (): Promise<void> =>
    until('it is found out', async () => (await far().call('notes?size=1')).text.includes(AWAY));

  test('a node that falls silent under the question whether it is there is found out all the same', async () => {
    const held = wire().hold('to_json(true)');
    await until('it is asked', held.isHeld);
    wire().freeze();
    await isFoundOut();
    wire().restore();
    await until('it is back', async () => (await write(far())).status === 201);
  });

  test('what has changed about a workspace is known while its node is silent, and costs no other anything', async () => {
    wire().freeze();
    await isFoundOut();
    for (let time = 0; time < 3; time++) {
      const changed = await far().admin('api-keys', {
        method: 'POST',
        body: { name: `k${time}`, permissions: 'OWNER' },
      });
      assert.equal(changed.status, 201, changed.text);
      const credential = changed.json.data.key;
      const refused = await far().call('notes?size=1', { credential });
      assert.ok(refused.status === 503 && refused.text.includes(AWAY), refused.text);
      assert.equal((await near().call('notes?size=1')).status, 200);
    }
    wire().restore();
    await until('it is back', async () => (await write(far())).status === 201);
  });

  test('changes of schemas that wait for a silent node keep nobody from finding it out, and end; others are refused', async () => {
    const made = await Promise.all([0, 1].map((number) => server.workspace(`acme/beside${number}`, SCHEMA)));
    const all = [far(), near(), ...made];
    const change = (workspace: TestWorkspace, field: string): Promise<Answer> =>
      workspace.admin('schema?allowDestructive=true', {
        method: 'PUT',
        body: { entities: { notes: { fields: { text: { type: 'string' }, [field]: { type: 'integer' } } } } },
      });
    // Until it is found out, more of them wait than there are connections for them.
    const held = wire().hold('to_json(true)');
    await until('it is asked', held.isHeld);
    wire().freeze();
    const waiting = all.map((workspace) => change(workspace, 'early'));
    await isFoundOut();
    const named = `A node of the cluster does not answer: 127.0.0.1:${new URL(wire().database.url).port}; retry when it is back`;
    for (const { status, text } of [
      ...(await Promise.all(all.map((workspace) => change(workspace, 'late')))),
      await server.call('/api/admin/v1/organizations/acme/workspaces', {
        credential: ADMIN_KEY,
        method: 'POST',
        body: { slug: 'new', name: 'New' },
      }),
    ])
      assert.ok(status === 503 && text.includes(named), text);
    const plan = (workspace: TestWorkspace): Promise<Answer> =>
      workspace.admin('schema/plan', { method: 'POST', body: SCHEMA });
    const refused = await plan(far());
    assert.ok(refused.status === 503 && refused.text.includes(AWAY), refused.text);
    // Begun, which it may be without that node, or given up.
    for (const { status, text } of await Promise.all(waiting)) assert.ok([202, 503].includes(status), text);
    const elsewhere = await plan(near());
    assert.equal(elsewhere.status, 200, elsewhere.text);
    wire().restore();
    for (const workspace of all)
      await until('it can be changed again', async () => (await change(workspace, 'again')).status === 200);
  });

  test('backups that wait for a silent node are refused or end, and leave their turn to those of others', async () => {
    const held = wire().hold('to_json(true)');
    await until('it is asked', held.isHeld);
    wire().freeze();
    const waiting = far().admin('backup');
    await isFoundOut();
    const refused = await far().admin('backup');
    assert.ok(refused.status === 503 && refused.text.includes(AWAY), refused.text);
    const ofAll = await server.call('/api/admin/v1/backup', { credential: ADMIN_KEY });
    assert.ok(ofAll.status === 503 && ofAll.text.includes('does not answer: 127.0.0.1:'), ofAll.text);
    assert.equal((await waiting).status, 503);
    assert.equal((await near().admin('backup')).status, 200);
    wire().restore();
    await until('it is back', async () => (await far().admin('backup')).status === 200);
  });
}
