// /organizations: made, renamed and deleted by the operator; an owner sees its own.
import Type from 'typebox';
import {
  createOrganization,
  deleteOrganization,
  findOrganization,
  findOrganizationOf,
  loadOrganizations,
  type Organization,
  updateOrganization,
} from '../../catalog/organizations.ts';
import { SLUG_PATTERN } from '../../document/format.ts';
import type { Route } from '../../http/routes.ts';
import { noContent } from '../../response/reply.ts';
import {
  ADMIN_PREFIX,
  type AdminRooms,
  adminRoute,
  isSlug,
  mayNot,
  noOrganization,
  ORGANIZATION,
  requireAdministrator,
  requireOperator,
} from './access.ts';
import { bodyOf, created, list, PAGE_PARAMETERS, pageOf, single, time } from './exchange.ts';

export const Slug = Type.String({ pattern: SLUG_PATTERN });
export const DisplayName = Type.String({ minLength: 1, maxLength: 200 });
const NewOrganization = Type.Object({ slug: Slug, name: Type.Optional(DisplayName) }, { additionalProperties: false });
export const Renaming = Type.Object(
  { slug: Type.Optional(Slug), name: Type.Optional(DisplayName) },
  { additionalProperties: false },
);

export function organizationRoutes(rooms: AdminRooms): Route[] {
  const { db, announced } = rooms;
  const all = `${ADMIN_PREFIX}/organizations`;
  return [
    adminRoute('GET', all, PAGE_PARAMETERS, async (request) => {
      await requireOperator(rooms, request);
      const page = pageOf(request);
      return list(await loadOrganizations(db, page), page, show);
    }),
    adminRoute('POST', all, [], async (request) => {
      await requireOperator(rooms, request);
      const { slug, name = slug } = await bodyOf(request, NewOrganization);
      return created(show(await createOrganization(db, { slug, name })), `${all}/${slug}`);
    }),
    adminRoute('GET', ORGANIZATION, [], async (request) => {
      const principal = await requireAdministrator(rooms, request);
      const { org = '' } = request.params;
      if (principal.kind === 'owner') {
        const own = isSlug(org) ? await findOrganizationOf(db, org, principal.workspaceId) : undefined;
        if (own === undefined) throw mayNot();
        return single(show(own));
      }
      const organization = isSlug(org) ? await findOrganization(db, org) : undefined;
      if (organization === undefined) throw noOrganization(org);
      return single(show(organization));
    }),
    adminRoute('PUT', ORGANIZATION, [], async (request) => {
      await requireOperator(rooms, request);
      const { org = '' } = request.params;
      if (!isSlug(org) || (await findOrganization(db, org)) === undefined) throw noOrganization(org);
      const updated = await updateOrganization(db, org, await bodyOf(request, Renaming));
      if (updated === undefined) throw noOrganization(org);
      await announced(...updated.workspaceIds);
      return single(show(updated.organization));
    }),
    adminRoute('DELETE', ORGANIZATION, [], async (request) => {
      await requireOperator(rooms, request);
      const { org = '' } = request.params;
      if (!isSlug(org) || !(await deleteOrganization(db, org))) throw noOrganization(org);
      return noContent();
    }),
  ];
}

function show({ id, slug, name, createdAt }: Organization): unknown {
  return { id: Number(id), slug, name, createdAt: time(createdAt) };
}
