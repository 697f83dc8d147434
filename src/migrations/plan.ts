// Plans a change without side effects: its operations, their estimated duration, and the records that conflict with
// them. Only reads the database.

import type { Session } from '../database/pool.ts';
import { notFound, validationFailed } from '../errors.ts';
import type { Entity } from '../model/entity.ts';
import { type PhysicalNames, physicalTable } from '../model/physical-name.ts';
import type { ParsedDocument } from '../schema/document.ts';
import { buildEntities } from '../schema/entities.ts';
import type { SchemaDocument } from '../schema/format.ts';
import { member, type Renames } from '../schema/renames.ts';
import { join, literal, sql, tableRef, toQuery } from '../sql/fragment.ts';
import { loadWorkspaceRow } from '../store/documents.ts';
import type { Conflicts, PlannedStep, Strategy } from '../store/migrations.ts';
import type { Follows } from '../store/workspaces.ts';
import type { Topology } from '../topology/topology.ts';
import { type Change, diffDocuments } from './diff.ts';
import { findExtensions } from './extensions.ts';
import { findReleasedKeys, findReservedNames } from './names.ts';
import type { ConflictCheck, Operation, TemporaryObject } from './operation.ts';
import { requireChanges } from './operations/record-changes.ts';

/** Further state of the workspace, in the session that reads or changes it. */
export interface ParseContext {
  readonly session: Queryable;
  readonly follows: Follows | null;
}

/** Parses the new document against the document in force. */
export type ParseDocument = (
  inForce: SchemaDocument,
  context: ParseContext,
) => ParsedDocument | Promise<ParsedDocument>;

export interface PreparedChange {
  readonly inForce: SchemaDocument;
  readonly requested: SchemaDocument;
  readonly databaseSchema: string;
  /** Names of tables and columns in PostgreSQL once the change is in force. */
  readonly names: PhysicalNames;
  /** Names that lose their meaning by the change, as keys of names.ts. */
  readonly releasedNames: readonly string[];
  /** Previous names of renamed entities by their new names. */
  readonly renamedEntities: ReadonlyMap<string, string>;
  readonly operations: readonly Operation[];
  /** The effective strategy: `blocking` instead of a requested `online` when the database allows no triggers. */
  readonly strategy: Strategy;
  /** Entities in force and requested, by name. */
  readonly before: ReadonlyMap<string, Entity>;
  readonly after: ReadonlyMap<string, Entity>;
  /** Entities in force by their tables in PostgreSQL. */
  readonly entities: ReadonlyMap<string, string>;
}

type Queryable = Pick<Session, 'query'>;

export interface PrepareOptions {
  readonly topology: Topology;
  /** How long a name that had another meaning stays reserved; by default as long as it is recorded. */
  readonly forgottenAfterMs?: number;
}

/** Prepares a change. Throws the errors of the document, and of changes that cannot be made. */
export async function prepareChange(
  session: Queryable,
  workspaceId: string,
  parseDocument: ParseDocument,
  requestedStrategy: Strategy,
  { topology, forgottenAfterMs = Number.POSITIVE_INFINITY }: PrepareOptions,
): Promise<PreparedChange> {
  const row = await loadWorkspaceRow(session, workspaceId);
  if (row === undefined) throw notFound('WORKSPACE_NOT_FOUND', 'The workspace does not exist any more');
  const { document: inForce, databaseSchema, version, follows } = row;
  const parsed = await parseDocument(inForce, { session, follows });
  if (!parsed.ok) throw validationFailed(parsed.details);
  const { document: requested, renames } = parsed;
  const entities = buildEntities(inForce, databaseSchema, row.names);
  const candidates = findChangedEntities(inForce, requested, renames).flatMap((name) => entities.get(name) ?? []);
  const empty = await findEmptyEntities(session, candidates);
  const extensions = await findExtensions(session, requested, inForce);
  const reserved = findReservedNames(row.releasedNames, forgottenAfterMs);
  const diffWith = (chosenStrategy: Strategy) =>
    diffDocuments({
      inForce,
      names: row.names,
      requested,
      renames,
      databaseSchema,
      empty,
      strategy: chosenStrategy,
      reserved,
      change: version,
      extensions,
    });
  const { change, strategy } = selectStrategy(topology, requestedStrategy, diffWith);
  if (!change.ok) throw validationFailed(change.details);
  const { operations, names } = change;
  for (const { kind, entity } of operations) if (kind === 'keepChanges') requireChanges(topology, entity ?? '');
  const tables = new Map([...entities.values()].map((entity) => [entity.table.name, entity.name]));
  const after = buildEntities(requested, databaseSchema, names);
  const releasedNames = findReleasedKeys(entities, after);
  return {
    inForce,
    requested,
    databaseSchema,
    names,
    releasedNames,
    renamedEntities: renames.entities,
    operations,
    strategy,
    before: entities,
    after,
    entities: tables,
  };
}

