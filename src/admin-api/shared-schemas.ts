// /organizations/{org}/schemas: shared schemas, which many workspaces follow, and their versions. The operator makes them;
// an owner reads those of its organization.
import type { Static } from 'typebox';
import { type ApiError, badRequest, hint, notFound, shorten } from '../errors.ts';
import { publishVersion } from '../migrations/publish.ts';
import type { Runner } from '../migrations/runner.ts';
import { DocumentShape } from '../schema/format.ts';
import { Type } from '../schema/type.ts';
import type { Databases } from '../store/databases.ts';
import type { Organization } from '../store/organizations.ts';
import {
  createSharedSchema,
  deleteSharedSchema,
  findSharedSchema,
  findSharedSchemaVersion,
  loadSharedSchemas,
  loadSharedSchemaVersions,
  type SharedSchema,
  type SharedSchemaVersion,
  suggestSharedSchema,
} from '../store/shared-schemas.ts';
import { requireValue } from './access.ts';
import { body, uncheckedBody } from './body.ts';
import { idParam } from './describe.ts';
import { Slug } from './names.ts';
import { flag, PAGE } from './query.ts';
import {
  arrayShape,
  data,
  formatTime,
  NOTHING,
  nullableShape,
  objectShape,
  pageShape,
  respond,
  respondCreated,
  respondData,
  respondNothing,
  respondPage,
  Time,
} from './response.ts';
import { type AdminRoute, type AdminServices, ORGANIZATION, organizationLocation, routeMaker } from './route.ts';
import { respondTaggedValue } from './tag.ts';

export const SHARED_SCHEMA = `${ORGANIZATION}/schemas/:name` as const;
const VERSIONS = `${SHARED_SCHEMA}/versions` as const;

export const SCHEMA_PARAM = {
  name: { ...Slug, description: 'Name of the shared schema.', examples: ['helpdesk'] },
};

const Name = { ...Slug, description: 'Its name in URLs, unique in the organization.', examples: ['helpdesk'] };
const Description = Type.String({ maxLength: 1000, description: 'For people.' });
const VersionNumber = Type.Integer({ minimum: 1, description: 'From 1 on.', examples: [1] });
const NewSharedSchema = objectShape(
  { name: Name, description: Type.Optional(nullableShape(Description)) },
  { title: 'NewSharedSchema' },
);
const SharedSchemaResponse = objectShape(
  {
    name: Name,
    description: nullableShape(Description),
    newest: { ...nullableShape(VersionNumber), description: 'The newest version, or null before the first.' },
    followers: Type.Integer({ minimum: 0, description: 'How many workspaces follow it.' }),
  },
  { title: 'SharedSchema' },
);
const StepShape = objectShape(
  {
    entity: Type.String(),
    kind: Type.String({ examples: ['addField'] }),
    description: Type.String({ description: 'In words.' }),
    destructive: Type.Boolean({ description: 'Whether something is dropped.' }),
    opens: Type.Optional(
      Type.Boolean({ description: 'Of a change of grants: whether every user may use the entity from then on.' }),
    ),
    grants: Type.Optional(
      arrayShape(Type.String({ description: 'Of a change of grants: each of the new ones in words.' })),
    ),
  },
  { title: 'VersionStep', description: 'What a version changes in the one before.' },
);
const PublishedShape = objectShape(
  { version: VersionNumber, steps: arrayShape(StepShape) },
  { title: 'PublishedVersion' },
);
const VersionSummaryShape = objectShape({ version: VersionNumber, createdAt: Time }, { title: 'VersionSummary' });
const VersionShape = objectShape(
  { version: VersionNumber, schema: DocumentShape, steps: arrayShape(StepShape), createdAt: Time },
  { title: 'SchemaVersion' },
);

const EXAMPLE = {
  entities: {
    tickets: { fields: { subject: { type: 'string', required: true }, open: { type: 'boolean', default: true } } },
  },
};

