// Installations as they were made while there was one row of SQL files: its files word for word (one-row-install/), and the
// record that they left.
import { fileURLToPath } from 'node:url';
import type pg from 'pg';
import { runInstallation } from '../../src/db/install.ts';
import { TEXT_COLLATION } from '../../src/model/field-types.ts';

/** Folder of all twelve files. */
export const ONE_ROW = fileURLToPath(new URL('./one-row-install', import.meta.url));

/** Runs the files of one folder that have not run yet. Gives what was logged. */
export async function installOneRow(
  connection: pg.ClientConfig,
  directory = ONE_ROW,
  record = 'installed',
): Promise<string[]> {
  const lines: string[] = [];
  const rows = [{ directory, record }];
  await runInstallation(connection, { rows, schema: 'wda', minimumVersion: 15, collation: TEXT_COLLATION }, (line) =>
    lines.push(line),
  );
  return lines;
}
