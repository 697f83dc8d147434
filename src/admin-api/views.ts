// /views: what people have saved of how they look at the records of an entity, for themselves or for all of the workspace.
// Names of fields are not checked here: a view outlives the fields that it names, and who opens it is told.
import type { Static } from 'typebox';
import { forbidden, notFound } from '../errors.ts';
import { isStorable } from '../model/exact-json.ts';
import { isAdministrator, type Operator, type Owner } from '../model/principal.ts';
import type { Report } from '../schema/report.ts';
import type { Databases } from '../store/databases.ts';
import { createView, deleteView, findView, loadViews, lockView, updateView, type Viewer } from '../store/views.ts';
import type { WorkspaceSummary } from '../store/workspaces.ts';
import { noWorkspace, requireValue } from './access.ts';
import { NOT_STORABLE, refinedBody } from './body.ts';
import { idParam } from './describe.ts';
import { PAGE, textParameter } from './query.ts';
import { data, NOTHING, pageShape, respond, respondCreated, respondNothing, respondPage } from './response.ts';
import { type AdminRoute, type AdminServices, parseId, routeMaker, WORKSPACE, workspaceLocation } from './route.ts';
import { findEntityIds, notAnEntity } from './scopes.ts';
import { respondTagged, tagHeader } from './tag.ts';
import {
  DEFAULT_CONTENT,
  NewView,
  type StoredView,
  showView,
  ViewChange,
  type ViewContent,
  ViewResponse,
} from './view-body.ts';

const VIEW_ID = { id: idParam('view') };

/** Returns whose views the principal has: those of its credential. */
const toViewer = ({ credentialId, scope }: Operator | Owner): Viewer => ({ owner: credentialId, scope });

const noView = (id: string): Error => notFound('VIEW_NOT_FOUND', `View ${id} does not exist`);

export const viewRoutes = (services: AdminServices): AdminRoute[] => [
  ...readRoutes(services),
  ...changeRoutes(services),
];

function readRoutes(services: AdminServices): AdminRoute[] {
  const { directory } = services.databases;
  const route = routeMaker(services);
  return [
    route({
      id: 'views.list',
      method: 'GET',
      path: `${WORKSPACE}/views`,
      access: 'reader',
      summary: 'The saved views of a workspace',
      description: 'Those that are shared and those of the credential, the oldest first.',
      errors: {},
      query: { ...PAGE, entity: textParameter('Only views of this entity.', 'orders') },
      responses: { 200: pageShape(ViewResponse) },
      async handle({ workspace, principal, query }) {
        const viewer = toViewer(principal);
        const page = await loadViews<ViewContent>(directory, workspace.id, viewer, query);
        return respondPage(page, query, (view) => showView(view, viewer));
      },
    }),
    route({
      id: 'views.read',
      method: 'GET',
      path: `${WORKSPACE}/views/:id`,
      access: 'reader',
      summary: 'A saved view',
      description: '`ETag` is its `version`, for the `If-Match` of a change.',
      errors: {},
      params: VIEW_ID,
      find: ({ params }) => parseId(params.id, 'View'),
      responses: { 200: data(ViewResponse), 304: NOTHING },
      async handle({ workspace, principal, resource: id, ifNoneMatch }) {
        const viewer = toViewer(principal);
        const view = await requireValue(findView<ViewContent>(directory, workspace.id, viewer, id), () => noView(id));
        const text = JSON.stringify({ data: showView(view, viewer) });
        return respondTagged<{ data: Static<typeof ViewResponse> }>(text, String(view.version), ifNoneMatch);
      },
    }),
  ];
}

