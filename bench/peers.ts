// `npm run bench -- --peers`: our server against others of its field, on the same tables, in turns. They are installed from
// bench/peers into a cache folder, and are no dependencies of the project.

import { execFile } from 'node:child_process';
import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type pg from 'pg';
import { describeRun, formatRate, markMissed, renderReport, type Stage } from './compare.ts';
import { type DataSet, restoreOrders, stopAutovacuum } from './dataset.ts';
import { countFailed, type Entrant, type MeasuredSide, measureWorkload, medianOf, type Report } from './measure.ts';
import {
  createApiKey,
  dataPrefix,
  progress,
  type RunningServer,
  schemaIn,
  startOurs,
  startPeer,
  withClient,
  withServer,
} from './setup.ts';
import { prepareRequests, type Workload } from './workloads.ts';

/** Our throughput should be this many times that of a peer. */
const GOAL = 3;
const FOLDER = join(import.meta.dirname, 'peers');
const TOKEN = 'token-of-the-bench';
const START_SECONDS = 180;

type Request = { readonly method: string; readonly path: string; readonly body?: string };

export type Peer = {
  readonly name: string;
  readonly script: string;
  readonly headers: Readonly<Record<string, string>>;
  /** By workload; those that it cannot do are missing. */
  readonly requests: (deepPage: number) => Readonly<Record<string, Request>>;
};

const ORDER = 'status total createdAt note';
const CUSTOMER = 'name email country createdAt';
/** PostGraphile has another id of its own. */
const row = (fields: string): string => `id:rowId ${fields}`;
/** Platformatic DB puts the schema before the names of its tables; the shop is the first workspace. */
const ORDERS = '/ws1ShopOrders/';
const CREATED = '"customerId":{customer},"status":"new","total":12.34,"note":"bench"';

const graphql = (query: string, variables = '{}'): Request => ({
  method: 'POST',
  path: '/graphql',
  body: `{"query":${JSON.stringify(query)},"variables":${variables}}`,
});
const get = (path: string): Request => ({ method: 'GET', path });

