// Changes of a schema in tests: started, held in the middle, watched by requests the whole time, and what they leave in
// the database.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { buildTables } from '../../src/schema/tables.ts';
import { parseDocument } from '../../src/store/load-workspace.ts';
import { totalTriggers } from '../../src/workspace-schema/count.ts';
import { isCluster, queryDataNodes } from './citus.ts';
import type { TestDatabase } from './database.ts';
import { ADMIN_KEY, type Answer, clientOf, type TestServer, type TestWorkspace } from './server.ts';
import { until } from './wait-until.ts';

// biome-ignore lint/suspicious/noExplicitAny: documents, records and answers of any schema
export type Json = any;

const slugOf = ({ path }: Pick<TestWorkspace, 'path'>): string => path.split('/')[1] as string;

interface Stored {
  readonly schema: string;
  readonly document: string;
  readonly names: Json;
  readonly gates: Json;
}

async function stored(database: TestDatabase, slug: string): Promise<Stored> {
  const [row] = await database.query(
    'select database_schema as schema, document::text, names, gates from wda.workspace where slug = $1',
    [slug],
  );
  return row as unknown as Stored;
}

export const schemaOf = async (server: TestServer, workspace: TestWorkspace): Promise<string> =>
  (await stored(server.database, slugOf(workspace))).schema;

/** Names of triggers that stay on a table for good. */
export const LASTING_TRIGGERS: readonly string[] = totalTriggers({ schema: '', name: '' }).map(({ name }) => name);

// Tables of a schema that the server makes, with what their names end in on the node of the cluster that holds them.
const OWN = `select oid, relname, '' as suffix from pg_class
where relnamespace = $1::regnamespace and relkind = 'r' and not relname ^@ '$'`;
const SHARDS = `select c.oid, c.relname, '_' || s.shardid as suffix from pg_dist_shard s join pg_class l on l.oid = s.logicalrelid
join pg_class c on c.relnamespace = l.relnamespace and c.relname = (parse_ident(shard_name(s.logicalrelid, s.shardid)))[2]
where l.relnamespace = $1::regnamespace and not l.relname ^@ '$'`;

const linesOf = (tables: string): string => {
  const name = (of: string): string =>
    `case when right(${of}, length(suffix)) = suffix then left(${of}, length(${of}) - length(suffix)) else ${of} end`;
  return `with own as (${tables})
select 'table ' || ${name('relname')} as line from own
union all select concat_ws(' ', 'column', ${name('relname')}, attname) from pg_attribute join own on own.oid = attrelid
where attnum > 0 and not attisdropped
union all select 'constraint ' || ${name('conname')} || case when convalidated then '' else ' not valid' end
from pg_constraint join own on own.oid = conrelid where contype <> 'n'
union all select 'index ' || ${name('i.relname')} || case when indisvalid then '' else ' invalid' end
from pg_index join own on own.oid = indrelid join pg_class i on i.oid = indexrelid
union all select 'trigger ' || ${name('tgname')} from pg_trigger join own on own.oid = tgrelid
where not tgisinternal and ${name('tgname')} <> all($2)`;
};

/** Tables, columns, constraints and indexes of a PostgreSQL schema, and everything else that it holds, but for what stands beside its tables. */
async function inventory(database: TestDatabase, schema: string): Promise<string[]> {
  const rows = await database.query(
    `${linesOf(OWN)}
     union all select 'function ' || proname from pg_proc
     where pronamespace = $1::regnamespace and (not proname ^@ '$' or proname = '$words')
     union all select 'conflict ' || subject from "${schema}"."$migration_conflict"`,
    [schema, LASTING_TRIGGERS],
  );
  return rows.map(({ line }) => String(line)).sort();
}

// Citus cuts names that have no room for its suffix in the 63 bytes of a name.
const LONGEST_OF_A_SHARD = 50;
const isShort = (line: string): boolean => line.split(' ').every((word) => word.length <= LONGEST_OF_A_SHARD);

