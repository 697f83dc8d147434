// `npm run bench:data`: what must not cost more as data grows. Totals and far pages of a million records against the same
// list without them; wide records, deep expansions and exports against the SQL that gives the same data by hand, asked by
// the bench itself without a server in between.

import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { mkdir, mkdtemp } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { Command, InvalidArgumentError } from 'commander';
import type pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { copyGolden, dropCopy, openPostgres, withClient } from './database.ts';
import { dataSetOf } from './dataset.ts';
import { loadGolden, schemaIn } from './golden.ts';
import { findLoadGenerator, type LoadGenerator } from './load.ts';
import { dataPrefix, type RunningServer, readMemory, resetMemoryPeak, startOurs } from './servers.ts';

const WIDE_FIELDS = 200;
const WIDE_RECORDS = 1000;
const CHILDREN = 1000;
const GRANDCHILDREN = 10;
const WIDE_PREFIX = dataPrefix.replace(/[^/]+$/, 'wide');
const ADMIN = '/api/admin/v1/organizations/bench/workspaces';

type Options = { readonly rounds: number; readonly seconds: number; readonly scale: number };

const command = new Command('npm run bench:data --')
  .description('Measures totals, far pages, wide records, deep expansions and exports.')
  .option('--rounds <n>', 'rounds of each pair', wholeNumber, 5)
  .option('--seconds <s>', 'length of a round under load', wholeNumber, 2)
  .option('--scale <share>', 'size of the data set, 1 being a million orders', Number, 1);

function wholeNumber(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError('It must be a whole number above 0.');
  return value;
}

const progress = (line: string): void => void process.stderr.write(`${line}\n`);
const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;

/** Two ways to the same, timed in turn; the figure is the first's time over the second's. */
type Pair = {
  readonly title: string;
  readonly goal: string;
  /** Milliseconds that one took. */
  readonly first: () => Promise<number>;
  readonly second: () => Promise<number>;
  readonly note?: () => string;
};

class Scene {
  readonly #server: RunningServer;
  readonly #key: string;
  readonly #client: pg.Client;
  readonly #generator: LoadGenerator;
  readonly #seconds: number;

  constructor(server: RunningServer, key: string, client: pg.Client, generator: LoadGenerator, seconds: number) {
    this.#server = server;
    this.#key = key;
    this.#client = client;
    this.#generator = generator;
    this.#seconds = seconds;
  }