/** Uses the requested strategy, or, with a note that gives the reason, the one that works without triggers. */
function selectStrategy(
  { triggersMissing }: Topology,
  requestedStrategy: Strategy,
  diffWith: (strategy: Strategy) => Change,
): { readonly change: Change; readonly strategy: Strategy } {
  const change = diffWith(requestedStrategy);
  if (triggersMissing === undefined || !change.ok || !change.operations.some(hasSync))
    return { change, strategy: requestedStrategy };
  const fallback = diffWith('blocking');
  if (!fallback.ok) return { change: fallback, strategy: 'blocking' };
  const paths = new Set(change.operations.filter(hasSync).map(({ path }) => path));
  const operations = fallback.operations.map((operation) =>
    paths.has(operation.path) ? { ...operation, description: operation.description + triggersMissing } : operation,
  );
  return { change: { ...fallback, operations }, strategy: 'blocking' };
}

const hasSync = ({ temporaryObjects }: Operation): boolean => temporaryObjects.some(({ kind }) => kind === 'sync');

/** Returns whether any operation cannot run in the transaction of the switch. */
export function needsPreparation(change: PreparedChange): boolean {
  return change.operations.some(({ statements }) => statements.some(({ within }) => within !== 'transaction'));
}

/** Returns the objects that the operations create before the switch. */
export function listTemporaryObjects(change: PreparedChange): readonly TemporaryObject[] {
  return needsPreparation(change) ? change.operations.flatMap((operation) => operation.temporaryObjects) : [];
}

/** Returns the entities in force that stay and whose part of the document has changed. */
function findChangedEntities(inForce: SchemaDocument, requested: SchemaDocument, renames: Renames): readonly string[] {
  const renamedEntities = new Map([...renames.entities].map(([name, before]) => [before, name]));
  return Object.keys(inForce.entities).filter((name) => {
    const after = member(requested.entities, renamedEntities.get(name) ?? name);
    return after !== undefined && JSON.stringify(after) !== JSON.stringify(member(inForce.entities, name));
  });
}

async function findEmptyEntities(session: Queryable, entities: readonly Entity[]): Promise<ReadonlySet<string>> {
  if (entities.length === 0) return new Set();
  const queries = entities.map(
    ({ name, table }) => sql`select ${literal(name)} as name where not exists (select from ${tableRef(table)})`,
  );
  const rows = await session.query<{ name: string }>(toQuery(join(queries, ' union all ')));
  return new Set(rows.map((row) => row.name));
}

// Records per second, rounded down from 1 M rows of 100 bytes in PostgreSQL 15 on two busy cores: 5.9 M checked, 0.3 M
// sorted into an index of text (0.8 M of integers), 0.1 M rewritten.
const SPEED = { scan: 5_000_000, index: 300_000, rewrite: 100_000 } as const;

/** Describes the steps without conflicting records. `sizes`: result of estimateTableSizes(). */
export function describeSteps(change: PreparedChange, sizes: ReadonlyMap<string, number>): readonly PlannedStep[] {
  return change.operations.map((operation) => ({
    entity: operation.entity,
    kind: operation.kind,
    description: operation.description,
    destructive: operation.destructive,
    ...(operation.opens === undefined ? {} : { opens: operation.opens }),
    ...(operation.grants === undefined ? {} : { grants: operation.grants }),
    ...getBlocking(change, operation),
    estimatedSeconds: estimateSeconds(operation, sizes.get(operation.entity) ?? 0),
    conflicts: null,
  }));
}

