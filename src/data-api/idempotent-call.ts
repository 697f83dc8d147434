// Executes a single call once per key, and replays its response to a principal who may still see the records.
import { recordNotFound } from '../errors.ts';
import { admit } from '../plan/plan.ts';
import { type Call, makeCall } from '../request/call.ts';
import { OPERATIONS } from '../request/operations.ts';
import { bulkWriteEnvelope } from '../response/envelope.ts';
import { jsonText, noContent, type Reply, readBodyText } from '../response/reply.ts';
import type { StoredResponse } from '../workspace-schema/idempotency-keys.ts';
import type { RequestContext, StatementKey } from './context.ts';
import { replayTooLarge } from './errors.ts';
import {
  buildRecordQuery,
  executeIdempotent,
  type IdempotencyDeps,
  REPLAYED,
  type TransactionKey,
} from './idempotency.ts';
import { WriteWithLinks } from './linked-writes.ts';
import { parseResponse, runTransaction } from './transaction.ts';

/** True for a call whose write is one statement that a key can be added to. */
const isOneStatement = ({ operation, query }: Call): boolean =>
  operation === 'update' || operation === 'delete' || (operation === 'create' && query === '');

/** True for a call whose reply is one record. */
const isOfOneRecord = ({ operation }: Call): boolean =>
  operation === 'create' || operation === 'update' || operation === 'restore';

/** True for a call whose reply is a number of records, and none of them. */
const isOfCounts = ({ operation }: Call): boolean => operation === 'updateWhere' || operation === 'deleteWhere';

/** Executes a call once per key. */
export function executeCallIdempotent(
  deps: IdempotencyDeps,
  context: RequestContext,
  call: Call,
  body: (() => Promise<Uint8Array>) | undefined,
): Promise<Reply> {
  return executeIdempotent(
    deps,
    context,
    body,
    (statementKey, transactionKey) => writeCall(deps, context, call, statementKey, transactionKey),
    (storedResponse) => replayCall(deps, context, call, storedResponse),
  );
}

async function writeCall(
  deps: IdempotencyDeps,
  context: RequestContext,
  call: Call,
  statementKey: StatementKey | undefined,
  transactionKey: TransactionKey,
): Promise<Reply> {
  const executor = deps.databases.forWorkspace(context.workspace);
  const { statementForms, access: grants } = context.workspace.entities.get(call.entity) ?? {};
  // A write under grants is one statement, too, but has its own form of result.
  const isPlain = statementForms === undefined && grants === undefined;
  if (statementKey !== undefined && isOneStatement(call) && isPlain) {
    try {
      return await deps.execute(context, call, executor, statementKey);
    } catch (error) {
      if (!(error instanceof WriteWithLinks)) throw error;
    }
  }
  // Throws errors that do not depend on the body before the body is read.
  const { access } = OPERATIONS[call.operation];
  await deps.retry.run(context, { call, executor }, async ({ workspace, principal }) => {
    admit(workspace, principal, call.entity, access);
  });
  await transactionKey.readBody();
  return runTransaction(deps, context, { isDryRun: false, isRepeatable: true }, async (transaction, current) => {
    await transactionKey.begin(transaction);
    const reply = await deps.execute(current, call, transaction);
    await transactionKey.finish(
      transaction,
      reply,
      isOfCounts(call) ? '[]' : await storedRecords(reply, current, call),
    );
    return reply;
  });
}

type Meta = Readonly<Record<string, unknown>>;

interface WriteResponseBody {
  readonly data: { readonly id: unknown } | readonly { readonly id: unknown }[];
  readonly meta?: Meta;
}

/** Parts of a reply as they are stored. `hidden`: ids of the records of which grants, or `return`, gave the id alone. */
interface StoredRecords {
  readonly ids: readonly number[];
  readonly meta: Meta;
  readonly hidden?: readonly number[];
}

/** Extracts the parts of a reply that is too long to be stored: its ids as JSON, with the others when there are any. */
async function storedRecords({ body }: Reply, context: RequestContext, { entity }: Call): Promise<string> {
  if (body.kind !== 'text') return '[]';
  const { data, meta } = (await parseResponse(body.text, context)) as WriteResponseBody;
  const records = [data].flat();
  const ids = records.map(({ id }) => id);
  const isLimited = context.workspace.entities.get(entity)?.access !== undefined;
  const hidden = isLimited ? records.filter((one) => Object.keys(one).length === 1).map(({ id }) => id) : [];
  if (hidden.length > 0) return JSON.stringify({ ids, meta: meta ?? {}, hidden });
  return JSON.stringify(meta === undefined ? ids : { ids, meta });
}

function parseStoredRecords(text: string): StoredRecords {
  const stored = JSON.parse(text) as readonly number[] | StoredRecords;
  return 'ids' in stored ? stored : { ids: stored, meta: {} };
}

