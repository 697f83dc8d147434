// Requests for the identity provider of a workspace (docs/reference/identity-provider.md).

import { queryOptions } from '@tanstack/react-query';
import { isApiError } from './api-error.ts';
import type { Json } from './json.ts';
import { request, requestExact } from './request.ts';
import type { AccessReport, ApiResponse, IdentityProvider, TokenExplained, Versioned } from './types.ts';
import type { Claims } from './view-as.ts';
import { adminPath, type WorkspaceRef } from './workspace.ts';

const path = (workspace: WorkspaceRef): string => adminPath(workspace, '/identity-provider');

/**
 * Reads the current provider, whose claims keep their digits; `value` is undefined if there is none. The report of access
 * says whether there is one, as browsers show a request that is answered 404 as a failure. Throws ApiError.
 */
export async function readProvider(
  workspace: WorkspaceRef,
  signal?: AbortSignal,
): Promise<Versioned<IdentityProvider | undefined>> {
  const report = await request<AccessReport>({ path: adminPath(workspace, '/access/report'), signal });
  if (report.data.permission === null) return { value: undefined, etag: undefined };
  try {
    const { data, etag } = await requestExact<IdentityProvider>({ path: path(workspace), signal });
    return { value: data, etag };
  } catch (thrown) {
    // Another user may have removed it meanwhile.
    if (isApiError(thrown, 'NOT_FOUND')) return { value: undefined, etag: undefined };
    throw thrown;
  }
}

export const providerQuery = (workspace: WorkspaceRef) =>
  queryOptions({
    queryKey: ['identity-provider', workspace.org, workspace.ws],
    queryFn: ({ signal }) => readProvider(workspace, signal),
    // A refetch would change the base of the form; If-Match detects an edit conflict when it is saved.
    refetchOnWindowFocus: false,
  });

/** Saves the whole provider or some members. `meta.warnings` of the response are sentences. Throws ApiError. */
export const putProvider = (
  workspace: WorkspaceRef,
  body: object,
  etag: string | undefined,
): Promise<ApiResponse<IdentityProvider>> =>
  requestExact({ method: 'PUT', path: path(workspace), body, ...ifMatch(etag) });

const ifMatch = (etag: string | undefined) => (etag === undefined ? {} : { headers: { 'If-Match': etag } });

/** Warnings in `meta` of a response. */
export const readWarnings = ({ warnings }: Readonly<Record<string, unknown>>): readonly string[] =>
  Array.isArray(warnings) ? warnings.map(String) : [];

/** Deletes the provider if it still has this ETag. Throws ApiError. */
export const deleteProvider = (workspace: WorkspaceRef, etag: string | undefined): Promise<unknown> =>
  request({ method: 'DELETE', path: path(workspace), ...ifMatch(etag) });

/** Result of each check of a token; numbers in the claims keep their digits. */
export type ExplainedToken = Omit<TokenExplained, 'claims'> & { readonly claims: Claims | null };

/** Sends a token through every check of the server. Throws ApiError. */
export async function explainToken(workspace: WorkspaceRef, pasted: string): Promise<ExplainedToken> {
  const token = pasted.trim().replace(/^Bearer\s+/i, '');
  const { data } = await requestExact<Json>({ method: 'POST', path: `${path(workspace)}/test`, body: { token } });
  return data as unknown as ExplainedToken;
}

const CHECKS: ReadonlyMap<string, string> = new Map([
  ['format', 'It is a JWT'],
  ['provider', 'The workspace has a provider'],
  ['enabled', 'The provider is enabled'],
  ['issuer', 'Its issuer is the configured one'],
  ['algorithm', 'Its algorithm is accepted'],
  ['keys', 'The keys of the provider are known'],
  ['signature', 'A key verifies its signature'],
  ['expiry', 'It has not expired'],
  ['audience', 'It is meant for the configured audience'],
  ['requiredClaims', 'It is for this workspace'],
  ['requiredClaims', 'It has the required claims'],
  ['subject', 'It has a subject'],
  ['expiryClaim', 'Its end is a number'],
  ['notBefore', 'It is valid already'],
]);

/** Returns the label of a check. */
export const describeCheck = (check: string): string => CHECKS.get(check) ?? check;
