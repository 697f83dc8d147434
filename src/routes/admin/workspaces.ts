// /organizations/{org}/workspaces: made and deleted by the operator, seen and renamed by their owners.
import Type from 'typebox';
import { findOrganization } from '../../catalog/organizations.ts';
import { loadWorkspaces, updateWorkspace, type WorkspaceSummary } from '../../catalog/workspaces.ts';
import { parseSchemaDocument } from '../../document/document.ts';
import type { SchemaDocument } from '../../document/format.ts';
import { badRequest, notFound } from '../../errors.ts';
import type { Route } from '../../http/routes.ts';
import { createWorkspace, deleteWorkspace } from '../../migrate/workspace.ts';
import { noContent } from '../../response/reply.ts';
import {
  type AdminRooms,
  adminRoute,
  isSlug,
  noOrganization,
  ORGANIZATION,
  requireAdministrator,
  requireOperator,
  requireWorkspace,
  WORKSPACE,
  workspaceFor,
} from './access.ts';
import { bodyOf, created, list, PAGE_PARAMETERS, pageOf, parameter, single, time } from './exchange.ts';
import { DisplayName, Renaming, Slug } from './organizations.ts';

const NewWorkspace = Type.Object(
  { slug: Slug, name: Type.Optional(DisplayName), schema: Type.Optional(Type.Unsafe<unknown>({})) },
  { additionalProperties: false },
);

export function workspaceRoutes(rooms: AdminRooms): Route[] {
  const { db, announced } = rooms;
  const all = `${ORGANIZATION}/workspaces`;
  return [
    adminRoute('GET', all, PAGE_PARAMETERS, async (request) => {
      await requireOperator(rooms, request);
      const { org = '' } = request.params;
      const organization = isSlug(org) ? await findOrganization(db, org) : undefined;
      if (organization === undefined) throw noOrganization(org);
      const page = pageOf(request);
      return list(await loadWorkspaces(db, organization.id, page), page, show);
    }),
    adminRoute('POST', all, [], async (request) => {
      await requireOperator(rooms, request);
      const { org = '' } = request.params;
      if (!isSlug(org) || (await findOrganization(db, org)) === undefined) throw noOrganization(org);
      let document: SchemaDocument | undefined;
      const body = await request.body();
      const { slug, name = slug } = await bodyOf(request, NewWorkspace, ({ schema }, report) => {
        if (schema === undefined || schema === null) return;
        const parsed = parseSchemaDocument((body as { schema: unknown }).schema);
        if (parsed.ok) document = parsed.document;
        else {
          for (const { field, code, message } of parsed.details) {
            report(['schema', ...(field === null ? [] : [field])], code, message);
          }
        }
      });
      const workspace = await createWorkspace(db, {
        organization: org,
        slug,
        name,
        ...(document === undefined ? {} : { document }),
      });
      if (workspace === undefined) throw noOrganization(org);
      await announced(workspace.id);
      return created(show(workspace), `${all.replace(':org', org)}/${slug}`);
    }),
    adminRoute('GET', WORKSPACE, [], async (request) => single(show(await requireWorkspace(rooms, request)))),
    adminRoute('PUT', WORKSPACE, [], async (request) => {
      const principal = await requireAdministrator(rooms, request);
      const { id, slug } = await workspaceFor(principal, rooms, request);
      const renaming = await bodyOf(request, Renaming);
      const updated = await updateWorkspace(db, id, renaming, principal.kind === 'operator');
      if (updated === undefined) throw notFound(`Workspace ${slug} does not exist`);
      await announced(id);
      return single(show(updated));
    }),
    adminRoute('DELETE', WORKSPACE, ['confirm'], async (request) => {
      const workspace = await workspaceFor(await requireOperator(rooms, request), rooms, request);
      if (parameter(request, 'confirm') !== workspace.slug) {
        throw badRequest(
          `Deleting workspace ${workspace.slug} deletes all of its records: repeat with confirm=${workspace.slug} if that is meant`,
        );
      }
      await deleteWorkspace(db, workspace);
      await announced(workspace.id);
      return noContent();
    }),
  ];
}

function show({ id, organization, slug, name, createdAt }: WorkspaceSummary): unknown {
  return { id: Number(id), organization, slug, name, createdAt: time(createdAt) };
}
