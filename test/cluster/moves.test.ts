// Where workspaces lie in a cluster, and their moves from one node to another while requests go on.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import pg from 'pg';
import { isCluster } from '../support/citus.ts';
import { createTestDatabase } from '../support/database.ts';
import { prepare, use, useServer } from '../support/resources.ts';
import { ADMIN_KEY, type Answer, type Call, type TestWorkspace } from '../support/server.ts';
import { until } from '../support/wait-until.ts';

const skip = isCluster ? false : 'needs a Citus cluster: TEST_CITUS_WORKERS';
const SCHEMA = {
  entities: {
    notes: {
      fields: { text: { type: 'text' }, number: { type: 'integer', unique: true } },
      relations: { replies: { kind: 'hasMany', entity: 'replies', inverse: 'note' } },
    },
    replies: {
      fields: { text: { type: 'text' } },
      relations: { note: { kind: 'belongsTo', entity: 'notes', onDelete: 'cascade' } },
    },
  },
};

const server = isCluster ? useServer() : undefined;
const other = server && useServer({}, server);
const shop = server && use(() => server.workspace('acme/shop', SCHEMA));
const blog = server && use(() => server.workspace('acme/blog', SCHEMA));
let workers: readonly string[] = [];

const operator = (path: string, call: Call = {}): Promise<Answer> =>
  server!.call(`/api/admin/v1${path}`, { credential: ADMIN_KEY, ...call });

async function nodeOf(path: string): Promise<string> {
  const { data } = (await operator('/cluster/workspaces')).json;
  return data.find((one: Record<string, string>) => `${one.organization}/${one.workspace}` === path)?.node;
}

const elsewhere = async (path: string): Promise<string> => {
  const now = await nodeOf(path);
  return workers.find((name) => name !== now) as string;
};

const move = (workspace: TestWorkspace, node: string): Promise<Answer> =>
  workspace.admin('moves', { method: 'POST', body: { node } });

/** The move once it has ended. */
async function ended(id: number): Promise<Record<string, unknown>> {
  let last: Record<string, unknown> = {};
  await until(`move ${id} has ended`, async () => {
    last = (await operator(`/cluster/moves/${id}`)).json.data;
    return last.state !== 'pending' && last.state !== 'running';
  });
  return last;
}

prepare(async () => {
  if (!isCluster) return;
  const { nodes } = (await operator('/cluster')).json.data;
  workers = nodes
    .filter((one: Record<string, unknown>) => one.takesWorkspaces)
    .map((one: { name: string }) => one.name);
});

test('the status has the nodes with what lies on them', { skip }, async () => {
  const answer = await operator('/cluster');
  assert.equal(answer.status, 200, answer.text);
  const { engine, version, nodes } = answer.json.data;
  assert.equal(engine, 'citus');
  assert.match(version, /^\d+\.\d+-\d+$/);
  assert.deepEqual(
    nodes.map(({ role, state }: Record<string, string>) => [role, state]),
    [['coordinator', 'up'], ...workers.map(() => ['worker', 'up'])],
  );
  assert.equal(
    nodes.reduce((sum: number, one: { workspaces: number }) => sum + one.workspaces, 0),
    2,
  );
  assert.ok(
    nodes.every((one: { workspaces: number; bytes: number }) => one.workspaces > 0 === one.bytes > 0),
    answer.text,
  );
  const there = await operator(`/cluster/workspaces?node=${await nodeOf('acme/shop')}`);
  assert.ok(there.json.data.some((one: Record<string, unknown>) => one.workspace === 'shop' && Number(one.bytes) > 0));
  const nowhere = await operator('/cluster/workspaces?node=nowhere:1');
  assert.equal(nowhere.status, 400);
});

test('a node that there is not is refused with those that there are', { skip }, async () => {
  const answer = await move(shop!, '127.0.0.1:1');
  assert.equal(answer.status, 400, answer.text);
  for (const name of workers) assert.ok(answer.json.error.message.includes(name), answer.text);
});

test('to the node where it lies there is nothing to do', { skip }, async () => {
  const answer = await move(shop!, await nodeOf('acme/shop'));
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.json.data.node, await nodeOf('acme/shop'));
  assert.equal((await operator('/cluster/moves')).json.data.length, 0);
});

