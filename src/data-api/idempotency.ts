// Writes with an Idempotency-Key: done once, however often they are sent. The key is stored with the records: in the same
// statement, when the write is one, else in a transaction of its own. So do all writes on a cluster: of a statement that
// writes to two tables it copies the rows between them to all workers, also to one that is down and has nothing to do with
// the workspace. Whatever stands in the way of a write, the key is looked up, and the response of the first request replayed.
import { createHash, hash } from 'node:crypto';
import { isLockTimeout, translateStatementError } from '../database/errors.ts';
import type { Executor, StatementOptions, Transaction } from '../database/pool.ts';
import { ApiError, databaseUnavailable, keyReused, payloadTooLarge, recordNotFound } from '../errors.ts';
import type { Entity } from '../model/entity.ts';
import type { Principal } from '../model/principal.ts';
import { admit } from '../plan/plan.ts';
import { type Call, callAt } from '../request/call.ts';
import { parseIdempotencyKey } from '../request/idempotency.ts';
import { OPERATIONS } from '../request/operations.ts';
import { splitSegments } from '../request/record-path.ts';
import { bulkWriteEnvelope } from '../response/envelope.ts';
import { jsonText, noContent, type Reply } from '../response/reply.ts';
import type { IdempotencyKeys, RequestKey, StoredResponse } from '../workspace-schema/idempotency-keys.ts';
import type { Access, EntityContext, RequestContext, StatementKey } from './context.ts';
import { keyInUse, replayTooLarge } from './errors.ts';
import { parseResponse, runTransaction, type TransactionDeps } from './transaction.ts';

/** Stores the key in a transaction. */
export interface TransactionKey {
  /** Reads the body, which may take its time: a transaction is begun afterwards, as its connection is one of few. */
  readonly readBody: () => Promise<void>;
  readonly begin: (executor: Executor) => Promise<void>;
  /** `records`: JSON, for the replay. */
  readonly finish: (executor: Executor, reply: Reply, records: string) => Promise<void>;
}

export interface IdempotencyDeps extends TransactionDeps {
  readonly keys: IdempotencyKeys;
}

export const REPLAYED = 'Idempotent-Replayed';

const MAX_ATTEMPTS = 3;

/** Identifies a key: whose it is, in which workspace, for which method and path. */
function hashScope({ principal, workspace }: Access, method: string, path: string, key: string): string {
  return bytea([workspace.id, getClientId(principal), method, path, key].join('\n'));
}

const bytea = (data: string | Uint8Array): string => `\\x${hash('sha256', data, 'hex')}`;

/** API key, client, or issuer and subject. */
function getClientId(principal: Principal): string {
  return principal.kind === 'external'
    ? `${principal.credentialId} ${JSON.stringify(principal.claims.iss ?? null)} ${JSON.stringify(principal.claims.sub ?? null)}`
    : principal.credentialId;
}

/** With a key the write may be sent again, whatever became of it. */
function retryableError(error: unknown): unknown {
  if (!(error instanceof ApiError)) return translateStatementError(error);
  return error.code === 'OUTCOME_UNKNOWN' ? databaseUnavailable(error) : error;
}

/** The part of a reply that is stored. `records`: JSON, for the replay. */
function toStoredResponse({ status, headers, body }: Reply, records: string): StoredResponse {
  return {
    status,
    etag: headers.ETag ?? null,
    location: headers.Location ?? null,
    body: body.kind === 'text' ? body.text : null,
    records,
  };
}

/** The query string of a read that gives the record as writes do. */
export const buildRecordQuery = (entity: Entity | undefined): string =>
  `expand=&fields=${[...(entity?.fields.keys() ?? [])].join()}`;

/**
 * The reply of `write`, which stores it under the key of the request; or of the request that was done with the key before, by
 * `replay`. 422 when that one was another, 409 when it is still under way at the deadline. Without `single` a write takes its
 * key before all else. `body`: read for the fingerprint; undefined when the request has none.
 */
