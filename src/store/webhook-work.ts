// Statements of the processes that send messages of webhooks, on the control tables. A process sends for a webhook while it holds
// its lease: every statement says so, hence a process that was stopped and has lost it changes nothing any more. Times are
// those of PostgreSQL, so no clock of another machine counts.
import type { Database, Row } from '../database/pool.ts';
import { type Fragment, sql, toQuery } from '../sql/fragment.ts';
import { isFree, LEASE } from './lease.ts';
import { scopeNames } from './scopes.ts';
import type { Attempt } from './webhook-deliveries.ts';
import type { DisabledReason, WebhookType } from './webhooks.ts';

/** A webhook whose lease this process holds. */
export interface Assignment {
  readonly id: string;
  readonly lease: string;
  readonly workspaceId: string;
  /** Slugs. */
  readonly organization: string;
  readonly workspace: string;
  readonly name: string;
  readonly url: string;
  readonly entities: readonly string[] | null;
  readonly types: readonly WebhookType[];
  readonly fields: readonly string[] | null;
  /** JSON text. */
  readonly filter: string | null;
  readonly previous: boolean;
  readonly maxBatch: number;
  readonly ordering: 'relaxed' | 'strict';
  /** Sealed, in base64; `previousSecret` while it is in force. */
  readonly headers: string;
  readonly secret: string | null;
  readonly previousSecret: string | null;
  readonly enabled: boolean;
  readonly disabledReason: DisabledReason | null;
  readonly position: number | null;
  readonly epoch: string | null;
  /** The message under way. */
  readonly first: number | null;
  readonly last: number | null;
  readonly attempts: number;
  readonly singleUntil: number | null;
  /** Whether the workspace is suspended: nothing is sent until it is not. */
  readonly isSuspended: boolean;
  /** Whether messages are to be sent again out of turn. */
  readonly hasRedeliveries: boolean;
  /** Attempts of the message of the statement that were answered, by the log. */
  readonly answered?: number;
}

export type Held = Pick<Assignment, 'id' | 'lease' | 'workspaceId'>;

/** A message, without its text. */
export interface MessageKey {
  /** `msg_…` */
  readonly id: string;
  readonly type: string;
  readonly events: number;
  readonly first: number;
  readonly last: number;
  readonly epoch: string;
}

/** A message that was sent before. */
export interface StoredMessage extends MessageKey {
  readonly body: string | null;
  readonly attempts: number;
  /** Text of the time of a request to send it again, or null. */
  readonly redeliverAt: string | null;
}

/** Range of positions. */
export interface Range {
  readonly first: number;
  readonly last: number;
}

/** State of a workspace before events were looked for: the last number of its changes, and open transactions. */
export interface Watermark {
  readonly sequence: string;
  readonly snapshot: string;
}

// Attempts that the log of a message keeps.
const MAX_LOG = 50;

const base64 = (column: Fragment): Fragment => sql`translate(encode(${column}, 'base64'), chr(10), '')`;

/** Renders an Assignment as JSON. `w`: the row of the webhook, `s` and `o` those of its workspace and organization. */
const ASSIGNMENT = sql`json_build_object('id', w.id::text, 'lease', w.lease, 'workspaceId', w.workspace_id::text, 'organization', o.slug,
  'workspace', s.slug, 'name', w.name, 'url', w.url, 'entities', (select n.entities from (select ${scopeNames(sql`w`)}) n),
  'types', w.types, 'fields', w.fields, 'filter', w.filter::text, 'previous', w.previous, 'maxBatch', w.max_batch, 'ordering', w.ordering,
  'headers', ${base64(sql`w.headers`)}, 'secret', ${base64(sql`w.secret`)},
  'previousSecret', case when w.previous_secret_until > clock_timestamp() then ${base64(sql`w.previous_secret`)} end,
  'enabled', w.enabled, 'disabledReason', w.disabled_reason, 'position', w.position, 'epoch', w.epoch, 'first', w.first_position,
  'last', w.last_position, 'attempts', w.attempts, 'singleUntil', w.single_until,
  'isSuspended', s.state = 'suspended',
  'hasRedeliveries', exists (select from wda.webhook_delivery r where r.webhook_id = w.id and r.redeliver_at is not null))`;