test('a move under load loses nothing and fails no request', { skip }, async () => {
  const [{ id: note }] = await shop!.create('notes', [{ text: 'first', number: 0 }]);
  let stopped = false;
  let next = 0;
  const stored = new Map<number, number>();
  const refused = new Set<string>();
  const seen = (answer: Answer, ...statuses: number[]): Answer => {
    if (!statuses.includes(answer.status)) refused.add(answer.text);
    return answer;
  };
  const via = (which: number, path: string, call?: Call): Promise<Answer> =>
    which % 2 === 0
      ? shop!.call(path, call)
      : other!.call(`/api/v1/acme/shop/${path}`, { credential: shop!.key, ...call });
  async function client(which: number): Promise<void> {
    while (!stopped) {
      const number = ++next;
      const made = seen(await via(which, 'notes', { method: 'POST', body: { text: 'x', number } }), 201);
      const { id } = made.json.data;
      assert.ok(!stored.has(id), `id ${id} was given twice`);
      stored.set(id, number);
      const read = seen(await via(which, `notes/${id}?expand=replies`), 200);
      const tag = read.headers.get('etag') as string;
      // 412: the move has begun or ended in between.
      const body = { text: 'y' };
      seen(await via(which, `notes/${id}`, { method: 'PUT', headers: { 'if-match': tag }, body }), 200, 412);
      seen(await via(which, 'replies', { method: 'POST', body: { text: 'r', noteId: note } }), 201);
      seen(await via(which, 'notes?sort=number,desc&size=5'), 200);
    }
  }
  const clients = [0, 1, 2, 3].map(client);
  await until('records of before the move', () => stored.size > 10);
  const { nextCursor } = (await shop!.call('notes?size=1')).json.meta;
  const target = await elsewhere('acme/shop');
  const before = stored.size;
  const begun = await move(shop!, target);
  assert.equal(begun.status, 202, begun.text);
  assert.equal(begun.headers.get('location'), `/api/admin/v1/cluster/moves/${begun.json.data.id}`);
  const end = await ended(begun.json.data.id);
  await until('writes after the move', () => stored.size > before + 50);
  stopped = true;
  await Promise.all(clients);
  assert.equal(end.state, 'succeeded', JSON.stringify(end));
  assert.equal(await nodeOf('acme/shop'), target);
  assert.deepEqual([...refused], []);
  const kept = new Map<number, number>();
  // A cursor of before goes on.
  kept.set(note, 0);
  for (let after: string | null = nextCursor; after !== null; ) {
    const { json, text }: Answer = await shop!.call(`notes?size=500&after=${after}`);
    for (const one of json.data ?? assert.fail(text)) kept.set(one.id, one.number);
    after = json.meta.nextCursor;
  }
  for (const [id, number] of stored) assert.equal(kept.get(id), number);
  assert.equal(kept.size, stored.size + 1);
});

test('a tag of before a move is never right after it', { skip }, async () => {
  const [{ id }] = await blog!.create('notes', [{ text: 'a' }]);
  const tag = (await blog!.call(`notes/${id}`)).headers.get('etag') as string;
  const target = await elsewhere('acme/blog');
  const { data } = (await move(blog!, target)).json;
  assert.equal((await ended(data.id)).state, 'succeeded');
  const write = (etag: string): Promise<Answer> =>
    blog!.call(`notes/${id}`, { method: 'PUT', headers: { 'if-match': etag }, body: { text: 'b' } });
  // Also where the row on the new node has the number of the old one: only the rest of the version tells them apart.
  const fresh = (await blog!.call(`notes/${id}`)).headers.get('etag') as string;
  const [, version = '', rest = ''] = /^"(\d+)(-.*)"$/.exec(tag) ?? [];
  const number = /^"(\d+)/.exec(fresh)?.[1];
  assert.notEqual(version, '');
  assert.equal((await write(tag)).status, 412);
  assert.equal((await write(`"${number}${rest}"`)).status, 412);
  assert.equal((await write(fresh)).status, 200);
});