/** What the node of a cluster has that holds the tables, in the words of `inventory`; undefined without a cluster. */
export async function shardInventory({ url }: TestDatabase, schema: string): Promise<string[] | undefined> {
  if (!isCluster) return undefined;
  const rows = await queryDataNodes(url, linesOf(SHARDS), [schema, LASTING_TRIGGERS]);
  return rows.map(({ line }) => String(line)).sort();
}

/** What the node holds is what the coordinator says. */
function assertShards(shards: readonly string[], present: readonly string[]): void {
  const expected = present.filter((line) => !/^(function|conflict)/.test(line));
  assert.deepEqual(shards.filter(isShort), expected.filter(isShort));
}

/** The workspace's PostgreSQL schema holds what its document says, and nothing else; no gate is closed. */
export async function assertTidy(server: TestServer, slug: string): Promise<void> {
  // Names may change between two looks.
  for (;;) {
    const { schema, names } = await stored(server.database, slug);
    const present = await inventory(server.database, schema);
    const shards = await shardInventory(server.database, schema);
    const now = await stored(server.database, slug);
    if (JSON.stringify(now.names) !== JSON.stringify(names)) continue;
    assertInventory(now, present);
    if (shards !== undefined) assertShards(shards, present);
    return;
  }
}

/** Resolves when PostgreSQL calls tables and columns as the document does; the inventory is then that of a new workspace. */
export async function settled(server: TestServer, slug: string, limitMs = 60_000): Promise<void> {
  const pending = async (): Promise<Json> => {
    const { tables, columns } = (await stored(server.database, slug)).names;
    return { tables, columns };
  };
  await until(
    `names of ${slug} are those of the document`,
    async () => JSON.stringify(await pending()) === '{"tables":{},"columns":{}}',
    limitMs,
  );
  await assertTidy(server, slug);
}

function assertInventory({ schema, document, names, gates }: Stored, present: readonly string[]): void {
  const expected = [...buildTables(parseDocument(document), schema, names).values()].flatMap((table) => [
    `table ${table.name}`,
    ...[...table.columns.values()].map(({ column }) => `column ${table.name} ${column}`),
    ...[table.primaryKey, ...[...table.checks, ...table.references].map(({ name }) => name)].map(
      (name) => `constraint ${name}`,
    ),
    ...[...table.indexes.values()].flatMap(({ name, unique }) => [
      `index ${name}`,
      ...(unique ? [`constraint ${name}`] : []),
    ]),
    `index ${table.primaryKey}`,
  ]);
  if (expected.some((line) => line.startsWith('index') && line.endsWith('$words'))) expected.push('function $words');
  assert.deepEqual(present, expected.sort());
  assert.deepEqual(gates, {});
}

/**
 * Everything that PostgreSQL knows about the tables of a workspace, whatever its schema is called, whatever numbers the
 * names of columns got on the way, and whatever checks and foreign keys are called, which keep their names.
 */
