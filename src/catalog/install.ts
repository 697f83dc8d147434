// The control tables of this version of the platform: where their SQL files lie and what they need of a database.
import { fileURLToPath } from 'node:url';
import { runInstallation } from '../db/install.ts';
import type { DatabaseOptions } from '../db/pool.ts';
import { TEXT_COLLATION } from '../model/field-types.ts';

/**
 * Brings the control tables (PostgreSQL schema `wda`) up to date; several processes may do so at once, one after the
 * other. `log` gets a line for each file applied. Throws InstallError for a database that cannot hold us.
 */
export function install(connection: DatabaseOptions['connection'], log: (message: string) => void): Promise<void> {
  return runInstallation(
    connection,
    {
      directory: fileURLToPath(new URL('../../install', import.meta.url)),
      schema: 'wda',
      minimumVersion: 15,
      collation: TEXT_COLLATION,
    },
    log,
  );
}
