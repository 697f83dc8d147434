// Executes operations on several entities in one transaction: each passes the stages of a single request with the
// executor of the transaction, and the first that fails rolls back all.

import type { Executor } from '../database/pool.ts';
import { badRequest, responseTooLarge } from '../errors.ts';
import { numberText } from '../model/exact-json.ts';
import type { Workspace } from '../model/workspace.ts';
import { admit } from '../plan/plan.ts';
import {
  type BatchItem,
  inOperation,
  type LinkedItem,
  linkBatch,
  parseBatch,
  parseBatchOptions,
  type Reference,
} from '../request/batch.ts';
import { type Call, type CallParts, makeCall } from '../request/call.ts';
import { isRecord } from '../request/members.ts';
import { jsonText, type Reply, readBodyText } from '../response/reply.ts';
import type { StoredResponse } from '../workspace-schema/idempotency-keys.ts';
import type { RequestContext } from './context.ts';
import { replayTooLarge } from './errors.ts';
import { buildRecordQuery, REPLAYED, type TransactionKey } from './idempotency.ts';
import { parseResponse, runTransaction, type TransactionDeps } from './transaction.ts';

// Depth of {"operations": [{"body": record}, …]}
const RECORD_DEPTH = 4;

const readItems = async ({ config }: TransactionDeps, parts: CallParts): Promise<readonly BatchItem[]> =>
  parseBatch(await parts.body({ maxBytes: config.maxBulkBytes, recordDepth: RECORD_DEPTH }), config.maxBatch);

/** Returns 200 with the responses in order. All operations succeed or none. */
export async function batch(
  deps: TransactionDeps,
  context: RequestContext,
  parts: CallParts,
  key?: TransactionKey,
): Promise<Reply> {
  const { isDryRun } = parseBatchOptions(parts.query);
  if (parts.conditions.ifMatch !== undefined) {
    throw badRequest(
      'PARAMETER_CONFLICT',
      'If-Match is for one record. Of a batch each operation has its own: give it as "ifMatch" there',
    );
  }
  const items = await readItems(deps, parts);
  const reply = (data: string): Reply => jsonText(200, `{"data":${data}${isDryRun ? ',"meta":{"dryRun":true}' : ''}}`);
  if (items.length === 0 && key === undefined) return reply('[]');
  const run = (runOperations: typeof runPipelined | typeof runInOrder): Promise<Reply> =>
    runTransaction(deps, context, { isDryRun, isRepeatable: key !== undefined }, async (executor, current) => {
      const { linked, getUsedFields: usedOf } = linkBatch(items, current.workspace.entities);
      await key?.begin(executor);
      // A stored reply is identified by the ids of its records.
      const getUsedFields = (index: number) =>
        key === undefined ? usedOf(index) : new Set(['id', ...(usedOf(index) ?? [])]);
      const outcomes = await runOperations({ deps, context: current, executor, getUsedFields }, linked);
      const response = reply(`[${outcomes.map(({ text }) => text).join()}]`);
      await key?.finish(executor, response, JSON.stringify(outcomes.map(toStored)));
      return response;
    });
  return run(runPipelined).catch((error) => {
    if (error instanceof OutOfStep) return run(runInOrder);
    throw error;
  });
}

/**
 * Replays a batch that was done before. A sender who sees all records gets the stored reply; for other senders, and
 * when it was too long to be stored, the records are read again: 404 when one no longer exists.
 */
