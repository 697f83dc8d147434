// Operations on several entities in one transaction: each passes the stages of a single request with the executor of the
// transaction, and the first that fails undoes all.
import type { Config } from '../config.ts';
import { isConnectionLoss, isRetryable } from '../db/pg-error.ts';
import type { Executor } from '../db/pool.ts';
import { callerGone } from '../db/work.ts';
import type { Databases } from '../directory/databases.ts';
import { ApiError, badRequest, queryTimeout, responseTooLarge, writeUnknown } from '../errors.ts';
import { numberText, parseExact } from '../model/exact-json.ts';
import {
  type BatchItem,
  inOperation,
  type LinkedItem,
  linkBatch,
  parseBatch,
  parseBatchOptions,
} from '../request/batch.ts';
import { type Call, type CallParts, callAt } from '../request/call.ts';
import { jsonText, type Reply } from '../response/reply.ts';
import { type Snapshots, withFreshSnapshot } from './again.ts';
import type { Visitor } from './enter.ts';
import type { Journey } from './journey.ts';
import { RequestClock, type Sender } from './visit.ts';

export interface BatchRooms {
  readonly config: Config;
  readonly databases: Databases;
  readonly snapshots: Snapshots;
  /** The stages of a single call. */
  readonly travel: (journey: Journey) => Promise<Reply>;
}

/** A batch of somebody who has entered. */
export interface BatchJourney {
  readonly parts: CallParts;
  readonly sender: Sender;
  readonly visitor: Visitor;
  readonly again: () => Promise<Visitor>;
}

// Of all of it, after a deadlock or a serialization failure.
const REPEATS = 3;

const UNDONE = new Error('a dry run is undone');

/** 200 with the answers in order, all of them or none. */
export async function batch(rooms: BatchRooms, { parts, sender, visitor, again }: BatchJourney): Promise<Reply> {
  const { config, databases, snapshots } = rooms;
  const { isDryRun } = parseBatchOptions(parts.query);
  const items = parseBatch(await parts.body(config.maxBulkBytes), config.maxBatch);
  const clock = new RequestClock(config.statementTimeoutMs);
  const database = databases.of(visitor.workspace);
  const attempt = { call: undefined, executor: database, clock, again };
  const data = await withFreshSnapshot(snapshots, attempt, visitor, async (current) => {
    const { linked, isUsed } = linkBatch(items, current.workspace.entities);
    if (items.length === 0) return '[]';
    return repeatedly(clock, async () => {
      let isAtCommit = false;
      let answers = '';
      try {
        await database.transaction(
          async ({ executor }) => {
            answers = await inOrder({ rooms, executor, clock, sender, visitor: current, again }, linked, isUsed);
            if (isDryRun) throw UNDONE;
            if (sender.caller.isGone()) throw callerGone();
            isAtCommit = true;
          },
          {
            purpose: 'batch',
            tenant: current.workspace.id,
            deadline: clock.deadline,
            caller: sender.caller,
            statementTimeoutMs: timeLeft(clock),
          },
        );
      } catch (error) {
        if (error === UNDONE) return answers;
        if (isAtCommit && isConnectionLoss(error)) throw writeUnknown(error);
        throw error;
      }
      return answers;
    });
  });
  return jsonText(200, `{"data":${data}${isDryRun ? ',"meta":{"dryRun":true}' : ''}}`);
}

function timeLeft(clock: RequestClock): number {
  const left = clock.deadline - performance.now();
  if (left <= 0) throw queryTimeout();
  return Math.max(1, left);
}

/** Deadlocks and serialization failures are repeated: nothing of the transaction was kept. */
async function repeatedly<T>(clock: RequestClock, work: () => Promise<T>): Promise<T> {
  for (let repeats = 0; ; repeats++) {
    try {
      return await work();
    } catch (error) {
      if (!isRetryable(error instanceof ApiError ? error.cause : error) || repeats === REPEATS) throw error;
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 20 * 2 ** repeats));
      timeLeft(clock);
    }
  }
}

interface Run {
  readonly rooms: BatchRooms;
  readonly executor: Executor;
  readonly clock: RequestClock;
  readonly sender: Sender;
  readonly visitor: Visitor;
  readonly again: () => Promise<Visitor>;
}

type JsonRecord = Readonly<Record<string, unknown>>;

/** Does one operation after the other; gives the JSON array of their answers. */
async function inOrder(
  { rooms, executor, clock, sender, visitor, again }: Run,
  linked: readonly LinkedItem[],
  isUsed: (index: number) => boolean,
): Promise<string> {
  const { maxResponseBytes } = rooms.config;
  const records = new Map<number, JsonRecord>();
  const answers: string[] = [];
  let bytes = 0;
  for (const [index, one] of linked.entries()) {
    const text = await inOperation(index, async () => {
      const call = callOf(one, records);
      const { status, body } = await rooms.travel({ call, executor, sender, visitor, again, clock });
      if (body.kind === 'stream') throw new TypeError('an operation of a batch answers with text');
      const answer = body.kind === 'text' ? body.text : '';
      if (isUsed(index)) records.set(index, (parseExact(answer) as { data: JsonRecord }).data);
      bytes += Buffer.byteLength(answer);
      if (bytes > maxResponseBytes) throw responseTooLarge(maxResponseBytes);
      return answer === '' ? `{"status":${status}}` : `{"status":${status},${answer.slice(1)}`;
    });
    answers.push(text);
  }
  return `[${answers.join()}]`;
}

/** The operation as a call of its own, references replaced by what they stand for. */
function callOf({ item, id, members }: LinkedItem, records: ReadonlyMap<number, JsonRecord>): Call {
  const value = ({ from, field }: { from: number; field: string }): unknown => {
    const record = records.get(from) as JsonRecord;
    if (!Object.hasOwn(record, field)) {
      throw badRequest(`The answer of operation ${from} has no field ${field}: name it in its fields`);
    }
    return record[field];
  };
  const segment = id === undefined ? (item.id as string | undefined) : idOf(value(id));
  const body = members.size === 0 ? item.body : withMembers(item, members, value);
  return callAt(item.method, item.entity, segment, {
    query: item.query,
    conditions: { ifMatch: item.ifMatch },
    body: () => Promise.resolve(body),
  });
}

function withMembers(
  { body }: BatchItem,
  members: LinkedItem['members'],
  value: (reference: { from: number; field: string }) => unknown,
): JsonRecord {
  return Object.fromEntries(
    Object.entries(body as JsonRecord).map(([name, given]) => {
      const reference = members.get(name);
      return [name, reference === undefined ? given : value(reference)];
    }),
  );
}

function idOf(value: unknown): string {
  const digits = numberText(value) ?? (typeof value === 'string' ? value : '');
  if (!/^-?\d+$/.test(digits)) throw badRequest('The id that $ref leads to is no integer');
  return digits;
}
