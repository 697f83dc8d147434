// The context of a request of the data API: who asks, of which workspace, until when, and for which entity. A request is
// refused in this order:
//
//   authenticate()   credential (401), rate limit (429), workspace (404)
//   router.ts        path (404), method (405)
//   authorize()      permission (403), entity (404), migration gate (503), node of the workspace (503)
//   handlers         parameters (400), media type (415), body (400, 413)
import type { Authenticator } from '../auth/authenticate.ts';
import type { Config } from '../config.ts';
import type { Executor, Expected, StatementOptions } from '../database/pool.ts';
import { ApiError, invalidCredential, notFound, workspaceUnavailable } from '../errors.ts';
import type { RawRequest } from '../http/request.ts';
import type { RateLimit } from '../limits/rate-limit.ts';
import type { Entity } from '../model/entity.ts';
import { belongsTo, narrowed, type Principal } from '../model/principal.ts';
import { getUnrestricted } from '../model/restricted.ts';
import type { Workspace } from '../model/workspace.ts';
import { admit } from '../plan/plan.ts';
import type { Call } from '../request/call.ts';
import { OPERATIONS } from '../request/operations.ts';
import type { Query } from '../sql/fragment.ts';
import type { Databases } from '../store/databases.ts';
import type { WorkspaceCache } from '../store/workspace-cache.ts';
import type { ResponseForm } from '../workspace-schema/idempotency-keys.ts';

/** A request whose sender is authenticated. */
export interface RequestContext extends Access {
  readonly request: RawRequest;
  /** Tells that nobody waits for the reply any more. */
  readonly signal: RawRequest['signal'];
  readonly deadline: Deadline;
  /** Since when credential and snapshot have been in force at least, on the clock of performance.now(). */
  readonly checkedAt: number;
  /** The request by the credential and the snapshot that are in force now; 401 or 404 when it is not allowed any more. */
  readonly refresh: () => Promise<RequestContext>;
}

/** A principal in a snapshot, of which it sees what its scope reaches. */
export interface Access {
  readonly workspace: Workspace;
  readonly principal: Principal;
}

/** A request that is authorized for an operation on an entity. */
export interface EntityContext extends RequestContext {
  readonly call: Call;
  readonly entity: Entity;
  /** Runs the statements of the call: the lanes of the database, or the transaction that the call is part of. */
  readonly executor: Executor;
  /** The key of a single write. */
  readonly key: StatementKey | undefined;
  /** The node of the workspace on a cluster. */
  readonly node: StatementOptions['node'];
  /** See Work. */
  readonly isStale: (now: number) => boolean;
  readonly confirm: () => Promise<boolean>;
  /** The call by what is in force now, authorized again. */
  readonly refresh: () => Promise<EntityContext>;
}

/** Stores an Idempotency-Key in the one statement of a write. */
export interface StatementKey {
  readonly wrap: (write: Query, form: ResponseForm) => Promise<Query>;
}

/** The workspace that a path names. */
export interface Address {
  readonly organization: string;
  readonly workspace: string;
  /** The URL that tokens must be for; undefined: they are for the API. */
  readonly resource?: string | undefined;
  /** Where the metadata of the resource are, which a refused credential is told (RFC 9728 section 5.1). */
  readonly metadata?: string | undefined;
}

export interface ContextDeps {
  readonly config: Pick<Config, 'statementTimeoutMs'>;
  readonly cache: WorkspaceCache;
}

export interface AuthenticationDeps extends ContextDeps {
  readonly authenticator: Authenticator;
  readonly rateLimit: RateLimit;
}

export interface AuthorizationDeps {
  readonly cache: WorkspaceCache;
  readonly databases: Databases;
}

/** One deadline for all that a request asks of the database, queues included. */
export class Deadline {
  readonly #limitMs: number;
  #at: number | undefined;

  /** It runs from start() on, or from the first question on: a body may take its time to arrive. */
  constructor(limitMs: number) {
    this.#limitMs = limitMs;
  }

  start(now: number): void {
    this.#at ??= now + this.#limitMs;
  }

  /** On the clock of performance.now(). */
  get at(): number {
    this.#at ??= performance.now() + this.#limitMs;
    return this.#at;
  }
}

/* ---- authentication ---- */

/** The context of a request by its credential: 401, 429 or 404. */
export async function authenticate(
  deps: AuthenticationDeps,
  request: RawRequest,
  address: Address,
): Promise<RequestContext> {
  const { metadata } = address;
  try {
    const access = await resolveAccess(deps, request, address, deps.rateLimit);
    return makeContext(deps, request, access, () => resolveAccess(deps, request, address, noLimit));
  } catch (error) {
    const isChallenged = metadata !== undefined && error instanceof ApiError && error.status === 401;
    throw isChallenged ? error.challengedBy(metadata) : error;
  }
}

/** The context of a request for a principal who is authenticated elsewhere. `restrict`: makes a part of the snapshot. */
export async function impersonate(
  deps: ContextDeps,
  request: RawRequest,
  { organization, workspace: slug }: Address,
  principal: Principal,
  restrict = (workspace: Workspace): Workspace => workspace,
): Promise<RequestContext> {
  const loadAccess = async (): Promise<Access> => {
    const workspace = await deps.cache.get(organization, slug);
    if (workspace === undefined || !belongsTo(principal, workspace.id)) throw invalidCredential();
    return { workspace: restrict(deps.cache.restrict(workspace, principal.scope)), principal };
  };
  return makeContext(deps, request, await loadAccess(), loadAccess);
}

/** The context for another request of the same sender, with a deadline of its own. */
export async function forward(deps: ContextDeps, context: RequestContext, request: RawRequest) {
  return makeContext(deps, request, await context.refresh(), context.refresh);
}

