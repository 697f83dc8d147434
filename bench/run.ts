// `npm run bench`: our server against the limit server on one database, in one run; or one of the modes, which measure
// something else. Takes the arguments, and prints and stores what was measured.

import { Command, Option } from 'commander';
import { compareBusy, compareServers, type RunOptions, type Stage } from './compare.ts';
import { dataSetOf, stopAutovacuum } from './dataset.ts';
import { findLoadGenerator } from './load.ts';
import type { Report } from './measure.ts';
import { comparePeers, PEERS, type Peer } from './peers.ts';
import { writeResults } from './results.ts';
import {
  CACHE,
  choose,
  createApiKey,
  databaseOption,
  makeScratch,
  runBench,
  schemaIn,
  share,
  startLimit,
  startOurs,
  wholeNumber,
  withClient,
  withGolden,
  withPostgres,
  withServer,
} from './setup.ts';
import { soak } from './soak.ts';
import { measureStalls } from './stall.ts';
import { workloadsOver } from './workloads.ts';
import { measureWorkspaces } from './workspaces.ts';
import { measureWrites } from './writes.ts';

type Options = RunOptions & {
  readonly only?: string;
  readonly cache?: string;
  readonly json?: string;
  readonly keep?: true;
  readonly fresh?: true;
  readonly busy?: true;
  readonly peers?: true | string;
  readonly soak?: true | number;
  readonly stall?: true;
  readonly workspaces?: number;
  readonly writes?: true;
};

const MODES = ['busy', 'peers', 'soak', 'stall', 'workspaces', 'writes'] as const;

/** An option of a mode, which excludes the other modes. */
const mode = (name: (typeof MODES)[number], value: string, description: string): Option =>
  new Option(`--${name}${value}`, `instead: ${description}`).conflicts(MODES.filter((each) => each !== name));

const command = new Command('npm run bench --')
  .description('Measures the server against the least that a Node.js server could do, side by side on one database.')
  .option('--only <names>', 'only these workloads, such as W1,W5')
  .option('--rounds <n>', 'rounds per workload and number of connections', wholeNumber, 5)
  .option('--seconds <s>', 'length of one round', wholeNumber, 3)
  .option('--connections <n>', 'connections of the throughput rounds', wholeNumber, 32)
  .option('--scale <share>', 'size of the data set, 1 being a million orders', share, 1)
  .option(...databaseOption)
  .option('--cache <directory>', 'where the embedded PostgreSQL has its data (node_modules/.cache/wda-bench)')
  .option('--profile <directory>', 'write CPU profiles of the servers there (see bench/profile.ts)')
  .option('--markdown', 'print the table as docs/performance.md has it')
  .option('--json <file>', 'write the figures there, in place of older ones of the same lines')
  .option('--keep', 'keep the database that the run has worked on')
  .option('--fresh', 'make the data anew')
  .addOption(mode('busy', '', 'the workloads once more while two other processes use the processors'))
  .addOption(mode('peers', ' [names]', 'other servers of the field, such as postgraphile,directus, on the same tables'))
  .addOption(mode('stall', '', 'how long the throughput takes to come back after stalls of the database'))
  .addOption(
    mode('workspaces', ' <n>', 'requests spread over so many workspaces against requests to ten').argParser(
      wholeNumber,
    ),
  )
  .addOption(mode('writes', '', 'many records at once, keys, imports and searches, against the same work by hand'))
  .addOption(
    mode('soak', ' [minutes]', 'all workloads mixed on our server alone, for so long (10 minutes)').argParser(
      wholeNumber,
    ),
  );

await runBench<Options>(command, async (options) => {
  const { json, workspaces } = options;
  const generator = await findLoadGenerator(makeScratch());
  const report =
    workspaces !== undefined
      ? await measureWorkspaces({ ...options, workspaces }, generator)
      : options.stall
        ? await measureStalls(options)
        : await measureOnGolden(options, generator);
  process.stdout.write(`${report.text}\n`);
  if (json !== undefined) writeResults(json, report);
});

function choosePeers({ peers }: Options): readonly Peer[] {
  const isMeant = (name: string, wanted: string) => name.toLowerCase().startsWith(wanted.toLowerCase());
  return choose(command, PEERS, peers === true ? undefined : peers, isMeant);
}

/** Measures on a copy of the data set. */
async function measureOnGolden(options: Options, generator: Stage['generator']): Promise<Report> {
  const data = dataSetOf(options.scale);
  const workloads = choose(command, workloadsOver(data), options.only, (name, wanted) => name === wanted);
  return withPostgres(options, (postgres) =>
    withGolden(postgres, data, options, async (place) => {
      const stage = { ...place, data, generator, options };
      if (options.soak !== undefined) return soak(stage, options.soak);
      if (options.peers !== undefined)
        return comparePeers(stage, workloads, choosePeers(options), options.cache ?? CACHE);
      if (options.writes) return measureMany(stage);
      return options.busy ? compareBusy(stage, workloads) : compareServers(stage, workloads);
    }),
  );
}

function measureMany({ url, adminKey, data, generator, options: { rounds, seconds } }: Stage): Promise<Report> {
  return withClient(url, async (client) => {
    const schema = await schemaIn(client);
    await stopAutovacuum(client, schema);
    return withServer(startOurs(url, adminKey), (ours) =>
      withServer(startLimit(url, schema), async (limit) => {
        const key = await createApiKey(ours, adminKey);
        return measureWrites({ ours, limit, key, adminKey, client, schema, data, generator, rounds, seconds });
      }),
    );
  });
}