const FROM_W = sql`from w join wda.workspace s on s.id = w.workspace_id join wda.organization o on o.id = s.organization_id`;

/** Renders the last number of the changes of the workspace `s`; 0 before the first change, and on a node of a cluster. */
const SEQUENCE = sql`coalesce((select pg_sequence_last_value(c.oid) from pg_catalog.pg_namespace n
  join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = '$change_seq' and c.relkind = 'S'
  where n.nspname = s.database_schema), 0)`;

export interface ClaimOptions {
  readonly limit: number;
  /** Ids of webhooks for which this process still sends, though it may have lost the lease. */
  readonly busy: readonly string[];
  /** Ids of workspaces for which this process sends as much as it may. */
  readonly full: readonly string[];
  /** Whether changes may be where no number of them is seen, so that every webhook has to look for them. */
  readonly isBlind: boolean;
}

/**
 * Takes the leases of webhooks that have something to do: it is due, or their workspace has changes that were not there, or
 * not committed, when they last looked for some.
 */
export async function claimWebhooks(
  db: Database,
  { limit, busy, full, isBlind }: ClaimOptions,
): Promise<readonly Assignment[]> {
  const hasChanges = sql`(${SEQUENCE} > coalesce(w.watched_sequence, -1) or exists (
    select from pg_snapshot_xip(w.watched_snapshot) x where pg_visible_in_snapshot(x, pg_current_snapshot())))`;
  const rows = await db.query<{ one: Assignment }>(
    toQuery(sql`with due as materialized (
  select w.id from wda.webhook w join wda.workspace s on s.id = w.workspace_id
  where w.enabled and s.state <> 'suspended' and (w.due_at <= clock_timestamp() or (w.due_at is null and (${isBlind}::bool or ${hasChanges}))
      or w.id in (select r.webhook_id from wda.webhook_delivery r where r.redeliver_at is not null))
    and ${isFree(sql`w`)} and w.workspace_id <> all(${full}::bigint[])
    and w.id <> all(${busy}::bigint[])
  order by w.due_at nulls last limit ${limit}::int4 for no key update of w skip locked
), w as (
  update wda.webhook w set lease = gen_random_uuid(), lease_until = ${LEASE}, due_at = clock_timestamp()
  from due where w.id = due.id returning w.*
) select ${ASSIGNMENT} as one ${FROM_W}`),
  );
  return rows.map(({ one }) => one);
}

/** Prolongs leases; returns those that are still held. */
export async function renewLeases(db: Database, held: readonly Held[]): Promise<ReadonlySet<string>> {
  const rows = await db.query<{ lease: string }>(
    toQuery(sql`update wda.webhook w set lease_until = ${LEASE}
from unnest(${held.map(({ id }) => id)}::bigint[], ${held.map(({ lease }) => lease)}::uuid[]) h (id, lease)
where w.id = h.id and w.lease = h.lease returning w.lease`),
  );
  return new Set(rows.map(({ lease }) => lease));
}

/** Gives a lease back. `dueMs`: until there is something to do; null: when the workspace changes. */
export async function releaseWebhook(
  db: Database,
  { id, lease }: Held,
  { dueMs }: { readonly dueMs: number | null },
): Promise<void> {
  await db.query(
    toQuery(
      sql`update wda.webhook set lease = null, lease_until = null, due_at = ${renderDue(dueMs)} where id = ${id} and lease = ${lease}::uuid`,
    ),
  );
}

/** Gives a lease back as there is nothing to send up to the position. */
export async function restWebhook(
  db: Database,
  { id, lease }: Held,
  { position, watermark }: { readonly position: number; readonly watermark: Watermark | undefined },
): Promise<void> {
  const { sequence = null, snapshot = null } = watermark ?? {};
  await db.query(
    toQuery(sql`with w as (
  update wda.webhook set lease = null, lease_until = null, due_at = null, position = ${String(position)}::int8, first_position = null,
    last_position = null, attempts = 0, watched_sequence = ${sequence}::int8, watched_snapshot = ${snapshot}::pg_snapshot
  where id = ${id} and lease = ${lease}::uuid returning id
), ${discardPending(sql`true`)} select 1`),
  );
}

