// `npm run bench:access`: what it costs to know who asks and to show only what is theirs. Four questions, each answered by
// variants that take turns on one server of ours; prints the table of docs/performance-access.md.

import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command, InvalidArgumentError } from 'commander';
import { type Comparison, compareVariants, renderTable, type Variant } from './access-rounds.ts';
import { copyGolden, dropCopy, openPostgres, withClient } from './database.ts';
import { type DataSet, dataSetOf, findSchema, loadDataSet, schemaDocument } from './dataset.ts';
import type { Flaw, Flood, FloodResult } from './flood.ts';
import { loadGolden } from './golden.ts';
import { findLoadGenerator, type LoadGenerator } from './load.ts';
import { type Provider, startProvider } from './provider.ts';
import { createApiKey, dataPrefix, type RunningServer, startOurs } from './servers.ts';
import { type PreparedRequest, prepareRequests, workloadsOver } from './workloads.ts';

type Options = {
  readonly rounds: number;
  readonly seconds: number;
  readonly only?: string;
  readonly databaseUrl?: string;
  readonly cache: string;
  readonly profile?: string;
  readonly markdown?: true;
};

const QUESTIONS = ['token', 'rule', 'list', 'flood'] as const;
const CONNECTIONS = 32;
const VALID_CONNECTIONS = 16;
const FLOOD_CONNECTIONS = 16;
// Has 100 orders in both workspaces.
const CUSTOMER = 7;
const SMALL_SCALE = 0.01;

const organization = '/organizations/bench';
const largeWorkspace = `${organization}/workspaces/shop`;
const smallWorkspace = `${organization}/workspaces/corner`;
const smallPrefix = dataPrefix.replace(/[^/]+$/, 'corner');

const command = new Command('npm run bench:access --')
  .description('Measures what tokens of an identity provider, row rules and floods of invalid tokens cost.')
  .option('--rounds <n>', 'rounds of each variant', wholeNumber, 7)
  .option('--seconds <s>', 'length of one round', wholeNumber, 2)
  .option('--only <names>', `only these of ${QUESTIONS.join(', ')}`)
  .option('--database-url <url>', 'a PostgreSQL to use instead of the embedded one; its user makes databases there')
  .option(
    '--cache <directory>',
    'where the embedded PostgreSQL keeps its data',
    join(import.meta.dirname, '..', 'node_modules', '.cache', 'wda-bench'),
  )
  .option('--profile <directory>', 'write a CPU profile of the server there (see bench/profile.ts)')
  .option('--markdown', 'print the table as docs/performance-access.md has it');

function wholeNumber(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError('It must be a whole number above 0.');
  return value;
}

function progress(line: string): void {
  process.stderr.write(`${line}\n`);
}

async function main(options: Options): Promise<void> {
  const asked = options.only?.split(',') ?? QUESTIONS;
  const unknown = asked.filter((name) => !(QUESTIONS as readonly string[]).includes(name));
  if (unknown.length > 0) command.error(`error: no question ${unknown.join(', ')}`);
  await mkdir(options.cache, { recursive: true });
  const scratch = await mkdtemp(join(tmpdir(), 'wda-bench-'));
  const data = dataSetOf(1);
  const postgres = await openPostgres(options.databaseUrl, options.cache, progress);
  const provider = await startProvider();
  try {
    const adminKey = randomBytes(24).toString('hex');
    const url = await copyGolden(postgres, data, false, (empty) => loadGolden(empty, adminKey, data, progress));
    // The provider listens on this machine.
    process.env.WDA_IDP_PRIVATE_NETWORK = 'allow';
    const server = await startOurs(url, adminKey, options.profile);
    try {
      const stage = await prepareStage(server, adminKey, url, data, provider, scratch, options);
      const comparisons: Comparison[] = [];
      // The rule comes after the first question, which is about the token alone.
      if (asked.includes('token')) comparisons.push(await measureToken(stage));
      await setRules(stage);
      if (asked.includes('rule')) comparisons.push(await measureRule(stage));
      if (asked.includes('list')) comparisons.push(await measureList(stage));
      if (asked.includes('flood')) comparisons.push(...(await measureFlood(stage)));
      process.stdout.write(`${renderTable(comparisons, options.markdown ?? false)}\n`);
      process.stdout.write(
        `${cpus().length} processors (${cpus()[0]?.model.trim() ?? 'unknown'}) shared by server, database and load, ` +
          `Node.js ${process.versions.node}, PostgreSQL ${postgres.version}, ${stage.generator.description}; ` +
          `medians of ${options.rounds} rounds of ${options.seconds} s\n`,
      );
    } finally {
      await server.stop();
    }
    await dropCopy(postgres);
  } finally {
    provider.stop();
    await postgres.stop();
    await rm(scratch, { recursive: true });
  }
}

