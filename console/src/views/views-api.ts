// Requests for saved views.
import { queryOptions, useQueryClient } from '@tanstack/react-query';
import { request } from '../api/request.ts';
import type { NewView, View, ViewChange } from '../api/types.ts';
import { adminPath, type WorkspaceRef } from '../api/workspace.ts';

// Limit of the views of a workspace.
const ALL = 'size=500';

const viewsKey = ({ org, ws }: WorkspaceRef) => ['views', org, ws] as const;

/** All views of a workspace that the session sees. */
export const viewsQuery = (workspace: WorkspaceRef) =>
  queryOptions({
    queryKey: viewsKey(workspace),
    queryFn: async ({ signal }) =>
      (await request<readonly View[]>({ path: adminPath(workspace, `/views?${ALL}`), signal })).data,
  });

const viewPath = (workspace: WorkspaceRef, id: number): string => adminPath(workspace, `/views/${id}`);

/** Returns functions that change views and then load the list again, also after an error: another may have changed it. */
export function useViewWrites(workspace: WorkspaceRef) {
  const client = useQueryClient();
  async function write<T>(send: () => Promise<T>): Promise<T> {
    try {
      return await send();
    } finally {
      await client.invalidateQueries({ queryKey: viewsKey(workspace) });
    }
  }
  const ifMatch = ({ version }: View) => ({ 'If-Match': `"${version}"` });
  return {
    create: (body: NewView) =>
      write(async () => (await request<View>({ method: 'POST', path: adminPath(workspace, '/views'), body })).data),
    update: (view: View, body: ViewChange) =>
      write(async () => {
        const path = viewPath(workspace, view.id);
        return (await request<View>({ method: 'PUT', path, body, headers: ifMatch(view) })).data;
      }),
    remove: (view: View) =>
      write(async () => {
        await request({ method: 'DELETE', path: viewPath(workspace, view.id), headers: ifMatch(view) });
      }),
  };
}
