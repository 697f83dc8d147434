// The schema document in force, as it was written, digit by digit.
import { queryOptions } from '@tanstack/react-query';
import { type Json, stringifyExact } from './json.ts';
import { requestExact, send } from './request.ts';
import { adminPath, type WorkspaceRef } from './workspace.ts';

export interface CurrentDocument {
  readonly document: Json;
  /** The document as JSON without spaces, for comparison. */
  readonly text: string;
  readonly etag: string | undefined;
}

/** Asked for anew every ten seconds, as others may change it. */
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

/** The JSON Schema of schema documents: the same for all workspaces. */
export const documentFormatQuery = queryOptions({
  queryKey: ['schema.json'],
  queryFn: async ({ signal }) => (await send({ path: '/admin/v1/schema.json', signal })).json() as Promise<Json>,
  staleTime: Number.POSITIVE_INFINITY,
});
