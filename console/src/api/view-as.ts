// "View as": while it is active, responses about records of its workspace are those that a user of the identity
// provider gets. `send` rewrites every request here, so that no screen has to know of it.

import { createStore } from '../store.ts';
import { ApiError } from './api-error.ts';
import { type Json, parseExact, stringifyExact } from './json.ts';
import type { ApiRequest } from './types.ts';
import { adminPath, dataPath, type WorkspaceRef } from './workspace.ts';

export type Claims = { readonly [name: string]: Json };

export interface ViewAs {
  readonly workspace: WorkspaceRef;
  readonly claims: Claims;
  /** Roles that were chosen in addition to the claims, for the banner. */
  readonly roles?: readonly string[];
}

/**
 * Returns the claims of a user with these roles. A claim is looked up by its literal name first, so that a dotted path
 * needs no nested objects.
 */
export const withRoles = (claims: Claims, roleClaim: string, roles: readonly string[]): Claims =>
  roles.length === 0 ? claims : { ...claims, [roleClaim]: roles };

// Claims are no credential, and the token itself is not stored. sessionStorage keeps the restricted view after a
// reload.
const KEY = 'wda.viewAs';
const store = createStore(readStored());

function readStored(): ViewAs | undefined {
  try {
    const text = sessionStorage.getItem(KEY);
    return text === null ? undefined : (parseExact(text) as unknown as ViewAs);
  } catch {
    return undefined;
  }
}

/** Returns the user whose records are displayed, or undefined for those of the session. */
export const getViewAs = store.get;
export const useViewAsAnywhere = store.use;

/** Starts or, with undefined, ends viewing as a user. The caller drops cached responses. */
export function setViewAs(next: ViewAs | undefined): void {
  try {
    if (next === undefined) sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, stringifyExact(next));
  } catch {}
  store.set(next);
}

const isObject = (value: Json | undefined): value is Claims =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  Object.getPrototypeOf(value) === Object.prototype;

/** Parses pasted claims, or returns undefined if they are no JSON object. */
export function parseClaims(text: string): Claims | undefined {
  try {
    const value = parseExact(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Claims by which providers name people, best first (OpenID Connect Core 1.0, 5.1). */
const NAMING = ['name', 'preferred_username', 'email', 'sub'];

/** Returns the name of the user with the chosen roles, or else the claims, which have these; truncated to 80 characters. */
export function describeUser({ claims, roles = [] }: Pick<ViewAs, 'claims' | 'roles'>): string {
  for (const claim of NAMING) {
    const value = Object.hasOwn(claims, claim) ? claims[claim] : undefined;
    if (typeof value === 'string' && value.trim() !== '')
      return cut(value) + (roles.length === 0 ? '' : ` with ${cut(roles.join(', '))}`);
  }
  const all = Object.entries(claims).map(([name, value]) => `${name} ${stringifyExact(value)}`);
  return all.length === 0 ? 'a user without claims' : cut(all.join(', '));
}

const cut = (text: string): string => (text.length > 80 ? `${text.slice(0, 79)}…` : text);

/** Operations that read by POST. */
const READING = /^[^_/?][^/?]*\/(_query|_aggregate)(\?|$)/;

/**
 * Returns the request to send: one about records of the workspace becomes an access test for the user, any other stays.
 * Throws ApiError (VIEWING_AS) for a write.
 */
export function rewriteForUser(ask: ApiRequest, viewAs: ViewAs | undefined = store.get()): ApiRequest {
  if (viewAs === undefined) return ask;
  const { method = 'GET', path, body, signal } = ask;
  const prefix = dataPath(viewAs.workspace, '/');
  if (!path.startsWith(prefix)) return ask;
  const rest = path.slice(prefix.length);
  const isRead = method === 'GET' || (method === 'POST' && READING.test(rest));
  if (!isRead)
    throw new ApiError(`Nothing can be changed while you view as ${describeUser(viewAs)}. Choose "Leave" first.`, {
      status: 403,
      code: 'VIEWING_AS',
    });
  // Other paths without an entity describe the API, and are those of the session.
  if (rest === '' || (rest.startsWith('_') && rest !== '_schema')) return ask;
  return {
    method: 'POST',
    path: adminPath(viewAs.workspace, '/access/test'),
    body: { claims: viewAs.claims, requests: [{ path: rest, ...(body === undefined ? {} : { body }) }] },
    signal,
  };
}

/** Extracts the user's response from that of an access test with one request. */
export function unwrapUserResponse(text: string, headers: Headers): Response {
  const { data } = parseExact(text) as unknown as {
    readonly data: readonly [{ readonly status: unknown; readonly body: Json }];
  };
  const [{ status, body }] = data;
  const id = headers.get('X-Request-Id');
  return new Response(body === null ? null : typeof body === 'string' ? body : stringifyExact(body), {
    status: Number(String(status)),
    headers: id === null ? {} : { 'X-Request-Id': id },
  });
}
