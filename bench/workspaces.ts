// `npm run bench -- --workspaces 20000`: many workspaces in one database. The throughput of requests spread over all against
// requests to ten, the memory that they leave in the server and in PostgreSQL, and how long a new workspace takes among many
// and among few. A database with this many workspaces is kept for the next run.

import { randomBytes } from 'node:crypto';
import type pg from 'pg';
import { formatRate, formatTime, markMissed, renderReport } from './compare.ts';
import type { LoadGenerator, LoadResult } from './load.ts';
import { median, type Report } from './measure.ts';
import {
  ADMIN,
  call,
  describeMachine,
  ensureDatabase,
  type PlaceOptions,
  progress,
  type RunningServer,
  readMemory,
  readPrivateMemory,
  startOurs,
  withClient,
  withPostgres,
  withServer,
} from './setup.ts';
import { makeRandom, type PreparedRequest } from './workloads.ts';

const ENTITIES = 5;
const RECORDS = 20;
const MAKERS = 4;
const LAST_ONES = 100;
/** Workspaces that the others are compared with, and of the database that new ones are compared in. */
const TEN = 10;
const FEW = 1000;
const NEW_ONES = 30;
const GOALS = { ratio: 0.8, server: 500, backend: 150, making: 1.5, start: 5 } as const;

type Options = PlaceOptions & {
  readonly workspaces: number;
  readonly rounds: number;
  readonly seconds: number;
  readonly connections: number;
  readonly fresh?: true;
  readonly profile?: string;
  readonly markdown?: true;
};

const schema = {
  entities: Object.fromEntries(
    Array.from({ length: ENTITIES }, (_, index) => [
      `entity${index}`,
      {
        fields: {
          name: { type: 'string', required: true },
          size: { type: 'integer', index: true },
          price: { type: 'decimal', precision: 12, scale: 2 },
          at: { type: 'datetime', default: 'now' },
        },
        ...(index === 0 ? {} : { relations: { parent: { kind: 'belongsTo', entity: `entity${index - 1}` } } }),
      },
    ]),
  ),
};

const csv = `name,size,price\n${Array.from({ length: RECORDS }, (_, index) => `n${index},${index},${index}.5\n`).join('')}`;

async function makeWorkspace(server: RunningServer, key: string, slug: string): Promise<void> {
  await call(server, key, 'POST', `${ADMIN}/many/workspaces`, { slug, name: slug, schema });
}

/** Makes the workspaces that a run before has not made or not filled. */
async function makeMissing(server: RunningServer, client: pg.Client, key: string, count: number): Promise<void> {
  const { rows } = await client.query<{ slug: string }>('select slug from wda.workspace');
  const there = new Set(rows.map(({ slug }) => slug));
  if (there.size === 0) await call(server, key, 'POST', ADMIN, { slug: 'many', name: 'Many' });
  let next = 0;
  const began = performance.now();
  const make = async () => {
    for (let index = next++; index < count; index = next++) {
      // The last ones of a run that was broken off may have no records yet.
      if (there.has(`w${index + LAST_ONES}`)) continue;
      if (!there.has(`w${index}`)) await makeWorkspace(server, key, `w${index}`);
      const fill = () => call(server, key, 'POST', `/api/v1/many/w${index}/entity0/_import`, csv, 'text/csv');
      // On a machine with other work one of thousands may run out of time.
      await fill().catch(fill);
      if (index % 500 === 499) {
        progress(`${index + 1} workspaces after ${((performance.now() - began) / 1000).toFixed(0)} s`);
      }
    }
  };
  await Promise.all(Array.from({ length: MAKERS }, make));
  await client.query('vacuum (analyze) wda.workspace');
}

async function deleteWorkspace(server: RunningServer, key: string, slug: string): Promise<void> {
  await call(server, key, 'DELETE', `${ADMIN}/many/workspaces/${slug}?confirm=${slug}`);
}

const paths = (workspace: number, record: number): readonly string[] => [
  `/api/v1/many/w${workspace}/entity0/${record}`,
  `/api/v1/many/w${workspace}/entity0?size=20&count=none`,
];

