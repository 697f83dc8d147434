// Members of organizations and workspaces, for their administrators. people.ts has what a member may reach.
import type { Session } from '../database/pool.ts';
import { conflict } from '../errors.ts';
import type { MemberRole } from '../model/principal.ts';
import { type Fragment, sql, toQuery } from '../sql/fragment.ts';
import type { Actor } from './activity.ts';
import { isViolation, makeNameConflict } from './control-error.ts';
import { loadPage, type PageOf } from './pages.ts';
import { endSessionsOfFormer } from './people.ts';

type Queryable = Pick<Session, 'query'>;

/** The organization or, with `workspaceId`, the workspace that members belong to. */
export interface MemberPlace {
  readonly organizationId: string;
  readonly workspaceId: string | null;
}

export interface Member {
  readonly id: string;
  /** Mail address in lower case, or null for a member by claim. */
  readonly email: string | null;
  /** Value of the claim for roles, which many people may have; null for a member by mail address. */
  readonly claim: string | null;
  readonly role: MemberRole;
  /** The person who has signed in with the mail address; null while the invitation waits, and for a member by claim. */
  readonly person: { readonly name: string; readonly subject: string; readonly lastSignInAt: string } | null;
  readonly createdAt: Date;
  readonly createdBy: Actor | null;
}

export interface MemberToStore extends Pick<Member, 'email' | 'claim' | 'role'> {
  readonly createdBy: Actor;
}

// Limit for each organization and each workspace.
const MAX_MEMBERS = 1000;

const COLUMNS: Fragment = sql`m.id, m.email, m.claim, m.role, m.created_at as "createdAt", m.created_by as "createdBy",
  (select json_build_object('name', p.name, 'subject', p.subject, 'lastSignInAt', p.last_sign_in_at) from wda.person p where p.id = m.person_id) as person`;

const isIn = ({ organizationId, workspaceId }: MemberPlace): Fragment =>
  sql`m.organization_id = ${organizationId}::int8 and m.workspace_id is not distinct from ${workspaceId}::int8`;

/** Locks the organization, so that its members change one after the other; false when it does not exist. */
async function lockPlace(session: Queryable, { organizationId }: MemberPlace): Promise<boolean> {
  const rows = await session.query(
    toQuery(sql`select id from wda.organization where id = ${organizationId}::int8 for no key update`),
  );
  return rows.length > 0;
}

export const loadMembers = (
  db: Queryable,
  place: MemberPlace,
  page: { readonly page: number; readonly size: number },
): Promise<PageOf<Member>> => loadPage(db, sql`select ${COLUMNS} from wda.member m where ${isIn(place)}`, page);

/**
 * Adds a member; undefined if the organization does not exist; 409 for one that is there already, or beyond the limit. A
 * person who has signed in with the mail address within the last day, as long as a session lasts, is the member at once.
 */
export async function createMember(
  session: Queryable,
  place: MemberPlace,
  { email, claim, role, createdBy }: MemberToStore,
): Promise<Member | undefined> {
  if (!(await lockPlace(session, place))) return undefined;
  const rows = await session
    .query<Member>(
      toQuery(sql`insert into wda.member as m (organization_id, workspace_id, email, claim, role, person_id, created_by)
select ${place.organizationId}::int8, ${place.workspaceId}::int8, ${email}, ${claim}, ${role},
  (select id from wda.person where email = ${email} and last_sign_in_at > now() - interval '1 day' order by last_sign_in_at desc limit 1),
  ${JSON.stringify(createdBy)}::jsonb
where (select count(*) from wda.member m where ${isIn(place)}) < ${MAX_MEMBERS}::int8
returning ${COLUMNS}`),
    )
    .catch((error) => {
      if (isViolation(error, 'member_once'))
        throw makeNameConflict(`Member ${email ?? claim}`, email === null ? 'claim' : 'email', error);
      throw error;
    });
  if (rows[0] === undefined)
    throw conflict('TOO_MANY_MEMBERS', `There are ${MAX_MEMBERS} members, and there may be no more: remove one first`);
  return rows[0];
}

/** Changes the role of a member; undefined if there is none. `mayEmpty`: also of the last owner, else 409. */
export async function updateMember(
  session: Queryable,
  place: MemberPlace,
  id: string,
  role: MemberRole,
  mayEmpty: boolean,
): Promise<Member | undefined> {
  await lockPlace(session, place);
  if (role !== 'owner' && !mayEmpty) await requireOtherOwner(session, place, id);
  const rows = await session.query<Member>(
    toQuery(sql`update wda.member m set role = ${role} where m.id = ${id} and ${isIn(place)} returning ${COLUMNS}`),
  );
  return rows[0];
}

/**
 * Removes a member, and the sessions of people who are members nowhere then, so that no later invitation opens them again.
 * Undefined if there is none. `mayEmpty`: also the last owner, else 409.
 */
export async function deleteMember(
  session: Queryable,
  place: MemberPlace,
  id: string,
  mayEmpty: boolean,
): Promise<Member | undefined> {
  await lockPlace(session, place);
  if (!mayEmpty) await requireOtherOwner(session, place, id);
  const rows = await session.query<Member & { readonly personId: string | null }>(
    toQuery(
      sql`delete from wda.member m where m.id = ${id} and ${isIn(place)} returning ${COLUMNS}, m.person_id as "personId"`,
    ),
  );
  if (rows[0] !== undefined) await endSessionsOfFormer(session, rows[0]);
  return rows[0];
}

/**
 * Throws 409 if the member is an owner and no other owner would be left: a person who has signed in, or all people
 * with a claim. Owners of the organization own its workspaces.
 */
async function requireOtherOwner(session: Queryable, place: MemberPlace, id: string): Promise<void> {
  const rows = await session.query(
    toQuery(sql`select from wda.member m where m.id = ${id} and ${isIn(place)} and m.role = 'owner' and not exists (
  select from wda.member o where o.id <> m.id and o.organization_id = m.organization_id and o.role = 'owner'
    and (o.workspace_id is null or o.workspace_id = m.workspace_id) and (o.person_id is not null or o.claim is not null))`),
  );
  if (rows.length > 0) {
    throw conflict('LAST_OWNER', 'There is no other owner who has signed in: add one first, or ask the operator');
  }
}
