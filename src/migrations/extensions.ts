// What a document asks of PostgreSQL that not every database has: extensions, and configurations of its text search.
// Looked for before anything is done; what is missing and may not be made is a mistake of the document.
import type { Session } from '../database/pool.ts';
import { type Detail, validationFailed } from '../errors.ts';
import { NO_LANGUAGE } from '../model/entity.ts';
import { EMPTY_DOCUMENT, type SchemaDocument, SUBSTRING } from '../schema/format.ts';
import { sql, toQuery } from '../sql/fragment.ts';
import type { Extensions } from './ddl.ts';

/** Extensions go where the control tables are: one of a database serves all workspaces, and goes with none of them. */
const OWN_SCHEMA = 'wda';

// PostgreSQL comes with 30.
const MAX_LISTED = 100;

type Name = 'unaccent' | 'pg_trgm';

interface Requirements {
  /** The first place in the document that asks for it. */
  readonly extensions: ReadonlyMap<Name, string>;
  /** Configurations by the places that name them. */
  readonly languages: ReadonlyMap<string, string>;
}

/** Throws 400, at paths below `prefix`, for what `asked` needs, beyond the document in force, and the server may not create. */
export async function findExtensions(
  session: Pick<Session, 'query'>,
  requested: SchemaDocument,
  inForce: SchemaDocument = EMPTY_DOCUMENT,
  prefix = '',
): Promise<Extensions> {
  const { extensions, languages } = collectRequirements(requested);
  const currentLanguages = new Set(collectRequirements(inForce).languages.values());
  const installed = extensions.size === 0 ? new Map<string, string>() : await loadExtensions(session);
  const details: Detail[] = [];
  for (const [name, path] of extensions) {
    if (installed.has(name)) continue;
    const reason = await findReasonAgainst(session, name);
    if (reason !== undefined) details.push({ field: path, code: 'INVALID', message: reason });
  }
  const newLanguages = [...languages].filter(([, language]) => !currentLanguages.has(language));
  if (newLanguages.length > 0) {
    const names = await loadConfigurations(session);
    for (const [path, language] of newLanguages) {
      if (names.includes(language)) continue;
      const message = `there is no configuration ${language} of the text search in the database. Known: ${names.slice(0, MAX_LISTED).join(', ')}`;
      details.push({ field: path, code: 'REFERENCE_NOT_FOUND', message });
    }
  }
  if (details.length > 0) throw validationFailed(details.map((one) => ({ ...one, field: `${prefix}${one.field}` })));
  return { trigrams: installed.get('pg_trgm') ?? OWN_SCHEMA };
}

function collectRequirements(document: SchemaDocument): Requirements {
  const extensions = new Map<Name, string>();
  const languages = new Map<string, string>();
  const addExtension = (name: Name, path: string): void => {
    if (!extensions.has(name)) extensions.set(name, path);
  };
  for (const [entity, { fields = {}, searchLanguage = NO_LANGUAGE }] of Object.entries(document.entities)) {
    for (const [name, { searchable, index }] of Object.entries(fields)) {
      const path = `entities.${entity}.fields.${name}`;
      if (searchable === true) addExtension('unaccent', `${path}.searchable`);
      if (index === SUBSTRING) addExtension('pg_trgm', `${path}.index`);
    }
    if (searchLanguage !== NO_LANGUAGE) languages.set(`entities.${entity}.searchLanguage`, searchLanguage);
  }
  return { extensions, languages };
}

/** Their schemas by their names. */
async function loadExtensions(session: Pick<Session, 'query'>): Promise<ReadonlyMap<string, string>> {
  const rows = await session.query<{ name: string; schema: string }>(
    toQuery(sql`select extname as name, nspname as schema from pg_extension e join pg_namespace n on n.oid = e.extnamespace
where extname in ('unaccent', 'pg_trgm')`),
  );
  return new Map(rows.map(({ name, schema }) => [name, schema]));
}

/** Why the server may not create the extension; undefined when it may. */
async function findReasonAgainst(session: Pick<Session, 'query'>, name: Name): Promise<string | undefined> {
  const [row] = await session.query<{ allowed: boolean }>(
    toQuery(sql`select (select rolsuper from pg_roles where rolname = current_user)
  or (bool_or(v.trusted) and has_database_privilege(current_database(), 'create')) as allowed
from pg_available_extension_versions v where v.name = ${name} having count(*) > 0`),
  );
  if (row?.allowed === true) return undefined;
  const command = `create extension ${name} schema ${OWN_SCHEMA}`;
  return row === undefined
    ? `needs the extension ${name}, which the PostgreSQL server does not have: install it there (package postgresql-contrib), then run in the database, as a superuser: ${command}`
    : `needs the extension ${name}, which the server may not create: run in the database, as a superuser: ${command}`;
}

/** Those that are found by their name alone. */
async function loadConfigurations(session: Pick<Session, 'query'>): Promise<readonly string[]> {
  const rows = await session.query<{ name: string }>(
    toQuery(sql`select cfgname as name from pg_ts_config where pg_ts_config_is_visible(oid) order by cfgname`),
  );
  return rows.map(({ name }) => name);
}
