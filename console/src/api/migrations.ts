// Changes of the schema: planned, started, watched, cancelled.
import { queryOptions } from '@tanstack/react-query';
import { type Json, stringifyExact } from './json.ts';
import { request } from './request.ts';
import type { Migration, Plan, RunningMigration } from './types.ts';
import { adminPath, type WorkspaceRef } from './workspace.ts';

export type Strategy = Migration['strategy'];

export const isFinished = ({ state }: Migration): boolean => state !== 'pending' && state !== 'running';

// Poll interval of a running migration; hidden pages do not poll (TanStack Query, refetchIntervalInBackground).
const POLL_MS = 500;

/** One migration, asked for every half second until it has ended. */
export const migrationQuery = (workspace: WorkspaceRef, id: string) =>
  queryOptions({
    queryKey: ['migrations', workspace.org, workspace.ws, id],
    queryFn: async ({ signal }) =>
      (await request<Migration>({ path: adminPath(workspace, `/migrations/${encodeURIComponent(id)}`), signal })).data,
    refetchInterval: ({ state }) => (state.data === undefined || isFinished(state.data) ? false : POLL_MS),
    staleTime: 0,
  });

/** A page of migrations, newest first, with their number in `total`. */
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

/** Unfinished migrations of all workspaces, for the operator. */
export const runningQuery = queryOptions({
  queryKey: ['migrations', 'running'],
  refetchInterval: 2000,
  queryFn: async ({ signal }) => (await request<readonly RunningMigration[]>({ path: RUNNING, signal })).data,
});

/**
 * What a document would change. A document with mistakes is refused with their paths. `basedOn`: the tag of the document in
 * force that it was made from; when another one is in force, the plan is refused with 412.
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
  /** The tag of the document that it was planned for: another one in force is refused with 412. */
  readonly basedOn: string;
}

/** Begins the migration to a document, without waiting for its end. */
export async function startMigration(workspace: WorkspaceRef, change: Change): Promise<Migration> {
  const { document, strategy, allowDestructive, basedOn } = change;
  const path = adminPath(workspace, `/schema?strategy=${strategy}&allowDestructive=${allowDestructive}&wait=0`);
  const headers = { 'If-Match': `"${basedOn}"` };
  return (await request<Migration>({ method: 'PUT', path, body: document, headers })).data;
}

/** Answers when it has taken back what it made, or after five seconds. */
export const cancelMigration = async (workspace: WorkspaceRef, id: string): Promise<void> => {
  await request<Migration>({
    method: 'POST',
    path: adminPath(workspace, `/migrations/${encodeURIComponent(id)}/cancel`),
  });
};