/** Renders the part that gives up messages that are not sent any more, as the webhook has another filter now. */
const discardPending = (condition: Fragment): Fragment =>
  sql`f as (update wda.webhook_delivery f set state = 'discarded', body = null, next_attempt_at = null from w
  where f.webhook_id = w.id and f.state = 'pending' and ${condition})`;

const renderDue = (dueMs: number | null): Fragment =>
  sql`clock_timestamp() + make_interval(secs => ${dueMs === null ? null : dueMs / 1000}::float8)`;

/** Reads the numbers of changes first, then the open transactions: what has no number yet is by one of these, or later. */
export async function readWatermark(db: Database, workspaceId: string): Promise<Watermark> {
  const options = { tenant: workspaceId };
  const sequence = toQuery(
    sql`select ${SEQUENCE}::text from wda.workspace s where s.id = ${workspaceId}`,
    'webhook.seq',
  );
  const [numbers] = await db.run(sequence, 'write', options);
  const snapshot = toQuery(sql`select pg_current_snapshot()::text`, 'webhook.snapshot');
  const [transactions] = await db.run(snapshot, 'write', options);
  return { sequence: numbers?.[0] ?? '0', snapshot: transactions?.[0] ?? '' };
}

const KEY = sql`d.message_id as id, d.type, d.events, d.first_position::float8 as first, d.last_position::float8 as last, d.epoch, d.body,
  d.attempts, d.redeliver_at::text as "redeliverAt"`;

/** Loads the messages that wait for another attempt: the one under way, and one after it. */
export function loadPending(db: Database, webhookId: string): Promise<readonly StoredMessage[]> {
  return db.query<StoredMessage>(
    toQuery(sql`select ${KEY} from wda.webhook_delivery d where d.webhook_id = ${webhookId} and d.state = 'pending'`),
  );
}

/** Loads the oldest message that is to be sent again out of turn. */
export async function findRedelivery(db: Database, webhookId: string): Promise<StoredMessage | undefined> {
  const [row] = await db.query<StoredMessage>(
    toQuery(sql`select ${KEY} from wda.webhook_delivery d
where d.webhook_id = ${webhookId} and d.redeliver_at is not null order by d.id limit 1`),
  );
  return row;
}

const readAssignment = (rows: readonly Row[]): Assignment | undefined =>
  rows[0]?.[0] === undefined || rows[0][0] === null ? undefined : JSON.parse(rows[0][0]);

/** Runs a statement whose part `w` has changed the webhook; undefined when the lease is lost. */
async function runHeld(
  db: Database,
  { workspaceId }: Held,
  { w, parts = [], answered = sql`null`, name }: HeldStatement,
): Promise<Assignment | undefined> {
  const others = parts.reduce((all, part) => sql`${all}, ${part}`, sql``);
  const one = sql`jsonb_build_object('answered', ${answered}) || (${ASSIGNMENT})::jsonb`;
  const query = toQuery(sql`with w as (${w} returning w.*)${others} select (${one})::text ${FROM_W}`, name);
  return readAssignment(await db.run(query, 'write', { tenant: workspaceId }));
}

interface HeldStatement {
  readonly w: Fragment;
  readonly parts?: readonly Fragment[];
  readonly answered?: Fragment;
  readonly name: string;
}

const isHeld = ({ id, lease }: Held): Fragment => sql`w.id = ${id} and w.lease = ${lease}::uuid`;
const isUnderWay = ({ first, last }: Range): Fragment =>
  sql`w.first_position = ${String(first)}::int8 and w.last_position = ${String(last)}::int8`;

/** Takes the range of the next message, before its first attempt. `position`: up to it there was nothing to send. */
export const takeRange = (
  db: Database,
  held: Held,
  { first, last }: Range,
  { position, epoch }: { readonly position: number; readonly epoch: string },
): Promise<Assignment | undefined> =>
  runHeld(db, held, {
    name: 'webhook.take',
    w: sql`update wda.webhook w set position = ${String(position)}::int8, epoch = ${epoch}, first_position = ${String(first)}::int8,
  last_position = ${String(last)}::int8, attempts = 0 where ${isHeld(held)} and w.enabled`,
    parts: [
      discardPending(sql`f.first_position <> ${String(first)}::int8 and f.last_position <= ${String(last)}::int8`),
    ],
  });

