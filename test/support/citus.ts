// Databases of tests on a Citus cluster: TEST_CITUS_WORKERS has the URLs of its workers, separated by commas, and
// TEST_DATABASE_URL that of its coordinator. A database of a cluster is one of the same name on each of its nodes.
import pg from 'pg';

const WORKERS = (process.env.TEST_CITUS_WORKERS ?? '').split(',').filter((url) => url !== '');

export const isCluster = WORKERS.length > 0;

/** Runs on each node of the cluster, the coordinator first; gives the rows of the last statement from all of them. */
export async function onEachNode(
  coordinator: string,
  statements: readonly string[],
  on: (node: string) => string = (node) => node,
): Promise<Record<string, unknown>[]> {
  const rows: Record<string, unknown>[] = [];
  for (const url of [coordinator, ...WORKERS]) rows.push(...(await run(on(url), statements)));
  return rows;
}

/** Makes the databases of the nodes, which are there, into one cluster. `on` gives the URL of the database of a node. */
export async function joinNodes(coordinator: string, on: (node: string) => string): Promise<void> {
  await Promise.all([coordinator, ...WORKERS].map((node) => run(on(node), ['create extension citus'])));
  const place = (url: string): string => `'${new URL(url).hostname}', ${new URL(url).port}`;
  const name = new URL(on(coordinator)).pathname.slice(1);
  await run(on(coordinator), [
    `alter database ${name} set citus.enable_unsafe_triggers = on`,
    `select citus_set_coordinator_host(${place(coordinator)})`,
    ...WORKERS.map((url) => `select citus_add_node(${place(url)})`),
  ]);
}

/** Drops a database on each node, the coordinator's first: nobody prepares a transaction on the others from then on. */
export async function dropOnNodes(coordinator: string, name: string): Promise<void> {
  for (const url of [coordinator, ...WORKERS]) {
    await connected(url, async (client) => {
      // One that lost its coordinator keeps its database from being dropped, and moves of all others from going on.
      const { rows } = await client.query('select gid from pg_prepared_xacts where database = $1', [name]);
      const statements = rows.map(({ gid }) => `rollback prepared '${gid}'`);
      if (statements.length > 0) await run(Object.assign(new URL(url), { pathname: `/${name}` }).href, statements);
      await client.query(`drop database if exists ${name} with (force)`);
    });
  }
}

/** Gives the rows of the last statement. */
const run = (url: string, statements: readonly string[]): Promise<Record<string, unknown>[]> =>
  connected(url, async (client) => {
    let rows: Record<string, unknown>[] = [];
    // Several in one text have a result each.
    for (const statement of statements) rows = [await client.query(statement)].flat().at(-1)?.rows ?? [];
    return rows;
  });

/** Runs `work` on a connection of its own. */
export async function connected<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** URLs of the nodes on which tables of workspaces lie, for a database of a coordinator; without a cluster the same URL. */
export const dataNodes = (url: string): readonly string[] =>
  isCluster ? WORKERS.map((worker) => Object.assign(new URL(worker), { pathname: new URL(url).pathname }).href) : [url];

/** Rows of a query on each of the nodes where tables of workspaces lie, one node after the other. */
export async function queryDataNodes(
  url: string,
  text: string,
  values: readonly unknown[] = [],
): Promise<Record<string, unknown>[]> {
  const rows: Record<string, unknown>[] = [];
  for (const node of dataNodes(url)) {
    await connected(node, async (client) => {
      // Tables are there under names of Citus's own, which it hides from everybody.
      if (isCluster) await client.query('set citus.override_table_visibility = off');
      rows.push(...(await client.query(text, [...values])).rows);
    });
  }
  return rows;
}

/** Options of a test that is about what a cluster cannot do: it is skipped there, with the reason. */
export const skipOnCluster = (reason: string): { readonly skip: string | false } => ({ skip: isCluster && reason });
