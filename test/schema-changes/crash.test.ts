// Whatever dies in the middle of a migration, and wherever: the entity stays available in its old shape, nothing that was
// acknowledged is lost, and soon nothing is left of the attempt.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applySchemaTo, ended, type Json, LASTING_TRIGGERS, schemaOf, shardInventory } from '../support/migration.ts';
import { type Hold, holdAt, holdRecord, prepareHolds } from '../support/paused-migration.ts';
import { prepare, use, useServer } from '../support/resources.ts';
import { type ServerProcess, startServerProcess } from '../support/server-process.ts';
import { makeTraffic } from '../support/traffic.ts';
import { until } from '../support/wait-until.ts';

const RECORDS = 3000;

const BEFORE = {
  entities: {
    customers: { fields: { name: { type: 'string' } } },
    orders: {
      fields: {
        code: { type: 'string', index: true },
        amount: { type: 'string' },
        note: { type: 'string', maxLength: 200 },
      },
    },
  },
};

/** A step of every kind: table, check in place of another, second column with triggers, generated values, relation, unique index, search index. */
const AFTER = {
  entities: {
    customers: { fields: { name: { type: 'string' } } },
    tags: { fields: { label: { type: 'string', unique: true } } },
    orders: {
      fields: {
        code: { type: 'string', index: true },
        amount: { type: 'decimal', precision: 12, scale: 2, min: 0, required: true, unique: true },
        note: { type: 'string', maxLength: 100, searchable: true, index: 'substring' },
        token: { type: 'uuid', default: 'uuid', required: true },
      },
      relations: { customer: { kind: 'belongsTo', entity: 'customers' } },
    },
  },
};

const ddl = (like: string): Hold => ({ kind: 'ddl', like });

/** In the order in which a migration comes to them. */
const STEPS: Readonly<Record<string, Hold>> = {
  'a new table': ddl('create table%tags%'),
  'a check that is not yet valid': ddl('%note$ck_length$next%not valid%'),
  'a second column': ddl('%add column "amount$%'),
  'the second of two triggers': ddl('create trigger "~u%'),
  'a column with a foreign key': ddl('%add column "customerId"%'),
  'the default of generated values': ddl('%alter column "token" set default%'),
  'a batch of values': { kind: 'record' },
  'the start of an index': ddl('create unique index concurrently%amount%'),
  'an index that is not yet valid': { kind: 'snapshot' },
  'a check for null': ddl('%"amount$%is not null) not valid'),
  'the start of a search index': ddl('create index concurrently%words%'),
  'the look at existing records': ddl('%validate constraint%amount%ck_range%'),
  'the middle of the switch': ddl('%drop column if exists "amount"'),
  'the end of the switch': {
    kind: 'row',
    lock: 'select from wda.workspace for no key update',
    like: 'update wda.workspace set document%',
  },
};

let schema = '';
let amounts = 10_000;
const server = useServer();
prepare(() => prepareHolds(server.database));
const workspace = use(() => server.workspace('acme/shop', BEFORE));
prepare(async () => {
  const { query } = server.database;
  schema = await schemaOf(server, workspace);
  await query(`insert into "${schema}".customers (name) values ('Ann')`);
  await query(
    `insert into "${schema}".orders (code, amount, note) select 'c' || n, n::text, 'n' from generate_series(1, ${RECORDS}) n`,
  );
  await holdRecord(server.database, `"${schema}".orders`, 2000);
});

const putTo = async (url: string): Promise<Json> => {
  const { status, text, json } = await applySchemaTo(url, workspace, AFTER, '?wait=0');
  assert.equal(status, 202, text);
  return json.data;
};

/** Everything in the workspace's PostgreSQL schema, and what else a migration may leave behind. */
async function traces(): Promise<unknown> {
  const [row] = await server.database.query(
    `select
  (select json_agg(attrelid::regclass || '.' || attname || ' ' || format_type(atttypid, atttypmod) || ' ' || attnotnull || ' ' || atthasdef order by attrelid::regclass::text, attnum)
    from pg_attribute a join pg_class c on c.oid = attrelid where c.relnamespace = n.oid and attnum > 0 and not attisdropped) as columns,
  (select json_agg(conname || ' ' || pg_get_constraintdef(oid) order by conname) from pg_constraint where connamespace = n.oid) as constraints,
  (select json_agg(indexrelid::regclass || ' ' || indisvalid order by indexrelid::regclass::text) from pg_index join pg_class c on c.oid = indexrelid where c.relnamespace = n.oid) as indexes,
  (select json_agg(tgname order by tgname) from pg_trigger join pg_class c on c.oid = tgrelid where c.relnamespace = n.oid and not tgisinternal
    and tgname <> all($2)) as triggers,
  (select json_agg(proname order by proname) from pg_proc where pronamespace = n.oid) as functions,
  (select count(*)::int from "${schema}"."$migration_conflict") as conflicts,
  (select json_agg(gates) from wda.workspace) as gates,
  (select json_agg(names) from wda.workspace) as names,
  (select count(*)::int from wda.migration where state in ('pending', 'running')) as running
from pg_namespace n where nspname = $1`,
    [schema, LASTING_TRIGGERS],
  );
  return { ...row, ofNodes: await shardInventory(server.database, schema) };
}

