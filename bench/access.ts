// `npm run bench:access`: what it costs to know who asks and to show only what is theirs. Five questions, each answered by
// variants that take turns on one server of ours; prints the table of docs/performance-access.md.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { type DataSet, dataSetOf, loadDataSet, schemaDocument } from './dataset.ts';
import { makeGranted, roleHeaders } from './grants.ts';
import { findLoadGenerator, type LoadGenerator } from './load.ts';
import { compareVariants, type Figures, renderTable, type Variant } from './measure.ts';
import {
  ADMIN,
  call,
  choose,
  createApiKey,
  databaseOption,
  dataPrefix,
  describeMachine,
  makeScratch,
  type Place,
  progress,
  type RunningServer,
  runBench,
  SHOP,
  schemaOfWorkspace,
  share,
  startOurs,
  wholeNumber,
  withClient,
  withGolden,
  withPostgres,
  withServer,
} from './setup.ts';
import { type Flaw, type Flood, type FloodResult, type Provider, startProvider } from './tokens.ts';
import { type PreparedRequest, prepareRequests, workloadsOver } from './workloads.ts';

type Options = {
  readonly rounds: number;
  readonly seconds: number;
  readonly scale: number;
  readonly only?: string;
  readonly databaseUrl?: string;
  readonly profile?: string;
  readonly markdown?: true;
};

const QUESTIONS = ['token', 'rule', 'list', 'grants', 'flood'].map((name) => ({ name }));
const CONNECTIONS = 32;
const VALID_CONNECTIONS = 16;
const FLOOD_CONNECTIONS = 16;
// Has 100 orders in both workspaces.
const CUSTOMER = 7;
const SMALL_SCALE = 0.01;

const CORNER = SHOP.replace(/[^/]+$/, 'corner');
const smallPrefix = dataPrefix.replace(/[^/]+$/, 'corner');

const command = new Command('npm run bench:access --')
  .description('Measures what tokens of an identity provider, row rules, grants and floods of invalid tokens cost.')
  .option('--rounds <n>', 'rounds of each variant', wholeNumber, 7)
  .option('--seconds <s>', 'length of one round', wholeNumber, 2)
  .option('--scale <share>', 'size of the large workspace, 1 being a million orders; at least 0.01', share, 1)
  .option('--only <names>', `only these of ${QUESTIONS.map(({ name }) => name).join(', ')}`)
  .option(...databaseOption)
  .option('--profile <directory>', 'write a CPU profile of the server there (see bench/profile.ts)')
  .option('--markdown', 'print the table as docs/performance-access.md has it');

const HEADINGS = ['Compared', 'figure', 'first', 'second', 'ratio', 'goal', 'beside req/s', 'CPU µs', 'errors'];

await runBench<Options>(command, async (options) => {
  const questions = choose(command, QUESTIONS, options.only, (name, wanted) => name === wanted);
  const asks = (question: string) => questions.some(({ name }) => name === question);
  const data = dataSetOf(options.scale);
  const provider = await startProvider();
  // The provider listens on this machine.
  const environment = { WDA_IDP_PRIVATE_NETWORK: 'allow' };
  const measure = (place: Place) =>
    withServer(startOurs(place.url, place.adminKey, options.profile, environment), async (server) => {
      const stage = await prepareStage(server, place, data, provider, options);
      const comparisons: Comparison[] = [];
      // The rule comes after the first question, which is about the token alone.
      if (asks('token')) comparisons.push(await measureToken(stage));
      await setRules(stage);
      if (asks('rule')) comparisons.push(await measureRule(stage));
      if (asks('list')) comparisons.push(await measureList(stage));
      if (asks('grants')) comparisons.push(...(await measureGrants(stage)));
      if (asks('flood')) comparisons.push(...(await measureFlood(stage)));
      const table = renderTable(HEADINGS, comparisons.map(cells), {
        markdown: options.markdown === true,
        left: [0, 1],
      });
      const machine = describeMachine(place.postgres, stage.generator.description);
      process.stdout.write(`${table}\n${machine}; medians of ${options.rounds} rounds of ${options.seconds} s\n`);
    });
  await withPostgres(options, (postgres) => withGolden(postgres, data, {}, measure)).finally(provider.stop);
});

type Comparison = {
  /** What is asked, then the two variants: `read by id: one, other`. */
  readonly title: string;
  readonly figure: string;
  readonly of: 'perSecond' | 'p50';
  readonly before: Figures;
  readonly after: Figures;
  readonly atLeast?: number;
  readonly below?: number;
};