/** An attempt with its message. */
export interface AttemptRecord {
  readonly message: MessageKey;
  readonly attempt: Attempt;
  /** Text to keep, for another attempt. */
  readonly body: string | null;
}

/** Stores a delivered message and moves the webhook past it, to the next range if there is one. */
export const storeDelivered = (
  db: Database,
  held: Held,
  record: AttemptRecord,
  next: Range | undefined,
): Promise<Assignment | undefined> => {
  const { message, attempt } = record;
  const place = (position: number | undefined): Fragment =>
    sql`case when w.enabled then ${position === undefined ? null : String(position)}::int8 end`;
  return runHeld(db, held, {
    name: 'webhook.delivered',
    w: sql`update wda.webhook w set ${moveBehind(message)}, first_position = ${place(next?.first)}, last_position = ${place(next?.last)},
  due_at = clock_timestamp(), last_attempt_at = clock_timestamp(), last_status = ${attempt.status}::int4 where ${isHeld(held)} and ${isUnderWay(message)}`,
    parts: [storeAttempt(record, 'delivered', null)],
  });
};

const moveBehind = ({ last, epoch }: MessageKey): Fragment =>
  sql`position = ${String(last)}::int8, epoch = ${epoch}, attempts = 0, failures = 0, failing_since = null,
  single_until = case when w.single_until > ${String(last)}::int8 then w.single_until end`;

export interface FailureOptions {
  /** Milliseconds until the next attempt. */
  readonly retryMs: number;
  /** Whether the receiver is gone for good. */
  readonly isGone: boolean;
  /** Seconds of failures without a success after which the webhook is disabled; 0: never. */
  readonly disableSeconds: number;
  /** Whether the lease is given back. */
  readonly isReleased: boolean;
}

/**
 * Stores a failed attempt of the message under way, or of the one after it (`isProbe`). Disables the webhook when the
 * receiver is gone, or has failed for long.
 */
export function storeFailed(
  db: Database,
  held: Held,
  record: AttemptRecord,
  options: FailureOptions & { readonly isProbe: boolean },
): Promise<Assignment | undefined> {
  const { message, attempt } = record;
  const { retryMs, isProbe } = options;
  const attempts = isProbe ? sql`` : sql`attempts = w.attempts + 1, due_at = ${renderDue(retryMs)},`;
  return runHeld(db, held, {
    name: `webhook.failed.${isProbe}`,
    w: sql`update wda.webhook w set ${attempts} ${countFailure(attempt, options)}
where ${isHeld(held)} and ${isProbe ? sql`w.first_position is not null` : isUnderWay(message)}`,
    parts: [storeAttempt(record, 'pending', retryMs)],
    answered: sql`(select count(*) from d, jsonb_array_elements(d.attempt_log::jsonb) a where a -> 'status' <> 'null')`,
  });
}

function countFailure({ status }: Attempt, { isGone, disableSeconds, isReleased }: FailureOptions): Fragment {
  const isTooLong = sql`(${disableSeconds}::float8 > 0 and clock_timestamp() - w.failing_since > make_interval(secs => ${disableSeconds}::float8))`;
  const isEnded = sql`(${isGone}::bool or coalesce(${isTooLong}, false))`;
  return sql`failures = w.failures + 1, failing_since = coalesce(w.failing_since, clock_timestamp()), last_attempt_at = clock_timestamp(),
  last_status = ${status}::int4, ${disable(isEnded, sql`case when ${isGone}::bool then 'gone' else 'failing' end`)},
  lease = case when not ${isReleased}::bool then w.lease end, lease_until = case when not ${isReleased}::bool then w.lease_until end`;
}

const disable = (isEnded: Fragment, reason: Fragment): Fragment =>
  sql`enabled = w.enabled and not ${isEnded}, disabled_reason = case when w.enabled and ${isEnded} then ${reason} else w.disabled_reason end`;

