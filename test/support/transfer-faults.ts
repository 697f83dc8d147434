// What tests of transfers under trouble share: requests whose body is sent in pieces, a look at what the database does,
// and transactions that stand in the way. The server and the workspace are those of the tests that run.
import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { after, before } from 'node:test';
import pg from 'pg';
import { isWaiting } from './database.ts';
import { type Answer, startTestServer, type TestServer, type TestWorkspace } from './server.ts';

export { until } from './wait-until.ts';

const SCHEMA = {
  entities: {
    people: {
      fields: { name: { type: 'string', required: true }, email: { type: 'string', unique: true } },
      relations: { team: { kind: 'belongsTo', entity: 'teams' } },
    },
    teams: { fields: { name: { type: 'string', required: true } } },
    lines: { fields: { text: { type: 'text' } } },
  },
};

export const CSV = { 'content-type': 'text/csv' };

export let server: TestServer;
export let workspace: TestWorkspace;
let count = 0;

export function useServer(env: Readonly<Record<string, string>> = {}): void {
  before(async () => {
    server = await startTestServer(env);
  });
  after(() => server.stop());
}

/** A new workspace for what follows; gives its PostgreSQL schema. */
export async function freshWorkspace(): Promise<string> {
  workspace = await server.workspace(`acme/trouble-${++count}`, SCHEMA);
  const [row] = await server.database.query(`select database_schema from wda.workspace where slug = $1`, [
    `trouble-${count}`,
  ]);
  return `"${row?.database_schema}"`;
}

export function load(entity: string, body: string, query = ''): Promise<Answer> {
  return workspace.call(`${entity}/_import${query}`, { method: 'POST', headers: CSV, body });
}

/** 20 MB of lines: more than the sockets of a client that does not read take. */
export async function fill(schema: string): Promise<void> {
  await server.database.query(
    `insert into ${schema}.lines (text) select repeat('x', 1000) from generate_series(1, 20000)`,
  );
}

export async function countOf(entity: string): Promise<number> {
  return (await workspace.call(`${entity}?size=1`)).json.meta.totalElements;
}

export function detailsOf({ json }: Answer): string[] {
  return json.error.details.map(
    (detail: { row: number; field: string; code: string }) => `${detail.row} ${detail.field} ${detail.code}`,
  );
}

/** A transaction beside the server's own, to stand in its way. */
export async function otherTransaction(
  ...statements: string[]
): Promise<{ end: (how: 'commit' | 'rollback') => Promise<void> }> {
  const client = new pg.Client({ connectionString: server.database.url });
  await client.connect();
  for (const statement of ['begin', ...statements]) await client.query(statement);
  return {
    async end(how) {
      await client.query(how);
      await client.end();
    },
  };
}

/** A request whose body is sent piece by piece. */
export function open(path: string, method = 'POST', url = server.url): ClientRequest {
  const sent = request(`${url}/api/v1/${workspace.path}/${path}`, {
    method,
    headers: { ...(method === 'POST' ? CSV : {}), authorization: `Bearer ${workspace.key}` },
  });
  sent.on('error', () => undefined);
  return sent;
}

export function closeOf(sent: ClientRequest): Promise<void> {
  return new Promise((resolve) => sent.once('close', () => resolve()));
}

export async function answerOf(sent: ClientRequest): Promise<Answer> {
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += chunk;
  return { status: response.statusCode ?? 0, headers: new Headers(), text, json: JSON.parse(text) };
}

export async function isActive(pattern: string, wait = '%'): Promise<boolean> {
  if (wait === 'Lock') return isWaiting(server.database, pattern);
  const rows = await server.database.query(
    `select 1 from pg_stat_activity where datname = current_database() and state = 'active' and pid <> pg_backend_pid() and query like $1 and coalesce(wait_event_type, '') like $2`,
    [pattern, wait],
  );
  return rows.length > 0;
}

export const isCopying = (): Promise<boolean> => isActive('copy %');

/** Nothing of an import or export is left on any connection. */
export async function isQuiet(): Promise<boolean> {
  const rows = await server.database.query(
    `select 1 from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle' and backend_type = 'client backend'`,
  );
  return rows.length === 0;
}
