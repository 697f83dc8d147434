// The operations of a batch in their transaction: each is a call with the executor of all, as a call of its own would be.
import type { Executor } from '../db/pool.ts';
import { badRequest, responseTooLarge } from '../errors.ts';
import { inPieces } from '../http/json-body.ts';
import { numberText, parseExact } from '../model/exact-json.ts';
import { readJson, UNLIMITED } from '../model/json-reader.ts';
import { type BatchItem, inOperation, type LinkedItem } from '../request/batch.ts';
import { type Call, callAt } from '../request/call.ts';
import type { Reply } from '../response/reply.ts';
import type { Visitor } from './enter.ts';
import type { Journey } from './journey.ts';
import type { RequestClock, Sender } from './visit.ts';

export interface Run {
  readonly executor: Executor;
  readonly clock: RequestClock;
  readonly sender: Sender;
  readonly visitor: Visitor;
  readonly again: () => Promise<Visitor>;
  /** The stages of a single call. */
  readonly travel: (journey: Journey) => Promise<Reply>;
  /** Of all answers together. */
  readonly maxBytes: number;
}

type JsonRecord = Readonly<Record<string, unknown>>;

// So few characters are read in half a millisecond.
const SHORT = 8192;

/** An answer of our own as a value. A long one is read in pieces. */
export async function readAnswer(answer: string, { turn, caller }: Sender): Promise<unknown> {
  return answer.length <= SHORT ? parseExact(answer) : inPieces(readJson(answer, UNLIMITED), turn, caller);
}

/** The fields of an answered record that later operations refer to. */
async function recordOf(answer: string, fields: ReadonlySet<string>, sender: Sender): Promise<JsonRecord> {
  const { data } = (await readAnswer(answer, sender)) as { data: JsonRecord };
  return Object.fromEntries([...fields].filter((name) => Object.hasOwn(data, name)).map((name) => [name, data[name]]));
}

export interface Outcome {
  readonly status: number;
  /** Of the record that it wrote or read, when that was looked at. */
  readonly id: string | null;
  /** The JSON text of its answer. */
  readonly text: string;
}

/** The fields of the record of an operation that are needed, if any. */
export type FieldsOf = (index: number) => ReadonlySet<string> | undefined;

/** Does one operation; `executor`: of its statements. */
type Perform = (index: number, one: LinkedItem, executor: Executor) => Promise<Outcome>;

/** For the operations of one batch, in their order. `fieldsOf`: what is needed of the record of one, if anything. */
function performer({ clock, sender, visitor, again, travel, maxBytes }: Run, fieldsOf: FieldsOf): Perform {
  const records = new Map<number, JsonRecord>();
  let bytes = 0;
  return (index, one, executor) =>
    inOperation(index, async () => {
      const call = callOf(one, records);
      const { status, body } = await travel({ call, executor, sender, visitor, again, clock });
      if (body.kind === 'stream') throw new TypeError('an operation of a batch answers with text');
      const answer = body.kind === 'text' ? body.text : '';
      bytes += Buffer.byteLength(answer);
      if (bytes > maxBytes) throw responseTooLarge(maxBytes);
      const fields = fieldsOf(index);
      if (fields !== undefined && answer !== '') records.set(index, await recordOf(answer, fields, sender));
      const id = call.id === '' ? numberText(records.get(index)?.id) : call.id;
      const text = answer === '' ? `{"status":${status}}` : `{"status":${status},${answer.slice(1)}`;
      return { status, id: id ?? null, text };
    });
}

/** Does one operation after the other. */
export async function inOrder(
  run: Run,
  linked: readonly LinkedItem[],
  fieldsOf: FieldsOf,
): Promise<readonly Outcome[]> {
  const perform = performer(run, fieldsOf);
  const outcomes: Outcome[] = [];
  for (const [index, one] of linked.entries()) outcomes.push(await perform(index, one, run.executor));
  return outcomes;
}

/** An operation has to ask once more after others were sent: what it would be told has to be told by those before alone. */
export class OutOfStep extends Error {
  constructor() {
    super('an operation asks again after others were sent');
    this.name = 'OutOfStep';
  }
}

/**
 * The same, but an operation waits only for the records that it refers to: its statement is sent after those of the ones
 * before it, while these are being answered. Most operations are one statement. One that is refused by what PostgreSQL or
 * the body says is refused as it would be in order; when one has to ask why, all of it must be done again in order, for
 * which this throws OutOfStep.
 */
export async function ahead(run: Run, linked: readonly LinkedItem[], fieldsOf: FieldsOf): Promise<readonly Outcome[]> {
  const perform = performer(run, fieldsOf);
  const { turn } = run.sender;
  const steps: { readonly step: Step; readonly outcome: Promise<Outcome> }[] = [];
  const begin = (index: number, one: LinkedItem) => {
    const step = makeStep(run.executor, () => steps.length <= index + 1);
    const outcome = perform(index, one, step.executor);
    steps.push({ step, outcome });
    return Promise.race([step.sent, outcome]);
  };
  try {
    for (const [index, one] of linked.entries()) {
      for (const from of sourcesOf(one)) await steps[from]?.outcome;
      if (!turn.hasTime()) await turn.next();
      const began = performance.now();
      await begin(index, one);
      turn.spent(performance.now() - began);
    }
  } catch {
    // What is thrown is found below, where those before it have been answered.
  }
  const outcomes = await Promise.allSettled(steps.map(({ outcome }) => outcome));
  return outcomes.map((outcome, index) => {
    if (outcome.status === 'fulfilled') return outcome.value;
    throw steps[index]?.step.isOut() === true ? new OutOfStep() : outcome.reason;
  });
}

const sourcesOf = ({ id, members }: LinkedItem): readonly number[] =>
  [...(id === undefined ? [] : [id]), ...members.values()].map(({ from }) => from);

/** The executor of one operation among others that are under way. */
interface Step {
  readonly executor: Executor;
  /** Resolves when it has given its first statement to the transaction. */
  readonly sent: Promise<void>;
  /** True when it had to ask again, and could not. */
  readonly isOut: () => boolean;
}

/** `isLast`: whether no operation was begun after it. */
function makeStep(executor: Executor, isLast: () => boolean): Step {
  const { promise: sent, resolve } = Promise.withResolvers<void>();
  let isOut = false;
  return {
    executor: {
      isTransaction: executor.isTransaction,
      run(query, lane, work) {
        if (!isLast()) {
          isOut = true;
          return Promise.reject(new OutOfStep());
        }
        const rows = executor.run(query, lane, work);
        resolve();
        return rows;
      },
    },
    sent,
    isOut: () => isOut,
  };
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