/** Gives the message under way up, as the one after it was accepted: the receiver works. */
export const storePassed = (
  db: Database,
  held: Held,
  current: MessageKey,
  record: AttemptRecord,
): Promise<Assignment | undefined> =>
  runHeld(db, held, {
    name: 'webhook.passed',
    w: sql`update wda.webhook w set ${moveBehind(record.message)}, first_position = null, last_position = null, due_at = clock_timestamp(),
  last_attempt_at = clock_timestamp(), last_status = ${record.attempt.status}::int4 where ${isHeld(held)} and ${isUnderWay(current)}`,
    parts: [
      sql`f as (update wda.webhook_delivery f set state = 'failed', next_attempt_at = null from w
  where f.webhook_id = w.id and f.message_id = ${current.id} and f.state = 'pending')`,
      storeAttempt(record, 'delivered', null),
    ],
  });

/** Gives a batch up that was refused, whose events are sent one by one when its next attempt was due, and the lease back. */
export const splitBatch = (db: Database, held: Held, current: MessageKey): Promise<Assignment | undefined> =>
  runHeld(db, held, {
    name: 'webhook.split',
    w: sql`update wda.webhook w set single_until = w.last_position, first_position = null, last_position = null, attempts = 0, lease = null,
  lease_until = null where ${isHeld(held)} and ${isUnderWay(current)}`,
    parts: [discardPending(sql`f.message_id = ${current.id}`)],
  });

/** Stores an attempt out of turn. One that failed is no failure of the webhook, but that the receiver is gone. */
export const storeRedelivered = (
  db: Database,
  held: Held,
  { message, attempt, body }: AttemptRecord,
  { isDelivered, isGone, redeliverAt }: Redelivered,
): Promise<Assignment | undefined> =>
  runHeld(db, held, {
    name: 'webhook.redelivered',
    w: sql`update wda.webhook w set last_attempt_at = clock_timestamp(), last_status = ${attempt.status}::int4,
  failing_since = case when not ${isDelivered}::bool then w.failing_since end, ${disable(sql`${isGone}::bool`, sql`'gone'`)} where ${isHeld(held)}`,
    parts: [
      sql`d as (update wda.webhook_delivery d set state = case when ${isDelivered}::bool then 'delivered' when d.state = 'delivered' then d.state else 'failed' end,
  delivered_at = case when ${isDelivered}::bool then clock_timestamp() else d.delivered_at end, next_attempt_at = null,
  body = case when not ${isDelivered}::bool and d.state <> 'delivered' then ${body} end, attempts = d.attempts + 1, attempt_log = ${addToLog(attempt)},
  last_status = ${attempt.status}::int4, last_error = ${attempt.error}, ${forgetRequest(redeliverAt)}
from w where d.webhook_id = w.id and d.message_id = ${message.id} returning d.attempt_log)`,
    ],
  });

interface Redelivered {
  readonly isDelivered: boolean;
  readonly isGone: boolean;
  readonly redeliverAt: string | null;
}

/** Forgets the request to send a message again, as its changes are gone. */
export const dropRedelivery = (
  db: Database,
  held: Held,
  { id, redeliverAt }: StoredMessage,
): Promise<Assignment | undefined> =>
  runHeld(db, held, {
    name: 'webhook.dropped',
    w: sql`update wda.webhook w set due_at = clock_timestamp() where ${isHeld(held)}`,
    parts: [
      sql`d as (update wda.webhook_delivery d set ${forgetRequest(redeliverAt)} from w where d.webhook_id = w.id and d.message_id = ${id})`,
    ],
  });

/** A request that came meanwhile stays. */
const forgetRequest = (redeliverAt: string | null): Fragment =>
  sql`redeliver_at = case when d.redeliver_at <> ${redeliverAt}::timestamptz then d.redeliver_at end`;

const addToLog = (attempt: Attempt): Fragment =>
  sql`((case when json_array_length(d.attempt_log) >= ${MAX_LOG}::int4 then d.attempt_log::jsonb - 0 else d.attempt_log::jsonb end)
    || ${JSON.stringify([attempt])}::jsonb)::json`;

