// Nobody waits for ever: whatever the number of requests that wait for a locked table, each is answered when its own time
// is over, nobody else waits with them, and whose client has left is waited for no longer.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import pg from 'pg';
import { lockWhole } from '../../support/database.ts';
import { prepare, use, useServer } from '../../support/resources.ts';
import { type Answer, type Call, startTestServer, type TestWorkspace } from '../../support/server.ts';
import { until } from '../../support/wait-until.ts';

const SCHEMA = {
  entities: {
    tasks: { fields: { name: { type: 'string', required: true }, rank: { type: 'integer' } } },
    others: { fields: { name: { type: 'string' } } },
  },
} as const;

const DEADLINE_MS = 2000;
// The promise, and what a machine with much other work may add to it. Waiting in turns, 150 requests on six connections
// would take 50 s.
const LATEST_MS = DEADLINE_MS + 2000 + 6000;

const server = useServer({ WDA_STATEMENT_TIMEOUT_MS: String(DEADLINE_MS) });
const workspace = use(() => server.workspace('acme/waiting', SCHEMA));
const neighbour = use(() => server.workspace('acme/neighbour', SCHEMA));
prepare(async () => {
  for (const { create } of [workspace, neighbour]) await create('tasks', [{ name: 'one' }, { name: 'two' }]);
});

// Time is counted in turns of this process, which is the server's, too: while the machine has no turn for it, none passes.
const TICK_MS = 50;
let ticks = 0;
let ticking: NodeJS.Timeout;

prepare(() => {
  ticking = setInterval(() => ticks++, TICK_MS);
});
after(() => clearInterval(ticking));

const post = (body: unknown): Call => ({ method: 'POST', body });
// Every kind of request, in turn; lists in ever new words, too.
const REQUESTS: readonly ((index: number) => readonly [path: string, call: Call])[] = [
  () => ['tasks/1', {}],
  () => ['tasks?size=5', {}],
  (index) => [`tasks?filter=rank,gt,${index}&size=${1 + (index % 900)}`, {}],
  () => ['tasks', post({ name: 'late' })],
  () => ['tasks/1', { method: 'PUT', body: { name: 'late' } }],
  () => ['tasks/2', { method: 'DELETE' }],
  () => ['tasks/_query', post({ filter: { field: 'name', op: 'eq', value: 'one' } })],
];

const requestOf = (index: number): readonly [string, Call] => REQUESTS[index % REQUESTS.length]!(index);

/** Holds the table of tasks by SQL while the work runs. */
async function whileHeld(work: () => Promise<void>, lock = lockWhole): Promise<void> {
  const [row] = await server.database.query(`select database_schema from wda.workspace where slug = 'waiting'`);
  const client = new pg.Client({ connectionString: server.database.url });
  await client.connect();
  try {
    await client.query('begin');
    await client.query(lock(`"${row?.database_schema}".tasks`));
    await work();
    await client.query('rollback');
  } finally {
    await client.end();
  }
}

const namesIn = async (of: TestWorkspace): Promise<string[]> =>
  (await of.call('tasks?fields=name')).json.data.map(({ name }: { name: string }) => name);

for (const count of [150, 600]) {
  test(`${count} requests for a locked table are all answered within their time`, async () => {
    await whileHeld(async () => {
      const started = ticks;
      const ask = async (index: number): Promise<{ answer: Answer; took: number; what: string }> => {
        const [path, call] = requestOf(index);
        const answer = await workspace.call(path, call);
        return { answer, took: (ticks - started) * TICK_MS, what: `${JSON.stringify(call)} ${path}` };
      };
      for (const { answer, took, what } of await Promise.all(Array.from({ length: count }, (_, index) => ask(index)))) {
        assert.equal(answer.status, 503, `${what}: ${answer.text}`);
        assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/, what);
        assert.ok(took < LATEST_MS, `${what} was answered after ${took} ms: ${answer.text}`);
      }
    });
    assert.deepEqual(await namesIn(workspace), ['one', 'two']);
  });
}

test('meanwhile other workspaces are served', async () => {
  await whileHeld(async () => {
    let left = 150;
    const crowd = Promise.all(
      Array.from({ length: left }, async (_, index) => {
        const [path, call] = requestOf(index);
        await workspace.call(path, call);
        left--;
      }),
    );
    let served = 0;
    while (left > 0) {
      const name = `served ${served}`;
      const made = await neighbour.call('others', post({ name }));
      assert.equal(made.status, 201, made.text);
      const read = await neighbour.call(`others/${made.json.data.id}`);
      assert.equal(read.json.data?.name, name, read.text);
      const list = await neighbour.call(`tasks?size=2&sort=name,desc&filter=id,lt,${100 + served}`);
      assert.equal(list.json.data?.length, 2, list.text);
      served++;
    }
    await crowd;
    assert.ok(served > 5, `only ${served} rounds were served beside 150 waiting requests`);
  });
});

test('requests whose client has left are waited for no longer, and none of their writes comes late', async () => {
  const patient = await startTestServer({ WDA_STATEMENT_TIMEOUT_MS: '60000' }, server.database);
  const waiting = async (): Promise<number> => {
    const rows = await server.database.query(
      `select 1 from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock' and application_name = 'workspace-data-api'`,
    );
    return rows.length;
  };
  try {
    await whileHeld(async () => {
      const leave = new AbortController();
      const crowd = Array.from({ length: 200 }, async (_, index) => {
        const [path, call] = requestOf(index);
        await fetch(`${patient.url}/api/v1/${workspace.path}/${path}`, {
          method: call.method ?? 'GET',
          headers: { authorization: `Bearer ${workspace.key}`, 'content-type': 'application/json' },
          ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
          signal: leave.signal,
        }).catch(() => undefined);
      });
      await until('somebody waits for the table', async () => (await waiting()) > 0);
      leave.abort();
      await Promise.all(crowd);
      // What was sent already is on its way, one statement behind the other.
      let quiet = 0;
      const isQuiet = async (): Promise<boolean> => {
        quiet = (await waiting()) === 0 ? quiet + 1 : 0;
        return quiet >= 50;
      };
      await until('nobody waits for the table', isQuiet);
    });
    assert.deepEqual(await namesIn(workspace), ['one', 'two']);
  } finally {
    await patient.stop();
  }
});

test('reads of a table do not wait for its writes that wait for a lock', async () => {
  const lockWrites = (table: string): string => `lock table ${table} in share mode`;
  await whileHeld(async () => {
    const writes = Array.from({ length: 48 }, (_, index) =>
      workspace.call('tasks/1', { method: 'PATCH', body: { name: 'late', rank: index } }),
    );
    // The first ones have been ended on the pipelined connections, and wait where slow statements run.
    for (let round = 0; round < 30; round++) {
      for (const path of ['tasks/1', 'tasks?size=5', `tasks?filter=rank,gt,${round}&size=${3 + round}`]) {
        const started = ticks;
        const answer = await workspace.call(path);
        assert.equal(answer.status, 200, answer.text);
        assert.ok((ticks - started) * TICK_MS < DEADLINE_MS / 2, `${path} took ${(ticks - started) * TICK_MS} ms`);
      }
    }
    for (const answer of await Promise.all(writes)) assert.equal(answer.status, 503, answer.text);
  }, lockWrites);
  assert.deepEqual(await namesIn(workspace), ['one', 'two']);
});
