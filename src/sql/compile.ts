// Plan -> Statement: SQL text compiled once for a shape of request, and the binder that fills its slots for each
// request. The folder's only export besides fragment.ts.
import { LRUCache } from 'lru-cache';
import { hash32 } from '../model/hash.ts';
import type { Principal } from '../model/principal.ts';
import type { Lists } from '../plan/bulk.ts';
import type { FeedPlan } from '../plan/feed.ts';
import type { Operand } from '../plan/operand.ts';
import type { ListPlan, Plan, ReadPlan } from '../plan/plan.ts';
import { hasLists, type Projection } from '../plan/projection.ts';
import type {
  AggregateRow,
  ChangedRows,
  DeletedRow,
  DeletedRows,
  FeedCount,
  FeedRow,
  GrantedRowResult,
  HeldValueRow,
  LockedRow,
  MatchedRow,
  MissingBulkReference,
  MissingReference,
  PageRow,
  RecordRow,
  RecordVersionRow,
  ReferredRow,
  UniqueConflictRow,
  UpsertedRow,
  UpsertedRows,
  WrittenRow,
  WrittenRows,
} from '../plan/result.ts';
import { areUsable, claimText, readClaimList } from '../plan/row-rules.ts';
import type { Scan } from '../plan/scan.ts';
import { selectAggregate } from './aggregate.ts';
import {
  deleteRecords,
  findRecords,
  insertRecords,
  lockRecords,
  selectMatchBatches,
  selectMatches,
  selectMissingBulkReferences,
  selectReferred,
  updateRecords,
} from './bulk.ts';
import { upsertRecords } from './bulk-upsert.ts';
import { countFeed, selectFeed, selectHistory } from './feed.ts';
import { type Fragment, type Query, sql } from './fragment.ts';
import { writeGranted } from './granted.ts';
import { selectEstimated, selectExport, selectMissingReferences, selectPage, selectRecord } from './read.ts';
import { isMeasurable, isUnbounded } from './size-limit.ts';
import { makeImageReader } from './stored-image.ts';
import { selectHeldValues, selectUniqueConflicts } from './unique-values.ts';
import { upsertRecord } from './upsert.ts';
import { deleteRecord, insertRecord, updateRecord } from './write.ts';

/** A compiled shape. */
export interface Statement {
  readonly text: string;
  /** Name of the prepared statement, or undefined if the text is too long to keep prepared. */
  readonly name: string | undefined;
  readonly operands: readonly Operand[];
  /** Bounded form, see Query; undefined if the plain text can build nothing large. */
  readonly bounded: (() => Pick<Statement, 'text' | 'operands'>) | undefined;
  /** Expected duration, before the first run. */
  readonly expected: 'quick' | 'unknown';
  /**
   * Hash of the columns in the result, the part of an ETag that tells selections of one record apart; undefined for
   * results with related records, whose versions the record's own does not cover.
   */
  readonly tag: string | undefined;
  /** Whether there is no tag although the result has no related records. */
  readonly isFlat?: boolean;
}

/** Values for the slots of a request. */
export interface Inputs {
  readonly id?: string;
  readonly body?: ReadonlyMap<string, string | null>;
  readonly versions?: readonly string[];
  /** Lists of many records. */
  readonly lists?: Lists;
  readonly principal: Principal;
  /** JSON of the principal and the request, for stored changes. */
  readonly actor?: string | undefined;
  /** Returns words that many records have, see the operand. */
  readonly findCommonWords?: (rows: number) => readonly string[];
}

type Shape = Pick<Statement, 'text' | 'name'>;

// A text is about 1 kB. A longer one has a filter that a program wrote, which seldom recurs: prepared, it would take
// ten times its length of memory in each connection. Clients do not choose the columns.
const MAX_PREPARED_TEXT = 16_384;
const MAX_COLUMN_TEXT = 300;
const PREPARED_TEXT_CAP = 65_536;
// Recently compiled statement texts, so that equal texts share a prepared statement. Bounded by number and, as clients
// determine the texts, by characters.
const shapes = new LRUCache<string, Shape>({
  max: 8000,
  maxSize: 33_554_432,
  sizeCalculation: (shape) => shape.text.length,
});
let nextName = 0;