/** Records by id and lists in turn, at random over `count` workspaces. */
function requestsOver(count: number, seed: number): PreparedRequest[] {
  const random = makeRandom(seed);
  return Array.from({ length: Math.max(20_000, 4 * count) }, (_, index) => {
    const [workspace, record] = [Math.floor(random() * count), 1 + Math.floor(random() * RECORDS)];
    return { method: 'GET', path: paths(workspace, record)[index % 2] as string, body: null };
  });
}

/** Sends both requests to each workspace once; returns the median of the first ones, in milliseconds. */
async function visitAll(server: RunningServer, key: string, count: number, connections: number): Promise<number> {
  const times: number[] = [];
  let next = 0;
  const visit = async () => {
    for (let index = next++; index < count; index = next++) {
      const began = performance.now();
      const [first, second] = paths(index, 1) as [string, string];
      await call(server, key, 'GET', first);
      times.push(performance.now() - began);
      await call(server, key, 'GET', second);
      if (index % 2000 === 1999) progress(`${index + 1} workspaces have had their first requests`);
    }
  };
  await Promise.all(Array.from({ length: connections }, visit));
  return median(times);
}

/** Milliseconds that a further workspace takes on both servers, in turn. */
async function compareMaking(
  many: RunningServer,
  few: RunningServer,
  key: string,
): Promise<{ readonly many: number; readonly few: number }> {
  const times: [number[], number[]] = [[], []];
  for (let index = 0; index < NEW_ONES; index++) {
    const slug = `new-${randomBytes(4).toString('hex')}`;
    for (const [which, server] of [many, few].entries()) {
      const began = performance.now();
      await makeWorkspace(server, key, slug);
      times[which]?.push(performance.now() - began);
      await deleteWorkspace(server, key, slug);
    }
  }
  return { many: median(times[0]), few: median(times[1]) };
}

/** Private memory of the largest backend that serves the database, in MB; NaN where it is on another machine. */
async function readLargestBackend(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>(
    `select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
      and backend_type = 'client backend'`,
  );
  return Math.max(...rows.map(({ pid }) => readPrivateMemory(pid)));
}

/** Rows of pg_class and MB of one of `count` workspaces. */
async function describeSize(client: pg.Client, count: number) {
  // Below 16,384 are the oids of PostgreSQL's own tables; those of the server are few.
  const { rows } = await client.query<{ relations: number; megabytes: number }>(
    `select (select count(*) from pg_class where oid >= 16384)::float8 as relations,
      pg_database_size(current_database()) / 1e6::float8 as megabytes`,
  );
  const { relations = Number.NaN, megabytes = Number.NaN } = rows[0] ?? {};
  return { relations: relations / count, megabytes: megabytes / count };
}

type Figures = {
  /** Requests a second, over ten workspaces and over all. */
  readonly perSecond: { readonly ten: number; readonly all: number };
  readonly ratio: number;
  readonly firstRequestMs: number;
  /** MB. */
  readonly server: number;
  readonly serverPeak: number;
  readonly backend: number;
  readonly failed: number;
};

async function measureSpread(
  server: RunningServer,
  key: string,
  client: pg.Client,
  { workspaces, rounds, seconds, connections }: Options,
  generator: LoadGenerator,
): Promise<Figures> {
  const firstRequestMs = await visitAll(server, key, workspaces, connections);
  const apply = (count: number, round: number): Promise<LoadResult> =>
    generator.apply({
      port: server.port,
      headers: { authorization: `Bearer ${key}` },
      requests: requestsOver(count, round),
      connections,
      seconds,
    });
  const results: { readonly ten: LoadResult; readonly all: LoadResult }[] = [];
  for (let round = 0; round <= rounds; round++) {
    // Over all last, so that the memory is read after them.
    const result = { ten: await apply(TEN, round), all: await apply(workspaces, round) };
    progress(`over ten ${result.ten.perSecond.toFixed(0)} req/s, over all ${result.all.perSecond.toFixed(0)}`);
    if (round > 0) results.push(result);
  }
  const memory = readMemory(server.pid);
  return {
    perSecond: {
      ten: median(results.map(({ ten }) => ten.perSecond)),
      all: median(results.map(({ all }) => all.perSecond)),
    },
    ratio: median(results.map(({ ten, all }) => all.perSecond / ten.perSecond)),
    firstRequestMs,
    server: memory?.now ?? Number.NaN,
    serverPeak: memory?.peak ?? Number.NaN,
    backend: await readLargestBackend(client),
    failed: results.reduce((sum, { ten, all }) => sum + ten.failed + all.failed, 0),
  };
}

