// `npm run bench:data`: what must not cost more as data grows. Totals and far pages of a million records against the same
// list without them; wide records, deep expansions and exports against the SQL that gives the same data by hand, asked by
// the bench itself without a server in between.

import { finished } from 'node:stream/promises';
import { Command } from 'commander';
import type pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { dataSetOf } from './dataset.ts';
import { findLoadGenerator, type LoadGenerator } from './load.ts';
import { median, renderTable } from './measure.ts';
import {
  ADMIN,
  call,
  dataPrefix,
  describeMachine,
  makeScratch,
  plural,
  progress,
  type RunningServer,
  readMemory,
  resetMemoryPeak,
  runBench,
  schemaOfWorkspace,
  share,
  startOurs,
  wholeNumber,
  withClient,
  withGolden,
  withPostgres,
  withServer,
} from './setup.ts';

const WIDE_FIELDS = 200;
const WIDE_RECORDS = 1000;
const CHILDREN = 1000;
const GRANDCHILDREN = 10;
const WIDE_PREFIX = dataPrefix.replace(/[^/]+$/, 'wide');

type Options = { readonly rounds: number; readonly seconds: number; readonly scale: number };

const command = new Command('npm run bench:data --')
  .description('Measures totals, far pages, wide records, deep expansions and exports.')
  .option('--rounds <n>', 'rounds of each pair', wholeNumber, 5)
  .option('--seconds <s>', 'length of a round under load', wholeNumber, 2)
  .option('--scale <share>', 'size of the data set, 1 being a million orders', share, 1);

/** Two ways to the same, timed in turn; the figure is the first's time over the second's. */
type Pair = {
  readonly title: string;
  readonly goal: string;
  /** Milliseconds that one took. */
  readonly first: () => Promise<number>;
  readonly second: () => Promise<number>;
  readonly note?: () => string;
};

type Stage = {
  readonly server: RunningServer;
  /** The operator's, which may use the data of every workspace. */
  readonly key: string;
  readonly client: pg.Client;
  readonly generator: LoadGenerator;
  readonly seconds: number;
};

/** Time per request under load, in milliseconds: connections / rate. */
async function load({ server, key, generator, seconds }: Stage, path: string, connections: number): Promise<number> {
  const { perSecond, failed } = await generator.apply({
    port: server.port,
    headers: { authorization: `Bearer ${key}` },
    requests: [{ method: 'GET', path, body: null }],
    connections,
    seconds,
  });
  if (failed > 0) throw new Error(`GET ${path}: ${failed} failed`);
  return (connections * 1000) / perSecond;
}

const get = ({ server, key }: Stage, path: string): Promise<Response> =>
  fetch(`http://127.0.0.1:${server.port}${path}`, { headers: { authorization: `Bearer ${key}` } });

/** Milliseconds until the last byte of an answer. */
async function time(stage: Stage, path: string, expected = 200): Promise<{ took: number; bytes: number }> {
  const started = performance.now();
  const response = await get(stage, path);
  let bytes = 0;
  for await (const chunk of response.body ?? []) bytes += chunk.length;
  if (response.status !== expected) throw new Error(`GET ${path} answered ${response.status}`);
  return { took: performance.now() - started, bytes };
}

/** Milliseconds until the text of a statement's only value is here. */
async function query({ client }: Stage, text: string): Promise<number> {
  const started = performance.now();
  await client.query({ text, rowMode: 'array' });
  return performance.now() - started;
}

/** Milliseconds until the last byte of a COPY, as psql's \copy reads it. */
async function copy({ client }: Stage, text: string): Promise<number> {
  const started = performance.now();
  const stream = client.query(copyTo(text));
  stream.resume();
  await finished(stream);
  return performance.now() - started;
}

const wideField = (index: number): string => `field${String(index).padStart(3, '0')}`;
const TYPES = ['string', 'integer', 'decimal', 'boolean', 'datetime', 'date', 'text', 'integer'] as const;
const VALUES: readonly ((row: number) => string)[] = [
  (row) => `value ${row}`,
  (row) => String(row),
  (row) => `${row}.25`,
  (row) => String(row % 2 === 0),
  () => '2026-01-02T03:04:05.678Z',
  () => '2026-01-02',
  (row) => `a longer text of record ${row}, as people write them`,
  (row) => String(row * 7),
];

