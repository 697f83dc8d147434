// Executes writes with an Idempotency-Key only once, however often they are sent. The key is stored with the records:
// in the same statement when the write is one, else in its own transaction. On a cluster every write uses a
// transaction: for a statement that writes to two tables Citus copies the rows between them to all workers, even to one
// that is down and has nothing to do with the workspace. Whatever prevents a write, the key is looked up and the
// response of the first request replayed.
import { createHash, hash } from 'node:crypto';
import { isLockTimeout, translateStatementError } from '../database/errors.ts';
import type { Executor, StatementOptions, Transaction } from '../database/pool.ts';
import { ApiError, databaseUnavailable, keyReused, payloadTooLarge } from '../errors.ts';
import type { Entity } from '../model/entity.ts';
import type { Principal } from '../model/principal.ts';
import { parseIdempotencyKey } from '../request/idempotency.ts';
import { splitSegments } from '../request/record-path.ts';
import { jsonText, type Reply } from '../response/reply.ts';
import type { IdempotencyKeys, RequestKey, StoredResponse } from '../workspace-schema/idempotency-keys.ts';
import type { Access, EntityContext, RequestContext, StatementKey } from './context.ts';
import { keyInUse, tooManyKeys } from './errors.ts';
import type { TransactionDeps } from './transaction.ts';

/** Stores the key in a transaction. */
export interface TransactionKey {
  /** Reads the body, which may take its time: the transaction starts afterwards, as its connection is one of few. */
  readonly readBody: () => Promise<void>;
  readonly begin: (executor: Executor) => Promise<void>;
  /** Stores the reply. `records`: JSON, for the replay. */
  readonly finish: (executor: Executor, reply: Reply, records: string) => Promise<void>;
}

export interface IdempotencyDeps extends TransactionDeps {
  readonly keys: IdempotencyKeys;
}

export const REPLAYED = 'Idempotent-Replayed';

const MAX_ATTEMPTS = 3;

/** Hashes the scope of a key: workspace, client, method and path. */
function hashScope({ principal, workspace }: Access, method: string, path: string, key: string): string {
  return bytea([workspace.id, getClientId(principal), method, path, key].join('\n'));
}

const bytea = (data: string | Uint8Array): string => `\\x${hash('sha256', data, 'hex')}`;

/** Returns the id of the API key or client, or issuer and subject. */
export function getClientId(principal: Principal): string {
  return principal.kind === 'external'
    ? `${principal.credentialId} ${JSON.stringify(principal.claims.iss ?? null)} ${JSON.stringify(principal.claims.sub ?? null)}`
    : principal.credentialId;
}

/** Marks the error as retryable: with a key the write may be sent again, whatever its outcome. */
function retryableError(error: unknown): unknown {
  if (!(error instanceof ApiError)) return translateStatementError(error);
  return error.code === 'OUTCOME_UNKNOWN' ? databaseUnavailable(error) : error;
}

/** Selects the part of a reply that is stored. `records`: JSON, for the replay. */
function toStoredResponse({ status, headers, body }: Reply, records: string): StoredResponse {
  return {
    status,
    etag: headers.ETag ?? null,
    location: headers.Location ?? null,
    body: body.kind === 'text' ? body.text : null,
    records,
  };
}

/** Builds the query string of a read that returns the record in the form of a write's response. */
export const buildRecordQuery = (entity: Entity | undefined): string =>
  `expand=&fields=${[...(entity?.fields.keys() ?? [])].join()}`;