export async function measureWorkspaces(options: Options, generator: LoadGenerator): Promise<Report> {
  const { workspaces } = options;
  const few = Math.min(FEW, Math.ceil(workspaces / 5));
  const key = randomBytes(24).toString('hex');
  return withPostgres(options, async (postgres) => {
    const prepare = async (count: number): Promise<string> => {
      const url = await ensureDatabase(postgres, `wda_bench_workspaces_${count}`, options.fresh);
      await withServer(startOurs(url, key), (server) =>
        withClient(url, (client) => makeMissing(server, client, key, count)),
      );
      return url;
    };
    const [manyUrl, fewUrl] = [await prepare(workspaces), await prepare(few)];
    const began = performance.now();
    return withServer(startOurs(manyUrl, key, options.profile), async (server) => {
      const start = (performance.now() - began) / 1000;
      const making = await withServer(startOurs(fewUrl, key), (other) => compareMaking(server, other, key));
      const [figures, size] = await withClient(manyUrl, async (client) => [
        await measureSpread(server, key, client, options, generator),
        await describeSize(client, workspaces),
      ]);
      const rows = [
        ['start until ready', `${start.toFixed(2)} s`, `${GOALS.start} s`, start <= GOALS.start],
        ['requests to ten of them', `${formatRate(figures.perSecond.ten)}/s`, '', true],
        ['requests spread over all', `${formatRate(figures.perSecond.all)}/s`, '', true],
        ['ratio', figures.ratio.toFixed(2), `at least ${GOALS.ratio}`, figures.ratio >= GOALS.ratio],
        ['first request to a workspace', `${formatTime(figures.firstRequestMs)} ms`, '', true],
        [
          'server',
          `${figures.server.toFixed(0)} MB, peak ${figures.serverPeak.toFixed(0)}`,
          `${GOALS.server} MB`,
          figures.serverPeak <= GOALS.server,
        ],
        [
          'largest backend',
          `${figures.backend.toFixed(0)} MB`,
          `${GOALS.backend} MB`,
          figures.backend <= GOALS.backend,
        ],
        [`a new workspace among ${workspaces}`, `${formatTime(making.many)} ms`, '', true],
        [`a new workspace among ${few}`, `${formatTime(making.few)} ms`, '', true],
        [
          'ratio',
          (making.many / making.few).toFixed(2),
          `at most ${GOALS.making}`,
          making.many <= GOALS.making * making.few,
        ],
        ['failed', String(figures.failed), '0', figures.failed === 0],
      ] as const;
      const head = [`${workspaces} workspaces of ${ENTITIES} entities`, '', 'goal'];
      const cells = rows.map(([name, value, goal, isMet]) => [name, markMissed(value, !isMet), goal]);
      const remarks = [
        `Records by id and lists of ${RECORDS} in turn at random over ${options.connections} connections; medians of ${options.rounds} rounds of ${options.seconds} s.`,
        `A workspace has ${size.relations.toFixed(0)} rows of pg_class and ${size.megabytes.toFixed(2)} MB in the database.`,
        `Memory of a backend is without the shared buffers; ${describeMachine(postgres, generator.description)}.`,
      ];
      return {
        text: renderReport(head, cells, remarks, options),
        lines: [{ name: `${workspaces} workspaces`, workspaces, few, start, making, ...size, ...figures }],
      };
    });
  });
}
