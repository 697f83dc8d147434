// Routes the data API: request -> context -> operation -> retry -> authorization -> handler -> reply. context.ts has the order of refusals.

import type { FindCurrentPrincipal } from '../auth/current-principal.ts';
import { methodNotAllowed, notFound } from '../errors.ts';
import type { RawRequest } from '../http/request.ts';
import type { Mount, UrlOrigins } from '../http/router.ts';
import { parseGroup } from '../limits/fair-scheduler.ts';
import type { Metric } from '../metric.ts';
import { mayWrite, type Principal } from '../model/principal.ts';
import type { Workspace } from '../model/workspace.ts';
import { admit } from '../plan/plan.ts';
import { parseBatchOptions } from '../request/batch.ts';
import type { Call } from '../request/call.ts';
import { parseIdempotencyKey } from '../request/idempotency.ts';
import {
  findWorkspaceOperation,
  OPERATIONS,
  WORKSPACE_OPERATIONS,
  type WorkspaceOperationName,
} from '../request/operations.ts';
import { parseQueryString } from '../request/query-string.ts';
import { agentsPath, getOperationName, PREFIX, RESOURCE_METADATA, splitSegments } from '../request/record-path.ts';
import { errorReply } from '../response/error-body.ts';
import type { Reply } from '../response/reply.ts';
import type { FindCorsOrigins } from '../store/cors-origins.ts';
import { batch, replayBatch } from './batch.ts';
import { makeCallParts, parseCall } from './call.ts';
import {
  type Address,
  type AuthenticationDeps,
  authenticate,
  forward,
  impersonate,
  type RequestContext,
  restrictContext,
} from './context.ts';
import { makeDescriptions } from './describe.ts';
import { type EventReader, makeEventReader } from './event-reader.ts';
import { answerFeed, endFeeds, type FeedDeps } from './feed.ts';
import { makeFeedStreams } from './feed-streams.ts';
import { makeFeedWatch } from './feed-watch.ts';
import { executeIdempotent, type IdempotencyDeps } from './idempotency.ts';
import { executeCallIdempotent } from './idempotent-call.ts';
import { makeOperations, type OperationDeps, type Operations, releaseAfter } from './operations.ts';
import type { Quotas } from './quotas.ts';
import type { SnapshotRetry } from './retry.ts';
import { runTransaction } from './transaction.ts';
import { toUnavailableError } from './unavailable-error.ts';
import { makeWriteJobWorker, type WriteJobWorker } from './write-job-worker.ts';
import { answerJob, answerJobs, cancelJob } from './write-jobs.ts';

export interface DataApiDeps
  extends OperationDeps,
    Pick<AuthenticationDeps, 'authenticator' | 'rateLimit' | 'findRenamed'> {
  /** Handler of `_mcp`. */
  readonly agents: AgentHandler;
  readonly findPrincipal: FindCurrentPrincipal;
  readonly onError: (message: string, error: unknown) => void;
  /** URL of the token endpoint. */
  readonly tokenUrl: string;
  readonly findCorsOrigins: FindCorsOrigins;
}

export interface DataApi {
  /** Mount of /api/v1/. */
  readonly mount: Mount;
  /**
   * Executes a request for records, or for the schema, as another principal, for an administrator. A write is undone.
   * `selectPart`: limits the current snapshot.
   */
  readonly executeAs: (
    principal: Principal,
    request: RawRequest,
    selectPart?: (workspace: Workspace) => Workspace,
  ) => Promise<Reply>;
  /** Ends all streams and waits of feeds, for a shutdown. */
  readonly endStreams: () => void;
  readonly metrics: readonly Metric[];
  /** Carries out jobs of writes by filter. */
  readonly writeJobs: WriteJobWorker;
  /** Reads events for the server itself. */
  readonly events: EventReader;
  /** Returns the number of open streams of a workspace. */
  readonly countStreams: (workspaceId: string) => number;
  /** See SnapshotRetry. */
  readonly oldestInFlight: SnapshotRetry['oldestInFlight'];
}

