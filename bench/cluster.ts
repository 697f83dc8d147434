// What a Citus cluster costs: this server on a cluster against this server on the same PostgreSQL without Citus, in turns.
//   node bench/cluster.ts postgres://…/one postgres://…/other [--scale 0.1] [--rounds 3] [--seconds 2] [--only W1,W5]
// Both databases are empty: the first one of a coordinator that has its workers, the other one of a PostgreSQL server of the
// same version and settings, best one that serves a worker, without the extension.
import { randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import { dataSetOf, findSchema, loadDataSet, restoreOrders, stopAutovacuum } from './dataset.ts';
import { findLoadGenerator } from './load.ts';
import {
  assertSameAnswer,
  countFailed,
  type MeasuredSide,
  measureWorkload,
  medianOf,
  type Round,
  ratioToFirst,
  renderTable,
} from './measure.ts';
import {
  createApiKey,
  createWorkspace,
  dataPrefix,
  makeScratch,
  progress,
  type RunningServer,
  schemaIn,
  startOurs,
  withClient,
} from './setup.ts';
import { prepareRequests, workloadsOver } from './workloads.ts';

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    scale: { type: 'string', default: '0.1' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '2' },
    connections: { type: 'string', default: '32' },
    only: { type: 'string', default: 'W1,W2,W3b,W4,W5,W6,W9,W7' },
  },
});
const [cluster, plain] = positionals;
if (cluster === undefined || plain === undefined)
  throw new Error('two connection strings are needed: of the cluster, and of the same PostgreSQL without Citus');

const data = dataSetOf(Number(options.scale));
const adminKey = randomBytes(24).toString('hex');

interface Prepared {
  readonly url: string;
  readonly schema: string;
  readonly server: RunningServer;
  readonly side: MeasuredSide;
}

/** A server on the database, with the data set in it. */
async function prepare(name: string, url: string): Promise<Prepared> {
  const empty = await startOurs(url, adminKey);
  const schema = await withClient(url, async (client) => {
    if ((await findSchema(client)) === undefined) {
      await createWorkspace(empty, adminKey);
      await loadDataSet(client, await schemaIn(client), data, (line) => progress(`${name}: ${line}`));
    }
    const schemaName = await schemaIn(client);
    await stopAutovacuum(client, schemaName);
    // Cursors and versions of both are to be the same.
    await client.query(`update wda.workspace set epoch = '00000000' where database_schema = $1`, [schemaName]);
    return schemaName;
  });
  await empty.stop();
  const server = await startOurs(url, adminKey);
  const headers = { authorization: `Bearer ${await createApiKey(server, adminKey)}` };
  return { url, schema, server, side: { name, pid: server.pid, port: server.port, headers, prefix: dataPrefix } };
}

const without = await prepare('without Citus', plain);
const within = await prepare('cluster', cluster);
try {
  const generator = await findLoadGenerator(makeScratch());
  const rows: string[][] = [];
  const asked = options.only.split(',');
  for (const workload of workloadsOver(data).filter(({ name }) => asked.includes(name))) {
    const [first, second] = [within, without].map(({ side }) => prepareRequests(workload, side.prefix, data, 1)[0]);
    if (first === undefined || second === undefined) continue;
    await assertSameAnswer(workload, [without.side, within.side], [second, first]);
    const rounds = (connections: number): Promise<readonly Round[]> =>
      measureWorkload(
        [without, within].map(({ side }) => ({ side, workload })),
        {
          rounds: Number(options.rounds),
          seconds: Number(options.seconds),
          connections,
          generator,
          data,
          async restore() {
            if (workload.method === 'GET') return;
            for (const { url, schema } of [without, within])
              await withClient(url, (client) => restoreOrders(client, schema, data, workload.name));
          },
        },
      );
    const many = await rounds(Number(options.connections));
    const one = await rounds(1);
    const ratio = ratioToFirst(many, 1, 'perSecond');
    rows.push([
      workload.name,
      medianOf(many, 0, 'perSecond').toFixed(0),
      medianOf(many, 1, 'perSecond').toFixed(0),
      ratio.toFixed(2),
      `${medianOf(one, 0, 'p50').toFixed(2)} ms`,
      `${medianOf(one, 1, 'p50').toFixed(2)} ms`,
      String(countFailed([...many, ...one])),
    ]);
    progress(`${workload.name}: ${ratio.toFixed(2)}`);
  }
  const head = ['', 'without Citus /s', 'cluster /s', 'ratio', 'p50, 1 connection', 'cluster', 'failed'];
  process.stdout.write(`${renderTable(head, rows)}\n`);
} finally {
  await within.server.stop();
  await without.server.stop();
}
