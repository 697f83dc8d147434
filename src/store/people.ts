// People who sign in to the console with the installation's OpenID provider, and the workspaces that are theirs by their
// memberships (members.ts has these for administrators).
import type { Database, Session } from '../database/pool.ts';
import type { MemberRole, Membership, Operator, Owner, Permissions, Person } from '../model/principal.ts';
import { type Fragment, sql, toQuery } from '../sql/fragment.ts';

export interface StoredPerson {
  readonly id: string;
  readonly issuer: string;
  readonly subject: string;
  readonly name: string;
  /** Values of the claim for roles at the last sign-in. */
  readonly claims: readonly string[];
  readonly memberships: readonly Membership[];
}

/** A person as the provider describes it. */
export interface SignedIn extends Pick<StoredPerson, 'issuer' | 'subject' | 'name' | 'claims'> {
  /** In lower case; null unless the provider has verified it. */
  readonly email: string | null;
}

// Most memberships of a person that count, the oldest ones.
const MAX_MEMBERSHIPS = 1000;

/** Returns whether the member `m` is the person `p`. */
const IS_MEMBER: Fragment = sql`(m.person_id = p.id or m.claim = any(p.claims))`;

/** Selects the members of a StoredPerson from `wda.person p` as JSON, or null without one. */
export const PERSON_JSON: Fragment = sql`case when p.id is not null then json_build_object('id', p.id::text, 'issuer', p.issuer, 'subject', p.subject, 'name', p.name,
  'claims', p.claims, 'memberships', coalesce((select json_agg(json_build_object('organizationId', m.organization_id::text,
    'workspaceId', m.workspace_id::text, 'role', m.role))
    from (select m.* from wda.member m where ${IS_MEMBER} order by m.id limit ${MAX_MEMBERSHIPS}) m), '[]')) end::text`;

/** Returns a person with its memberships of now, or undefined if there is none. */
export async function findPerson(db: Database, id: string): Promise<StoredPerson | undefined> {
  const rows = await db.run(
    toQuery(sql`select ${PERSON_JSON} from wda.person p where p.id = ${id}::int8`, 'find-person'),
    'read',
  );
  return parsePerson(rows[0]?.[0] ?? null);
}

export const parsePerson = (text: string | null): StoredPerson | undefined =>
  text === null ? undefined : (JSON.parse(text) as StoredPerson);

/**
 * Stores a sign-in and returns the id of the person, who takes the invitations for the mail address. Undefined for a person who
 * is a member nowhere, unless `isOperator`: nothing is stored then, but a known person loses claims and sessions.
 */
export async function storeSignIn(
  db: Database,
  { issuer, subject, name, email, claims }: SignedIn,
  isOperator: boolean,
): Promise<string | undefined> {
  return db.transaction(async (session) => {
    await session.query(
      toQuery(sql`update wda.person set claims = ${claims}::text[] where issuer = ${issuer} and subject = ${subject}`),
    );
    // An address that a person of a former provider has taken waits again.
    const [count] = await session.query<{ isMember: boolean }>(
      toQuery(sql`select exists (select from wda.member m left join wda.person p on p.id = m.person_id
where m.email = ${email} and (p.id is null or p.issuer <> ${issuer}) or m.claim = any(${claims}::text[])
  or p.issuer = ${issuer} and p.subject = ${subject}) as "isMember"`),
    );
    if (!isOperator && count?.isMember !== true) {
      await session.query(
        toQuery(sql`delete from wda.session s using wda.person p
where p.id = s.person_id and p.issuer = ${issuer} and p.subject = ${subject}`),
      );
      return undefined;
    }
    const [person] = await session.query<{ id: string }>(
      toQuery(sql`insert into wda.person (issuer, subject, name, email, claims)
values (${issuer}, ${subject}, ${name}, ${email}, ${claims}::text[])
on conflict (issuer, subject) do update set name = excluded.name, email = excluded.email, claims = excluded.claims, last_sign_in_at = now()
returning id`),
    );
    const id = (person as { readonly id: string }).id;
    await session.query(
      toQuery(sql`update wda.member m set person_id = ${id}::int8 where m.email = ${email}
and (m.person_id is null or exists (select from wda.person p where p.id = m.person_id and p.issuer <> ${issuer}))`),
    );
    return id;
  });
}

/** Ends the sessions of people whom a member that is removed stood for, and who are members nowhere now. */
export async function endSessionsOfFormer(
  session: Pick<Session, 'query'>,
  { personId, claim }: { readonly personId: string | null; readonly claim: string | null },
): Promise<void> {
  await session.query(
    toQuery(sql`delete from wda.session s using wda.person p where p.id = s.person_id
and (p.id = ${personId}::int8 or ${claim}::text = any(p.claims)) and not exists (select from wda.member m where ${IS_MEMBER})`),
  );
}

/** A workspace of a person, with what the person may do there. */
export interface OwnWorkspace {
  readonly organization: string;
  readonly slug: string;
  readonly name: string;
  readonly permissions: Permissions;
}

/** An organization of a person, with its role in all workspaces of it. */
export interface OwnOrganization {
  readonly slug: string;
  readonly name: string;
  readonly role: MemberRole;
}

const MAX_LISTED = 1000;

/** Returns the first 1,000 workspaces of a person, by organization and slug, and its organizations. */
export async function loadOwnPlaces(
  db: Database,
  personId: string,
): Promise<{ readonly workspaces: readonly OwnWorkspace[]; readonly organizations: readonly OwnOrganization[] }> {
  const rank = sql`min(array_position('{owner,editor,viewer}'::text[], m.role))`;
  const [workspaces, organizations] = await Promise.all([
    db.query<OwnWorkspace>(
      toQuery(sql`select o.slug as organization, w.slug, w.name, ('{OWNER,READ_WRITE,READ_ONLY}'::text[])[${rank}] as permissions
from wda.person p join wda.member m on ${IS_MEMBER} join wda.workspace w on w.organization_id = m.organization_id and w.id = coalesce(m.workspace_id, w.id)
join wda.organization o on o.id = w.organization_id
where p.id = ${personId}::int8 group by o.slug, w.slug, w.name order by o.slug, w.slug limit ${MAX_LISTED}`),
    ),
    db.query<OwnOrganization>(
      toQuery(sql`select o.slug, o.name, ('{owner,editor,viewer}'::text[])[${rank}] as role
from wda.person p join wda.member m on ${IS_MEMBER} join wda.organization o on o.id = m.organization_id
where p.id = ${personId}::int8 and m.workspace_id is null group by o.slug, o.name order by o.slug limit ${MAX_LISTED}`),
    ),
  ]);
  return { workspaces, organizations };
}

/** Builds a condition on the rows of WORKSPACES: the sender administers the workspace. */
export function isAdministeredBy(sender: Operator | Owner | Person): Fragment {
  if (sender.kind === 'operator') return sql`true`;
  if (sender.kind === 'owner') return sql`w.id = ${sender.workspaceId}::int8`;
  const owned = sender.memberships.filter(({ role }) => role === 'owner');
  const workspaceIds = owned.flatMap(({ workspaceId }) => workspaceId ?? []);
  const organizationIds = owned.flatMap(({ workspaceId, organizationId }) =>
    workspaceId === null ? [organizationId] : [],
  );
  return sql`(w.id = any(${workspaceIds}::int8[]) or w.organization_id = any(${organizationIds}::int8[]))`;
}
