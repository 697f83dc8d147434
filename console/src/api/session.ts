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

/** Returns the permissions of the session in a workspace, or null if there are none. */
export function getPermissions(session: Session, { org, ws }: WorkspaceRef): Permissions | null {
  const { kind, workspaces } = session;
  if (kind === 'operator') return 'OWNER';
  const listed = workspaces.find(({ organization, slug }) => organization === org && slug === ws)?.permissions;
  // The list of a person has 1,000 workspaces at most.
  return listed ?? (ownsOrganization(session, org) ? 'OWNER' : null);
}

/** Returns whether the session owns an organization with all of its workspaces: that of the operator, or of a person. */
export const ownsOrganization = ({ kind, organizations = [] }: Session, org: string): boolean =>
  kind === 'operator' || organizations.some(({ slug, role }) => slug === org && role === 'owner');

/** Returns the address that signs a person in and leads back to a path below /console. */
export const signInAddress = (path: string): string => `/console/sign-in?to=${encodeURIComponent(`/console${path}`)}`;

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