export const PEERS: readonly Peer[] = [
  {
    name: 'PostGraphile',
    script: 'postgraphile.mjs',
    headers: {},
    requests: (deepPage) => {
      const newest = (more: string, fields: string) =>
        graphql(`{allOrders(first:20,orderBy:ROW_ID_DESC${more}){nodes{${fields}}}}`);
      const total = (list: string, fields: string) => graphql(`{${list}{nodes{${fields}} totalCount}}`);
      return {
        W1: graphql(`query($id:BigInt!){orderByRowId(rowId:$id){${row(ORDER)} customerId}}`, '{"id":"{order}"}'),
        W2: total('allCustomers(first:20)', row(CUSTOMER)),
        W3: total('allOrders(first:20,orderBy:ROW_ID_DESC)', `${row(ORDER)} customerId`),
        W3b: newest('', `${row(ORDER)} customerId`),
        W4: newest('', `${row(ORDER)} customerId customerByCustomerId{${row(CUSTOMER)}}`),
        W5: graphql(
          `query($id:BigInt!){orderByRowId(rowId:$id){${row(ORDER)} customerId orderItemsByOrderId{nodes{${row('orderId productId quantity price')} productByProductId{${row('sku title price')}}}}}}`,
          '{"id":"{order}"}',
        ),
        W6: graphql(
          `{allCustomers(first:20){nodes{${row(CUSTOMER)} ordersByCustomerId{nodes{${row(ORDER)} customerId}}}}}`,
        ),
        W8: newest(`,offset:${20 * deepPage}`, `${row(ORDER)} customerId`),
        W9: graphql(
          `mutation($id:BigInt!){updateOrderByRowId(input:{rowId:$id,orderPatch:{status:"paid"}}){order{${row(ORDER)} customerId}}}`,
          '{"id":"{order}"}',
        ),
        W7: graphql(
          `mutation($order:OrderInput!){createOrder(input:{order:$order}){order{${row(ORDER)} customerId}}}`,
          '{"order":{"customerId":"{customer}","status":"new","total":"12.34","note":"bench"}}',
        ),
      };
    },
  },
  {
    name: 'Platformatic DB',
    script: 'platformatic.mjs',
    headers: {},
    requests: (deepPage) => {
      const newest = (fields: string) =>
        graphql(`{ws1ShopOrders(limit:20,orderBy:[{field:id,direction:DESC}]){${fields}}}`);
      return {
        W1: get(`${ORDERS}{order}`),
        W2: get('/ws1ShopCustomers/?limit=20&totalCount=true'),
        W3: get('/ws1ShopOrders/?limit=20&orderby.id=desc&totalCount=true'),
        W3b: get('/ws1ShopOrders/?limit=20&orderby.id=desc'),
        W4: newest(`id ${ORDER} customerId{id ${CUSTOMER}}`),
        W5: graphql(
          `query($id:ID!){getWs1ShopOrderById(id:$id){id ${ORDER} ws1ShopOrderItems{id quantity price productId{id sku title price}}}}`,
          '{"id":"{order}"}',
        ),
        W6: graphql(
          `{ws1ShopCustomers(limit:20,orderBy:[{field:id,direction:ASC}]){id ${CUSTOMER} ws1ShopOrders(limit:1000){id ${ORDER}}}}`,
        ),
        W8: get(`/ws1ShopOrders/?limit=20&orderby.id=desc&offset=${20 * deepPage}`),
        W9: graphql(
          `mutation($id:ID!){saveWs1ShopOrder(input:{id:$id,status:"paid"}){id ${ORDER}}}`,
          '{"id":"{order}"}',
        ),
        W7: { method: 'POST', path: ORDERS, body: `{${CREATED},"createdAt":"2026-01-01T00:00:00Z"}` },
      };
    },
  },
  {
    name: 'Directus',
    script: 'directus.mjs',
    headers: { authorization: `Bearer ${TOKEN}` },
    requests: (deepPage) => {
      const newest = '/items/orders?limit=20&sort=-id';
      return {
        W1: get('/items/orders/{order}'),
        W2: get('/items/customers?limit=20&fields=id,name,email,country,createdAt&meta=total_count'),
        W3: get(`${newest}&fields=id,customerId,status,total,createdAt,note&meta=total_count`),
        W3b: get(`${newest}&fields=id,customerId,status,total,createdAt,note`),
        W4: get(
          `${newest}&fields=id,status,total,createdAt,note,customerId.id,customerId.name,customerId.email,customerId.country,customerId.createdAt`,
        ),
        W5: get(
          '/items/orders/{order}?fields=id,customerId,status,total,createdAt,note,items.id,items.orderId,items.quantity,items.price,items.productId.*',
        ),
        W6: get('/items/customers?limit=20&fields=id,name,email,country,createdAt,orders.*&deep[orders][_limit]=-1'),
        W8: get(`${newest}&offset=${20 * deepPage}&fields=id,customerId,status,total,createdAt,note`),
        W9: { method: 'PATCH', path: '/items/orders/{order}', body: '{"status":"paid"}' },
        W7: { method: 'POST', path: '/items/orders', body: `{${CREATED}}` },
      };
    },
  },
];

/** Installs the peers below the cache folder, once for each list of versions; returns the folder. */
async function install(cache: string): Promise<string> {
  const folder = join(cache, 'peers');
  mkdirSync(folder, { recursive: true });
  cpSync(FOLDER, folder, { recursive: true });
  progress('Installing the peers (minutes, the first time) ...');
  // Their scripts build what these requests do not use.
  const args = ['install', '--ignore-scripts', '--legacy-peer-deps', '--no-audit', '--no-fund', '--loglevel=error'];
  await promisify(execFile)('npm', args, { cwd: folder });
  return folder;
}

/** Starts one after the other, and stops all whatever happens. */
async function withPeers<T>(
  peers: readonly Peer[],
  start: (peer: Peer) => Promise<RunningServer>,
  work: (servers: readonly RunningServer[]) => Promise<T>,
  running: readonly RunningServer[] = [],
): Promise<T> {
  const [next, ...others] = peers;
  if (next === undefined) return work(running);
  progress(`Starting ${next.name} ...`);
  return withServer(start(next), (server) => withPeers(others, start, work, [...running, server]));
}

