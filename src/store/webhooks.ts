// Webhooks of a workspace in the control tables: create, list, change and delete, and from where they go on.
import type { Session } from '../database/pool.ts';
import { conflict } from '../errors.ts';
import type { Scope } from '../model/principal.ts';
import { empty, type Fragment, sql, toQuery } from '../sql/fragment.ts';
import type { Actor } from './activity.ts';
import { isViolation, makeNameConflict } from './control-error.ts';
import { loadPage, type PageOf } from './pages.ts';
import { scopeNames } from './scopes.ts';

export type WebhookType = 'created' | 'updated' | 'removed' | 'schema';
export type DisabledReason = 'administrator' | 'failing' | 'gone' | 'restored' | 'invalid';

/** Members that an administrator sets. */
export interface WebhookSettings {
  readonly name: string;
  readonly url: string;
  readonly types: readonly WebhookType[];
  /** Names of fields of the only entity; null for the default selection. */
  readonly fields: readonly string[] | null;
  /** JSON text of a filter of the only entity; numbers keep their digits. */
  readonly filter: string | null;
  readonly previous: boolean;
  readonly maxBatch: number;
  readonly ordering: 'relaxed' | 'strict';
  readonly headerNames: readonly string[];
  /** Sealed JSON of the headers (webhook-seals.ts); empty after a restore. */
  readonly headers: Buffer;
  readonly enabled: boolean;
}

export interface Webhook extends WebhookSettings {
  readonly id: string;
  readonly workspaceId: string;
  /** Names of the entities; null for all that keep changes. */
  readonly entities: readonly string[] | null;
  /** Sealed; null after a restore. */
  readonly secret: Buffer | null;
  readonly previousSecret: Buffer | null;
  readonly previousSecretUntil: Date | null;
  readonly disabledReason: DisabledReason | null;
  /** Digits of the position up to which everything is done; null: it begins when it is enabled. */
  readonly position: string | null;
  readonly epoch: string | null;
  readonly failures: number;
  readonly dueAt: Date | null;
  readonly lastAttemptAt: Date | null;
  readonly lastStatus: number | null;
  readonly createdAt: Date;
  readonly createdBy: Actor | null;
}

/** Selects a Webhook. `w`: the alias of its table in the statement. */
export const WEBHOOK_COLUMNS: Fragment = sql`w.id, w.workspace_id as "workspaceId", w.name, w.url, ${scopeNames(sql`w`)}, w.types, w.fields,
  w.filter::text as filter, w.previous, w.max_batch as "maxBatch", w.ordering, w.header_names as "headerNames", w.headers, w.secret,
  w.previous_secret as "previousSecret", w.previous_secret_until as "previousSecretUntil", w.enabled,
  w.disabled_reason as "disabledReason", w.position, w.epoch, w.failures, w.due_at as "dueAt",
  w.last_attempt_at as "lastAttemptAt", w.last_status as "lastStatus", w.created_at as "createdAt", w.created_by as "createdBy"`;

/** A place in the feed of a workspace. */
export interface WebhookPlace {
  /** Digits of the position after which events are sent. */
  readonly position: string;
  readonly epoch: string;
}

export interface WebhookToStore extends WebhookSettings {
  readonly workspaceId: string;
  readonly scope: Scope;
  readonly secret: Buffer;
  readonly place: WebhookPlace;
  readonly createdBy: Actor | null;
}

type Queryable = Pick<Session, 'query'>;

// Limit for each workspace.
const MAX_WEBHOOKS = 50;