export interface CompileOptions {
  readonly maxResponseBytes: number;
}

/** A row from PostgreSQL: each column as text. */
export type Cells = readonly (string | null)[];

/** A statement, and the reader of its rows. */
export interface Compiled<Result> extends Statement {
  readonly read: (row: Cells) => Result;
}

interface Results {
  readonly list: PageRow;
  readonly read: RecordRow;
  readonly create: WrittenRow;
  readonly update: WrittenRow;
  readonly upsert: UpsertedRow;
  readonly delete: DeletedRow;
  readonly references: MissingReference;
  readonly aggregate: AggregateRow;
  readonly bulkCreate: WrittenRows;
  readonly bulkUpdate: ChangedRows;
  readonly bulkUpsert: UpsertedRows;
  readonly bulkDelete: DeletedRows;
  readonly granted: GrantedRowResult;
  readonly feed: FeedRow;
  readonly feedCount: FeedCount;
  readonly history: FeedRow;
  readonly find: RecordVersionRow;
  readonly lock: LockedRow;
  readonly match: MatchedRow;
  readonly matchBatches: string;
  readonly dangling: MissingBulkReference;
  readonly uniqueConflict: UniqueConflictRow;
  readonly heldValue: HeldValueRow;
  readonly referred: ReferredRow;
  readonly export: Cells;
}

/** Result row of a plan's statement. Exports read their columns themselves. */
export type ResultOf<P extends Plan> = Results[P['kind']];

/** Reads columns by their position; only the statements that name the columns do that as well. */
const READERS: { readonly [Kind in Plan['kind']]: (row: Cells) => ResultOf<Extract<Plan, { kind: Kind }>> } = {
  list: (row) => {
    const [data = null, total = null, last = null, more = null, isCounted, versions = null, cuts = null] = row;
    const [snapshot = null, position = null] = row.slice(7);
    return {
      data,
      total,
      last,
      more: more === null ? null : more === 't',
      isCounted: isCounted === 't',
      versions,
      cuts,
      moment: snapshot === null ? null : { snapshot, position: Number(position) },
    };
  },
  read: ([data = null, version]) => ({ data, version: requireCell(version) }),
  create: readWrittenRow,
  update: readWrittenRow,
  upsert: (row) => ({ ...readWrittenRow(row), isCreated: row[3] === 'true' }),
  delete: ([id]) => ({ id: requireCell(id) }),
  references: ([field]) => ({ field: requireCell(field) }),
  aggregate: ([data = null, groups, recordCount = null]) => ({ data, groups: requireCell(groups), recordCount }),
  export: (row) => row,
  bulkCreate: ([data]) => ({ data: requireCell(data) }),
  bulkUpdate: ([data, versions = null]) => ({ data: requireCell(data), versions }),
  bulkUpsert: ([data, inserted]) => ({ data: requireCell(data), inserted: Number(requireCell(inserted)) }),
  bulkDelete: ([count]) => ({ count: Number(requireCell(count)) }),
  granted: ([data = null, versions = null, problems = null, sizes = null]) => ({ data, versions, problems, sizes }),
  feed: readFeedRow,
  feedCount: ([events = null, firstAt = null, pos = null, isCut]) => ({
    events: Number(events),
    firstAt,
    pos,
    isCut: isCut === 't',
  }),
  history: readFeedRow,
  matchBatches: ([ids]) => requireCell(ids),
  match: ([id, total = null]) => ({ id: requireCell(id), total: total === null ? null : Number(total) }),
  lock: ([id, data, now]) => ({ id: requireCell(id), data: requireCell(data), now: requireCell(now) }),
  find: ([id, version]) => ({ id: requireCell(id), version: requireCell(version) }),
  dangling: ([index, field]) => ({ index: Number(requireCell(index)), field: requireCell(field) }),
  uniqueConflict: ([index, other = null, isThere]) => ({
    index: Number(requireCell(index)),
    other: other === null ? null : Number(other),
    isThere: isThere === 't',
  }),
  heldValue: ([index, id, version, changed]) => ({
    index: Number(requireCell(index)),
    id: requireCell(id),
    version: requireCell(version),
    changed: requireCell(changed),
  }),
  referred: ([index]) => ({ index: Number(requireCell(index)) }),
};