/** The context when its sender reaches no more than the entities of these ids. */
export function restrict(deps: ContextDeps, context: RequestContext, ids: readonly string[]): RequestContext {
  const restrictAccess = ({ workspace, principal }: Access): Access => {
    const restricted = narrowed(principal, ids);
    return { workspace: deps.cache.restrict(getUnrestricted(workspace), restricted.scope), principal: restricted };
  };
  return makeContext(deps, context.request, restrictAccess(context), async () =>
    restrictAccess(await context.refresh()),
  );
}

function makeContext(
  { config }: ContextDeps,
  request: RawRequest,
  { workspace, principal }: Access,
  loadAccess: () => Promise<Access>,
): RequestContext {
  const common = {
    request,
    signal: request.signal,
    deadline: new Deadline(config.statementTimeoutMs),
    refresh: async (): Promise<RequestContext> => {
      const current = await loadAccess();
      return { ...common, workspace: current.workspace, principal: current.principal, checkedAt: performance.now() };
    },
  };
  return { ...common, workspace, principal, checkedAt: request.arrivedAt };
}

/** In place of a rate limit, for a request that was counted before. */
const noLimit: RateLimit = async () => undefined;

/**
 * Credential and workspace. A workspace that does not exist and one of somebody else look the same to all but the
 * operator. The credential is looked at and counted before the database is asked for the workspace.
 */
async function resolveAccess(
  deps: AuthenticationDeps,
  { credential }: Pick<RawRequest, 'credential'>,
  address: Address,
  count: RateLimit,
): Promise<Access> {
  const { cache, authenticator } = deps;
  const { organization, workspace: slug, resource } = address;
  const workspace = cache.getCached(organization, slug);
  const principal = workspace === undefined ? undefined : authenticator.recall(credential, workspace, resource);
  if (workspace !== undefined && principal !== undefined) {
    await count(principal.credentialId);
    if (cache.getCached(organization, slug) === workspace) {
      return { workspace: cache.restrict(workspace, principal.scope), principal };
    }
  }
  const rateLimit = principal === undefined ? count : noLimit;
  try {
    return await findAccess(deps, credential, address, rateLimit);
  } catch (error) {
    // A refusal by a snapshot of the past is looked up once more.
    if (!(error instanceof ApiError) || error.status !== 401) throw error;
    const current = cache.getCached(organization, slug);
    if (current === undefined || !(await hasChanged(cache, current))) throw error;
    return findAccess(deps, credential, address, noLimit);
  }
}

/** Looks the credential up, in the workspace or not. */
async function findAccess(
  { cache, authenticator }: AuthenticationDeps,
  credential: RawRequest['credential'],
  { organization, workspace: slug, resource }: Address,
  count: RateLimit,
): Promise<Access> {
  const find = () => cache.get(organization, slug);
  const principal = await authenticator.authenticate(credential, find, resource);
  await count(principal.credentialId);
  const workspace = await find();
  if (workspace === undefined && principal.kind === 'operator')
    throw notFound('WORKSPACE_NOT_FOUND', 'The workspace does not exist');
  if (workspace === undefined || !belongsTo(principal, workspace.id)) throw invalidCredential();
  return { workspace: cache.restrict(workspace, principal.scope), principal };
}

/** True when the snapshot has been replaced, so that a refusal by it would be one by the past. */
export async function hasChanged(cache: WorkspaceCache, workspace: Workspace): Promise<boolean> {
  const unrestricted = getUnrestricted(workspace);
  // Without the database the snapshot is as good as its lease.
  return (await cache.getRecent(workspace.organization, workspace.slug).catch(() => unrestricted)) !== unrestricted;
}

/* ---- authorization ---- */

// For so long after a request was admitted it need not be asked whether its snapshot is still in force: the lease of a
// snapshot ends 100 ms before others stop waiting for this process (directory/process-registry.ts).
const TRUST_MS = 20;

/** The context of a call that the principal may make: 403, 404 or 503. */
export function authorize(
  deps: AuthorizationDeps,
  context: RequestContext,
  call: Call,
  executor: Executor,
  key: StatementKey | undefined,
): EntityContext {
  const {
    cache,
    databases: { topology },
  } = deps;
  const { request, signal, workspace, principal, deadline, checkedAt } = context;
  const { access } = OPERATIONS[call.operation];
  const entity = admit(workspace, principal, call.entity, access);
  const node = topology.getNode(workspace);
  if (node?.isUnavailable() === true) throw workspaceUnavailable();
  const maySkipCoordinator = access === 'read' && call.operation !== 'export' && !executor.isTransaction;
  const onNode = maySkipCoordinator ? topology.routeRead(workspace, entity) : undefined;
  const isFresh = (): boolean => cache.getCached(workspace.organization, workspace.slug) === getUnrestricted(workspace);
  return {
    request,
    signal,
    workspace: onNode?.workspace ?? workspace,
    principal,
    deadline,
    checkedAt,
    call,
    entity: onNode?.entity ?? entity,
    executor: onNode?.executor ?? executor,
    key,
    node,
    // A process that was forgotten meanwhile, or heard nothing, does not know.
    isStale: (now) => cache.isReplaced(workspace) || (now - checkedAt > TRUST_MS && !isFresh()),
    confirm: async () => (await cache.get(workspace.organization, workspace.slug)) === getUnrestricted(workspace),
    async refresh() {
      cache.invalidate(workspace.id);
      return authorize(deps, await context.refresh(), call, executor, key);
    },
  };
}

/** Whose statement it is, and for how long somebody waits for it. */
export function buildStatementOptions(context: EntityContext, expected: Expected): StatementOptions {
  const { signal, workspace, deadline, isStale, confirm, node } = context;
  return { expected, tenant: workspace.id, deadline: deadline.at, signal: signal, isStale, confirm, node };
}
