// Operations on several entities in one transaction: each passes the stages of a single request with the executor of the
// transaction, and the first that fails undoes all.
import type { KeptAnswer } from '../beside/keys.ts';
import type { Config } from '../config.ts';
import { badRequest, replayTooLarge } from '../errors.ts';
import type { Workspace } from '../model/workspace.ts';
import { admit } from '../plan/plan.ts';
import { type BatchItem, type LinkedItem, linkBatch, parseBatch, parseBatchOptions } from '../request/batch.ts';
import type { CallParts } from '../request/call.ts';
import { jsonText, type Reply } from '../response/reply.ts';
import { ahead, inOrder, OutOfStep, type Run } from './batch-operations.ts';
import type { Visitor } from './enter.ts';
import type { Journey } from './journey.ts';
import { type KeyOfTransaction, REPLAYED, wholeRecordQuery } from './keyed.ts';
import { type TogetherRooms, together } from './together.ts';
import type { RequestClock, Sender } from './visit.ts';

export interface BatchRooms extends TogetherRooms {
  readonly config: Config;
  /** The stages of a single call. */
  readonly travel: (journey: Journey) => Promise<Reply>;
}

// {"operations": [{"body": record}, …]}
const RECORD_DEPTH = 4;

/** A batch of somebody who has entered. */
export interface BatchJourney {
  readonly parts: CallParts;
  readonly sender: Sender;
  readonly visitor: Visitor;
  readonly again: () => Promise<Visitor>;
  readonly clock: RequestClock;
}

/** 200 with the answers in order, all of them or none. */
export async function batch(rooms: BatchRooms, journey: BatchJourney, key?: KeyOfTransaction): Promise<Reply> {
  const { config, travel } = rooms;
  const { parts, sender, again, clock } = journey;
  const { isDryRun } = parseBatchOptions(parts.query);
  if (parts.conditions.ifMatch !== undefined) {
    throw badRequest('If-Match is for one record. Of a batch each operation has its own: give it as "ifMatch" there');
  }
  const items = parseBatch(
    await parts.body({ maxBytes: config.maxBulkBytes, recordDepth: RECORD_DEPTH }),
    config.maxBatch,
  );
  const reply = (data: string): Reply => jsonText(200, `{"data":${data}${isDryRun ? ',"meta":{"dryRun":true}' : ''}}`);
  if (items.length === 0 && key === undefined) return reply('[]');
  const perform = (operations: typeof ahead | typeof inOrder): Promise<Reply> =>
    together(rooms, { ...journey, isDryRun, isRepeatable: key !== undefined }, async (executor, visitor) => {
      const { linked, usedOf } = linkBatch(items, visitor.workspace.entities);
      await key?.begin(executor);
      const run: Run = { executor, clock, sender, visitor, again, travel, maxBytes: config.maxResponseBytes };
      // An answer that is kept is known by the ids of its records.
      const fieldsOf = (index: number) =>
        key === undefined ? usedOf(index) : new Set(['id', ...(usedOf(index) ?? [])]);
      const outcomes = await operations(run, linked, fieldsOf);
      const whole = reply(`[${outcomes.map(({ text }) => text).join()}]`);
      await key?.finish(executor, whole, JSON.stringify(outcomes.map(({ status, id }) => [status, id])));
      return whole;
    });
  return perform(ahead).catch((error) => {
    if (error instanceof OutOfStep) return perform(inOrder);
    throw error;
  });
}

/**
 * The answer of a batch that was done before. Who sees all records gets what was kept of it; for anybody else, and when
 * it was too long to be kept, its records are read anew: 404 when one is not there any more.
 */
export async function replayBatch(rooms: BatchRooms, journey: BatchJourney, kept: KeptAnswer): Promise<Reply> {
  const { config, databases, travel } = rooms;
  const { parts, sender, again, clock } = journey;
  const visitor = await again();
  const { workspace, principal } = visitor;
  const items = parseBatch(
    await parts.body({ maxBytes: config.maxBulkBytes, recordDepth: RECORD_DEPTH }),
    config.maxBatch,
  );
  for (const { method, entity } of items) {
    admit(workspace, principal, entity, method === 'GET' ? 'read' : 'write');
  }
  if (kept.body !== null && principal.kind !== 'external') return jsonText(200, kept.body, { [REPLAYED]: 'true' });
  const { linked } = linkBatch(items, workspace.entities);
  const outcomes = JSON.parse(kept.records ?? '[]') as readonly (readonly [status: number, id: string | null])[];
  const executor = databases.of(workspace);
  const run: Run = { executor, clock, sender, visitor, again, travel, maxBytes: config.maxResponseBytes };
  const deleted = new Set(
    outcomes.flatMap(([, id], index) => (items[index]?.method === 'DELETE' ? [`${items[index]?.entity} ${id}`] : [])),
  );
  const reads = linked.map((one, index): LinkedItem => {
    const { method, entity } = one.item;
    const [, id = null] = outcomes[index] ?? [];
    if (id === null || method === 'DELETE' || deleted.has(`${entity} ${id}`)) return one;
    return { ...one, id: undefined, item: { ...one.item, ...readOf(workspace, one.item), id } };
  });
  const answers: string[] = [];
  let bytes = 0;
  for (const [index, one] of reads.entries()) {
    const [status, id] = outcomes[index] ?? [200, null];
    const isGone = one.item.method === 'DELETE' || (id !== null && deleted.has(`${one.item.entity} ${id}`));
    const [outcome] = isGone
      ? []
      : await inOrder({ ...run, clock: clock.part() }, [{ ...one, members: new Map() }], () => undefined);
    const text = outcome?.text.replace(/^\{"status":\d+/, `{"status":${status}`) ?? `{"status":${status}}`;
    bytes += Buffer.byteLength(text);
    if (bytes > config.maxResponseBytes) throw replayTooLarge(config.maxResponseBytes);
    answers.push(text);
  }
  return jsonText(200, `{"data":[${answers.join()}]}`, { [REPLAYED]: 'read' });
}

/** A read of the whole record that an operation has written; a read stays what it was. */
function readOf({ entities }: Workspace, { method, entity, query }: BatchItem): Pick<BatchItem, 'method' | 'query'> {
  if (method === 'GET') return { method, query };
  return { method: 'GET', query: wholeRecordQuery(entities.get(entity)) };
}
