// Restores workspaces from the pieces of a backup, in the caller's transaction: any error in the file, even at its last
// byte, undoes everything. Ids, names of schemas and versions are new, so that no cached value of earlier workspaces is
// valid for them.

import { copyInto } from '../database/copy.ts';
import { getSqlState } from '../database/errors.ts';
import { hasFiles } from '../database/install.ts';
import type { Session } from '../database/pool.ts';
import { createEmptyWorkspace, type EmptyWorkspace } from '../migrations/workspace.ts';
import { parseExact } from '../model/exact-json.ts';
import { isStoredLimits, type StoredLimits } from '../model/limits.ts';
import { isOriginList } from '../model/origin.ts';
import { WORKSPACE_STATES, type WorkspaceState } from '../model/workspace.ts';
import { parseSchemaDocument } from '../schema/document.ts';
import type { Table } from '../schema/tables.ts';
import { ident, join, sql, type TableName, tableRef, toQuery } from '../sql/fragment.ts';
import { createOrganization } from '../store/organizations.ts';
import { storeTarget } from '../store/shared-schemas.ts';
import type { Topology } from '../topology/topology.ts';
import { type CopiedColumn, finishHistory, insertHistory } from '../workspace-schema/history-copy.ts';
import { getSlug, getText, getTime, makeInvalidError } from './entries.ts';
import { asIsForWorkspaces, backupDamaged, backupUnfit, workspaceInTheWay } from './errors.ts';
import { collectText, type Entry, type OpenedFile, readSections } from './format.ts';
import { ROW_KINDS } from './row-kinds.ts';
import { findTarget, restoreSharedSchema, restoreSharedSchemaVersion } from './shared-schemas.ts';

export interface Address {
  readonly organization: string;
  readonly slug: string;
}

export interface RestoredWorkspace extends Address {
  readonly id: string;
  readonly records: number;
  /** Numbers of records by entity. */
  readonly entities: ReadonlyMap<string, number>;
}

export interface Restored {
  readonly workspaces: readonly RestoredWorkspace[];
  /** Number of skipped rows by kind, as another workspace has them. */
  readonly leftOut: Readonly<Record<string, number>>;
}

const MAX_NAME = 200;

export interface RestoreOptions {
  /** Longest schema document in bytes. */
  readonly maxDocumentBytes: number;
  /** Target address for a single-workspace restore. */
  readonly as?: Address | undefined;
  readonly topology: Topology;
  /** Builds the error of a workspace that exists already. */
  readonly makeConflict?: (address: Address) => Error;
}

export async function restoreAll(
  session: Session,
  { header, pieces }: OpenedFile,
  { maxDocumentBytes, ...options }: RestoreOptions,
): Promise<Restored> {
  const { as } = options;
  if (as !== undefined && header.scope === 'instance') throw asIsForWorkspaces();
  const workspaces: RestoredWorkspace[] = [];
  const leftOut: Record<string, number> = {};
  let organizations = 0;
  let current: Current | undefined;
  const finishWorkspace = async (): Promise<void> => {
    if (current === undefined) return;
    const { workspace, complete } = current.emptyWorkspace;
    await complete(convertDataErrors);
    await insertHistories(session, current);
    const { address, entities } = current;
    const records = [...entities.values()].reduce((sum, count) => sum + count, 0);
    workspaces.push({ ...address, id: workspace.id, records, entities });
    current = undefined;
  };
  await session.execute(
    sql`create temp table ${tableRef(LINES)} (at bigint generated always as identity, line text) on commit drop`.text,
  );
  for await (const { entry, data } of readSections(pieces)) {
    const { kind } = entry;
    if (kind === 'organization') {
      if (header.scope === 'workspace' && ++organizations > 1) throw backupDamaged('it has more than one organization');
      await ensureOrganization(session, entry, as);
    } else if (kind === 'sharedSchema') await restoreSharedSchema(session, entry);
    else if (kind === 'sharedSchemaVersion') {
      const content = await collectText(data, VERSION_PARTS * maxDocumentBytes);
      await restoreSharedSchemaVersion(session, entry, content);
    } else if (kind === 'workspace') {
      await finishWorkspace();
      if (header.scope === 'workspace' && workspaces.length > 0) throw backupDamaged('it has more than one workspace');
      current = await startWorkspace(session, entry, await collectText(data, maxDocumentBytes), options);
    } else if (kind === 'records') await fillTable(session, requireCurrent(current), entry, data);
    else if (kind === 'rows') {
      const of = getText(entry, 'of');
      const skippedCount = await insertRows(session, requireCurrent(current), of, data);
      if (skippedCount > 0) leftOut[of] = (leftOut[of] ?? 0) + skippedCount;
    } else if (kind === 'history') await stageHistory(session, requireCurrent(current), entry, data);
    else throw backupDamaged(`it has a part of an unknown kind, ${kind}`);
  }
  await finishWorkspace();
  if (header.scope === 'workspace' && workspaces.length === 0) throw backupDamaged('it has no workspace');
  return { workspaces, leftOut };
}

