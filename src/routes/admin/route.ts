// The maker of admin routes. A route is a value: who may use it, what it reads, what it answers, in shapes and in words. The maker refuses in
// the order that is documented, credential (401), right (403), existence (404), query parameters (400), body (400), and
// answers no change before it is in force everywhere.
import type { Readable } from 'node:stream';
import type { TSchema } from 'typebox';
import { controlError, operatorError } from '../../directory/control-error.ts';
import type { Databases } from '../../directory/databases.ts';
import type { Organization } from '../../directory/organizations.ts';
import type { WorkspaceSummary } from '../../directory/workspaces.ts';
import { malformedId, notFound } from '../../errors.ts';
import type { Route, RouteRequest } from '../../http/routes.ts';
import { MAX_INT64 } from '../../model/decimal.ts';
import type { Operator, Owner } from '../../model/principal.ts';
import type { Reply } from '../../response/reply.ts';
import { type Admitted, type Authenticate, admit, type May, organizationFor, workspaceFor } from './access.ts';
import { type AnswerOf, type Answers, BINARY_TYPE } from './answer.ts';
import type { Body } from './body.ts';
import { describe, type Words } from './describe.ts';
import { makeNote, type Note } from './note.ts';
import { type Query, readQuery, type Values } from './query.ts';
import { type MustMatch, mustMatch } from './tag.ts';

export interface AdminRooms {
  readonly databases: Databases;
  readonly authenticate: Authenticate;
  /**
   * Called after a change in these workspaces, or, without any, in what all share: resolves when it is in force in
   * every process. The answer to the change waits for that, a second at most.
   */
  readonly announced: (...workspaceIds: readonly string[]) => Promise<void>;
}

export const PREFIX = '/api/admin/v1';
export const ORGANIZATION = '/organizations/:org';
export const WORKSPACE = `${ORGANIZATION}/workspaces/:ws` as const;

/** The names of a path's parameters. */
type Names<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | Names<Rest>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

/** What the path and the credential of a request stand for, known before its query and body are read. */
export interface Visit<Path extends string, M extends May> {
  readonly principal: Admitted[M];
  readonly params: Readonly<Record<Names<Path>, string>>;
  readonly workspace: 'ws' extends Names<Path> ? WorkspaceSummary : undefined;
  /** The header of a conditional read, as sent. */
  readonly ifNoneMatch: string | undefined;
  /** Who waits for the answer. */
  readonly caller: RouteRequest['caller'];
  /** The body as a stream, of a route that `uploads`. */
  readonly upload: () => Readable;
  /** What If-Match asks for; of a route that is `guarded`. To be called where nothing can change between it and the change. */
  readonly mustMatch: MustMatch;
  /** Only for paths that end above the workspaces. */
  readonly organization: 'ws' extends Names<Path> ? undefined : 'org' extends Names<Path> ? Organization : undefined;
  /** To be called when these workspaces have changed: the answer waits until every process knows. */
  readonly changed: (...workspaceIds: readonly string[]) => void;
}

/**
 * What a route other than GET changes of the data that processes have in memory: the `workspace` of its path;
 * `everything`, what all share; what it has `named` by changed(), or what the runner of migrations has announced
 * already; or `nothing`.
 */
export type Changes = 'workspace' | 'everything' | 'named' | 'nothing';

interface Spec<Path extends string, M extends May, Found, Q extends Query, B, A extends Answers> extends Words {
  /** Below /api/admin/v1. */
  readonly path: Path;
  readonly may: M;
  /** Finds what else the path names; 404 when it does not exist. */
  readonly find?: (visit: Visit<Path, M>) => Found | Promise<Found>;
  readonly query?: Q;
  /** Without it no body is read. */
  readonly body?: Body<B, NoInfer<Found>>;
  /** Its body is bytes, which the handler reads. */
  readonly uploads?: boolean;
  /** The shapes of the whole answer, by status. */
  readonly answers: A;
  readonly handle: (
    call: Visit<Path, M> & {
      readonly found: Found;
      readonly query: Values<Q>;
      readonly body: B;
      readonly note: Note;
    },
  ) => Promise<AnswerOf<A>>;
}

/** The parameters of the path besides organization and workspace, for documents. */
type Params<Path extends string> = [Exclude<Names<Path>, 'org' | 'ws'>] extends [never]
  ? { readonly params?: undefined }
  : { readonly params: Readonly<Record<Exclude<Names<Path>, 'org' | 'ws'>, TSchema>> };

