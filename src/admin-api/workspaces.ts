// /organizations/{org}/workspaces: the operator creates and deletes them, their owners read and rename them.
import { badRequest, forbidden, validationFailed } from '../errors.ts';
import type { Runner } from '../migrations/runner.ts';
import { createWorkspace, deleteWorkspace } from '../migrations/workspace.ts';
import { MAX_ORIGINS, parseOrigin } from '../model/origin.ts';
import { parseSchemaDocument } from '../schema/document.ts';
import { DocumentShape, EMPTY_DOCUMENT, type SchemaDocument } from '../schema/format.ts';
import type { Path, Report } from '../schema/report.ts';
import { Type } from '../schema/type.ts';
import { redirectSlug } from '../store/renamed.ts';
import { storeTarget } from '../store/shared-schemas.ts';
import { loadWorkspaces, searchWorkspaces, updateWorkspace } from '../store/workspaces.ts';
import { noOrganization, noWorkspace, requireValue } from './access.ts';
import type { ApiKeyMaker } from './api-keys.ts';
import { refinedBody } from './body.ts';
import { MIGRATION_RUNS } from './describe.ts';
import { FollowShape, follow, requireFollowable, requireFollowRight } from './following.ts';
import { type IdentityProviderServices, listWarnings, providerChanges } from './identity-provider.ts';
import { LimitChangeShape } from './limits.ts';
import { DESTRUCTIVE, WAIT } from './migration-wait.ts';
import { DisplayName, Slug } from './names.ts';
import { CREATED_PARTS, describeParts, NEW_PARTS, parseParts, parsePartsAlone, storeParts } from './new-workspace.ts';
import { flag, PAGE, type Parameter, textParameter } from './query.ts';
import {
  anyShape,
  data,
  NOTHING,
  nullableShape,
  objectShape,
  pageShape,
  respond,
  respondData,
  respondNothing,
  respondPage,
} from './response.ts';
import {
  type AdminRoute,
  type AdminServices,
  ORGANIZATION,
  routeMaker,
  WORKSPACE,
  workspaceLocation,
} from './route.ts';
import { warnedShape, warningMeta } from './warnings.ts';
import { CorsOrigins, State, toResponse, WORKSPACE_MEMBERS, WorkspaceResponse } from './workspace-response.ts';
import { showMeasured, WorkspaceListResponse } from './workspace-statistics.ts';

const NAMES = { slug: Slug, name: Type.Optional(DisplayName) };
// The parser of documents checks the schema: its messages say more than a shape can.
const NewWorkspace = objectShape({
  ...NAMES,
  schema: Type.Optional(anyShape()),
  follows: Type.Optional(FollowShape),
  limits: Type.Optional(LimitChangeShape),
  ...NEW_PARTS,
});
const NewWorkspaceDescribed = objectShape(
  {
    ...NAMES,
    schema: Type.Optional(nullableShape(DocumentShape)),
    follows: Type.Optional(FollowShape),
    limits: Type.Optional(LimitChangeShape),
    ...NEW_PARTS,
  },
  { title: 'NewWorkspace' },
);
const Change = objectShape(
  {
    slug: Type.Optional(Slug),
    name: Type.Optional(DisplayName),
    redirectDays: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 365,
        description:
          'With another `slug`: days for which whoever has a credential of the workspace is redirected from the former one (308). Left out: it is answered as if it had never been.',
      }),
    ),
    state: Type.Optional(State),
    limits: Type.Optional(LimitChangeShape),
    corsOrigins: Type.Optional(
      Type.Unsafe<readonly string[] | null>({
        type: ['array', 'null'],
        maxItems: MAX_ORIGINS,
        uniqueItems: true,
        ...CorsOrigins,
      }),
    ),
    follows: Type.Optional({
      ...nullableShape(FollowShape),
      description: 'The shared schema to follow, or null to end that and to keep the schema. The operator says it.',
    }),
  },
  { title: 'WorkspaceChange', description: 'Members that are left out keep their values.' },
);
const WorkspaceCreated = objectShape({ ...WORKSPACE_MEMBERS, ...CREATED_PARTS }, { title: 'WorkspaceCreated' });

