// /entities/{entity}/settings and row-rules: two parts of the schema document that can be changed alone.
import Type, { type Static } from 'typebox';
import { loadWorkspaceRow } from '../../catalog/documents.ts';
import { findMigration } from '../../catalog/migrations.ts';
import { parseSchemaDocument } from '../../document/document.ts';
import { type EntityDocument, RowRulesShape, type SchemaDocument, SettingsShape } from '../../document/format.ts';
import { member } from '../../document/renames.ts';
import { conflict, type Detail, notFound, unknownEntity } from '../../errors.ts';
import type { Runner } from '../../migrate/runner.ts';
import { closest } from '../../model/closest.ts';
import { NO_SETTINGS } from '../../model/entity.ts';
import { closed, data, listOf, orNull, single } from './answer.ts';
import { uncheckedBody } from './body.ts';
import { type AdminRooms, type AdminRoute, routeMaker, WORKSPACE } from './route.ts';

const Paths = orNull(listOf(Type.String()));
const Settings = closed({
  defaultExpand: Paths,
  expandable: Paths,
  maxExpandDepth: orNull(Type.Integer()),
  defaultFields: Paths,
});
const Rules = listOf(closed({ column: Type.String(), claim: Type.String(), enabled: Type.Boolean() }));

/** The part of a path below its workspace. */
interface Place {
  readonly workspaceId: string;
  readonly entity: string;
}

export function settingsRoutes(rooms: AdminRooms, runner: Runner): AdminRoute[] {
  const { databases } = rooms;
  const route = routeMaker(rooms);

  async function entityOf({ workspaceId, entity }: Place): Promise<EntityDocument> {
    const row = await loadWorkspaceRow(databases.of({ id: workspaceId }), workspaceId);
    if (row === undefined) throw notFound('The workspace does not exist any more');
    return knownEntity(row.document, entity);
  }

  /** Puts a part of an entity in force; answers with what is then in force. */
  async function change(
    place: Place,
    part: 'settings' | 'rowRules',
    merge: (entity: EntityDocument) => unknown,
  ): Promise<EntityDocument> {
    const { workspaceId, entity } = place;
    const started = await runner.start({
      workspaceId,
      strategy: 'online',
      allowDestructive: false,
      recorded: false,
      // The parser of documents checks the body, put in its place in the document.
      ask: (inForce) => {
        const now = knownEntity(inForce, entity);
        const asked = { entities: { ...inForce.entities, [entity]: { ...now, [part]: merge(now) } } };
        const parsed = parseSchemaDocument(asked, inForce);
        return parsed.ok ? parsed : { ok: false, details: parsed.details.map(below(`entities.${entity}.${part}`)) };
      },
    });
    await started.ended;
    const migration =
      started.id === null ? undefined : await findMigration(databases.of({ id: workspaceId }), workspaceId, started.id);
    if (migration !== undefined && migration.state !== 'succeeded') {
      throw conflict(`The change was not made: ${migration.error?.message ?? 'it was cancelled'}`);
    }
    return entityOf(place);
  }

  return [
    route({
      method: 'GET',
      path: `${WORKSPACE}/entities/:entity/settings`,
      may: 'workspace',
      summary: 'How an entity is read',
      find: ({ workspace, params }) => entityOf({ workspaceId: workspace.id, entity: params.entity }),
      answer: data(Settings),
      handle: async ({ found }) => single(showSettings(found)),
    }),
    route({
      method: 'PUT',
      path: `${WORKSPACE}/entities/:entity/settings`,
      may: 'workspace',
      changes: 'named',
      summary: 'Changes how an entity is read',
      find: ({ workspace, params }) => entityOf({ workspaceId: workspace.id, entity: params.entity }),
      body: uncheckedBody(SettingsShape),
      answer: data(Settings),
      async handle({ workspace, params, body }) {
        // As everywhere, PUT changes what is given: leaving out a whitelist must not lift it. No body at all is a
        // mistake, not a part left out.
        const merge = (entity: EntityDocument): unknown =>
          typeof body === 'object' && body !== null && !Array.isArray(body)
            ? { ...body, ...without(entity.settings, body) }
            : (body ?? null);
        return single(
          showSettings(await change({ workspaceId: workspace.id, entity: params.entity }, 'settings', merge)),
        );
      },
    }),
    route({
      method: 'GET',
      path: `${WORKSPACE}/entities/:entity/row-rules`,
      may: 'workspace',
      summary: 'The row rules of an entity',
      find: ({ workspace, params }) => entityOf({ workspaceId: workspace.id, entity: params.entity }),
      answer: data(Rules),
      handle: async ({ found }) => single(showRules(found)),
    }),
    route({
      method: 'PUT',
      path: `${WORKSPACE}/entities/:entity/row-rules`,
      may: 'workspace',
      changes: 'named',
      summary: 'Replaces the row rules of an entity',
      find: ({ workspace, params }) => entityOf({ workspaceId: workspace.id, entity: params.entity }),
      body: uncheckedBody(RowRulesShape),
      answer: data(Rules),
      async handle({ workspace, params, body }) {
        const place = { workspaceId: workspace.id, entity: params.entity };
        return single(showRules(await change(place, 'rowRules', () => body ?? null)));
      },
    }),
  ];
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

const showSettings = (entity: EntityDocument): Static<typeof Settings> => ({ ...NO_SETTINGS, ...entity.settings });

const showRules = (entity: EntityDocument): Static<typeof Rules> =>
  (entity.rowRules ?? []).map(({ column, claim, enabled = true }) => ({ column, claim, enabled }));