const wideSchema = {
  entities: {
    wide: {
      fields: Object.fromEntries(
        Array.from({ length: WIDE_FIELDS }, (_, index) => {
          const type = TYPES[index % TYPES.length];
          return [wideField(index), type === 'decimal' ? { type, precision: 12, scale: 2 } : { type }];
        }),
      ),
    },
    roots: { fields: { name: { type: 'string' } }, relations: children('branches', 'root') },
    branches: {
      fields: { name: { type: 'string' } },
      relations: { ...parent('roots', 'root'), ...children('twigs', 'branch') },
    },
    twigs: {
      fields: { name: { type: 'string' } },
      relations: { ...parent('branches', 'branch'), ...children('leaves', 'twig') },
    },
    leaves: { fields: { name: { type: 'string' } }, relations: parent('twigs', 'twig') },
  },
};

function parent(entity: string, name: string): Record<string, object> {
  return { [name]: { kind: 'belongsTo', entity } };
}

function children(entity: string, inverse: string): Record<string, object> {
  return { [entity]: { kind: 'hasMany', entity, inverse } };
}

/** Makes the workspace `wide`: a root with 1,000 branches of 10 twigs of 10 leaves, and one whose branches have 1,000 twigs. */
async function makeWide({ server, key }: Stage): Promise<void> {
  const load = (entity: string, header: string, count: number, line: (index: number) => string): Promise<void> => {
    progress(`${count.toLocaleString('en')} ${entity} ...`);
    const lines = Array.from({ length: count }, (_, index) => line(index));
    const file = `${header}\n${lines.join('\n')}\n`;
    return call(server, key, 'POST', `${WIDE_PREFIX}/${entity}/_import`, file, 'text/csv');
  };
  const workspace = { slug: 'wide', name: 'Wide', schema: wideSchema };
  await call(server, key, 'POST', `${ADMIN}/bench/workspaces`, workspace);
  const names = Array.from({ length: WIDE_FIELDS }, (_, index) => wideField(index));
  const quoted = (text: string): string => (text.includes(',') ? `"${text}"` : text);
  await load('wide', names.join(), WIDE_RECORDS, (row) =>
    names.map((_, index) => quoted((VALUES[index % VALUES.length] as (row: number) => string)(row))).join(),
  );
  await load('roots', 'name', 2, (index) => `root ${index}`);
  await load('branches', 'name,rootId', 2 * CHILDREN, (index) => `branch ${index},${1 + Math.floor(index / CHILDREN)}`);
  const few = CHILDREN * GRANDCHILDREN;
  await load('twigs', 'name,branchId', few + CHILDREN * CHILDREN, (index) =>
    index < few
      ? `twig ${index},${1 + Math.floor(index / GRANDCHILDREN)}`
      : `twig ${index},${1 + CHILDREN + Math.floor((index - few) / CHILDREN)}`,
  );
  await load(
    'leaves',
    'name,twigId',
    few * GRANDCHILDREN,
    (index) => `leaf ${index},${1 + Math.floor(index / GRANDCHILDREN)}`,
  );
}

