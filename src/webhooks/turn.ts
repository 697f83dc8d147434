// One turn of a webhook while this process holds its lease: sends its messages in order, one at a time, until it has nothing
// to send, has to wait, or others wait for its place.

import type { EventReader } from '../data-api/event-reader.ts';
import type { Database } from '../database/pool.ts';
import { ApiError } from '../errors.ts';
import { openHeaders, type WebhookSeals } from '../store/webhook-seals.ts';
import {
  type Assignment,
  type AttemptRecord,
  disableInvalid,
  dropRedelivery,
  findRedelivery,
  loadPending,
  readWatermark,
  releaseWebhook,
  restWebhook,
  splitBatch,
  storeDelivered,
  storeFailed,
  storePassed,
  storeRedelivered,
  takeRange,
  type Watermark,
} from '../store/webhook-work.ts';
import { type MakeMessageId, makeOutgoing, type Outgoing, type OutgoingMessage } from './outgoing.ts';
import { getRetryMs } from './retry-schedule.ts';
import { type Message, type Outcome, type Receiver, type SendDeps, sendMessage } from './send.ts';

export interface TurnDeps extends SendDeps {
  readonly db: Database;
  readonly read: EventReader['read'];
  readonly seals: () => Promise<WebhookSeals>;
  readonly makeId: () => Promise<MakeMessageId>;
  readonly retrySeconds: readonly number[];
  readonly disableHours: number;
  readonly now: () => number;
  readonly random: () => number;
  /** Called after each attempt. `retryMs`: until the next one, or undefined if it was a success. */
  readonly onAttempt: (assignment: Assignment, outcome: Outcome, retryMs: number | undefined) => void;
  /** Called when the server itself has disabled the webhook. */
  readonly onDisabled: (assignment: Assignment) => Promise<void>;
}

export interface TurnOptions {
  /** Aborts the request under way, for a shutdown. */
  readonly signal: AbortSignal;
  /** Returns whether the turn is to end as soon as possible. */
  readonly isEnding: () => boolean;
  /** Returns whether other webhooks wait for this one's place. */
  readonly isCrowded: () => boolean;
}

// A webhook that always has something to send lets others have its place after this time.
const TURN_MS = 5000;
// A database that is away, or a workspace that is being changed, is tried again after this time.
const PAUSE_MS = 1000;
// Failed attempts after which a message may be at fault, and answered ones after which a batch is split.
const PASS_AFTER = 4;
const SPLIT_AFTER = 3;
const GONE = 410;

/** Sends messages until the lease is given back or lost. Does not reject. */
export async function runTurn(deps: TurnDeps, assignment: Assignment, options: TurnOptions): Promise<void> {
  const giveBack = (dueMs: number): Promise<void> =>
    releaseWebhook(deps.db, assignment, { dueMs }).catch(() => undefined);
  try {
    const turn = await openTurn(deps, assignment, options);
    await sendAll(turn, assignment);
  } catch (error) {
    if (isMistake(error)) {
      const ended = await disableInvalid(deps.db, assignment).catch(() => undefined);
      if (ended !== undefined) return deps.onDisabled(ended);
    }
    await giveBack(options.signal.aborted ? 0 : PAUSE_MS);
  }
}

/** Returns whether the schema does not have what the webhook is about. */
const isMistake = (error: unknown): boolean => error instanceof ApiError && error.status === 400;

interface Turn extends TurnDeps, TurnOptions {
  readonly outgoing: Outgoing;
  readonly watermark: () => Watermark | undefined;
  readonly openReceiver: (assignment: Assignment) => Receiver;
  readonly until: number;
}

async function openTurn(deps: TurnDeps, assignment: Assignment, options: TurnOptions): Promise<Turn> {
  const { db, read, now } = deps;
  const [seals, makeId, pending] = await Promise.all([deps.seals(), deps.makeId(), loadPending(db, assignment.id)]);
  let watermark: Watermark | undefined;
  const outgoing = makeOutgoing({ read, makeId, now }, pending, async () => {
    watermark = await readWatermark(db, assignment.workspaceId);
  });
  return {
    ...deps,
    ...options,
    outgoing,
    watermark: () => watermark,
    openReceiver: (one) => openReceiver(seals, one),
    until: performance.now() + TURN_MS,
  };
}

function openReceiver(
  seals: WebhookSeals,
  { workspaceId, url, headers, secret, previousSecret }: Assignment,
): Receiver {
  const open = (sealed: string | null): string[] => {
    const text = sealed === null ? undefined : seals.open(workspaceId, Buffer.from(sealed, 'base64'));
    return text === undefined ? [] : [text];
  };
  const values = Object.entries(openHeaders(seals, workspaceId, Buffer.from(headers, 'base64')));
  return {
    url,
    headers: Object.fromEntries(values.filter((entry): entry is [string, string] => entry[1] !== null)),
    secrets: [...open(secret), ...open(previousSecret)],
  };
}

async function sendAll(turn: Turn, start: Assignment): Promise<void> {
  const { db, outgoing } = turn;
  for (let current: Assignment | undefined = start; current !== undefined; ) {
    const isOver = performance.now() > turn.until && turn.isCrowded();
    if (turn.isEnding() || isOver || current.isSuspended) return releaseWebhook(db, current, { dueMs: 0 });
    if (!current.enabled) return releaseWebhook(db, current, { dueMs: null });
    if (current.hasRedeliveries) {
      current = await sendAgain(turn, current);
      continue;
    }
    const message = await outgoing.find(current, current.position ?? 0);
    if (message === undefined) {
      const [position, watermark] = [outgoing.end(), turn.watermark()];
      return restWebhook(db, current, { position, watermark });
    }
    current = await sendNext(turn, current, message);
  }
  // The lease is lost, or was given back: nothing to do unless another place was set meanwhile.
  await releaseWebhook(db, start, { dueMs: 0 });
}

