// Context of a request of the data API: principal, workspace, deadline and entity. A request is refused in this order:
//
//   authenticate()   credential (401), rate limit (429), workspace (404; 308 by a former slug), suspended workspace (403)
//   router.ts        path (404), method (405)
//   authorize()      permission (403), entity (404), migration gate (503), node of the workspace (503)
//   handlers         parameters (400), media type (415), body (400, 413)
import type { Authenticator } from '../auth/authenticate.ts';
import type { Config } from '../config.ts';
import type { Executor, Expected, StatementOptions } from '../database/pool.ts';
import {
  ApiError,
  invalidCredential,
  noSuchWorkspace,
  workspaceRenamed,
  workspaceSuspended,
  workspaceUnavailable,
} from '../errors.ts';
import type { RawRequest } from '../http/request.ts';
import type { RateLimit } from '../limits/rate-limit.ts';
import type { Entity } from '../model/entity.ts';
import { CLIENT_ID, isValidIn, KEY_ID, narrowScope, type Principal } from '../model/principal.ts';
import { getUnrestricted } from '../model/restricted.ts';
import type { Workspace } from '../model/workspace.ts';
import { admit } from '../plan/plan.ts';
import type { Call } from '../request/call.ts';
import { OPERATIONS } from '../request/operations.ts';
import type { Query } from '../sql/fragment.ts';
import type { Databases } from '../store/databases.ts';
import type { FindRenamed } from '../store/renamed.ts';
import type { WorkspaceCache } from '../store/workspace-cache.ts';
import { suggestWorkspace } from '../store/workspaces.ts';
import type { ResponseForm } from '../workspace-schema/idempotency-keys.ts';
import type { Quotas } from './quotas.ts';

/** A request whose sender is authenticated. */
export interface RequestContext extends Access {
  readonly request: RawRequest;
  /** Aborts when the client disconnects. */
  readonly signal: RawRequest['signal'];
  readonly deadline: Deadline;
  /** Time of the oldest check of credential and snapshot, on the clock of performance.now(). */
  readonly checkedAt: number;
  /** How the request came, if that does not follow from the principal. */
  readonly via?: Via | undefined;
  /** Returns the request with the current credential and snapshot; 401 or 404 when it is no longer allowed. */
  readonly refresh: () => Promise<RequestContext>;
  /** Returns the context for work that outlives its request, of which it keeps nothing. */
  readonly outlive: (request: RawRequest) => RequestContext;
}

/** How a write came: by a request, by the console, or by an agent. */
export type Via = 'api' | 'console' | 'mcp';

/** A principal with the part of a snapshot that is within its scope. */
export interface Access {
  readonly workspace: Workspace;
  readonly principal: Principal;
}

/** A request that is authorized for an operation on an entity. */
export interface EntityContext extends RequestContext {
  readonly call: Call;
  readonly entity: Entity;
  /** Runs the statements of the call: pools of the database, or the transaction that the call is part of. */
  readonly executor: Executor;
  /** Idempotency-Key of a single write. */
  readonly key: StatementKey | undefined;
  /** The node of the workspace on a cluster. */
  readonly node: StatementOptions['node'];
  /** See StatementOptions. */
  readonly isStale: (now: number) => boolean;
  readonly confirm: () => Promise<boolean>;
  /** Returns the call, authorized again with the current credential and snapshot. */
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
  /** URL that tokens must be issued for, or undefined if they are for the API. */
  readonly resource?: string | undefined;
  /** URL of the resource metadata, sent with a 401 (RFC 9728 section 5.1). */
  readonly metadata?: string | undefined;
}

export interface ContextDeps {
  readonly config: Pick<Config, 'statementTimeoutMs'>;
  readonly cache: WorkspaceCache;
}

export interface AuthenticationDeps extends ContextDeps {
  readonly authenticator: Authenticator;
  readonly rateLimit: RateLimit;
  readonly quotas: Pick<Quotas, 'countRequest'>;
  readonly databases: Pick<Databases, 'directory'>;
  readonly findRenamed: FindRenamed;
}

export interface AuthorizationDeps {
  readonly cache: WorkspaceCache;
  readonly databases: Databases;
}

/** One deadline for all database work of a request, queues included. */
export class Deadline {
  readonly #limitMs: number;
  #at: number | undefined;

  /** Starts at start() or at the first use of `at`, since a body may take its time to arrive. */
  constructor(limitMs: number) {
    this.#limitMs = limitMs;
  }

  start(now: number): void {
    this.#at ??= now + this.#limitMs;
  }

  /** Time of the deadline on the clock of performance.now(). */
  get at(): number {
    this.#at ??= performance.now() + this.#limitMs;
    return this.#at;
  }
}

/* ---- authentication ---- */