/** Replays a reply for a principal who may still write and, if it holds records, sees them all. */
async function replayCall(
  deps: IdempotencyDeps,
  original: RequestContext,
  call: Call,
  storedResponse: StoredResponse,
): Promise<Reply> {
  const context = await original.refresh();
  const { workspace, principal } = context;
  const entity = admit(workspace, principal, call.entity, OPERATIONS[call.operation].access);
  const stored = { [REPLAYED]: 'true' };
  if (storedResponse.status === 204) return noContent(stored);
  if (isOfCounts(call)) {
    const job = storedResponse.location === null ? {} : { Location: storedResponse.location };
    return jsonText(storedResponse.status, storedResponse.body ?? '', { ...job, ...stored });
  }
  const { ids, meta, hidden } = parseStoredRecords(storedResponse.records ?? '[]');
  const headers = {
    ...(storedResponse.etag === null ? {} : { ETag: storedResponse.etag }),
    ...(storedResponse.location === null ? {} : { Location: storedResponse.location }),
  };
  const reader = { deps, context, entity: call.entity };
  const isIdAlone = storedResponse.etag === null && isOfOneRecord(call);
  if (entity.access !== undefined && isIdAlone)
    return jsonText(storedResponse.status, `{"data":{"id":${ids[0]}}}`, { ...headers, ...stored });
  // Grants may show less of a record than when it was written.
  if (storedResponse.body !== null && entity.access === undefined) {
    if (principal.kind === 'external') await requireVisible(reader, ids);
    return jsonText(storedResponse.status, storedResponse.body, { ...headers, ...stored });
  }
  const read = { [REPLAYED]: 'read' };
  const query = buildRecordQuery(entity);
  if (isOfOneRecord(call)) {
    const { text, etag } = await executeRead(reader, String(ids[0]), query);
    return jsonText(storedResponse.status, text, {
      ...headers,
      ...(etag === undefined ? {} : { ETag: etag }),
      ...read,
    });
  }
  const isMinimal = new URLSearchParams(call.query).get('return') === 'minimal';
  const bare = new Set(hidden);
  if (isMinimal)
    await requireVisible(
      reader,
      ids.filter((id) => !bare.has(id)),
    );
  const records = isMinimal ? ids.map(formatId) : await readAll(reader, ids, query, bare);
  return jsonText(storedResponse.status, bulkWriteEnvelope(`[${records.join()}]`, meta), { ...headers, ...read });
}

const formatId = (id: number): string => `{"id":${id}}`;

/** Access to an entity for a replay. */
interface Reader {
  readonly deps: IdempotencyDeps;
  readonly context: RequestContext;
  readonly entity: string;
}

// Concurrent reads, so that a distant database does not cost a thousand round trips.
const MAX_CONCURRENT_READS = 8;

/**
 * Reads the current records, those of `bare` as their id alone; 404 when another is absent or hidden from the principal,
 * 400 when they are too large.
 */
async function readAll(
  reader: Reader,
  ids: readonly number[],
  query: string,
  bare: ReadonlySet<number>,
): Promise<string[]> {
  const records: string[] = [];
  const { maxResponseBytes } = reader.deps.config;
  let bytes = 0;
  for (let from = 0; from < ids.length; from += MAX_CONCURRENT_READS) {
    const some = ids.slice(from, from + MAX_CONCURRENT_READS);
    const responses = await Promise.all(
      some.map((id) => (bare.has(id) ? { text: `{"data":${formatId(id)}}` } : executeRead(reader, String(id), query))),
    );
    for (const { text } of responses) {
      bytes += Buffer.byteLength(text);
      if (bytes > maxResponseBytes) throw replayTooLarge(maxResponseBytes);
      records.push(text.slice('{"data":'.length, -1));
    }
  }
  return records;
}

// Maximum of values of the operator `in`.
const MAX_IDS = 1000;

/** Throws 404 when a record is absent or hidden from the principal, by one statement for each thousand. */
async function requireVisible(reader: Reader, ids: readonly number[]): Promise<void> {
  for (let from = 0; from < ids.length; from += MAX_IDS) {
    const some = new Set(ids.slice(from, from + MAX_IDS));
    const { text } = await executeRead(reader, '_aggregate', `select=count&filter=id,in,${[...some].join()}`);
    const { data } = JSON.parse(text) as { readonly data: readonly { readonly count: number }[] };
    if (data[0]?.count !== some.size) throw recordNotFound();
  }
}

/** Executes a read of the entity. `etag`: entity tag of a record. */
async function executeRead(
  { deps, context, entity }: Reader,
  segment: string,
  query: string,
): Promise<{ readonly text: string; readonly etag: string | undefined }> {
  const call = makeCall('GET', entity, segment, { query, conditions: {}, body: () => Promise.resolve(undefined) });
  const reply = await deps.execute(context, call, deps.databases.forWorkspace(context.workspace));
  return { text: readBodyText(reply.body), etag: reply.headers.ETag };
}