  /** Time per request under load, in milliseconds: connections / rate. */
  async load(path: string, connections: number): Promise<number> {
    const { perSecond, failed } = await this.#generator.apply({
      port: this.#server.port,
      headers: { authorization: `Bearer ${this.#key}` },
      requests: [{ method: 'GET', path, body: null }],
      connections,
      seconds: this.#seconds,
    });
    if (failed > 0) throw new Error(`GET ${path}: ${failed} failed`);
    return (connections * 1000) / perSecond;
  }

  async fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = { authorization: `Bearer ${this.#key}`, ...init.headers };
    return fetch(`http://127.0.0.1:${this.#server.port}${path}`, { ...init, headers });
  }

  /** Milliseconds until the last byte of an answer. */
  async time(path: string, expected = 200): Promise<{ readonly took: number; readonly bytes: number }> {
    const started = performance.now();
    const response = await this.fetch(path);
    let bytes = 0;
    for await (const chunk of response.body ?? []) bytes += chunk.length;
    if (response.status !== expected) throw new Error(`GET ${path} answered ${response.status}`);
    return { took: performance.now() - started, bytes };
  }

  /** Milliseconds until the text of a statement's only value is here. */
  async query(text: string): Promise<number> {
    const started = performance.now();
    await this.#client.query({ text, rowMode: 'array' });
    return performance.now() - started;
  }

  /** Milliseconds until the last byte of a COPY, as psql's \copy reads it. */
  async copy(text: string): Promise<number> {
    const started = performance.now();
    const stream = this.#client.query(copyTo(text));
    stream.resume();
    await finished(stream);
    return performance.now() - started;
  }
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
async function makeWide(scene: Scene): Promise<void> {
  const post = async (path: string, type: string, body: string): Promise<void> => {
    const response = await scene.fetch(path, { method: 'POST', headers: { 'content-type': type }, body });
    const text = await response.text();
    if (!response.ok) throw new Error(`POST ${path} answered ${response.status}: ${text.slice(0, 500)}`);
  };
  const load = (entity: string, header: string, count: number, line: (index: number) => string): Promise<void> => {
    progress(`${count.toLocaleString('en')} ${entity} ...`);
    const lines = Array.from({ length: count }, (_, index) => line(index));
    return post(`${WIDE_PREFIX}/${entity}/_import`, 'text/csv', `${header}\n${lines.join('\n')}\n`);
  };
  await post(ADMIN, 'application/json', JSON.stringify({ slug: 'wide', name: 'Wide', schema: wideSchema }));
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

async function pairsOver(scene: Scene, orders: number, shop: string, wide: string): Promise<Pair[]> {
  const newest = `${dataPrefix}/orders?size=20&sort=id,desc`;
  const far = Math.floor(orders / 2 / 20);
  const before = await scene.fetch(`${newest}&count=none&page=${far - 1}`);
  const { meta } = (await before.json()) as { meta: { nextCursor: string } };
  const byCursor = `${newest}&count=none&after=${encodeURIComponent(meta.nextCursor)}`;
  const load = (title: string, goal: string, first: string, second: string): Pair[] =>
    [1, 32].map((connections) => ({
      title: `${title}, ${connections} connection${connections === 1 ? '' : 's'}`,
      goal,
      first: () => scene.load(first, connections),
      second: () => scene.load(second, connections),
    }));
  const bySql = (title: string, path: string, statement: string): Pair => {
    let size = 0;
    return {
      title,
      goal: '',
      first: async () => {
        const { took, bytes } = await scene.time(path);
        size = bytes;
        return took;
      },
      second: () => scene.query(statement),
      note: () => `${(size / 1e6).toFixed(1)} MB`,
    };
  };
  const exported = (title: string, count: number): Pair => ({
    title,
    goal: 'at most 2',
    first: async () => (await scene.time(`${dataPrefix}/orders/_export?format=csv&filter=id,lte,${count}`)).took,
    second: () =>
      scene.copy(`copy (select * from ${shop}.orders where id <= ${count} order by id) to stdout (format csv, header)`),
    note: () => '',
  });
  const leaves = `(select coalesce(json_agg(r), '[]') from (select l.id, l.name, l."twigId" from ${wide}.leaves l where l."twigId" = t.id order by l.id) r) leaves`;
  const twigs = `(select coalesce(json_agg(r), '[]') from (select t.id, t.name, t."branchId", ${leaves} from ${wide}.twigs t where t."branchId" = b.id order by t.id) r) twigs`;
  const deep = `select row_to_json(x)::text from (select p.id, p.name, (select coalesce(json_agg(r), '[]') from (select b.id, b.name, b."rootId", ${twigs} from ${wide}.branches b where b."rootId" = p.id order by b.id) r) branches from ${wide}.roots p where p.id = 1) x`;
  return [
    ...load('20 of 1,000,000 with the total / without', 'at most 1.3', newest, `${newest}&count=none`),
    ...load(`page ${far.toLocaleString('en')} by cursor / page 0`, 'at most 1.2', byCursor, `${newest}&count=none`),
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

async function main({ rounds, seconds, scale }: Options): Promise<void> {
  const data = dataSetOf(scale);
  const cacheDirectory = join(import.meta.dirname, '..', 'node_modules', '.cache', 'wda-bench');
  await mkdir(cacheDirectory, { recursive: true });
  const scratch = await mkdtemp(join(tmpdir(), 'wda-bench-'));
  process.once('exit', () => rmSync(scratch, { recursive: true, force: true }));
  const postgres = await openPostgres(undefined, cacheDirectory, progress);
  try {
    const adminKey = randomBytes(24).toString('hex');
    const url = await copyGolden(postgres, data, false, (empty) => loadGolden(empty, adminKey, data, progress));
    const generator = await findLoadGenerator(scratch);
    await withClient(url, async (client) => {
      const server = await startOurs(url, adminKey);
      try {
        // The operator's key may use the data of every workspace.
        const scene = new Scene(server, adminKey, client, generator, seconds);
        await makeWide(scene);
        const { rows } = await client.query("select database_schema as name from wda.workspace where slug = 'wide'");
        await client.query('vacuum analyze');
        process.stdout.write(
          `${await table(scene, server, data.orders, await schemaIn(client), rows[0].name, rounds)}\n`,
        );
        process.stdout.write(
          `\n- Medians of ${rounds} rounds; ${cpus().length} processors shared by server, database and bench, Node.js ${process.versions.node}, PostgreSQL ${postgres.version}, ${generator.description}.\n`,
        );
      } finally {
        await server.stop();
      }
    });
    await dropCopy(postgres);
  } finally {
    await postgres.stop();
  }
}

async function table(
  scene: Scene,
  server: RunningServer,
  orders: number,
  shop: string,
  wide: string,
  rounds: number,
): Promise<string> {
  const lines = ['| | ms | against ms | ratio | goal | peak MB |', '| --- | --: | --: | --: | --: | --: |'];
  for (const { title, goal, first, second, note } of await pairsOver(scene, orders, `"${shop}"`, `"${wide}"`)) {
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
    lines.push(`| ${name} | ${a.toPrecision(3)} | ${b.toPrecision(3)} | ${ratio.toFixed(2)} | ${goal} | ${peak} |`);
  }
  progress('an answer of more than a million records ...');
  resetMemoryPeak(server.pid);
  const refused = await scene.time(`${WIDE_PREFIX}/roots/2?expand=branches.twigs.leaves`, 400);
  const peak = readMemory(server.pid)?.peak.toFixed(0) ?? '';
  lines.push(`| a record with 1,000 × 1,000 below it, refused | ${refused.took.toFixed(0)} | | | | ${peak} |`);
  return lines.join('\n');
}

await main(command.parse().opts<Options>());
