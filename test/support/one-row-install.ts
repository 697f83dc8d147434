// Installations as they were made while there was one row of SQL files: its files word for word (one-row-install/), and the
// record that they left.
import { fileURLToPath } from 'node:url';
import { runner } from 'node-pg-migrate';
import pg from 'pg';

/** Folder of all twelve files. */
export const ONE_ROW = fileURLToPath(new URL('./one-row-install', import.meta.url));

/** Runs the files of one folder that have not run yet, as servers of that time do. Gives their names. */
export async function installOneRow(
  connection: pg.ClientConfig,
  directory = ONE_ROW,
  record = 'installed',
): Promise<string[]> {
  const client = new pg.Client(connection);
  await client.connect();
  try {
    const applied = await runner({
      dbClient: client,
      dir: directory,
      direction: 'up',
      migrationsSchema: 'wda',
      createMigrationsSchema: true,
      migrationsTable: record,
      checkOrder: true,
      singleTransaction: true,
      noLock: true,
      logger: { info: () => undefined, warn: () => undefined, error: () => undefined },
    });
    return applied.map(({ name }) => name);
  } finally {
    await client.end();
  }
}