function makeFeedReader(plan: FeedPlan): (row: Cells) => FeedRow {
  const showImages = makeImageReader(plan);
  return (row) => showImages(readFeedRow(row));
}

function readFeedRow(row: Cells): FeedRow {
  const [
    pos,
    kind,
    view,
    recordId,
    at,
    xid,
    seq,
    actor,
    before,
    after,
    old,
    record,
    changed,
    previous,
    version,
    unknown,
    columns,
    isCut,
  ] = row;
  return {
    pos: pos ?? null,
    kind: kind ?? null,
    view: Number(view),
    recordId: recordId ?? null,
    at: at ?? '',
    xid: xid ?? '',
    seq: seq ?? '',
    // A setting of a transaction is empty in the later ones of its session.
    actor: actor === '' ? null : (actor ?? null),
    before: before === 't',
    after: after === 't',
    old: old ?? null,
    new: record ?? null,
    changed: changed ?? null,
    previous: previous ?? null,
    version: version ?? null,
    unknown: unknown ?? null,
    columns: columns ?? null,
    isCut: isCut === 't',
  };
}

function readWrittenRow([data, version, id]: Cells): WrittenRow {
  return { data: requireCell(data), version: requireCell(version), id: requireCell(id) };
}

function requireCell(cell: string | null | undefined): string {
  if (cell === null || cell === undefined) throw new TypeError('a statement gave no value where it always does');
  return cell;
}

export function compile<P extends Plan>(plan: P, options: CompileOptions): Compiled<ResultOf<P>> {
  const read = (plan.kind === 'feed' ? makeFeedReader(plan) : READERS[plan.kind]) as unknown as (
    row: Cells,
  ) => ResultOf<P>;
  return { ...compileText(plan, options), expected: getExpectedDuration(plan), read };
}

/** A record by its id is quick, to read and to write; its expanded lists may hold millions. */
function getExpectedDuration(plan: Plan): Statement['expected'] {
  switch (plan.kind) {
    case 'create':
    case 'update':
    case 'upsert':
    case 'delete':
      return 'quick';
    case 'read':
      return hasLists(plan.projection) ? 'unknown' : 'quick';
    case 'list':
    case 'references':
    case 'export':
    case 'aggregate':
    case 'bulkCreate':
    case 'bulkUpdate':
    case 'bulkUpsert':
    case 'bulkDelete':
    case 'granted':
    case 'feed':
    case 'feedCount':
    case 'history':
    case 'find':
    case 'lock':
    case 'match':
    case 'matchBatches':
    case 'dangling':
    case 'uniqueConflict':
    case 'heldValue':
    case 'referred':
      return 'unknown';
    default:
      return plan satisfies never;
  }
}

type Text = Omit<Statement, 'expected'>;

