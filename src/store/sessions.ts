// Console sessions and sign-in links in the control tables. They are found by hash; the caller defines how long a
// session may be idle.
import type { Database, Session } from '../database/pool.ts';
import type { Permissions, Scope } from '../model/principal.ts';
import { type Fragment, sql, toQuery } from '../sql/fragment.ts';
import type { WriteActivity } from './activity.ts';
import { loadPage, type PageOf } from './pages.ts';
import { PERSON_JSON, parsePerson, type StoredPerson } from './people.ts';
import { readScope, scopeText } from './scopes.ts';

/** Owner of a session: an API key, a person, or the operator's key (its SHA-256, hex). */
export type Subject =
  | { readonly apiKeyId: string; readonly personId?: undefined; readonly operatorHash?: undefined }
  | { readonly apiKeyId?: undefined; readonly personId: string; readonly operatorHash?: undefined }
  | { readonly apiKeyId?: undefined; readonly personId?: undefined; readonly operatorHash: string };

/**
 * A session in force, with the current permissions of its key; that of the operator has the hash of the key that
 * created it.
 */
export interface StoredSession {
  readonly id: string;
  readonly operatorHash: string | null;
  /** Milliseconds since 1970 at which the session or its key expires. */
  readonly expiresAt: number;
  readonly key: {
    readonly id: string;
    readonly workspaceId: string;
    readonly permissions: Permissions;
    readonly scope: Scope;
  } | null;
  readonly person: StoredPerson | null;
}

export interface SessionToStore {
  readonly idHash: Buffer;
  readonly subject: Subject;
  readonly expiresAt: Date;
  readonly userAgent: string;
}

// Limit for each key, which may be shared, each person, and the operator. A new session ends the least recently used one.
const MAX_SESSIONS = 100;
const MAX_LINKS = 20;

const idleFor = (seconds: number): Fragment => sql`make_interval(secs => ${seconds}::int8)`;

function isSubject({ apiKeyId, personId, operatorHash }: Subject): Fragment {
  if (apiKeyId !== undefined) return sql`api_key_id = ${apiKeyId}`;
  return personId === undefined ? sql`operator_hash = ${operatorHash}` : sql`person_id = ${personId}`;
}

/** Returns the session with this hash, or undefined if there is none, or if it or its key has expired. */
export async function findSession(
  db: Database,
  idHash: Buffer,
  idleSeconds: number,
): Promise<StoredSession | undefined> {
  const [row] = await db.run(
    toQuery(
      sql`select s.id, s.operator_hash, (extract(epoch from least(s.expires_at, k.expires_at)) * 1000)::int8, k.id, k.workspace_id, k.permissions, ${scopeText(sql`k`)}, ${PERSON_JSON}
          from wda.session s left join wda.api_key k on k.id = s.api_key_id left join wda.person p on p.id = s.person_id
          where s.id_hash = ${idHash} and s.expires_at > now() and s.last_used_at > now() - ${idleFor(idleSeconds)}
            and (k.expires_at is null or k.expires_at > now())`,
      'find-session',
    ),
    'read',
  );
  if (row === undefined) return undefined;
  const [id, operatorHash, expiresAt, keyId, workspaceId, permissions, scope, person] = row as [
    string,
    string | null,
    string,
    string | null,
    string,
    Permissions,
    string | null,
    string | null,
  ];
  return {
    id,
    operatorHash,
    expiresAt: Number(expiresAt),
    key: keyId === null ? null : { id: keyId, workspaceId, permissions, scope: readScope(scope) },
    person: parsePerson(person) ?? null,
  };
}

/** Creates a session; returns false if the key does not exist. */
export async function createSession(db: Database, session: SessionToStore): Promise<boolean> {
  const { idHash, subject, expiresAt, userAgent } = session;
  const { apiKeyId, personId = null, operatorHash = null } = subject;
  const owner =
    apiKeyId === undefined ? sql`(values (null::int8))` : sql`(select id from wda.api_key where id = ${apiKeyId})`;
  const rows = await db.query(
    toQuery(sql`with ended as (
  delete from wda.session where id in (
    select id from wda.session where ${isSubject(subject)} order by last_used_at desc, id desc offset ${MAX_SESSIONS - 1}::int8
  )
)
insert into wda.session (id_hash, api_key_id, person_id, operator_hash, expires_at, user_agent)
select ${idHash}, holder.id, ${personId}::int8, ${operatorHash}, ${expiresAt.toISOString()}::timestamptz, ${userAgent}
from ${owner} as holder (id) returning id`),
  );
  return rows.length > 0;
}

/** Ends a session; returns false if there was none. */
export async function endSession(db: Database, idHash: Buffer): Promise<boolean> {
  const rows = await db.query(toQuery(sql`delete from wda.session where id_hash = ${idHash} returning id`));
  return rows.length > 0;
}

/** Filter of sessions: those of one key or person (null: of none), or all. */
export type SessionOwner = 'anybody' | { readonly apiKeyId: string | null } | { readonly personId: string };

