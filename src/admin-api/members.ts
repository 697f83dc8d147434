// …/members: the people who may use the console, of an organization with all of its workspaces, or of one workspace. Who is
// added by a mail address is invited: the first person who signs in with it is the member.
import type { Static } from 'typebox';
import { notFound } from '../errors.ts';
import { MAX_MAIL_ADDRESS, parseMailAddress } from '../model/mail-address.ts';
import { MEMBER_ROLES } from '../model/principal.ts';
import type { Report } from '../schema/report.ts';
import { Type } from '../schema/type.ts';
import {
  createMember,
  deleteMember,
  loadMembers,
  type Member,
  type MemberPlace,
  updateMember,
} from '../store/members.ts';
import type { Organization } from '../store/organizations.ts';
import { noOrganization, requireValue } from './access.ts';
import { body, refinedBody } from './body.ts';
import { idParam } from './describe.ts';
import { CreatedBy } from './names.ts';
import { PAGE } from './query.ts';
import {
  data,
  enumShape,
  formatTime,
  Id,
  NOTHING,
  nullableShape,
  objectShape,
  pageShape,
  respondCreated,
  respondData,
  respondNothing,
  respondPage,
  Time,
} from './response.ts';
import {
  type AdminContext,
  type AdminRoute,
  type AdminServices,
  ORGANIZATION,
  organizationLocation,
  parseId,
  routeMaker,
  WORKSPACE,
  workspaceLocation,
} from './route.ts';

const Role = enumShape(...MEMBER_ROLES);

const NewMember = objectShape(
  {
    email: Type.Optional(
      Type.String({
        minLength: 3,
        maxLength: MAX_MAIL_ADDRESS,
        description:
          'Mail address, which the OpenID provider must have verified. Small and capital letters of ASCII are the same.',
        examples: ['ada@example.com'],
      }),
    ),
    claim: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        description: 'Value of the claim that `WDA_CONSOLE_OIDC_ROLE_CLAIM` names: everybody who has it is a member.',
      }),
    ),
    role: Role,
  },
  { title: 'NewMember', description: 'Either `email` or `claim`.' },
);
const MemberChange = objectShape({ role: Role }, { title: 'MemberChange' });
const MemberResponse = objectShape(
  {
    id: Id,
    email: nullableShape(Type.String({ description: 'In small letters; null for a member by claim.' })),
    claim: nullableShape(
      Type.String({ description: 'Value of the claim for roles; null for a member by mail address.' }),
    ),
    role: { ...Role, description: 'An owner administers, an editor changes records, a viewer reads them.' },
    person: nullableShape(
      objectShape(
        {
          name: Type.String(),
          subject: Type.String({ description: 'At the OpenID provider (`sub`).' }),
          lastSignInAt: Time,
        },
        {
          title: 'MemberPerson',
          description: 'Who has signed in with the mail address; null while the invitation waits.',
        },
      ),
    ),
    createdAt: Time,
    createdBy: CreatedBy,
  },
  { title: 'Member' },
);

const TAKEN = 'there is a member with this mail address or claim already, or as many as there may be';
const LAST = 'no other owner who has signed in would be left, and the sender is not the operator';

/** Where people are members: in an organization with all of its workspaces, or in one workspace. */
interface MemberScope {
  readonly path: typeof ORGANIZATION | typeof WORKSPACE;
  readonly access: 'organization' | 'workspace';
  readonly changes: 'everything' | 'workspace';
  /** Ids of the routes. */
  readonly list: `members.${string}`;
  readonly create: `members.${string}`;
  readonly update: `members.${string}`;
  readonly remove: `members.${string}`;
  /** Name of such a place, for texts. */
  readonly noun: string;
  readonly listDescription: string;
}

const WORKSPACE_SCOPE: MemberScope = {
  path: WORKSPACE,
  access: 'workspace',
  changes: 'workspace',
  list: 'members.list',
  create: 'members.create',
  update: 'members.update',
  remove: 'members.delete',
  noun: 'a workspace',
  listDescription: 'The oldest first, without those of its organization.',
};

const ORGANIZATION_SCOPE: MemberScope = {
  path: ORGANIZATION,
  access: 'organization',
  changes: 'everything',
  list: 'members.listOfOrganization',
  create: 'members.createInOrganization',
  update: 'members.updateInOrganization',
  remove: 'members.deleteFromOrganization',
  noun: 'an organization',
  listDescription: 'The oldest first. They have their role in all of its workspaces.',
};

export const memberRoutes = (services: AdminServices): AdminRoute[] =>
  [WORKSPACE_SCOPE, ORGANIZATION_SCOPE].flatMap((scope) => makeRoutes(services, scope));

