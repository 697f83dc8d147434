// The Idempotency-Key of an import. A file is hashed while it is read, so the key is taken when it has been read and before
// anything of it is checked against records; what the import did is stored with it, in the same transaction.
import { createHash } from 'node:crypto';
import type { KeptAnswer, Keys } from '../../beside/keys.ts';
import type { Transaction, Work } from '../../db/pool.ts';
import { keyInUse, keyReused, payloadTooLarge } from '../../errors.ts';
import { parseIdempotencyKey } from '../../request/idempotency.ts';
import { jsonText, type Reply } from '../../response/reply.ts';
import { keptAnswer, REPLAYED, refusalOf, scopeOf } from '../keyed.ts';
import type { Visit } from '../visit.ts';

/** The key in the transaction of its import. */
export interface KeyOfImport {
  /** Takes the key, once the file has been read; waits for an import that has it. */
  readonly begin: (session: Transaction) => Promise<void>;
  /** Stores the answer. */
  readonly finish: (session: Transaction, reply: Reply) => Promise<void>;
}

export interface KeyedImport {
  readonly keys: Keys;
  readonly visit: Visit;
  /** The file as it arrives. */
  readonly chunks: AsyncIterable<Buffer>;
  /** Bytes of the file. */
  readonly maxBytes: number;
  /** How long another import with the key is waited for, in milliseconds. */
  readonly waitMs: number;
}

type RunImport = (chunks: AsyncIterable<Buffer>, key: KeyOfImport | undefined) => Promise<Reply>;

/**
 * The answer of `run`, which stores it under the key that the request names, if it does; or of the import that was done
 * with it before. 422 when that was of another file or query, 409 when it is still under way after `waitMs`.
 */
export async function importOnce(keyed: KeyedImport, run: RunImport): Promise<Reply> {
  const { keys, visit, chunks, maxBytes, waitMs } = keyed;
  const header = visit.sender.headers['idempotency-key'];
  if (header === undefined) return run(chunks, undefined);
  const { call, sender, workspace, entity, executor } = visit;
  const scope = scopeOf(visit, 'POST', `${entity.name}/_import`, parseIdempotencyKey(String(header)));
  const seen = createHash('sha256').update(`${call.query}\n`);
  const fingerprint = (): string => `\\x${seen.copy().digest('hex')}`;
  const work = (): Work => ({
    tenant: workspace.id,
    deadline: performance.now() + waitMs,
    caller: sender.caller,
  });
  const name = { scope, schema: workspace.databaseSchema };
  const key = () => ({ ...name, fingerprint: fingerprint() });

  /** Once the file has been read. */
  function replay(kept: KeptAnswer & { readonly fingerprint: string }): Reply {
    if (kept.fingerprint !== fingerprint()) {
      keys.note('reused');
      throw keyReused();
    }
    keys.note('replayed');
    return jsonText(kept.status, kept.body ?? '', { [REPLAYED]: 'true' });
  }

  async function* hashed(): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      seen.update(chunk);
      yield chunk;
    }
  }

  const before = await keys.find(executor, name, work());
  if (before !== undefined) {
    let size = 0;
    for await (const chunk of hashed()) {
      size += chunk.length;
      if (size > maxBytes) throw payloadTooLarge(maxBytes);
    }
    return replay(before);
  }
  await keys.forget(executor, name, work());
  let other: 'done' | 'running' | undefined;
  const own: KeyOfImport = {
    async begin(session) {
      const waits = work();
      try {
        await keys.begin(session.executor, key(), waits);
      } catch (error) {
        if (keys.isConflict(error)) other = 'done';
        else if (keys.isWait(error) || performance.now() >= (waits.deadline as number)) other = 'running';
        throw error;
      }
    },
    finish: (session, reply) => keys.finish(session.executor, key(), keptAnswer(reply, '[]'), work()),
  };
  try {
    const reply = await run(hashed(), own);
    keys.note('stored');
    return reply;
  } catch (error) {
    if (other === undefined) throw refusalOf(error);
    const kept = other === 'done' ? await keys.find(executor, name, work()) : undefined;
    if (kept !== undefined) return replay(kept);
    keys.note('inUse');
    throw keyInUse(error);
  }
}
