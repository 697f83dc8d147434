// Requests for the schema document in force, with the digits of its numbers.
import { queryOptions } from '@tanstack/react-query';
import { type Json, stringifyExact } from './json.ts';
import { requestExact, send } from './request.ts';
import { adminPath, type WorkspaceRef } from './workspace.ts';

export interface CurrentDocument {
  readonly document: Json;
  /** Document as compact JSON, for comparison. */
  readonly text: string;
  readonly etag: string | undefined;
}

/** Query for the document in force, polled every ten seconds, as others may change it. */
export const documentQuery = (workspace: WorkspaceRef) =>
  queryOptions({
    queryKey: ['document', workspace.org, workspace.ws],
    queryFn: async ({ signal }): Promise<CurrentDocument> => {
      const { data, etag } = await requestExact<Json>({ path: adminPath(workspace, '/schema'), signal });
      return { document: data, text: stringifyExact(data), etag };
    },
    staleTime: 2000,
    refetchInterval: 10_000,
  });

/** Query for the JSON Schema of schema documents, which is the same for all workspaces. */
export const documentFormatQuery = queryOptions({
  queryKey: ['schema.json'],
  queryFn: async ({ signal }) => (await send({ path: '/admin/v1/schema.json', signal })).json() as Promise<Json>,
  staleTime: Number.POSITIVE_INFINITY,
});

/** Query for the roles that the document declares. */
export const rolesQuery = (workspace: WorkspaceRef) => ({
  ...documentQuery(workspace),
  select: ({ document }: CurrentDocument): readonly string[] => {
    const { roles = [] } = document as { readonly roles?: readonly string[] };
    return roles;
  },
});
