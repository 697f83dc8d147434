// Searches of three words in the notes of the orders against the same search in SQL over the same index. The notes become
// searchable for it, which makes every write more expensive: it is the last thing that a run measures.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import type { DataSet } from './dataset.ts';
import { dataPrefix, type RunningServer } from './servers.ts';
import { milliseconds, type Row, takeTurns } from './turns.ts';

export type SearchOptions = {
  readonly ours: RunningServer;
  readonly key: string;
  readonly adminKey: string;
  readonly client: Client;
  readonly schema: string;
  readonly data: DataSet;
  readonly progress: (line: string) => void;
};

const SHOP = '/api/admin/v1/organizations/bench/workspaces/shop';
const GOAL_MS = 20;
/** The goal is for so many orders. */
const GOAL_ORDERS = 1_000_000;
/** This server ranks so many of the records that it finds. */
const RANKED = 1000;

type Search = {
  readonly title: string;
  readonly turns: number;
  /** The last word is a beginning. */
  readonly words: (turn: number, data: DataSet) => readonly string[];
};

const SEARCHES: readonly Search[] = [
  {
    title: 'of which one is rare',
    turns: 100,
    words: (turn, data) => ['note', 'order', String((((turn + 7) * 7919) % data.orders) + 1)],
  },
  { title: 'that two thirds of the orders have', turns: 15, words: () => ['note', 'for', 'order'] },
];

export async function measureSearches(options: SearchOptions): Promise<readonly Row[]> {
  const { client, schema, data, progress } = options;
  progress('The notes become searchable ...');
  await makeSearchable(options);
  await client.query(`vacuum analyze "${schema}".orders`);
  const statement = await statementOf(client, schema);
  const ask = async (words: readonly string[]) => {
    const search = encodeURIComponent(words.join(' '));
    return request(options.ours, options.key, 'GET', `${dataPrefix}/orders?search=${search}&size=20&count=none`);
  };
  const askByHand = async (words: readonly string[]) => {
    const { rows } = await client.query({ name: 'search', text: statement, values: [`${words.join(' & ')}:*`] });
    return JSON.parse(rows[0].json);
  };
  const rows: Row[] = [];
  for (const { title, turns, words } of SEARCHES) {
    const work = `search, 3 words in ${data.orders.toLocaleString('en')} notes, ${title}`;
    progress(`${work} ...`);
    const [mine, theirs] = [idsOf(await ask(words(0, data))), idsOf(await askByHand(words(0, data)))];
    if (mine !== theirs) throw new Error(`${work}: ours found ${mine}, by hand ${theirs}`);
    const sides = {
      ours: (turn: number) => ask(words(turn, data)),
      byHand: (turn: number) => askByHand(words(turn, data)),
    };
    const times = await takeTurns(sides, turns);
    rows.push({
      work,
      ours: milliseconds(times.ours),
      byHand: milliseconds(times.byHand),
      ratio: times.byHand / times.ours,
      goal: `${GOAL_MS} ms`,
      met: data.orders < GOAL_ORDERS ? undefined : times.ours <= GOAL_MS,
    });
  }
  return rows;
}

function idsOf(records: readonly { readonly id: number }[]): string {
  return records.map(({ id }) => id).join();
}

/** The search by hand: of what it finds the first by `id` are ranked. */
async function statementOf(client: Client, schema: string): Promise<string> {
  const { rows } = await client.query<{ words: string }>(
    `select pg_get_indexdef(i.indexrelid, 1, true) as words from pg_index i
      join pg_class c on c.oid = i.indexrelid join pg_am a on a.oid = c.relam
      where a.amname = 'gin' and i.indrelid = $1::regclass`,
    [`"${schema}".orders`],
  );
  const words = rows[0]?.words;
  if (words === undefined) throw new Error('the notes have no index of their words');
  return `select coalesce(json_agg(f), '[]')::text as json from (
    select id, "customerId", status, total, "createdAt", note from (
      select o.*, ${words} as words from "${schema}".orders o where ${words} @@ to_tsquery('simple', $1) order by id limit ${RANKED}
    ) found order by ts_rank(words, to_tsquery('simple', $1)) desc, id limit 20
  ) f`;
}

async function makeSearchable({ ours, adminKey }: SearchOptions): Promise<void> {
  const document = await request(ours, adminKey, 'GET', `${SHOP}/schema`);
  document.entities.orders.fields.note.searchable = true;
  let migration = await request(ours, adminKey, 'PUT', `${SHOP}/schema?wait=60`, document);
  while (migration.finishedAt === null) {
    await sleep(200);
    migration = await request(ours, adminKey, 'GET', `${SHOP}/migrations/${migration.id}`);
  }
  if (migration.state !== 'succeeded')
    throw new Error(`the notes did not become searchable: ${JSON.stringify(migration)}`);
}

// biome-ignore lint/suspicious/noExplicitAny: documents, migrations and records, as JSON
async function request(server: RunningServer, key: string, method: string, path: string, body?: unknown): Promise<any> {
  const response = await fetch(`http://127.0.0.1:${server.port}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text.slice(0, 500)}`);
  return JSON.parse(text).data;
}
