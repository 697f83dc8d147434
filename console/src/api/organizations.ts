// Requests of the operator for organizations and workspaces.

import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { request } from './request.ts';
import type { Organization, Workspace, WorkspaceListed } from './types.ts';
import { adminPath, type WorkspaceRef } from './workspace.ts';

export const organizationPath = (slug: string, rest = ''): string =>
  `/admin/v1/organizations/${encodeURIComponent(slug)}${rest}`;

// Largest page of the API.
const MOST = 1000;

/** Page of a list, and the length of the whole list. */
export interface Paged<T> {
  readonly list: readonly T[];
  readonly total: number;
}

/** Requests a page of a list. */
export const paged = async <T>(path: string, signal: AbortSignal): Promise<Paged<T>> => {
  const { data, meta } = await request<readonly T[]>({ path, signal });
  return { list: data, total: Number(meta.totalElements ?? data.length) };
};

/** Query for a page of organizations, 1,000 at most. */
export const organizationsQuery = (page = 0, size = MOST) =>
  queryOptions({
    queryKey: ['organizations', page, size],
    queryFn: ({ signal }) => paged<Organization>(`/admin/v1/organizations?page=${page}&size=${size}`, signal),
    placeholderData: keepPreviousData,
  });

export const organizationQuery = (slug: string) =>
  queryOptions({
    queryKey: ['organization', slug],
    queryFn: async ({ signal }) => (await request<Organization>({ path: organizationPath(slug), signal })).data,
  });

export const workspaceQuery = (workspace: WorkspaceRef) =>
  queryOptions({
    queryKey: ['workspace', workspace.org, workspace.ws],
    queryFn: async ({ signal }) => (await request<WorkspaceListed>({ path: adminPath(workspace), signal })).data,
  });

/** Query for workspaces with their sizes, in pages up to 100. */
export const workspacesQuery = (slug: string, page: number, size: number) =>
  queryOptions({
    queryKey: ['workspaces', slug, page, size],
    queryFn: ({ signal }) =>
      paged<WorkspaceListed>(organizationPath(slug, `/workspaces?statistics=true&page=${page}&size=${size}`), signal),
    placeholderData: (before, query) => (query?.queryKey[1] === slug ? before : undefined),
  });

/** Query for the first 50 workspaces of all organizations that have a text in their name or address. */
export const workspaceSearchQuery = (search: string) =>
  queryOptions({
    queryKey: ['workspaces-search', search],
    queryFn: ({ signal }) =>
      paged<Workspace>(
        `/admin/v1/workspaces?size=50${search === '' ? '' : `&search=${encodeURIComponent(search)}`}`,
        signal,
      ),
    placeholderData: keepPreviousData,
    staleTime: 5000,
  });
