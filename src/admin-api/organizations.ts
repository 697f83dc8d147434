// /organizations: the operator creates, renames and deletes them; an owner reads its own.
import type { Static } from 'typebox';
import { Type } from '../schema/type.ts';
import {
  createOrganization,
  deleteOrganization,
  loadOrganizations,
  type Organization,
  updateOrganization,
} from '../store/organizations.ts';
import { noOrganization, requireValue } from './access.ts';
import { body } from './body.ts';
import { LimitChangeShape, StoredLimitsShape, showLimits } from './limits.ts';
import { DisplayName, Slug } from './names.ts';
import { PAGE } from './query.ts';
import {
  data,
  formatTime,
  Id,
  NOTHING,
  objectShape,
  pageShape,
  respondCreated,
  respondData,
  respondNothing,
  respondPage,
  Time,
} from './response.ts';
import { type AdminRoute, type AdminServices, ORGANIZATION, organizationLocation, routeMaker } from './route.ts';

const NewOrganization = objectShape(
  { slug: Slug, name: Type.Optional(DisplayName), limits: Type.Optional(LimitChangeShape) },
  { title: 'NewOrganization' },
);
const Change = objectShape(
  { slug: Type.Optional(Slug), name: Type.Optional(DisplayName), limits: Type.Optional(LimitChangeShape) },
  {
    title: 'OrganizationChange',
    description:
      'Members that are left out keep their values. `limits`: those of workspaces that have none of their own.',
  },
);
const OrganizationResponse = objectShape(
  { id: Id, slug: Slug, name: Type.String(), createdAt: Time, limits: Type.Optional(StoredLimitsShape) },
  { title: 'Organization' },
);

const SLUG_IN_USE = 'another organization has the slug';

export function organizationRoutes(services: AdminServices): AdminRoute[] {
  const { directory } = services.databases;
  const route = routeMaker(services);
  return [
    route({
      id: 'organizations.list',
      method: 'GET',
      path: '/organizations',
      access: 'operator',
      summary: 'All organizations',
      description: 'The oldest first.',
      errors: {},
      query: PAGE,
      responses: { 200: pageShape(OrganizationResponse) },
      handle: async ({ query }) => respondPage(await loadOrganizations(directory, query), query, toResponse),
    }),
    route({
      id: 'organizations.create',
      method: 'POST',
      path: '/organizations',
      access: 'operator',
      // No process caches a new organization.
      changes: 'nothing',
      activity: 'written',
      summary: 'Makes an organization',
      description: 'Without a name it is called by its slug.',
      errors: { CONFLICT: SLUG_IN_USE },
      body: body(NewOrganization),
      example: { slug: 'globex', name: 'Globex Corporation' },
      responses: { 201: data(OrganizationResponse) },
      async handle({ body: { slug, name = slug, limits }, audit }) {
        const organization = await audit.change(
          (session) => createOrganization(session, { slug, name, limits }),
          () => ({ organization: slug, subject: slug, details: { name, ...(limits && { limits }) } }),
        );
        return respondCreated(toResponse(organization), organizationLocation(slug));
      },
    }),
    route({
      id: 'organizations.read',
      method: 'GET',
      path: ORGANIZATION,
      access: 'administrator',
      summary: 'An organization',
      description: 'To an owner all organizations but its own look alike, whether or not they exist.',
      errors: {},
      responses: { 200: data(OrganizationResponse) },
      handle: async ({ organization }) => respondData(toResponse(organization)),
    }),
    route({
      id: 'organizations.update',
      method: 'PUT',
      path: ORGANIZATION,
      access: 'operator',
      changes: 'named',
      activity: 'written',
      summary: 'Renames an organization, or changes the limits of its workspaces',
      description: 'With another slug its workspaces answer at other URLs, from this answer on.',
      errors: { CONFLICT: SLUG_IN_USE },
      body: body(Change),
      example: { name: 'Acme Incorporated' },
      responses: { 200: data(OrganizationResponse) },
      async handle({ organization: { slug }, body: change, changed, audit }) {
        const result = await audit.change(
          (session) => requireValue(updateOrganization(session, slug, change), () => noOrganization(slug)),
          () => ({ subject: slug, details: change }),
        );
        changed(...result.workspaceIds);
        return respondData(toResponse(result.organization));
      },
    }),
    route({
      id: 'organizations.delete',
      method: 'DELETE',
      path: ORGANIZATION,
      access: 'operator',
      // Only organizations without workspaces are deleted.
      changes: 'nothing',
      activity: 'written',
      summary: 'Deletes an organization without workspaces',
      description: 'Its workspaces have to be deleted first.',
      errors: { CONFLICT: 'it still has workspaces' },
      responses: { 204: NOTHING },
      async handle({ organization: { slug }, audit }) {
        await audit.change(
          async (session) => {
            if (!(await deleteOrganization(session, slug))) throw noOrganization(slug);
          },
          () => ({ subject: slug }),
        );
        return respondNothing();
      },
    }),
  ];
}

function toResponse({ id, slug, name, createdAt, limits }: Organization): Static<typeof OrganizationResponse> {
  return { id: Number(id), slug, name, createdAt: formatTime(createdAt), ...showLimits(limits) };
}
