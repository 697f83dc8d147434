// /entities/{entity}/settings and row-rules: two parts of the schema document that can be changed alone.
import type { Static } from 'typebox';
import { loadWorkspaceRow } from '../../catalog/documents.ts';
import { findMigration } from '../../catalog/migrations.ts';
import type { Noted } from '../../directory/activity.ts';
import { parseSchemaDocument } from '../../document/document.ts';
import { rowRulesOf } from '../../document/entities.ts';
import { type EntityDocument, RowRulesShape, type SchemaDocument, SettingsShape } from '../../document/format.ts';
import { member } from '../../document/renames.ts';
import { Type } from '../../document/type.ts';
import { conflict, type Detail, unknownEntity } from '../../errors.ts';
import type { Runner } from '../../migrate/runner.ts';
import { closest } from '../../model/closest.ts';
import { NO_SETTINGS } from '../../model/entity.ts';
import type { Refuses } from '../refuses.ts';
import { noWorkspaceAnyMore, required } from './access.ts';
import type { AuditEntry } from './audit.ts';
import { uncheckedBody } from './body.ts';
import { MIGRATION_RUNS } from './describe.ts';
import { closed, data, listOf, NOTHING, orNull } from './response.ts';
import { type AdminRoute, type AdminServices, routeMaker, WORKSPACE } from './route.ts';
import { changedTo, entityTag, type MustMatch, tagged } from './tag.ts';

const Paths = orNull(listOf(Type.String()));
const Settings = closed(
  {
    defaultExpand: Paths,
    expandable: Paths,
    maxExpandDepth: orNull(Type.Integer()),
    defaultFields: Paths,
    label: orNull(Type.String({ description: 'Field that names a record to people.' })),
  },
  { title: 'Settings', description: 'What an entity is read by; null: not configured.' },
);
const Rule = closed(
  { column: Type.String(), claim: Type.String(), enabled: Type.Boolean() },
  { title: 'RowRule', description: 'Users of the identity provider only have records whose column equals the claim.' },
);
const Rules = listOf(Rule);

const ENTITY = { entity: Type.String({ description: 'Name of the entity.', examples: ['orders'] }) };
const CHANGE: Refuses = {
  CONFLICT: 'the change was cancelled or failed',
  SCHEMA_MIGRATION_IN_PROGRESS: MIGRATION_RUNS,
};

/** The part of a path below its workspace. */
interface Place {
  readonly workspaceId: string;
  readonly entity: string;
}

interface Changing {
  readonly mustMatch: MustMatch;
  /** New value of the part, from the entity in force. */
  readonly merge: (entity: EntityDocument) => unknown;
  readonly noted: Noted;
}

/** Responses of the parts; their tags are hashes of them. */
const SHOWN = { settings: showSettings, rowRules: rowRulesOf };

