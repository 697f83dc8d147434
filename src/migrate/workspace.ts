// The beginning and the end of a workspace: its row, its PostgreSQL schema and its tables, each in one transaction.

import { withLockRetry } from '../db/lock-retry.ts';
import { inTransaction, LOCK_BUDGET_MS } from '../db/transaction.ts';
import type { Databases } from '../directory/databases.ts';
import { type WorkspaceSummary, workspaceRefusal } from '../directory/workspaces.ts';
import { EMPTY_DOCUMENT, type SchemaDocument } from '../document/format.ts';
import { tablesOf } from '../document/tables.ts';
import { anotherMigrationRuns } from '../errors.ts';
import { databaseSchemaName } from '../model/physical-name.ts';
import { script, sql, toQuery } from '../sql/fragment.ts';
import { createSchema, createTables, dropSchema } from './ddl.ts';
import { withWorkspaceLock } from './workspace-lock.ts';

export interface NewWorkspace {
  /** Slug of its organization. */
  readonly organization: string;
  readonly slug: string;
  readonly name: string;
  /** What parseSchemaDocument gave; none: a workspace without entities. */
  readonly document?: SchemaDocument;
}

// A document with 500 entities takes seconds, and nobody waits for the locks of new tables.
const DDL_TIMEOUT_MS = 600_000;

/** Undefined when there is no such organization; 409 when the slug is taken in it. */
export async function createWorkspace(
  databases: Databases,
  workspace: NewWorkspace,
): Promise<WorkspaceSummary | undefined> {
  const { organization, slug, name, document = EMPTY_DOCUMENT } = workspace;
  // The row of the directory and the tables in one transaction, as they lie in one database.
  return databases.directory
    .transaction(
      async (session) => {
        const [next] = await session.query<{ id: string }>(
          toQuery(sql`select nextval(pg_get_serial_sequence('wda.workspace', 'id')) as id`),
        );
        const id = (next as { id: string }).id;
        const databaseSchema = databaseSchemaName(id, slug);
        const rows = await session.query<{ createdAt: Date }>(
          toQuery(sql`insert into wda.workspace (id, organization_id, slug, name, database_schema, document)
overriding system value
select ${id}::bigint, o.id, ${slug}, ${name}, ${databaseSchema}, ${JSON.stringify(document)}::json
from wda.organization o where o.slug = ${organization}
returning created_at as "createdAt"`),
        );
        const row = rows[0];
        if (row === undefined) return undefined;
        const tables = [...tablesOf(document, databaseSchema).values()];
        await session.execute(script([createSchema(databaseSchema), ...createTables(tables)]));
        return { id, organization, slug, name, databaseSchema, createdAt: row.createdAt };
      },
      { statementTimeoutMs: DDL_TIMEOUT_MS, purpose: 'migration' },
    )
    .catch((error) => {
      throw workspaceRefusal(error, slug);
    });
}

/** Deletes a workspace with all of its records and keys; 409 while its schema is being changed. */
export async function deleteWorkspace(
  databases: Databases,
  workspace: Pick<WorkspaceSummary, 'id' | 'slug' | 'databaseSchema'>,
): Promise<void> {
  await withWorkspaceLock(
    databases.of(workspace),
    workspace.id,
    (session) =>
      withLockRetry(() =>
        inTransaction(session, LOCK_BUDGET_MS, async () => {
          await session.query(toQuery(sql`delete from wda.workspace where id = ${workspace.id}`));
          await session.execute(script([dropSchema(workspace.databaseSchema)]));
        }),
      ),
    () => Promise.reject(anotherMigrationRuns()),
  ).catch((error) => {
    throw workspaceRefusal(error, workspace.slug);
  });
}
