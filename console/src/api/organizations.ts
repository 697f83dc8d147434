// Organizations and their workspaces, as the operator sees them.
import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { request } from './request.ts';

export interface Organization {
  readonly slug: string;
  readonly name: string;
  readonly createdAt: string;
}

export interface WorkspaceSummary extends Organization {
  readonly organization: string;
  /** Sums over its entities; null while they are not known. */
  readonly statistics?: {
    readonly records: number;
    readonly exact: boolean;
    readonly tableBytes: number;
    readonly indexBytes: number;
  } | null;
}

export const organizationPath = (slug: string, rest = ''): string =>
  `/admin/v1/organizations/${encodeURIComponent(slug)}${rest}`;

// As many names as a page of the API has.
const MOST = 1000;

/** A page of a list, and how many there are in all. */
export interface Paged<T> {
  readonly list: readonly T[];
  readonly total: number;
}

const paged = async <T>(path: string, signal: AbortSignal): Promise<Paged<T>> => {
  const { data, meta } = await request<readonly T[]>({ path, signal });
  return { list: data, total: Number(meta.totalElements ?? data.length) };
};

/** The pages that the API has of it: 1,000 names at most. */
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

/** Workspaces with their sizes, which the API tells of pages up to 100. */
export const workspacesQuery = (slug: string, page: number, size: number) =>
  queryOptions({
    queryKey: ['workspaces', slug, page, size],
    queryFn: ({ signal }) =>
      paged<WorkspaceSummary>(organizationPath(slug, `/workspaces?statistics=true&page=${page}&size=${size}`), signal),
    placeholderData: (before, query) => (query?.queryKey[1] === slug ? before : undefined),
  });

/** The first 1,000 workspaces by their names. */
export const workspaceNamesQuery = (slug: string) =>
  queryOptions({
    queryKey: ['workspaces', slug, 'names'],
    queryFn: ({ signal }) => paged<WorkspaceSummary>(organizationPath(slug, `/workspaces?size=${MOST}`), signal),
  });