/** What every question needs: the server with both workspaces, the credentials and the requests. */
type Stage = {
  readonly server: RunningServer;
  readonly provider: Provider;
  readonly admin: (method: string, path: string, body: unknown) => Promise<void>;
  readonly data: DataSet;
  readonly generator: LoadGenerator;
  /** A second one, for load beside the load. */
  readonly generatorBeside: LoadGenerator;
  readonly options: Options;
  readonly byKey: Readonly<Record<string, string>>;
  readonly byToken: Readonly<Record<string, string>>;
  /** Reads of the orders of the customer whose token it is. */
  readonly ownOrders: readonly PreparedRequest[];
};

async function prepareStage(
  server: RunningServer,
  adminKey: string,
  url: string,
  data: DataSet,
  provider: Provider,
  scratch: string,
  options: Options,
): Promise<Stage> {
  const admin = (method: string, path: string, body: unknown) => administer(server, adminKey, method, path, body);
  const ids = await withClient(url, async (client) => {
    const large = await findSchema(client);
    await admin('POST', `${organization}/workspaces`, { slug: 'corner', name: 'Corner shop', schema: schemaDocument });
    const { rows: others } = await client.query<{ name: string }>(
      `select table_schema as name from information_schema.columns
       where table_name = 'orders' and column_name = 'customerId' and table_schema <> $1`,
      [large],
    );
    await loadDataSet(client, others[0]?.name ?? '', dataSetOf(SMALL_SCALE), () => {});
    const { rows } = await client.query<{ id: string }>(
      `select id from "${large}".orders where "customerId" = $1 order by id`,
      [CUSTOMER],
    );
    return rows.map(({ id }) => id);
  });
  for (const workspace of [largeWorkspace, smallWorkspace]) {
    await admin('PUT', `${workspace}/identity-provider`, {
      issuerUrl: provider.issuer,
      jwksUri: provider.jwksUri,
      audience: provider.audience,
      defaultPermissions: 'READ_WRITE',
      enabled: true,
    });
  }
  const generatorIn = async (name: string) => {
    const directory = join(scratch, name);
    await mkdir(directory);
    return findLoadGenerator(directory);
  };
  return {
    server,
    provider,
    admin,
    data,
    generator: await generatorIn('one'),
    generatorBeside: await generatorIn('two'),
    options,
    byKey: { authorization: `Bearer ${await createApiKey(server, adminKey)}` },
    byToken: { authorization: `Bearer ${provider.token({ customer_id: CUSTOMER })}` },
    ownOrders: ids.map((id) => ({ method: 'GET', path: `${dataPrefix}/orders/${id}`, body: null })),
  };
}

async function setRules(stage: Stage): Promise<void> {
  const rule = [{ column: 'customerId', claim: 'customer_id', enabled: true }];
  for (const workspace of [largeWorkspace, smallWorkspace]) {
    await stage.admin('PUT', `${workspace}/entities/orders/row-rules`, rule);
  }
  // In force within a second; what follows is worth nothing unless it is.
  await sleep(1000);
  for (const prefix of [dataPrefix, smallPrefix]) {
    const { body } = await ask(stage, `${prefix}/orders?size=20`, stage.byToken);
    const { data, meta } = JSON.parse(body) as { data: { customerId: number }[]; meta: { totalElements: number } };
    if (meta.totalElements !== 100 || data.length !== 20 || data.some(({ customerId }) => customerId !== CUSTOMER)) {
      throw new Error(`the rule is not in force: ${body.slice(0, 500)}`);
    }
  }
}

/** Any order, without row rules. */
async function measureToken(stage: Stage): Promise<Comparison> {
  const [read] = workloadsOver(stage.data);
  if (read === undefined) throw new TypeError('no workload');
  const requestsOf = (round: number) => prepareRequests(read, dataPrefix, stage.data, round);
  return compareReads(stage, 'read by id: API key, verified token', requestsOf, 0.9);
}

/** Orders of the user's own. */
async function measureRule(stage: Stage): Promise<Comparison> {
  return compareReads(stage, 'read by id: API key, token under a row rule', () => stage.ownOrders, 0.85);
}