function estimateSeconds({ work }: Operation, records: number): number {
  return work === 'none' ? 0 : Math.ceil(records / SPEED[work]);
}

/** Returns whether the change holds all of its locks to its end, which takes time: a blocking one with any work. */
export const holdsLocks = ({ strategy, operations }: PreparedChange): boolean =>
  strategy === 'blocking' && operations.some(({ work }) => work !== 'none');

/** Returns which requests an operation blocks: with `online` it blocks none. */
const getBlocking = (change: PreparedChange, { locks }: Operation) => ({
  blocksReads: holdsLocks(change) && locks.some(({ mode }) => mode === 'access exclusive'),
  blocksWrites: holdsLocks(change) && locks.length > 0,
});

/**
 * Returns PostgreSQL's estimate of the number of records. For tables that were never analyzed, and those on other
 * nodes, it is their size / 100 bytes.
 */
export async function estimateTableSizes(
  session: Queryable,
  change: PreparedChange,
  { tableBytes }: Topology,
): Promise<ReadonlyMap<string, number>> {
  if (change.operations.every((operation) => operation.work === 'none')) return new Map();
  const rows = await session.query<{ name: string; records: number }>(
    toQuery(sql`select c.relname as name,
  case when c.reltuples >= 0 then c.reltuples else ${tableBytes} / 100 end::float8 as records
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where n.nspname = ${change.databaseSchema} and c.relkind = 'r'`),
  );
  const tables = new Map(rows.map(({ name, records }) => [name, records]));
  return new Map(change.operations.map(({ entity }) => [entity, tables.get(physicalTable(change.names, entity)) ?? 0]));
}

/** Returns the records that make a step impossible, or null if there are none. */
export async function findConflicts(session: Queryable, conflictCheck: ConflictCheck): Promise<Conflicts | null> {
  const [row] = await session.query<{ count: string; ids: readonly string[] }>(toQuery(conflictCheck.query));
  const count = Number(row?.count ?? 0);
  return count === 0 ? null : { count, sampleIds: (row?.ids ?? []).map(Number) };
}

/** Describes the steps with their conflicting records. */
export async function planSteps(
  session: Queryable,
  change: PreparedChange,
  topology: Topology,
): Promise<readonly PlannedStep[]> {
  const steps = describeSteps(change, await estimateTableSizes(session, change, topology));
  const plannedSteps: PlannedStep[] = [];
  for (const [index, step] of steps.entries()) {
    const conflictCheck = change.operations[index]?.conflictCheck;
    const conflicts = conflictCheck?.canRun === true ? await findConflicts(session, conflictCheck) : null;
    plannedSteps.push({ ...step, conflicts });
  }
  return plannedSteps;
}

/** Returns the first new table, index or column whose name exists already, created outside of this server. */
export async function findExistingName(session: Queryable, change: PreparedChange): Promise<string | undefined> {
  const temporaryObjects = change.operations.flatMap((operation) => operation.temporaryObjects);
  if (temporaryObjects.length === 0) return undefined;
  const relations = temporaryObjects.flatMap((one) =>
    one.kind === 'table' ? [one.table] : one.kind === 'index' ? [one.index] : [],
  );
  const columns = temporaryObjects.flatMap((one) => (one.kind === 'column' ? [one] : []));
  const rows = await session.query<{ name: string }>(
    toQuery(sql`select c.relname as name
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where n.nspname = ${change.databaseSchema} and c.relname = any(${relations}::text[])
union all
select c.relname || '.' || a.attname
from unnest(${columns.map((one) => one.table)}::text[], ${columns.map((one) => one.column)}::text[]) as wanted (relation, attribute)
join pg_namespace n on n.nspname = ${change.databaseSchema}
join pg_class c on c.relnamespace = n.oid and c.relname = wanted.relation
join pg_attribute a on a.attrelid = c.oid and a.attname = wanted.attribute and not a.attisdropped
limit 1`),
  );
  return rows[0]?.name;
}
