// Makes admin routes: each is a value with access level, parameters, body, responses and texts. Checks requests in the
// documented order: credential (401), permission (403), existence (404), query parameters (400), body (400). A change is
// answered once it is in force in every process.

import type { Readable } from 'node:stream';
import type { TSchema } from 'typebox';
import { malformedId, notFound } from '../errors.ts';
import type { Route, RouteRequest } from '../http/router.ts';
import { MAX_INT64 } from '../model/decimal.ts';
import type { Operator, Owner, Person } from '../model/principal.ts';
import { ADMIN_PREFIX } from '../request/record-path.ts';
import type { Reply } from '../response/reply.ts';
import { toControlError, toOperatorError } from '../store/control-error.ts';
import type { Databases } from '../store/databases.ts';
import type { Organization } from '../store/organizations.ts';
import type { WorkspaceSummary } from '../store/workspaces.ts';
import {
  type AccessLevel,
  type Authenticate,
  admit,
  type Principals,
  requireOrganization,
  requireWorkspace,
} from './access.ts';
import { type Audit, createAudit } from './audit.ts';
import type { Body } from './body.ts';
import { describe, type RouteTexts } from './describe.ts';
import { type Query, readQuery, type Values } from './query.ts';
import { BINARY_TYPE, type Responses, type RouteResponse } from './response.ts';
import { type MustMatch, mustMatch } from './tag.ts';

export interface AdminServices {
  readonly databases: Databases;
  readonly authenticate: Authenticate;
  /**
   * Announces a change of these workspaces, or, without any, of data that all share: resolves when it is in force in
   * every process. The response to the change waits for that, a second at most.
   */
  readonly announceChange: (...workspaceIds: readonly string[]) => Promise<void>;
}

export const ORGANIZATION = '/organizations/:org';
export const WORKSPACE = `${ORGANIZATION}/workspaces/:ws` as const;

/** Names of the parameters of a path. */
type ParamNames<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParamNames<Rest>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

type InOrganization = `${typeof ORGANIZATION}${string}`;
type InWorkspace = `${typeof WORKSPACE}${string}`;

/** Context of a request, from its path and its credential. Query and body are read after it. */
export interface AdminContext<Path extends string, M extends AccessLevel> {
  readonly principal: Path extends InWorkspace ? Exclude<Principals[M], Person> : Principals[M];
  readonly params: Readonly<Record<ParamNames<Path>, string>>;
  readonly workspace: Path extends InWorkspace ? WorkspaceSummary : undefined;
  /** If-None-Match header. */
  readonly ifNoneMatch: string | undefined;
  /** Signal that aborts when the client has disconnected. */
  readonly caller: RouteRequest['signal'];
  /** Returns the body as a stream, for a route that `uploads`. */
  readonly upload: () => Readable;
  /** Checks If-Match for a route that is `guarded`; called under the lock of the change. */
  readonly mustMatch: MustMatch;
  /** Organization of a path without a workspace. */
  readonly organization: Path extends InWorkspace ? undefined : Path extends InOrganization ? Organization : undefined;
  /** Announces a change of these workspaces: the response waits until every process knows. */
  readonly changed: (...workspaceIds: readonly string[]) => void;
}

/**
 * Cached data that a route other than GET changes: of the `workspace` of its path; `everything`, which all workspaces share;
 * of workspaces `named` by changed() or already announced by the runner of migrations; or `nothing`.
 */
export type Changes = 'workspace' | 'everything' | 'named' | 'nothing';

interface Spec<Path extends string, M extends AccessLevel, Resource, Q extends Query, B, A extends Responses>
  extends RouteTexts {
  /** Path below /api/admin/v1. */
  readonly path: Path;
  readonly access: M;
  /** Loads the resource that the path names below organization and workspace; 404 when it does not exist. */
  readonly find?: (context: AdminContext<Path, M>) => Resource | Promise<Resource>;
  readonly query?: Q;
  /** Shape and parser of the body; without one no body is read. */
  readonly body?: Body<B, NoInfer<Resource>>;
  /** Whether the body is bytes, which the handler reads. */
  readonly uploads?: boolean;
  /** Shapes of whole response bodies, by status. */
  readonly responses: A;
  readonly handle: (
    call: AdminContext<Path, M> & {
      readonly resource: Resource;
      readonly query: Values<Q>;
      readonly body: B;
      readonly audit: Audit;
    },
  ) => Promise<RouteResponse<A>>;
}

/** Parameters of the path other than organization and workspace, for the OpenAPI document. */
type Params<Path extends string> = [Exclude<ParamNames<Path>, 'org' | 'ws'>] extends [never]
  ? { readonly params?: undefined }
  : { readonly params: Readonly<Record<Exclude<ParamNames<Path>, 'org' | 'ws'>, TSchema>> };

type Effect =
  | { readonly method: 'GET'; readonly changes?: undefined; readonly activity?: undefined }
  | {
      readonly method: 'POST' | 'PUT' | 'DELETE';
      readonly changes: Changes;
      /** `written` by `audit` under the id of the route, or `none` if it changes nothing. */
      readonly activity: 'written' | 'none';
    };

