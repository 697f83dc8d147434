// /migrations: changes of the schema as people watch them, and their cancelling.
import { setTimeout as sleep } from 'node:timers/promises';
import {
  findMigration,
  isEnded,
  loadMigrations,
  type Migration,
  type MigrationError,
  type MigrationStep,
  requestCancel,
  type Waiting,
} from '../../catalog/migrations.ts';
import { conflict, notFound } from '../../errors.ts';
import type { Route } from '../../http/routes.ts';
import type { Runner } from '../../migrate/runner.ts';
import { interruptHolder } from '../../migrate/workspace-lock.ts';
import { type AdminRooms, adminRoute, requireWorkspace, WORKSPACE } from './access.ts';
import { idOf, list, PAGE_PARAMETERS, pageOf, single, time } from './exchange.ts';

// Cancelling takes back what was made; usually that is a matter of milliseconds.
const CANCEL_WAIT_MS = 5000;
const CANCEL_POLL_MS = 50;
// Many times what it takes until an end holds everywhere: the clocks of the database and of this machine may differ.
const NEW_MS = 60_000;

export function migrationRoutes(rooms: AdminRooms, runner: Runner): Route[] {
  const { db, announced } = rooms;
  return [
    adminRoute('GET', `${WORKSPACE}/migrations`, PAGE_PARAMETERS, async (request) => {
      const { id } = await requireWorkspace(rooms, request);
      const page = pageOf(request);
      const found = await loadMigrations(db, id, page);
      if (found.rows.some(isNew)) await announced(id);
      return list(found, page, showMigration);
    }),
    adminRoute('GET', `${WORKSPACE}/migrations/:id`, [], async (request) => {
      const workspace = await requireWorkspace(rooms, request);
      const id = idOf(request, 'id', 'Migration');
      const migration = found(await findMigration(db, workspace.id, id), id);
      if (isNew(migration)) await announced(workspace.id);
      return single(showMigration(migration));
    }),
    adminRoute('POST', `${WORKSPACE}/migrations/:id/cancel`, [], async (request) => {
      const workspace = await requireWorkspace(rooms, request);
      const id = idOf(request, 'id', 'Migration');
      const migration = found(await findMigration(db, workspace.id, id), id);
      if (isEnded(migration) || !(await requestCancel(db, workspace.id, id))) {
        throw conflict(`Migration ${id} has ended already`);
      }
      await interruptHolder(db, workspace.id);
      const ended = await waitForEnd(workspace.id, id);
      await announced(workspace.id);
      return single(showMigration(ended));
    }),
  ];

  async function waitForEnd(workspaceId: string, id: string): Promise<Migration> {
    for (const deadline = performance.now() + CANCEL_WAIT_MS; ; ) {
      // Nobody works on it when its process is gone; then it ends here.
      await runner.recover(workspaceId);
      const migration = found(await findMigration(db, workspaceId, id), id);
      if (isEnded(migration) || performance.now() > deadline) return migration;
      await sleep(CANCEL_POLL_MS);
    }
  }
}

/** Has it ended so lately that some process may not know? Whoever reads here that it has may rely on its end. */
export function isNew({ finishedAt }: Migration): boolean {
  return finishedAt !== null && Math.abs(Date.now() - finishedAt.getTime()) < NEW_MS;
}

function found(migration: Migration | undefined, id: string): Migration {
  if (migration === undefined) throw notFound(`Migration ${id} does not exist`);
  return migration;
}

export function showMigration(migration: Migration): unknown {
  const { id, state, strategy, steps, error, waitingFor, createdAt, startedAt, finishedAt } = migration;
  return {
    id: Number(id),
    state,
    strategy,
    steps: steps.map(showStep),
    error: error === null ? null : showError(error),
    waitingFor: waitingFor === null ? null : showWaiting(waitingFor),
    createdAt: time(createdAt),
    startedAt: time(startedAt),
    finishedAt: time(finishedAt),
  };
}

interface ShownStep extends Omit<MigrationStep, 'records'> {
  readonly records: MigrationStep['records'] | null;
}

// The database gives the members in an order of its own.
function showStep(step: MigrationStep): ShownStep {
  const { entity, kind, description, destructive, blocksReads, blocksWrites, estimatedSeconds, conflicts } = step;
  // Counted only while records are filled, and gone when the migration has ended.
  const { state, progress, records = null } = step;
  const planned = { entity, kind, description, destructive, blocksReads, blocksWrites, estimatedSeconds, conflicts };
  return { ...planned, state, progress, records };
}

function showWaiting({ pid, application, since }: Waiting): Waiting {
  return { pid, application, since };
}

function showError({ code, message, entity, field, count, sampleIds }: MigrationError): MigrationError {
  return { code, message, entity, field, count, sampleIds };
}