function changeRoutes(services: AdminServices): AdminRoute[] {
  const route = routeMaker(services);
  return [
    route({
      id: 'views.create',
      method: 'POST',
      path: `${WORKSPACE}/views`,
      access: 'writer',
      changes: 'nothing',
      activity: 'written',
      summary: 'Saves a view',
      description: 'Only `entity` and `name` are required. It belongs to the credential.',
      errors: {
        CONFLICT: 'the owner has a view of the entity of this name, or sees as many of the workspace as it may have',
      },
      find: findReachedIds(services.databases),
      body: refinedBody(
        NewView,
        ({ entity, name, shared, ...content }, report, _raw, ids: ReadonlyMap<string, string>) => {
          checkTexts(content, report);
          if (typeof entity === 'string' && !ids.has(entity))
            report(['entity'], 'REFERENCE_NOT_FOUND', notAnEntity(entity, [...ids.keys()], report));
          return { entityId: ids.get(entity) ?? '', name, shared: shared ?? false, content };
        },
      ),
      example: {
        entity: 'orders',
        name: 'Open, largest first',
        shared: true,
        filter: ['status,eq,open'],
        sort: ['total,desc'],
        columns: ['id', 'status', 'total', 'customer'],
        summary: ['sum:total'],
      },
      responses: { 201: data(ViewResponse) },
      async handle({ workspace, principal, body, audit }) {
        const viewer = toViewer(principal);
        const view = await audit.change(async (session, createdBy) => {
          const content = { ...DEFAULT_CONTENT, ...body.content };
          const stored = { ...body, content, workspaceId: workspace.id, owner: viewer.owner, createdBy };
          const id = await requireValue(createView(session, stored), () => noWorkspace(workspace.slug));
          return requireValue(findView<ViewContent>(session, workspace.id, viewer, id), () => noView(id));
        }, describeChange);
        return respondCreated(showView(view, viewer), workspaceLocation(workspace, `/views/${view.id}`));
      },
    }),
    route({
      id: 'views.update',
      method: 'PUT',
      path: `${WORKSPACE}/views/:id`,
      access: 'writer',
      changes: 'nothing',
      activity: 'written',
      guarded: 'view',
      summary: 'Changes, renames or shares a saved view',
      description: 'Members that are left out stay. The entity cannot be changed.',
      errors: { CONFLICT: 'the owner has another view of the entity of this name' },
      params: VIEW_ID,
      find: ({ params }) => parseId(params.id, 'View'),
      body: refinedBody(ViewChange, (change, report) => {
        checkTexts(change, report);
        return change;
      }),
      example: { layout: 'board', group: ['status'] },
      responses: { 200: data(ViewResponse) },
      async handle({ workspace, principal, resource: id, body, mustMatch, audit }) {
        const viewer = toViewer(principal);
        const view = await audit.change(async (session) => {
          const stored = await requireOwnView(session, { workspace: workspace.id, principal, viewer, id });
          mustMatch(String(stored.version));
          const { name = stored.name, shared = stored.shared, ...content } = body;
          await updateView(session, id, { name, shared, content: { ...stored.content, ...content } });
          // One that is not shared any more is not seen by the administrator who has done so.
          const owner = { ...viewer, owner: stored.owner };
          return requireValue(findView<ViewContent>(session, workspace.id, owner, id), () => noView(id));
        }, describeChange);
        return respond(200, { data: showView(view, viewer) }, tagHeader(String(view.version)));
      },
    }),
    route({
      id: 'views.delete',
      method: 'DELETE',
      path: `${WORKSPACE}/views/:id`,
      access: 'writer',
      changes: 'nothing',
      activity: 'written',
      guarded: 'view',
      summary: 'Deletes a saved view',
      description: 'The records stay.',
      errors: {},
      params: VIEW_ID,
      find: ({ params }) => parseId(params.id, 'View'),
      responses: { 204: NOTHING },
      async handle({ workspace, principal, resource: id, mustMatch, audit }) {
        const viewer = toViewer(principal);
        await audit.change(async (session) => {
          const stored = await requireOwnView(session, { workspace: workspace.id, principal, viewer, id });
          mustMatch(String(stored.version));
          await deleteView(session, id);
          return stored;
        }, describeChange);
        return respondNothing();
      },
    }),
  ];
}

/** Returns a function that loads the ids of entities by name. Those out of the scope of a credential do not exist for it. */
function findReachedIds(databases: Databases) {
  const load = findEntityIds(databases);
  return async (context: {
    readonly workspace: WorkspaceSummary;
    readonly principal: Operator | Owner;
  }): Promise<ReadonlyMap<string, string>> => {
    const { scope } = context.principal;
    return new Map([...(await load(context))].filter(([, id]) => scope === null || scope.includes(id)));
  };
}

/** Locks a view that the principal may change: its own, and a shared one for administrators. 404 where it does not see it. */
async function requireOwnView(
  session: Parameters<typeof lockView>[0],
  {
    workspace,
    principal,
    viewer,
    id,
  }: { readonly workspace: string; readonly principal: Operator | Owner; readonly viewer: Viewer; readonly id: string },
): Promise<StoredView> {
  const view = await requireValue(lockView<ViewContent>(session, workspace, viewer, id), () => noView(id));
  if (view.owner !== viewer.owner && !isAdministrator(principal))
    throw forbidden(
      'VIEW_OF_ANOTHER',
      'A shared view is changed by its owner and by administrators: save it as another one',
    );
  return view;
}

const describeChange = ({ id, name, entity, shared }: StoredView) => ({
  subject: name,
  entity,
  details: { id: Number(id), shared },
});

/** Reports texts in lists that PostgreSQL cannot store. */
function checkTexts(content: Readonly<Record<string, unknown>>, report: Report): void {
  for (const [name, value] of Object.entries(content)) {
    if (typeof value !== 'object' || value === null) continue;
    const texts = Array.isArray(value) ? value : Object.keys(value);
    texts.forEach((text: unknown, index) => {
      if (typeof text === 'string' && !isStorable(text)) report([name, index], 'INVALID', NOT_STORABLE);
    });
  }
}