type Effect =
  | { readonly method: 'GET'; readonly changes?: undefined; readonly activity?: undefined }
  | {
      readonly method: 'POST' | 'PUT' | 'DELETE';
      readonly changes: Changes;
      /** `written`: by `note`, under the id of the route; `none`: it changes nothing, for anybody. */
      readonly activity: 'written' | 'none';
    };

/** A route with what tests need to know of it. */
export interface AdminRoute extends Route {
  readonly may: May;
  readonly changes: Changes;
  readonly activity: 'written' | 'none';
}

export function routeMaker({ databases, authenticate, announced }: AdminRooms) {
  return function route<
    Path extends string,
    M extends May,
    A extends Answers,
    Found = undefined,
    Q extends Query = Record<never, never>,
    B = undefined,
  >(spec: Spec<Path, M, Found, Q, B, A> & Params<Path> & Effect): AdminRoute {
    const { id, method, path, may, changes = 'nothing', activity = 'none', params = {} } = spec;
    const { find, handle, body, guarded } = spec;
    const query: Query = spec.query ?? {};
    if (changes === 'workspace' && !path.startsWith(WORKSPACE)) throw new TypeError(`${path} names no workspace`);

    async function visitOf(request: RouteRequest, changed: Visit<Path, M>['changed']): Promise<Visit<Path, M>> {
      const principal = await admit(authenticate, may, request.credential);
      const { org, ws } = request.params;
      const admitted = principal as Operator | Owner;
      const workspace = ws === undefined ? undefined : await workspaceFor(databases.directory, admitted, org ?? '', ws);
      const isAbove = ws === undefined && org !== undefined;
      const organization = isAbove ? await organizationFor(databases.directory, admitted, org) : undefined;
      const { params, ifNoneMatch, caller } = request;
      const upload = (): Readable => request.upload(BINARY_TYPE);
      const must = mustMatch(guarded === undefined ? undefined : request.ifMatch, guarded ?? '');
      const visit = {
        principal,
        params,
        ifNoneMatch,
        caller,
        upload,
        mustMatch: must,
        workspace,
        organization,
        changed,
      };
      // The lines above give what the type Visit says for this path and this right.
      return visit as Visit<Path, M>;
    }

    async function answerTo(request: RouteRequest): Promise<Reply> {
      const touched = new Set<string>();
      const visit = await visitOf(request, (...ids) => {
        for (const id of ids) touched.add(id);
      });
      const found = (await find?.(visit)) as Found;
      const values = readQuery(query, request.query()) as Values<Q>;
      const value = (body === undefined ? undefined : body.read(await request.body(), found)) as B;
      const { note, isUsed } = makeNote(databases.directory, id, {
        // Nobody without a credential changes anything.
        principal: visit.principal as Operator | Owner,
        organization: visit.workspace?.organization ?? visit.organization?.slug ?? null,
        workspace: visit.workspace ?? null,
      });
      const reply = await handle({ ...visit, found, query: values, body: value, note });
      if (isUsed() !== (activity === 'written')) throw new TypeError(`${id} says of its activity: ${activity}`);
      if (changes === 'workspace') touched.add((visit.workspace as WorkspaceSummary).id);
      if (touched.size > 0 || changes === 'everything') await announced(...touched);
      return reply;
    }

    return {
      method,
      pattern: PREFIX + path,
      describe: describe({ ...spec, params, query, body }),
      handle: (request) =>
        answerTo(request).catch((error) => {
          throw may === 'operator' ? operatorError(error) : controlError(error);
        }),
      may,
      changes,
      activity,
    };
  };
}

/** Where something of a workspace is. */
export const placeIn = ({ organization, slug }: WorkspaceSummary, rest: string): string =>
  `${PREFIX}/organizations/${organization}/workspaces/${slug}${rest}`;

export const placeOfOrganization = (slug: string): string => `${PREFIX}/organizations/${slug}`;

/** A numeric id of a path; 400 when malformed, 404 when no id can be that large. */
export function idOf(text: string, what: string): string {
  if (!/^-?\d+$/.test(text)) throw malformedId(text);
  if (text.length > 19 || BigInt(text) > MAX_INT64) throw notFound(`${what} ${text} does not exist`);
  return text;
}