export async function replayBatch(
  deps: TransactionDeps,
  original: RequestContext,
  parts: CallParts,
  storedResponse: StoredResponse,
): Promise<Reply> {
  const { config, databases } = deps;
  const context = await original.refresh();
  const { workspace, principal } = context;
  const items = await readItems(deps, parts);
  for (const { method, entity } of items) {
    admit(workspace, principal, entity, method === 'GET' ? 'read' : 'write');
  }
  if (storedResponse.body !== null && principal.kind !== 'external')
    return jsonText(200, storedResponse.body, { [REPLAYED]: 'true' });
  const { linked } = linkBatch(items, workspace.entities);
  const outcomes = JSON.parse(storedResponse.records ?? '[]') as readonly StoredOutcome[];
  const run: Run = { deps, context, executor: databases.forWorkspace(workspace), getUsedFields: () => undefined };
  const deleted = new Set(
    outcomes.flatMap(([, id], index) => (items[index]?.method === 'DELETE' ? [`${items[index]?.entity} ${id}`] : [])),
  );
  const reads = linked.map((one, index): LinkedItem => {
    const { method, entity } = one.item;
    const [, id = null] = outcomes[index] ?? [];
    if (id === null || method === 'DELETE' || deleted.has(`${entity} ${id}`)) return one;
    return { ...one, id: undefined, item: { ...one.item, ...buildRead(workspace, one.item), id } };
  });
  const responses: string[] = [];
  let bytes = 0;
  for (const [index, one] of reads.entries()) {
    const [status, id] = outcomes[index] ?? [200, null];
    const isDeleted = one.item.method === 'DELETE' || (id !== null && deleted.has(`${one.item.entity} ${id}`));
    // Its sender could not read it when it was written.
    const isBare =
      items[index]?.method !== 'GET' &&
      outcomes[index]?.[2] === true &&
      workspace.entities.get(one.item.entity)?.access !== undefined;
    const isRead = !isDeleted && !isBare;
    const outcome = isRead
      ? await makeRunOperation(run)(index, { ...one, references: new Map() }, run.executor)
      : undefined;
    const bare = `{"status":${status}${isBare ? `,"data":{"id":${id}}` : ''}}`;
    const text = outcome?.text.replace(/^\{"status":\d+/, `{"status":${status}`) ?? bare;
    bytes += Buffer.byteLength(text);
    if (bytes > config.maxResponseBytes) throw replayTooLarge(config.maxResponseBytes);
    responses.push(text);
  }
  return jsonText(200, `{"data":[${responses.join()}]}`, { [REPLAYED]: 'read' });
}

/** Builds a read of the whole record that an operation has written; a read stays unchanged. */
function buildRead({ entities }: Workspace, { method, entity, query }: BatchItem): Pick<BatchItem, 'method' | 'query'> {
  if (method === 'GET') return { method, query };
  return { method: 'GET', query: buildRecordQuery(entities.get(entity)) };
}

/* ---- the operations in their transaction ---- */

interface Run {
  readonly deps: TransactionDeps;
  readonly context: RequestContext;
  readonly executor: Executor;
  /** Fields of the operation's record that are used, or undefined if none are. */
  readonly getUsedFields: (index: number) => ReadonlySet<string> | undefined;
}

type JsonRecord = Readonly<Record<string, unknown>>;

/** Parses the fields of a returned record that later operations refer to. */
async function parseRecord(
  responseText: string,
  fields: ReadonlySet<string>,
  context: RequestContext,
): Promise<JsonRecord> {
  const { data } = (await parseResponse(responseText, context)) as { data: JsonRecord };
  return Object.fromEntries([...fields].filter((name) => Object.hasOwn(data, name)).map((name) => [name, data[name]]));
}

interface Outcome {
  readonly status: number;
  /** Id of the record that the operation wrote or read, or null if its response was not parsed. */
  readonly id: string | null;
  /** JSON text of the response. */
  readonly text: string;
}

type StoredOutcome = readonly [status: number, id: string | null, isIdAlone?: true];

const toStored = ({ status, id, text }: Outcome): StoredOutcome =>
  text === `{"status":${status},"data":{"id":${id}}}` ? [status, id, true] : [status, id];

/** Runs one operation of a batch with its statements on `executor`. */
type RunOperation = (index: number, one: LinkedItem, executor: Executor) => Promise<Outcome>;

/** Creates the function that runs the operations of one batch in order. */
function makeRunOperation({ deps, context, getUsedFields }: Run): RunOperation {
  const records = new Map<number, JsonRecord>();
  const maxBytes = deps.config.maxResponseBytes;
  let bytes = 0;
  return (index, one, executor) =>
    inOperation(index, async () => {
      const call = buildCall(one, records);
      const { status, body } = await deps.execute(context, call, executor);
      if (body.kind === 'stream') throw new TypeError('an operation of a batch answers with text');
      const responseText = readBodyText(body);
      bytes += Buffer.byteLength(responseText);
      if (bytes > maxBytes) throw responseTooLarge(maxBytes);
      const fields = getUsedFields(index);
      if (fields !== undefined && responseText !== '')
        records.set(index, await parseRecord(responseText, fields, context));
      const id = call.id === '' ? numberText(records.get(index)?.id) : call.id;
      const text = responseText === '' ? `{"status":${status}}` : `{"status":${status},${responseText.slice(1)}`;
      return { status, id: id ?? null, text };
    });
}

/** Runs the operations one after the other. */
async function runInOrder(run: Run, linked: readonly LinkedItem[]): Promise<readonly Outcome[]> {
  const runOperation = makeRunOperation(run);
  const outcomes: Outcome[] = [];
  for (const [index, one] of linked.entries()) outcomes.push(await runOperation(index, one, run.executor));
  return outcomes;
}

/** Signals that an operation needs another statement, which must not see the effects of later operations. */
class OutOfStep extends Error {
  constructor() {
    super('an operation asks again after others were sent');
    this.name = 'OutOfStep';
  }
}

/**
 * Runs the operations pipelined: an operation waits only for the records that it refers to, and its statement is sent
 * after those of earlier operations while these are still running. Most operations are one statement. Errors by
 * PostgreSQL or by the body are the same as in order; when an operation needs another statement to find the reason,
 * this throws OutOfStep and the batch is run again in order.
 */
async function runPipelined(run: Run, linked: readonly LinkedItem[]): Promise<readonly Outcome[]> {
  const runOperation = makeRunOperation(run);
  const { slices } = run.context.request;
  const steps: { readonly step: Step; readonly outcome: Promise<Outcome> }[] = [];
  const startStep = (index: number, one: LinkedItem) => {
    const step = makeStep(run.executor, () => steps.length <= index + 1);
    const outcome = runOperation(index, one, step.executor);
    steps.push({ step, outcome });
    return Promise.race([step.statementSent, outcome]);
  };
  try {
    for (const [index, one] of linked.entries()) {
      for (const from of getSources(one)) await steps[from]?.outcome;
      if (!slices.hasTime()) await slices.next();
      const startedAt = performance.now();
      await startStep(index, one);
      slices.addTime(performance.now() - startedAt);
    }
  } catch {
    // The loop below rethrows the error after those of earlier operations.
  }
  const outcomes = await Promise.allSettled(steps.map(({ outcome }) => outcome));
  return outcomes.map((outcome, index) => {
    if (outcome.status === 'fulfilled') return outcome.value;
    throw steps[index]?.step.isOutOfStep() === true ? new OutOfStep() : outcome.reason;
  });
}

const getSources = ({ id, references }: LinkedItem): readonly number[] =>
  [...(id === undefined ? [] : [id]), ...references.values()].map(({ from }) => from);

/** Executor of one operation among others in flight. */
interface Step {
  readonly executor: Executor;
  /** Resolves when the operation has sent its first statement. */
  readonly statementSent: Promise<void>;
  /** True when the operation needed another statement that it could not send. */
  readonly isOutOfStep: () => boolean;
}

/** Creates a step. `isLast`: whether no later operation has started. */
function makeStep(executor: Executor, isLast: () => boolean): Step {
  const { promise: statementSent, resolve } = Promise.withResolvers<void>();
  let isOutOfStep = false;
  return {
    executor: {
      isTransaction: executor.isTransaction,
      run(query, pool, work) {
        if (!isLast()) {
          isOutOfStep = true;
          return Promise.reject(new OutOfStep());
        }
        const rows = executor.run(query, pool, work);
        resolve();
        return rows;
      },
    },
    statementSent,
    isOutOfStep: () => isOutOfStep,
  };
}

/** Builds the call of an operation, with references replaced by their values. */
function buildCall({ item, id, references }: LinkedItem, records: ReadonlyMap<number, JsonRecord>): Call {
  const value = ({ from, field }: Reference): unknown => {
    const record = records.get(from) as JsonRecord;
    if (!Object.hasOwn(record, field)) {
      throw badRequest(
        'INVALID_REFERENCE',
        `The answer of operation ${from} has no field ${field}: name it in its fields`,
      );
    }
    return record[field];
  };
  const segment = id === undefined ? (item.id as string | undefined) : toId(value(id));
  const body = references.size === 0 ? item.body : replaceReferences(item, references, value);
  return makeCall(item.method, item.entity, segment, {
    query: item.query,
    conditions: { ifMatch: item.ifMatch },
    body: () => Promise.resolve(body),
  });
}

function replaceReferences(
  { body }: BatchItem,
  references: LinkedItem['references'],
  getValue: (reference: Reference) => unknown,
): JsonRecord {
  const replace = (value: unknown): unknown => {
    const reference = references.get(value);
    return reference === undefined ? value : getValue(reference);
  };
  const replaceAll = (value: unknown): unknown => (Array.isArray(value) ? value.map(replace) : replace(value));
  return Object.fromEntries(
    Object.entries(body as JsonRecord).map(([name, member]) => {
      const isOperator = isRecord(member) && !references.has(member);
      const replaced = isOperator
        ? Object.fromEntries(Object.entries(member).map(([operator, list]) => [operator, replaceAll(list)]))
        : replaceAll(member);
      return [name, replaced];
    }),
  );
}

function toId(value: unknown): string {
  const digits = numberText(value) ?? (typeof value === 'string' ? value : '');
  if (!/^-?\d+$/.test(digits)) throw badRequest('INVALID_REFERENCE', 'The id that $ref leads to is no integer');
  return digits;
}
