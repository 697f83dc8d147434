// …/members: the people who may use the console, of an organization with all of its workspaces, or of one workspace. Who is
// added by a mail address is invited: the first person who signs in with it is the member.
import type { Static } from 'typebox';
import { notFound } from '../errors.ts';
import { MAX_MAIL_ADDRESS, parseMailAddress } from '../model/mail-address.ts';
import { MEMBER_ROLES, type Operator, type Owner, type Person } from '../model/principal.ts';
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
import { noOrganization, requireValue } from './access.ts';
import type { Audit } from './audit.ts';
import { body, refinedBody } from './body.ts';
import { idParam } from './describe.ts';
import { CreatedBy } from './names.ts';
import { PAGE, type PageRequest } from './query.ts';
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

/** Call of a route of either place. `sender`: decides about the last owner. */
interface MemberCall {
  readonly place: MemberPlace;
  readonly sender: Operator | Owner | Person;
  readonly audit: Audit;
}

export const memberRoutes = (services: AdminServices): AdminRoute[] => [
  ...workspaceMemberRoutes(services),
  ...organizationMemberRoutes(services),
];

const EXAMPLE = { email: 'ada@example.com', role: 'editor' };

/** Makes the handlers that routes of both places share. */
function makeMemberCalls({ directory }: AdminServices['databases']) {
  const list = async (place: MemberPlace, query: PageRequest) =>
    respondPage(await loadMembers(directory, place, query), query, toResponse);

  async function create({ place, audit }: MemberCall, member: NewMemberInput, location: string) {
    const stored = await audit.change(
      (session, createdBy) =>
        requireValue(createMember(session, place, { ...member, createdBy }), () => noOrganization('')),
      ({ id, role }) => ({ subject: nameMember(member), details: { id: Number(id), role } }),
    );
    return respondCreated(toResponse(stored), `${location}/members/${stored.id}`);
  }

  async function update({ place, sender, audit }: MemberCall, id: string, { role }: Static<typeof MemberChange>) {
    const stored = await audit.change(
      (session) => requireValue(updateMember(session, place, id, role, sender.kind === 'operator'), () => noMember(id)),
      (member) => ({ subject: nameMember(member), details: { id: Number(id), role } }),
    );
    return respondData(toResponse(stored));
  }

  async function remove({ place, sender, audit }: MemberCall, id: string) {
    await audit.change(
      (session) => requireValue(deleteMember(session, place, id, sender.kind === 'operator'), () => noMember(id)),
      (member) => ({ subject: nameMember(member), details: { id: Number(id), role: member.role } }),
    );
    return respondNothing();
  }

  return { list, create, update, remove };
}

function workspaceMemberRoutes(services: AdminServices): AdminRoute[] {
  const { list, create, update, remove } = makeMemberCalls(services.databases);
  const route = routeMaker(services);
  return [
    route({
      id: 'members.list',
      method: 'GET',
      path: `${WORKSPACE}/members`,
      access: 'workspace',
      summary: 'The members of a workspace, and its invitations',
      description: 'The oldest first, without those of its organization.',
      errors: {},
      query: PAGE,
      responses: { 200: pageShape(MemberResponse) },
      handle: ({ workspace, query }) => list(ofWorkspace(workspace), query),
    }),
    route({
      id: 'members.create',
      method: 'POST',
      path: `${WORKSPACE}/members`,
      access: 'workspace',
      changes: 'workspace',
      activity: 'written',
      summary: 'Adds a member to a workspace, or invites one',
      description: 'A mail address waits for the first person who signs in with it.',
      errors: { CONFLICT: TAKEN },
      body: refinedBody(NewMember, parseNewMember),
      example: EXAMPLE,
      responses: { 201: data(MemberResponse) },
      handle: ({ workspace, principal, audit, body: member }) =>
        create({ place: ofWorkspace(workspace), sender: principal, audit }, member, workspaceLocation(workspace, '')),
    }),
    route({
      id: 'members.update',
      method: 'PUT',
      path: `${WORKSPACE}/members/:id`,
      access: 'workspace',
      changes: 'workspace',
      activity: 'written',
      summary: 'Gives a member of a workspace another role',
      description: 'The next request has the new rights, in every process.',
      errors: { CONFLICT: LAST },
      params: { id: idParam('member') },
      find: (context) => parseId(context.params.id, 'Member'),
      body: body(MemberChange),
      example: { role: 'viewer' },
      responses: { 200: data(MemberResponse) },
      handle: ({ workspace, principal, audit, resource: id, body: change }) =>
        update({ place: ofWorkspace(workspace), sender: principal, audit }, id, change),
    }),
    route({
      id: 'members.delete',
      method: 'DELETE',
      path: `${WORKSPACE}/members/:id`,
      access: 'workspace',
      changes: 'workspace',
      activity: 'written',
      summary: 'Removes a member of a workspace, or takes back an invitation',
      description: 'The next request is refused, in every process.',
      errors: { CONFLICT: LAST },
      params: { id: idParam('member') },
      find: (context) => parseId(context.params.id, 'Member'),
      responses: { 204: NOTHING },
      handle: ({ workspace, principal, audit, resource: id }) =>
        remove({ place: ofWorkspace(workspace), sender: principal, audit }, id),
    }),
  ];
}

