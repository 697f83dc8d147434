// Updates and deletions of more than 10,000 records: jobs, which are shown, cancelled, interrupted and refused.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import pg from 'pg';
import { connectAgent } from '../../support/agent.ts';
import { prepare, use, useServer } from '../../support/resources.ts';
import { ADMIN_KEY, type Answer } from '../../support/server.ts';
import { until } from '../../support/wait-until.ts';

const ITEMS = {
  fields: {
    name: { type: 'string', maxLength: 8 },
    stock: { type: 'integer', min: 0 },
    other: { type: 'integer' },
    owner: { type: 'integer' },
  },
  settings: { changes: 'feed' },
  grants: [
    { role: 'seller', can: ['read', 'update'], where: { field: 'owner', op: 'eq', value: { claim: 'owner' } } },
    { role: 'reader', can: ['read'] },
  ],
};
const SCHEMA = {
  roles: ['seller', 'reader'],
  entities: { items: ITEMS, notes: { fields: { text: { type: 'string' } } } },
};
const COUNT = 10_100;
const ALL = { all: true };

const server = useServer();
const shop = use(() => server.workspace('t/jobs', SCHEMA));
let schema: string;
let workspaceId: string;

const query = (text: string) => server.database.query(text);
const post = (path: string, body: unknown, options: object = {}): Promise<Answer> =>
  shop.call(path, { method: 'POST', body, ...options });
const update = (set: unknown, options: object = {}, filter: unknown = ALL): Promise<Answer> =>
  post('items/_update', { filter, set, max: 20_000 }, options);
const started = ({ status, json, headers, text }: Answer): number => {
  assert.equal(status, 202, text);
  assert.equal(headers.get('location'), `/api/v1/t/jobs/_jobs/${json.data.id}`);
  return json.data.id;
};
const show = async (id: number, options: object = {}) => (await shop.call(`_jobs/${id}`, options)).json.data;

async function ended(id: number) {
  await until('the job ends', async () => (await show(id)).state !== 'running');
  return show(id);
}

/** Lets jobs of the workspace wait for some that are never due. */
async function park(count = 1): Promise<() => Promise<void>> {
  await query(`insert into wda.write_job (workspace_id, entity, operation, owner, matched, due_at)
    select ${workspaceId}, 0, 'update', 'parked', 0, 'infinity' from generate_series(1, ${count})`);
  return async () => void (await query("delete from wda.write_job where owner = 'parked'"));
}

prepare(async () => {
  const [row] = await query("select id, database_schema from wda.workspace where slug = 'jobs'");
  [workspaceId, schema] = [String(row?.id), String(row?.database_schema)];
  const lines = Array.from({ length: COUNT }, () => '{"stock":5,"owner":1}').join('\n');
  const { status, text } = await shop.call('items/_import', {
    method: 'POST',
    body: lines,
    headers: { 'Content-Type': 'application/x-ndjson' },
  });
  assert.equal(status, 200, text);
});

const sum = async (field: string): Promise<number> =>
  (await shop.call(`items/_aggregate?select=sum:${field}`)).json.data[0][`sum:${field}`];

