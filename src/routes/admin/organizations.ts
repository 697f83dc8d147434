// /organizations: the operator makes, renames and deletes them; an owner sees its own.
import Type, { type Static } from 'typebox';
import {
  createOrganization,
  deleteOrganization,
  loadOrganizations,
  type Organization,
  updateOrganization,
} from '../../directory/organizations.ts';
import { noOrganization } from './access.ts';
import { closed, created, data, Id, list, NOTHING, nothing, pageOf, single, Time, time } from './answer.ts';
import { body } from './body.ts';
import { DisplayName, Renaming, Slug } from './names.ts';
import { PAGE } from './query.ts';
import { type AdminRooms, type AdminRoute, ORGANIZATION, placeOfOrganization, routeMaker } from './route.ts';

const NewOrganization = closed({ slug: Slug, name: Type.Optional(DisplayName) });
const Shown = closed({ id: Id, slug: Slug, name: Type.String(), createdAt: Time });

export function organizationRoutes(rooms: AdminRooms): AdminRoute[] {
  const { directory } = rooms.databases;
  const route = routeMaker(rooms);
  return [
    route({
      method: 'GET',
      path: '/organizations',
      may: 'operator',
      summary: 'All organizations',
      query: PAGE,
      answer: pageOf(Shown),
      handle: async ({ query }) => list(await loadOrganizations(directory, query), query, show),
    }),
    route({
      method: 'POST',
      path: '/organizations',
      may: 'operator',
      // No process has it in memory.
      changes: 'nothing',
      summary: 'Makes an organization',
      body: body(NewOrganization),
      answer: data(Shown),
      async handle({ body: { slug, name = slug } }) {
        return created(show(await createOrganization(directory, { slug, name })), placeOfOrganization(slug));
      },
    }),
    route({
      method: 'GET',
      path: ORGANIZATION,
      may: 'administrator',
      summary: 'An organization',
      answer: data(Shown),
      handle: async ({ organization }) => single(show(organization)),
    }),
    route({
      method: 'PUT',
      path: ORGANIZATION,
      may: 'operator',
      changes: 'named',
      summary: 'Renames an organization',
      body: body(Renaming),
      answer: data(Shown),
      async handle({ organization: { slug }, body: renaming, changed }) {
        const updated = await updateOrganization(directory, slug, renaming);
        if (updated === undefined) throw noOrganization(slug);
        changed(...updated.workspaceIds);
        return single(show(updated.organization));
      },
    }),
    route({
      method: 'DELETE',
      path: ORGANIZATION,
      may: 'operator',
      // It has no workspaces.
      changes: 'nothing',
      summary: 'Deletes an organization without workspaces',
      answer: NOTHING,
      async handle({ organization: { slug } }) {
        if (!(await deleteOrganization(directory, slug))) throw noOrganization(slug);
        return nothing();
      },
    }),
  ];
}

function show({ id, slug, name, createdAt }: Organization): Static<typeof Shown> {
  return { id: Number(id), slug, name, createdAt: time(createdAt) };
}
