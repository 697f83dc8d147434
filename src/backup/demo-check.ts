// Checks whether an installation is empty enough for the backup of a whole one: it has no workspace, or only the
// unchanged demo of the first start.

import type { Session } from '../database/pool.ts';
import { dropWorkspaceSchema } from '../migrations/workspace.ts';
import { buildTables } from '../schema/tables.ts';
import { sql, tableRef, toQuery } from '../sql/fragment.ts';
import { parseDocument } from '../store/load-workspace.ts';
import { deleteWorkspaceRow, WORKSPACES } from '../store/workspaces.ts';
import { notEmptyForRestore } from './errors.ts';

type Queryable = Pick<Session, 'query'>;

/** Name of the fact with the digest of the demo after the first start. */
export const DEMO_DIGEST = 'demo_digest';

// The demo has fewer records; a workspace with more was changed.
const MAX_RECORDS = 1000;

/**
 * Computes the digest of a small workspace: its document, its records and its number of keys. Undefined if it does not
 * exist.
 */
export async function computeDigest(
  session: Queryable,
  organization: string,
  slug: string,
): Promise<string | undefined> {
  const [workspace] = await session.query<{ schema: string; document: string; keys: string }>(
    toQuery(sql`select w.database_schema as schema, w.document::text as document,
  (select count(*) from wda.api_key k where k.workspace_id = w.id) as keys
from ${WORKSPACES} where o.slug = ${organization} and w.slug = ${slug}`),
  );
  if (workspace === undefined) return undefined;
  const digests: string[] = [];
  for (const table of buildTables(parseDocument(workspace.document), workspace.schema).values()) {
    const [row] = await session.query<{ digest: string }>(
      toQuery(sql`select md5(coalesce(string_agg(t::text, ',' order by t.id), '')) as digest
from (select * from ${tableRef(table)} order by id limit ${MAX_RECORDS}) t`),
    );
    digests.push((row as { digest: string }).digest);
  }
  const [combined] = await session.query<{ digest: string }>(
    toQuery(sql`select md5(${`${workspace.document} ${workspace.keys} ${digests}`}) as digest`),
  );
  return combined?.digest;
}

/** Removes the demo of the first start; 409 with a list of all other content. For the transaction of a restore. */
export async function removeDemo(session: Session): Promise<void> {
  await session.execute('lock table wda.organization in share row exclusive mode');
  const rows = await session.query<{ id: string | null; organization: string; slug: string | null; schema: string }>(
    toQuery(sql`select w.id, o.slug as organization, w.slug, w.database_schema as schema
from wda.organization o left join wda.workspace w on w.organization_id = o.id order by o.slug, w.slug`),
  );
  const [demo] = rows;
  if (demo === undefined) return;
  if (
    rows.length > 1 ||
    demo.id === null ||
    demo.slug === null ||
    !(await isUntouched(session, demo.organization, demo.slug))
  )
    throw notEmptyForRestore(
      rows.map(({ organization, slug }) => (slug === null ? organization : `${organization}/${slug}`)),
    );
  await deleteWorkspaceRow(session, demo.id);
  await dropWorkspaceSchema(session, demo.schema);
  await session.query(toQuery(sql`delete from wda.organization where slug = ${demo.organization}`));
}

async function isUntouched(session: Queryable, organization: string, slug: string): Promise<boolean> {
  const [fact] = await session.query<{ value: string }>(
    toQuery(sql`select value from wda.instance where name = ${DEMO_DIGEST}`),
  );
  return fact !== undefined && fact.value === (await computeDigest(session, organization, slug));
}