/** Handles requests of agents by other requests of the same sender. */
export type AgentHandler = (context: RequestContext, api: AgentApi) => Promise<Reply>;

export interface AgentApi {
  /** Executes a request for records as the sender of the context. */
  readonly execute: (context: RequestContext, request: RawRequest) => Promise<Reply>;
  /** Executes a write and undoes it. Throws the error that the write would have now. */
  readonly dryRun: (context: RequestContext, request: RawRequest) => Promise<void>;
  /** Limits the context to the entities with these ids. */
  readonly restrictContext: (context: RequestContext, ids: readonly string[]) => RequestContext;
}

// Bytes of the values of an event that the server sends: all of a message with it has a mebibyte.
const MAX_EVENT_BYTES = 1_048_576;

export function makeDataApi(deps: DataApiDeps): DataApi {
  const { config, databases } = deps;
  const operations = makeOperations(deps);
  const { execute, retry } = operations;
  const descriptions = makeDescriptions({ ...config, tokenUrl: deps.tokenUrl }, deps.cache);
  const { feed, ...feeds } = makeFeeds(deps, operations);
  const idempotency: IdempotencyDeps = { config, databases, retry, execute, keys: deps.keys };

  async function handle(request: RawRequest): Promise<Reply> {
    const segments = splitSegments(request.path);
    const operation = findWorkspaceOperation(segments);
    const context = await authenticate(deps, request, parseAddress(config, segments, operation));
    if (operation === undefined) return executeCall(context, parseCall(context, segments, config));
    const { methods } = WORKSPACE_OPERATIONS[operation];
    if (!methods.some((one) => one === request.method)) throw methodNotAllowed(request.method, [...methods, 'OPTIONS']);
    return workspaceHandlers[operation](context);
  }

  const workspaceHandlers: Readonly<Record<WorkspaceOperationName, (context: RequestContext) => Promise<Reply>>> = {
    index: async (context) => descriptions.index(context),
    openapi: (context) => descriptions.document(context),
    schema: (context) => descriptions.schema(context),
    batch: executeBatch,
    workspaceChanges: (context) => answerFeed(feed, context, undefined),
    jobs: (context) => answerJobs(deps, context),
    job: (context) => answerJob(deps, context, getJobId(context)),
    cancelJob: (context) => cancelJob(deps, context, getJobId(context)),
    mcp: (context) => deps.agents(context, agentApi),
  };

  const writeJobs = makeWriteJobs(deps, operations, feed);

  /** Runs a call for records; a write with an Idempotency-Key runs only once. */
  function executeCall(context: RequestContext, call: Call): Promise<Reply> {
    const { access, body } = OPERATIONS[call.operation];
    // An import is one stream and one transaction, and stores its key itself. What is forgotten may be forgotten again.
    const isWrite = access === 'write' && call.operation !== 'import' && call.operation !== 'forget';
    let isIdempotent = false;
    try {
      isIdempotent = isWrite && hasIdempotencyKey(context) && usesKey(context, call);
    } catch (error) {
      return rejectAuthorized(context, call, error);
    }
    if (body === 'none') context.deadline.start(context.request.arrivedAt);
    if (call.operation === 'changes') return answerFeed(feed, context, call.entity);
    const reply = isIdempotent
      ? executeCallIdempotent(idempotency, context, call, body === 'none' ? undefined : makeReadBody(context))
      : execute(context, call, databases.forWorkspace(context.workspace));
    if (access === 'write') endWrite(deps.quotas, feed, reply, context);
    if (call.operation === 'updateWhere' || call.operation === 'deleteWhere') startAfter(reply, writeJobs);
    return reply.catch((error) => rethrow(error, context, isWrite && !isIdempotent));
  }

  /** Throws 403, 404 or 503 if the call is not authorized, else the error. */
  function rejectAuthorized(context: RequestContext, call: Call, error: unknown): Promise<never> {
    const executor = databases.forWorkspace(context.workspace);
    return retry.run(context, { call, executor }, async ({ workspace, principal }) => {
      admit(workspace, principal, call.entity, OPERATIONS[call.operation].access);
      throw error;
    });
  }

  function executeBatch(context: RequestContext): Promise<Reply> {
    const parts = makeCallParts(context.request, config);
    const isIdempotent = hasIdempotencyKey(context) && !parseBatchOptions(parts.query).isDryRun;
    const reply = isIdempotent
      ? executeIdempotent(
          idempotency,
          context,
          makeReadBody(context),
          (_, transaction) => batch(idempotency, context, parts, transaction),
          (storedResponse) => replayBatch(idempotency, context, parts, storedResponse),
        )
      : batch(idempotency, context, parts);
    endWrite(deps.quotas, feed, reply, context);
    return reply.catch((error) => rethrow(error, context, false));
  }

  const makeReadBody =
    ({ request }: RequestContext) =>
    () =>
      request.body(config.maxBulkBytes);

  /** Rethrows the error, translated when the node of the workspace is unavailable. */
  function rethrow(error: unknown, { workspace }: RequestContext, mayBeApplied: boolean): never {
    throw databases.topology.getNode(workspace)?.isUnavailable() === true
      ? toUnavailableError(error, mayBeApplied)
      : error;
  }

  /** Returns the reply of a call whose writes are rolled back. */
  const runDry = (context: RequestContext, call: Call): Promise<Reply> =>
    runTransaction(idempotency, context, { isDryRun: true, isRepeatable: true }, (executor, current) =>
      execute(current, call, executor),
    ).finally(() => deps.quotas.release(context, false));

  const agentApi = makeAgentApi(deps, executeCall, runDry);

  return {
    mount: makeMount(handle, deps),
    async executeAs(principal, request, selectPart) {
      const segments = splitSegments(request.path);
      const context = await impersonate(deps, request, parseAddress(config, segments), principal, { selectPart });
      if (request.method === 'GET' && findWorkspaceOperation(segments) === 'schema')
        return descriptions.schema(context);
      const call = parseCall(context, segments, config);
      if (OPERATIONS[call.operation].access === 'read') return executeCall(context, call);
      if (call.operation === 'import' && mayWrite(principal)) throw importNotTried();
      if (call.operation === 'forget') throw forgetNotTried();
      return runDry(context, call);
    },
    ...feeds,
    metrics: [...feeds.metrics, ...writeJobs.metrics],
    writeJobs,
    oldestInFlight: retry.oldestInFlight,
  };
}

