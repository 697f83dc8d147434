// The identity provider of a workspace (docs/reference/identity-provider.md).
import { queryOptions } from '@tanstack/react-query';
import { isApiError } from './api-error.ts';
import type { Json } from './json.ts';
import { request, requestExact } from './request.ts';
import type { ApiResponse, Versioned } from './request-types.ts';
import type { Claims } from './view-as.ts';
import { adminPath, type WorkspaceRef } from './workspace.ts';

export interface Provider {
  readonly issuerUrl: string;
  readonly jwksUri: string | null;
  readonly audience: string | null;
  readonly defaultPermissions: 'READ_ONLY' | 'READ_WRITE';
  readonly enabled: boolean;
}

const path = (place: WorkspaceRef): string => adminPath(place, '/identity-provider');

/** As it is in force; `value` undefined: there is none. Throws Refusal. */
export async function readProvider(
  place: WorkspaceRef,
  signal?: AbortSignal,
): Promise<Versioned<Provider | undefined>> {
  try {
    const { data, etag } = await request<Provider>({ path: path(place), signal });
    return { value: data, etag };
  } catch (thrown) {
    if (isApiError(thrown, 'NOT_FOUND')) return { value: undefined, etag: undefined };
    throw thrown;
  }
}

export const providerQuery = (place: WorkspaceRef) =>
  queryOptions({
    queryKey: ['identity-provider', place.org, place.ws],
    queryFn: ({ signal }) => readProvider(place, signal),
    // A form stands on it: what somebody else has changed is told by the version when it is saved.
    refetchOnWindowFocus: false,
  });

/** All of it, or what changes. `meta.warnings` of the answer are in words. Throws Refusal. */
export const putProvider = (
  place: WorkspaceRef,
  body: Partial<Provider>,
  etag: string | undefined,
): Promise<ApiResponse<Provider>> => request({ method: 'PUT', path: path(place), body, ...ifMatch(etag) });

const ifMatch = (etag: string | undefined) => (etag === undefined ? {} : { headers: { 'If-Match': etag } });

/** What does not work at the moment, from `meta` of an answer. */
export const readWarnings = ({ warnings }: Readonly<Record<string, unknown>>): readonly string[] =>
  Array.isArray(warnings) ? warnings.map(String) : [];

/** If it is still the one that was read. Throws Refusal. */
export const deleteProvider = (place: WorkspaceRef, etag: string | undefined): Promise<unknown> =>
  request({ method: 'DELETE', path: path(place), ...ifMatch(etag) });

export interface TokenCheck {
  readonly check: string;
  /** null: it could not be made. */
  readonly passed: boolean | null;
  readonly message: string | null;
}

export interface EntityFilter {
  readonly entity: string;
  readonly sees: 'all' | 'some' | 'none';
  /** In words. */
  readonly filter: string;
}

export interface ExplainedToken {
  readonly accepted: boolean;
  readonly permissions: Provider['defaultPermissions'] | null;
  readonly checks: readonly TokenCheck[];
  readonly claims: Claims | null;
  readonly entities: readonly EntityFilter[];
}

/** Takes a token through every check; digits of its claims stay. Throws Refusal. */
export async function explainToken(place: WorkspaceRef, pasted: string): Promise<ExplainedToken> {
  const token = pasted.trim().replace(/^Bearer\s+/i, '');
  const { data } = await requestExact<Json>({ method: 'POST', path: `${path(place)}/test`, body: { token } });
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
  ['subject', 'It has a subject'],
  ['expiryClaim', 'Its end is a number'],
  ['notBefore', 'It is valid already'],
]);

/** What a check of the server looks at. */
export const describeCheck = (check: string): string => CHECKS.get(check) ?? check;