/** No migration runs; one of a test that failed may, for a while. */
const atRest = (): Promise<void> =>
  until('no migration runs', async () => {
    const running = await server.database.query("select from wda.migration where state in ('pending', 'running')");
    return running.length === 0;
  });

/** Keeps the entity busy while `work` runs; then all of it must have been answered, and all that was acknowledged be there. */
async function duringTraffic(work: () => Promise<void>): Promise<void> {
  await atRest();
  const traffic = makeTraffic((path, call) => workspace.call(path, call), {
    entity: 'orders',
    body: () => ({ code: 'new', amount: String(++amounts) }),
  });
  let acknowledged: ReadonlyMap<number, Readonly<Record<string, unknown>>>;
  try {
    await work();
  } finally {
    acknowledged = await traffic.stop();
  }
  assert.deepEqual(traffic.surprises, []);
  const exported = await workspace.call('orders/_export?format=ndjson&fields=id,amount');
  const rows: Json[] = exported.text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const stored = new Map(rows.map(({ id, amount }) => [id, Number(amount)]));
  assert.ok(stored.size >= RECORDS + acknowledged.size);
  for (const [id, { amount }] of acknowledged) assert.equal(stored.get(id), Number(amount));
}

async function tidied(migration: number, blank: unknown): Promise<void> {
  const { state, error } = await ended(workspace, migration);
  assert.deepEqual([state, error?.code], ['failed', 'INTERRUPTED']);
  assert.deepEqual(await traces(), blank);
}

test('a server that is killed leaves nothing behind', async (t) => {
  const blank = await traces();
  const env = { DATABASE_URL: server.database.url };
  let other: ServerProcess = await startServerProcess(env);
  try {
    for (const [index, [step, hold]] of Object.entries(STEPS).entries()) {
      // Either the next start or another process that runs already takes it back.
      const restarts = index % 2 === 0;
      await t.test(`at ${step}${restarts ? ', once it is started again' : ''}`, () =>
        duringTraffic(async () => {
          let id = 0;
          const held = await holdAt(server.database, hold, async () => {
            id = (await putTo(other.url)).id;
          });
          assert.equal((await workspace.admin(`migrations/${id}`)).json.data.state, 'running');
          await other.kill();
          if (restarts) other = await startServerProcess(env);
          // What held it still does: a session of a dead process must not wait for it.
          await tidied(id, blank).finally(held.release);
          if (!restarts) other = await startServerProcess(env);
        }),
      );
    }
  } finally {
    await other.kill();
  }
});

test('a migration whose session is ended leaves nothing behind', async (t) => {
  const blank = await traces();
  // Every second one: what is taken back is the same as when the process is killed.
  for (const [step, hold] of Object.entries(STEPS).filter((_, index) => index % 2 === 1)) {
    await t.test(`at ${step}`, () =>
      duringTraffic(async () => {
        let id = 0;
        const held = await holdAt(server.database, hold, async () => {
          id = (await putTo(server.url)).id;
        });
        await server.database.query('select pg_terminate_backend($1::int4)', [held.pid]);
        await held.release();
        await tidied(id, blank);
      }),
    );
  }
});

test('a cancelled migration leaves nothing behind', async (t) => {
  const blank = await traces();
  for (const [step, hold] of Object.entries(STEPS)) {
    await t.test(`at ${step}`, () =>
      duringTraffic(async () => {
        let id = 0;
        const held = await holdAt(server.database, hold, async () => {
          id = (await putTo(server.url)).id;
        });
        const answer = await workspace.admin(`migrations/${id}/cancel`, { method: 'POST' });
        assert.equal(answer.status, 200, answer.text);
        await held.release();
        const { state, error } = await ended(workspace, id);
        assert.deepEqual([state, error], ['cancelled', null]);
        assert.deepEqual(await traces(), blank);
      }),
    );
  }
});

test('after all of these the same migration succeeds, and everything acknowledged is in the new shape', async () => {
  await duringTraffic(async () => {
    const { id } = await putTo(server.url);
    const migration = await ended(workspace, id);
    assert.equal(migration.state, 'succeeded', JSON.stringify(migration.error));
  });
  const [row] = await server.database.query(
    `select count(*)::int as all, count(distinct token)::int as tokens from "${schema}".orders`,
  );
  assert.ok(Number(row?.all) > RECORDS);
  assert.equal(row?.tokens, row?.all);
});