type RunCall = (context: RequestContext, call: Call) => Promise<Reply>;

function makeAgentApi(deps: DataApiDeps, executeCall: RunCall, runDry: RunCall): AgentApi {
  const { config } = deps;
  return {
    async execute(sender, request) {
      const context = await forward(deps, sender, request);
      return executeCall(context, parseCall(context, splitSegments(request.path), config));
    },
    async dryRun(sender, request) {
      const context = await forward(deps, sender, request);
      await runDry(context, parseCall(context, splitSegments(request.path), config));
    },
    restrictContext: (context, ids) => restrictContext(deps, context, ids),
  };
}

/** Creates the worker of jobs. */
const makeWriteJobs = (deps: DataApiDeps, { retry, writeBatch }: Operations, feed: FeedDeps): WriteJobWorker =>
  makeWriteJobWorker({ ...deps, retry, writeBatch, onWrite: ({ workspace }) => touch(feed, workspace) });

/** Starts a job when its request is answered; where that fails, the next poll does. */
function startAfter(reply: Promise<Reply>, writeJobs: WriteJobWorker): void {
  reply.then(({ status }) => (status === 202 ? writeJobs.poll() : undefined)).catch(() => undefined);
}

/** Creates what the feeds of requests and the events for the server itself have in common. */
function makeFeeds({ config, databases, cache }: DataApiDeps, { retry, seals }: Operations) {
  const watch = makeFeedWatch();
  const feed: FeedDeps = { config, databases, cache, retry, seals, streams: makeFeedStreams(config), watch };
  const readerConfig = { ...config, maxResponseBytes: 2 * MAX_EVENT_BYTES };
  const events = makeEventReader({ config: readerConfig, databases, cache, retry, seals, onWrite: watch.onTouch });
  const { metrics, countStreams } = feed.streams;
  return { feed, events, metrics, countStreams, endStreams: () => endFeeds(feed) };
}

