// Organizations and their workspaces, as the operator sees them.
import { queryOptions } from '@tanstack/react-query';
import { ask } from './ask.ts';

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

// As many as a page of the API has.
const MOST = 1000;
const MOST_WITH_STATISTICS = 100;

export const organizationsQuery = () =>
  queryOptions({
    queryKey: ['organizations'],
    queryFn: async ({ signal }) =>
      (await ask<readonly Organization[]>({ path: `/admin/v1/organizations?size=${MOST}`, signal })).data,
  });

export const organizationQuery = (slug: string) =>
  queryOptions({
    queryKey: ['organization', slug],
    queryFn: async ({ signal }) => (await ask<Organization>({ path: organizationPath(slug), signal })).data,
  });

export const workspacesQuery = (slug: string) =>
  queryOptions({
    queryKey: ['workspaces', slug],
    queryFn: async ({ signal }) =>
      (
        await ask<readonly WorkspaceSummary[]>({
          path: organizationPath(slug, `/workspaces?statistics=true&size=${MOST_WITH_STATISTICS}`),
          signal,
        })
      ).data,
  });