describe('an update of more than 10,000 records', () => {
  test('says so in the dry run, which tries the first records', async () => {
    const body = { filter: ALL, set: { stock: { $inc: 1 } }, max: COUNT };
    const { status, json, text } = await post('items/_update?dryRun=true', body);
    assert.deepEqual([status, json], [200, { data: { matched: COUNT }, meta: { dryRun: true, job: true } }], text);
    const wrong = await post('items/_update?dryRun=true', { ...body, set: { stock: { $inc: -6 } } });
    assert.equal(wrong.status, 400);
    assert.equal(await sum('stock'), 5 * COUNT);
    const tooMany = await post('items/_update', { ...body, max: COUNT - 1 });
    assert.deepEqual([tooMany.status, tooMany.json.error.reason], [409, 'TOO_MANY_MATCHES']);
    assert.deepEqual((await shop.call('_jobs')).json, { data: [] });
  });

  test('is a job, which changes each of them once, with its sender in the feed', async () => {
    const { cursor } = (await shop.call('items/_changes')).json.meta;
    const headers = { 'Idempotency-Key': 'job', 'X-Request-Id': 'of-the-job' };
    const first = await update({ stock: { $inc: 1 } }, { headers });
    const id = started(first);
    const { createdAt, ...data } = first.json.data;
    assert.deepEqual(data, {
      id,
      operation: 'update',
      entity: 'items',
      state: 'running',
      matched: COUNT,
      processed: 0,
      updated: 0,
      error: null,
      endedAt: null,
    });
    const second = await update({ stock: { $inc: 1 } }, { headers });
    assert.deepEqual([started(second), second.headers.get('idempotent-replayed')], [id, 'true']);
    const job = await ended(id);
    assert.deepEqual([job.state, job.processed, job.updated, job.error], ['succeeded', COUNT, COUNT, null]);
    assert.equal(job.createdAt, createdAt);
    assert.equal(await sum('stock'), 6 * COUNT);
    const events = (await shop.call(`items/_changes?after=${cursor}&size=1000`)).json.data;
    assert.equal(events.length, 1000);
    assert.deepEqual(new Set(events.map(({ transaction }: { transaction: string }) => transaction)).size, 1);
    assert.deepEqual([events[0].actor.kind, events[0].actor.via], ['key', 'api']);
    const [left] = await query(`select count(*)::int4 as count from wda.write_job_batch`);
    const [row] = await query(`select sender, body from wda.write_job where id = ${id}`);
    assert.deepEqual([left, row], [{ count: 0 }, { sender: null, body: null }]);
  });

  test('ends with the error of the first record that would be wrong, and says how far it was', async () => {
    await query(`update "${schema}".items set stock = 0 where id = 2500`);
    const job = await ended(started(await update({ stock: { $inc: -1 } })));
    assert.deepEqual([job.state, job.processed, job.updated], ['failed', 2000, 2000]);
    assert.equal(job.error.code, 'VALIDATION_FAILED');
    assert.deepEqual(job.error.details[0], {
      id: 2500,
      field: 'stock',
      code: 'OUT_OF_RANGE',
      message: 'must be at least 0',
    });
    await query(`update "${schema}".items set stock = 6`);
  });

  test('goes on where it was when its process has ended', async () => {
    const client = new pg.Client({ connectionString: server.database.url });
    await client.connect();
    try {
      await client.query(`begin; select from "${schema}".items where id = 3500 for update`);
      const id = started(await update({ stock: { $inc: 1 } }));
      await until('a batch waits', async () => {
        const [row] = await query(`select attempts from wda.write_job where id = ${id} and lease is null`);
        return Number(row?.attempts) > 0;
      });
      assert.equal((await show(id)).processed, 3000);
      // What a process leaves that is killed in the middle of a batch.
      await query(
        `update wda.write_job set lease = gen_random_uuid(), lease_until = now() - interval '1 s', due_at = now() where id = ${id}`,
      );
      await client.query('rollback');
      const job = await ended(id);
      assert.deepEqual([job.state, job.updated, await sum('stock')], ['succeeded', COUNT, 7 * COUNT]);
    } finally {
      await client.end();
    }
  });

  test('waits while the workspace is read-only', async () => {
    const unpark = await park();
    const id = started(await update({ stock: { $inc: 0 } }));
    const put = async (state: string) =>
      assert.equal((await shop.admin('', { method: 'PUT', body: { state } })).status, 200);
    await put('readOnly');
    await unpark();
    await until('the job waits', async () => {
      const [row] = await query(`select attempts from wda.write_job where id = ${id} and lease is null`);
      return Number(row?.attempts) > 0;
    });
    await put('active');
    assert.deepEqual((await ended(id)).state, 'succeeded');
  });

  test('can be cancelled, and leaves records alone that match no more when their turn comes', async () => {
    const unpark = await park();
    const cancelled = started(await update({ other: 1 }));
    const id = started(await update({ other: 2 }, {}, { field: 'stock', op: 'eq', value: 7 }));
    const { status, json } = await shop.call(`_jobs/${cancelled}/cancel`, { method: 'POST' });
    assert.deepEqual([status, json.data.state, json.data.processed], [200, 'cancelled', 0]);
    assert.equal(typeof json.data.endedAt, 'string');
    await query(`update "${schema}".items set stock = 8 where id = 1; delete from "${schema}".items where id = 2`);
    await unpark();
    const job = await ended(id);
    assert.deepEqual([job.matched, job.processed, job.updated], [COUNT, COUNT, COUNT - 2]);
    assert.equal(await sum('other'), 2 * (COUNT - 2));
    assert.equal((await shop.call(`_jobs/${id}/cancel`, { method: 'POST' })).json.data.state, 'succeeded');
  });
});

