// The clients of both workspaces. Those of the noisy one behave in the ways of BEHAVIOURS, each from its start until it is
// told to end. Those of the calm one are a child process, whose argument is a Calm as JSON, and which prints a CalmResult: a
// number of requests a second by id, of lists and of creates, each sent when it is due whether or not those before it are
// answered; its time counts from when it was due.

import { Agent, type ClientRequest, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

export type Noisy = {
  readonly port: number;
  readonly databaseUrl: string;
  /** The workspace's schema in PostgreSQL, quoted. */
  readonly schema: string;
  /** Below the server: of the workspace's data, and of its administration. */
  readonly path: string;
  readonly adminPath: string;
  readonly key: string;
  readonly adminKey: string;
  readonly things: number;
  readonly stock: number;
};

export type Behaviour = {
  readonly name: string;
  /** Begins; what it gives ends it. `count` is told each answer's status, 0 for none. */
  readonly begin: (noisy: Noisy, count: (status: number) => void) => Promise<() => Promise<void>>;
};

export const schemaDocument = {
  entities: {
    things: {
      fields: {
        name: { type: 'string', required: true },
        a: { type: 'integer' },
        amount: { type: 'integer' },
      },
    },
    parents: {
      fields: { name: { type: 'string' } },
      relations: { children: { kind: 'hasMany', entity: 'children', inverse: 'parent' } },
    },
    children: {
      fields: { name: { type: 'string' } },
      relations: { parent: { kind: 'belongsTo', entity: 'parents' } },
    },
    stock: { fields: { name: { type: 'string' }, quantity: { type: 'integer' } } },
  },
} as const;

/** Fills the tables of the document: parent 1 has 3,000 children, parent 2 has as many as there are things. */
export async function fillNoisy(client: pg.Client, schema: string, things: number, stock: number): Promise<void> {
  const fill = async (table: string, columns: string, values: string, rows: number): Promise<void> => {
    await client.query(
      `insert into ${schema}.${table} (id, ${columns}) overriding system value select i, ${values} from generate_series(1, ${rows}) i`,
    );
    await client.query(`select setval(pg_get_serial_sequence($1, 'id'), $2)`, [`${schema}.${table}`, rows]);
    await client.query(`vacuum (analyze) ${schema}.${table}`);
  };
  await fill('parents', 'name', `'parent ' || i`, 10);
  await fill('things', 'name, a, amount', `'thing ' || i, i::bigint * 7919 % 1000000 + 1, i`, things);
  await fill('children', 'name, "parentId"', `'child ' || i, case when i <= 3000 then 1 else 2 end`, 3000 + things);
  await fill('stock', 'name, quantity', `'item ' || i, i % 100`, stock);
}

type Call = {
  readonly method?: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly credential?: string | null;
  /** Called with the request when it is sent, to leave or to send more. */
  readonly sent?: (sent: ClientRequest) => void;
  readonly open?: true;
};

const JSON_BODY = { 'content-type': 'application/json' };
const CSV_BODY = { 'content-type': 'text/csv' };

type Flood = {
  readonly connections: number;
  /** Requests that each connection sends at once; the same number again when something was answered. */
  readonly atOnce: number;
  readonly request: string;
  /** Time after which a connection is reset and made anew; without it, it stays. */
  readonly leaveMs?: number;
};

/** Sends requests without a credential on many connections; gives what ends them. */
function flood(
  { port }: Noisy,
  count: (status: number) => void,
  { connections, atOnce, request: text, leaveMs }: Flood,
) {
  const open = new Set<Socket>();
  let isOver = false;
  const begin = (): void => {
    if (isOver) return;
    const socket = connect(port, '127.0.0.1');
    open.add(socket);
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      if (chunk.toString('latin1').startsWith('HTTP/1.1 ')) count(Number(chunk.toString('latin1', 9, 12)));
      if (leaveMs === undefined) socket.write(text.repeat(atOnce));
    });
    socket.on('close', () => {
      open.delete(socket);
      setTimeout(begin, 5);
    });
    socket.write(text.repeat(atOnce));
    if (leaveMs !== undefined) setTimeout(() => socket.resetAndDestroy(), leaveMs);
  };
  for (let index = 0; index < connections; index++) begin();
  return async (): Promise<void> => {
    isOver = true;
    for (const socket of open) socket.destroy();
  };
}