/** What every question needs: the server with both workspaces, the credentials and the requests. */
type Stage = {
  readonly server: RunningServer;
  readonly provider: Provider;
  readonly adminKey: string;
  readonly url: string;
  readonly settings: object;
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
  { url, adminKey }: Place,
  data: DataSet,
  provider: Provider,
  options: Options,
): Promise<Stage> {
  const corner = { slug: 'corner', name: 'Corner shop', schema: schemaDocument };
  await call(server, adminKey, 'POST', `${ADMIN}/bench/workspaces`, corner);
  const ids = await withClient(url, async (client) => {
    // The names of these schemas need no quotes.
    await loadDataSet(client, await schemaOfWorkspace(client, 'corner'), dataSetOf(SMALL_SCALE), () => {});
    const { rows } = await client.query<{ id: string }>(
      `select id from ${await schemaOfWorkspace(client, 'shop')}.orders where "customerId" = $1 order by id`,
      [CUSTOMER],
    );
    return rows.map(({ id }) => id);
  });
  const { issuer, jwksUri, audience } = provider;
  const settings = { issuerUrl: issuer, jwksUri, audience, defaultPermissions: 'READ_WRITE', enabled: true };
  for (const workspace of [SHOP, CORNER])
    await call(server, adminKey, 'PUT', `${workspace}/identity-provider`, settings);
  return {
    server,
    provider,
    adminKey,
    url,
    settings,
    data,
    generator: await findLoadGenerator(makeScratch()),
    generatorBeside: await findLoadGenerator(makeScratch()),
    options,
    byKey: { authorization: `Bearer ${await createApiKey(server, adminKey)}` },
    byToken: { authorization: `Bearer ${provider.token({ customer_id: CUSTOMER })}` },
    ownOrders: ids.map((id) => ({ method: 'GET', path: `${dataPrefix}/orders/${id}`, body: null })),
  };
}

async function setRules(stage: Stage): Promise<void> {
  const rule = [{ column: 'customerId', claim: 'customer_id', enabled: true }];
  for (const workspace of [SHOP, CORNER])
    await call(stage.server, stage.adminKey, 'PUT', `${workspace}/entities/orders/row-rules`, rule);
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

/** Lists of records of which a thousandth is the user's, by row rule and by grants. */
async function measureGrants(stage: Stage): Promise<readonly Comparison[]> {
  progress('grants: making two tables ...');
  await makeGranted(stage.server, stage, stage.settings, stage.options.scale);
  const prefix = dataPrefix.replace(/[^/]+$/, 'granted');
  const list = (connections: number, entity: string, role: string, query = '?size=20') => {
    const request: PreparedRequest = { method: 'GET', path: `${prefix}/${entity}${query}`, body: null };
    const headers = roleHeaders(stage.provider, role);
    return () => stage.generator.apply({ ...loadOf(stage, connections), headers, requests: [request] });
  };
  const [byRule, byGrant] = await compare(stage, 'a list by row rule and by grant', [
    list(CONNECTIONS, 'ruled', 'company'),
    list(CONNECTIONS, 'granted', 'company'),
  ]);
  const page = '?size=20&count=none';
  const [one, other, both] = await compare(stage, 'two grants', [
    list(1, 'granted', 'company', page),
    list(1, 'granted', 'team', page),
    list(1, 'granted', 'both', page),
  ]);
  const [all, some] = await compare(stage, 'fields that depend on the record', [
    list(CONNECTIONS, 'granted', 'both'),
    list(CONNECTIONS, 'granted', 'partial'),
  ]);
  const perSecond = { figure: `req/s at ${CONNECTIONS}`, of: 'perSecond' } as const;
  return [
    {
      ...perSecond,
      title: 'list of 20 and total: under a row rule, under a grant',
      before: byRule,
      after: byGrant,
      atLeast: 0.97,
    },
    {
      title: 'list of 20: the faster of two grants, both ORed over two indexes',
      figure: 'p50 ms at 1',
      of: 'p50',
      before: one.p50 < other.p50 ? one : other,
      after: both,
      below: 1.3,
    },
    {
      ...perSecond,
      title: 'list of 20: two grants with all fields, and with 16 that depend on the record',
      before: all,
      after: some,
      atLeast: 0.95,
    },
  ];
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
  const child = spawn(process.execPath, [join(import.meta.dirname, 'tokens.ts'), JSON.stringify(flood)], {
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

/** A missed goal has an exclamation mark. */
function cells({ title, figure, of, before, after, atLeast, below }: Comparison): readonly string[] {
  const ratio = after[of] / before[of];
  const missed = (atLeast !== undefined && ratio < atLeast) || (below !== undefined && ratio >= below);
  const goal = atLeast !== undefined ? `≥ ${atLeast}` : below !== undefined ? `< ${below}` : '-';
  const show = (value: number) => (of === 'p50' ? value.toFixed(2) : Math.round(value).toLocaleString('en'));
  return [
    title,
    figure,
    show(before[of]),
    show(after[of]),
    `${ratio.toFixed(2)}${missed ? ' !' : ''}`,
    goal,
    after.perSecondBeside === 0 ? '-' : Math.round(after.perSecondBeside).toLocaleString('en'),
    `${before.processor.toFixed(0)}, ${after.processor.toFixed(0)}`,
    String(before.failed + after.failed),
  ];
}