describe('the rights of a job are those of the moment', () => {
  const ended401 = ['failed', 0, 'INVALID_CREDENTIAL'];

  async function makeKey(role: string, claims: object): Promise<{ id: number; key: string }> {
    const body = { name: role, permissions: 'GRANTS', roles: [role], claims };
    return (await shop.admin('api-keys', { method: 'POST', body })).json.data;
  }

  test('a key that is deleted meanwhile ends it', async () => {
    const seller = await makeKey('seller', { owner: 1 });
    const unpark = await park();
    const id = started(await update({ other: 3 }, { credential: seller.key }));
    assert.equal((await show(id, { credential: seller.key })).state, 'running');
    assert.equal(
      (await shop.call(`_jobs/${id}`, { credential: shop.readWriteKey })).json.error.reason,
      'JOB_NOT_FOUND',
    );
    assert.deepEqual((await shop.call('_jobs', { credential: shop.readWriteKey })).json.data, []);
    assert.equal((await shop.admin(`api-keys/${seller.id}`, { method: 'DELETE' })).status, 204);
    await unpark();
    const job = await ended(id);
    assert.deepEqual([job.state, job.processed, job.error.reason], ended401);
  });

  test('records that its grants hide since then are left alone', async () => {
    const seller = await makeKey('seller', { owner: 1 });
    const unpark = await park();
    const id = started(await update({ other: 4 }, { credential: seller.key }));
    await query(`update "${schema}".items set owner = 2 where id > 5000`);
    await unpark();
    const job = await ended(id);
    assert.deepEqual([job.state, job.updated], ['succeeded', 4999]);
    await query(`update "${schema}".items set owner = 1`);
  });
});

describe('a job of an agent', () => {
  const QUESTION = /confirmation "([^"]+)"/;
  const serve = async (body: object): Promise<void> =>
    assert.equal((await shop.admin('mcp', { method: 'PUT', body })).status, 200);

  for (const [name, change, reason] of [
    ['that may not write any more', { writes: 'off' }, 'AGENTS_READ_ONLY'],
    ['that does not reach its entity any more', { entities: ['notes'] }, 'UNKNOWN_ENTITY'],
  ] as const)
    test(`${name} ends`, async () => {
      await serve({ enabled: true, writes: 'confirm', entities: null });
      const agent = await connectAgent(server, shop.path, shop.readWriteKey);
      const args = { entity: 'items', filter: ALL, set: { other: 6 }, max: 20_000 };
      const [, confirmation] = QUESTION.exec(await agent.text('update_matching_records', args)) ?? [];
      const unpark = await park();
      await agent.text('update_matching_records', { ...args, confirmation });
      await agent.close();
      const [row] = await query('select max(id)::int4 as id from wda.write_job where owner <> $$parked$$');
      await serve(change);
      await unpark();
      const job = await ended(Number(row?.id));
      assert.deepEqual([job.state, job.updated, job.error?.reason], ['failed', 0, reason], JSON.stringify(job));
    });
});