export async function executeIdempotent(
  { keys, databases }: IdempotencyDeps,
  context: RequestContext,
  body: (() => Promise<Uint8Array>) | undefined,
  write: (statementKey: StatementKey | undefined, transactionKey: TransactionKey) => Promise<Reply>,
  replay: (storedResponse: StoredResponse) => Promise<Reply>,
): Promise<Reply> {
  const { request, workspace, deadline, signal } = context;
  const executor = databases.forWorkspace(workspace);
  const node = databases.topology.getNode(workspace);
  const path = splitSegments(request.path).slice(2).join('/');
  const header = parseIdempotencyKey(String(request.headers['idempotency-key']));
  const name = { scope: hashScope(context, request.method, path, header), schema: workspace.databaseSchema };
  const work = (): StatementOptions => ({ tenant: workspace.id, deadline: deadline.at, signal: signal, node });
  const fingerprint = async (): Promise<string> =>
    bytea(body === undefined ? request.query : Buffer.concat([Buffer.from(`${request.query}\n`), await body()]));
  const key = async (): Promise<RequestKey> => ({ ...name, fingerprint: await fingerprint() });
  let isKeyLast = false;
  let statementKey: StatementKey | undefined = {
    async wrap(query, form) {
      isKeyLast = true;
      return keys.addKey(query, await key(), form);
    },
  };
  let isReserving = false;
  const transactionKey: TransactionKey = {
    async readBody() {
      await fingerprint();
    },
    async begin(session) {
      const requestKey = await key();
      isReserving = true;
      await keys.claim(session, requestKey, work());
      isReserving = false;
    },
    async finish(session, reply, records) {
      await keys.complete(session, await key(), toStoredResponse(reply, records), work());
    },
  };
  let hasWaited = false;
  for (let conflicts = 0; ; ) {
    try {
      isReserving = false;
      const reply = await write(statementKey, transactionKey);
      if (reply.status < 300) keys.count('stored');
      return reply;
    } catch (error) {
      const cause = error instanceof ApiError ? error.cause : error;
      const isPastDeadline = performance.now() >= deadline.at;
      const isTimedOut = isPastDeadline || (error instanceof ApiError && error.code === 'QUERY_TIMEOUT');
      if (keys.isWait(cause) || (hasWaited && isPastDeadline) || (isReserving && isTimedOut)) {
        if (isTimedOut) {
          keys.count('inUse');
          throw keyInUse(error);
        }
        hasWaited = true;
        continue;
      }
      if (error instanceof ApiError && error.status === 401) throw error;
      if (isPastDeadline) throw keys.isConflict(cause) ? keyInUse(error) : retryableError(error);
      // Also of a write whose connection was lost: what became of it is known by its key. When nobody can look, nothing
      // is known: what stands in the way may be what the same request has written.
      const storedResponse = await keys.find(executor, name, work()).catch((findError) => {
        throw retryableError(findError);
      });
      if (storedResponse !== undefined) {
        requireSameRequest(keys, storedResponse, await fingerprint());
        const reply = await replay(storedResponse);
        keys.count(reply.headers[REPLAYED] === 'read' ? 'read' : 'replayed');
        return reply;
      }
      if (isKeyLast && isLockTimeout(error)) {
        // Whoever has locked the record may be the same request, at its end: that shows once the key is taken first.
        isKeyLast = false;
        statementKey = undefined;
        continue;
      }
      if (!keys.isConflict(cause)) throw retryableError(error);
      if (++conflicts === MAX_ATTEMPTS) throw keyInUse(error);
      // It has expired, or who had it was undone.
      await keys.forget(executor, name, work());
    }
  }
}

/** 422 when the key was used for another request. */
function requireSameRequest(
  keys: IdempotencyKeys,
  storedResponse: { readonly fingerprint: string },
  fingerprint: string,
): void {
  if (storedResponse.fingerprint === fingerprint) return;
  keys.count('reused');
  throw keyReused();
}

/* ---- a single call ---- */

/** True for a call whose write is one statement that a key can be added to. */
const isOneStatement = ({ operation, query }: Call): boolean =>
  operation === 'update' || operation === 'delete' || (operation === 'create' && query === '');