async function pairsOver(stage: Stage, orders: number, shop: string, wide: string): Promise<Pair[]> {
  const newest = `${dataPrefix}/orders?size=20&sort=id,desc`;
  const far = Math.floor(orders / 2 / 20);
  const before = await get(stage, `${newest}&count=none&page=${far - 1}`);
  const { meta } = (await before.json()) as { meta: { nextCursor: string } };
  const byCursor = `${newest}&count=none&after=${encodeURIComponent(meta.nextCursor)}`;
  const loads = (title: string, goal: string, first: string, second: string): Pair[] =>
    [1, 32].map((connections) => ({
      title: `${title}, ${plural(connections)}`,
      goal,
      first: () => load(stage, first, connections),
      second: () => load(stage, second, connections),
    }));
  const bySql = (title: string, path: string, statement: string): Pair => {
    let size = 0;
    return {
      title,
      goal: '',
      first: async () => {
        const { took, bytes } = await time(stage, path);
        size = bytes;
        return took;
      },
      second: () => query(stage, statement),
      note: () => `${(size / 1e6).toFixed(1)} MB`,
    };
  };
  const exported = (title: string, count: number): Pair => ({
    title,
    goal: 'at most 2',
    first: async () => (await time(stage, `${dataPrefix}/orders/_export?format=csv&filter=id,lte,${count}`)).took,
    second: () =>
      copy(
        stage,
        `copy (select * from ${shop}.orders where id <= ${count} order by id) to stdout (format csv, header)`,
      ),
  });
  const leaves = `(select coalesce(json_agg(r), '[]') from (select l.id, l.name, l."twigId" from ${wide}.leaves l where l."twigId" = t.id order by l.id) r) leaves`;
  const twigs = `(select coalesce(json_agg(r), '[]') from (select t.id, t.name, t."branchId", ${leaves} from ${wide}.twigs t where t."branchId" = b.id order by t.id) r) twigs`;
  const deep = `select row_to_json(x)::text from (select p.id, p.name, (select coalesce(json_agg(r), '[]') from (select b.id, b.name, b."rootId", ${twigs} from ${wide}.branches b where b."rootId" = p.id order by b.id) r) branches from ${wide}.roots p where p.id = 1) x`;
  return [
    ...loads('20 of 1,000,000 with the total / without', 'at most 1.3', newest, `${newest}&count=none`),
    ...loads(`page ${far.toLocaleString('en')} by cursor / page 0`, 'at most 1.2', byCursor, `${newest}&count=none`),
    bySql(
      '20 records of 200 fields / the same by SQL',
      `${WIDE_PREFIX}/wide?size=20&count=none`,
      `select json_agg(w)::text from (select * from ${wide}.wide order by id limit 20) w`,
    ),
    bySql(
      '1,000 records of 200 fields / the same by SQL',
      `${WIDE_PREFIX}/wide?size=1000&count=none`,
      `select json_agg(w)::text from (select * from ${wide}.wide order by id limit 1000) w`,
    ),
    bySql(
      'a record with 1,000 × 10 × 10 below it / the same by SQL',
      `${WIDE_PREFIX}/roots/1?expand=branches.twigs.leaves`,
      deep,
    ),
    exported('export of 100,000 as CSV / COPY', 100_000),
    exported('export of 1,000,000 as CSV / COPY', 1_000_000),
  ];
}

async function table(stage: Stage, orders: number, rounds: number): Promise<string> {
  const { server, client } = stage;
  const rows: string[][] = [];
  const [shop, wide] = [await schemaOfWorkspace(client, 'shop'), await schemaOfWorkspace(client, 'wide')];
  for (const { title, goal, first, second, note } of await pairsOver(stage, orders, shop, wide)) {
    progress(`${title} ...`);
    const times: { first: number; second: number }[] = [];
    resetMemoryPeak(server.pid);
    for (let round = 0; round <= rounds; round++) {
      const firstGoes = round % 2 === 0;
      const [a, b] = firstGoes ? [await first(), await second()] : [await second(), await first()].reverse();
      if (round > 0) times.push({ first: a as number, second: b as number });
    }
    const [a, b] = [median(times.map((time) => time.first)), median(times.map((time) => time.second))];
    const ratio = median(times.map((time) => time.first / time.second));
    const name = [title, note?.()].filter((part) => part).join(', ');
    const peak = readMemory(server.pid)?.peak.toFixed(0) ?? '';
    rows.push([name, a.toPrecision(3), b.toPrecision(3), ratio.toFixed(2), goal, peak]);
  }
  progress('an answer of more than a million records ...');
  resetMemoryPeak(server.pid);
  const refused = await time(stage, `${WIDE_PREFIX}/roots/2?expand=branches.twigs.leaves`, 400);
  const peak = readMemory(server.pid)?.peak.toFixed(0) ?? '';
  rows.push(['a record with 1,000 × 1,000 below it, refused', refused.took.toFixed(0), '', '', '', peak]);
  return renderTable(['', 'ms', 'against ms', 'ratio', 'goal', 'peak MB'], rows);
}

await runBench<Options>(command, async ({ rounds, seconds, scale }) => {
  const data = dataSetOf(scale);
  const generator = await findLoadGenerator(makeScratch());
  await withPostgres({}, (postgres) =>
    withGolden(postgres, data, {}, ({ url, adminKey: key }) =>
      withClient(url, (client) =>
        withServer(startOurs(url, key), async (server) => {
          const stage = { server, key, client, generator, seconds };
          await makeWide(stage);
          await client.query('vacuum analyze');
          process.stdout.write(`${await table(stage, data.orders, rounds)}\n`);
          const machine = describeMachine(postgres, generator.description);
          process.stdout.write(`\n- Medians of ${rounds} rounds; ${machine}.\n`);
        }),
      ),
    ),
  );
});
