// `npm run fleet -- --workspaces 1000`: the scenario of fleet.ts with as many workspaces, over an embedded PostgreSQL, and then
// measures: a plan, a rollout of one added column next to the same statements by one connection, and reads elsewhere.
import { Command } from 'commander';
import { readMemory, resetMemoryPeak, wholeNumber, withClient, withDatabase } from '../../bench/setup.ts';
import { clientOf } from '../support/server.ts';
import { waitForValue } from '../support/shared-schema.ts';
import { addColumn } from './documents.ts';
import { type Fleet, runFleet, withFinishedFleet } from './fleet.ts';

const command = new Command('npm run fleet --')
  .description('Takes many workspaces through three versions while the server is killed, then measures.')
  .option('--workspaces <n>', 'how many', wholeNumber, 1000)
  .option('--entities <n>', 'entities of each', wholeNumber, 13)
  .option('--concurrency <n>', 'workspaces at a time in the measured rollout', wholeNumber, 2)
  .option('--measure', 'measure alone, without the three versions');

type Options = {
  readonly workspaces: number;
  readonly entities: number;
  readonly concurrency: number;
  readonly measure?: true;
};

const { workspaces, entities, concurrency, measure } = command.parse().opts<Options>();
const say = (line: string): void => void process.stdout.write(`${line}\n`);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

await withDatabase('wda_fleet', { fresh: true }, async ({ url }) => {
  const options = { databaseUrl: url, workspaces, entities, say };
  await (measure === true ? withFinishedFleet : runFleet)(options, async (fleet) => {
    await fleet.restart();
    const version = await fleet.publish(addColumn(fleet.documents.at(-1)!, 'note'));
    await measurePlan(fleet, version);
    const alone = await measureStatements(url);
    await measureRollout(fleet, version, alone);
  });
});

/** Runs `work`; returns its seconds, and by how many MB the server grew at most. */
async function watch(fleet: Fleet, work: () => Promise<unknown>): Promise<{ seconds: number; grown: number }> {
  const pid = fleet.server().child.pid as number;
  resetMemoryPeak(pid);
  const before = readMemory(pid)?.now ?? Number.NaN;
  const startedAt = performance.now();
  await work();
  return {
    seconds: (performance.now() - startedAt) / 1000,
    grown: (readMemory(pid)?.peak ?? Number.NaN) - before,
  };
}

async function measurePlan(fleet: Fleet, version: number): Promise<void> {
  const { seconds, grown } = await watch(fleet, async () => {
    await fleet.call('/rollouts/plan', 'POST', { version });
    await waitForValue('the plan is made', async () => {
      const { data } = (await fleet.call('/rollouts/plan')).json;
      return data.state === 'planned' || undefined;
    });
  });
  say(`plan of ${workspaces} workspaces: ${seconds.toFixed(1)} s, ${grown.toFixed(0)} MB more than before`);
}

/** Adds a column in each workspace by one connection, one statement after the other; returns statements per second. */
async function measureStatements(url: string): Promise<number> {
  return withClient(url, async (client) => {
    const { rows } = await client.query(
      "select database_schema as schema, coalesce(names->'tables'->>'issues', 'issues') as name from wda.workspace where shared_schema_version = 4",
    );
    const change = async (action: string): Promise<number> => {
      const startedAt = performance.now();
      for (const { schema, name } of rows) await client.query(`alter table "${schema}"."${name}" ${action}`);
      return (rows.length * 1000) / (performance.now() - startedAt);
    };
    const rate = await change('add column by_hand text');
    await change('drop column by_hand');
    say(`ALTER TABLE by one connection: ${rate.toFixed(0)} workspaces/s`);
    return rate;
  });
}

/** Reads one record of a workspace without a shared schema; returns the 99th percentile of milliseconds until `end`. */
async function measureReads(fleet: Fleet, url: string, key: string, end: Promise<unknown>): Promise<number> {
  const times: number[] = [];
  let isOver = false;
  const ended = end.then(() => {
    isOver = true;
  });
  while (!isOver) {
    const startedAt = performance.now();
    const answer = await fetch(`${fleet.server().url}${url}`, { headers: { authorization: `Bearer ${key}` } });
    await answer.arrayBuffer();
    times.push(performance.now() - startedAt);
  }
  await ended;
  times.sort((a, b) => a - b);
  return times[Math.floor(times.length * 0.99)] ?? Number.NaN;
}

async function measureRollout(fleet: Fleet, version: number, alone: number): Promise<void> {
  const client = clientOf(fleet.server().url);
  const other = await client.workspace('elsewhere/quiet', {
    entities: { notes: { fields: { text: { type: 'text' } } } },
  });
  await other.create('notes', [{ text: 'quiet' }]);
  const path = '/api/v1/elsewhere/quiet/notes/1';
  const pause = () => new Promise((resolve) => setTimeout(resolve, 5000));
  await measureReads(fleet, path, other.key, pause());
  const before = await measureReads(fleet, path, other.key, pause());
  let during = Number.NaN;
  let changed = 0;
  const { seconds, grown } = await watch(fleet, async () => {
    const end = (async () => {
      const id = await fleet.start({ version, concurrency, maxFailures: '100%', waves: ['rest'] });
      const { counts } = await waitForValue('the rollout ends', async () => {
        const { data } = (await fleet.call(`/rollouts/${id}`)).json;
        return data.finishedAt === null ? undefined : data;
      });
      changed = counts.succeeded;
    })();
    during = await measureReads(fleet, path, other.key, end);
    await end;
  });
  const rate = changed / seconds;
  say(
    `rollout of one added column, ${concurrency} at a time: ${rate.toFixed(1)} workspaces/s, ${(rate / alone).toFixed(2)} of one connection`,
  );
  say(`memory: ${grown.toFixed(0)} MB more than before`);
  say(
    `p99 of reads elsewhere: ${before.toFixed(1)} ms before, ${during.toFixed(1)} ms during (${(during / before).toFixed(2)})`,
  );
}