/** Error of a write that is a stream, which an internal request does not have. */
const importNotTried = (): Error =>
  notFound('UNKNOWN_OPERATION', 'An import cannot be tried: POST its records to _bulk instead');

/** Error of a removal of values, which has its own transaction. */
const forgetNotTried = (): Error => notFound('UNKNOWN_OPERATION', 'The removal of a history cannot be tried');

function makeMount(handle: Mount['handle'], { authenticator, cache, findCorsOrigins }: DataApiDeps): Mount {
  return {
    matches: (url) => url.startsWith(PREFIX),
    // Each workspace has its own operations.
    operations: [],
    readyFirst: true,
    getGroup: (url) => parseGroup(url, PREFIX),
    isVerified: authenticator.isVerified,
    corsOrigins: makeUrlOrigins({ cache, findCorsOrigins }),
    getOperationName,
    handle,
    toErrorReply: errorReply,
    isThrottled: ({ status }) => status === 401,
  };
}

/** Makes the look-up of the origins of a workspace by a URL below it. */
function makeUrlOrigins({ cache, findCorsOrigins }: Pick<DataApiDeps, 'cache' | 'findCorsOrigins'>): UrlOrigins {
  const parse = (url: string): readonly string[] => {
    const query = url.indexOf('?');
    return splitSegments(query < 0 ? url : url.slice(0, query));
  };
  return {
    getCached(url) {
      const [organization = '', slug = ''] = parse(url);
      return slug === '' ? null : cache.getCached(organization, slug)?.corsOrigins;
    },
    async find(url) {
      const [organization = '', slug = ''] = parse(url);
      return slug === '' ? null : findCorsOrigins(organization, slug);
    },
  };
}

const hasIdempotencyKey = ({ request }: RequestContext): boolean => request.headers['idempotency-key'] !== undefined;

/** Returns false for a dry run, which is rolled back and needs no key; throws 400 for a malformed key or query string. */
function usesKey({ request }: RequestContext, { query }: Call): boolean {
  if (parseQueryString(query).some(({ name, value }) => name === 'dryRun' && value === 'true')) return false;
  parseIdempotencyKey(String(request.headers['idempotency-key']));
  return true;
}

/** Parses the workspace in a path and the resource that its tokens must be for. */
function parseAddress(
  config: OperationDeps['config'],
  [organization = '', workspace = '']: readonly string[],
  operation?: string,
): Address {
  if (operation !== 'mcp') return { organization, workspace };
  const path = agentsPath(organization, workspace);
  const metadata = config.mcp ? config.publicUrl + RESOURCE_METADATA + path : undefined;
  return { organization, workspace, resource: config.publicUrl + path, metadata };
}

/** Ends what a write has reserved, and wakes those who wait for changes, when it has ended. */
function endWrite(quotas: Quotas, feed: FeedDeps, reply: Promise<Reply>, context: RequestContext): void {
  touchAfter(reply, feed, context);
  releaseAfter(quotas, reply, context);
}

/** Wakes those who wait for changes of the workspace, if it keeps any, when the write has ended. */
function touchAfter(reply: Promise<Reply>, feed: FeedDeps, { workspace }: RequestContext): void {
  void reply.finally(() => touch(feed, workspace)).catch(() => undefined);
}

function touch({ watch }: FeedDeps, { entities, id }: Workspace): void {
  // All entities say so if one of them keeps changes.
  const [first] = entities.values();
  if (first?.namesActor === true) watch.touch(id);
}

const getJobId = ({ request }: RequestContext): string => splitSegments(request.path)[3] ?? '';
