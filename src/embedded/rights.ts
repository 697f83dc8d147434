// The rights in the embedded PostgreSQL: the server works as a role that owns the database and everything in it, and
// can do nothing outside. The superuser makes this role, and is for people. Data of earlier versions belong to the
// superuser.
import { createHash } from 'node:crypto';
import { chownSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Place } from './place.ts';

export const superuser = 'wda';
export const appRole = 'wda_app';

/** Statements that make the role, or correct it. */
export function makeAppRole(password: string): readonly string[] {
  return [
    `do $$ begin if not exists (select from pg_roles where rolname = '${appRole}') then create role ${appRole}; end if; end $$`,
    `alter role ${appRole} login nosuperuser nocreatedb nocreaterole noreplication nobypassrls password '${password}'`,
  ];
}

/**
 * Statements that give the role what the superuser owns in the database where they run, but for what came with
 * PostgreSQL (ids below 16384) or belongs to an extension. Sequences and types of a table go with it. `reassign owned`
 * refuses the superuser that initdb made.
 */
export function handOver(database: string): readonly string[] {
  const mine = (catalog: string, owner: string, parts = "'e'"): string =>
    `o.${owner} = '${superuser}'::regrole and o.oid >= 16384 and not exists (select from pg_depend d
      where d.classid = '${catalog}'::regclass and d.objid = o.oid and d.deptype in (${parts}))`;
  const relation = mine('pg_class', 'relowner');
  const kinds: readonly (readonly [kind: string, names: string])[] = [
    [
      'schema',
      `select quote_ident(o.nspname) from pg_namespace o where ${mine('pg_namespace', 'nspowner')} and o.nspname !~ '^pg_'`,
    ],
    [
      'table',
      `select o.oid::regclass::text from pg_class o where ${relation} and o.relkind in ('r', 'p', 'v', 'm', 'f')`,
    ],
    [
      'sequence',
      `select o.oid::regclass::text from pg_class o
        where ${mine('pg_class', 'relowner', "'e', 'a', 'i'")} and o.relkind = 'S'`,
    ],
    ['routine', `select o.oid::regprocedure::text from pg_proc o where ${mine('pg_proc', 'proowner')}`],
    [
      'type',
      `select o.oid::regtype::text from pg_type o where ${mine('pg_type', 'typowner', "'e', 'i'")} and o.typelem = 0
        and not exists (select from pg_class c where c.oid = o.typrelid and c.relkind <> 'c')`,
    ],
    ['collation', `select o.oid::regcollation::text from pg_collation o where ${mine('pg_collation', 'collowner')}`],
    [
      'statistics',
      `select format('%I.%I', n.nspname, o.stxname) from pg_statistic_ext o join pg_namespace n on n.oid = o.stxnamespace
        where o.stxowner = '${superuser}'::regrole`,
    ],
    ['large object', `select o.oid::text from pg_largeobject_metadata o where o.lomowner = '${superuser}'::regrole`],
  ];
  return [
    `alter database ${database} owner to ${appRole}`,
    ...kinds.map(
      ([kind, names]) =>
        `do $$ declare name text; begin for name in ${names} loop execute 'alter ${kind} ' || name || ' owner to ${appRole}'; end loop; end $$`,
    ),
  ];
}

// In the data directory, so that restored data of an earlier version are recognised.
const noteIn = (dataDirectory: string): string => join(dataDirectory, 'wda_rights');

// Raised when there is more to do than before.
const EDITION = 1;

/** True when the data have the role with this password. */
export function hasRights(dataDirectory: string, password: string): boolean {
  try {
    return readFileSync(noteIn(dataDirectory), 'utf8') === noteOf(password);
  } catch {
    return false;
  }
}

/**
 * Notes that they have. The directory is another user's: the file is renamed into it whole, and no link there is
 * followed.
 */
export function noteRights(
  dataDirectory: string,
  password: string,
  place: Pick<Place, 'user' | 'stateDirectory'>,
): void {
  const unfinished = join(place.stateDirectory, 'rights.new');
  rmSync(unfinished, { force: true });
  writeFileSync(unfinished, noteOf(password), { mode: 0o600, flush: true, flag: 'wx' });
  if (place.user !== undefined) chownSync(unfinished, place.user.uid, place.user.gid);
  renameSync(unfinished, noteIn(dataDirectory));
}

const noteOf = (password: string): string => createHash('sha256').update(`${EDITION} ${password}`).digest('hex');