describe('a schema change', () => {
  const put = async (body: unknown) => {
    const { status, text } = await shop.admin('schema?allowDestructive=true', { method: 'PUT', body });
    assert.ok(status < 300, text);
  };

  test('lets a job go on when its entity has another name, and ends it when a field is renamed', async () => {
    const unpark = await park();
    const renamed = started(await update({ stock: { $inc: 1 } }));
    const { items, ...others } = SCHEMA.entities;
    await put({ ...SCHEMA, entities: { goods: { ...items, renamedFrom: 'items' }, ...others } });
    await unpark();
    const job = await ended(renamed);
    assert.deepEqual([job.state, job.entity, job.updated], ['succeeded', 'goods', COUNT - 1], JSON.stringify(job));
    await put({ ...SCHEMA, entities: { items: { ...items, renamedFrom: 'goods' }, ...others } });

    const unparkAgain = await park();
    const reused = started(await update({ other: 5 }));
    const { other: field, ...rest } = ITEMS.fields;
    const fields = { ...rest, another: { ...field, renamedFrom: 'other' } };
    await put({ ...SCHEMA, entities: { items: { ...items, fields }, ...others } });
    await unparkAgain();
    const failed = await show(reused);
    assert.deepEqual([failed.state, failed.error.reason], ['failed', 'JOB_SCHEMA_CHANGED'], JSON.stringify(failed));
  });

  test('in the middle of a batch, of the entity or of the workspace, only delays a job that a new name is for', async () => {
    await put(SCHEMA);
    const { items, ...others } = SCHEMA.entities;
    const rename = async (slug: string, from: string): Promise<void> => {
      const path = `/api/admin/v1/organizations/t/workspaces/${from}`;
      const { status, text } = await server.call(path, { method: 'PUT', body: { slug }, credential: ADMIN_KEY });
      assert.equal(status, 200, text);
    };
    for (const [change, undo] of [
      [
        () => put({ ...SCHEMA, entities: { goods: { ...items, renamedFrom: 'items' }, ...others } }),
        () => put({ ...SCHEMA, entities: { items: { ...items, renamedFrom: 'goods' }, ...others } }),
      ],
      [() => rename('renamed-jobs', 'jobs'), () => rename('jobs', 'renamed-jobs')],
    ] as const) {
      const before = await sum('stock');
      const unpark = await park();
      const id = started(await update({ stock: { $inc: 1 } }));
      const client = new pg.Client({ connectionString: server.database.url });
      await client.connect();
      try {
        // The batch waits for the key of its sender, and has read the names.
        await client.query('begin; lock table wda.api_key in access exclusive mode');
        await unpark();
        await until('the batch waits', async () => {
          const [row] = await query(
            "select count(*)::int4 as count from pg_locks where relation = 'wda.api_key'::regclass and not granted",
          );
          return Number(row?.count) > 0;
        });
        await change();
        await client.query('rollback');
      } finally {
        await client.end();
      }
      await until('the job ends', async () => {
        const [row] = await query(`select state from wda.write_job where id = ${id}`);
        return row?.state !== 'running';
      });
      await undo();
      const job = await show(id);
      assert.deepEqual([job.state, job.error, job.updated], ['succeeded', null, COUNT - 1]);
      assert.equal(await sum('stock'), before + COUNT - 1);
    }
  });

  test('ends a job whose entity it removes', async () => {
    const unpark = await park();
    const id = started(await post('items/_delete', { filter: ALL, max: 20_000 }));
    const { items: _, ...others } = SCHEMA.entities;
    await put({ ...SCHEMA, entities: others });
    await unpark();
    const job = await ended(id);
    assert.deepEqual([job.state, job.entity, job.error.reason], ['failed', null, 'UNKNOWN_ENTITY']);
  });
});

describe('a deletion of more than 10,000 records', () => {
  test('is a job, of which a workspace has ten at a time', async () => {
    await query(`insert into "${schema}".notes (text) select 'x' from generate_series(1, 10001)`);
    const body = { filter: { field: 'text', op: 'eq', value: 'x' }, max: 10_001 };
    const unpark = await park(10);
    const refused = await post('notes/_delete', body);
    assert.deepEqual([refused.status, refused.json.error.reason], [409, 'TOO_MANY_JOBS']);
    await unpark();
    const job = await ended(started(await post('notes/_delete', body)));
    assert.deepEqual([job.state, job.operation, job.deleted], ['succeeded', 'delete', 10_001]);
    assert.equal((await shop.call('notes')).json.meta.totalElements, 0);
  });
});

test('what is no job, or none of the workspace, is refused', async () => {
  for (const [path, method, status, reason] of [
    ['_jobs/x', 'GET', 400, 'MALFORMED_ID'],
    ['_jobs/999999', 'GET', 404, 'JOB_NOT_FOUND'],
    [`_jobs/${'9'.repeat(30)}`, 'GET', 404, 'JOB_NOT_FOUND'],
    ['_jobs/999999/cancel', 'POST', 404, 'JOB_NOT_FOUND'],
    ['_jobs/1', 'DELETE', 405, 'METHOD_NOT_ALLOWED'],
    ['_jobs/1/cancel', 'GET', 405, 'METHOD_NOT_ALLOWED'],
    ['_jobs/1/resume', 'POST', 404, 'PATH_NOT_FOUND'],
    ['_jobs?state=failed', 'GET', 400, 'UNKNOWN_PARAMETER'],
  ] as const) {
    const answer = await shop.call(path, { method });
    assert.deepEqual([answer.status, answer.json.error.reason], [status, reason], path);
  }
  const other = await server.workspace('t/other-jobs', { entities: {} });
  const [row] = await query('select max(id) as id from wda.write_job');
  assert.equal((await other.call(`_jobs/${row?.id}`)).status, 404);
});
