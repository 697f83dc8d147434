// /organizations/{org}/workspaces/{ws}/copy: a staging workspace from production.
import { Type } from '../schema/type.ts';
import { findOrganization } from '../store/organizations.ts';
import { findWorkspaceById } from '../store/workspaces.ts';
import { noOrganization, requireValue, workspaceDeleted } from './access.ts';
import type { BackupServices } from './backup.ts';
import { body } from './body.ts';
import { DisplayName, Slug } from './names.ts';
import { data, objectShape, respondCreated } from './response.ts';
import { type AdminRoute, type AdminServices, routeMaker, WORKSPACE, workspaceLocation } from './route.ts';
import { toResponse, WorkspaceResponse } from './workspace-response.ts';

const NewCopy = objectShape(
  {
    slug: Slug,
    name: Type.Optional(DisplayName),
    organization: Type.Optional(Slug),
    withoutRecords: Type.Optional(Type.Boolean()),
  },
  {
    title: 'WorkspaceCopy',
    description:
      'Left out: `name` is the slug, `organization` that of the workspace, and `withoutRecords` false, which copies the records.',
  },
);

export function workspaceCopyRoutes(services: AdminServices & BackupServices): AdminRoute[] {
  const { backups, databases } = services;
  const route = routeMaker(services);
  return [
    route({
      id: 'workspaces.copy',
      method: 'POST',
      path: `${WORKSPACE}/copy`,
      access: 'operator',
      changes: 'named',
      activity: 'written',
      summary: 'Makes a workspace as a copy of another one',
      description:
        'With its schema, settings, row rules, grants and origins, and with its records as they were at one moment, with the same ids; all of it or nothing. API keys, OAuth clients and the identity provider are not copied, webhooks are disabled and have no secrets, and the feed of changes begins with the copy.',
      errors: {
        CONFLICT: 'another workspace of the organization has the slug, or the database is at a limit',
        SERVICE_UNAVAILABLE: 'the server or its database cannot answer at the moment, or others make backups or copies',
      },
      body: body(NewCopy),
      example: { slug: 'staging', name: 'Staging' },
      responses: { 201: data(WorkspaceResponse) },
      async handle({ workspace: source, body: copy, caller, changed, audit }) {
        const { slug, name = slug, organization = source.organization, withoutRecords = false } = copy;
        await requireValue(findOrganization(databases.directory, organization), () => noOrganization(organization));
        const { write } = await audit.prepare({
          subject: slug,
          organization,
          details: { name, from: `${source.organization}/${source.slug}`, withoutRecords },
        });
        const { id } = await backups.copy({
          source: source.id,
          target: { organization, slug },
          name,
          withoutRecords,
          signal: caller,
          writeActivity: (session, copied) =>
            write(session, { workspace: { id: copied.id, slug }, details: { records: copied.records } }),
        });
        changed(id);
        const workspace = await requireValue(findWorkspaceById(databases.directory, id), workspaceDeleted);
        return respondCreated(toResponse(workspace), workspaceLocation(workspace, ''));
      },
    }),
  ];
}
