// What a change would do, before anything happens: its operations, how long they may take, and the records that stand in
// their way. Reads the database, changes nothing.

import { loadWorkspaceRow } from '../catalog/documents.ts';
import type { Conflicts, PlannedStep, Strategy } from '../catalog/migrations.ts';
import type { Session } from '../db/pool.ts';
import type { ParsedDocument } from '../document/document.ts';
import { entitiesOf } from '../document/entities.ts';
import type { SchemaDocument } from '../document/format.ts';
import { member, type Renames } from '../document/renames.ts';
import { notFound, validationFailed } from '../errors.ts';
import type { Entity, MigrationGate } from '../model/entity.ts';
import { type PhysicalNames, physicalTable } from '../model/physical-name.ts';
import { join, literal, sql, tableRef, toQuery } from '../sql/fragment.ts';
import type { Topology } from '../topology/topology.ts';
import { type Change, changeOf } from './change.ts';
import { findExtensions } from './extensions.ts';
import type { Made, Obstacle, Operation } from './operation.ts';
import { freedKeys, heldNames } from './settled-names.ts';

/** Parses the new document against the one in force. */
export type Ask = (inForce: SchemaDocument) => ParsedDocument;

export interface PreparedChange {
  readonly inForce: SchemaDocument;
  readonly asked: SchemaDocument;
  readonly databaseSchema: string;
  /** Tables and columns in PostgreSQL once the change is in force. */
  readonly names: PhysicalNames;
  /** Names that mean nothing any more then, as keys of settled-names.ts. */
  readonly freed: readonly string[];
  /** The names in force of renamed entities, by their new ones. */
  readonly renamed: ReadonlyMap<string, string>;
  readonly operations: readonly Operation[];
  /** Blocking although online was asked for when the database lets tables have no triggers. */
  readonly strategy: Strategy;
  /** Entities in force by their tables in PostgreSQL. */
  readonly entities: ReadonlyMap<string, string>;
}

type Runs = Pick<Session, 'query'>;

export interface PrepareOptions {
  readonly topology: Topology;
  /** For how long a name that meant something else is not given again; by default as long as anything is known about it. */
  readonly forgottenAfterMs?: number;
}

/** Throws the refusals of the document, and of changes that cannot be made. */
export async function prepareChange(
  session: Runs,
  workspaceId: string,
  ask: Ask,
  wanted: Strategy,
  { topology, forgottenAfterMs = Number.POSITIVE_INFINITY }: PrepareOptions,
): Promise<PreparedChange> {
  const row = await loadWorkspaceRow(session, workspaceId);
  if (row === undefined) throw notFound('WORKSPACE_NOT_FOUND', 'The workspace does not exist any more');
  const { document: inForce, databaseSchema, version } = row;
  const parsed = ask(inForce);
  if (!parsed.ok) throw validationFailed(parsed.details);
  const { document: asked, renames } = parsed;
  const entities = entitiesOf(inForce, databaseSchema, row.names);
  const looked = changedEntities(inForce, asked, renames).flatMap((name) => entities.get(name) ?? []);
  const empty = await emptyEntities(session, looked);
  const extensions = await findExtensions(session, asked, inForce);
  const held = heldNames(row.freed, forgottenAfterMs);
  const by = (chosen: Strategy) =>
    changeOf({
      inForce,
      names: row.names,
      asked,
      renames,
      databaseSchema,
      empty,
      strategy: chosen,
      held,
      change: version,
      extensions,
    });
  const { change, strategy } = asPossible(topology, wanted, by);
  if (!change.ok) throw validationFailed(change.details);
  const { operations, names } = change;
  const tables = new Map([...entities.values()].map((entity) => [entity.table.name, entity.name]));
  const freed = freedKeys(entities, entitiesOf(asked, databaseSchema, names));
  return {
    inForce,
    asked,
    databaseSchema,
    names,
    freed,
    renamed: renames.entities,
    operations,
    strategy,
    entities: tables,
  };
}

/** By the strategy that is wanted, or, with words that say why, by the one that does without triggers. */
function asPossible(
  { triggersMissing }: Topology,
  wanted: Strategy,
  by: (strategy: Strategy) => Change,
): { readonly change: Change; readonly strategy: Strategy } {
  const change = by(wanted);
  if (triggersMissing === undefined || !change.ok || !change.operations.some(hasSync))
    return { change, strategy: wanted };
  const instead = by('blocking');
  if (!instead.ok) return { change: instead, strategy: 'blocking' };
  const paths = new Set(change.operations.filter(hasSync).map(({ path }) => path));
  const operations = instead.operations.map((operation) =>
    paths.has(operation.path) ? { ...operation, description: operation.description + triggersMissing } : operation,
  );
  return { change: { ...instead, operations }, strategy: 'blocking' };
}

const hasSync = ({ makes }: Operation): boolean => makes.some(({ kind }) => kind === 'sync');

/** Whether anything cannot run in the transaction of the switch. */
export function needsPreparation(change: PreparedChange): boolean {
  return change.operations.some(({ statements }) => statements.some(({ within }) => within !== 'transaction'));
}

/** What the operations make before the switch. */
export function madeAhead(change: PreparedChange): readonly Made[] {
  return needsPreparation(change) ? change.operations.flatMap((operation) => operation.makes) : [];
}