test('a role that a move of another database left behind is no end of this one', { skip }, async () => {
  const { database } = server!;
  const target = await elsewhere('acme/blog');
  const [row] = await database.query(
    `select format('citus_shard_move_subscription_role_%s_%s', current_user::regrole::oid,
       setval('pg_dist_operationid_seq', $1) + 1) as role`,
    [Date.now()],
  );
  // Citus gives roles names of numbers that each database counts by itself, and roles are of all databases.
  const client = new pg.Client({ connectionString: Object.assign(new URL(database.url), { host: target }).href });
  await client.connect();
  await client.query('set citus.enable_ddl_propagation to off');
  await client.query(`create role ${row?.role}`);
  const begun = await move(blog!, target);
  const { state, error } = await ended(begun.json.data.id);
  await client.query(`drop role ${row?.role}`);
  await client.end();
  assert.deepEqual([state, error], ['succeeded', null]);
  assert.equal(await nodeOf('acme/blog'), target);
});

test('a move is shown while another database of the same nodes has one, too', { skip }, async () => {
  const neighbor = await createTestDatabase();
  const holder = new pg.Client({ connectionString: neighbor.url });
  let moved: Promise<unknown> | undefined;
  try {
    const target = await elsewhere('acme/blog');
    // Numbers of which nothing is known in the database of the server: of its shards, and of the roles of its moves.
    for (const name of ['shardid', 'operationid'])
      await neighbor.query(`select setval('pg_dist_${name}_seq', $1)`, [Date.now()]);
    await neighbor.query('create schema there');
    await neighbor.query("select citus_schema_distribute('there')");
    await neighbor.query('create table there.things (id int primary key)');
    const [place] = await neighbor.query('select nodeport as port from citus_shards');
    const [host, port] = workers.find((name) => !name.endsWith(`:${place?.port}`))?.split(':') ?? [];
    // Copying begins when no transaction of before it is open.
    await holder.connect();
    await holder.query('begin');
    await holder.query('insert into there.things values (1)');
    moved = neighbor.query("select citus_schema_move('there', $1, $2, 'force_logical')", [host, port]);
    // Whatever becomes of it.
    moved.catch(() => undefined);
    const { data } = (await move(blog!, target)).json;
    const seen = new Set<string>();
    await until('it has been seen three times while it runs', async () => {
      const answer = await operator(`/cluster/moves/${data.id}`);
      assert.equal(answer.status, 200, answer.text);
      assert.equal((await operator('/cluster/moves')).status, 200);
      if (answer.json.data.state === 'running') seen.add(answer.headers.get('x-request-id') as string);
      return seen.size === 3;
    });
    await holder.query('rollback');
    assert.equal((await ended(data.id)).state, 'succeeded');
  } finally {
    await holder.end();
    await moved?.catch(() => undefined);
    await neighbor.drop();
  }
});

test('while it moves the schema is held, and a version names the table', { skip }, async () => {
  const [{ id }] = await blog!.create('notes', [{ text: 'held' }]);
  const { database } = server!;
  await database.query("update wda.workspace set moves = moves + 1 where slug = 'blog'");
  await until('the process knows', async () => {
    const tag = (await blog!.call(`notes/${id}`)).headers.get('etag') as string;
    return /^"\d+:\d+-[0-9a-f]{8}-\d+\./.test(tag);
  });
  const write = (tag: string | null, body: unknown): Promise<Answer> =>
    blog!.call(`notes/${id}`, { method: 'PUT', headers: { 'if-match': tag as string }, body });
  const first = await write((await blog!.call(`notes/${id}`)).headers.get('etag'), { text: 'one' });
  assert.equal(first.status, 200, first.text);
  const second = await write(first.headers.get('etag'), { text: 'two' });
  assert.equal(second.status, 200, second.text);
  const made = await blog!.call('notes', { method: 'POST', body: { text: 'new' } });
  const deleted = await blog!.call(`notes/${made.json.data.id}`, {
    method: 'DELETE',
    headers: { 'if-match': made.headers.get('etag') as string },
  });
  assert.equal(deleted.status, 204, deleted.text);
  await database.query("update wda.workspace set moves = moves + 1 where slug = 'blog'");
});

