// The messages of webhooks in the control tables, for administrators: list, send again, give up.
import type { Session } from '../database/pool.ts';
import { type Fragment, join, sql, toQuery } from '../sql/fragment.ts';

export const DELIVERY_STATES = ['pending', 'delivered', 'failed', 'discarded'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** A message, without its body and attempts. */
export interface Delivery {
  readonly id: string;
  /** The header `webhook-id`: `msg_` and a hash. */
  readonly messageId: string;
  readonly type: string;
  readonly events: number;
  readonly state: DeliveryState;
  readonly attempts: number;
  readonly lastStatus: number | null;
  readonly lastError: string | null;
  readonly createdAt: Date;
  readonly deliveredAt: Date | null;
  readonly nextAttemptAt: Date | null;
}

/** An attempt to send a message. */
export interface Attempt {
  /** ISO 8601. */
  readonly at: string;
  readonly status: number | null;
  readonly error: string | null;
  readonly durationMs: number;
  /** The first 2,048 bytes as text; null when the answer came from a private address, or there was none. */
  readonly responseBody: string | null;
}

export interface DeliveryWithBody extends Delivery {
  /** Digits of the first and the last position. */
  readonly firstPosition: string;
  readonly lastPosition: string;
  readonly epoch: string;
  /** The text that is sent; null for a delivered message. */
  readonly body: string | null;
  readonly attemptLog: readonly Attempt[];
}

type Queryable = Pick<Session, 'query'>;

const COLUMNS: Fragment = sql`d.id, d.message_id as "messageId", d.type, d.events, d.state, d.attempts, d.last_status as "lastStatus",
  d.last_error as "lastError", d.created_at as "createdAt", d.delivered_at as "deliveredAt", d.next_attempt_at as "nextAttemptAt"`;

/** Loads messages of a webhook, the newest first, with ids below `before`. */
export function loadDeliveries(
  db: Queryable,
  webhookId: string,
  filter: { readonly state: DeliveryState | undefined; readonly before: string | undefined; readonly limit: number },
): Promise<readonly Delivery[]> {
  const conditions: Fragment[] = [
    sql`d.webhook_id = ${webhookId}`,
    ...(filter.state === undefined ? [] : [sql`d.state = ${filter.state}`]),
    ...(filter.before === undefined ? [] : [sql`d.id < ${filter.before}`]),
  ];
  return db.query<Delivery>(
    toQuery(
      sql`select ${COLUMNS} from wda.webhook_delivery d where ${join(conditions, ' and ')} order by d.id desc limit ${filter.limit}`,
    ),
  );
}

export async function findDelivery(
  db: Queryable,
  webhookId: string,
  id: string,
): Promise<DeliveryWithBody | undefined> {
  const rows = await db.query<DeliveryWithBody>(
    toQuery(sql`select ${COLUMNS}, d.first_position as "firstPosition", d.last_position as "lastPosition", d.epoch, d.body,
  d.attempt_log as "attemptLog"
from wda.webhook_delivery d where d.id = ${id} and d.webhook_id = ${webhookId}`),
  );
  return rows[0];
}

/** Requests that a message is sent again, out of turn. A pending one is due at once. */
export async function redeliver(session: Queryable, webhookId: string, id: string): Promise<Delivery | undefined> {
  const rows = await session.query<Delivery>(
    toQuery(sql`with due as (update wda.webhook set due_at = now() where id = ${webhookId})
update wda.webhook_delivery d set redeliver_at = case when state <> 'pending' then clock_timestamp() end
where d.id = ${id} and d.webhook_id = ${webhookId}
returning ${COLUMNS}`),
  );
  return rows[0];
}

/** Requests that all failed messages are sent again, the oldest first; returns their number. */
export async function redeliverFailed(session: Queryable, webhookId: string): Promise<number> {
  const rows = await session.query<{ count: string }>(
    toQuery(sql`with due as (update wda.webhook set due_at = now() where id = ${webhookId}),
again as (
  update wda.webhook_delivery set redeliver_at = clock_timestamp() where webhook_id = ${webhookId} and state = 'failed' returning 1
)
select count(*) as count from again`),
  );
  return Number(rows[0]?.count ?? 0);
}

/**
 * Gives up a pending message, and its webhook goes on after it; undefined if it is not pending. The process that sends it
 * does not move the place any more.
 */
export async function discardDelivery(
  session: Queryable,
  webhookId: string,
  id: string,
): Promise<Delivery | undefined> {
  const rows = await session.query<Delivery>(
    toQuery(sql`update wda.webhook_delivery d set state = 'discarded', body = null, next_attempt_at = null
where d.id = ${id} and d.webhook_id = ${webhookId} and d.state = 'pending'
returning ${COLUMNS}`),
  );
  if (rows[0] !== undefined) {
    await session.query(
      toQuery(sql`update wda.webhook w set position = d.last_position, first_position = null, last_position = null, attempts = 0,
  due_at = now(), lease = null, lease_until = null
from wda.webhook_delivery d
where w.id = ${webhookId} and d.id = ${id} and w.first_position = d.first_position and w.last_position = d.last_position`),
    );
  }
  return rows[0];
}

/**
 * Removes the texts of messages about a record, which are made of its changes again. A text is searched for the id alone, as
 * the entity may have had another name.
 */
export async function removeBodies(session: Queryable, workspaceId: string, recordId: string): Promise<void> {
  await session.query(
    toQuery(sql`update wda.webhook_delivery d set body = null from wda.webhook w
where w.id = d.webhook_id and w.workspace_id = ${workspaceId} and strpos(d.body, ${`"recordId":${recordId},`}) > 0`),
  );
}