// Document, identities and steps of a version.
const VERSION_PARTS = 4;

const LINES: TableName = { schema: 'pg_temp', name: 'backup_lines' };

/** The workspace that is being restored. */
interface Current {
  readonly emptyWorkspace: EmptyWorkspace;
  readonly address: Address;
  readonly entities: Map<string, number>;
  /** Histories whose lines are staged: the tables of changes are there at the end alone. */
  readonly histories: History[];
}

interface History {
  readonly table: Table;
  readonly lines: TableName;
  readonly since: string;
  readonly columns: readonly CopiedColumn[];
}

function requireCurrent(current: Current | undefined): Current {
  if (current === undefined) throw backupDamaged('it has a part that belongs to no workspace');
  return current;
}

function getName(entry: Entry): string {
  const name = getText(entry, 'name');
  if (name === '' || [...name.slice(0, 2 * MAX_NAME + 1)].length > MAX_NAME) throw makeInvalidError(entry, 'name');
  return name;
}

/** Returns the origins of a workspace, or null; a backup of an older version has none. */
function getCorsOrigins(entry: Entry): readonly string[] | null {
  const { corsOrigins = null } = entry;
  if (corsOrigins === null) return null;
  if (!isOriginList(corsOrigins)) throw makeInvalidError(entry, 'corsOrigins');
  return corsOrigins;
}

/** Returns the limits of a workspace or an organization; a backup of an older version has none. */
function getLimits(entry: Entry): StoredLimits {
  const { limits = {} } = entry;
  if (!isStoredLimits(limits)) throw makeInvalidError(entry, 'limits');
  return limits;
}

/** Returns the state of a workspace; a backup of an older version has none. */
function getState(entry: Entry): WorkspaceState {
  const { state = 'active' } = entry;
  const one = WORKSPACE_STATES.find((name) => name === state);
  if (one === undefined) throw makeInvalidError(entry, 'state');
  return one;
}

/**
 * Creates the organization unless it exists; an existing one is not changed. With a target address a new organization
 * is named after its slug.
 */
async function ensureOrganization(session: Session, entry: Entry, as: Address | undefined): Promise<void> {
  const [original, originalName, createdAt] = [getSlug(entry, 'slug'), getName(entry), getTime(entry, 'createdAt')];
  const slug = as?.organization ?? original;
  const organizations = await session.query(toQuery(sql`select from wda.organization where slug = ${slug}`));
  if (organizations.length > 0) return;
  const limits = getLimits(entry);
  await createOrganization(session, slug === original ? { slug, name: originalName, limits } : { slug, name: slug });
  if (slug !== original) return;
  await session.query(
    toQuery(sql`update wda.organization set created_at = ${createdAt}::timestamptz where slug = ${slug}`),
  );
}

