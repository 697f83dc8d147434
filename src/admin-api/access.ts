// Access control of the admin API: the permission of the credential, and whether the path names something that exists and
// that the principal may administer.

import type { Database } from '../database/pool.ts';
import { forbidden, hint, noSuchWorkspace, notFound, shorten, workspaceRenamed } from '../errors.ts';
import { closest } from '../model/closest.ts';
import type { Credential } from '../model/credential.ts';
import {
  actAs,
  isAdministrator,
  isValidIn,
  mayAdminister,
  mayWrite,
  type Operator,
  type Owner,
  ownsOrganization,
  type Person,
  type Sender,
} from '../model/principal.ts';
import { SLUG_PATTERN } from '../schema/format.ts';
import {
  findOrganization,
  findOwningOrganization,
  loadOrganizationNames,
  type Organization,
} from '../store/organizations.ts';
import { loadRenamed } from '../store/renamed.ts';
import { findWorkspace, suggestWorkspace, type WorkspaceSummary } from '../store/workspaces.ts';

/**
 * Principals that may use a route: `anyone`, without a credential; any `credential` of the instance, whatever its
 * permissions, but no user of an identity provider; the `operator` of the instance; any `administrator` (the operator, or an
 * owner for the organization of its workspace); administrators of the `organization` of the path (the operator, or a person
 * who owns it) or of the `workspace` of the path (the operator or its owner); the operator and any key of the workspace of
 * the path, as `reader`, and those that may write as `writer`.
 */
export type AccessLevel =
  | 'anyone'
  | 'credential'
  | 'operator'
  | 'administrator'
  | 'organization'
  | 'workspace'
  | 'reader'
  | 'writer';

/** Type of the principal of a request, by the access level of its route. */
export interface Principals {
  readonly anyone: undefined;
  readonly credential: Operator | Owner | Person;
  readonly operator: Operator;
  readonly administrator: Operator | Owner | Person;
  readonly organization: Operator | Person;
  readonly workspace: Operator | Owner;
  readonly reader: Operator | Owner;
  readonly writer: Operator | Owner;
}

/** Returns the principal of a credential; throws 401 if it is invalid. */
export type Authenticate = (credential: Credential) => Promise<Sender>;

/** Returns the principal; throws 401 or 403 if it may not use the route. */
export async function admit(
  authenticate: Authenticate,
  access: AccessLevel,
  credential: Credential,
): Promise<Operator | Owner | Person | undefined> {
  if (access === 'anyone') return undefined;
  const principal = await authenticate(credential);
  if (access === 'credential' || access === 'reader' || access === 'writer') {
    if (principal.kind === 'external')
      throw forbidden(
        'NOT_FOR_USERS',
        'Users of an identity provider, and keys that act as a role, have no part in the admin API',
      );
    if (access === 'writer' && principal.kind !== 'person' && !mayWrite(principal)) throw readOnly();
    return principal;
  }
  if (access === 'operator') {
    if (principal.kind !== 'operator' || !isAdministrator(principal))
      throw forbidden('OPERATOR_REQUIRED', 'Only the operator may do this');
    return principal;
  }
  if (!isAdministrator(principal)) throw administrationForbidden();
  if (access === 'organization' && principal.kind === 'owner') throw administrationForbidden();
  return principal;
}

// Part of the path with the slug: /api/admin/v1/organizations/acme/workspaces/shop.
const SLUG_PART = 7;

/**
 * Loads a workspace, with the principal that the sender is there; 308 by a former slug that redirects in a `url`. An owner
 * gets the same error for every other workspace, whether or not it exists. `access` is that of the route.
 */
export async function requireWorkspace(
  db: Database,
  sender: Operator | Owner | Person,
  organization: string,
  slug: string,
  { url, access = 'workspace' }: { readonly url?: string; readonly access?: AccessLevel } = {},
): Promise<{ readonly workspace: WorkspaceSummary; readonly principal: Operator | Owner }> {
  const areSlugs = isSlug(organization) && isSlug(slug);
  const workspace = areSlugs ? await findWorkspace(db, organization, slug) : undefined;
  if (workspace === undefined) {
    const renamed = areSlugs && url !== undefined ? await loadRenamed(db, organization, slug) : undefined;
    if (url !== undefined && renamed !== undefined && findPrincipal(sender, renamed, access) !== undefined)
      throw workspaceRenamed(`${renamed.organization}/${renamed.slug}`, url, SLUG_PART);
    if (sender.kind !== 'operator') throw administrationForbidden();
    throw noSuchWorkspace(`${organization}/${slug}`, await suggestWorkspace(db, organization, slug));
  }
  const principal = findPrincipal(sender, workspace, access);
  if (principal === undefined) throw administrationForbidden();
  if (access === 'writer' && !mayWrite(principal)) throw readOnly();
  return { workspace, principal };
}

/** Returns the principal that the sender is in the workspace, or undefined if it may not use routes of this access level there. */
function findPrincipal(
  sender: Operator | Owner | Person,
  workspace: { readonly id: string; readonly organizationId: string },
  access: AccessLevel,
): Operator | Owner | undefined {
  const principal = actAs(sender, workspace);
  if (principal === undefined || principal.kind === 'external') return undefined;
  const may = access === 'reader' || access === 'writer' ? isValidIn : mayAdminister;
  return may(principal, workspace.id) ? principal : undefined;
}

/**
 * Loads the organization of a path. An owner gets the same error for every organization but that of its workspace, and where
 * `access` is the organization, a person for every one that it does not own.
 */
export async function requireOrganization(
  db: Database,
  principal: Operator | Owner | Person,
  slug: string,
  access: AccessLevel,
): Promise<Organization> {
  if (principal.kind === 'owner') {
    const organization = isSlug(slug) ? await findOwningOrganization(db, slug, principal.workspaceId) : undefined;
    if (organization === undefined) throw administrationForbidden();
    return organization;
  }
  const organization = isSlug(slug) ? await findOrganization(db, slug) : undefined;
  if (principal.kind === 'person') {
    if (organization === undefined || !ownsOrganization(principal, organization.id, access !== 'organization'))
      throw administrationForbidden();
    return organization;
  }
  if (organization === undefined) throw noOrganization(slug, closest(slug, await loadOrganizationNames(db)));
  return organization;
}

/** Returns the row of a statement; throws the error if there is none. */
export async function requireValue<T>(row: Promise<T | undefined>, error: () => Error): Promise<T> {
  const value = await row;
  if (value === undefined) throw error();
  return value;
}

const SLUG = new RegExp(SLUG_PATTERN);
export const isSlug = (text: string): boolean => SLUG.test(text);

const readOnly = (): Error => forbidden('READ_ONLY', 'The credential may only read');

const administrationForbidden = (): Error =>
  forbidden('ADMIN_RIGHT_REQUIRED', 'The credential may not administer this organization or workspace');

export const noOrganization = (slug: string, suggestion: string | null = null): Error =>
  notFound(
    'ORGANIZATION_NOT_FOUND',
    `Organization ${shorten(slug)} does not exist${suggestion === null ? '' : `.${hint(suggestion)}`}`,
  );

export const noWorkspace = (slug: string): Error => notFound('WORKSPACE_NOT_FOUND', `Workspace ${slug} does not exist`);

export const workspaceDeleted = (): Error => notFound('WORKSPACE_NOT_FOUND', 'The workspace does not exist any more');
