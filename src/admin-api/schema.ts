// /schema: reads the schema document in force, plans a change and applies one.
import type { Static } from 'typebox';
import { badRequest } from '../errors.ts';
import { followsSharedSchema } from '../migrations/errors.ts';
import { previewChange } from '../migrations/preview.ts';
import type { Runner } from '../migrations/runner.ts';
import type { PhysicalNames } from '../model/physical-name.ts';
import { type ParsedDocument, parseSchemaDocument } from '../schema/document.ts';
import { DocumentShape, SCHEMA_DOCUMENT_JSON_SCHEMA, type SchemaDocument } from '../schema/format.ts';
import { Type } from '../schema/type.ts';
import type { Databases } from '../store/databases.ts';
import { loadDocumentText } from '../store/documents.ts';
import { parseDocument } from '../store/load-workspace.ts';
import { findMigration, isEnded } from '../store/migrations.ts';
import { noWorkspace, requireValue } from './access.ts';
import { uncheckedBody } from './body.ts';
import { FOLLOWS, MIGRATION_RUNS } from './describe.ts';
import { DESTRUCTIVE, isCompletedWithin, WAIT } from './migration-wait.ts';
import { MigrationShape, PlannedStepShape, showMigration } from './migrations.ts';
import type { Parameter } from './query.ts';
import { anyShape, arrayShape, data, NOTHING, objectShape, respond, respondData } from './response.ts';
import { type AdminRoute, type AdminServices, routeMaker, WORKSPACE, workspaceLocation } from './route.ts';
import { entityTag, type MustMatch, makeStaticDocument, mustMatch, respondTagged } from './tag.ts';
import { findOpenEntities, warnedShape, warningMeta } from './warnings.ts';

const JSON_SCHEMA = makeStaticDocument(() => SCHEMA_DOCUMENT_JSON_SCHEMA);

const STRATEGY: Parameter<'online' | 'blocking'> = {
  shape: Type.Unsafe({
    type: 'string',
    enum: ['online', 'blocking'],
    default: 'online',
    description:
      'online: requests go on meanwhile. blocking: quicker, and what it closes answers 503 until it is done.',
  }),
  read(text = 'online') {
    if (text === 'online' || text === 'blocking') return text;
    throw badRequest('INVALID_PARAMETER', 'strategy must be online or blocking');
  },
};

const BASED_ON: Parameter<string | undefined> = {
  shape: Type.String({
    description: 'The tag of the document that the change begins with: 412 when another one is in force.',
    examples: ['r3Z8mB1yF5q0aVtK7cWx2g'],
  }),
  read: (text) => text,
};

const PendingName = objectShape({ entity: Type.String(), field: Type.Optional(Type.String()), name: Type.String() });

const SchemaResponse = objectShape({
  // The document as it was written. Old documents stay valid: the format only ever gets new members.
  data: DocumentShape,
  meta: Type.Optional(
    objectShape(
      { pendingNames: arrayShape(PendingName) },
      { description: 'Tables and columns whose names in PostgreSQL still differ.' },
    ),
  ),
});

const PlanShape = objectShape(
  {
    steps: arrayShape(PlannedStepShape),
    destructive: Type.Boolean({ description: 'Whether any step is.' }),
    basedOn: Type.String({
      description:
        'The tag of the document that it was compared with: If-Match of the `PUT` that makes this change, and no other.',
    }),
  },
  { title: 'Plan' },
);

type Plan = Static<typeof PlanShape>;

/** Noun of the value that tags belong to. */
const DOCUMENT = 'schema document';

const EXAMPLE = {
  entities: {
    customers: { fields: { name: { type: 'string', required: true }, email: { type: 'string' } } },
    orders: {
      fields: { total: { type: 'decimal' }, note: { type: 'text' } },
      relations: { customer: { kind: 'belongsTo', entity: 'customers' } },
    },
  },
};

export const schemaRoutes = (services: AdminServices, runner: Runner): AdminRoute[] => [
  ...readRoutes(services),
  ...changeRoutes(services, runner),
];

/** Returns the routes of the format and of the document in force. */
function readRoutes(services: AdminServices): AdminRoute[] {
  const { databases } = services;
  const route = routeMaker(services);
  return [
    route({
      id: 'schema.format',
      method: 'GET',
      path: '/schema.json',
      // Editors fetch it from the "$schema" of a document; it has no data of a workspace.
      access: 'anyone',
      summary: 'The JSON Schema of schema documents',
      description: 'Draft 7, which editors know.',
      errors: {},
      responses: { 200: anyShape('A JSON Schema.'), 304: NOTHING },
      handle: async ({ ifNoneMatch }) => JSON_SCHEMA.respondTo(ifNoneMatch),
    }),
    route({
      id: 'schema.read',
      method: 'GET',
      path: `${WORKSPACE}/schema`,
      access: 'workspace',
      summary: 'The schema document in force',
      description: 'As it was written, numbers with all of their digits.',
      errors: {},
      responses: { 200: SchemaResponse, 304: NOTHING },
      async handle({ workspace, ifNoneMatch }) {
        const row = await requireValue(loadDocumentText(databases.forWorkspace(workspace), workspace.id), () =>
          noWorkspace(workspace.slug),
        );
        const pendingEntries = pendingNames(row.names);
        const meta = pendingEntries.length === 0 ? '' : `,"meta":${JSON.stringify({ pendingNames: pendingEntries })}`;
        const tag = entityTag(parseDocument(row.document));
        // Pending names are no part of the document, so If-Match ignores them.
        const responseTag = pendingEntries.length === 0 ? tag : `${tag}.${entityTag(pendingEntries)}`;
        return respondTagged(`{"data":${row.document}${meta}}`, responseTag, ifNoneMatch);
      },
    }),
  ];
}

