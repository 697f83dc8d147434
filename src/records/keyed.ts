// Writes with an Idempotency-Key: done once, however often they are sent. The key is written with the records. Whatever
// stands in the way of a write, it is looked whether the same was done before, and then its answer is given again.
import { hash } from 'node:crypto';
import type { KeptAnswer, Keys, RequestKey } from '../beside/keys.ts';
import { isLockTimeout, statementError } from '../db/pg-error.ts';
import type { Executor, Work } from '../db/pool.ts';
import { ApiError, databaseAway, keyInUse, keyReused } from '../errors.ts';
import type { Entity } from '../model/entity.ts';
import type { Principal } from '../model/principal.ts';
import type { Reply } from '../response/reply.ts';
import type { Visitor } from './enter.ts';
import type { KeyOfWrite, RequestClock, Sender } from './visit.ts';

/** The key of a request that is a transaction. */
export interface KeyOfTransaction {
  /** Reads the body, which may take its time: a transaction is begun afterwards, as its connection is one of few. */
  readonly arrive: () => Promise<void>;
  readonly begin: (executor: Executor) => Promise<void>;
  /** `records`: JSON, for the replay. */
  readonly finish: (executor: Executor, reply: Reply, records: string) => Promise<void>;
}

export interface KeyedRequest {
  readonly keys: Keys;
  readonly executor: Executor;
  readonly visitor: Visitor;
  readonly place: Work['place'];
  readonly sender: Sender;
  readonly clock: RequestClock;
  readonly scope: string;
  /** Of query and body. */
  readonly fingerprint: () => Promise<string>;
}

/** What a key is remembered by: whose it is, in which workspace, for which method and path. */
export function scopeOf({ principal, workspace }: Visitor, method: string, path: string, key: string): string {
  return bytea([workspace.id, identityOf(principal), method, path, key].join('\n'));
}

export const fingerprintOf = (query: string, body: Uint8Array | undefined): string =>
  `\\x${hash('sha256', body === undefined ? query : Buffer.concat([Buffer.from(`${query}\n`), body]), 'hex')}`;

const bytea = (text: string): string => `\\x${hash('sha256', text, 'hex')}`;

/** API key, client, or issuer and subject. */
function identityOf(principal: Principal): string {
  return principal.kind === 'external'
    ? `${principal.credentialId} ${JSON.stringify(principal.claims.iss ?? null)} ${JSON.stringify(principal.claims.sub ?? null)}`
    : principal.credentialId;
}

const ATTEMPTS = 3;

/**
 * The answer of `write`, which stores it under the key; or of the request that was done with the key before, by `replay`.
 * 422 when that one was another, 409 when it is still under way at the deadline. Without `single` a write takes its key before
 * all else.
 */
export async function once(
  request: KeyedRequest,
  write: (single: KeyOfWrite | undefined, several: KeyOfTransaction) => Promise<Reply>,
  replay: (kept: KeptAnswer) => Promise<Reply>,
): Promise<Reply> {
  const { keys, executor, visitor, place, sender, clock, scope, fingerprint } = request;
  const tenant = visitor.workspace.id;
  const work = (): Work => ({ tenant, deadline: clock.deadline, caller: sender.caller, place });
  const name = { scope, schema: visitor.workspace.databaseSchema };
  const key = async (): Promise<RequestKey> => ({ ...name, fingerprint: await fingerprint() });
  let isKeyLast = false;
  let single: KeyOfWrite | undefined = {
    async wrap(query, form) {
      isKeyLast = true;
      return keys.keyed(query, await key(), form);
    },
  };
  let isTaking = false;
  const several: KeyOfTransaction = {
    async arrive() {
      await fingerprint();
    },
    async begin(session) {
      const taken = await key();
      isTaking = true;
      await keys.begin(session, taken, work());
      isTaking = false;
    },
    async finish(session, reply, records) {
      await keys.finish(session, await key(), keptAnswer(reply, records), work());
    },
  };
  let hasWaited = false;
  for (let conflicts = 0; ; ) {
    try {
      isTaking = false;
      const reply = await write(single, several);
      if (reply.status < 300) keys.note('stored');
      return reply;
    } catch (error) {
      const cause = error instanceof ApiError ? error.cause : error;
      const isLate = performance.now() >= clock.deadline;
      const isOver = isLate || isEnded(error);
      if (keys.isWait(cause) || (hasWaited && isLate) || (isTaking && isOver)) {
        if (isOver) {
          keys.note('inUse');
          throw keyInUse(error);
        }
        hasWaited = true;
        continue;
      }
      if (error instanceof ApiError && error.status === 401) throw error;
      if (isLate) throw keys.isConflict(cause) ? keyInUse(error) : refusalOf(error);
      // Also of a write whose connection was lost: what became of it is known by its key. When nobody can look, nothing
      // is known: what stands in the way may be what the same request has written.
      const kept = await keys.find(executor, name, work()).catch((unseen) => {
        throw refusalOf(unseen);
      });
      if (kept !== undefined) {
        if (kept.fingerprint !== (await fingerprint())) {
          keys.note('reused');
          throw keyReused();
        }
        const reply = await replay(kept);
        keys.note(reply.headers[REPLAYED] === 'read' ? 'read' : 'replayed');
        return reply;
      }
      if (isKeyLast && isLockTimeout(error)) {
        // Whoever has locked the record may be the same request, at its end: that shows once the key is taken first.
        isKeyLast = false;
        single = undefined;
        continue;
      }
      if (!keys.isConflict(cause)) throw refusalOf(error);
      if (++conflicts === ATTEMPTS) throw keyInUse(error);
      // It has expired, or who had it was undone.
      await keys.forget(executor, name, work());
    }
  }
}

export const REPLAYED = 'Idempotent-Replayed';

const isEnded = (error: unknown): boolean => error instanceof ApiError && error.code === 'QUERY_TIMEOUT';

/** With a key the write may be sent again, whatever became of it. */
export function refusalOf(error: unknown): unknown {
  if (!(error instanceof ApiError)) return statementError(error);
  return error.code === 'OUTCOME_UNKNOWN' ? databaseAway(error) : error;
}

/** What is kept of an answer. `records`: JSON, for the replay. */
export function keptAnswer({ status, headers, body }: Reply, records: string): KeptAnswer {
  return {
    status,
    etag: headers.ETag ?? null,
    location: headers.Location ?? null,
    body: body.kind === 'text' ? body.text : null,
    records,
  };
}

/** The query string of a read that gives the record as writes do. */
export const wholeRecordQuery = (entity: Entity | undefined): string =>
  `expand=&fields=${[...(entity?.fields.keys() ?? [])].join()}`;
