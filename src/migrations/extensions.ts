// Checks PostgreSQL for the extensions and the text search configurations that a document needs, before any work is
// done. A missing extension that the server may not create is an error of the document.
import type { Session } from '../database/pool.ts';
import { type Detail, validationFailed } from '../errors.ts';
import { NO_LANGUAGE } from '../model/entity.ts';
import { EMPTY_DOCUMENT, type SchemaDocument, SUBSTRING } from '../schema/format.ts';
import { sql, toQuery } from '../sql/fragment.ts';
import type { Extensions } from './ddl.ts';

/**
 * Schema for new extensions: that of the control tables, as a database has each extension once, for all workspaces, and
 * it must outlive each of them.
 */
const OWN_SCHEMA = 'wda';

// PostgreSQL has 30 built in.
const MAX_LISTED = 100;

type Name = 'unaccent' | 'pg_trgm';

interface Requirements {
  /** Extensions, each with the first path in the document that needs it. */
  readonly extensions: ReadonlyMap<Name, string>;
  /** Text search configurations by the paths that name them. */
  readonly languages: ReadonlyMap<string, string>;
}

/**
 * Throws 400, at paths below `prefix`, for extensions that the document needs, that are missing, and that the server
 * may not create.
 */
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

/** Loads the schemas of the extensions by extension name. */
async function loadExtensions(session: Pick<Session, 'query'>): Promise<ReadonlyMap<string, string>> {
  const rows = await session.query<{ name: string; schema: string }>(
    toQuery(sql`select extname as name, nspname as schema from pg_extension e join pg_namespace n on n.oid = e.extnamespace
where extname in ('unaccent', 'pg_trgm')`),
  );
  return new Map(rows.map(({ name, schema }) => [name, schema]));
}

/** Returns the reason why the server may not create the extension, or undefined if it may. */
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

/** Loads the text search configurations that are visible without a schema name. */
async function loadConfigurations(session: Pick<Session, 'query'>): Promise<readonly string[]> {
  const rows = await session.query<{ name: string }>(
    toQuery(sql`select cfgname as name from pg_ts_config where pg_ts_config_is_visible(oid) order by cfgname`),
  );
  return rows.map(({ name }) => name);
}
