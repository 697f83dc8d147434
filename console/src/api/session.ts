// Who is signed in, and what of the server that reaches.
import { queryOptions } from '@tanstack/react-query';
import { request } from './request.ts';
import type { WorkspaceRef } from './workspace.ts';

export type Permissions = 'OWNER' | 'READ_WRITE' | 'READ_ONLY';

/** `GET /api/admin/v1/session`. */
export interface Session {
  readonly kind: 'operator' | 'owner';
  readonly name: string;
  /** Of an owner; null of the operator, who may do everything. */
  readonly permissions: Permissions | null;
  /** Those of the credential; of the operator none are named. */
  readonly workspaces: readonly {
    readonly organization: string;
    readonly slug: string;
    readonly name: string;
    readonly permissions: Permissions;
  }[];
  /** When the session or its credential ends; null: it does not. */
  readonly expiresAt: string | null;
}

export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: async ({ signal }) =>
    (await request<Session>({ path: '/admin/v1/session', signal, signsInAgain: false })).data,
  staleTime: 30_000,
});

export const mayAdminister = ({ kind, permissions }: Session): boolean =>
  kind === 'operator' || permissions === 'OWNER';
export const mayWrite = (session: Session): boolean => mayAdminister(session) || session.permissions === 'READ_WRITE';

/** What the session may do in a workspace; null: nothing. */
export function permissionsIn({ kind, workspaces }: Session, { org, ws }: WorkspaceRef): Permissions | null {
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