function compileText(plan: Plan, options: CompileOptions): Text {
  switch (plan.kind) {
    case 'list':
      return planEachTime(
        close(selectPage(plan, options.maxResponseBytes), plan.projection, makeBoundedPage(plan, options)),
      );
    case 'read':
      return tagContent(
        close(selectRecord(plan, options.maxResponseBytes), plan.projection, makeBoundedRecord(plan, options)),
        plan.scan,
      );
    case 'create':
      return close(insertRecord(plan, options.maxResponseBytes), plan.projection);
    case 'update':
      return close(updateRecord(plan, options.maxResponseBytes), plan.projection);
    case 'upsert':
      return close(upsertRecord(plan, options.maxResponseBytes), plan.projection);
    case 'delete':
      return close(deleteRecord(plan));
    case 'references':
      return close(selectMissingReferences(plan));
    case 'aggregate':
      return planEachTime(close(selectAggregate(plan, options.maxResponseBytes)));
    case 'export':
      return close(selectExport(plan), plan.projection);
    case 'bulkCreate':
      return close(insertRecords(plan, options.maxResponseBytes));
    case 'bulkUpdate':
      return close(updateRecords(plan, options.maxResponseBytes));
    case 'bulkUpsert':
      return close(upsertRecords(plan, options.maxResponseBytes));
    case 'bulkDelete':
      return close(deleteRecords(plan));
    case 'granted':
      return tagContent(close(writeGranted(plan, options.maxResponseBytes), plan.projection), plan.scan);
    case 'feed':
      return close(selectFeed(plan, options.maxResponseBytes));
    case 'feedCount':
      return close(countFeed(plan));
    case 'history':
      return close(selectHistory(plan, options.maxResponseBytes));
    case 'find':
      return close(findRecords(plan));
    case 'match':
      return planEachTime(close(selectMatches(plan)));
    case 'matchBatches':
      return planEachTime(close(selectMatchBatches(plan)));
    case 'lock':
      return close(lockRecords(plan, options.maxResponseBytes));
    case 'dangling':
      return close(selectMissingBulkReferences(plan));
    case 'uniqueConflict':
      return close(selectUniqueConflicts(plan));
    case 'heldValue':
      return close(selectHeldValues(plan));
    case 'referred':
      return close(selectReferred(plan));
    default:
      return plan satisfies never;
  }
}

/**
 * Leaves the name out where a claim is a list: PostgreSQL plans for ten values if it keeps the plan, and then rather
 * follows the order of the list than an index on the column. For one value of 200,000 records that was 7 ms instead of
 * 0.4; to plan each time takes 0.2.
 */
const planEachTime = (text: Text): Text =>
  text.operands.some(({ kind }) => kind === 'claims') ? { ...text, name: undefined } : text;

/** Without a tag the content is hashed: grants may show more or less of one version of a record. */
const tagContent = (text: Text, { columns }: Scan): Text =>
  columns === undefined ? text : { ...text, tag: undefined, isFlat: text.tag !== undefined };

/** Compiles `explain` of the list without its page; returns the planner's estimate of the total. */
export function compileEstimate(plan: ListPlan): Compiled<number> {
  const statement = close(sql`explain (format json) ${selectEstimated(plan)}`);
  return {
    ...statement,
    expected: 'unknown',
    read: ([json]) => getPlannedRows(JSON.parse(requireCell(json)) as Explained),
  };
}

/** Result of `explain (format json)`. The plan of a table on another node of a cluster is that node's. */
type Explained = readonly [{ readonly Plan: ExplainedPlan }];

interface ExplainedPlan {
  readonly 'Plan Rows': number;
  readonly 'Distributed Query'?: {
    readonly Job: { readonly Tasks?: readonly { readonly 'Remote Plan'?: readonly (Explained | undefined)[] }[] };
  };
}

function getPlannedRows([{ Plan: plan }]: Explained): number {
  const remote = plan['Distributed Query']?.Job.Tasks?.[0]?.['Remote Plan']?.[0];
  return remote === undefined ? plan['Plan Rows'] : getPlannedRows(remote);
}

function close(fragment: Fragment, projection?: Projection, bounded?: () => Fragment): Text {
  const operands = fragment.values as Operand[];
  return {
    operands,
    bounded: bounded && memoize(bounded),
    tag: getTag(projection),
    ...getShape(fragment.text, projection?.outputs.length ?? 0),
  };
}

function memoize(render: () => Fragment): NonNullable<Statement['bounded']> {
  let rendered: Pick<Statement, 'text' | 'operands'> | undefined;
  return () => {
    if (rendered === undefined) {
      const { text, values } = render();
      rendered = { text, operands: values as Operand[] };
    }
    return rendered;
  };
}