function organizationMemberRoutes(services: AdminServices): AdminRoute[] {
  const { list, create, update, remove } = makeMemberCalls(services.databases);
  const route = routeMaker(services);
  return [
    route({
      id: 'members.listOfOrganization',
      method: 'GET',
      path: `${ORGANIZATION}/members`,
      access: 'organization',
      summary: 'The members of an organization, and its invitations',
      description: 'The oldest first. They have their role in all of its workspaces.',
      errors: {},
      query: PAGE,
      responses: { 200: pageShape(MemberResponse) },
      handle: ({ organization, query }) => list(ofOrganization(organization), query),
    }),
    route({
      id: 'members.createInOrganization',
      method: 'POST',
      path: `${ORGANIZATION}/members`,
      access: 'organization',
      changes: 'everything',
      activity: 'written',
      summary: 'Adds a member to an organization, or invites one',
      description: 'A mail address waits for the first person who signs in with it.',
      errors: { CONFLICT: TAKEN },
      body: refinedBody(NewMember, parseNewMember),
      example: EXAMPLE,
      responses: { 201: data(MemberResponse) },
      handle: ({ organization, principal, audit, body: member }) =>
        create(
          { place: ofOrganization(organization), sender: principal, audit },
          member,
          organizationLocation(organization.slug),
        ),
    }),
    route({
      id: 'members.updateInOrganization',
      method: 'PUT',
      path: `${ORGANIZATION}/members/:id`,
      access: 'organization',
      changes: 'everything',
      activity: 'written',
      summary: 'Gives a member of an organization another role',
      description: 'The next request has the new rights, in every process.',
      errors: { CONFLICT: LAST },
      params: { id: idParam('member') },
      find: (context) => parseId(context.params.id, 'Member'),
      body: body(MemberChange),
      example: { role: 'viewer' },
      responses: { 200: data(MemberResponse) },
      handle: ({ organization, principal, audit, resource: id, body: change }) =>
        update({ place: ofOrganization(organization), sender: principal, audit }, id, change),
    }),
    route({
      id: 'members.deleteFromOrganization',
      method: 'DELETE',
      path: `${ORGANIZATION}/members/:id`,
      access: 'organization',
      changes: 'everything',
      activity: 'written',
      summary: 'Removes a member of an organization, or takes back an invitation',
      description: 'The next request is refused, in every process.',
      errors: { CONFLICT: LAST },
      params: { id: idParam('member') },
      find: (context) => parseId(context.params.id, 'Member'),
      responses: { 204: NOTHING },
      handle: ({ organization, principal, audit, resource: id }) =>
        remove({ place: ofOrganization(organization), sender: principal, audit }, id),
    }),
  ];
}

const ofWorkspace = ({
  id,
  organizationId,
}: {
  readonly id: string;
  readonly organizationId: string;
}): MemberPlace => ({
  organizationId,
  workspaceId: id,
});
const ofOrganization = ({ id }: { readonly id: string }): MemberPlace => ({ organizationId: id, workspaceId: null });

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