async function startWorkspace(
  session: Session,
  entry: Entry,
  text: string,
  { as, topology, makeConflict = workspaceInTheWay }: Omit<RestoreOptions, 'maxDocumentBytes'>,
): Promise<Current> {
  const original = { organization: getSlug(entry, 'organization'), slug: getSlug(entry, 'slug') };
  const [name, createdAt, address] = [getName(entry), getTime(entry, 'createdAt'), as ?? original];
  const [origins, state, limits] = [getCorsOrigins(entry), getState(entry), getLimits(entry)];
  const parsed = parseSchemaDocument(parseDocumentText(text));
  if (!parsed.ok) throw backupDamaged(`its schema document is not valid (${parsed.details[0]?.message ?? ''})`);
  const { document } = parsed;
  const [existing] = await session.query(
    toQuery(sql`select from wda.workspace w join wda.organization o on o.id = w.organization_id
where o.slug = ${address.organization} and w.slug = ${address.slug}`),
  );
  if (existing !== undefined) throw makeConflict(address);
  const emptyWorkspace = await createEmptyWorkspace(session, { ...address, name, document }, topology);
  if (emptyWorkspace === undefined) throw backupDamaged(`it has no organization ${address.organization}`);
  await session.query(
    toQuery(
      sql`update wda.workspace set created_at = ${createdAt}::timestamptz, cors_origins = ${origins === null ? null : JSON.stringify(origins)}::json, state = ${state},
  limits = ${JSON.stringify(limits)}::jsonb
where id = ${emptyWorkspace.workspace.id}`,
    ),
  );
  const target = await findTarget(session, address.organization, entry, document);
  if (target !== undefined) await storeTarget(session, emptyWorkspace.workspace.id, target);
  return {
    emptyWorkspace,
    address,
    entities: new Map(emptyWorkspace.tables.keys().map((entity) => [entity, 0])),
    histories: [],
  };
}

function parseDocumentText(text: string): unknown {
  try {
    return parseExact(text);
  } catch {
    throw backupDamaged('its schema document is no JSON');
  }
}

async function fillTable(session: Session, current: Current, entry: Entry, data: AsyncIterable<Buffer>): Promise<void> {
  const entity = getText(entry, 'entity');
  const table = current.emptyWorkspace.tables.get(entity);
  if (table === undefined) throw backupUnfit(entity);
  const columns = getColumns(table, entry.fields);
  // No session sees the table before the commit, so FREEZE may mark its rows visible to all.
  const copy = sql`copy ${tableRef(table)} (${join(columns.map(ident))}) from stdin (freeze)`;
  const count = await convertDataErrors(
    entity,
    copyInto(session, copy.text, data, () => undefined),
  );
  current.entities.set(entity, (current.entities.get(entity) ?? 0) + count);
  await setSequence(session, table, entry.lastId);
}

function getColumns({ columns, entity }: Table, fields: unknown): readonly string[] {
  if (!Array.isArray(fields) || fields.length === 0) throw backupDamaged('its records have no fields');
  if (new Set(fields).size < fields.length) throw backupDamaged('its records have a field twice');
  return fields.map((field) => {
    const column = columns.get(String(field))?.column;
    if (column === undefined) throw backupUnfit(entity);
    return column;
  });
}

/**
 * Sets the sequence after all ids in the file and after those of records deleted before the backup, so that no id is
 * reused.
 */
async function setSequence(session: Session, table: Table, lastId: unknown): Promise<void> {
  const isNumber = typeof lastId === 'string' && /^\d{1,16}$/.test(lastId);
  if (lastId !== null && !isNumber) throw backupDamaged('a sequence of ids in it has no number');
  const sequence = tableRef({ schema: table.schema, name: table.sequence }).text;
  // Two statements: on Citus the first runs on the node of the records, which does not have the sequence.
  const last = toQuery(sql`select greatest(${lastId}::bigint, max(id))::text as id from ${tableRef(table)}`);
  const [row] = await convertDataErrors(table.entity, session.query<{ id: string | null }>(last));
  const id = row?.id ?? null;
  if (id === null) return;
  await convertDataErrors(
    table.entity,
    session.query(toQuery(sql`select setval(${sequence}::regclass, ${id}::bigint)`)),
  );
}