export const sharedSchemaRoutes = (services: AdminServices, runner: Runner): AdminRoute[] => [
  ...schemaRoutes(services),
  ...versionRoutes(services, runner),
];

/** Returns the routes of shared schemas without their versions. */
function schemaRoutes(services: AdminServices): AdminRoute[] {
  const { databases } = services;
  const { directory } = databases;
  const route = routeMaker(services);
  return [
    route({
      id: 'sharedSchemas.list',
      method: 'GET',
      path: `${ORGANIZATION}/schemas`,
      access: 'administrator',
      summary: 'The shared schemas of an organization',
      description: 'The oldest first.',
      errors: {},
      query: PAGE,
      responses: { 200: pageShape(SharedSchemaResponse) },
      handle: async ({ organization, query }) =>
        respondPage(await loadSharedSchemas(directory, organization.id, query), query, toResponse),
    }),
    route({
      id: 'sharedSchemas.create',
      method: 'POST',
      path: `${ORGANIZATION}/schemas`,
      access: 'operator',
      changes: 'nothing',
      activity: 'written',
      summary: 'Makes a shared schema',
      description: 'Without a version yet: publish one before workspaces can follow it.',
      errors: { CONFLICT: 'the organization has a shared schema of this name' },
      body: body(NewSharedSchema),
      example: { name: 'helpdesk', description: 'What all customers of the helpdesk have' },
      responses: { 201: data(SharedSchemaResponse) },
      async handle({ organization, body: { name, description = null }, audit }) {
        const schema = await audit.change(
          (session) => createSharedSchema(session, organization.id, { name, description }),
          () => ({ subject: name, details: { description } }),
        );
        return respondCreated(toResponse(schema), schemaLocation(organization, name));
      },
    }),
    route({
      id: 'sharedSchemas.read',
      method: 'GET',
      path: SHARED_SCHEMA,
      access: 'administrator',
      summary: 'A shared schema',
      description: 'With its newest version, and how many workspaces follow it.',
      errors: {},
      params: SCHEMA_PARAM,
      find: ({ organization, params }) => requireSharedSchema(databases, organization, params.name),
      responses: { 200: data(SharedSchemaResponse) },
      handle: async ({ resource: schema }) => respondData(toResponse(schema)),
    }),
    route({
      id: 'sharedSchemas.delete',
      method: 'DELETE',
      path: SHARED_SCHEMA,
      access: 'operator',
      changes: 'nothing',
      activity: 'written',
      summary: 'Deletes a shared schema with its versions',
      description: 'Only one that no workspace follows.',
      errors: { CONFLICT: 'workspaces follow it' },
      params: SCHEMA_PARAM,
      find: ({ organization, params }) => requireSharedSchema(databases, organization, params.name),
      responses: { 204: NOTHING },
      async handle({ resource: schema, audit }) {
        await audit.change(
          async (session) => {
            if (!(await deleteSharedSchema(session, schema))) throw noSharedSchema(schema.name, null);
          },
          () => ({ subject: schema.name }),
        );
        return respondNothing();
      },
    }),
  ];
}