/** Authenticates a request: 401, 429, 404, 308 for a former slug, or 403 for a workspace that is suspended. */
export async function authenticate(
  deps: AuthenticationDeps,
  request: RawRequest,
  address: Address,
): Promise<RequestContext> {
  const { metadata } = address;
  const { credential, path, query } = request;
  try {
    const resolve = async (rateLimit: RateLimit): Promise<Access> =>
      requireNotSuspended(await resolveAccess(deps, { credential, path, query }, address, rateLimit));
    const access = await resolve(deps.rateLimit);
    await deps.quotas.countRequest(getUnrestricted(access.workspace));
    return makeContext(deps, request, access, () => resolve(noLimit));
  } catch (error) {
    const isChallenged = metadata !== undefined && error instanceof ApiError && error.status === 401;
    throw isChallenged ? error.challengedBy(metadata) : error;
  }
}

interface ImpersonateOptions {
  /** Limits the snapshot. */
  readonly selectPart?: ((workspace: Workspace) => Workspace) | undefined;
  readonly via?: Via;
}

/** Creates the context of a request for a principal who is authenticated elsewhere. */
export async function impersonate(
  deps: ContextDeps,
  request: RawRequest,
  { organization, workspace: slug }: Address,
  principal: Principal,
  { selectPart = (workspace) => workspace, via }: ImpersonateOptions = {},
): Promise<RequestContext> {
  const loadAccess = async (): Promise<Access> => {
    const workspace = await deps.cache.get(organization, slug);
    if (workspace === undefined || !isValidIn(principal, workspace.id)) throw invalidCredential();
    return requireNotSuspended({ workspace: selectPart(deps.cache.restrict(workspace, principal)), principal });
  };
  return makeContext(deps, request, await loadAccess(), loadAccess, via);
}

/** Creates the context of a request that an agent makes for the same sender, with its own deadline. */
export async function forward(deps: ContextDeps, context: RequestContext, request: RawRequest) {
  return makeContext(deps, request, await context.refresh(), context.refresh, 'mcp');
}

/** Limits the context to the entities with these ids. */
export function restrictContext(deps: ContextDeps, context: RequestContext, ids: readonly string[]): RequestContext {
  const restrictAccess = ({ workspace, principal }: Access): Access => {
    const restricted = narrowScope(principal, ids);
    return {
      workspace: deps.cache.restrict(getUnrestricted(workspace), restricted),
      principal: restricted,
    };
  };
  return makeContext(deps, context.request, restrictAccess(context), async () =>
    restrictAccess(await context.refresh()),
  );
}

function makeContext(
  deps: Pick<ContextDeps, 'config'>,
  request: RawRequest,
  { workspace, principal }: Access,
  loadAccess: () => Promise<Access>,
  via?: RequestContext['via'],
): RequestContext {
  const common = {
    request,
    via,
    signal: request.signal,
    deadline: new Deadline(deps.config.statementTimeoutMs),
    refresh: async (): Promise<RequestContext> => {
      const current = await loadAccess();
      return { ...common, workspace: current.workspace, principal: current.principal, checkedAt: performance.now() };
    },
    outlive: (other: RawRequest) => makeContext(deps, other, { workspace, principal }, loadAccess, via),
  };
  return { ...common, workspace, principal, checkedAt: request.arrivedAt };
}

function requireNotSuspended(access: Access): Access {
  if (access.workspace.state === 'suspended') throw workspaceSuspended();
  return access;
}

/** Skips the rate limit of a request that was counted before. */
const noLimit: RateLimit = async () => undefined;

/**
 * Finds principal and workspace. A workspace that does not exist and one of another tenant look the same to all but the
 * operator. The credential is checked and counted before the database is asked for the workspace.
 */
async function resolveAccess(
  deps: AuthenticationDeps,
  request: Pick<RawRequest, 'credential' | 'path' | 'query'>,
  address: Address,
  countRequest: RateLimit,
): Promise<Access> {
  const { cache, authenticator } = deps;
  const { credential } = request;
  const { organization, workspace: slug, resource } = address;
  const workspace = cache.getCached(organization, slug);
  const principal = workspace === undefined ? undefined : authenticator.recall(credential, workspace, resource);
  if (workspace !== undefined && principal !== undefined) {
    await countRequest(principal.credentialId);
    if (cache.getCached(organization, slug) === workspace) {
      return { workspace: cache.restrict(workspace, principal), principal };
    }
  }
  const rateLimit = principal === undefined ? countRequest : noLimit;
  try {
    return await findAccess(deps, request, address, rateLimit);
  } catch (error) {
    // A 401 by an outdated snapshot is checked once more.
    if (!(error instanceof ApiError) || error.status !== 401) throw error;
    const current = cache.getCached(organization, slug);
    if (current === undefined || !(await hasChanged(cache, current))) throw error;
    return findAccess(deps, request, address, noLimit);
  }
}

// Part of the path with the slug: /api/v1/acme/shop.
const SLUG_PART = 4;