/** Inserts rows and returns the number of skipped ones. */
async function insertRows(
  session: Session,
  { emptyWorkspace: { workspace } }: Current,
  name: string,
  data: AsyncIterable<Buffer>,
): Promise<number> {
  const rowKind = ROW_KINDS.find((one) => one.name === name);
  if (rowKind === undefined) throw backupDamaged(`it has rows of an unknown kind, ${name}`);
  const rows = await copyInto(session, sql`copy ${tableRef(LINES)} (line) from stdin`.text, data, () => undefined);
  if (rows === 0) return 0;
  const inserted = await convertDataErrors(
    name,
    session.query(
      toQuery(
        sql`with made as (${rowKind.insert(workspace.id, LINES)})
select count(*)::int4 as count, coalesce(bool_and(shows), true) as shows from made`,
      ),
    ),
  );
  const [{ count, shows }] = inserted as unknown as readonly [{ readonly count: number; readonly shows: boolean }];
  if (!shows) throw backupUnfit(name);
  await session.execute(sql`truncate ${tableRef(LINES)}`.text);
  return rows - count;
}

async function stageHistory(
  session: Session,
  current: Current,
  entry: Entry,
  data: AsyncIterable<Buffer>,
): Promise<void> {
  const entity = getText(entry, 'entity');
  const table = current.emptyWorkspace.tables.get(entity);
  if (table === undefined || current.histories.some((one) => one.table === table)) throw backupUnfit(entity);
  const since = getTime(entry, 'since');
  const lines: TableName = { schema: 'pg_temp', name: `backup_history_${current.histories.length}` };
  await session.execute(sql`create temp table ${tableRef(lines)} (line text) on commit drop`.text);
  await copyInto(session, sql`copy ${tableRef(lines)} (line) from stdin`.text, data, () => undefined);
  current.histories.push({ table, lines, since, columns: getCopiedColumns(entry, table) });
}

function getCopiedColumns({ columns }: Entry, table: Table): readonly CopiedColumn[] {
  if (typeof columns !== 'object' || columns === null) throw backupDamaged('a history in it has no columns');
  return Object.entries(columns).map(([field, from]) => {
    const to = table.columns.get(field)?.column;
    if (to === undefined || typeof from !== 'string') throw backupUnfit(table.entity);
    return { from, to };
  });
}

/** Adds the histories to the changes of the workspace. */
async function insertHistories(session: Session, { histories, emptyWorkspace: { workspace } }: Current): Promise<void> {
  if (histories.length === 0) return;
  if (!(await hasFiles(session, 'changes', workspace.databaseSchema)))
    throw backupDamaged('no entity of it keeps a history');
  for (const { table, lines, since, columns } of histories) {
    let fits: boolean | undefined;
    for (const statement of insertHistory(table, lines, since, columns)) {
      const [row] = await convertDataErrors(table.entity, session.query<{ fits?: boolean }>(toQuery(statement)));
      fits = row?.fits;
    }
    if (fits !== true) throw backupUnfit(table.entity);
    await session.execute(sql`drop table ${tableRef(lines)}`.text);
  }
  for (const statement of finishHistory(workspace.databaseSchema)) await session.query(toQuery(statement));
}

/** Converts constraint violations and invalid values: no server has written such a file. */
async function convertDataErrors<T>(entity: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    // 54001: JSON that is nested too deeply.
    if (/^(2[23]|54001)/.test(getSqlState(error) ?? '')) throw backupUnfit(entity, error);
    throw error;
  }
}
