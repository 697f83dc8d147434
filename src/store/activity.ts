// The log of administrative changes: written in the transaction of each change, kept for some time, read newest first.
import type { Database, Session } from '../database/pool.ts';
import { isStorable } from '../model/exact-json.ts';
import type { Sender } from '../model/principal.ts';
import { type Fragment, join, sql, toQuery } from '../sql/fragment.ts';

type Queryable = Pick<Session, 'query'>;

/**
 * The author of a change: the operator, a person who is signed in to the console, an API key, an OAuth client, a user of an
 * identity provider, or the server itself.
 */
export interface Actor {
  readonly kind: 'operator' | 'person' | 'key' | 'client' | 'user' | 'server';
  /** Id of the person, key or client, or the `sub` of the user. */
  readonly id: string;
  readonly name: string;
  /** Subject of a person at the provider. */
  readonly subject?: string;
}

export interface Activity {
  readonly actor: Actor;
  /** A noun and a verb, named like operations: `apiKeys.create`. */
  readonly action: string;
  /** Slugs; null when the change concerned no single organization or workspace. */
  readonly organization: string | null;
  readonly workspace: { readonly id: string; readonly slug: string } | null;
  readonly entity: string | null;
  /** Name of the changed object. */
  readonly subject: string;
  /** Further details, without secrets. */
  readonly details: Readonly<Record<string, unknown>>;
}

/** Writes an activity in the transaction of its change. */
export type WriteActivity = (session: Queryable, more?: Partial<Activity>) => Promise<void>;

/** Author of a change whose transaction starts elsewhere, and the activity that it writes. */
export interface AuditContext {
  readonly actor: Actor;
  readonly write: WriteActivity;
}

const MAX_DETAILS = 4000;
const MAX_NAME = 200;

/** Loads the actor of a credential with its current name, as keys and clients may be deleted later. */
export async function loadActor(db: Queryable, principal: Sender): Promise<Actor> {
  const { kind, credentialId } = principal;
  if (kind !== 'external' && principal.person !== undefined) return { kind: 'person', ...principal.person };
  if (kind === 'operator') return { kind, id: kind, name: kind };
  const id = credentialId.slice(credentialId.indexOf(':') + 1);
  if (kind === 'external') {
    const { sub } = principal.claims;
    return { kind: 'user', id, name: typeof sub === 'string' && isStorable(sub) ? sub.slice(0, MAX_NAME) : id };
  }
  const isKey = credentialId.startsWith('key:');
  const query = isKey
    ? sql`select name from wda.api_key where id = ${id}::bigint`
    : sql`select name from wda.oauth_client where client_id = ${id}`;
  const [row] = await db.query<{ name: string }>(toQuery(query));
  return { kind: isKey ? 'key' : 'client', id, name: row?.name ?? id };
}

export async function insertActivity(session: Queryable, activity: Activity): Promise<void> {
  const { actor, action, organization, workspace, entity, subject, details } = activity;
  const text = JSON.stringify(details);
  await session.query(
    toQuery(sql`insert into wda.activity (actor_kind, actor_id, actor_name, actor_subject, action, organization, workspace, workspace_id, entity, subject, details)
values (${actor.kind}, ${actor.id}, ${actor.name}, ${actor.subject ?? null}, ${action}, ${organization}, ${workspace?.slug ?? null}, ${workspace?.id ?? null},
  ${entity}, ${subject}, ${text.length > MAX_DETAILS ? '{"truncated": true}' : text}::jsonb)`),
  );
}

/** A stored activity. */
export interface StoredActivity extends Omit<Activity, 'workspace'> {
  readonly id: string;
  readonly at: Date;
  /** Slug of the workspace. */
  readonly workspace: string | null;
}

export interface ActivityFilter {
  /** Limits the list to this workspace; null for all activities, including those of no workspace. */
  readonly workspaceId: string | null;
  /** Id or name of an actor. */
  readonly actor: string | undefined;
  /** One action, or a noun for all of its actions. */
  readonly action: string | undefined;
  readonly entity: string | undefined;
  readonly since: string | undefined;
  /** Upper limit (exclusive) of the times. */
  readonly until: string | undefined;
  /** Upper limit (exclusive) of the ids. */
  readonly before: string | undefined;
  readonly limit: number;
}

/** Loads activities, newest first. */
export function loadActivity(db: Database, filter: ActivityFilter): Promise<readonly StoredActivity[]> {
  const { workspaceId, actor, action, entity, since, until, before, limit } = filter;
  const conditions: Fragment[] = [
    sql`true`,
    ...(workspaceId === null ? [] : [sql`a.workspace_id = ${workspaceId}`]),
    ...(actor === undefined ? [] : [sql`${actor} in (a.actor_id, a.actor_name)`]),
    ...(action === undefined ? [] : [sql`${action} in (a.action, split_part(a.action, '.', 1))`]),
    ...(entity === undefined ? [] : [sql`a.entity = ${entity}`]),
    ...(since === undefined ? [] : [sql`a.at >= ${since}::timestamptz`]),
    ...(until === undefined ? [] : [sql`a.at < ${until}::timestamptz`]),
    ...(before === undefined ? [] : [sql`a.id < ${before}`]),
  ];
  return db.query<StoredActivity>(
    toQuery(sql`select a.id, a.at, json_strip_nulls(json_build_object('kind', a.actor_kind, 'id', a.actor_id, 'name', a.actor_name, 'subject', a.actor_subject)) as actor,
  a.action, a.organization, a.workspace, a.entity, a.subject, a.details
from wda.activity a where ${join(conditions, ' and ')} order by a.id desc limit ${limit}`),
  );
}

// Limit for each workspace, as each import writes an activity; activities of no workspace count as one workspace.
const MAX_ACTIVITIES = 100_000;
// Rows deleted in one turn, to keep the transaction short.
const DELETE_BATCH_SIZE = 20_000;

/** Deletes activities that are older than `days`, and the oldest of workspaces that exceed the limit. */
export async function removeActivity(session: Queryable, days: number): Promise<void> {
  await session.query(
    toQuery(sql`delete from wda.activity where id in (
  select id from wda.activity where at < now() - make_interval(days => ${days}::int) order by at limit ${DELETE_BATCH_SIZE}
)`),
  );
  await session.query(
    toQuery(sql`delete from wda.activity where id in (
  select a.id from (select workspace_id from wda.activity group by workspace_id having count(*) > ${MAX_ACTIVITIES}::int8) crowded
  cross join lateral (
    select id from wda.activity where workspace_id is not distinct from crowded.workspace_id
    order by id desc limit ${DELETE_BATCH_SIZE} offset ${MAX_ACTIVITIES}
  ) a
)`),
  );
}
