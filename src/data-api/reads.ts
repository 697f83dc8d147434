// Executes list, query and read: one statement each, from the parameters of the call to its reply.
import { hash } from 'node:crypto';
import type { Config } from '../config.ts';
import { isStaleSnapshot } from '../database/errors.ts';
import type { LongColumn, PoolName } from '../database/pool.ts';
import { recordNotFound, responseTooLarge } from '../errors.ts';
import type { Text } from '../model/long-text.ts';
import { planHandOver } from '../plan/handover.ts';
import { planList, planRead } from '../plan/plan.ts';
import type { PageRow, RecordRow } from '../plan/result.ts';
import { parseId } from '../request/call.ts';
import { parseParameters } from '../request/query-string.ts';
import { type ListRequest, parseListRequest, parseQueryBody, parseReadRequest } from '../request/record-request.ts';
import { type Representation, readReply } from '../response/entity-tag.ts';
import { listEnvelope } from '../response/envelope.ts';
import { jsonParts, type Reply } from '../response/reply.ts';
import {
  bindQuery,
  type Compiled,
  type CompileOptions,
  compile,
  compileEstimate,
  type Inputs,
  type Statement,
  toBoundedStatement,
} from '../sql/compile.ts';
import type { CommonWords } from '../workspace-schema/common-words.ts';
import type { Totals } from '../workspace-schema/totals.ts';
import { buildStatementOptions, type EntityContext } from './context.ts';
import type { FeedSeals } from './feed-cursor.ts';
import { readWithCursor } from './feed-handover.ts';
import type { PreparedList, PreparedRead, PreparedStatements } from './prepared.ts';
import type { WriteQuotas } from './quotas.ts';
import { toRecordError } from './record-error.ts';

export interface ReadDeps {
  readonly config: Config;
  readonly totals: Pick<Totals, 'maintain'>;
  readonly commonWords: CommonWords;
  readonly prepared: PreparedStatements;
  readonly compileOptions: CompileOptions;
  readonly seals: () => Promise<FeedSeals>;
}

export interface WriteDeps extends Omit<ReadDeps, 'totals' | 'commonWords'> {
  readonly quotas: WriteQuotas;
}

// Counting so many records takes about as long as the rest of a list (0.3 ms); a stored total costs each create and
// delete a little.
export const MIN_STORED_TOTAL = 5000;

// A search with fewer matches is counted: that takes some milliseconds, and the estimate of a rare word is none.
const MIN_ESTIMATE = 10_000;

export function list(deps: ReadDeps, context: EntityContext): Promise<Reply> {
  const prepare = () => prepareList(deps, parseListRequest(context.call.query, deps.config), context);
  return runList(deps, deps.prepared.list(context, prepare), context);
}

export async function query(deps: ReadDeps, context: EntityContext): Promise<Reply> {
  parseParameters(context.call.query, []);
  const request = parseQueryBody(await context.call.body(), deps.config);
  return runList(deps, prepareList(deps, request, context), context);
}

export async function read(deps: ReadDeps, context: EntityContext): Promise<Reply> {
  const id = parseId(context.call.id);
  const { statement } = deps.prepared.read(context, () => prepareRead(deps, context));
  if (id === undefined) throw recordNotFound();
  const row = await runLongRead(context, statement, { id, principal: context.principal });
  const representation = toRepresentation(row, statement) ?? (await readBounded(deps, context, statement, id));
  return readReply(representation, context.call.conditions);
}

function prepareList(deps: ReadDeps, request: ListRequest, context: EntityContext): PreparedList {
  const plan = planList(request, context.entity, context);
  const { projection } = plan;
  const isEstimated = plan.count === 'estimated';
  return {
    plan,
    handOver:
      plan.changesIn === undefined
        ? undefined
        : planHandOver({ ...request, ...request.selection, projection }, context.entity, context),
    statement: compile(plan, deps.compileOptions),
    estimate: isEstimated ? compileEstimate(plan) : undefined,
    counted:
      isEstimated && request.search !== undefined
        ? prepareList(deps, { ...request, count: 'exact' }, context)
        : undefined,
  };
}

function prepareRead({ config, compileOptions }: ReadDeps, context: EntityContext): PreparedRead {
  const plan = planRead(parseReadRequest(context.call.query, config), context.entity, context);
  return { statement: compile(plan, compileOptions) };
}

