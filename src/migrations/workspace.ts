// Creates and deletes workspaces: row, PostgreSQL schema and tables, in one transaction.

import { runFiles } from '../database/install.ts';
import type { Session } from '../database/pool.ts';
import { executeEach, executeTogether, inTransaction, LOCK_BUDGET_MS, withLockRetry } from '../database/transaction.ts';
import { notFound } from '../errors.ts';
import { buildEntities } from '../schema/entities.ts';
import { EMPTY_DOCUMENT, type SchemaDocument } from '../schema/format.ts';
import { buildTables, type Table } from '../schema/tables.ts';
import type { WriteActivity } from '../store/activity.ts';
import type { Databases } from '../store/databases.ts';
import { chooseVersion } from '../store/shared-schemas.ts';
import {
  deleteWorkspaceRow,
  type Follows,
  insertWorkspace,
  type LimitChange,
  toWorkspaceError,
  type WorkspaceSummary,
} from '../store/workspaces.ts';
import type { Topology } from '../topology/topology.ts';
import { throwWhenUnavailable } from '../topology/unavailable.ts';
import { installChanges, keepChanges } from '../workspace-schema/record-changes.ts';
import { addKeys, createBareTable, createSchema, createTables, dropSchema, finishTable } from './ddl.ts';
import { findExtensions } from './extensions.ts';
import { requireChanges, toKeptChanges } from './operations/record-changes.ts';
import { makeBusyError, withWorkspaceLock } from './workspace-lock.ts';

export interface NewWorkspace {
  /** Slug of its organization. */
  readonly organization: string;
  readonly slug: string;
  readonly name: string;
  /** Result of parseSchemaDocument(); without it the workspace has no entities. */
  readonly document?: SchemaDocument;
  /** Limits of its own; null: that of the organization. */
  readonly limits?: LimitChange | undefined;
  /** A shared schema whose version it gets in place of a document: of the given number, or the newest. */
  readonly follows?:
    | { readonly schemaId: string; readonly schema: string; readonly version?: number | undefined }
    | undefined;
}

// A document with 500 entities takes seconds, and no session waits for the locks of new tables.
const DDL_TIMEOUT_MS = 600_000;

/**
 * Creates a workspace; undefined if the organization does not exist; 409 when the slug is taken in it. `complete` runs in
 * the same transaction, when the tables are there.
 */
export async function createWorkspace(
  databases: Databases,
  workspace: NewWorkspace,
  complete?: (session: Session, created: WorkspaceSummary) => Promise<void>,
): Promise<WorkspaceSummary | undefined> {
  const { organization, slug, name, limits } = workspace;
  throwWhenUnavailable(databases.topology.everyNode);
  // The row and the tables lie in one database, so they share a transaction.
  return databases.directory
    .transaction(
      async (session) => {
        const version = workspace.follows && (await requireVersion(session, workspace.follows));
        const { document = EMPTY_DOCUMENT } = version ?? workspace;
        const extensions = await findExtensions(session, document, EMPTY_DOCUMENT, 'schema.');
        const created = await insertWorkspace(session, organization, {
          slug,
          name,
          document: JSON.stringify(document),
          limits,
          follows: version?.follows ?? null,
        });
        if (created === undefined) return undefined;
        const { databaseSchema } = created;
        const tables = [...buildTables(document, databaseSchema).values()];
        await makeSchema(session, databaseSchema, tables, databases.topology);
        await getExecute(databases.topology)(session, createTables(tables, extensions));
        await keepAllChanges(session, document, databaseSchema, databases.topology);
        await complete?.(session, created);
        return created;
      },
      { statementTimeoutMs: DDL_TIMEOUT_MS, purpose: 'migration' },
    )
    .catch((error) => {
      throw toWorkspaceError(error, slug);
    });
}

/** Returns the version that a new workspace gets, in its transaction. Throws when the shared schema is gone. */
async function requireVersion(
  session: Session,
  { schemaId, schema, version }: NonNullable<NewWorkspace['follows']>,
): Promise<{ readonly document: SchemaDocument; readonly follows: Follows }> {
  const chosen = await chooseVersion(session, schemaId, version);
  if (chosen === undefined) throw notFound('SCHEMA_VERSION_NOT_FOUND', `Shared schema ${schema} is deleted meanwhile`);
  return { document: chosen.document, follows: { schemaId, schema, version: chosen.version } };
}