export async function comparePeers(
  stage: Stage,
  workloads: readonly Workload[],
  peers: readonly Peer[],
  cache: string,
): Promise<Report> {
  const { url, adminKey, data, generator, options } = stage;
  const folder = await install(cache);
  return withClient(url, async (client) => {
    const schema = await schemaIn(client);
    await stopAutovacuum(client, schema);
    const environment = {
      DATABASE_URL: url,
      DATA_SCHEMA: schema,
      PEER_TOKEN: TOKEN,
      IGNORED_TABLES: await listInternalTables(client, schema),
    };
    const start = (peer: Peer) => startPeer(join(folder, peer.script), environment, START_SECONDS);
    return withServer(startOurs(url, adminKey), async (ours) => {
      const headers = { authorization: `Bearer ${await createApiKey(ours, adminKey)}` };
      return withPeers(peers, start, async (servers) => {
        const sides = servers.map(({ pid, port }, index): MeasuredSide => {
          const { name, headers: own } = peers[index] as Peer;
          return { name, pid, port, headers: own, prefix: '' };
        });
        const lines: PeerLine[] = [];
        for (const workload of workloads) {
          const entrants: Entrant[] = [
            { side: { name: 'ours', pid: ours.pid, port: ours.port, headers, prefix: dataPrefix }, workload },
            ...sides.flatMap((side, index) => {
              const request = (peers[index] as Peer).requests(Math.floor(data.orders / 40))[workload.name];
              return request === undefined
                ? []
                : [{ side, workload: { ...workload, body: null, ...request } as Workload }];
            }),
          ];
          await compareIds(entrants, data);
          const restore = async () => {
            if (workload.method !== 'GET') await restoreOrders(client, schema, data, workload.name);
          };
          await restore();
          progress(`${workload.name} (${workload.title}) ...`);
          const { rounds: count, seconds, connections } = options;
          const rounds = await measureWorkload(entrants, {
            rounds: count,
            seconds,
            connections,
            generator,
            data,
            restore,
          });
          lines.push({
            name: workload.name,
            title: workload.title,
            perSecond: Object.fromEntries(
              entrants.map(({ side }, at) => [side.name, medianOf(rounds, at, 'perSecond')]),
            ),
            p99: Object.fromEntries(entrants.map(({ side }, at) => [side.name, medianOf(rounds, at, 'p99')])),
            failed: countFailed(rounds),
          });
        }
        return report(stage, peers, lines);
      });
    });
  });
}

type PeerLine = {
  readonly name: string;
  readonly title: string;
  readonly perSecond: Readonly<Record<string, number>>;
  readonly p99: Readonly<Record<string, number>>;
  readonly failed: number;
};

function report(stage: Stage, peers: readonly Peer[], lines: readonly PeerLine[]): Report {
  const head = ['Workload', 'ours req/s', ...peers.flatMap(({ name }) => [`${name} req/s`, 'times']), 'errors'];
  const rows = lines.map(({ name, title, perSecond, failed }) => {
    const ours = perSecond.ours ?? Number.NaN;
    return [
      `${name}: ${title}`,
      formatRate(ours),
      ...peers.flatMap((peer) => {
        const theirs = perSecond[peer.name];
        if (theirs === undefined) return ['-', '-'];
        return [formatRate(theirs), markMissed((ours / theirs).toFixed(1), ours < GOAL * theirs)];
      }),
      String(failed),
    ];
  });
  const remarks = [
    `"times": ours to theirs; "!" marks less than ${GOAL}. "-": it has no such request.`,
    'Peers run in one process as they are installed, with their own pools of connections; only ours and Directus check a credential.',
    ...describeRun(stage),
  ];
  return { text: renderReport(head, rows, remarks, stage.options), lines };
}

/** Tables of the schema that belong to our server. */
async function listInternalTables(client: pg.Client, schema: string): Promise<string> {
  const { rows } = await client.query<{ name: string }>(
    `select table_name as name from information_schema.tables where table_schema = $1 and table_name like '$%'`,
    [schema],
  );
  return rows.map(({ name }) => name).join();
}

/** Compares the ids in the answers of all to one question, but for those of creates. */
async function compareIds(entrants: readonly Entrant[], data: DataSet): Promise<void> {
  const answers = await Promise.all(
    entrants.map(async ({ side, workload }) => {
      const [request] = prepareRequests(workload, side.prefix, data, 1_000_003);
      const response = await fetch(`http://127.0.0.1:${side.port}${request?.path}`, {
        method: workload.method,
        headers: { ...side.headers, ...(workload.body === null ? {} : { 'content-type': 'application/json' }) },
        body: request?.body ?? null,
      });
      const text = await response.text();
      const ids = [...text.matchAll(/"id":"?(\d+)/g)].map(([, id]) => id).sort();
      return { name: side.name, text, ids: workload.name === 'W7' ? ids.length : ids.join() };
    }),
  );
  const [ours] = answers;
  for (const { name, text, ids } of answers) {
    if (ids !== ours?.ids || ids === '' || ids === 0)
      throw new Error(
        `${entrants[0]?.workload.name}: ${name} answers\n${text.slice(0, 1500)}\nours\n${ours?.text.slice(0, 1500)}`,
      );
  }
}