/** Looks the credential up, with or without the workspace. */
async function findAccess(
  { cache, authenticator, databases, findRenamed }: AuthenticationDeps,
  { credential, path, query }: Pick<RawRequest, 'credential' | 'path' | 'query'>,
  { organization, workspace: slug, resource }: Address,
  countRequest: RateLimit,
): Promise<Access> {
  const find = () => cache.get(organization, slug);
  const findFormer = async (): Promise<Workspace | undefined> => {
    const renamed = await findRenamed(organization, slug);
    return renamed && cache.get(renamed.organization, renamed.slug);
  };
  const findEither = async () => (await find()) ?? (await findFormer());
  const principal = await authenticator.authenticate(credential, findEither, resource);
  await countRequest(principal.credentialId);
  const workspace = await find();
  const former = workspace === undefined ? await findFormer() : undefined;
  if (former !== undefined && isValidIn(principal, former.id)) {
    const url = query === '' ? path : `${path}?${query}`;
    throw workspaceRenamed(`${former.organization}/${former.slug}`, url, SLUG_PART);
  }
  if (workspace === undefined && principal.kind === 'operator') {
    const suggestion = await suggestWorkspace(databases.directory, organization, slug);
    throw noSuchWorkspace(`${organization}/${slug}`, suggestion);
  }
  if (workspace === undefined || !isValidIn(principal, workspace.id)) throw invalidCredential();
  return { workspace: cache.restrict(workspace, principal), principal };
}

/** True when the snapshot has been replaced, so that its refusal may be outdated. */
export async function hasChanged(cache: WorkspaceCache, workspace: Workspace): Promise<boolean> {
  const unrestricted = getUnrestricted(workspace);
  // Without the database the snapshot is valid until its lease ends.
  return (await cache.getRecent(workspace.organization, workspace.slug).catch(() => unrestricted)) !== unrestricted;
}

/* ---- authorization ---- */

// Milliseconds after admission during which a snapshot counts as current without a check: its lease ends 100 ms before
// others stop waiting for this process (store/process-registry.ts).
const TRUST_MS = 20;

/** Authorizes a call for its principal: 403, 404 or 503. */
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
  const { request, via, signal, workspace, principal, deadline, checkedAt, outlive } = context;
  const { access } = OPERATIONS[call.operation];
  const entity = admit(workspace, principal, call.entity, access);
  const node = topology.getNode(workspace);
  if (node?.isUnavailable() === true) throw workspaceUnavailable();
  // Conditions of grants read tables by the names that the coordinator knows.
  const isByRole = workspace.part?.beforeGrants !== undefined;
  const maySkipCoordinator = !isByRole && access === 'read' && call.operation !== 'export' && !executor.isTransaction;
  const onNode = maySkipCoordinator ? topology.routeRead(workspace, entity) : undefined;
  const isFresh = (): boolean => cache.getCached(workspace.organization, workspace.slug) === getUnrestricted(workspace);
  return {
    request,
    via,
    signal,
    workspace: onNode?.workspace ?? workspace,
    principal,
    deadline,
    checkedAt,
    outlive,
    call,
    entity: onNode?.entity ?? entity,
    executor: onNode?.executor ?? executor,
    key,
    node,
    // A process that was removed from the registry, or received no messages, cannot tell.
    isStale: (now) => cache.isReplaced(workspace) || (now - checkedAt > TRUST_MS && !isFresh()),
    confirm: async () => (await cache.get(workspace.organization, workspace.slug)) === getUnrestricted(workspace),
    async refresh() {
      cache.invalidate(workspace.id);
      return authorize(deps, await context.refresh(), call, executor, key);
    },
  };
}

/** Tenant, timeouts and cancellation of a statement. */
export function buildStatementOptions(context: EntityContext, expected: Expected): StatementOptions {
  const { signal, workspace, deadline, isStale, confirm, node, request } = context;
  const { answerMemory } = request;
  return { expected, tenant: workspace.id, deadline: deadline.at, signal, answerMemory, isStale, confirm, node };
}

/**
 * Returns the principal and the request of a write as JSON, for stored changes, or undefined where no entity keeps any.
 * The name of a key is not part of it, as it may change.
 */
export function describeActor(context: EntityContext): string | undefined {
  const { entity, principal, request } = context;
  if (!entity.namesActor) return undefined;
  return JSON.stringify({ ...identify(principal), via: describeVia(context), requestId: request.id });
}

export function describeVia({ principal, via }: Pick<RequestContext, 'principal' | 'via'>): Via {
  const isSession = principal.kind !== 'external' && principal.sessionId !== undefined;
  return via ?? (isSession ? 'console' : 'api');
}

function identify(principal: Principal): object {
  const { credentialId } = principal;
  if (principal.kind !== 'external' && principal.person !== undefined) {
    const { id, subject } = principal.person;
    return { kind: 'person', id, subject };
  }
  if (credentialId.startsWith(KEY_ID)) return { kind: 'key', id: credentialId.slice(KEY_ID.length) };
  if (credentialId.startsWith(CLIENT_ID)) return { kind: 'client', id: credentialId.slice(CLIENT_ID.length) };
  if (principal.kind === 'external') return { kind: 'user', id: principal.claims.sub, issuer: principal.claims.iss };
  return { kind: 'operator', id: 'operator' };
}