export function settingsRoutes(services: AdminServices, runner: Runner): AdminRoute[] {
  const { databases } = services;
  const route = routeMaker(services);

  async function entityOf({ workspaceId, entity }: Place): Promise<EntityDocument> {
    const row = await required(loadWorkspaceRow(databases.of({ id: workspaceId }), workspaceId), noWorkspaceAnyMore);
    return knownEntity(row.document, entity);
  }

  /** Puts a part of an entity in force; answers with what is then in force. */
  async function change(
    place: Place,
    part: 'settings' | 'rowRules',
    { mustMatch, merge, noted }: Changing,
  ): Promise<EntityDocument> {
    const { workspaceId, entity } = place;
    const started = await runner.start({
      workspaceId,
      strategy: 'online',
      allowDestructive: false,
      recorded: false,
      noted,
      // The parser of documents checks the body, put in its place in the document.
      ask: (inForce) => {
        const now = knownEntity(inForce, entity);
        // Under the lock of the workspace: nobody else changes it before this change is in force.
        mustMatch(entityTag(SHOWN[part](now)));
        const asked = { entities: { ...inForce.entities, [entity]: { ...now, [part]: merge(now) } } };
        const parsed = parseSchemaDocument(asked, inForce);
        return parsed.ok ? parsed : { ok: false, details: parsed.details.map(below(`entities.${entity}.${part}`)) };
      },
    });
    await started.ended;
    const migration =
      started.id === null ? undefined : await findMigration(databases.of({ id: workspaceId }), workspaceId, started.id);
    if (migration !== undefined && migration.state !== 'succeeded') {
      throw conflict(
        'SETTINGS_NOT_APPLIED',
        `The change was not made: ${migration.error?.message ?? 'it was cancelled'}`,
      );
    }
    return entityOf(place);
  }

  return [
    route({
      id: 'settings.read',
      method: 'GET',
      path: `${WORKSPACE}/entities/:entity/settings`,
      may: 'workspace',
      summary: 'How an entity is read',
      description: 'A part of the schema document, shown by itself.',
      refuses: {},
      params: ENTITY,
      find: ({ workspace, params }) => entityOf({ workspaceId: workspace.id, entity: params.entity }),
      responses: { 200: data(Settings), 304: NOTHING },
      handle: async ({ resource: entity, ifNoneMatch }) => tagged(showSettings(entity), ifNoneMatch),
    }),
    route({
      id: 'settings.update',
      method: 'PUT',
      path: `${WORKSPACE}/entities/:entity/settings`,
      may: 'workspace',
      changes: 'named',
      activity: 'written',
      summary: 'Changes how an entity is read',
      description: 'What is left out stays; null removes a setting. In force in every process when it is answered.',
      refuses: CHANGE,
      guarded: 'settings of the entity',
      params: ENTITY,
      find: ({ workspace, params }) => entityOf({ workspaceId: workspace.id, entity: params.entity }),
      body: uncheckedBody(SettingsShape),
      example: { defaultExpand: ['customer'] },
      responses: { 200: data(Settings) },
      async handle({ workspace, params, body, mustMatch, audit }) {
        const merge = (entity: EntityDocument): unknown => changedSettings(entity, body);
        const place = { workspaceId: workspace.id, entity: params.entity };
        const noted = await audit.prepare(toldOf(params, body));
        return changedTo(showSettings(await change(place, 'settings', { mustMatch, merge, noted })));
      },
    }),
    route({
      id: 'rowRules.read',
      method: 'GET',
      path: `${WORKSPACE}/entities/:entity/row-rules`,
      may: 'workspace',
      summary: 'The row rules of an entity',
      description: 'All enabled rules have to hold.',
      refuses: {},
      params: ENTITY,
      find: ({ workspace, params }) => entityOf({ workspaceId: workspace.id, entity: params.entity }),
      responses: { 200: data(Rules), 304: NOTHING },
      handle: async ({ resource: entity, ifNoneMatch }) => tagged(rowRulesOf(entity), ifNoneMatch),
    }),
    route({
      id: 'rowRules.update',
      method: 'PUT',
      path: `${WORKSPACE}/entities/:entity/row-rules`,
      may: 'workspace',
      changes: 'named',
      activity: 'written',
      summary: 'Replaces the row rules of an entity',
      description: 'All of them: an empty list lifts every rule. In force in every process when it is answered.',
      refuses: CHANGE,
      guarded: 'row rules of the entity',
      params: ENTITY,
      find: ({ workspace, params }) => entityOf({ workspaceId: workspace.id, entity: params.entity }),
      body: uncheckedBody(RowRulesShape),
      example: [{ column: 'customerId', claim: 'customer_id' }],
      responses: { 200: data(Rules) },
      async handle({ workspace, params, body, mustMatch, audit }) {
        const place = { workspaceId: workspace.id, entity: params.entity };
        const noted = await audit.prepare(toldOf(params, body));
        return changedTo(rowRulesOf(await change(place, 'rowRules', { mustMatch, merge: () => body ?? null, noted })));
      },
    }),
  ];
}

/** Audit details of a body that is in force, and so is valid. */
const toldOf = ({ entity }: { readonly entity: string }, body: unknown): AuditEntry => ({
  subject: entity,
  entity,
  details: { asked: body },
});

/**
 * As everywhere, PUT changes what is given: leaving out a whitelist must not lift it. No body at all is a mistake, not a part
 * left out.
 */
function changedSettings({ settings }: EntityDocument, body: unknown): unknown {
  const isObject = typeof body === 'object' && body !== null && !Array.isArray(body);
  return isObject ? { ...body, ...without(settings, body) } : (body ?? null);
}

/** The members of `all` that `taken` does not have. */
function without(all: object = {}, taken: object): object {
  return Object.fromEntries(Object.entries(all).filter(([name]) => !Object.hasOwn(taken, name)));
}

function knownEntity(document: SchemaDocument, name: string): EntityDocument {
  const entity = member(document.entities, name);
  if (entity === undefined) {
    const names = Object.keys(document.entities);
    throw unknownEntity(name, closest(name, names), names);
  }
  return entity;
}

/** Paths of mistakes in the body are paths into the body; others stay paths into the document. */
const below =
  (prefix: string) =>
  (detail: Detail): Detail => {
    if (!detail.field?.startsWith(prefix)) return detail;
    return { ...detail, field: detail.field.slice(prefix.length + 1) || null };
  };

function showSettings({ settings }: EntityDocument): Static<typeof Settings> {
  return { ...NO_SETTINGS, ...settings };
}
