// /schema: the document in force, what another one would change, and the change itself.
import { setTimeout as sleep } from 'node:timers/promises';
import { findMigration, isEnded } from '../../catalog/migrations.ts';
import { loadDocumentText } from '../../catalog/workspaces.ts';
import { badRequest, notFound } from '../../errors.ts';
import type { Route, RouteRequest } from '../../http/routes.ts';
import { planSteps, prepareChange } from '../../migrate/plan.ts';
import type { Runner } from '../../migrate/runner.ts';
import { parseSchemaDocument } from '../../model/schema-document.ts';
import { SCHEMA_DOCUMENT_JSON_SCHEMA } from '../../model/schema-format.ts';
import { json, jsonText } from '../../response/reply.ts';
import { ADMIN_PREFIX, type AdminRooms, adminRoute, requireWorkspace, WORKSPACE } from './access.ts';
import { flag, parameter, single } from './exchange.ts';
import { showMigration } from './migrations.ts';

const JSON_SCHEMA = JSON.stringify(SCHEMA_DOCUMENT_JSON_SCHEMA);
const DEFAULT_WAIT_SECONDS = 10;
const MAX_WAIT_SECONDS = 60;
// The plan counts the records that stand in the way, which may mean looking at all of them.
const PLAN_TIMEOUT_MS = 60_000;

export function schemaRoutes(rooms: AdminRooms, runner: Runner): Route[] {
  const { db } = rooms;
  return [
    // Without a credential: editors fetch it from the "$schema" of a document, and it says nothing about anybody's data.
    adminRoute('GET', `${ADMIN_PREFIX}/schema.json`, [], async () => jsonText(200, JSON_SCHEMA)),
    adminRoute('GET', `${WORKSPACE}/schema`, [], async (request) => {
      const { id, slug } = await requireWorkspace(rooms, request);
      const text = await loadDocumentText(db, id);
      if (text === undefined) throw notFound(`Workspace ${slug} does not exist`);
      return jsonText(200, `{"data":${text}}`);
    }),
    adminRoute('POST', `${WORKSPACE}/schema/plan`, ['strategy'], async (request) => {
      const { id } = await requireWorkspace(rooms, request);
      const { body } = request;
      const strategy = strategyOf(request);
      const steps = await db.transaction(
        async (session) => {
          const change = await prepareChange(session, id, (inForce) => parseSchemaDocument(body, inForce), strategy);
          return planSteps(session, change);
        },
        { readOnly: true, statementTimeoutMs: PLAN_TIMEOUT_MS },
      );
      return single({ steps, destructive: steps.some((step) => step.destructive) });
    }),
    adminRoute('PUT', `${WORKSPACE}/schema`, ['strategy', 'allowDestructive', 'wait'], async (request) => {
      const { id, organization, slug } = await requireWorkspace(rooms, request);
      const strategy = strategyOf(request);
      const allowDestructive = flag(request, 'allowDestructive');
      const wait = waitOf(request);
      const { body } = request;
      const started = await runner.start({
        workspaceId: id,
        strategy,
        allowDestructive,
        recorded: true,
        ask: (inForce) => parseSchemaDocument(body, inForce),
      });
      const patience = new AbortController();
      await Promise.race([
        started.ended,
        sleep(wait * 1000, undefined, { signal: patience.signal }).catch(() => undefined),
      ]);
      patience.abort();
      const migration = await findMigration(db, id, started.id as string);
      if (migration === undefined) throw notFound(`Workspace ${slug} does not exist`);
      if (isEnded(migration)) return single(showMigration(migration));
      const here = `${ADMIN_PREFIX}/organizations/${organization}/workspaces/${slug}`;
      return json(202, { data: showMigration(migration) }, { Location: `${here}/migrations/${migration.id}` });
    }),
  ];
}

function strategyOf(request: RouteRequest): 'online' | 'blocking' {
  const text = parameter(request, 'strategy') ?? 'online';
  if (text === 'online' || text === 'blocking') return text;
  throw badRequest('strategy must be online or blocking');
}

function waitOf(request: RouteRequest): number {
  const text = parameter(request, 'wait') ?? String(DEFAULT_WAIT_SECONDS);
  const seconds = /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN;
  if (seconds <= MAX_WAIT_SECONDS) return seconds;
  throw badRequest(`wait must be an integer from 0 to ${MAX_WAIT_SECONDS}`);
}