/** Entities in force that stay and whose part of the document is another text. */
function changedEntities(inForce: SchemaDocument, asked: SchemaDocument, renames: Renames): readonly string[] {
  const renamed = new Map([...renames.entities].map(([name, before]) => [before, name]));
  return Object.keys(inForce.entities).filter((name) => {
    const after = member(asked.entities, renamed.get(name) ?? name);
    return after !== undefined && JSON.stringify(after) !== JSON.stringify(member(inForce.entities, name));
  });
}

async function emptyEntities(session: Runs, entities: readonly Entity[]): Promise<ReadonlySet<string>> {
  if (entities.length === 0) return new Set();
  const looks = entities.map(
    ({ name, table }) => sql`select ${literal(name)} as name where not exists (select from ${tableRef(table)})`,
  );
  const rows = await session.query<{ name: string }>(toQuery(join(looks, ' union all ')));
  return new Set(rows.map((row) => row.name));
}

// Records per second, rounded down from 1 M rows of 100 bytes in PostgreSQL 15 on two busy cores: 5.9 M checked, 0.3 M
// sorted into an index of text (0.8 M of integers), 0.1 M written anew.
const SPEED = { scan: 5_000_000, index: 300_000, rewrite: 100_000 } as const;

/** The steps as people see them, without the records in their way. */
export async function describeSteps(
  session: Runs,
  change: PreparedChange,
  topology: Topology,
): Promise<readonly PlannedStep[]> {
  const sizes = await tableSizes(session, change, topology);
  return change.operations.map((operation) => ({
    entity: operation.entity,
    kind: operation.kind,
    description: operation.description,
    destructive: operation.destructive,
    ...blocksOf(change, operation),
    estimatedSeconds: secondsFor(operation, sizes.get(operation.entity) ?? 0),
    conflicts: null,
  }));
}

function secondsFor({ work }: Operation, records: number): number {
  return work === 'none' ? 0 : Math.ceil(records / SPEED[work]);
}

/** With `blocking` an operation holds its locks as long as it takes; with `online` nobody waits for it. */
function blocksOf(
  { strategy, operations }: PreparedChange,
  { locks }: Operation,
): { blocksReads: boolean; blocksWrites: boolean } {
  // When any operation takes time, all locks are held to the end.
  const holds = strategy === 'blocking' && operations.some(({ work }) => work !== 'none');
  return {
    blocksReads: holds && locks.some(({ mode }) => mode === 'access exclusive'),
    blocksWrites: holds && locks.length > 0,
  };
}

/** The gates that a blocking change closes, by entity in force: of all entities that its locks reach. */
export function gatesOf(
  change: PreparedChange,
  steps: readonly PlannedStep[],
): Readonly<Record<string, MigrationGate>> {
  const gates: Record<string, MigrationGate> = {};
  const takesTime = change.strategy === 'blocking' && change.operations.some(({ work }) => work !== 'none');
  if (!takesTime) return gates;
  const seconds = steps.reduce((sum, step) => sum + step.estimatedSeconds, 0);
  for (const { table, mode } of change.operations.flatMap((operation) => operation.locks)) {
    const entity = change.entities.get(table);
    if (entity === undefined) continue;
    const blocksReads = mode === 'access exclusive' || gates[entity]?.blocksReads === true;
    gates[entity] = { blocksReads, blocksWrites: true, retryAfterSeconds: retryAfter(seconds) };
  }
  return gates;
}

/** Seconds for Retry-After: whole, 1 to 60. */
export const retryAfter = (seconds: number): number => Math.min(60, Math.max(1, Math.ceil(seconds)));

/**
 * PostgreSQL's estimate of the number of records; for tables that it has never analyzed, and those on other nodes of a
 * cluster, their size / 100 bytes.
 */
export async function tableSizes(
  session: Runs,
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

/** The records that make a step impossible; null when there are none. */
export async function findConflicts(session: Runs, obstacle: Obstacle): Promise<Conflicts | null> {
  const [row] = await session.query<{ count: string; ids: readonly string[] }>(toQuery(obstacle.query));
  const count = Number(row?.count ?? 0);
  return count === 0 ? null : { count, sampleIds: (row?.ids ?? []).map(Number) };
}

/** The steps with the records in their way. */
export async function planSteps(
  session: Runs,
  change: PreparedChange,
  topology: Topology,
): Promise<readonly PlannedStep[]> {
  const steps = await describeSteps(session, change, topology);
  const planned: PlannedStep[] = [];
  for (const [index, step] of steps.entries()) {
    const obstacle = change.operations[index]?.obstacle;
    const conflicts = obstacle?.known === true ? await findConflicts(session, obstacle) : null;
    planned.push({ ...step, conflicts });
  }
  return planned;
}

/** The first of the tables, indexes and columns to be made that exists already, made by somebody else. */
export async function findTaken(session: Runs, change: PreparedChange): Promise<string | undefined> {
  const made = change.operations.flatMap((operation) => operation.makes);
  if (made.length === 0) return undefined;
  const relations = made.flatMap((one) =>
    one.kind === 'table' ? [one.table] : one.kind === 'index' ? [one.index] : [],
  );
  const columns = made.flatMap((one) => (one.kind === 'column' ? [one] : []));
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