/**
 * Executes `write`, which stores its reply under the key of the request, or replays the reply of an earlier request
 * with the key by `replay`. 422 when that was a different request, 409 when it is still running at the deadline.
 * `body`: read for the fingerprint, or undefined if the request has none.
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
  const name = {
    scope: hashScope(context, request.method, path, header),
    schema: workspace.databaseSchema,
    tenant: workspace.id,
  };
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
      // A key that was stored before is found below.
      if (keys.isFull(name)) throw tooManyKeys();
      const reply = await write(statementKey, transactionKey);
      if (reply.status < 300) keys.countStored(name, getBodyBytes(reply));
      return reply;
    } catch (error) {
      const cause = error instanceof ApiError ? error.cause : error;
      const isPastDeadline = performance.now() >= deadline.at;
      const isTimedOut = isPastDeadline || isQueryTimeout(error);
      if (keys.isWait(cause) || ((hasWaited || isReserving) && isTimedOut)) {
        if (isTimedOut) {
          keys.count('inUse');
          throw keyInUse(error);
        }
        hasWaited = true;
        continue;
      }
      // A statement that has waited for a connection does not know that it would have waited for the key.
      if (isTimedOut && (await keys.isHeld(name))) {
        keys.count('inUse');
        throw keyInUse(error);
      }
      if (error instanceof ApiError && error.status === 401) throw error;
      if (isPastDeadline) throw keys.isConflict(cause) ? keyInUse(error) : retryableError(error);
      // Looks the key up even if the connection of the write was lost. When the lookup fails, the outcome is unknown:
      // the conflict may be with records that the same request has written.
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
        // The record may be locked by the same request, just before its end: storing the key first shows it.
        isKeyLast = false;
        statementKey = undefined;
        continue;
      }
      if (error instanceof ApiError && error.reason === 'TOO_MANY_KEYS') keys.count('refused');
      if (!keys.isConflict(cause)) throw retryableError(error);
      if (++conflicts === MAX_ATTEMPTS) throw keyInUse(error);
      // The key has expired, or its request was rolled back.
      await keys.forget(executor, name, work());
    }
  }
}

/** True for a statement that the database has ended at the deadline, perhaps a millisecond before ours. */
const isQueryTimeout = (error: unknown): boolean => {
  const apiError = translateStatementError(error);
  return apiError instanceof ApiError && apiError.code === 'QUERY_TIMEOUT';
};

const getBodyBytes = ({ body }: Reply): number => (body.kind === 'text' ? Buffer.byteLength(body.text) : 0);

/** Throws 422 when the key was used for another request. */
function requireSameRequest(
  keys: IdempotencyKeys,
  storedResponse: { readonly fingerprint: string },
  fingerprint: string,
): void {
  if (storedResponse.fingerprint === fingerprint) return;
  keys.count('reused');
  throw keyReused();
}

/* ---- an import ---- */

/** Stores the key in the transaction of an import. */
export interface ImportKey {
  /** Stores the key once the file has been read; waits for a running import with the same key. */
  readonly begin: (session: Transaction) => Promise<void>;
  readonly finish: (session: Transaction, reply: Reply) => Promise<void>;
}

export interface ImportFile {
  readonly chunks: AsyncIterable<Buffer>;
  readonly maxBytes: number;
  /** Milliseconds to wait for another import with the key. */
  readonly waitMs: number;
}

/**
 * Executes `run`, which stores its reply under the key of the request, if there is one; or replays an earlier import
 * with it. 422 when that had another file or query, 409 when it is still running after `waitMs`. A file is hashed while
 * it is read, so the key is stored after that and before its rows are checked against records.
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
  const name = { scope, schema: workspace.databaseSchema, tenant: workspace.id };
  const digest = createHash('sha256').update(`${call.query}\n`);
  const fingerprint = (): string => `\\x${digest.copy().digest('hex')}`;
  const key = (): RequestKey => ({ ...name, fingerprint: fingerprint() });
  const work = () => ({ tenant: workspace.id, deadline: performance.now() + waitMs, signal: signal });

  /** Replays the stored response, once the file has been read. */
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
  if (keys.isFull(name)) {
    keys.count('refused');
    throw tooManyKeys();
  }
  let other: 'done' | 'running' | undefined;
  const importKey: ImportKey = {
    async begin(session) {
      const options = work();
      try {
        await keys.claim(session.executor, key(), options);
      } catch (error) {
        if (keys.isConflict(error)) other = 'done';
        else if (keys.isWait(error) || isQueryTimeout(error) || performance.now() >= options.deadline)
          other = 'running';
        throw error;
      }
    },
    finish: (session, reply) => keys.complete(session.executor, key(), toStoredResponse(reply, '[]'), work(), true),
  };
  try {
    const reply = await run(hashChunks(), importKey);
    keys.countStored(name, getBodyBytes(reply));
    return reply;
  } catch (error) {
    if (other === undefined) throw retryableError(error);
    const storedResponse = other === 'done' ? await keys.find(executor, name, work()) : undefined;
    if (storedResponse !== undefined) return replay(storedResponse);
    keys.count('inUse');
    throw keyInUse(error);
  }
}
