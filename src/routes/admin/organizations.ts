// /organizations: the operator makes, renames and deletes them; an owner sees its own.
import type { Static } from 'typebox';
import {
  createOrganization,
  deleteOrganization,
  loadOrganizations,
  type Organization,
  updateOrganization,
} from '../../directory/organizations.ts';
import { Type } from '../../document/type.ts';
import { noOrganization } from './access.ts';
import { closed, created, data, Id, list, NOTHING, nothing, pageOf, single, Time, time } from './answer.ts';
import { body } from './body.ts';
import { DisplayName, Renaming, Slug } from './names.ts';
import { PAGE } from './query.ts';
import { type AdminRooms, type AdminRoute, ORGANIZATION, placeOfOrganization, routeMaker } from './route.ts';

const NewOrganization = closed({ slug: Slug, name: Type.Optional(DisplayName) }, { title: 'NewOrganization' });
const Shown = closed({ id: Id, slug: Slug, name: Type.String(), createdAt: Time }, { title: 'Organization' });

const TAKEN = 'another organization has the slug';

export function organizationRoutes(rooms: AdminRooms): AdminRoute[] {
  const { directory } = rooms.databases;
  const route = routeMaker(rooms);
  return [
    route({
      id: 'organizations.list',
      method: 'GET',
      path: '/organizations',
      may: 'operator',
      summary: 'All organizations',
      description: 'The oldest first.',
      refuses: {},
      query: PAGE,
      answers: { 200: pageOf(Shown) },
      handle: async ({ query }) => list(await loadOrganizations(directory, query), query, show),
    }),
    route({
      id: 'organizations.create',
      method: 'POST',
      path: '/organizations',
      may: 'operator',
      // No process has it in memory.
      changes: 'nothing',
      activity: 'written',
      summary: 'Makes an organization',
      description: 'Without a name it is called by its slug.',
      refuses: { CONFLICT: TAKEN },
      body: body(NewOrganization),
      example: { slug: 'globex', name: 'Globex Corporation' },
      answers: { 201: data(Shown) },
      async handle({ body: { slug, name = slug }, note }) {
        const made = await note.change(
          (session) => createOrganization(session, { slug, name }),
          () => ({ organization: slug, subject: slug, details: { name } }),
        );
        return created(show(made), placeOfOrganization(slug));
      },
    }),
    route({
      id: 'organizations.read',
      method: 'GET',
      path: ORGANIZATION,
      may: 'administrator',
      summary: 'An organization',
      description: 'To an owner all organizations but its own look alike, whether or not they exist.',
      refuses: {},
      answers: { 200: data(Shown) },
      handle: async ({ organization }) => single(show(organization)),
    }),
    route({
      id: 'organizations.update',
      method: 'PUT',
      path: ORGANIZATION,
      may: 'operator',
      changes: 'named',
      activity: 'written',
      summary: 'Renames an organization',
      description: 'With another slug its workspaces answer at other URLs, from this answer on.',
      refuses: { CONFLICT: TAKEN },
      body: body(Renaming),
      example: { name: 'Acme Incorporated' },
      answers: { 200: data(Shown) },
      async handle({ organization: { slug }, body: renaming, changed, note }) {
        const updated = await note.change(
          async (session) => {
            const updated = await updateOrganization(session, slug, renaming);
            if (updated === undefined) throw noOrganization(slug);
            return updated;
          },
          () => ({ subject: slug, details: renaming }),
        );
        changed(...updated.workspaceIds);
        return single(show(updated.organization));
      },
    }),
    route({
      id: 'organizations.delete',
      method: 'DELETE',
      path: ORGANIZATION,
      may: 'operator',
      // It has no workspaces.
      changes: 'nothing',
      activity: 'written',
      summary: 'Deletes an organization without workspaces',
      description: 'Its workspaces have to be deleted first.',
      refuses: { CONFLICT: 'it still has workspaces' },
      answers: { 204: NOTHING },
      async handle({ organization: { slug }, note }) {
        await note.change(
          async (session) => {
            if (!(await deleteOrganization(session, slug))) throw noOrganization(slug);
          },
          () => ({ subject: slug }),
        );
        return nothing();
      },
    }),
  ];
}

function show({ id, slug, name, createdAt }: Organization): Static<typeof Shown> {
  return { id: Number(id), slug, name, createdAt: time(createdAt) };
}