function makeRoutes(services: AdminServices, scope: MemberScope): AdminRoute[] {
  const { directory } = services.databases;
  const route = routeMaker(services);
  const { access, changes, noun } = scope;
  const path = `${scope.path}/members` as const;
  return [
    route({
      id: scope.list,
      method: 'GET',
      path,
      access,
      summary: `The members of ${noun}, and its invitations`,
      description: scope.listDescription,
      errors: {},
      query: PAGE,
      responses: { 200: pageShape(MemberResponse) },
      handle: async ({ query, ...context }) =>
        respondPage(await loadMembers(directory, toPlace(context), query), query, toResponse),
    }),
    route({
      id: scope.create,
      method: 'POST',
      path,
      access,
      changes,
      activity: 'written',
      summary: `Adds a member to ${noun}, or invites one`,
      description: 'A mail address waits for the first person who signs in with it.',
      errors: { CONFLICT: TAKEN },
      body: refinedBody(NewMember, parseNewMember),
      example: { email: 'ada@example.com', role: 'editor' },
      responses: { 201: data(MemberResponse) },
      async handle({ audit, body: member, ...context }) {
        const place = toPlace(context);
        const stored = await audit.change(
          (session, createdBy) =>
            requireValue(createMember(session, place, { ...member, createdBy }), () => noOrganization('')),
          ({ id, role }) => ({ subject: nameMember(member), details: { id: Number(id), role } }),
        );
        return respondCreated(toResponse(stored), `${place.location}/members/${stored.id}`);
      },
    }),
    route({
      id: scope.update,
      method: 'PUT',
      path: `${path}/:id`,
      access,
      changes,
      activity: 'written',
      summary: `Gives a member of ${noun} another role`,
      description: 'The next request has the new rights, in every process.',
      errors: { CONFLICT: LAST },
      params: { id: idParam('member') },
      find: ({ params }) => parseId(params.id, 'Member'),
      body: body(MemberChange),
      example: { role: 'viewer' },
      responses: { 200: data(MemberResponse) },
      async handle({ principal, audit, resource: id, body: { role }, ...context }) {
        const isOperator = principal.kind === 'operator';
        const stored = await audit.change(
          (session) => requireValue(updateMember(session, toPlace(context), id, role, isOperator), () => noMember(id)),
          (member) => ({ subject: nameMember(member), details: { id: Number(id), role } }),
        );
        return respondData(toResponse(stored));
      },
    }),
    route({
      id: scope.remove,
      method: 'DELETE',
      path: `${path}/:id`,
      access,
      changes,
      activity: 'written',
      summary: `Removes a member of ${noun}, or takes back an invitation`,
      description: 'The next request is refused, in every process.',
      errors: { CONFLICT: LAST },
      params: { id: idParam('member') },
      find: ({ params }) => parseId(params.id, 'Member'),
      responses: { 204: NOTHING },
      async handle({ principal, audit, resource: id, ...context }) {
        const isOperator = principal.kind === 'operator';
        await audit.change(
          (session) => requireValue(deleteMember(session, toPlace(context), id, isOperator), () => noMember(id)),
          (member) => ({ subject: nameMember(member), details: { id: Number(id), role: member.role } }),
        );
        return respondNothing();
      },
    }),
  ];
}

/** Returns the place that a path names, with its location. */
function toPlace({
  workspace,
  organization,
}: Pick<AdminContext<MemberScope['path'], MemberScope['access']>, 'workspace' | 'organization'>): MemberPlace & {
  readonly location: string;
} {
  if (workspace !== undefined) {
    const { organizationId, id } = workspace;
    return { organizationId, workspaceId: id, location: workspaceLocation(workspace, '') };
  }
  // A path without a workspace names an organization.
  const { id, slug } = organization as Organization;
  return { organizationId: id, workspaceId: null, location: organizationLocation(slug) };
}

type NewMemberInput = Pick<Member, 'email' | 'claim' | 'role'>;

function parseNewMember({ email, claim, role }: Static<typeof NewMember>, report: Report): NewMemberInput {
  if ((email === undefined) === (claim === undefined)) {
    report([email === undefined ? 'email' : 'claim'], 'INVALID', 'name either a mail address (email) or a claim');
  }
  const address = email === undefined ? undefined : parseMailAddress(email);
  if (email !== undefined && address === undefined) report(['email'], 'INVALID', 'must be a mail address');
  return { email: address ?? null, claim: claim ?? null, role };
}

const nameMember = ({ email, claim }: Pick<Member, 'email' | 'claim'>): string => email ?? `claim ${claim}`;

const noMember = (id: string) => notFound('MEMBER_NOT_FOUND', `Member ${id} does not exist`);

function toResponse({ id, email, claim, role, person, createdAt, createdBy }: Member): Static<typeof MemberResponse> {
  return {
    id: Number(id),
    email,
    claim,
    role,
    person: person && { ...person, lastSignInAt: formatTime(new Date(person.lastSignInAt)) },
    createdAt: formatTime(createdAt),
    createdBy,
  };
}