const isSame = ({ first, last }: Assignment, message: OutgoingMessage): boolean =>
  first === message.first && last === message.last;

/** Sends the message that is next in turn; returns the webhook if it goes on. */
async function sendNext(turn: Turn, current: Assignment, message: OutgoingMessage): Promise<Assignment | undefined> {
  const { db, outgoing } = turn;
  const { position } = current;
  const place = { position: position ?? outgoing.end(), epoch: message.epoch };
  const held = isSame(current, message) ? current : await takeRange(db, current, message, place);
  if (held === undefined) return undefined;
  const outcome = await attempt(turn, held, message, Math.max(message.attempts, held.attempts) + 1);
  const record: AttemptRecord = { message, attempt: outcome.attempt, body: message.body };
  if (!outcome.isDelivered) return sendLater(turn, held, message, outcome);
  turn.onAttempt(held, outcome, undefined);
  return storeDelivered(db, held, { ...record, body: null }, outgoing.peek(held, message.last));
}

const attempt = (turn: Turn, held: Assignment, { id, body }: Pick<Message, 'id' | 'body'>, count: number) =>
  sendMessage(turn, turn.openReceiver(held), { id, body, attempt: count }, turn.signal);

/** Stores a failure, and lets the message wait; the next one may tell which of them is at fault. */
async function sendLater(
  turn: Turn,
  held: Assignment,
  message: OutgoingMessage,
  outcome: Outcome,
): Promise<Assignment | undefined> {
  const { db } = turn;
  const { status } = outcome.attempt;
  const count = held.attempts + 1;
  const retryMs = getRetryMs(turn.retrySeconds, count, outcome.retryAfterMs, turn.random());
  turn.onAttempt(held, outcome, retryMs);
  const mayPass = held.ordering === 'relaxed' && count > PASS_AFTER;
  const maySplit = message.events > 1 && count >= SPLIT_AFTER;
  const stored = await storeFailed(
    db,
    held,
    { message, attempt: outcome.attempt, body: message.body },
    { ...toFailure(turn, status, retryMs), isReleased: !mayPass && !maySplit, isProbe: false },
  );
  if (stored === undefined) return undefined;
  if (!stored.enabled) return stop(turn, stored);
  if (maySplit && Number(stored.answered) >= SPLIT_AFTER) {
    await splitBatch(db, stored, message);
    return undefined;
  }
  if (mayPass) return tryNext(turn, stored, message, retryMs);
  if (maySplit) await releaseWebhook(db, stored, { dueMs: retryMs });
  return undefined;
}

const toFailure = ({ disableHours }: Turn, status: number | null, retryMs: number) => ({
  retryMs,
  isGone: status === GONE,
  disableSeconds: disableHours * 3600,
});

async function stop(turn: Turn, stored: Assignment): Promise<undefined> {
  const { disabledReason } = stored;
  if (disabledReason === 'gone' || disabledReason === 'failing') await turn.onDisabled(stored);
  await releaseWebhook(turn.db, stored, { dueMs: null });
}

/** Tries the message after the one under way: when it is accepted, the receiver works, and the first one is given up. */
async function tryNext(
  turn: Turn,
  held: Assignment,
  current: OutgoingMessage,
  retryMs: number,
): Promise<Assignment | undefined> {
  const { db, outgoing } = turn;
  // Its own range is not that of the message under way.
  const next = await outgoing.find({ ...held, first: null, last: null }, current.last);
  if (next === undefined) {
    await releaseWebhook(db, held, { dueMs: retryMs });
    return undefined;
  }
  const outcome = await attempt(turn, held, next, next.attempts + 1);
  const record: AttemptRecord = { message: next, attempt: outcome.attempt, body: next.body };
  if (outcome.isDelivered) {
    turn.onAttempt(held, outcome, undefined);
    return storePassed(db, held, current, { ...record, body: null });
  }
  turn.onAttempt(held, outcome, retryMs);
  const { status } = outcome.attempt;
  const options = { ...toFailure(turn, status, retryMs), isReleased: true, isProbe: true };
  const stored = await storeFailed(db, held, record, options);
  if (stored !== undefined && !stored.enabled) await stop(turn, stored);
  return undefined;
}

/** Sends a message again out of turn. */
async function sendAgain(turn: Turn, current: Assignment): Promise<Assignment | undefined> {
  const { db, outgoing } = turn;
  const stored = await findRedelivery(db, current.id);
  if (stored === undefined) return { ...current, hasRedeliveries: false };
  const message = await outgoing.restore(current, stored);
  if (message === undefined) return dropRedelivery(db, current, stored);
  const outcome = await attempt(turn, current, message, message.attempts + 1);
  const { isDelivered } = outcome;
  turn.onAttempt(current, outcome, undefined);
  const record = { message, attempt: outcome.attempt, body: message.body };
  const { redeliverAt } = stored;
  const isGone = outcome.attempt.status === GONE;
  const next = await storeRedelivered(db, current, record, { isDelivered, isGone, redeliverAt });
  return next !== undefined && !next.enabled ? stop(turn, next) : next;
}