/** Route with members that tests compare. */
export interface AdminRoute extends Route {
  readonly access: AccessLevel;
  readonly changes: Changes;
  readonly activity: 'written' | 'none';
}

export function routeMaker({ databases, authenticate, announceChange }: AdminServices) {
  return function route<
    Path extends string,
    M extends AccessLevel,
    A extends Responses,
    Resource = undefined,
    Q extends Query = Record<never, never>,
    B = undefined,
  >(spec: Spec<Path, M, Resource, Q, B, A> & Params<Path> & Effect): AdminRoute {
    const { id, method, path, access, changes = 'nothing', activity = 'none', params = {} } = spec;
    const { find, handle, body, guarded } = spec;
    const query: Query = spec.query ?? {};
    if (changes === 'workspace' && !path.startsWith(WORKSPACE)) throw new TypeError(`${path} names no workspace`);

    async function createContext(
      request: RouteRequest,
      changed: AdminContext<Path, M>['changed'],
    ): Promise<AdminContext<Path, M>> {
      const sender = await admit(authenticate, access, request.credential);
      const { org, ws } = request.params;
      const administrator = sender as Operator | Owner | Person;
      const admitted =
        ws === undefined
          ? undefined
          : await requireWorkspace(databases.directory, administrator, org ?? '', ws, { url: request.url, access });
      const { workspace, principal = sender } = admitted ?? {};
      const isOrganizationPath = ws === undefined && org !== undefined;
      const organization = isOrganizationPath
        ? await requireOrganization(databases.directory, administrator, org, access)
        : undefined;
      const { params, ifNoneMatch, signal: caller } = request;
      const upload = (): Readable => request.upload(BINARY_TYPE);
      const checkMatch = mustMatch(guarded === undefined ? undefined : request.ifMatch, guarded ?? '');
      const context = {
        principal,
        params,
        ifNoneMatch,
        caller,
        upload,
        mustMatch: checkMatch,
        workspace,
        organization,
        changed,
      };
      // The lines above set the members that AdminContext has for this path and access level.
      return context as AdminContext<Path, M>;
    }

    async function respondTo(request: RouteRequest): Promise<Reply> {
      const changedIds = new Set<string>();
      const context = await createContext(request, (...ids) => {
        for (const id of ids) changedIds.add(id);
      });
      const resource = (await find?.(context)) as Resource;
      const values = readQuery(query, request.query()) as Values<Q>;
      const value = (body === undefined ? undefined : body.read(await request.body(), resource)) as B;
      const { audit, isUsed } = createAudit(databases.directory, id, {
        // Every change needs a credential.
        principal: context.principal as Operator | Owner | Person,
        organization: context.workspace?.organization ?? context.organization?.slug ?? null,
        workspace: context.workspace ?? null,
      });
      const reply = await handle({ ...context, resource, query: values, body: value, audit });
      if (isUsed() !== (activity === 'written')) throw new TypeError(`${id} says of its activity: ${activity}`);
      if (changes === 'workspace') changedIds.add((context.workspace as WorkspaceSummary).id);
      if (changedIds.size > 0 || changes === 'everything') await announceChange(...changedIds);
      return reply;
    }

    return {
      method,
      pattern: ADMIN_PREFIX + path,
      describe: describe({ ...spec, params, query, body }),
      handle: (request) =>
        respondTo(request).catch((error) => {
          throw access === 'operator' ? toOperatorError(error) : toControlError(error);
        }),
      access,
      changes,
      activity,
    };
  };
}

/** Returns the path of a resource of a workspace, for the Location header. */
export const workspaceLocation = ({ organization, slug }: WorkspaceSummary, rest: string): string =>
  `${ADMIN_PREFIX}/organizations/${organization}/workspaces/${slug}${rest}`;

export const organizationLocation = (slug: string): string => `${ADMIN_PREFIX}/organizations/${slug}`;

const NOT_FOUND_BY_NOUN = {
  'API key': 'API_KEY_NOT_FOUND',
  Member: 'MEMBER_NOT_FOUND',
  Migration: 'MIGRATION_NOT_FOUND',
  Move: 'MOVE_NOT_FOUND',
  Plan: 'ROLLOUT_NOT_FOUND',
  Rollout: 'ROLLOUT_NOT_FOUND',
  Session: 'SESSION_NOT_FOUND',
  View: 'VIEW_NOT_FOUND',
  Webhook: 'WEBHOOK_NOT_FOUND',
} as const;

/** Parses a numeric id of a path; 400 when malformed, 404 when no id can be that large. */
export function parseId(text: string, what: keyof typeof NOT_FOUND_BY_NOUN): string {
  if (!/^-?\d+$/.test(text)) throw malformedId(text);
  if (text.length > 19 || BigInt(text) > MAX_INT64)
    throw notFound(NOT_FOUND_BY_NOUN[what], `${what} ${text} does not exist`);
  return text;
}
