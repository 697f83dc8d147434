// Connections that are ended again and again, also in the moment in which they are opened, cost the requests on them and
// nothing else: the process lives, everything is well afterwards, and what was acknowledged is there, once.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startWatched } from '../../support/logged-server.ts';
import { prepare, use, useDatabase } from '../../support/resources.ts';
import { ADMIN_KEY, type Answer, clientOf } from '../../support/server.ts';
import { until } from '../../support/wait-until.ts';

// Without the check of a connection that has just been opened, a process was gone after 21 ends of the ordinary pool, and
// a lane was lost for good after 51.
const ENDS = 400;
const CLIENTS = 24;

const database = useDatabase();
const server = use(
  () => startWatched({ DATABASE_URL: database.url, WDA_STATEMENT_TIMEOUT_MS: '5000', LOG_LEVEL: 'warn' }),
  (started) => started.stop(),
);
const client = use(async () => {
  await server.ready();
  return clientOf(server.url);
});
const workspace = use(() =>
  client.workspace('acme/ended', { entities: { notes: { fields: { text: { type: 'string' } } } } }),
);
prepare(() => workspace.create('notes', [{ text: 'first' }]));

const create = (text: string): Promise<Answer> => workspace.call('notes', { method: 'POST', body: { text } });
const KINDS: readonly ((text: string) => Promise<Answer>)[] = [
  () => workspace.call('notes/1'),
  create,
  // New words each time: a statement that is not known to be quick.
  (text) => workspace.call(`notes?size=3&filter=text,ne,${text}&sort=text`),
  () => workspace.admin('schema'),
  () => client.call('/api/admin/v1/organizations', { credential: ADMIN_KEY }),
  () => workspace.call('notes/_export?filter=id,lt,3'),
];

test('connections ended in a loop under load take nothing else with them', async () => {
  const acknowledged: string[] = [];
  const surprises: string[] = [];
  let over = false;
  let count = 0;
  const clients = Array.from({ length: CLIENTS }, async (_, index) => {
    const ask = KINDS[index % KINDS.length] as (text: string) => Promise<Answer>;
    while (!over) {
      const text = `text ${++count}`;
      const answer = await ask(text).catch((error: Error) => error);
      // An export that has begun can only break off.
      if (answer instanceof Error) {
        if (ask !== KINDS[5]) surprises.push(`${String(ask)}: ${String(answer.cause ?? answer)}`);
      } else if (answer.status === 201) acknowledged.push(text);
      else if (answer.status !== 200 && answer.status !== 503) surprises.push(`${answer.status} ${answer.text}`);
    }
  });
  try {
    for (let ended = 0; ended < ENDS; await sleep(5)) {
      const rows = await database.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and application_name = 'workspace-data-api'`,
      );
      ended += rows.length;
      assert.equal(server.child.exitCode, null, `the process ended:\n${server.log.slice(-20).join('\n')}`);
    }
  } finally {
    over = true;
    await Promise.all(clients);
  }
  assert.deepEqual([...new Set(surprises)], []);

  await until('all is well again', async () => {
    const answers = await Promise.all(KINDS.map((ask) => ask('again')));
    return answers.every(({ status }) => status < 300);
  });
  for (let round = 0; round < 100; round++) {
    for (const ask of KINDS.slice(0, 4)) {
      const { status, text } = await ask(`well ${round}`);
      assert.ok(status < 300, `round ${round}: ${status} ${text}`);
    }
  }
  assert.equal(await server.status('/readyz'), 200);
  assert.equal(server.child.exitCode, null);

  const [row] = await database.query(`select database_schema from wda.workspace where slug = 'ended'`);
  const stored = await database.query(
    `select text, count(*)::int as times from "${row?.database_schema}".notes group by 1`,
  );
  const times = new Map(stored.map((line) => [line.text as string, line.times as number]));
  assert.deepEqual(
    acknowledged.filter((text) => times.get(text) !== 1),
    [],
  );
});
