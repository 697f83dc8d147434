// /entities/{entity}/settings, row-rules and grants: change three parts of the schema document separately.
import type { Static } from 'typebox';
import { conflict, type Detail, unknownEntity } from '../errors.ts';
import { followsSharedSchema } from '../migrations/errors.ts';
import type { Runner } from '../migrations/runner.ts';
import { closest } from '../model/closest.ts';
import { NO_SETTINGS } from '../model/entity.ts';
import type { ErrorConditions } from '../openapi/operation.ts';
import { parseSchemaDocument } from '../schema/document.ts';
import { getRowRules } from '../schema/entities.ts';
import {
  type EntityDocument,
  GrantsShape,
  RowRulesShape,
  type SchemaDocument,
  SettingsShape,
} from '../schema/format.ts';
import { member } from '../schema/renames.ts';
import { Type } from '../schema/type.ts';
import type { AuditContext } from '../store/activity.ts';
import type { Databases } from '../store/databases.ts';
import { loadWorkspaceRow } from '../store/documents.ts';
import { findMigration } from '../store/migrations.ts';
import { requireValue, workspaceDeleted } from './access.ts';
import type { AuditEntry } from './audit.ts';
import { uncheckedBody } from './body.ts';
import { FOLLOWS, MIGRATION_RUNS } from './describe.ts';
import { arrayShape, data, NOTHING, nullableShape, objectShape, respond } from './response.ts';
import { type AdminRoute, type AdminServices, routeMaker, WORKSPACE } from './route.ts';
import { entityTag, type MustMatch, respondChanged, respondTaggedValue, tagHeader } from './tag.ts';
import { findOpenEntities, warnedShape, warningMeta } from './warnings.ts';

const Paths = nullableShape(arrayShape(Type.String()));
const Settings = objectShape(
  {
    defaultExpand: Paths,
    expandable: Paths,
    maxExpandDepth: nullableShape(Type.Integer()),
    defaultFields: Paths,
    label: nullableShape(
      Type.String({
        description: 'Field, or template of fields such as `{firstName} {lastName}`, that names a record to people.',
      }),
    ),
    changes: Type.Unsafe<'off' | 'feed' | 'history' | null>({
      enum: ['off', 'feed', 'history', null],
      description: 'What is kept of changes of its records.',
    }),
    historyDays: nullableShape(Type.Integer({ description: 'Days for which history is kept.' })),
    historyForUsers: nullableShape(Type.Boolean({ description: 'Whether external users may read history.' })),
    changesOmit: Paths,
  },
  { title: 'Settings', description: 'What an entity is read by; null: not configured.' },
);
const Rule = objectShape(
  { column: Type.String(), claim: Type.String(), enabled: Type.Boolean() },
  { title: 'RowRule', description: 'Users of the identity provider only have records whose column equals the claim.' },
);
const Rules = arrayShape(Rule);

const ENTITY = { entity: Type.String({ description: 'Name of the entity.', examples: ['orders'] }) };
const CHANGE: ErrorConditions = {
  CONFLICT: 'the change was cancelled or failed',
  SCHEMA_MIGRATION_IN_PROGRESS: MIGRATION_RUNS,
  FOLLOWS_SHARED_SCHEMA: FOLLOWS,
};

/** Workspace and entity of a path. */
interface EntityLocation {
  readonly workspaceId: string;
  readonly entity: string;
}

interface ChangeRequest {
  readonly mustMatch: MustMatch;
  /** Returns the new value of the part, from the entity in force. */
  readonly merge: (entity: EntityDocument) => unknown;
  readonly auditEntry: AuditContext;
}

/** Returns the grants as they were written; null without any. */
const showGrants = ({ grants }: EntityDocument) => grants ?? null;

/** Functions that build the responses of the parts, whose hashes are the tags. */
const RESPONSES = { settings: showSettings, rowRules: getRowRules, grants: showGrants };

