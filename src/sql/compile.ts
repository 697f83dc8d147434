// Plan -> Statement: SQL text compiled once for a shape of request, and the binder that fills its slots for each
// request.
import { LRUCache } from 'lru-cache';
import { hash32 } from '../model/hash.ts';
import type { Principal } from '../model/principal.ts';
import type { Lists } from '../plan/bulk.ts';
import type { Operand } from '../plan/operand.ts';
import type { ListPlan, Plan, ReadPlan } from '../plan/plan.ts';
import { hasLists, type Projection } from '../plan/projection.ts';
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
import { selectEstimated } from './list-rows.ts';
import { selectPage } from './page.ts';
import { selectExport, selectMissingReferences, selectRecord } from './read.ts';
import { type Cells, makeRowReader, type ResultOf, readPlannedRows } from './row-readers.ts';
import { isMeasurable, isUnbounded } from './size-limit.ts';
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

/** A statement, and the reader of its rows. */
export interface Compiled<Result> extends Statement {
  readonly read: (row: Cells) => Result;
}

export function compile<P extends Plan>(plan: P, options: CompileOptions): Compiled<ResultOf<P>> {
  return { ...compileText(plan, options), expected: getExpectedDuration(plan), read: makeRowReader(plan) };
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
    read: readPlannedRows,
  };
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