/** The reply of a call that is done once. */
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
  const isOnNode = context.workspace.entities.get(call.entity)?.statementForms !== undefined;
  if (statementKey !== undefined && isOneStatement(call) && !isOnNode)
    return deps.execute(context, call, executor, statementKey);
  // Refuses what is refused whatever the body says, so that nobody waits for that.
  const { access } = OPERATIONS[call.operation];
  await deps.retry.run(context, { call, executor }, async ({ workspace, principal }) => {
    admit(workspace, principal, call.entity, access);
  });
  await transactionKey.readBody();
  return runTransaction(deps, context, { isDryRun: false, isRepeatable: true }, async (transaction, current) => {
    await transactionKey.begin(transaction);
    const reply = await deps.execute(current, call, transaction);
    await transactionKey.finish(transaction, reply, await storedRecords(reply, context));
    return reply;
  });
}

type Meta = Readonly<Record<string, unknown>>;

interface WriteResponseBody {
  readonly data: { readonly id: unknown } | readonly { readonly id: unknown }[];
  readonly meta?: Meta;
}

/** What a replay needs when the reply is too long to be stored: its ids as JSON, with `meta` when it has any. */
async function storedRecords({ body }: Reply, context: RequestContext): Promise<string> {
  if (body.kind !== 'text') return '[]';
  const { data, meta } = (await parseResponse(body.text, context)) as WriteResponseBody;
  const ids = [data].flat().map(({ id }) => id);
  return JSON.stringify(meta === undefined ? ids : { ids, meta });
}

function parseStoredRecords(text: string): { readonly ids: readonly number[]; readonly meta: Meta } {
  const stored = JSON.parse(text) as readonly number[] | { ids: readonly number[]; meta: Meta };
  return 'ids' in stored ? stored : { ids: stored, meta: {} };
}

/** The reply again, for who may still write and, if it holds records, see them all. */
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
  const { ids, meta } = parseStoredRecords(storedResponse.records ?? '[]');
  const headers = {
    ...(storedResponse.etag === null ? {} : { ETag: storedResponse.etag }),
    ...(storedResponse.location === null ? {} : { Location: storedResponse.location }),
  };
  const reader = { deps, context, entity: call.entity };
  if (storedResponse.body !== null) {
    if (principal.kind === 'external') await requireVisible(reader, ids);
    return jsonText(storedResponse.status, storedResponse.body, { ...headers, ...stored });
  }
  const read = { [REPLAYED]: 'read' };
  const query = buildRecordQuery(entity);
  if (call.operation === 'create' || call.operation === 'update') {
    const { text, etag } = await executeRead(reader, String(ids[0]), query);
    return jsonText(storedResponse.status, text, {
      ...headers,
      ...(etag === undefined ? {} : { ETag: etag }),
      ...read,
    });
  }
  const isMinimal = new URLSearchParams(call.query).get('return') === 'minimal';
  if (isMinimal) await requireVisible(reader, ids);
  const records = isMinimal ? ids.map((id) => `{"id":${id}}`) : await readAll(reader, ids, query);
  return jsonText(storedResponse.status, bulkWriteEnvelope(`[${records.join()}]`, meta), { ...headers, ...read });
}

/** Reads an entity for a replay. */
interface Reader {
  readonly deps: IdempotencyDeps;
  readonly context: RequestContext;
  readonly entity: string;
}

// Reads that are under way together, so that a database far away is not waited for a thousand times.
const MAX_CONCURRENT_READS = 8;

/** The records as they are now; 404 when one is not there for the principal, 400 when they have grown too large together. */
async function readAll(reader: Reader, ids: readonly number[], query: string): Promise<string[]> {
  const records: string[] = [];
  const { maxResponseBytes } = reader.deps.config;
  let bytes = 0;
  for (let from = 0; from < ids.length; from += MAX_CONCURRENT_READS) {
    const some = ids.slice(from, from + MAX_CONCURRENT_READS);
    const responses = await Promise.all(some.map((id) => executeRead(reader, String(id), query)));
    for (const { text } of responses) {
      bytes += Buffer.byteLength(text);
      if (bytes > maxResponseBytes) throw replayTooLarge(maxResponseBytes);
      records.push(text.slice('{"data":'.length, -1));
    }
  }
  return records;
}

// The most that `in` takes.
const MAX_IDS = 1000;

/** 404 when one of the records is not there for the principal: a statement for each thousand. */
async function requireVisible(reader: Reader, ids: readonly number[]): Promise<void> {
  for (let from = 0; from < ids.length; from += MAX_IDS) {
    const some = new Set(ids.slice(from, from + MAX_IDS));
    const { text } = await executeRead(reader, '_aggregate', `select=count&filter=id,in,${[...some].join()}`);
    const { data } = JSON.parse(text) as { readonly data: readonly { readonly count: number }[] };
    if (data[0]?.count !== some.size) throw recordNotFound();
  }
}

