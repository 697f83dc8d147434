// /entities/{entity}/settings and row-rules: two parts of the schema document that can be changed alone.
import type { TSchema } from 'typebox';
import { findMigration } from '../../catalog/migrations.ts';
import { loadWorkspaceRow } from '../../catalog/workspaces.ts';
import type { Session } from '../../db/pool.ts';
import { conflict, type Detail, notFound, unknownEntity } from '../../errors.ts';
import type { Route, RouteRequest } from '../../http/routes.ts';
import type { Runner } from '../../migrate/runner.ts';
import { closest } from '../../model/closest.ts';
import { NO_SETTINGS } from '../../model/entity.ts';
import { parseSchemaDocument } from '../../model/schema-document.ts';
import {
  type EntityDocument,
  RowRulesShape,
  type SchemaDocument,
  type SettingsDocument,
  SettingsShape,
} from '../../model/schema-format.ts';
import { member } from '../../model/schema-renames.ts';
import { type AdminRooms, adminRoute, requireWorkspace, WORKSPACE } from './access.ts';
import { bodyOf, single } from './exchange.ts';

type Part = 'settings' | 'rowRules';

export function settingsRoutes(rooms: AdminRooms, runner: Runner): Route[] {
  const { db } = rooms;
  const session: Pick<Session, 'query'> = { query: (query) => db.query(query) };

  async function entityOf(workspaceId: string, name: string): Promise<EntityDocument> {
    const row = await loadWorkspaceRow(session, workspaceId);
    if (row === undefined) throw notFound('The workspace does not exist any more');
    return knownEntity(row.document, name);
  }

  /** Puts a part of an entity in force; answers what is in force then. */
  async function change<P extends Part>(
    request: RouteRequest,
    part: P,
    shape: TSchema,
    merge: (entity: EntityDocument, body: unknown) => EntityDocument[P],
  ): Promise<EntityDocument> {
    const { id } = await requireWorkspace(rooms, request);
    const { entity = '' } = request.params;
    await entityOf(id, entity);
    const body = bodyOf(request, shape);
    const started = await runner.start({
      workspaceId: id,
      strategy: 'online',
      allowDestructive: false,
      recorded: false,
      ask: (inForce) => {
        const now = knownEntity(inForce, entity);
        const asked = { entities: { ...inForce.entities, [entity]: { ...now, [part]: merge(now, body) } } };
        const parsed = parseSchemaDocument(asked, inForce);
        return parsed.ok ? parsed : { ok: false, details: parsed.details.map(below(`entities.${entity}.${part}`)) };
      },
    });
    await started.ended;
    const migration = started.id === null ? undefined : await findMigration(db, id, started.id);
    if (migration !== undefined && migration.state !== 'succeeded') {
      throw conflict(`The change was not made: ${migration.error?.message ?? 'it was cancelled'}`);
    }
    return entityOf(id, entity);
  }

  return [
    adminRoute('GET', `${WORKSPACE}/entities/:entity/settings`, [], async (request) => {
      const { id } = await requireWorkspace(rooms, request);
      return single(showSettings(await entityOf(id, request.params.entity ?? '')));
    }),
    adminRoute('PUT', `${WORKSPACE}/entities/:entity/settings`, [], async (request) => {
      // As everywhere, PUT changes what is given: leaving out a whitelist must not lift it.
      const merge = (entity: EntityDocument, body: unknown): SettingsDocument => ({
        ...entity.settings,
        ...(body as SettingsDocument),
      });
      return single(showSettings(await change(request, 'settings', SettingsShape, merge)));
    }),
    adminRoute('GET', `${WORKSPACE}/entities/:entity/row-rules`, [], async (request) => {
      const { id } = await requireWorkspace(rooms, request);
      return single(showRules(await entityOf(id, request.params.entity ?? '')));
    }),
    adminRoute('PUT', `${WORKSPACE}/entities/:entity/row-rules`, [], async (request) => {
      const merge = (_entity: EntityDocument, body: unknown) => body as NonNullable<EntityDocument['rowRules']>;
      return single(showRules(await change(request, 'rowRules', RowRulesShape, merge)));
    }),
  ];
}

function knownEntity(document: SchemaDocument, name: string): EntityDocument {
  const entity = member(document.entities, name);
  if (entity === undefined) {
    const names = Object.keys(document.entities);
    throw unknownEntity(name, closest(name, names), names);
  }
  return entity;
}

/** Paths into the body, where a mistake is in it; others stay paths into the document. */
const below =
  (prefix: string) =>
  (detail: Detail): Detail => {
    if (!detail.field?.startsWith(prefix)) return detail;
    return { ...detail, field: detail.field.slice(prefix.length + 1) || null };
  };

const showSettings = (entity: EntityDocument): unknown => ({ ...NO_SETTINGS, ...entity.settings });

const showRules = (entity: EntityDocument): unknown =>
  (entity.rowRules ?? []).map(({ column, claim, enabled = true }) => ({ column, claim, enabled }));
