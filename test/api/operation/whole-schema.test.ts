// A workspace is one schema, whole: its dump, restored in a database without anything of ours, lacks nothing.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import pg from 'pg';
import { distribution, makePostgres, run } from '../../support/postgres.ts';
import { startTestServer } from '../../support/server.ts';
import { until } from '../../support/wait-until.ts';

const skip = distribution === undefined ? 'PostgreSQL of the distribution is not installed (its pg_dump)' : false;
const RECORDS = 5500;

const DOCUMENT = {
  entities: {
    groups: { fields: { name: { type: 'string', maxLength: 50, unique: true } } },
    things: {
      fields: { size: { type: 'integer', min: 0 } },
      relations: { group: { kind: 'belongsTo', entity: 'groups' } },
    },
  },
};

/** All that the schema holds, a line each. */
const INVENTORY = `select 'relation ' || relname || ' ' || relkind::text as line from pg_class where relnamespace = 'ws1_shop'::regnamespace
union all select 'function ' || oid::regprocedure || ' ' || coalesce(array_to_string(proconfig, ';'), '') || ' ' || md5(prosrc) || ' ' || prosecdef::text
  from pg_proc where pronamespace = 'ws1_shop'::regnamespace
union all select 'trigger ' || pg_get_triggerdef(t.oid) || ' ' || tgenabled::text from pg_trigger t join pg_class c on c.oid = tgrelid
  where relnamespace = 'ws1_shop'::regnamespace and not tgisinternal
union all select 'constraint ' || conname || ' ' || pg_get_constraintdef(oid) from pg_constraint where connamespace = 'ws1_shop'::regnamespace
order by 1`;

test('a dump of its schema, restored elsewhere, lacks nothing', { skip }, async (t) => {
  const postgres = await makePostgres();
  const ends: (() => Promise<unknown>)[] = [() => postgres.remove()];
  t.after(async () => {
    for (const end of ends.reverse()) await end();
  });
  await postgres.start();
  const { url, query } = postgres;
  const server = await startTestServer({}, { url, query, drop: () => Promise.resolve() });
  ends.push(() => server.stop());
  const shop = await server.workspace('acme/shop', DOCUMENT);
  await query(`insert into ws1_shop.things (size) select n from generate_series(1, ${RECORDS}) n`);
  await until('the total is kept', async () => {
    await shop.call('things?size=1');
    const [row] = await query(`select ws1_shop."$total_of_ws1"('ws1_shop.things'::regclass) is not null as kept`);
    return row?.kept === true;
  });
  const headers = { 'idempotency-key': 'once' };
  assert.equal((await shop.call('groups', { method: 'POST', headers, body: { name: 'a' } })).status, 201);
  const before = await query(INVENTORY);

  const bin = distribution as string;
  const file = join(postgres.folder, 'shop.sql');
  await run(join(bin, 'pg_dump'), ['-n', 'ws1_shop', '-f', file, '-d', url]);
  assert.equal(/\bwda\.\S*/.exec(readFileSync(file, 'utf8'))?.[0], undefined);
  await query('create database elsewhere template template0');
  const elsewhere = url.replace(/postgres$/, 'elsewhere');
  await run(join(bin, 'psql'), ['-q', '-X', '-v', 'ON_ERROR_STOP=1', '-f', file, '-d', elsewhere]);

  const client = new pg.Client({ connectionString: elsewhere });
  await client.connect();
  ends.push(() => client.end());
  assert.deepEqual((await client.query(INVENTORY)).rows, before);
  const number = async (text: string): Promise<number> => Number((await client.query(`select ${text} as n`)).rows[0].n);
  assert.equal(await number('(select count(*) from ws1_shop."$idempotency_key")'), 1);
  // Who writes there writes beside the tables, too: triggers find what they need.
  const added = `(select sum(n) from ws1_shop."$total" where relid = 'ws1_shop.things'::regclass)`;
  await client.query('insert into ws1_shop.things (size) select generate_series(1, 30)');
  await client.query('delete from ws1_shop.things where id <= 10');
  assert.equal(await number(added), 20);
  // What was kept there is no total here, as tables have other numbers.
  await client.query('select * from ws1_shop."$fold_totals_ws1"(true)');
  assert.equal(await number(`(select count(*) from ws1_shop."$total" where slot < 0)`), 0);
  assert.equal(await number(`ws1_shop."$as_integer_ws1"('17')`), 17);
  assert.equal(
    await number(`ws1_shop."$reached_id_ws1"(pg_get_serial_sequence('ws1_shop.things', 'id')::regclass, 99999)`),
    99999,
  );
});