async function compareReads(
  stage: Stage,
  title: string,
  requestsOf: (round: number) => readonly PreparedRequest[],
  goal: number,
): Promise<Comparison> {
  const path = requestsOf(0)[0]?.path ?? '';
  const [byKey, byToken] = [await ask(stage, path, stage.byKey), await ask(stage, path, stage.byToken)];
  if (byKey.status !== 200 || byKey.body !== byToken.body) {
    throw new Error(`the answers differ:\n${byKey.body}\n${byToken.body}`);
  }
  const read = (headers: Stage['byKey']) => (round: number) =>
    stage.generator.apply({ ...loadOf(stage, CONNECTIONS), headers, requests: requestsOf(round) });
  const [key, token] = await compare(stage, title, [read(stage.byKey), read(stage.byToken)]);
  return { title, figure: `req/s at ${CONNECTIONS}`, of: 'perSecond', before: key, after: token, atLeast: goal };
}

/** The page with the total, one question at a time: its time tells what it costs. */
async function measureList(stage: Stage): Promise<Comparison> {
  const title = 'list of 20 and total under a row rule: 10,000 orders, 1,000,000 orders';
  const list = (prefix: string) => () =>
    stage.generator.apply({
      ...loadOf(stage, 1),
      headers: stage.byToken,
      requests: [{ method: 'GET', path: `${prefix}/orders?size=20`, body: null }],
    });
  const [small, large] = await compare(stage, title, [list(smallPrefix), list(dataPrefix)]);
  return { title, figure: 'p50 ms at 1', of: 'p50', before: small, after: large, below: 1.5 };
}

/** Reads under a rule at 16 connections: alone, and beside 16 that send invalid tokens, or as many that send valid ones. */
async function measureFlood(stage: Stage): Promise<readonly Comparison[]> {
  const valid = { ...loadOf(stage, VALID_CONNECTIONS), headers: stage.byToken, requests: stage.ownOrders };
  const alone = () => stage.generator.apply(valid);
  const beside = (flaw: Flaw) => async () => {
    const flood = await startFlood(stage, flaw);
    const result = await stage.generator.apply(valid);
    const { requests, refused, seconds } = await flood();
    return { ...result, failed: result.failed + requests - refused, perSecondBeside: requests / seconds };
  };
  const shared = async () => {
    const [result, other] = await Promise.all([
      stage.generator.apply(valid),
      stage.generatorBeside.apply({ ...valid, connections: FLOOD_CONNECTIONS }),
    ]);
    return { ...result, perSecondBeside: other.perSecond };
  };
  const variants = [alone, beside('signature'), beside('key'), shared] as const;
  const [before, badSignature, unknownKey, valids] = await compare(stage, 'reads beside a flood', variants);
  const common = { figure: `req/s at ${VALID_CONNECTIONS}`, of: 'perSecond', before } as const;
  const title = `valid reads: alone, beside ${FLOOD_CONNECTIONS} connections of`;
  return [
    { ...common, title: `${title} bad signatures`, after: badSignature, atLeast: 0.5 },
    { ...common, title: `${title} unknown keys`, after: unknownKey, atLeast: 0.5 },
    { ...common, title: `${title} more valid reads`, after: valids },
  ];
}

/** Starts the flood; the function ends it and gives its figures. */
async function startFlood({ server, provider }: Stage, flaw: Flaw): Promise<() => Promise<FloodResult>> {
  const flood: Flood = {
    port: server.port,
    path: `${dataPrefix}/orders/1`,
    connections: FLOOD_CONNECTIONS,
    flaw,
    issuer: provider.issuer,
    audience: provider.audience,
    kid: provider.kid,
  };
  const child = spawn(process.execPath, [join(import.meta.dirname, 'flood.ts'), JSON.stringify(flood)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const ended = once(child, 'close');
  await Promise.race([once(child.stdout, 'data'), ended]);
  return async () => {
    child.stdin.end();
    await ended;
    return JSON.parse(output.trim().split('\n').at(-1) ?? '') as FloodResult;
  };
}

function compare<const V extends readonly Variant[]>({ server, options }: Stage, title: string, variants: V) {
  progress(`${title} ...`);
  return compareVariants(variants, server.pid, options.rounds);
}

function loadOf({ server, options }: Stage, connections: number) {
  return { port: server.port, seconds: options.seconds, connections };
}

async function ask({ server }: Stage, path: string, headers: Readonly<Record<string, string>>) {
  const response = await fetch(`http://127.0.0.1:${server.port}${path}`, { headers });
  return { status: response.status, body: await response.text() };
}

async function administer(
  server: RunningServer,
  adminKey: string,
  method: string,
  path: string,
  body: unknown,
): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${server.port}/api/admin/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
}

await main(command.parse().opts<Options>());
