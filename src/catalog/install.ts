// The control tables of this version of the platform: where their two rows of SQL files lie, how what ran is recorded, and
// what they need of a database.
import { fileURLToPath } from 'node:url';
import { type FileRow, runInstallation } from '../db/install.ts';
import type { DatabaseOptions } from '../db/pool.ts';
import { TEXT_COLLATION } from '../model/field-types.ts';

const folder = (name: string): string => fileURLToPath(new URL(`../../install/${name}`, import.meta.url));

/** What there is once for the installation: organizations, keys that sign, which slug is whose. */
const CONTROL: FileRow = {
  directory: folder('control'),
  record: 'installed_control',
  // Up to number 12 there was one row of files. The row of `data` continues its record: where the record has one of
  // these numbers, the file of this row has run, too.
  partsOf: { record: 'installed', last: 12 },
};

/** Rows of workspaces, and what stands beside their tables: they lie in the database of the tables. */
const DATA: FileRow = { directory: folder('data'), record: 'installed' };

/**
 * Brings the control tables (PostgreSQL schema `wda`) up to date; several processes may do so at once, one after the
 * other. `log` gets a line for each file: `ran install/control/000001-organizations.sql`. Throws InstallError for a database
 * that we cannot use.
 */
export function install(connection: DatabaseOptions['connection'], log: (message: string) => void): Promise<void> {
  return runInstallation(
    connection,
    {
      // In this order: rows of workspaces refer to those of the installation, and both lie in one database.
      rows: [CONTROL, DATA],
      schema: 'wda',
      minimumVersion: 15,
      collation: TEXT_COLLATION,
    },
    log,
  );
}