/** Returns the routes that plan and apply a change. */
function changeRoutes(services: AdminServices, runner: Runner): AdminRoute[] {
  const { databases } = services;
  const route = routeMaker(services);
  return [
    route({
      id: 'schema.plan',
      method: 'POST',
      path: `${WORKSPACE}/schema/plan`,
      access: 'workspace',
      changes: 'nothing',
      activity: 'none',
      summary: 'What a schema document would change',
      query: { strategy: STRATEGY, basedOn: BASED_ON },
      description: 'Counts the records that make it impossible. Nothing is changed.',
      errors: { PRECONDITION_FAILED: 'another document than that of `basedOn` is in force' },
      body: uncheckedBody(DocumentShape),
      example: EXAMPLE,
      responses: { 200: data(PlanShape) },
      async handle({ workspace, query: { strategy, basedOn }, body }) {
        const checkMatch = mustMatch(basedOn === undefined ? undefined : `"${basedOn}"`, DOCUMENT);
        return respondData(await planChange(databases, workspace.id, strategy, makeDocumentParser(body, checkMatch)));
      },
    }),
    route({
      id: 'schema.update',
      method: 'PUT',
      path: `${WORKSPACE}/schema`,
      access: 'workspace',
      changes: 'named',
      activity: 'written',
      summary: 'Puts a schema document in force',
      query: { strategy: STRATEGY, allowDestructive: DESTRUCTIVE, wait: WAIT },
      description:
        'The whole document; a migration makes the difference to the one in force. 200 when that has ended, well or not: its `state` says so. 202 while it runs. `meta.warnings` tells which entities it leaves open to every user of an enabled identity provider.',
      errors: {
        CONFLICT: 'the database is at a limit',
        DESTRUCTIVE_CHANGE: 'it would drop something, and `allowDestructive` is not true',
        FOLLOWS_SHARED_SCHEMA: FOLLOWS,
        SCHEMA_MIGRATION_IN_PROGRESS: MIGRATION_RUNS,
      },
      guarded: DOCUMENT,
      body: uncheckedBody(DocumentShape),
      example: EXAMPLE,
      responses: { 200: warnedShape(MigrationShape), 202: warnedShape(MigrationShape) },
      async handle({
        workspace,
        query: { strategy, allowDestructive, wait },
        body,
        mustMatch: checkMatch,
        changed,
        audit,
      }) {
        const { id, slug } = workspace;
        const parse = makeDocumentParser(body, checkMatch);
        let requested: SchemaDocument | undefined;
        const run = await runner.start({
          workspaceId: id,
          strategy,
          allowDestructive,
          isRecorded: true,
          audit: await audit.prepare({ subject: slug, details: { strategy, allowDestructive } }),
          parseDocument: (inForce, { follows }) => {
            if (follows !== null) throw followsSharedSchema(follows);
            const parsed = parse(inForce);
            if (parsed.ok) requested = parsed.document;
            return parsed;
          },
        });
        const isInForce = await isCompletedWithin(run.completion, wait);
        const migration = await requireValue(
          findMigration(databases.forWorkspace(workspace), id, run.id as string),
          () => noWorkspace(slug),
        );
        if (isEnded(migration)) {
          // The wait may have timed out just before the end was in force in every process.
          if (!isInForce) changed(id);
          const warnings = migration.state === 'succeeded' ? await findOpenEntities(databases, id, requested) : [];
          return respond(200, { data: showMigration(migration), ...warningMeta(warnings) });
        }
        const warnings = await findOpenEntities(databases, id, requested);
        const location = workspaceLocation(workspace, `/migrations/${migration.id}`);
        return respond(202, { data: showMigration(migration), ...warningMeta(warnings) }, { Location: location });
      },
    }),
  ];
}

/** Plans a change of the schema of a workspace without making it. */
async function planChange(
  databases: Databases,
  id: string,
  strategy: 'online' | 'blocking',
  parse: (inForce: SchemaDocument) => ParsedDocument,
): Promise<Plan> {
  const { change, steps } = await previewChange(databases, id, strategy, parse);
  return { steps, destructive: steps.some((step) => step.destructive), basedOn: entityTag(change.inForce) };
}

/** Returns a parser that checks If-Match first. It runs under the lock of the workspace or in the transaction of a plan. */
const makeDocumentParser =
  (body: unknown, checkMatch: MustMatch) =>
  (inForce: SchemaDocument): ParsedDocument => {
    checkMatch(entityTag(inForce));
    return parseSchemaDocument(body, inForce);
  };

/** Lists tables and columns whose names in PostgreSQL still differ from the document's. */
function pendingNames({ tables, columns }: PhysicalNames): readonly Static<typeof PendingName>[] {
  return [
    ...Object.entries(tables).map(([entity, name]) => ({ entity, name })),
    ...Object.entries(columns).flatMap(([entity, fields]) =>
      Object.entries(fields).map(([field, name]) => ({ entity, field, name })),
    ),
  ];
}
