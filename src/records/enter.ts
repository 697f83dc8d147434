// Who asks, and of which workspace: the first stage of each request of the data API.
import type { Authenticator } from '../auth/authenticate.ts';
import type { WorkspaceCache } from '../catalog/workspace-cache.ts';
import { ApiError, invalidCredential, notFound } from '../errors.ts';
import type { Credential } from '../model/credential.ts';
import { belongsTo, type Principal } from '../model/principal.ts';
import { wholeOf } from '../model/restricted.ts';
import type { Workspace } from '../model/workspace.ts';
import type { RateLimit } from '../pace/rate-limit.ts';

/** Slugs of the path. */
export interface Address {
  readonly organization: string;
  readonly workspace: string;
  /** The URL that tokens must be for; undefined: they are for the API. */
  readonly resource?: string | undefined;
}

export interface Visitor {
  /** What of it the principal's scope reaches. */
  readonly workspace: Workspace;
  readonly principal: Principal;
}

export interface Entrance {
  readonly cache: WorkspaceCache;
  readonly authenticator: Authenticator;
}

/** The principal in a whole snapshot. The only place where they meet: what its scope does not reach is not there any more. */
export function visitorOf({ cache }: Pick<Entrance, 'cache'>, workspace: Workspace, principal: Principal): Visitor {
  return { workspace: cache.within(workspace, principal.scope), principal };
}

/** In place of a rate limit, for who was counted before. */
export const uncounted: RateLimit = () => undefined;

/**
 * Credential and workspace. A workspace that does not exist and one of somebody else look the same to all but the
 * operator. Who asks is looked at and counted before the database is asked for the workspace. At once when both are known,
 * which is nearly always, so that no promise is made for each request.
 */
export function enter(
  entrance: Entrance,
  credential: Credential,
  address: Address,
  count: RateLimit,
): Visitor | Promise<Visitor> {
  const { cache, authenticator } = entrance;
  const fresh = cache.fresh(address.organization, address.workspace);
  const recalled = fresh === undefined ? undefined : authenticator.recall(credential, fresh, address.resource);
  if (fresh === undefined || recalled === undefined) return lookUp(entrance, credential, address, count);
  const counted = count(recalled.credentialId);
  if (counted === undefined) return visitorOf(entrance, fresh, recalled);
  return counted.then(() => enter(entrance, credential, address, uncounted));
}

/** The same where agents speak: a refused credential is told where the metadata of the resource are (RFC 9728 section 5.1). */
export const enterAsAgent =
  (metadata: string) =>
  async (...visit: Parameters<typeof enter>): Promise<Visitor> => {
    try {
      return await enter(...visit);
    } catch (error) {
      throw error instanceof ApiError && error.status === 401 ? error.challengedBy(metadata) : error;
    }
  };

/** A refusal by the past is looked up once more. */
async function lookUp(
  entrance: Entrance,
  credential: Credential,
  address: Address,
  count: RateLimit,
): Promise<Visitor> {
  const { cache } = entrance;
  try {
    return await identify(entrance, credential, address, count);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error;
    const known = cache.fresh(address.organization, address.workspace);
    if (known === undefined || !(await hasChanged(cache, address, known))) throw error;
    return identify(entrance, credential, address, uncounted);
  }
}

/** Looks the credential up, in the workspace or not. */
async function identify(
  entrance: Entrance,
  credential: Credential,
  { organization, workspace: slug, resource }: Address,
  count: RateLimit,
): Promise<Visitor> {
  const find = () => entrance.cache.get(organization, slug);
  const principal = await entrance.authenticator.authenticate(credential, find, resource);
  const counted = count(principal.credentialId);
  if (counted !== undefined) await counted;
  const workspace = await find();
  if (workspace === undefined && principal.kind === 'operator') throw notFound('The workspace does not exist');
  if (workspace === undefined || !belongsTo(principal, workspace.id)) throw invalidCredential();
  return visitorOf(entrance, workspace, principal);
}

/** True when the snapshot has been replaced, so that a refusal by it would be one by the past. */
export async function hasChanged(
  cache: WorkspaceCache,
  { organization, workspace: slug }: Address,
  workspace: Workspace,
): Promise<boolean> {
  const whole = wholeOf(workspace);
  // Without the database the snapshot is as good as its lease.
  return (await cache.getRecent(organization, slug).catch(() => whole)) !== whole;
}
