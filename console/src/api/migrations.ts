// Requests for migrations: plan, start, progress and cancellation.
import { queryOptions } from '@tanstack/react-query';
import { readWarnings } from './identity-provider.ts';
import { type Json, stringifyExact } from './json.ts';
import { request } from './request.ts';
import type { Migration, Plan, RunningMigration } from './types.ts';
import { adminPath, type WorkspaceRef } from './workspace.ts';

export type Strategy = Migration['strategy'];

export const isFinished = ({ state }: Migration): boolean => state !== 'pending' && state !== 'running';

// Poll interval of a running migration; hidden pages do not poll (TanStack Query, refetchIntervalInBackground).
const POLL_MS = 500;

/** Query for one migration, polled every half second until it has ended. */
export const migrationQuery = (workspace: WorkspaceRef, id: string) =>
  queryOptions({
    queryKey: ['migrations', workspace.org, workspace.ws, id],
    queryFn: async ({ signal }) =>
      (await request<Migration>({ path: adminPath(workspace, `/migrations/${encodeURIComponent(id)}`), signal })).data,
    refetchInterval: ({ state }) => (state.data === undefined || isFinished(state.data) ? false : POLL_MS),
    staleTime: 0,
  });

/** Query for a page of migrations, newest first, with their number in `total`. */
export const migrationsQuery = (workspace: WorkspaceRef, page = 0, size = 20) =>
  queryOptions({
    queryKey: ['migrations', workspace.org, workspace.ws, 'list', page, size],
    queryFn: async ({ signal }) => {
      const path = adminPath(workspace, `/migrations?page=${page}&size=${size}`);
      const { data, meta } = await request<readonly Migration[]>({ path, signal });
      return { migrations: data, total: Number(meta.totalElements ?? data.length) };
    },
    // Migrations started by others appear within five seconds.
    refetchInterval: ({ state }) => (state.data?.migrations.some((one) => !isFinished(one)) ? POLL_MS : 5000),
    staleTime: 0,
  });

export const RUNNING = '/admin/v1/migrations?state=running';

/** Query for the unfinished migrations of all workspaces, for the operator. */
export const runningQuery = queryOptions({
  queryKey: ['migrations', 'running'],
  refetchInterval: 2000,
  queryFn: async ({ signal }) => (await request<readonly RunningMigration[]>({ path: RUNNING, signal })).data,
});

/**
 * Query for the plan of a document. The server rejects an invalid document with the paths of its errors. `basedOn`:
 * ETag of the document that the draft started from; if another one is in force, the response is 412.
 */
export const planQuery = (workspace: WorkspaceRef, document: Json, strategy: Strategy, basedOn?: string) =>
  queryOptions({
    queryKey: ['plan', workspace.org, workspace.ws, strategy, basedOn, stringifyExact(document)],
    queryFn: async ({ signal }) =>
      (
        await request<Plan>({
          method: 'POST',
          path: adminPath(
            workspace,
            `/schema/plan?strategy=${strategy}${basedOn === undefined ? '' : `&basedOn=${encodeURIComponent(basedOn)}`}`,
          ),
          body: document,
          signal,
        })
      ).data,
    gcTime: 30_000,
  });

export interface Change {
  readonly document: Json;
  readonly strategy: Strategy;
  readonly allowDestructive: boolean;
  /** ETag of the document that was planned for; if another one is in force, the response is 412. */
  readonly basedOn: string;
}

/** Starts the migration to a document, without waiting for its end. */
export async function startMigration(
  workspace: WorkspaceRef,
  change: Change,
): Promise<{ readonly migration: Migration; readonly warnings: readonly string[] }> {
  const { document, strategy, allowDestructive, basedOn } = change;
  const path = adminPath(workspace, `/schema?strategy=${strategy}&allowDestructive=${allowDestructive}&wait=0`);
  const headers = { 'If-Match': `"${basedOn}"` };
  const { data, meta } = await request<Migration>({ method: 'PUT', path, body: document, headers });
  return { migration: data, warnings: readWarnings(meta) };
}

/** Cancels a migration; the response comes after the rollback, or after five seconds. */
export const cancelMigration = async (workspace: WorkspaceRef, id: string): Promise<void> => {
  await request<Migration>({
    method: 'POST',
    path: adminPath(workspace, `/migrations/${encodeURIComponent(id)}/cancel`),
  });
};