/** Returns the routes of the versions of a shared schema. */
function versionRoutes(services: AdminServices, { maxDocumentBytes }: Runner): AdminRoute[] {
  const { databases } = services;
  const { directory } = databases;
  const route = routeMaker(services);
  return [
    route({
      id: 'sharedSchemas.versions',
      method: 'GET',
      path: VERSIONS,
      access: 'administrator',
      summary: 'The versions of a shared schema',
      description: 'The newest first, without their documents.',
      errors: {},
      params: SCHEMA_PARAM,
      find: ({ organization, params }) => requireSharedSchema(databases, organization, params.name),
      query: PAGE,
      responses: { 200: pageShape(VersionSummaryShape) },
      handle: async ({ resource: { id }, query }) =>
        respondPage(await loadSharedSchemaVersions(directory, id, query), query, ({ version, createdAt }) => ({
          version,
          createdAt: formatTime(createdAt),
        })),
    }),
    route({
      id: 'sharedSchemas.publish',
      method: 'POST',
      path: VERSIONS,
      access: 'operator',
      // Workspaces get it by a rollout, or when they are made.
      changes: 'nothing',
      activity: 'written',
      summary: 'Publishes a version of a shared schema',
      description:
        'The whole document, compared with the newest version: `renamedFrom` names what that has, and rules, grants and settings that are left out are those of that version. No workspace is changed by it. A document equal to the newest is 200 with that version, a dry run 200 with the next one.',
      errors: {},
      params: SCHEMA_PARAM,
      find: ({ organization, params }) => requireSharedSchema(databases, organization, params.name),
      query: { dryRun: flag('Check the document and show its steps; nothing is published.') },
      body: uncheckedBody(DocumentShape),
      example: EXAMPLE,
      responses: { 200: data(PublishedShape), 201: data(PublishedShape) },
      async handle({ organization, resource: schema, query: { dryRun }, body, audit }) {
        const auditContext = await audit.prepare({ subject: schema.name });
        const { isNew, version, steps } = await requireValue(
          publishVersion(databases, schema.id, body, dryRun ? 'dryRun' : auditContext, maxDocumentBytes),
          () => noSharedSchema(schema.name, null),
        );
        const published = { data: { version, steps } };
        if (!isNew) return respond(200, published);
        return respond(201, published, {
          Location: `${schemaLocation(organization, schema.name)}/versions/${version}`,
        });
      },
    }),
    route({
      id: 'sharedSchemas.version',
      method: 'GET',
      path: `${VERSIONS}/:version`,
      access: 'administrator',
      summary: 'A version of a shared schema',
      description:
        'Its whole document, without `renamedFrom`, and its steps from the version before. It never changes.',
      errors: {},
      params: { ...SCHEMA_PARAM, version: { ...idParam('version'), description: 'Number of the version.' } },
      find: async ({ organization, params }) => {
        const schema = await requireSharedSchema(databases, organization, params.name);
        return requireVersion(databases, schema, params.version);
      },
      responses: { 200: data(VersionShape), 304: NOTHING },
      handle: async ({ resource: { version, document, steps, createdAt }, ifNoneMatch }) =>
        respondTaggedValue({ version, schema: document, steps, createdAt: formatTime(createdAt) }, ifNoneMatch),
    }),
  ];
}

/** Loads the shared schema of a path; 404 with a similar name. */
export async function requireSharedSchema(
  { directory }: Databases,
  { id }: Organization,
  name: string,
): Promise<SharedSchema> {
  const schema = await findSharedSchema(directory, id, name);
  if (schema === undefined) throw noSharedSchema(name, await suggestSharedSchema(directory, id, name));
  return schema;
}

const noSharedSchema = (name: string, suggestion: string | null): ApiError =>
  notFound('SHARED_SCHEMA_NOT_FOUND', `Shared schema ${shorten(name)} does not exist.${hint(suggestion)}`);

/** Loads the version of a path; 404 with the newest one. */
async function requireVersion(
  { directory }: Databases,
  { id, name, newest }: SharedSchema,
  text: string,
): Promise<SharedSchemaVersion> {
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw badRequest('MALFORMED_ID', `Version ${shorten(text)} is malformed: an integer from 1 on is needed`);
  return requireValue(findSharedSchemaVersion(directory, id, Number(text)), () => {
    const newestText = newest === null ? 'it has none yet' : `the newest is ${newest}`;
    return notFound(
      'SCHEMA_VERSION_NOT_FOUND',
      `Version ${text} of shared schema ${name} does not exist: ${newestText}`,
    );
  });
}

export const schemaLocation = (organization: Pick<Organization, 'slug'>, name: string): string =>
  `${organizationLocation(organization.slug)}/schemas/${name}`;

function toResponse({ name, description, newest, followers }: SharedSchema): Static<typeof SharedSchemaResponse> {
  return { name, description, newest, followers };
}
