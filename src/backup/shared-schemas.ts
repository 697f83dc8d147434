// Shared schemas in a backup of the instance, and which of their versions a restored workspace follows.
import type { Session } from '../database/pool.ts';
import { parseSchemaDocument } from '../schema/document.ts';
import type { SchemaDocument } from '../schema/format.ts';
import { sql, toQuery } from '../sql/fragment.ts';
import { parseDocument } from '../store/load-workspace.ts';
import type { Target } from '../store/shared-schemas.ts';
import { getSlug, getTime, makeInvalidError } from './entries.ts';
import { backupDamaged } from './errors.ts';
import type { Entry } from './format.ts';

/** Creates a shared schema of an entry. */
export async function restoreSharedSchema(session: Session, entry: Entry): Promise<void> {
  const [organization, name, createdAt] = [
    getSlug(entry, 'organization'),
    getSlug(entry, 'name'),
    getTime(entry, 'createdAt'),
  ];
  const { description = null } = entry;
  if (description !== null && typeof description !== 'string') throw makeInvalidError(entry, 'description');
  const rows = await session.query(
    toQuery(sql`insert into wda.shared_schema (organization_id, name, description, created_at)
select o.id, ${name}, ${description}, ${createdAt}::timestamptz from wda.organization o where o.slug = ${organization}
on conflict do nothing returning id`),
  );
  if (rows.length === 0) throw backupDamaged(`it has no organization ${organization}, or a shared schema of it twice`);
}

/** Creates a version of an entry. `content`: its document, identities and steps. */
export async function restoreSharedSchemaVersion(session: Session, entry: Entry, content: string): Promise<void> {
  const [organization, name, createdAt] = [
    getSlug(entry, 'organization'),
    getSlug(entry, 'name'),
    getTime(entry, 'createdAt'),
  ];
  const version = getVersion(entry, entry.version);
  const { document, identities, steps } = parseContent(content);
  const rows = await session.query(
    toQuery(sql`insert into wda.shared_schema_version (shared_schema_id, version, document, identities, steps, created_at)
select s.id, ${version}::int4, ${document}::json, ${identities}::json, ${steps}::json, ${createdAt}::timestamptz
from wda.shared_schema s join wda.organization o on o.id = s.organization_id
where o.slug = ${organization} and s.name = ${name} on conflict do nothing returning version`),
  );
  if (rows.length === 0) throw backupDamaged(`it has no shared schema ${name}, or a version of it twice`);
}

function getVersion(entry: Entry, version: unknown): number {
  if (Number.isInteger(version) && Number(version) > 0 && Number(version) < 2 ** 31) return Number(version);
  throw makeInvalidError(entry, 'version');
}

interface Content {
  readonly document: string;
  readonly identities: string;
  readonly steps: string;
}

function parseContent(text: string): Content {
  const invalid = backupDamaged('a version of a shared schema is not as it was written');
  let content: Readonly<Record<string, unknown>>;
  try {
    content = parseDocument(text) as unknown as typeof content;
  } catch {
    throw invalid;
  }
  const { document, identities, steps } = content ?? {};
  const parsed = parseSchemaDocument(document);
  if (!parsed.ok || !Array.isArray(steps)) throw invalid;
  const { entities } = (identities ?? {}) as { readonly entities?: object };
  const names = Object.keys(entities ?? {});
  // A document without its identities would lose columns when a workspace goes on.
  if (names.sort().join() !== Object.keys(parsed.document.entities).sort().join()) throw invalid;
  return {
    document: JSON.stringify(parsed.document),
    identities: JSON.stringify(identities),
    steps: JSON.stringify(steps),
  };
}

/**
 * Returns the version that a restored workspace follows as it did when it was saved: of a shared schema that its
 * organization has, with the same document. Undefined if there is none.
 */
export async function findTarget(
  session: Session,
  organization: string,
  entry: Entry,
  document: SchemaDocument,
): Promise<Target | undefined> {
  const { follows = null } = entry;
  if (follows === null) return undefined;
  const { schema, version } = follows as { readonly schema?: unknown; readonly version?: unknown };
  if (typeof schema !== 'string') throw makeInvalidError(entry, 'follows');
  const rows = await session.query<Target>(
    toQuery(sql`select s.id as "schemaId", v.version from wda.shared_schema s
join wda.organization o on o.id = s.organization_id join wda.shared_schema_version v on v.shared_schema_id = s.id
where o.slug = ${organization} and s.name = ${schema} and v.version = ${getVersion(entry, version)}::int4
  and v.document::text = ${JSON.stringify(document)}`),
  );
  return rows[0];
}