/** Creates a webhook; undefined if the workspace does not exist; 409 for a name in use, and at the maximum number. */
export async function createWebhook(session: Queryable, webhook: WebhookToStore): Promise<Webhook | undefined> {
  const { workspaceId, name, url, scope, types, fields, filter, previous, maxBatch, ordering } = webhook;
  const { headerNames, headers, secret, enabled, place, createdBy } = webhook;
  // A statement of its own: one that waits for the lock counts in its snapshot of before.
  await session.query(toQuery(sql`select from wda.workspace where id = ${workspaceId} for no key update`));
  const rows = await session
    .query<Webhook>(
      toQuery(sql`with held as (
  select id from wda.workspace where id = ${workspaceId}
  and (select count(*) from wda.webhook o where o.workspace_id = ${workspaceId}) < ${MAX_WEBHOOKS}::int8
)
insert into wda.webhook as w (workspace_id, name, url, entities, types, fields, filter, previous, max_batch, ordering, header_names, headers, secret,
  enabled, disabled_reason, position, epoch, created_by)
select held.id, ${name}, ${url}, ${scope}::bigint[], ${types}::text[], ${fields}::text[], ${filter}::json, ${previous}, ${maxBatch}, ${ordering},
  ${headerNames}::text[], ${headers}, ${secret}, ${enabled}, ${enabled ? null : 'administrator'}, ${place.position}::int8, ${place.epoch},
  ${createdBy === null ? null : JSON.stringify(createdBy)}::jsonb
from held
returning ${WEBHOOK_COLUMNS}`),
    )
    .catch((error) => rethrowNameConflict(error, name));
  if (rows[0] === undefined && (await loadWebhooks(session, workspaceId, { page: 0, size: 1 })).total > 0) {
    throw conflict('TOO_MANY_WEBHOOKS', `A workspace has at most ${MAX_WEBHOOKS} webhooks: delete one first`);
  }
  return rows[0];
}

function rethrowNameConflict(error: unknown, name: string): never {
  throw isViolation(error, 'webhook_name') ? makeNameConflict(`Webhook ${name}`, 'name', error) : error;
}

export function loadWebhooks(
  db: Queryable,
  workspaceId: string,
  page: { readonly page: number; readonly size: number },
): Promise<PageOf<Webhook>> {
  return loadPage(db, sql`select ${WEBHOOK_COLUMNS} from wda.webhook w where w.workspace_id = ${workspaceId}`, page);
}

export async function findWebhook(db: Queryable, workspaceId: string, id: string): Promise<Webhook | undefined> {
  return (await db.query<Webhook>(toQuery(selectWebhook(workspaceId, id))))[0];
}

/** Locks a webhook until the end of the transaction; undefined if the workspace has no such webhook. */
export async function lockWebhook(session: Queryable, workspaceId: string, id: string): Promise<Webhook | undefined> {
  return (await session.query<Webhook>(toQuery(sql`${selectWebhook(workspaceId, id)} for no key update of w`)))[0];
}

const selectWebhook = (workspaceId: string, id: string): Fragment =>
  sql`select ${WEBHOOK_COLUMNS} from wda.webhook w where w.id = ${id} and w.workspace_id = ${workspaceId}`;

/**
 * Replaces what an administrator sets. `scope`: undefined leaves entities, fields and filter as they are. `place`: where it
 * begins, unless it has a place.
 */
export async function updateWebhook(
  session: Queryable,
  id: string,
  webhook: WebhookSettings & { readonly scope: Scope | undefined; readonly place: WebhookPlace | undefined },
): Promise<Webhook> {
  const {
    name,
    url,
    scope,
    types,
    fields,
    filter,
    previous,
    maxBatch,
    ordering,
    headerNames,
    headers,
    enabled,
    place,
  } = webhook;
  const selection =
    scope === undefined
      ? empty
      : sql`entities = ${scope}::bigint[], fields = ${fields}::text[], filter = ${filter}::json, `;
  const rows = await session
    .query<Webhook>(
      toQuery(sql`update wda.webhook w set name = ${name}, url = ${url}, types = ${types}::text[], ${selection}previous = ${previous}, max_batch = ${maxBatch}, ordering = ${ordering},
  header_names = ${headerNames}::text[], headers = ${headers}, enabled = ${enabled}::bool,
  disabled_reason = case when not ${enabled}::bool then coalesce(w.disabled_reason, 'administrator') end,
  position = coalesce(w.position, ${place?.position ?? null}::int8), epoch = coalesce(w.epoch, ${place?.epoch ?? null}),
  failures = case when ${enabled}::bool and not w.enabled then 0 else w.failures end,
  failing_since = case when ${enabled}::bool and not w.enabled then null else w.failing_since end,
  due_at = case when ${enabled}::bool and (not w.enabled or w.url <> ${url} or w.headers <> ${headers}) then now() else w.due_at end
where w.id = ${id}
returning ${WEBHOOK_COLUMNS}`),
    )
    .catch((error) => rethrowNameConflict(error, name));
  return rows[0]!;
}

