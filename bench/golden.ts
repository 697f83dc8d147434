// The loaded database that every run starts from: our server makes the tables, as for any workspace, and they are filled
// with the server stopped.

import { withClient } from './database.ts';
import { type DataSet, findSchema, loadDataSet } from './dataset.ts';
import { createWorkspace, startOurs } from './servers.ts';

export async function loadGolden(
  url: string,
  adminKey: string,
  data: DataSet,
  progress: (line: string) => void,
): Promise<void> {
  progress('Loading the data set (once; the next run finds it) ...');
  const server = await startOurs(url, adminKey);
  try {
    await createWorkspace(server, adminKey);
  } finally {
    await server.stop();
  }
  await withClient(url, async (client) => {
    await loadDataSet(client, await schemaIn(client), data, progress);
  });
}

/** The PostgreSQL schema of the workspace. */
export async function schemaIn(client: Parameters<typeof findSchema>[0]): Promise<string> {
  const schema = await findSchema(client);
  if (schema === undefined) throw new Error('The workspace has no orders table');
  return schema;
}