test('a move waits for the lock of its workspace, which nobody else gets then, and can be cancelled', {
  skip,
}, async () => {
  const { database } = server!;
  const lock = "(x'776461'::int8 << 40) + id";
  await database.query(`select pg_advisory_lock(${lock}) from wda.workspace where slug = 'blog'`);
  const target = await elsewhere('acme/blog');
  const { data } = (await move(blog!, target)).json;
  const second = await move(blog!, target);
  assert.equal(second.status, 409, second.text);
  assert.equal(second.json.error.code, 'SCHEMA_MIGRATION_IN_PROGRESS');
  await database.query("update wda.workspace set moves = moves + 1 where slug = 'blog'");
  const change = await blog!.admin('schema', { method: 'PUT', body: SCHEMA });
  assert.equal(change.status, 409, change.text);
  const cancelled = await operator(`/cluster/moves/${data.id}/cancel`, { method: 'POST' });
  assert.equal(cancelled.json.data.state, 'cancelled', cancelled.text);
  assert.equal((await operator(`/cluster/moves/${data.id}/cancel`, { method: 'POST' })).status, 409);
  await database.query(`select pg_advisory_unlock(${lock}) from wda.workspace where slug = 'blog'`);
  assert.notEqual(await nodeOf('acme/blog'), target);
  // As after the death of a process: versions of tables, and nobody at work. The next move goes on.
  const again = (await move(blog!, target)).json.data;
  assert.equal((await ended(again.id)).state, 'succeeded');
  const [row] = await database.query("select moves from wda.workspace where slug = 'blog'");
  assert.equal((row?.moves as number) % 2, 0);
});

test('a move back waits until nobody reads the tables that the move away has left', { skip }, async () => {
  const source = await nodeOf('acme/blog');
  const reader = new pg.Client({
    connectionString: Object.assign(new URL(server!.database.url), { host: source }).href,
  });
  await reader.connect();
  await reader.query('set citus.override_table_visibility = off');
  const [shard] = await server!.database.query(
    "select shard_name(logicalrelid, shardid) as name from pg_dist_shard where logicalrelid = 'ws2_blog.notes'::regclass",
  );
  await reader.query('begin');
  await reader.query(`select from ${shard?.name} limit 0`);
  const isDropWaiting = async (): Promise<boolean> => {
    const { rows } = await reader.query(
      "select from pg_locks where locktype = 'relation' and relation = $1::regclass and not granted",
      [shard?.name],
    );
    return rows.length > 0;
  };
  const away = await move(blog!, await elsewhere('acme/blog'));
  assert.equal((await ended(away.json.data.id)).state, 'succeeded');
  const back = await move(blog!, source);
  await until('the tables are to be dropped', isDropWaiting);
  await until('the drop has given up', async () => !(await isDropWaiting()));
  await reader.end();
  const { state, error } = await ended(back.json.data.id);
  assert.deepEqual([state, error], ['succeeded', null]);
  assert.equal(await nodeOf('acme/blog'), source);
});

test('two small workspaces are moved at the same time', { skip }, async () => {
  const [full, empty] = workers as [string, string];
  for (const workspace of [shop!, blog!]) {
    const begun = await move(workspace, full);
    if (begun.status === 202) await ended(begun.json.data.id);
  }
  // A copy begins when no transaction of before it is open on the node.
  const holder = new pg.Client({ connectionString: Object.assign(new URL(server!.database.url), { host: full }).href });
  await holder.connect();
  await holder.query('begin');
  await holder.query('select pg_current_xact_id()');
  const ids: number[] = [];
  try {
    for (const workspace of [shop!, blog!]) ids.push((await move(workspace, empty)).json.data.id);
    await until('both are running', async () => {
      const { data } = (await operator('/cluster/moves')).json;
      return data.filter(({ state }: { state: string }) => state === 'running').length === 2;
    });
  } finally {
    await holder.end();
  }
  for (const id of ids) assert.equal((await ended(id)).state, 'succeeded');
});

