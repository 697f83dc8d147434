// /entities/{entity}/settings and row-rules: two parts of the schema document that can be changed alone.
import { findMigration } from '../../catalog/migrations.ts';
import { loadWorkspaceRow } from '../../catalog/workspaces.ts';
import type { Session } from '../../db/pool.ts';
import { parseSchemaDocument } from '../../document/document.ts';
import type { EntityDocument, SchemaDocument } from '../../document/format.ts';
import { member } from '../../document/renames.ts';
import { conflict, type Detail, notFound, unknownEntity } from '../../errors.ts';
import type { Route, RouteRequest } from '../../http/routes.ts';
import type { Runner } from '../../migrate/runner.ts';
import { closest } from '../../model/closest.ts';
import { NO_SETTINGS } from '../../model/entity.ts';
import { type AdminRooms, adminRoute, requireWorkspace, WORKSPACE } from './access.ts';
import { single } from './exchange.ts';

export function settingsRoutes(rooms: AdminRooms, runner: Runner): Route[] {
  const { db } = rooms;
  const session: Pick<Session, 'query'> = { query: (query) => db.query(query) };

  async function entityOf(workspaceId: string, name: string): Promise<EntityDocument> {
    const row = await loadWorkspaceRow(session, workspaceId);
    if (row === undefined) throw notFound('The workspace does not exist any more');
    return knownEntity(row.document, name);
  }

  /** Puts a part of an entity in force; answers what is in force then. */
  async function change(
    request: RouteRequest,
    part: 'settings' | 'rowRules',
    merge: (entity: EntityDocument, body: unknown) => unknown,
  ): Promise<EntityDocument> {
    const { id } = await requireWorkspace(rooms, request);
    const { entity = '' } = request.params;
    await entityOf(id, entity);
    // The parser of documents checks the body in its place; nothing there is a mistake, not the part left out.
    const body = (await request.body()) ?? null;
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
      const merge = (entity: EntityDocument, body: unknown): unknown =>
        typeof body === 'object' && body !== null && !Array.isArray(body)
          ? { ...body, ...without(entity.settings, body) }
          : body;
      return single(showSettings(await change(request, 'settings', merge)));
    }),
    adminRoute('GET', `${WORKSPACE}/entities/:entity/row-rules`, [], async (request) => {
      const { id } = await requireWorkspace(rooms, request);
      return single(showRules(await entityOf(id, request.params.entity ?? '')));
    }),
    adminRoute('PUT', `${WORKSPACE}/entities/:entity/row-rules`, [], async (request) => {
      return single(showRules(await change(request, 'rowRules', (_entity, body) => body)));
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