/** The reply to a read of the entity; `etag`: of a record. */
async function executeRead(
  { deps, context, entity }: Reader,
  segment: string,
  query: string,
): Promise<{ readonly text: string; readonly etag: string | undefined }> {
  const call = callAt('GET', entity, segment, { query, conditions: {}, body: () => Promise.resolve(undefined) });
  const reply = await deps.execute(context, call, deps.databases.forWorkspace(context.workspace));
  if (reply.body.kind !== 'text') throw new TypeError('a read answers with text');
  return { text: reply.body.text, etag: reply.headers.ETag };
}

/* ---- an import ---- */

/** Stores the key in the transaction of an import. */
export interface ImportKey {
  /** Takes the key, once the file has been read; waits for an import that has it. */
  readonly begin: (session: Transaction) => Promise<void>;
  readonly finish: (session: Transaction, reply: Reply) => Promise<void>;
}

export interface ImportFile {
  readonly chunks: AsyncIterable<Buffer>;
  readonly maxBytes: number;
  /** How long another import with the key is waited for, in milliseconds. */
  readonly waitMs: number;
}

/**
 * The reply of `run`, which stores it under the key that the request names, if it does; or of the import that was done
 * with it before. 422 when that was of another file or query, 409 when it is still under way after `waitMs`. A file is hashed
 * while it is read, so the key is taken when it has been read and before anything of it is checked against records.
 */
export async function importIdempotent(
  keys: IdempotencyKeys,
  context: EntityContext,
  { chunks, maxBytes, waitMs }: ImportFile,
  run: (chunks: AsyncIterable<Buffer>, key: ImportKey | undefined) => Promise<Reply>,
): Promise<Reply> {
  const { call, request, signal, workspace, entity, executor } = context;
  const header = request.headers['idempotency-key'];
  if (header === undefined) return run(chunks, undefined);
  const scope = hashScope(context, 'POST', `${entity.name}/_import`, parseIdempotencyKey(String(header)));
  const name = { scope, schema: workspace.databaseSchema };
  const digest = createHash('sha256').update(`${call.query}\n`);
  const fingerprint = (): string => `\\x${digest.copy().digest('hex')}`;
  const key = (): RequestKey => ({ ...name, fingerprint: fingerprint() });
  const work = () => ({ tenant: workspace.id, deadline: performance.now() + waitMs, signal: signal });

  /** Called once the file has been read. */
  function replay(storedResponse: StoredResponse & { readonly fingerprint: string }): Reply {
    requireSameRequest(keys, storedResponse, fingerprint());
    keys.count('replayed');
    return jsonText(storedResponse.status, storedResponse.body ?? '', { [REPLAYED]: 'true' });
  }

  async function* hashChunks(): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      digest.update(chunk);
      yield chunk;
    }
  }

  const previous = await keys.find(executor, name, work());
  if (previous !== undefined) {
    let size = 0;
    for await (const chunk of hashChunks()) {
      size += chunk.length;
      if (size > maxBytes) throw payloadTooLarge(maxBytes);
    }
    return replay(previous);
  }
  await keys.forget(executor, name, work());
  let other: 'done' | 'running' | undefined;
  const importKey: ImportKey = {
    async begin(session) {
      const options = work();
      try {
        await keys.claim(session.executor, key(), options);
      } catch (error) {
        if (keys.isConflict(error)) other = 'done';
        else if (keys.isWait(error) || performance.now() >= options.deadline) other = 'running';
        throw error;
      }
    },
    finish: (session, reply) => keys.complete(session.executor, key(), toStoredResponse(reply, '[]'), work()),
  };
  try {
    const reply = await run(hashChunks(), importKey);
    keys.count('stored');
    return reply;
  } catch (error) {
    if (other === undefined) throw retryableError(error);
    const storedResponse = other === 'done' ? await keys.find(executor, name, work()) : undefined;
    if (storedResponse !== undefined) return replay(storedResponse);
    keys.count('inUse');
    throw keyInUse(error);
  }
}
