// Requests for the activity log: pages of entries, newest first.
import { queryOptions } from '@tanstack/react-query';
import { stringifySearch } from '../address.ts';
import { request } from './request.ts';
import type { Activity } from './types.ts';
import { adminPath, type WorkspaceRef } from './workspace.ts';

export interface ActivityFilter {
  readonly actor: string | undefined;
  readonly action: string | undefined;
  readonly entity: string | undefined;
  /** Times in ISO 8601; the second is not included. */
  readonly since: string | undefined;
  readonly until: string | undefined;
}

const SIZE = 50;

/** Returns the path of the newest entries, or of those after a cursor. */
export function activityPath(
  workspace: WorkspaceRef | undefined,
  filter: Partial<ActivityFilter>,
  size = SIZE,
  after?: string,
): string {
  const search = stringifySearch({ ...filter, size: String(size), after });
  return workspace === undefined ? `/admin/v1/activity${search}` : adminPath(workspace, `/activity${search}`);
}

/** Query for the newest entry. */
export const lastActivityQuery = (workspace: WorkspaceRef | undefined) =>
  queryOptions({
    queryKey: ['activity', workspace?.org, workspace?.ws, 'last'],
    queryFn: async ({ signal }) =>
      (await request<readonly Activity[]>({ path: activityPath(workspace, {}, 1), signal })).data[0] ?? null,
    refetchInterval: 30_000,
  });

/** Query for when the identity provider was last saved, and what its check warned of then; null for never. */
export const providerCheckQuery = (workspace: WorkspaceRef) =>
  queryOptions({
    queryKey: ['activity', workspace.org, workspace.ws, 'provider'],
    queryFn: async ({ signal }) => {
      const path = activityPath(workspace, { action: 'identityProvider.update' }, 1);
      const [entry] = (await request<readonly Activity[]>({ path, signal })).data;
      if (entry === undefined) return null;
      const { warnings } = entry.details as { readonly warnings?: readonly string[] };
      return { at: entry.at, warnings: Array.isArray(warnings) ? warnings : [] };
    },
  });

/** Query for a page of the log of one workspace, or of the whole log if there is none. `after`: cursor of the page before. */
export const activityQuery = (workspace: WorkspaceRef | undefined, filter: ActivityFilter, after: string | undefined) =>
  queryOptions({
    queryKey: ['activity', workspace?.org, workspace?.ws, filter, after],
    queryFn: async ({ signal }) => {
      const path = activityPath(workspace, filter, SIZE, after);
      const { data, meta } = await request<readonly Activity[]>({ path, signal });
      return { entries: data, next: (meta.nextCursor as string | null) ?? undefined };
    },
  });
