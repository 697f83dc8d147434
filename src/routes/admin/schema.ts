// /schema: the document in force, what another one would change, and the change itself.
import { setTimeout as sleep } from 'node:timers/promises';
import { findMigration, isEnded, type PlannedStep } from '../../catalog/migrations.ts';
import { loadDocumentText } from '../../catalog/workspaces.ts';
import { isStaleSnapshot } from '../../db/pg-error.ts';
import { parseSchemaDocument } from '../../document/document.ts';
import { SCHEMA_DOCUMENT_JSON_SCHEMA } from '../../document/format.ts';
import { badRequest, notFound } from '../../errors.ts';
import type { Route, RouteRequest } from '../../http/routes.ts';
import { planSteps, prepareChange } from '../../migrate/plan.ts';
import type { Runner } from '../../migrate/runner.ts';
import type { PhysicalNames } from '../../model/physical-name.ts';
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
  const { db, announced } = rooms;
  return [
    // Without a credential: editors fetch it from the "$schema" of a document, and it says nothing about anybody's data.
    adminRoute('GET', `${ADMIN_PREFIX}/schema.json`, [], async () => jsonText(200, JSON_SCHEMA)),
    adminRoute('GET', `${WORKSPACE}/schema`, [], async (request) => {
      const { id, slug } = await requireWorkspace(rooms, request);
      const stored = await loadDocumentText(db, id);
      if (stored === undefined) throw notFound(`Workspace ${slug} does not exist`);
      const pending = pendingNames(stored.names);
      const meta = pending.length === 0 ? '' : `,"meta":${JSON.stringify({ pendingNames: pending })}`;
      return jsonText(200, `{"data":${stored.document}${meta}}`);
    }),
    adminRoute('POST', `${WORKSPACE}/schema/plan`, ['strategy'], async (request) => {
      const { id } = await requireWorkspace(rooms, request);
      const strategy = strategyOf(request);
      const body = await request.body();
      const plan = (): Promise<readonly PlannedStep[]> =>
        db.transaction(
          async (session) => {
            const change = await prepareChange(session, id, (inForce) => parseSchemaDocument(body, inForce), strategy);
            return planSteps(session, change);
          },
          { readOnly: true, statementTimeoutMs: PLAN_TIMEOUT_MS, purpose: 'migration', tenant: id },
        );
      // A table may get another name between two looks.
      const steps = await plan().catch((error) => (isStaleSnapshot(error) ? plan() : Promise.reject(error)));
      return single({ steps, destructive: steps.some((step) => step.destructive) });
    }),
    adminRoute('PUT', `${WORKSPACE}/schema`, ['strategy', 'allowDestructive', 'wait'], async (request) => {
      const { id, organization, slug } = await requireWorkspace(rooms, request);
      const strategy = strategyOf(request);
      const allowDestructive = flag(request, 'allowDestructive');
      const wait = waitOf(request);
      const body = await request.body();
      const started = await runner.start({
        workspaceId: id,
        strategy,
        allowDestructive,
        recorded: true,
        ask: (inForce) => parseSchemaDocument(body, inForce),
      });
      const patience = new AbortController();
      const isKnown = await Promise.race([
        started.ended.then(() => true),
        sleep(wait * 1000, false, { signal: patience.signal }).catch(() => false),
      ]);
      patience.abort();
      const migration = await findMigration(db, id, started.id as string);
      if (migration === undefined) throw notFound(`Workspace ${slug} does not exist`);
      if (isEnded(migration)) {
        // The wait may have been over just before the end was known everywhere.
        if (!isKnown) await announced(id);
        return single(showMigration(migration));
      }
      const here = `${ADMIN_PREFIX}/organizations/${organization}/workspaces/${slug}`;
      return json(202, { data: showMigration(migration) }, { Location: `${here}/migrations/${migration.id}` });
    }),
  ];
}

/** What PostgreSQL still calls by another name than the document. */
function pendingNames({ tables, columns }: PhysicalNames): readonly unknown[] {
  return [
    ...Object.entries(tables).map(([entity, name]) => ({ entity, name })),
    ...Object.entries(columns).flatMap(([entity, fields]) =>
      Object.entries(fields).map(([field, name]) => ({ entity, field, name })),
    ),
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