/** Clients of the workspace that ask until they are told to end. */
function makeClients(noisy: Noisy, count: (status: number) => void) {
  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
  const open = new Set<ClientRequest>();
  const running: Promise<void>[] = [];
  let isOver = false;
  const ask = (path: string, call: Call = {}): Promise<number> =>
    new Promise((resolve) => {
      const { method = 'GET', body, headers = {}, credential = noisy.key } = call;
      const sent = request({
        agent,
        port: noisy.port,
        method,
        path: path.startsWith('/') ? path : `${noisy.path}/${path}`,
        headers: { ...(credential === null ? {} : { authorization: `Bearer ${credential}` }), ...headers },
      });
      open.add(sent);
      const end = (status: number): void => {
        open.delete(sent);
        if (!isOver) count(status);
        resolve(status);
      };
      sent.on('response', (response) => {
        if (call.sent === undefined) response.resume();
        response.on('close', () => end(response.complete ? (response.statusCode ?? 0) : 0));
        response.on('error', () => undefined);
      });
      sent.on('error', () => end(0));
      call.sent?.(sent);
      if (call.open !== true) sent.end(body);
    });
  return {
    ask,
    isOver: () => isOver,
    /** So many at a time, each with its number and the number of its request. */
    run(clients: number, turn: (client: number, index: number) => Promise<unknown>): void {
      for (let client = 0; client < clients; client++) {
        running.push(
          (async () => {
            for (let index = 0; !isOver; index++) {
              const began = performance.now();
              await turn(client, index);
              // A refusal at once is no reason to keep the processor from everybody.
              if (performance.now() - began < 1) await sleep(1);
            }
          })(),
        );
      }
    },
    async end(): Promise<void> {
      isOver = true;
      for (const sent of open) sent.destroy();
      await Promise.all(running);
      agent.destroy();
    },
  };
}

async function holding(noisy: Noisy, statement: string): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: noisy.databaseUrl });
  await client.connect();
  await client.query(`begin; ${statement}`);
  return async () => {
    await client.query('rollback');
    await client.end();
  };
}

const put = (body: string): Call => ({ method: 'PUT', body, headers: JSON_BODY });
const post = (body: string): Call => ({ method: 'POST', body, headers: JSON_BODY });