export async function shapeOf(database: TestDatabase, slug: string): Promise<string[]> {
  const { schema } = await stored(database, slug);
  const rows = await database.query(
    `select concat_ws(' ', table_name, column_name, data_type, is_nullable, column_default, numeric_precision, numeric_scale, collation_name) as line
     from information_schema.columns where table_schema = $1
     union all select concat_ws(' ', conrelid::regclass, case when contype not in ('c', 'f') then conname end, pg_get_constraintdef(oid), convalidated)
     from pg_constraint where connamespace = $1::regnamespace and contype <> 'n'
     union all select indexdef from pg_indexes where schemaname = $1
     union all select concat_ws(' ', relname, relkind) from pg_class where relnamespace = $1::regnamespace`,
    [schema],
  );
  return rows
    .map(({ line }) =>
      String(line)
        .replaceAll(schema, '*')
        .replaceAll(/\$\d+|"/g, ''),
    )
    .sort();
}

/** The shape of a workspace that is created with the document. */
export async function freshShape(server: TestServer, document: unknown): Promise<string[]> {
  const slug = `fresh${Math.random().toString(36).slice(2)}`;
  const base = '/api/admin/v1/organizations/fresh';
  const call = { credential: ADMIN_KEY };
  await server.call('/api/admin/v1/organizations', { ...call, method: 'POST', body: { slug: 'fresh' } });
  const made = await server.call(`${base}/workspaces`, { ...call, method: 'POST', body: { slug, schema: document } });
  assert.equal(made.status, 201, made.text);
  const shape = await shapeOf(server.database, slug);
  await server.call(`${base}/workspaces/${slug}?confirm=${slug}`, { ...call, method: 'DELETE' });
  return shape;
}

export const applySchema = (workspace: TestWorkspace, body: unknown, query = ''): Promise<Answer> =>
  workspace.admin(`schema${query}`, { method: 'PUT', body });

/** The same by another server of its database, in whichever process. */
export const applySchemaTo = (url: string, { path }: TestWorkspace, body: unknown, query = ''): Promise<Answer> =>
  clientOf(url).call(`/api/admin/v1/organizations/${path.replace('/', '/workspaces/')}/schema${query}`, {
    method: 'PUT',
    credential: ADMIN_KEY,
    body,
  });

const isOpen = ({ state }: Json): boolean => state === 'running' || state === 'pending';

/** The migration once it has ended. */
export async function ended(workspace: TestWorkspace, id: number): Promise<Json> {
  for (;;) {
    const { data } = (await workspace.admin(`migrations/${id}`)).json;
    if (!isOpen(data)) return data;
    await sleep(20);
  }
}

/** Resolves when the migration is asked to stop, whether or not it has seen it. */
export async function cancelIsKnown({ database }: TestServer, id: number): Promise<void> {
  for (;;) {
    const [row] = await database.query('select cancel_requested as known from wda.migration where id = $1', [id]);
    if (row?.known === true) return;
    await sleep(2);
  }
}

/** A connection of its own, closed at the end with whatever it holds. */
export async function withClient<T>(server: TestServer, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: server.database.url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

export interface Held {
  /** A table in PostgreSQL that can then be read and written, but neither altered nor indexed; none: an old snapshot, which keeps an index from being finished. */
  readonly table: string | undefined;
  /** Runs when something of the migration has been made and the document in force is still the old one. */
  readonly during: (id: number) => Promise<void>;
}

/** Applies the document and holds the migration in the middle, where it has one: `reached` says so. */
export async function applyHeld(
  server: TestServer,
  workspace: TestWorkspace,
  document: unknown,
  { table, during }: Held,
): Promise<{ readonly reached: boolean; readonly migration: Json }> {
  const schema = await schemaOf(server, workspace);
  const before = (await inventory(server.database, schema)).join();
  const isChanged = async (): Promise<boolean> => (await inventory(server.database, schema)).join() !== before;
  return withClient(server, (first) =>
    withClient(server, async (second) => {
      const pids: number[] = [];
      for (const client of [first, second])
        pids.push((await client.query('select pg_backend_pid() as pid')).rows[0].pid);
      const isWaiting = async (pid?: number): Promise<boolean> => {
        const rows = await server.database.query(
          `select 1 from pg_locks where relation = $1::regclass and not granted and mode ~ '^(Access|Share(Row|Update))Exclusive'
           and case when $2::int is null then pid <> all($3::int[]) else pid = $2 end`,
          [`"${schema}"."${table}"`, pid ?? null, pids],
        );
        return rows.length > 0;
      };
      const hold =
        table === undefined
          ? 'begin isolation level repeatable read; select count(*) from wda.instance'
          : `begin; lock table "${schema}"."${table}" in share update exclusive mode`;
      await first.query(hold);
      const answer = await applySchema(workspace, document, '?allowDestructive=true&wait=0');
      assert.ok(answer.status === 202 || answer.status === 200, answer.text);
      const { id } = answer.json.data;
      const open = async (): Promise<boolean> => isOpen((await workspace.admin(`migrations/${id}`)).json.data);
      let [holder, next] = [first, second];
      while (await open()) {
        if ((await isChanged()) && (await open())) {
          await during(id);
          await holder.query('rollback');
          return { reached: true, migration: await ended(workspace, id) };
        }
        // It asks for the lock: let it have it for one statement, and be the next in the queue.
        if (table !== undefined && (await isWaiting())) {
          const held = next.query(hold);
          while (!(await isWaiting(pids[next === first ? 0 : 1]))) await sleep(1);
          await holder.query('rollback');
          await held;
          [holder, next] = [next, holder];
        } else await sleep(2);
      }
      await holder.query('rollback');
      return { reached: false, migration: await ended(workspace, id) };
    }),
  );
}

/** What a writer sends: to which entity, which body. */
export interface Wish {
  readonly entity: string;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface Traffic {
  /** Writes in the shape in force before, and in the one after; `n` is different each time. */
  readonly before: (n: number) => Wish;
  readonly after: (n: number) => Wish;
  /** Reads below /api/v1/{organization}/{workspace}/. */
  readonly reads: readonly string[];
  readonly readsAfter: readonly string[];
}

interface RunningTraffic {
  /** Resolves when so many more writes were acknowledged. */
  readonly more: (writes: number) => Promise<void>;
  /** Ends it: acknowledged writes by id, null for a deleted record, and every answer that was no success. */
  readonly stop: () => Promise<{
    readonly journal: ReadonlyMap<number, { readonly wish: Wish | null; readonly isNew: boolean }>;
    readonly refusals: readonly Answer[];
  }>;
}

const WRITERS = 2;
const READERS = 2;
// The migration runs in the same process as they and wants its turn.
const PAUSE_MS = 3;

/**
 * Writers and readers, one request after the other. Each works in the old shape until that is refused, from then on in the new one,
 * which must not be refused any more.
 */
export function startTraffic(workspace: TestWorkspace, traffic: Traffic): RunningTraffic {
  const journal = new Map<number, { wish: Wish | null; isNew: boolean }>();
  const refusals: Answer[] = [];
  let stopped = false;
  let acknowledged = 0;
  // Beyond those of the records that were there before.
  let n = 1_000_000;

  const isGood = (answer: Answer, isNew: boolean): boolean => {
    if (answer.status < 300) return true;
    refusals.push(answer);
    if (isNew) throw new Error(`the new shape was refused: ${answer.status} ${answer.text}`);
    return false;
  };

  async function write(): Promise<void> {
    let isNew = false;
    const own: number[] = [];
    for (; !stopped; await sleep(PAUSE_MS)) {
      const wish = (isNew ? traffic.after : traffic.before)(++n);
      const id = own[n % 3 === 0 ? own.length - 1 : -1];
      const [method, path] = id === undefined ? ['POST', wish.entity] : ['PUT', `${wish.entity}/${id}`];
      const answer = await workspace.call(path, { method, body: wish.body });
      if (!isGood(answer, isNew)) {
        isNew = true;
        continue;
      }
      const key = id ?? answer.json.data.id;
      journal.set(key, { wish, isNew });
      if (id === undefined) own.push(key);
      acknowledged++;
      if (n % 10 !== 0) continue;
      const gone = own.shift() as number;
      const deleted = await workspace.call(`${wish.entity}/${gone}`, { method: 'DELETE' });
      if (isGood(deleted, isNew)) journal.set(gone, { wish: null, isNew });
      else {
        isNew = true;
        own.unshift(gone);
      }
    }
  }

  async function read(): Promise<void> {
    let isNew = false;
    for (let turn = 0; !stopped; turn++, await sleep(PAUSE_MS)) {
      const paths = isNew ? traffic.readsAfter : traffic.reads;
      const answer = await workspace.call(paths[turn % paths.length] as string);
      if (!isGood(answer, isNew)) isNew = true;
    }
  }

  const workers = Promise.all([
    ...Array.from({ length: WRITERS }, () => write()),
    ...Array.from({ length: READERS }, () => read()),
  ]);
  // Whoever waits for it sees the failure.
  workers.catch(() => {
    stopped = true;
  });
  return {
    async more(writes) {
      const goal = acknowledged + writes;
      while (acknowledged < goal && !stopped) await sleep(2);
    },
    async stop() {
      stopped = true;
      await workers;
      return { journal, refusals };
    },
  };
}