test('a rebalance moves what is on a node that takes no workspaces', { skip }, async () => {
  const { database } = server!;
  const [full, empty] = workers as [string, string];
  for (const workspace of [shop!, blog!]) {
    const begun = await move(workspace, full);
    if (begun.status === 202) await ended(begun.json.data.id);
  }
  const allow = (value: boolean): Promise<unknown> => {
    const [host, port] = full.split(':');
    return database.query('select citus_set_node_property($1, $2, $3, $4)', [host, port, 'shouldhaveshards', value]);
  };
  await allow(false);
  const plan = (await operator('/cluster/plan')).json.data;
  assert.deepEqual(
    plan.moves.map((one: Record<string, unknown>) => [one.from, one.to]),
    [
      [full, empty],
      [full, empty],
    ],
  );
  const begun = await operator('/cluster/rebalance', { method: 'POST' });
  assert.equal(begun.status, 202, begun.text);
  for (const { id } of begun.json.data) assert.equal((await ended(id)).state, 'succeeded');
  await allow(true);
  const { nodes } = (await operator('/cluster')).json.data;
  assert.deepEqual(
    nodes.map(({ workspaces }: { workspaces: number }) => workspaces),
    [0, 0, 2],
  );
});

test('without one of its nodes a cluster answers for the others, and says which one it is', { skip }, async () => {
  const { database } = server!;
  const [shopNode, blogNode] = workers as [string, string];
  for (const [workspace, node] of [
    [shop!, shopNode],
    [blog!, blogNode],
  ] as const) {
    const begun = await move(workspace, node);
    if (begun.status === 202) await ended(begun.json.data.id);
  }
  const port = Number(blogNode.split(':')[1]);
  const ready = (): Promise<Answer> => server!.call('/readyz', { credential: null });
  assert.deepEqual((await ready()).json, { status: 'ready' });
  // In the catalog of this database alone: nobody listens on port 1.
  await database.query('update pg_dist_node set nodeport = 1 where nodeport = $1', [port]);
  await until('a read of the other node is refused', async () => (await blog!.call('notes')).status === 503);
  const asKeyed = (call: Call): Call => ({ ...call, headers: { 'idempotency-key': randomUUID() } });
  const writes: readonly (readonly [string, Call])[] = [
    ['notes', { method: 'POST', body: { text: 'a' } }],
    ['notes/1', { method: 'PUT', body: { text: 'b' } }],
    ['notes/99999', { method: 'DELETE' }],
    ['notes/_bulk', { method: 'PATCH', body: { data: [{ id: 1, text: 'c' }] } }],
    ['notes/_bulk?ids=99999', { method: 'DELETE' }],
    ['_batch', { method: 'POST', body: { operations: [{ method: 'POST', entity: 'notes', body: { text: 'a' } }] } }],
  ];
  for (const [path, call] of [
    ['notes', {}],
    ['notes/1', {}],
    ...writes,
    ...writes.map(([path, call]) => [path, asKeyed(call)] as const),
  ] as const) {
    const refused = await blog!.call(path, call);
    assert.equal(refused.status, 503, refused.text);
    assert.equal(refused.json.error.code, 'SERVICE_UNAVAILABLE', refused.text);
    assert.equal(refused.headers.get('retry-after'), '2');
    const served = await shop!.call(path, call);
    assert.ok([200, 201, 204, 404].includes(served.status), `${path} ${served.text}`);
  }
  await until('the node is named', async () => (await ready()).json.nodesDown?.[0] === '127.0.0.1:1');
  assert.equal((await ready()).status, 200);
  assert.match(await server!.metrics(), /wda_cluster_nodes\{[^}]*kind="down"[^}]*\} 1/);
  const states = (await operator('/cluster')).json.data.nodes.map(({ state }: { state: string }) => state);
  const plan = await operator('/cluster/plan');
  const made = await operator('/organizations/acme/workspaces', { method: 'POST', body: { slug: 'new' } });
  await database.query('update pg_dist_node set nodeport = $1 where nodeport = 1', [port]);
  assert.deepEqual(states.sort(), ['down', 'up', 'up']);
  for (const refused of [plan, made]) {
    assert.equal(refused.status, 503, refused.text);
    assert.match(refused.json.error.message, /127\.0\.0\.1:1;/);
  }
  await until('all are up again', async () => (await ready()).json.nodesDown === undefined);
  assert.equal((await blog!.call('notes')).status, 200);
});