export const BEHAVIOURS: readonly Behaviour[] = [
  {
    name: 'waits for a locked table, 24 clients',
    async begin(noisy, count) {
      const release = await holding(noisy, `lock table ${noisy.schema}.things in access exclusive mode`);
      const clients = makeClients(noisy, count);
      const ways = [
        (index: number) => clients.ask(`things/${1 + index}`),
        (index: number) => clients.ask(`things?size=20&filter=a,gt,${index}`),
        () => clients.ask('things', post('{"name":"late"}')),
        (index: number) => clients.ask(`things/${1 + index}`, put('{"a":1}')),
      ];
      clients.run(24, (client, index) => (ways[(client + index) % ways.length] as (typeof ways)[number])(index));
      return async () => {
        await clients.end();
        await release();
      };
    },
  },
  {
    name: 'waits for one locked record, 12 clients',
    async begin(noisy, count) {
      const release = await holding(noisy, `update ${noisy.schema}.stock set quantity = quantity where id = 1`);
      const clients = makeClients(noisy, count);
      clients.run(12, (_, index) => clients.ask('stock/1', put(`{"quantity":${index % 100}}`)));
      return async () => {
        await clients.end();
        await release();
      };
    },
  },
  {
    name: 'an import updates 300,000 records, 12 clients update them too',
    async begin(noisy, count) {
      const clients = makeClients(noisy, count);
      const rows = Array.from({ length: noisy.stock }, (_, index) => `${index + 1},imported,${index % 100}`).join('\n');
      const body = `id,name,quantity\n${rows}\n`;
      clients.run(1, () => clients.ask('stock/_import?onConflict=update', { method: 'POST', body, headers: CSV_BODY }));
      clients.run(12, async (client, index) => {
        await clients.ask(`stock/${1 + ((client * 7919 + index * 104_729) % noisy.stock)}`, put('{"quantity":7}'));
        await sleep(80);
      });
      return clients.end;
    },
  },
  {
    name: 'quick and slow values of one filter in turn, 6 clients',
    async begin(noisy, count) {
      const clients = makeClients(noisy, count);
      clients.run(6, async () => {
        for (let time = 0; time < 3; time++) await clients.ask('things?filter=a,gt,0&count=none');
        await clients.ask('things?filter=a,gt,2000000000&count=none');
      });
      return clients.end;
    },
  },
  {
    name: 'records by id with 3,000 and 1,000,000 records below them, 4 clients',
    async begin(noisy, count) {
      const clients = makeClients(noisy, count);
      clients.run(4, (client, index) =>
        clients.ask(
          client % 2 === 0
            ? `parents/1?expand=children.parent&children.size=${1000 - (index % 900)}`
            : 'parents/2?expand=children',
        ),
      );
      return clients.end;
    },
  },
  {
    name: 'lists in ever new words, 8 clients',
    async begin(noisy, count) {
      const clients = makeClients(noisy, count);
      clients.run(8, (client, index) => {
        const words = `size=${1 + (index % 1000)}&sort=${['a', 'amount', 'name'][client % 3]},desc,id`.replace(
          ',id',
          '',
        );
        const or = Array.from({ length: 1 + (index % 7) }, (_, term) => `a,eq,${index * 10 + term}`).join(';');
        return clients.ask(`things?${words}&or=${or}&count=${index % 2 === 0 ? 'none' : 'exact'}`);
      });
      return clients.end;
    },
  },
  {
    name: 'three imports that send a row a second',
    async begin(noisy, count) {
      const clients = makeClients(noisy, count);
      clients.run(3, () =>
        clients.ask('things/_import', {
          method: 'POST',
          headers: CSV_BODY,
          open: true,
          sent(sent) {
            sent.write('name,a\n');
            const trickle = setInterval(() => void sent.write('slow,1\n'), 1000);
            sent.on('close', () => clearInterval(trickle));
            sent.on('response', (response) => response.resume());
          },
        }),
      );
      return clients.end;
    },
  },
  {
    name: 'three exports read at 150 kB a second',
    async begin(noisy, count) {
      const clients = makeClients(noisy, count);
      clients.run(3, () =>
        clients.ask('things/_export?format=ndjson', {
          sent(sent) {
            sent.on('response', (response) => {
              response.on('data', (bytes: Buffer) => {
                response.pause();
                setTimeout(() => response.resume(), bytes.length / 150);
              });
            });
          },
        }),
      );
      return clients.end;
    },
  },
  {
    name: 'a field of 1,000,000 records changes its type, 4 clients write',
    async begin(noisy, count) {
      const clients = makeClients(noisy, count);
      clients.run(1, async () => {
        const headers = { authorization: `Bearer ${noisy.adminKey}`, ...JSON_BODY };
        const path = `http://127.0.0.1:${noisy.port}${noisy.adminPath}/schema`;
        // biome-ignore lint/suspicious/noExplicitAny: a document is edited as it comes
        const read = (await (await fetch(path, { headers })).json()) as any;
        const { fields } = read.data.entities.things;
        fields.amount.type = fields.amount.type === 'integer' ? 'bigint' : 'integer';
        await clients.ask(`${noisy.adminPath}/schema?wait=60`, {
          ...put(JSON.stringify(read.data)),
          credential: noisy.adminKey,
        });
      });
      clients.run(4, async (client, index) => {
        await clients.ask(`things/${1 + ((client + index * 7919) % noisy.things)}`, put(`{"amount":${index}}`));
        await sleep(20);
      });
      return clients.end;
    },
  },
  {
    name: '1,000 slow lists whose clients leave after a second, again and again',
    async begin(noisy, count) {
      const clients = makeClients(noisy, count);
      clients.run(1000, async (client, index) => {
        await clients.ask(`things?filter=name,contains,${client}x&sort=name&size=${1 + index}`, {
          sent(sent) {
            const leave = setTimeout(() => sent.destroy(), 1000);
            sent.on('close', () => clearTimeout(leave));
            sent.on('response', (response) => response.resume());
          },
        });
        await sleep(5000);
      });
      return clients.end;
    },
  },
  {
    name: 'a flood without valid credentials, 64 connections',
    async begin(noisy, count) {
      const clients = makeClients(noisy, count);
      const junk = (index: number): string => `${'junk'.repeat(10)}${index}`;
      const ways = [
        (index: number) => clients.ask('things/1', { credential: junk(index) }),
        () => clients.ask('things/1', { credential: null }),
        (index: number) => clients.ask(`/api/v1/noisy/w${index}/things`, { credential: junk(index) }),
        (index: number) => clients.ask(`/api/v1/calm/b/notes?_=${index}`),
        (index: number) => clients.ask(`/nothing/${index}`, { credential: null }),
        (index: number) =>
          clients.ask('/oauth/token', {
            method: 'POST',
            credential: null,
            headers: { 'content-type': 'application/x-www-form-urlencoded' },
            body: `grant_type=client_credentials&client_id=${index}&client_secret=wrong`,
          }),
      ];
      clients.run(64, (client, index) => (ways[client % ways.length] as (typeof ways)[number])(client * 1e6 + index));
      return clients.end;
    },
  },
  {
    name: '2,000 pipelined requests with an unknown key on each of 60 connections, left after a second, again and again',
    begin: async (noisy, count) => {
      const request = `GET ${noisy.path}/things/1 HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer ${'junk'.repeat(10)}\r\n\r\n`;
      return flood(noisy, count, { connections: 60, atOnce: 2000, leaveMs: 1000, request });
    },
  },
  ...['GET /metrics', 'GET /healthz', 'GET /console/', 'OPTIONS /api/v1/noisy/w/things'].map(
    (line): Behaviour => ({
      name: `a flood of ${line}, 200 connections`,
      begin: async (noisy, count) =>
        flood(noisy, count, { connections: 200, atOnce: 1, request: `${line} HTTP/1.1\r\nHost: bench\r\n\r\n` }),
    }),
  ),
  {
    name: 'hostile bodies of 1 MB, 3 clients',
    async begin(noisy, count) {
      const clients = makeClients(noisy, count);
      const members = Array.from({ length: 90_000 }, (_, index) => `"${index}":0`).join();
      const empty = Array.from({ length: 90_000 }, () => '{"and":[]}').join();
      const map = Array.from({ length: 2000 }, (_, index) => `${index}:`).join();
      const bodies = [
        () => clients.ask('things', post(`{${members}}`)),
        () => clients.ask('things/_query', post(`{"filter":{"and":[${empty}]}}`)),
        () =>
          clients.ask(`things/_import?map=${map}`, {
            method: 'POST',
            body: `${'a,'.repeat(500_000)}a\n`,
            headers: CSV_BODY,
          }),
        () => clients.ask('things', post(`{"name":"${'x'.repeat(1_000_000)}"}`)),
        () => clients.ask('things/_query', post(`{"filter":${'{"not":'.repeat(60)}{}${'}'.repeat(60)}}`)),
      ];
      clients.run(3, (client, index) => (bodies[(client + index) % bodies.length] as (typeof bodies)[number])());
      return clients.end;
    },
  },
];