const getExecute = ({ everyNode }: Topology) => (everyNode === undefined ? executeTogether : executeEach);

export interface EmptyWorkspace {
  readonly workspace: WorkspaceSummary;
  /** Tables by entity; without keys and indexes until complete(). */
  readonly tables: ReadonlyMap<string, Table>;
  /**
   * Creates keys, indexes and references after the records are loaded. `runForEntity` gets the work on each entity,
   * which throws the database's error for records that violate them.
   */
  readonly complete: (runForEntity: (entity: string, work: Promise<void>) => Promise<void>) => Promise<void>;
}

/**
 * Creates a workspace in the transaction of `session` whose tables take records before they get their keys, which is
 * twice as fast. Returns undefined if the organization does not exist; 409 when the slug is taken in it.
 */
export async function createEmptyWorkspace(
  session: Session,
  { organization, slug, name, document }: Required<Omit<NewWorkspace, 'limits' | 'follows'>>,
  topology: Topology,
): Promise<EmptyWorkspace | undefined> {
  const extensions = await findExtensions(session, document);
  const created = await insertWorkspace(session, organization, {
    slug,
    name,
    document: JSON.stringify(document),
  }).catch((error) => {
    throw toWorkspaceError(error, slug);
  });
  if (created === undefined) return undefined;
  const tables = buildTables(document, created.databaseSchema);
  const all = [...tables.values()];
  await makeSchema(session, created.databaseSchema, all, topology);
  await getExecute(topology)(session, all.map(createBareTable));
  return {
    workspace: created,
    tables,
    async complete(runForEntity) {
      // References of a table need the keys of other tables.
      for (const table of all) await runForEntity(table.entity, executeEach(session, addKeys(table)));
      for (const table of all) await runForEntity(table.entity, executeEach(session, finishTable(table, extensions)));
      await keepAllChanges(session, document, created.databaseSchema, topology);
    },
  };
}

/** Makes new tables keep changes where their entities do. */
async function keepAllChanges(
  session: Session,
  document: SchemaDocument,
  databaseSchema: string,
  topology: Topology,
): Promise<void> {
  const keptChanges = [...buildEntities(document, databaseSchema).values()].flatMap((entity) => {
    const changes = toKeptChanges(entity);
    if (changes === null) return [];
    requireChanges(topology, entity.name);
    return [keepChanges(entity.table, changes)];
  });
  if (keptChanges.length === 0) return;
  const execute = getExecute(topology);
  await installChanges(session, databaseSchema, execute);
  await execute(session, keptChanges);
}

async function makeSchema(
  session: Session,
  databaseSchema: string,
  tables: readonly Table[],
  topology: Topology,
): Promise<void> {
  await topology.prepareSchema(
    session,
    tables.map(({ name }) => name),
  );
  await session.execute(createSchema(databaseSchema).text);
  await runFiles(session, 'workspace', databaseSchema, getExecute(topology));
}

/**
 * Deletes a workspace with all of its records and keys; 409 while its schema is being changed. `writeActivity` runs in
 * the same transaction.
 */
export async function deleteWorkspace(
  databases: Databases,
  workspace: Pick<WorkspaceSummary, 'id' | 'slug' | 'databaseSchema'>,
  writeActivity?: WriteActivity,
): Promise<void> {
  await withWorkspaceLock(
    databases.forWorkspace(workspace),
    workspace.id,
    (session) =>
      withLockRetry(() =>
        inTransaction(session, LOCK_BUDGET_MS, async () => {
          await deleteWorkspaceRow(session, workspace.id);
          await dropWorkspaceSchema(session, workspace.databaseSchema);
          await writeActivity?.(session);
        }),
      ),
    (what) => Promise.reject(makeBusyError(what)),
    { nodes: databases.topology.everyNode },
  ).catch((error) => {
    throw toWorkspaceError(error, workspace.slug);
  });
}

/** Drops the tables of a workspace whose row the transaction has deleted. */
export const dropWorkspaceSchema = (session: Pick<Session, 'execute'>, databaseSchema: string): Promise<void> =>
  session.execute(dropSchema(databaseSchema).text);
