// /organizations/{org}/workspaces: the operator makes and deletes them, their owners see and rename them.
import Type, { type Static } from 'typebox';
import { loadWorkspaces, updateWorkspace, type WorkspaceSummary } from '../../directory/workspaces.ts';
import { parseSchemaDocument } from '../../document/document.ts';
import type { SchemaDocument } from '../../document/format.ts';
import type { Report } from '../../document/report.ts';
import { badRequest } from '../../errors.ts';
import { createWorkspace, deleteWorkspace } from '../../migrate/workspace.ts';
import { noOrganization, noWorkspace } from './access.ts';
import { anything, closed, created, data, Id, list, NOTHING, nothing, pageOf, single, Time, time } from './answer.ts';
import { body, refinedBody } from './body.ts';
import { DisplayName, Renaming, Slug } from './names.ts';
import { PAGE, TEXT } from './query.ts';
import { type AdminRooms, type AdminRoute, ORGANIZATION, placeIn, routeMaker, WORKSPACE } from './route.ts';

const NewWorkspace = closed({
  slug: Slug,
  name: Type.Optional(DisplayName),
  schema: Type.Optional(anything()),
});
const Shown = closed({ id: Id, organization: Slug, slug: Slug, name: Type.String(), createdAt: Time });

export function workspaceRoutes(rooms: AdminRooms): AdminRoute[] {
  const { databases } = rooms;
  const route = routeMaker(rooms);
  return [
    route({
      method: 'GET',
      path: `${ORGANIZATION}/workspaces`,
      may: 'operator',
      summary: 'The workspaces of an organization',
      query: PAGE,
      answer: pageOf(Shown),
      handle: async ({ organization, query }) =>
        list(await loadWorkspaces(databases.directory, organization.id, query), query, show),
    }),
    route({
      method: 'POST',
      path: `${ORGANIZATION}/workspaces`,
      may: 'operator',
      changes: 'named',
      summary: 'Makes a workspace with the tables of its schema',
      body: refinedBody(NewWorkspace, ({ slug, name = slug, schema }, report, raw) => ({
        slug,
        name,
        document: schema === undefined || schema === null ? undefined : documentOf(raw, report),
      })),
      answer: data(Shown),
      async handle({ organization, body: { slug, name, document }, changed }) {
        const asked = { organization: organization.slug, slug, name };
        const workspace = await createWorkspace(databases, document === undefined ? asked : { ...asked, document });
        if (workspace === undefined) throw noOrganization(organization.slug);
        changed(workspace.id);
        return created(show(workspace), placeIn(workspace, ''));
      },
    }),
    route({
      method: 'GET',
      path: WORKSPACE,
      may: 'workspace',
      summary: 'A workspace',
      answer: data(Shown),
      handle: async ({ workspace }) => single(show(workspace)),
    }),
    route({
      method: 'PUT',
      path: WORKSPACE,
      may: 'workspace',
      changes: 'workspace',
      summary: 'Renames a workspace',
      body: body(Renaming),
      answer: data(Shown),
      async handle({ workspace: { id, slug }, principal, body: renaming }) {
        const updated = await updateWorkspace(databases.directory, id, renaming, principal.kind === 'operator');
        if (updated === undefined) throw noWorkspace(slug);
        return single(show(updated));
      },
    }),
    route({
      method: 'DELETE',
      path: WORKSPACE,
      may: 'operator',
      changes: 'workspace',
      summary: 'Deletes a workspace and all of its records',
      query: { confirm: TEXT },
      answer: NOTHING,
      async handle({ workspace, query: { confirm } }) {
        if (confirm !== workspace.slug) {
          throw badRequest(
            `Deleting workspace ${workspace.slug} deletes all of its records: repeat with confirm=${workspace.slug} if that is meant`,
          );
        }
        await deleteWorkspace(databases, workspace);
        return nothing();
      },
    }),
  ];
}

/** The schema document in a body, with all digits of its numbers. */
function documentOf(raw: unknown, report: Report): SchemaDocument | undefined {
  const parsed = parseSchemaDocument((raw as { schema: unknown }).schema);
  if (parsed.ok) return parsed.document;
  for (const { field, code, message } of parsed.details) {
    report(['schema', ...(field === null ? [] : [field])], code, message);
  }
  return undefined;
}

function show({ id, organization, slug, name, createdAt }: WorkspaceSummary): Static<typeof Shown> {
  return { id: Number(id), organization, slug, name, createdAt: time(createdAt) };
}
