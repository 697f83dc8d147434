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

async function run(url: string, statements: readonly string[]): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    let rows: Record<string, unknown>[] = [];
    for (const statement of statements) rows = (await client.query(statement)).rows;
    return rows;
  } finally {
    await client.end();
  }
}

/** Options of a test that is about what a cluster cannot do: it is skipped there, with the reason. */
export const skipOnCluster = (reason: string): { readonly skip: string | false } => ({ skip: isCluster && reason });
