// Who changed what: written in the transaction of each administrative change, kept for some time, read newest first.
import type { Database, Session } from '../database/pool.ts';
import { isStorable } from '../model/exact-json.ts';
import type { Principal } from '../model/principal.ts';
import { type Fragment, join, sql, toQuery } from '../sql/fragment.ts';

type Queryable = Pick<Session, 'query'>;

/** Who did something: the operator, an API key, an OAuth client, or a user of an identity provider. */
export interface Actor {
  readonly kind: 'operator' | 'key' | 'client' | 'user';
  /** Of the key, of the client, or of the user in `sub`. */
  readonly id: string;
  readonly name: string;
}

export interface Activity {
  readonly actor: Actor;
  /** A noun and a verb, as operations are called: `apiKeys.create`. */
  readonly action: string;
  /** Slugs; null: it was about no organization, or no workspace, alone. */
  readonly organization: string | null;
  readonly workspace: { readonly id: string; readonly slug: string } | null;
  readonly entity: string | null;
  /** What was changed, by its name. */
  readonly subject: string;
  /** What else there is to say, without secrets. */
  readonly details: Readonly<Record<string, unknown>>;
}

/** Writes an activity in the transaction of its change. */
export type WriteActivity = (session: Queryable, more?: Partial<Activity>) => Promise<void>;

/** A change whose transaction is begun elsewhere: by whom, and what has to be written in it. */
export interface AuditContext {
  readonly actor: Actor;
  readonly write: WriteActivity;
}

const MAX_DETAILS = 4000;
const MAX_NAME = 200;

/** Whose credential it is. The name is that of now: keys and clients may go. */
export async function loadActor(db: Queryable, principal: Principal): Promise<Actor> {
  const { kind, credentialId } = principal;
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
    toQuery(sql`insert into wda.activity (actor_kind, actor_id, actor_name, action, organization, workspace, workspace_id, entity, subject, details)
values (${actor.kind}, ${actor.id}, ${actor.name}, ${action}, ${organization}, ${workspace?.slug ?? null}, ${workspace?.id ?? null},
  ${entity}, ${subject}, ${text.length > MAX_DETAILS ? '{"truncated": true}' : text}::jsonb)`),
  );
}

/** An activity as it is read. */
export interface StoredActivity extends Omit<Activity, 'workspace'> {
  readonly id: string;
  readonly at: Date;
  /** Slug. */
  readonly workspace: string | null;
}

export interface ActivityFilter {
  /** Of this workspace alone; null: all, and what was about none. */
  readonly workspaceId: string | null;
  /** Id or name. */
  readonly actor: string | undefined;
  /** One, or all of a noun. */
  readonly action: string | undefined;
  readonly entity: string | undefined;
  readonly since: string | undefined;
  /** Those before this one. */
  readonly before: string | undefined;
  readonly limit: number;
}

/** The newest first. */
export function loadActivity(db: Database, filter: ActivityFilter): Promise<readonly StoredActivity[]> {
  const { workspaceId, actor, action, entity, since, before, limit } = filter;
  const conditions: Fragment[] = [
    sql`true`,
    ...(workspaceId === null ? [] : [sql`a.workspace_id = ${workspaceId}`]),
    ...(actor === undefined ? [] : [sql`${actor} in (a.actor_id, a.actor_name)`]),
    ...(action === undefined ? [] : [sql`${action} in (a.action, split_part(a.action, '.', 1))`]),
    ...(entity === undefined ? [] : [sql`a.entity = ${entity}`]),
    ...(since === undefined ? [] : [sql`a.at >= ${since}::timestamptz`]),
    ...(before === undefined ? [] : [sql`a.id < ${before}`]),
  ];
  return db.query<StoredActivity>(
    toQuery(sql`select a.id, a.at, json_build_object('kind', a.actor_kind, 'id', a.actor_id, 'name', a.actor_name) as actor,
  a.action, a.organization, a.workspace, a.entity, a.subject, a.details
from wda.activity a where ${join(conditions, ' and ')} order by a.id desc limit ${limit}`),
  );
}

// Of a workspace, whose imports write one each; what is about no workspace counts as one.
const MAX_ACTIVITIES = 100_000;
// In one turn: the transaction stays short.
const DELETE_BATCH_SIZE = 20_000;

/** Removes what is older than so many days, and the oldest where there are too many. */
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