async function runList(deps: ReadDeps, prepared: PreparedList, context: EntityContext): Promise<Reply> {
  const { estimate, counted } = prepared;
  if (estimate === undefined || counted === undefined) return runPage(deps, prepared, context);
  const [total = 0] = await runRead(context, estimate, { principal: context.principal });
  return total < MIN_ESTIMATE ? runPage(deps, counted, context) : runPage(deps, prepared, context, total);
}

async function runPage(
  deps: ReadDeps,
  { plan, statement, estimate, handOver }: PreparedList,
  context: EntityContext,
  total?: number,
): Promise<Reply> {
  const { config, totals, commonWords } = deps;
  const inputs: Inputs = {
    principal: context.principal,
    findCommonWords: (rows) => commonWords.find(context.entity, rows),
  };
  const [{ page, changes }, estimated] = await Promise.all([
    handOver === undefined
      ? readPage(context, statement, inputs)
      : readWithCursor(deps.seals, context, handOver, () => readPage(context, statement, inputs)),
    estimate === undefined || total !== undefined ? [total] : runRead(context, estimate, inputs),
  ]);
  const { data } = page;
  if (data === null) throw responseTooLarge(config.maxResponseBytes);
  if (page.isCounted && Number(page.total) >= MIN_STORED_TOTAL) totals.maintain(context.entity);
  return jsonParts(200, listEnvelope({ ...page, data }, plan, estimated[0], changes));
}

interface Page {
  readonly page: WithText<PageRow>;
  readonly moment: PageRow['moment'];
  /** Cursor of the feed that continues it. */
  readonly changes?: string;
}

async function readPage(context: EntityContext, statement: PreparedList['statement'], inputs: Inputs): Promise<Page> {
  const page = await runLongRead(context, statement, inputs);
  if (page === undefined) throw new TypeError('a page is always one row');
  return { page, moment: page.moment };
}

/**
 * Returns the record of the row, or undefined if it may be too large. 404 when it is absent or hidden from the
 * principal.
 */
function toRepresentation(
  row: WithText<RecordRow> | undefined,
  statement: Compiled<RecordRow>,
): Representation | undefined {
  if (row === undefined) throw recordNotFound();
  const { data, version } = row;
  return data === null ? undefined : { data, version, tag: buildEntityTag(statement, version, data) };
}

/** Reads a record with the size-guarded statement, which alone detects one that is too large without related ones. */
async function readBounded(
  { config }: Pick<ReadDeps, 'config'>,
  context: EntityContext,
  statement: Compiled<RecordRow>,
  id: string,
): Promise<Representation> {
  const isFlat = statement.tag !== undefined || statement.isFlat === true;
  const bounded = isFlat ? toBoundedStatement(statement) : undefined;
  if (bounded === undefined) throw responseTooLarge(config.maxResponseBytes);
  const row = await runLongRead(context, bounded, { id, principal: context.principal });
  const representation = toRepresentation(row, bounded);
  if (representation === undefined) throw responseTooLarge(config.maxResponseBytes);
  return representation;
}

/** Builds the entity tag of a record: its version, and a hash or tag that tells two representations of it apart. */
export function buildEntityTag({ tag }: Pick<Statement, 'tag'>, version: string, data: Text): string {
  // A record with related records is identified by its text.
  return `${version}.${tag ?? hash('sha1', typeof data === 'string' ? data : data.bytes, 'base64url')}`;
}

/** A row whose text may be bytes. */
type WithText<Result> = Omit<Result, 'data'> & { readonly data: Text | null };

/** Runs a statement that reads one row, whose text stays bytes where it is long. */
async function runLongRead<Result extends { readonly data: string | null }>(
  context: EntityContext,
  statement: Compiled<Result>,
  inputs: Inputs,
): Promise<WithText<Result> | undefined> {
  const longColumn: LongColumn = { text: undefined };
  const [row] = await runRead(context, statement, inputs, 'read', longColumn);
  return row === undefined || longColumn.text === undefined ? row : { ...row, data: longColumn.text };
}

/**
 * Runs a statement that reads, and translates database errors except that of a stale snapshot. On the pool of writes it
 * runs after the writes of the same request.
 */
export async function runRead<Result>(
  context: EntityContext,
  statement: Compiled<Result>,
  inputs: Inputs,
  pool: PoolName = 'read',
  longColumn?: LongColumn,
): Promise<Result[]> {
  try {
    const rows = await context.executor.run(bindQuery(statement, inputs), pool, {
      ...buildStatementOptions(context, statement.expected),
      longColumn,
    });
    return rows.map(statement.read);
  } catch (error) {
    if (isStaleSnapshot(error)) throw error;
    throw toRecordError(error, context.workspace, context.entity.name);
  }
}