export type Calm = {
  readonly port: number;
  readonly path: string;
  readonly key: string;
  readonly records: number;
  readonly perSecond: number;
  readonly seconds: number;
};

/** Times in milliseconds, in the order of sending; what failed, by status (0: no answer). */
export type CalmResult = { readonly times: readonly number[]; readonly failed: Readonly<Record<string, number>> };

async function runCalm(calm: Calm): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
  const times: number[] = [];
  const failed: Record<string, number> = {};
  const KINDS = [
    (index: number) => ['GET', `/notes/${1 + ((index * 7919) % calm.records)}`, undefined],
    () => ['GET', '/notes?size=20&sort=id,desc', undefined],
    (index: number) => ['POST', '/notes', `{"text":"note ${index}","rank":${index}}`],
  ] as const;

  /** Status of the answer; 0 when there was none. */
  function send(index: number): Promise<number> {
    const [method, path, body] = (KINDS[index % KINDS.length] as (typeof KINDS)[number])(index);
    return new Promise((resolve) => {
      const sent = request(
        {
          agent,
          port: calm.port,
          method,
          path: calm.path + path,
          headers: {
            authorization: `Bearer ${calm.key}`,
            ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          },
        },
        (response) => {
          response.resume();
          response.on('end', () => resolve(response.statusCode ?? 0));
          response.on('error', () => resolve(0));
        },
      );
      sent.on('error', () => resolve(0));
      sent.end(body);
    });
  }

  const started = performance.now();
  const count = calm.perSecond * calm.seconds;
  const answers: Promise<void>[] = [];
  for (let index = 0; index < count; index++) {
    const due = started + (index * 1000) / calm.perSecond;
    const wait = due - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    answers.push(
      send(index).then((status) => {
        times[index] = performance.now() - due;
        if (status < 200 || status > 299) failed[status] = (failed[status] ?? 0) + 1;
      }),
    );
  }
  await Promise.all(answers);
  agent.destroy();
  process.stdout.write(`${JSON.stringify({ times, failed } satisfies CalmResult)}\n`);
}

if (import.meta.main) await runCalm(JSON.parse(process.argv[2] ?? ''));
