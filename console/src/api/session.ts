// Session of the user and its permissions.

import { queryOptions } from '@tanstack/react-query';
import { request } from './request.ts';
import type { Session, SessionWorkspace } from './types.ts';
import type { WorkspaceRef } from './workspace.ts';

export type Permissions = SessionWorkspace['permissions'];

export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: async ({ signal }) =>
    (await request<Session>({ path: '/admin/v1/session', signal, signsInAgain: false })).data,
  staleTime: 30_000,
});

export const mayAdminister = ({ kind, permissions }: Session): boolean =>
  kind === 'operator' || permissions === 'OWNER';
export const mayWrite = (session: Session): boolean => mayAdminister(session) || session.permissions === 'READ_WRITE';

/** Returns the permissions of the session in a workspace, or null if there are none. */
export function getPermissions({ kind, workspaces }: Session, { org, ws }: WorkspaceRef): Permissions | null {
  if (kind === 'operator') return 'OWNER';
  return workspaces.find(({ organization, slug }) => organization === org && slug === ws)?.permissions ?? null;
}

/** Exchanges a key, or the code of a one-time link, for a cookie. */
export async function signIn(secret: { readonly key: string } | { readonly code: string }): Promise<Response> {
  return fetch('/console/api/session', {
    method: 'POST',
    credentials: 'same-origin',
    headers: { 'Content-Type': 'application/json', 'X-Console': '1' },
    body: JSON.stringify(secret),
  });
}

export const signOut = (): Promise<Response> =>
  fetch('/console/api/session', {
    method: 'DELETE',
    credentials: 'same-origin',
    headers: { 'Content-Type': 'application/json', 'X-Console': '1' },
  });