// With statistics, a page has some thousand tables.
const MAX_MEASURED = 100;

const CONFIRM: Parameter<string | undefined> = {
  shape: Type.String({ description: 'The slug of the workspace once more.', examples: ['shop'] }),
  read: (text) => text,
};

const LIST_QUERY = {
  ...PAGE,
  statistics: flag('Show how many entities and records each has, and how much disk space they use.'),
  follows: textParameter('Only those that follow the shared schema of this name.', 'helpdesk'),
};

export const workspaceRoutes = (services: NewWorkspaceServices, runner: Runner): AdminRoute[] => [
  ...collectionRoutes(services),
  ...resourceRoutes(services, runner),
];

type NewWorkspaceServices = IdentityProviderServices & ApiKeyMaker;

/** Returns the routes that list and create workspaces. */
function collectionRoutes(services: NewWorkspaceServices): AdminRoute[] {
  const { databases } = services;
  const { inspect, findAccessWarnings, findMistakes } = providerChanges(services);
  const route = routeMaker(services);
  return [
    route({
      id: 'workspaces.list',
      method: 'GET',
      path: `${ORGANIZATION}/workspaces`,
      access: 'organization',
      summary: 'The workspaces of an organization',
      description: `The oldest first. With \`statistics\` a page has at most ${MAX_MEASURED} of them.`,
      errors: {},
      query: LIST_QUERY,
      responses: { 200: pageShape(WorkspaceListResponse) },
      async handle({ organization, query }) {
        const { statistics, size } = query;
        if (statistics && size > MAX_MEASURED) throw tooLargeToMeasure();
        const page = await loadWorkspaces(databases.directory, organization.id, query.follows, query);
        const showOne = statistics ? await showMeasured(databases, organization.id, page.rows) : toResponse;
        return respondPage(page, query, showOne);
      },
    }),
    route({
      id: 'workspaces.search',
      method: 'GET',
      path: '/workspaces',
      access: 'operator',
      summary: 'The workspaces of all organizations',
      description: 'The oldest first.',
      errors: {},
      query: {
        ...PAGE,
        search: textParameter('Only those that have this in `organization/slug` or in their name.', 'acme/sh'),
      },
      responses: { 200: pageShape(WorkspaceResponse) },
      async handle({ query }) {
        return respondPage(await searchWorkspaces(databases.directory, query.search, query), query, toResponse);
      },
    }),
    route({
      id: 'workspaces.create',
      method: 'POST',
      path: `${ORGANIZATION}/workspaces`,
      access: 'operator',
      changes: 'named',
      activity: 'written',
      summary: 'Makes a workspace with the tables of its schema, its identity provider, its first keys and its limits',
      description:
        'All of it or nothing, in one transaction. Without a schema it has no entities yet; with `follows` it has that of a version of a shared schema, the newest unless another is named. Without a name it is called by its slug. Keys are shown this once; `meta.warnings` is that of the identity provider.',
      errors: { CONFLICT: 'another workspace of the organization has the slug, or the database is at a limit' },
      body: refinedBody(
        NewWorkspace,
        ({ slug, name = slug, schema, follows, limits, ...parts }, report, raw) => {
          const hasSchema = schema !== undefined && schema !== null;
          if (hasSchema && follows !== undefined)
            report(['follows'], 'INVALID', 'a workspace that follows a shared schema has no schema of its own');
          const document = hasSchema ? parseDocument(raw, report) : undefined;
          // Names in parts are those of the version, which is loaded later.
          const readParts =
            follows === undefined
              ? parseParts(parts, report, raw, document, findMistakes)
              : (version: SchemaDocument) => parsePartsAlone(parts, raw, version, findMistakes);
          return { slug, name, document, follows, limits, parts: readParts };
        },
        NewWorkspaceDescribed,
      ),
      example: {
        slug: 'trial',
        name: 'Trial',
        schema: { entities: { notes: { fields: { text: { type: 'text' } } } } },
        apiKeys: [{ name: 'server' }],
        limits: { maxRecords: 10_000 },
      },
      responses: { 201: warnedShape(WorkspaceCreated) },
      async handle({
        organization,
        principal,
        body: { slug, name, document, follows, limits, parts: readParts },
        changed,
        audit,
      }) {
        const common = { organization: organization.slug, slug, name, limits };
        const version = follows && (await requireFollowable(databases, organization.id, follows));
        const parts = typeof readParts === 'function' ? readParts(version?.document ?? EMPTY_DOCUMENT) : readParts;
        const { identityProvider: provider } = parts;
        // Before the transaction, as it waits for the provider.
        const inspected = provider && (await inspect(provider, principal, provider, 'identityProvider.'));
        const { write, actor: createdBy } = await audit.prepare({
          subject: slug,
          details: { name, ...(follows && { follows }), ...(limits && { limits }) },
        });
        let createdParts = {};
        const input = {
          ...common,
          ...(document === undefined ? {} : { document }),
          ...(version === undefined ? {} : { follows: version.follow }),
        };
        const creation = createWorkspace(databases, input, async (session, created) => {
          createdParts = await storeParts(session, created, parts, { makeKey: services.makeKey, createdBy });
          await write(session, { workspace: created, details: describeParts(createdParts) });
        });
        const workspace = await requireValue(creation, () => noOrganization(organization.slug));
        changed(workspace.id);
        const warnings =
          provider && inspected
            ? listWarnings(provider, inspected, await findAccessWarnings(workspace.id, principal))
            : [];
        return respond(
          201,
          { data: { ...toResponse(workspace), ...createdParts }, ...warningMeta(warnings) },
          { Location: workspaceLocation(workspace, '') },
        );
      },
    }),
  ];
}

