// Requests for roles and grants: the report of access, the grants of an entity, and the roles of the workspace.

import { queryOptions } from '@tanstack/react-query';
import { isApiError } from '../api/api-error.ts';
import { readWarnings } from '../api/identity-provider.ts';
import type { Json } from '../api/json.ts';
import { request, requestExact } from '../api/request.ts';
import type { AccessReport, Versioned } from '../api/types.ts';
import { adminPath, type WorkspaceRef } from '../api/workspace.ts';
import { asTexts, type JsonObject } from '../schema/json-value.ts';
import { type Grants, readGrants } from './grants.ts';

/** Query for what users may do with each entity, by their roles. */
export const reportQuery = (workspace: WorkspaceRef) =>
  queryOptions({
    queryKey: ['access-report', workspace.org, workspace.ws],
    queryFn: async ({ signal }) =>
      (await request<AccessReport>({ path: adminPath(workspace, '/access/report'), signal })).data,
    staleTime: 0,
  });

export const grantsPath = (entity: string): string => `/entities/${encodeURIComponent(entity)}/grants`;

/** Query for the grants of an entity with their ETag. */
export const grantsQuery = (workspace: WorkspaceRef, entity: string) =>
  queryOptions({
    queryKey: ['grants', workspace.org, workspace.ws, entity],
    queryFn: async ({ signal }): Promise<Versioned<Grants>> => {
      const { data, etag } = await requestExact<Json>({ path: adminPath(workspace, grantsPath(entity)), signal });
      return { value: readGrants(data), etag };
    },
    // A refetch would change the base of the draft; If-Match detects an edit conflict when it is saved.
    refetchOnWindowFocus: false,
  });

export interface SavedGrants extends Versioned<Grants> {
  readonly warnings: readonly string[];
}

/** Replaces the grants if they still have this ETag. Returns undefined after an edit conflict. Throws ApiError. */
export async function saveGrants(
  workspace: WorkspaceRef,
  entity: string,
  grants: Grants,
  etag: string | undefined,
): Promise<SavedGrants | undefined> {
  try {
    const { data, meta, ...saved } = await requestExact<Json>({
      method: 'PUT',
      path: adminPath(workspace, grantsPath(entity)),
      body: grants,
      ...(etag === undefined ? {} : { headers: { 'If-Match': etag } }),
    });
    return { value: readGrants(data), etag: saved.etag, warnings: readWarnings(meta) };
  } catch (thrown) {
    if (isApiError(thrown) && thrown.status === 412) return undefined;
    throw thrown;
  }
}

/** Adds a role to the schema document, which is otherwise as it is in force. Throws ApiError. */
export async function addRole(workspace: WorkspaceRef, role: string): Promise<void> {
  const path = adminPath(workspace, '/schema');
  const { data, etag } = await requestExact<JsonObject>({ path });
  await request({
    method: 'PUT',
    path,
    body: { ...data, roles: [...asTexts(data.roles), role] },
    ...(etag === undefined ? {} : { headers: { 'If-Match': etag } }),
  });
}