export function settingsRoutes(services: AdminServices, runner: Runner): AdminRoute[] {
  const { databases } = services;
  const route = routeMaker(services);
  return [
    route({
      id: 'settings.read',
      method: 'GET',
      path: `${WORKSPACE}/entities/:entity/settings`,
      access: 'workspace',
      summary: 'How an entity is read',
      description: 'A part of the schema document, shown by itself.',
      errors: {},
      params: ENTITY,
      find: ({ workspace, params }) => loadEntity(databases, { workspaceId: workspace.id, entity: params.entity }),
      responses: { 200: data(Settings), 304: NOTHING },
      handle: async ({ resource: entity, ifNoneMatch }) => respondTaggedValue(showSettings(entity), ifNoneMatch),
    }),
    route({
      id: 'settings.update',
      method: 'PUT',
      path: `${WORKSPACE}/entities/:entity/settings`,
      access: 'workspace',
      changes: 'named',
      activity: 'written',
      summary: 'Changes how an entity is read',
      description: 'What is left out stays; null removes a setting. In force in every process when it is answered.',
      errors: CHANGE,
      guarded: 'settings of the entity',
      params: ENTITY,
      find: ({ workspace, params }) => loadEntity(databases, { workspaceId: workspace.id, entity: params.entity }),
      body: uncheckedBody(SettingsShape),
      example: { defaultExpand: ['customer'] },
      responses: { 200: data(Settings) },
      async handle({ workspace, params, body, mustMatch, audit }) {
        const merge = (entity: EntityDocument): unknown => changedSettings(entity, body);
        const location = { workspaceId: workspace.id, entity: params.entity };
        const auditEntry = await audit.prepare(toAuditEntry(params, body));
        return respondChanged(
          showSettings(await changeEntity(databases, runner, location, 'settings', { mustMatch, merge, auditEntry })),
        );
      },
    }),
    route({
      id: 'rowRules.read',
      method: 'GET',
      path: `${WORKSPACE}/entities/:entity/row-rules`,
      access: 'workspace',
      summary: 'The row rules of an entity',
      description: 'All enabled rules have to hold.',
      errors: {},
      params: ENTITY,
      find: ({ workspace, params }) => loadEntity(databases, { workspaceId: workspace.id, entity: params.entity }),
      responses: { 200: data(Rules), 304: NOTHING },
      handle: async ({ resource: entity, ifNoneMatch }) => respondTaggedValue(getRowRules(entity), ifNoneMatch),
    }),
    route({
      id: 'rowRules.update',
      method: 'PUT',
      path: `${WORKSPACE}/entities/:entity/row-rules`,
      access: 'workspace',
      changes: 'named',
      activity: 'written',
      summary: 'Replaces the row rules of an entity',
      description:
        'All of them: an empty list lifts every rule. In force in every process when it is answered. `meta.warnings` tells which entities are open to every user of an enabled identity provider.',
      errors: CHANGE,
      guarded: 'row rules of the entity',
      params: ENTITY,
      find: ({ workspace, params }) => loadEntity(databases, { workspaceId: workspace.id, entity: params.entity }),
      body: uncheckedBody(RowRulesShape),
      example: [{ column: 'customerId', claim: 'customer_id' }],
      responses: { 200: warnedShape(Rules) },
      async handle({ workspace, params, body, mustMatch, audit }) {
        const location = { workspaceId: workspace.id, entity: params.entity };
        const auditEntry = await audit.prepare(toAuditEntry(params, body));
        const entity = await changeEntity(databases, runner, location, 'rowRules', {
          mustMatch,
          merge: () => body ?? null,
          auditEntry,
        });
        const rules = getRowRules(entity);
        const warnings = await findOpenEntities(databases, workspace.id);
        return respond(200, { data: rules, ...warningMeta(warnings) }, tagHeader(entityTag(rules)));
      },
    }),
    ...grantRoutes(services, runner),
  ];
}

function grantRoutes(services: AdminServices, runner: Runner): AdminRoute[] {
  const { databases } = services;
  const route = routeMaker(services);
  return [
    route({
      id: 'grants.read',
      method: 'GET',
      path: `${WORKSPACE}/entities/:entity/grants`,
      access: 'workspace',
      summary: 'The grants of an entity',
      description: 'null: it is open to every user of the identity provider. []: to none.',
      errors: {},
      params: ENTITY,
      find: ({ workspace, params }) => loadEntity(databases, { workspaceId: workspace.id, entity: params.entity }),
      responses: { 200: data(GrantsShape), 304: NOTHING },
      handle: async ({ resource: entity, ifNoneMatch }) => respondTaggedValue(showGrants(entity), ifNoneMatch),
    }),
    route({
      id: 'grants.update',
      method: 'PUT',
      path: `${WORKSPACE}/entities/:entity/grants`,
      access: 'workspace',
      changes: 'named',
      activity: 'written',
      summary: 'Replaces the grants of an entity',
      description:
        'All of them: an empty list closes the entity to users, and null opens it to all of them. In force in every process when it is answered. `meta.warnings` tells which entities are open to every user of an enabled identity provider.',
      errors: CHANGE,
      guarded: 'grants of the entity',
      params: ENTITY,
      find: ({ workspace, params }) => loadEntity(databases, { workspaceId: workspace.id, entity: params.entity }),
      body: uncheckedBody(GrantsShape),
      example: [{ can: ['read'], where: { field: 'customerId', op: 'eq', value: { claim: 'customer_id' } } }],
      responses: { 200: warnedShape(GrantsShape) },
      async handle({ workspace, params, body, mustMatch, audit }) {
        const location = { workspaceId: workspace.id, entity: params.entity };
        const auditEntry = await audit.prepare(toAuditEntry(params, body));
        // A missing body is a mistake, and no null.
        const merge = (): unknown => body ?? (body === null ? null : {});
        const entity = await changeEntity(databases, runner, location, 'grants', { mustMatch, merge, auditEntry });
        const grants = showGrants(entity);
        const warnings = await findOpenEntities(databases, workspace.id);
        return respond(200, { data: grants, ...warningMeta(warnings) }, tagHeader(entityTag(grants)));
      },
    }),
  ];
}

