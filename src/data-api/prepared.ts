// Caches compiled requests by their text: the next request with the same text goes from header to bound statement at
// once.
import { LRUCache } from 'lru-cache';
import { nodeKey } from '../model/entity.ts';
import type { AggregatePlan } from '../plan/aggregate.ts';
import type { BulkCreatePlan, BulkDeletePlan, BulkUpdatePlan, BulkUpsertPlan } from '../plan/bulk.ts';
import type { GrantedPlan } from '../plan/granted.ts';
import type { HandOver } from '../plan/handover.ts';
import type { CreatePlan, DeletePlan, ListPlan, UpdatePlan, UpsertPlan } from '../plan/plan.ts';
import type { AggregateRow, PageRow, RecordRow } from '../plan/result.ts';
import { toCacheKey } from '../request/query-string.ts';
import { type Compiled, type CompileOptions, compile, estimateBytes, type Statement } from '../sql/compile.ts';
import type { ResultOf } from '../sql/row-readers.ts';
import type { EntityContext } from './context.ts';

export interface PreparedRead {
  readonly statement: Compiled<RecordRow>;
}

export interface PreparedList {
  readonly statement: Compiled<PageRow>;
  readonly plan: ListPlan;
  readonly estimate: Compiled<number> | undefined;
  /** The same list with an exact total, for a search with a small estimate. */
  readonly counted?: PreparedList | undefined;
  /** The feed that continues the list, if it has a cursor of it. */
  readonly handOver: HandOver | undefined;
}

export interface PreparedAggregate {
  readonly statement: Compiled<AggregateRow>;
  readonly plan: AggregatePlan;
}

export type WritePlan =
  | CreatePlan
  | UpdatePlan
  | UpsertPlan
  | DeletePlan
  | BulkCreatePlan
  | BulkUpdatePlan
  | BulkUpsertPlan
  | BulkDeletePlan
  | GrantedPlan;

export interface PreparedStatements {
  readonly list: (context: EntityContext, prepare: () => PreparedList) => PreparedList;
  readonly read: (context: EntityContext, prepare: () => PreparedRead) => PreparedRead;
  readonly aggregate: (context: EntityContext, prepare: () => PreparedAggregate) => PreparedAggregate;
  /** Returns the statement of a write. Rendering it each time would cost 7 µs, twice the validation of a body. */
  readonly write: <P extends WritePlan>(context: EntityContext, plan: P) => Compiled<ResultOf<P>>;
}

// An entry is some 3 kB, for an entity of 500 fields 100.
const MAX_READS = 8000;
const MAX_READS_BYTES = 67_108_864;
// Aggregates are repeated by dashboards; an entry is some 4 kB.
const MAX_AGGREGATES = 2000;
const MAX_AGGREGATES_BYTES = 16_777_216;
const MAX_CACHED_QUERY = 1000;
// Writes are cached by entity and columns. An entry is some 2 kB, for an entity of 500 fields 50.
const MAX_WRITES = 2000;
const MAX_WRITES_BYTES = 16_777_216;

export function makePreparedStatements(options: CompileOptions): PreparedStatements {
  const lists = makeCache<PreparedList>(MAX_READS, MAX_READS_BYTES / 2, measureList);
  const reads = makeCache<PreparedRead>(MAX_READS, MAX_READS_BYTES / 2, ({ statement }) => estimateBytes(statement));
  const aggregates = makeCache<PreparedAggregate>(
    MAX_AGGREGATES,
    MAX_AGGREGATES_BYTES,
    ({ statement }) => estimateBytes(statement) + statement.text.length,
  );
  const writes = makeCache<Statement>(MAX_WRITES, MAX_WRITES_BYTES, estimateBytes);

  return {
    list: (context, prepare) => getOrPrepare(lists, context, prepare),
    read: (context, prepare) => getOrPrepare(reads, context, prepare),
    aggregate: (context, prepare) => getOrPrepare(aggregates, context, prepare),
    write<P extends WritePlan>(context: EntityContext, plan: P) {
      const key = buildKey(context, formatWriteKey(plan));
      const cached = writes.get(key);
      // The key contains the kind of the plan, which determines the type.
      if (cached !== undefined) return cached as Compiled<ResultOf<P>>;
      const statement = compile(plan, options);
      writes.set(key, statement);
      return statement;
    },
  };
}

/** Formats the parts of a plan that determine the text of a write, except its entity. */
function formatWriteKey(plan: WritePlan): string {
  switch (plan.kind) {
    case 'create':
      return `create ${[...plan.values.keys()].join()} ${formatChecksKey(plan)}`;
    case 'upsert':
      return `upsert ${plan.key.mode} ${plan.key.fields.map(({ name }) => name).join()} ${[...plan.values.keys()].join()} ${plan.changes.length} ${formatChecksKey(plan)}`;
    case 'update':
      return `update ${plan.guarded} ${[...plan.values.keys()].join()} ${formatChecksKey(plan)}`;
    case 'delete':
    case 'bulkDelete':
      return `${plan.kind} ${plan.guarded}`;
    case 'bulkCreate':
      return `bulkCreate ${formatListKey(plan)}`;
    case 'bulkUpsert':
      return `bulkUpsert ${plan.key.mode} ${plan.key.fields.map(({ name }) => name).join()} ${plan.changes.length} ${formatListKey(plan)}`;
    case 'granted':
      return `granted ${plan.operation} ${plan.key.map(({ name }) => name).join()} ${plan.guarded} ${formatListKey(plan)} ${plan.references.map(({ field }) => field.name).join()}`;
    case 'bulkUpdate':
      return `bulkUpdate ${plan.guarded} ${plan.versions} ${formatListKey(plan)}`;
    default:
      return plan satisfies never;
  }
}

/** Formats the references that a write checks: null ones are not, so writes of the same columns may differ. */
function formatChecksKey({ references }: CreatePlan | UpdatePlan | UpsertPlan): string {
  return references.length === 0 ? '' : references.map(({ field }) => field.name).join();
}

function formatListKey({
  isSparse,
  columns,
  projection,
}: Pick<BulkCreatePlan, 'isSparse' | 'columns' | 'projection'>): string {
  return `${isSparse} ${projection.outputs.length} ${columns.map(({ name }) => name).join()}`;
}

function makeCache<T extends object>(max: number, maxSize: number, size: (entry: T) => number): LRUCache<string, T> {
  return new LRUCache<string, T>({ max, maxSize, sizeCalculation: (entry, key) => size(entry) + key.length });
}

function getOrPrepare<T extends object>(cache: LRUCache<string, T>, context: EntityContext, prepare: () => T): T {
  const queryKey = toCacheKey(context.call.query);
  const key = buildKey(context, queryKey);
  const cached = cache.get(key);
  if (cached !== undefined) return cached;
  const entry = prepare();
  if (queryKey.length <= MAX_CACHED_QUERY) cache.set(key, entry);
  return entry;
}

/** Builds the cache key: principal kind, workspace version, part of the workspace, entity and `suffix`. */
function buildKey({ principal, workspace, entity }: EntityContext, suffix: string): string {
  // The same request uses other tables on a node.
  return `${principal.kind} ${workspace.id}.${workspace.version} ${nodeKey(entity)} ${workspace.part?.key ?? ''} ${entity.name} ${suffix}`;
}

/** Estimates the size in bytes: a plan has as many objects as its text has names. */
function measureList({ statement, estimate, counted }: PreparedList): number {
  const others = counted === undefined ? 0 : measureList(counted);
  return (
    others + estimateBytes(statement) + statement.text.length + (estimate === undefined ? 0 : estimateBytes(estimate))
  );
}