/** Returns the routes of one workspace. */
function resourceRoutes(services: AdminServices, runner: Runner): AdminRoute[] {
  const { databases } = services;
  const route = routeMaker(services);
  return [
    route({
      id: 'workspaces.read',
      method: 'GET',
      path: WORKSPACE,
      access: 'workspace',
      summary: 'A workspace',
      description: 'To an owner all workspaces but its own look alike, whether or not they exist.',
      errors: {},
      responses: { 200: data(WorkspaceResponse) },
      handle: async ({ workspace }) => respondData(toResponse(workspace)),
    }),
    route({
      id: 'workspaces.update',
      method: 'PUT',
      path: WORKSPACE,
      access: 'workspace',
      changes: 'workspace',
      activity: 'written',
      summary:
        'Renames a workspace, suspends it, changes its limits or the origins of its pages, or lets it follow a shared schema',
      description:
        'With another slug it answers at other URLs, from this answer on; with `redirectDays` the former ones redirect to them. An owner gets no slug that another workspace has or had, and no other state or limits: that is 403. With `follows`, which stands alone, a migration makes the difference to the version by names, or, of the schema that it follows already, with all renames: 202 while it runs.',
      query: { allowDestructive: DESTRUCTIVE, wait: WAIT },
      errors: {
        CONFLICT:
          'the slug is, or was, that of another workspace; the workspace has had too many; or the migration has failed',
        DESTRUCTIVE_CHANGE: 'it would drop something to follow the schema, and `allowDestructive` is not true',
        DATA_CONFLICT: 'records are in the way of the version: it does not follow',
        SCHEMA_MIGRATION_IN_PROGRESS: MIGRATION_RUNS,
      },
      body: refinedBody(Change, (change, report) => {
        if (change.redirectDays !== undefined && change.slug === undefined)
          report(['redirectDays'], 'INVALID', 'means nothing without another slug');
        if (change.follows && Object.keys(change).length > 1)
          report(['follows'], 'INVALID', 'stands alone: send the other members in a request of their own');
        change.corsOrigins?.forEach((origin: string | undefined, index) => {
          if (origin !== undefined) checkOrigin(origin, report, ['corsOrigins', index]);
        });
        return change;
      }),
      example: { name: 'Shop' },
      responses: { 200: data(WorkspaceResponse), 202: data(WorkspaceResponse) },
      async handle({ workspace: current, principal, query, body: change, audit }) {
        const { id, slug, organizationId } = current;
        const { follows } = change;
        if (change.redirectDays !== undefined && change.slug === slug) throw slugUnchanged();
        if (change.state !== undefined && principal.kind !== 'operator') throw stateForbidden();
        if (change.limits !== undefined && principal.kind !== 'operator') throw limitsForbidden();
        if (follows !== undefined) requireFollowRight(principal.kind);
        if (follows) {
          const request = { ...query, workspace: current, follows, audit };
          const { workspace, running } = await follow(databases, runner, organizationId, request);
          const reply = { data: toResponse(workspace) };
          return running === undefined
            ? respond(200, reply)
            : respond(202, reply, { Location: workspaceLocation(workspace, `/migrations/${running}`) });
        }
        const workspace = await audit.change(
          async (session) => {
            if (follows === null) await storeTarget(session, id, null);
            const changed = updateWorkspace(session, id, change, principal.kind === 'operator');
            const renamed = await requireValue(changed, () => noWorkspace(slug));
            if (change.redirectDays !== undefined) await redirectSlug(session, id, slug, change.redirectDays);
            return renamed;
          },
          () => ({ subject: slug, details: change }),
        );
        return respondData(toResponse(workspace));
      },
    }),
    route({
      id: 'workspaces.delete',
      method: 'DELETE',
      path: WORKSPACE,
      access: 'operator',
      changes: 'workspace',
      activity: 'written',
      summary: 'Deletes a workspace and all of its records',
      description: 'Nothing brings them back.',
      errors: { SCHEMA_MIGRATION_IN_PROGRESS: MIGRATION_RUNS, CONFLICT: 'the database is at a limit' },
      query: { confirm: CONFIRM },
      responses: { 204: NOTHING },
      async handle({ workspace, query: { confirm }, audit }) {
        if (confirm !== workspace.slug) {
          throw badRequest(
            'NOT_CONFIRMED',
            `Deleting workspace ${workspace.slug} deletes all of its records: repeat with confirm=${workspace.slug} if that is meant`,
          );
        }
        const { write } = await audit.prepare({ subject: workspace.slug, details: { name: workspace.name } });
        await deleteWorkspace(databases, workspace, write);
        return respondNothing();
      },
    }),
  ];
}