/** A session in lists. */
export interface OpenSession {
  readonly id: string;
  readonly key: {
    readonly name: string;
    readonly prefix: string;
    readonly permissions: Permissions;
    readonly organization: string;
    readonly workspace: string;
  } | null;
  readonly person: { readonly name: string; readonly email: string | null } | null;
  readonly createdAt: Date;
  readonly lastUsedAt: Date;
  readonly expiresAt: Date;
  readonly userAgent: string;
}

/** Conditions for a session in force. */
export interface InForce {
  readonly idleSeconds: number;
  /** SHA-256 (hex) of the operator's key, or undefined while it is unknown. */
  readonly operatorHash: string | undefined;
  /** Issuer of the OpenID provider that people sign in with, or undefined without one. */
  readonly issuer: string | undefined;
}

function isOwnedBy(owner: SessionOwner): Fragment {
  if (owner === 'anybody') return sql`true`;
  return 'personId' in owner ? sql`s.person_id = ${owner.personId}::int8` : sql`s.api_key_id = ${owner.apiKeyId}::int8`;
}

/** Loads the sessions in force, oldest first. */
export function loadSessions(
  db: Database,
  owner: SessionOwner,
  { idleSeconds, operatorHash = '', issuer = '' }: InForce,
  page: { readonly page: number; readonly size: number },
): Promise<PageOf<OpenSession>> {
  return loadPage(
    db,
    sql`select s.id, s.created_at as "createdAt", s.last_used_at as "lastUsedAt",
          least(s.expires_at, k.expires_at) as "expiresAt", s.user_agent as "userAgent",
          case when k.id is not null then json_build_object('name', k.name, 'prefix', k.prefix, 'permissions', k.permissions,
            'organization', o.slug, 'workspace', w.slug) end as key,
          case when p.id is not null then json_build_object('name', p.name, 'email', p.email) end as person
        from wda.session s left join wda.api_key k on k.id = s.api_key_id left join wda.person p on p.id = s.person_id
        left join wda.workspace w on w.id = k.workspace_id left join wda.organization o on o.id = w.organization_id
        where ${isOwnedBy(owner)} and s.expires_at > now() and s.last_used_at > now() - ${idleFor(idleSeconds)}
          and (k.expires_at is null or k.expires_at > now()) and (k.id is not null or p.issuer = ${issuer} or s.operator_hash = ${operatorHash})`,
    page,
  );
}

/** Ends a session by its id in lists; returns false if the owner has no such session. */
export async function endSessionById(
  session: Pick<Session, 'query'>,
  id: string,
  owner: SessionOwner,
): Promise<boolean> {
  const rows = await session.query(
    toQuery(sql`delete from wda.session s where s.id = ${id} and ${isOwnedBy(owner)} returning s.id`),
  );
  return rows.length > 0;
}

/** Stores the time of use of sessions and their keys, in one statement for all of them. */
export async function touchSessions(db: Database, ids: readonly string[]): Promise<void> {
  await db.run(
    toQuery(
      sql`with used as (update wda.session set last_used_at = now() where id = any(${ids}::int8[]) returning api_key_id)
update wda.api_key set last_used_at = now() where id in (select api_key_id from used)`,
      'touch-sessions',
    ),
    'write',
  );
}

/** Deletes sessions and links that have expired. */
export async function deleteExpiredSessions(db: Database, idleSeconds: number): Promise<void> {
  await db.query(
    toQuery(sql`with links as (delete from wda.console_link where expires_at <= now())
delete from wda.session where expires_at <= now() or last_used_at <= now() - ${idleFor(idleSeconds)}`),
  );
}

/** Stores a sign-in link; `writeActivity` runs in the same transaction. */
export async function storeLink(
  db: Database,
  link: { readonly codeHash: Buffer; readonly operatorHash: string; readonly seconds: number },
  writeActivity?: WriteActivity,
): Promise<void> {
  const store = toQuery(sql`with gone as (
  delete from wda.console_link where code_hash in (
    select code_hash from wda.console_link order by expires_at desc offset ${MAX_LINKS - 1}::int8
  )
)
insert into wda.console_link (code_hash, operator_hash, expires_at)
values (${link.codeHash}, ${link.operatorHash}, now() + make_interval(secs => ${link.seconds}::int8))`);
  await db.transaction(async (session) => {
    await session.query(store);
    await writeActivity?.(session);
  });
}

/** Consumes a sign-in link. Returns the hash of the operator's key that created it, or undefined if it is invalid. */
export async function consumeLink(db: Database, codeHash: Buffer): Promise<string | undefined> {
  const rows = await db.query<{ operatorHash: string }>(
    toQuery(
      sql`delete from wda.console_link where code_hash = ${codeHash} and expires_at > now() returning operator_hash as "operatorHash"`,
    ),
  );
  return rows[0]?.operatorHash;
}