/** Renders the part `d`, which adds an attempt to the log of messages. */
function storeAttempt(
  { message, attempt, body }: AttemptRecord,
  state: 'delivered' | 'pending',
  retryMs: number | null,
): Fragment {
  const { id, type, events, first, last, epoch } = message;
  return sql`d as (insert into wda.webhook_delivery as d (webhook_id, message_id, type, events, first_position, last_position, epoch, state, attempts,
  attempt_log, body, last_status, last_error, delivered_at, next_attempt_at)
select w.id, ${id}, ${type}, ${events}::int4, ${String(first)}::int8, ${String(last)}::int8, ${epoch}, ${state}, 1, ${JSON.stringify([attempt])}::json,
  ${body}, ${attempt.status}::int4, ${attempt.error}, ${state === 'delivered' ? sql`clock_timestamp()` : sql`null`}, ${renderDue(retryMs)} from w
on conflict (webhook_id, message_id) do update set state = excluded.state, attempts = d.attempts + 1, attempt_log = ${addToLog(attempt)},
  body = excluded.body, last_status = excluded.last_status, last_error = excluded.last_error, delivered_at = excluded.delivered_at,
  next_attempt_at = excluded.next_attempt_at returning d.attempt_log)`;
}

/**
 * Disables a webhook whose fields are gone, and gives its lease back; undefined when it was changed meanwhile, by an
 * administrator or since fields were renamed.
 */
export const disableInvalid = (
  db: Database,
  held: Held & Pick<Assignment, 'fields' | 'filter'>,
): Promise<Assignment | undefined> =>
  runHeld(db, held, {
    name: 'webhook.invalid',
    w: sql`update wda.webhook w set enabled = false, disabled_reason = coalesce(w.disabled_reason, 'invalid'), lease = null, lease_until = null
where ${isHeld(held)} and w.fields is not distinct from ${held.fields}::text[] and w.filter::text is not distinct from ${held.filter}::text`,
  });

/* ---- the whole installation ---- */

/** Loads the number of enabled webhooks by workspace. */
export async function countEnabled(db: Database): Promise<ReadonlyMap<string, number>> {
  const rows = await db.query<{ id: string; count: string }>(
    toQuery(sql`select workspace_id as id, count(*) as count from wda.webhook where enabled group by workspace_id`),
  );
  return new Map(rows.map(({ id, count }) => [id, Number(count)]));
}

/** Loads the number of webhooks by state. */
export async function countStates(db: Database): Promise<Readonly<Record<string, number>>> {
  const rows = await db.query<{ state: string; count: string }>(
    toQuery(sql`select case when not enabled then 'disabled' when failures > 0 then 'failing' else 'ok' end as state, count(*) as count
from wda.webhook group by 1`),
  );
  return {
    ok: 0,
    failing: 0,
    disabled: 0,
    ...Object.fromEntries(rows.map(({ state, count }) => [state, Number(count)])),
  };
}

/** A webhook that has something to send. */
export interface WaitingWebhook {
  readonly id: string;
  readonly workspaceId: string;
  readonly schema: string;
  readonly position: string;
}

/** Loads webhooks that have something to send, those first that have failed for the longest time. */
export function loadWaiting(db: Database, limit: number): Promise<readonly WaitingWebhook[]> {
  return db.query<WaitingWebhook>(
    toQuery(sql`select w.id, w.workspace_id as "workspaceId", s.database_schema as schema, w.position
from wda.webhook w join wda.workspace s on s.id = w.workspace_id
where w.enabled and w.position is not null and (w.due_at is not null or w.lease is not null)
order by w.failing_since nulls last, w.due_at limit ${limit}::int4`),
  );
}

/** Failed messages stay for this time at least. */
const FAILED_DAYS = 30;
const DELETE_BATCH_SIZE = 20_000;

/** Deletes messages that are older than so many days, some at once; returns whether there may be more. */
export async function removeDeliveries(db: Database, days: number): Promise<boolean> {
  const isOld = (count: number): Fragment => sql`created_at < now() - make_interval(days => ${count}::int4)`;
  const [row] = await db.query<{ count: string }>(
    toQuery(sql`with r as (delete from wda.webhook_delivery where id in (
  select id from wda.webhook_delivery
  where ${isOld(days)} and redeliver_at is null and (state in ('delivered', 'discarded') or (state = 'failed' and ${isOld(Math.max(days, FAILED_DAYS))}))
  order by created_at limit ${DELETE_BATCH_SIZE}::int4 for update skip locked
) returning 1) select count(*) as count from r`),
  );
  return Number(row?.count ?? 0) >= DELETE_BATCH_SIZE;
}