const slugUnchanged = (): Error =>
  validationFailed([{ field: 'redirectDays', code: 'INVALID', message: 'means nothing without another slug' }]);

const stateForbidden = (): Error =>
  forbidden('OPERATOR_REQUIRED', 'Only the operator may change the state of a workspace: leave state out');

const limitsForbidden = (): Error =>
  forbidden('OPERATOR_REQUIRED', 'Only the operator may change the limits of a workspace: leave limits out');

const tooLargeToMeasure = (): Error =>
  badRequest('INVALID_PARAMETER', `size must be at most ${MAX_MEASURED} together with statistics=true`);

/** Parses the schema document of a body, with all digits of its numbers. */
function parseDocument(raw: unknown, report: Report): SchemaDocument | undefined {
  const parsed = parseSchemaDocument((raw as { schema: unknown }).schema);
  if (parsed.ok) return parsed.document;
  for (const { field, code, message } of parsed.details) {
    report(['schema', ...(field === null ? [] : [field])], code, message);
  }
  return undefined;
}

/** Reports a text that is no origin as browsers send it. */
function checkOrigin(text: string, report: Report, path: Path): void {
  const origin = parseOrigin(text);
  if (origin === text) return;
  const suggestion = origin === undefined ? '' : `. Did you mean ${origin}?`;
  report(path, 'INVALID', `must be an origin such as https://app.example.com, as browsers send it${suggestion}`);
}
