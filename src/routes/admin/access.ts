// Who may use the admin API for what. The order of refusals: credential (401), right (403), existence (404).
import { controlError } from '../../catalog/control-error.ts';
import { findWorkspace, type WorkspaceSummary } from '../../catalog/workspaces.ts';
import type { Database } from '../../db/pool.ts';
import { SLUG_PATTERN } from '../../document/format.ts';
import { forbidden, notFound } from '../../errors.ts';
import type { Route, RouteRequest } from '../../http/routes.ts';
import { mayAdminister, type Principal } from '../../model/principal.ts';
import type { Reply } from '../../response/reply.ts';

export interface AdminRooms {
  readonly db: Database;
  /** Throws 401. */
  readonly authenticate: (authorization: string | undefined) => Promise<Principal>;
  /**
   * Something in these workspaces was changed, or, without any, in what all share: resolves when it holds in every
   * process. The answer to the change waits for it, a second at most.
   */
  readonly announced: (...workspaceIds: readonly string[]) => Promise<void>;
  readonly makeKey: () => { readonly key: string; readonly prefix: string; readonly hash: Buffer };
  /** Takes errors of work that nobody waits for any more. */
  readonly onError?: (message: string, error: unknown) => void;
}

export const ADMIN_PREFIX = '/api/admin/v1';
export const ORGANIZATION = `${ADMIN_PREFIX}/organizations/:org`;
export const WORKSPACE = `${ORGANIZATION}/workspaces/:ws`;

const SLUG = new RegExp(SLUG_PATTERN);

export async function requireOperator(rooms: AdminRooms, request: RouteRequest): Promise<Principal> {
  const principal = await rooms.authenticate(request.authorization);
  if (principal.kind !== 'operator') throw forbidden('Only the instance administrator may do this');
  return principal;
}

/** The operator, or an owner, of whatever workspace. */
export async function requireAdministrator(rooms: AdminRooms, request: RouteRequest): Promise<Principal> {
  const principal = await rooms.authenticate(request.authorization);
  if (!isAdministrator(principal)) throw mayNot();
  return principal;
}

/** The workspace of the path, for whoever may administer it. */
export async function requireWorkspace(rooms: AdminRooms, request: RouteRequest): Promise<WorkspaceSummary> {
  return workspaceFor(await requireAdministrator(rooms, request), rooms, request);
}

/** The workspace of the path; to an owner all others look the same, whether or not they exist. */
export async function workspaceFor(
  principal: Principal,
  rooms: AdminRooms,
  request: RouteRequest,
): Promise<WorkspaceSummary> {
  const { org = '', ws = '' } = request.params;
  const workspace = isSlug(org) && isSlug(ws) ? await findWorkspace(rooms.db, org, ws) : undefined;
  if (workspace === undefined) {
    throw principal.kind === 'operator' ? notFound(`Workspace ${org}/${ws} does not exist`) : mayNot();
  }
  if (!mayAdminister(principal, workspace.id)) throw mayNot();
  return workspace;
}

export const isSlug = (text: string): boolean => SLUG.test(text);

export const mayNot = (): Error => forbidden('The credential gives no right to administer this');

export const noOrganization = (slug: string): Error => notFound(`Organization ${slug} does not exist`);

function isAdministrator(principal: Principal): boolean {
  return principal.kind === 'operator' || (principal.kind === 'owner' && principal.permissions === 'OWNER');
}

/** A route whose errors of the database are refusals. */
export function adminRoute(
  method: Route['method'],
  pattern: string,
  parameters: readonly string[],
  handle: (request: RouteRequest) => Promise<Reply>,
): Route {
  return {
    method,
    pattern,
    parameters,
    handle: (request) =>
      handle(request).catch((error) => {
        throw controlError(error);
      }),
  };
}