function makeBoundedPage(plan: ListPlan, { maxResponseBytes }: CompileOptions): (() => Fragment) | undefined {
  const canGrow = isUnbounded(plan.projection) || getTag(plan.projection) === undefined;
  return canGrow ? () => selectPage(plan, maxResponseBytes, true) : undefined;
}

function makeBoundedRecord(plan: ReadPlan, { maxResponseBytes }: CompileOptions): (() => Fragment) | undefined {
  const canGrow = hasLists(plan.projection) || (getTag(plan.projection) !== undefined && isMeasurable(plan.projection));
  return canGrow ? () => selectRecord(plan, maxResponseBytes, true) : undefined;
}

function getShape(text: string, columns: number): Shape {
  const cached = shapes.get(text);
  if (cached !== undefined) return cached;
  if (text.length > Math.min(MAX_PREPARED_TEXT + columns * MAX_COLUMN_TEXT, PREPARED_TEXT_CAP))
    return { text, name: undefined };
  const shape = { text, name: `s${(nextName++).toString(36)}` };
  shapes.set(text, shape);
  return shape;
}

/** Returns the bounded text as a statement, for when the plain one cannot tell whether a record is too large. */
export function toBoundedStatement<R>({
  bounded,
  tag,
  isFlat = false,
  expected,
  read,
}: Compiled<R>): Compiled<R> | undefined {
  return bounded === undefined
    ? undefined
    : { ...bounded(), name: undefined, bounded: undefined, tag, isFlat, expected, read };
}

/** Estimates the memory of a cached statement in bytes; its text is shared with its shape. */
export function estimateBytes({ text, operands }: Statement): number {
  return 500 + text.length + 200 * operands.length;
}

/** Returns the query of one request: the statement's text with its slots filled. */
export function bindQuery(statement: Statement, inputs: Inputs): Query {
  const values = statement.operands.map((operand) => valueFor(operand, inputs));
  const { text, name, bounded } = statement;
  if (bounded === undefined) return name === undefined ? { text, values } : { text, name, values };
  const bindBounded = () => {
    const { text: other, operands } = bounded();
    return { text: other, values: operands.map((operand) => valueFor(operand, inputs)) };
  };
  return name === undefined ? { text, values, bounded: bindBounded } : { text, name, values, bounded: bindBounded };
}

/** Returns the query of a fragment whose values are operands, for a text that runs once. */
export function bindFragment({ text, values }: Fragment, inputs: Inputs): Query {
  return { text, values: (values as Operand[]).map((operand) => valueFor(operand, inputs)) };
}

function valueFor(operand: Operand, inputs: Inputs): unknown {
  switch (operand.kind) {
    case 'value':
      return operand.value;
    case 'id':
      return inputs.id ?? null;
    case 'body':
      return inputs.body?.get(operand.field) ?? null;
    case 'versions':
      return inputs.versions ?? [];
    case 'list':
      return inputs.lists?.get(operand.name) ?? [];
    case 'claim':
      return inputs.principal.kind === 'external' ? claimText(inputs.principal, operand.claim, operand.field) : null;
    case 'claims': {
      if (inputs.principal.kind !== 'external') return null;
      const reading = readClaimList(inputs.principal.claims, operand.claim, operand.field);
      return reading.ok ? reading.texts : null;
    }
    case 'applies':
      return String(inputs.principal.kind === 'external' && areUsable(inputs.principal.claims, operand.claims));
    case 'actor':
      return inputs.actor ?? null;
    case 'commonWords':
      return inputs.findCommonWords?.(operand.rows) ?? [];
    case 'now':
      throw new TypeError('the time of a statement is part of its text');
    default:
      return operand satisfies never;
  }
}

function getTag(projection: Projection | undefined): string | undefined {
  const columns: string[] = [];
  for (const output of projection?.outputs ?? []) {
    if (output.kind !== 'column') return undefined;
    columns.push(`${output.field.name}:${output.field.type}`);
  }
  return hash(columns.join());
}

/** 2 x 32 bits, the same in every process. */
const hash = (text: string): string => hash32(text).toString(36) + hash32(text, 0xcbf29ce4, 0x85ebca6b).toString(36);
