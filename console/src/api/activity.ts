// Who changed what: pages of entries, the newest first.
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { stringifySearch } from '../address.ts';
import { request } from './request.ts';
import { adminPath, type WorkspaceRef } from './workspace.ts';

export interface Entry {
  readonly id: number;
  readonly at: string;
  readonly actor: { readonly kind: string; readonly id: string | number | null; readonly name: string | null };
  /** As `apiKeys.create`. */
  readonly action: string;
  readonly organization: string | null;
  readonly workspace: string | null;
  readonly entity: string | null;
  readonly subject: string | null;
  readonly details: Readonly<Record<string, unknown>> | null;
}

export interface ActivityFilter {
  readonly actor: string | undefined;
  readonly action: string | undefined;
  readonly entity: string | undefined;
}

const SIZE = 50;

/** The newest entries, or those after a cursor. */
export function activityPath(
  place: WorkspaceRef | undefined,
  filter: Partial<ActivityFilter>,
  size = SIZE,
  after?: string,
): string {
  const search = stringifySearch({ ...filter, size: String(size), after });
  return place === undefined ? `/admin/v1/activity${search}` : adminPath(place, `/activity${search}`);
}

/** The newest entry. */
export const lastActivityQuery = (place: WorkspaceRef | undefined) =>
  queryOptions({
    queryKey: ['activity', place?.org, place?.ws, 'last'],
    queryFn: async ({ signal }) =>
      (await request<readonly Entry[]>({ path: activityPath(place, {}, 1), signal })).data[0] ?? null,
    refetchInterval: 30_000,
  });

/** Of a workspace, or, without a place, of everything. */
export const activityQuery = (place: WorkspaceRef | undefined, filter: ActivityFilter) =>
  infiniteQueryOptions({
    queryKey: ['activity', place?.org, place?.ws, filter],
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ signal, pageParam }) => {
      const path = activityPath(place, filter, SIZE, pageParam);
      const { data, meta } = await request<readonly Entry[]>({ path, signal });
      return { entries: data, next: (meta.nextCursor as string | null) ?? undefined };
    },
    getNextPageParam: ({ next }) => next,
  });