/** Deletes a webhook with its deliveries and returns its name, or undefined if the workspace has no such webhook. */
export async function deleteWebhook(db: Queryable, workspaceId: string, id: string): Promise<string | undefined> {
  const rows = await db.query<{ name: string }>(
    toQuery(sql`delete from wda.webhook where id = ${id} and workspace_id = ${workspaceId} returning name`),
  );
  return rows[0]?.name;
}

/** Gives a webhook another secret; the one so far signs for some hours more. */
export async function rotateSecret(
  session: Queryable,
  id: string,
  secret: Buffer,
  keepHours: number,
): Promise<Date | null> {
  const rows = await session.query<{ until: Date | null }>(
    toQuery(sql`update wda.webhook set secret = ${secret},
  previous_secret = case when ${keepHours}::float8 > 0 then secret end,
  previous_secret_until = case when ${keepHours}::float8 > 0 and secret is not null then now() + make_interval(secs => ${keepHours}::float8 * 3600) end
where id = ${id} returning previous_secret_until as until`),
  );
  return rows[0]?.until ?? null;
}

/**
 * Lets a webhook go on from another place. Its message under way is given up, and the process that sends it does not move
 * the place any more.
 */
export async function moveWebhook(session: Queryable, id: string, { position, epoch }: WebhookPlace): Promise<void> {
  await session.query(
    toQuery(sql`with given_up as (
  update wda.webhook_delivery set state = 'discarded', body = null, next_attempt_at = null where webhook_id = ${id} and state = 'pending'
)
update wda.webhook set position = ${position}::int8, epoch = ${epoch}, first_position = null, last_position = null, attempts = 0,
  single_until = null, due_at = now(), lease = null, lease_until = null
where id = ${id}`),
  );
}

/** A webhook, and whether one of its entities is gone. */
export type AffectedWebhook = Webhook & { readonly lacksEntity: boolean };

/** Locks the webhooks of a workspace that are for some of its entities, until the end of the transaction. */
export function lockWebhooksOfEntities(session: Queryable, workspaceId: string): Promise<AffectedWebhook[]> {
  return session.query<AffectedWebhook>(
    toQuery(sql`select ${WEBHOOK_COLUMNS}, exists (
  select from unnest(w.entities) e (id)
  where not exists (select from wda.workspace s, jsonb_each_text(s.entity_ids) n where s.id = w.workspace_id and n.value::bigint = e.id)
) as "lacksEntity"
from wda.webhook w where w.workspace_id = ${workspaceId} and w.entities is not null order by w.id for no key update of w`),
  );
}

/** Stores a selection whose fields have other names, or disables the webhook as its selection names what is gone. */
export async function adaptWebhook(
  session: Queryable,
  id: string,
  selection: Pick<WebhookSettings, 'fields' | 'filter'> | 'invalid',
): Promise<void> {
  const change =
    selection === 'invalid'
      ? sql`enabled = false, disabled_reason = 'invalid'`
      : sql`fields = ${selection.fields}::text[], filter = ${selection.filter}::json`;
  await session.query(toQuery(sql`update wda.webhook set ${change} where id = ${id}`));
}