async function loadEntity(databases: Databases, { workspaceId, entity }: EntityLocation): Promise<EntityDocument> {
  const row = await requireValue(
    loadWorkspaceRow(databases.forWorkspace({ id: workspaceId }), workspaceId),
    workspaceDeleted,
  );
  return requireEntity(row.document, entity);
}

/** Changes a part of an entity; returns the entity that is then in force. */
async function changeEntity(
  databases: Databases,
  runner: Runner,
  location: EntityLocation,
  part: 'settings' | 'rowRules' | 'grants',
  { mustMatch, merge, auditEntry }: ChangeRequest,
): Promise<EntityDocument> {
  const { workspaceId, entity } = location;
  const run = await runner.start({
    workspaceId,
    strategy: 'online',
    allowDestructive: false,
    isRecorded: false,
    audit: auditEntry,
    // Parses the whole document with the body in it.
    parseDocument: (inForce, { follows }) => {
      if (follows !== null) throw followsSharedSchema(follows);
      const current = requireEntity(inForce, entity);
      // Runs under the lock of the workspace, so there is no other change before this one.
      mustMatch(entityTag(RESPONSES[part](current)));
      const document = {
        ...inForce,
        entities: { ...inForce.entities, [entity]: { ...current, [part]: merge(current) } },
      };
      const parsed = parseSchemaDocument(document, inForce);
      return parsed.ok ? parsed : { ok: false, details: parsed.details.map(relativeTo(`entities.${entity}.${part}`)) };
    },
  });
  await run.completion;
  const migration =
    run.id === null ? undefined : await findMigration(databases.forWorkspace({ id: workspaceId }), workspaceId, run.id);
  if (migration !== undefined && migration.state !== 'succeeded') {
    throw conflict(
      'SETTINGS_NOT_APPLIED',
      `The change was not made: ${migration.error?.message ?? 'it was cancelled'}`,
    );
  }
  return loadEntity(databases, location);
}

/** Returns the audit entry of a valid body. */
const toAuditEntry = ({ entity }: { readonly entity: string }, body: unknown): AuditEntry => ({
  subject: entity,
  entity,
  details: { asked: body },
});

/**
 * Merges a body into the settings in force: a missing member keeps its value, so that leaving out a whitelist does not lift
 * it. A missing body is a mistake.
 */
function changedSettings({ settings }: EntityDocument, body: unknown): unknown {
  const isObject = typeof body === 'object' && body !== null && !Array.isArray(body);
  return isObject ? { ...body, ...without(settings, body) } : (body ?? null);
}

/** Returns the members of `all` that `excluded` does not have. */
function without(all: object = {}, excluded: object): object {
  return Object.fromEntries(Object.entries(all).filter(([name]) => !Object.hasOwn(excluded, name)));
}

function requireEntity(document: SchemaDocument, name: string): EntityDocument {
  const entity = member(document.entities, name);
  if (entity === undefined) {
    const names = Object.keys(document.entities);
    throw unknownEntity(name, closest(name, names), names);
  }
  return entity;
}

/** Makes paths of mistakes relative to the body; mistakes outside of it keep their paths in the document. */
const relativeTo =
  (prefix: string) =>
  (detail: Detail): Detail => {
    if (!detail.field?.startsWith(prefix)) return detail;
    return { ...detail, field: detail.field.slice(prefix.length + 1) || null };
  };

function showSettings({ settings }: EntityDocument): Static<typeof Settings> {
  return { ...NO_SETTINGS, ...settings };
}
