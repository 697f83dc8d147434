// Endpoint of agents: checks a request before the protocol handles it, and creates the context of its tools.
import type { Config } from '../config.ts';
import type { RequestContext } from '../data-api/context.ts';
import { makeRequest } from '../data-api/internal-request.ts';
import type { AgentApi, AgentHandler } from '../data-api/router.ts';
import { ApiError, badRequest, unsupportedMediaType } from '../errors.ts';
import { readJsonValue } from '../http/body.ts';
import type { RawRequest } from '../http/request.ts';
import type { RateLimit } from '../limits/rate-limit.ts';
import { closest } from '../model/closest.ts';
import { mayWrite } from '../model/principal.ts';
import type { Workspace } from '../model/workspace.ts';
import { buildViews, getPrincipalClass } from '../openapi/view.ts';
import { isJsonType } from '../request/body.ts';
import { isRecord } from '../request/members.ts';
import { OPERATIONS, type OperationName } from '../request/operations.ts';
import { parseParameters } from '../request/query-string.ts';
import { toApiError } from '../response/error-body.ts';
import { JSON_TYPE, type Reply } from '../response/reply.ts';
import { traceCall } from '../tracing.ts';
import { callTool } from './call.ts';
import type { Confirmations } from './confirmation.ts';
import { type AgentContext, formatWorkspace } from './descriptions.ts';
import { type Message, QUESTION, toEnvelope } from './envelope.ts';
import { formatError } from './error-text.ts';
import { agentsMayNotWrite, agentsNotServed, foreignOrigin, noSuchEntities } from './errors.ts';
import type { AgentSession, ToolResult } from './handler.ts';
import type { ConfirmationState, Outcome, ToolContext } from './tool-context.ts';
import { describeTool, findTool, formatInstructions, listTools, TOOLS, type ToolName } from './tools.ts';

export interface AgentDeps {
  readonly config: Pick<Config, 'mcp' | 'mcpMaxRows' | 'mcpMaxBytes' | 'publicUrl' | 'corsOrigins' | 'maxBodyBytes'>;
  /** Rate limit of tool calls, separate from that of other requests. */
  readonly rateLimit: RateLimit;
  /** Called for each tool call, without values. */
  readonly onCall: (facts: Readonly<Record<string, unknown>>) => void;
  readonly onError: (message: string, error: unknown) => void;
  readonly confirmations: Confirmations;
}

/** Creates the handler of `POST …/{workspace}/_mcp`: one JSON-RPC message and its response. */
export function makeAgents(deps: AgentDeps): AgentHandler {
  const { config, rateLimit } = deps;
  return async (context, api) => {
    const { request, principal } = context;
    if (!config.mcp || !context.workspace.agents.enabled) throw agentsNotServed();
    checkOrigin(request.headers.origin, config, context.workspace);
    const narrowing = parseNarrowing(request.query);
    const narrowedContext = narrow(context, api, narrowing.entities);
    const message = await parseMessage(request, config.maxBodyBytes);
    const envelope = toEnvelope(message);
    const tool = getTool(message);
    if (message.method === 'tools/call') await rateLimit(principal.credentialId);
    const session = makeSession(deps, narrowedContext, api, narrowing, message);
    const { serveAgent } = await import('./handler.ts');
    const url = `${config.publicUrl}${request.path}`;
    const operation = tool === undefined ? undefined : `mcp_${tool}`;
    const response = await traceCall(getMeta(message), { id: request.id, operation: operation ?? 'mcp' }, () =>
      serveAgent({ url, headers: getProtocolHeaders(request), envelope }, session),
    );
    return { ...(await toReply(response)), ...(operation === undefined ? {} : { operation }) };
  };
}

export interface Narrowing {
  readonly isReadOnly: boolean;
  /** Names of entities, or undefined for all. */
  readonly entities: readonly string[] | undefined;
}

/** Parses the URL's restrictions of the credential. A misspelt word would restrict nothing, so it is a 400. */
function parseNarrowing(query: string): Narrowing {
  const parameters = parseParameters(query, ['access', 'entities']);
  const access = parameters.get('access');
  if (access !== undefined && access !== 'read')
    throw badRequest('INVALID_PARAMETER', 'access must be read, or be left out');
  return { isReadOnly: access === 'read', entities: parameters.get('entities')?.split(',') };
}

/** Limits the context to entities that the settings of the workspace and the URL allow. An unknown name is a 400. */
function narrow(
  context: RequestContext,
  { restrictContext }: AgentApi,
  names: readonly string[] | undefined,
): RequestContext {
  const { entities } = context.workspace.agents;
  const open = entities === null ? context : restrictContext(context, entities);
  if (names === undefined) return open;
  const { entityIds } = open.workspace;
  return restrictContext(
    open,
    names.map((name) => {
      const id = entityIds.get(name);
      if (id === undefined) throw noSuchEntities(name, closest(name, entityIds.keys()), entityIds.keys());
      return id;
    }),
  );
}

/** Checks the Origin header of browsers: a foreign page must not use a server that only this machine reaches. */
function checkOrigin(
  origin: string | undefined,
  { publicUrl, corsOrigins }: AgentDeps['config'],
  { corsOrigins: own }: Workspace,
): void {
  const allowedOrigins = own ?? corsOrigins;
  if (origin === undefined || allowedOrigins === '*' || allowedOrigins.includes(origin)) return;
  if (origin !== new URL(publicUrl).origin)
    throw foreignOrigin(origin, own === null ? 'WDA_CORS_ORIGINS' : 'corsOrigins');
}

async function parseMessage(raw: RawRequest, maxBytes: number): Promise<Message> {
  if (!isJsonType(raw.headers['content-type'])) throw unsupportedMediaType('application/json');
  const message = await readJsonValue(await raw.body(maxBytes), raw);
  if (!isRecord(message))
    throw badRequest('INVALID_MESSAGE', 'The body must be one JSON-RPC message; several are sent one by one');
  return message;
}

const getParams = ({ params }: Message) => (isRecord(params) ? params : {});

/** Returns the metadata of the host and its caller, separate from the parameters. */
function getMeta(message: Message): Message {
  const { _meta: meta } = getParams(message);
  return isRecord(meta) ? meta : {};
}

/** Returns the tool that the message calls, or undefined if it is unknown. */
function getTool(message: Message): ToolName | undefined {
  const { name } = getParams(message);
  return message.method === 'tools/call' && typeof name === 'string' ? findTool(name) : undefined;
}

/** Returns the headers of the protocol, never the credential. */
function getProtocolHeaders({ headers }: RawRequest): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      name.startsWith('mcp-') && typeof value === 'string' ? [[name, value] as const] : [],
    ),
  );
}

function makeSession(
  { config, confirmations, onCall, onError }: AgentDeps,
  context: RequestContext,
  { execute, dryRun }: AgentApi,
  { isReadOnly }: Narrowing,
  message: Message,
): AgentSession {
  const { request, workspace, principal } = context;
  const views = buildViews(workspace, getPrincipalClass(principal));
  const operations = new Set(views.flatMap((view) => view.operations));
  const readOnlyReason = getReadOnlyReason(context, isReadOnly, operations);
  const agentContext: AgentContext = { workspace, principal, views, readOnlyReason };
  const args = getParams(message).arguments;
  const confirmationState = readConfirmation(message, context, confirmations);
  const toolContext: ToolContext = {
    agentContext,
    maxRows: config.mcpMaxRows,
    maxBytes: config.mcpMaxBytes,
    execute: (internalRequest) => execute(context, makeRequest(internalRequest, request)),
    dryRun: (internalRequest) => dryRun(context, makeRequest(internalRequest, request)),
    writes: workspace.agents.writes,
    confirmationState,
  };

  async function use(tool: ToolName): Promise<Outcome> {
    if (readOnlyReason !== undefined && TOOLS[tool].access === 'write') throw agentsMayNotWrite(readOnlyReason);
    return callTool(tool, args, toolContext);
  }

  async function call(name: string): Promise<ToolResult | undefined> {
    const tool = findTool(name);
    if (tool === undefined) return undefined;
    if (isDeclined(message)) return { kind: 'text', text: 'Declined: nothing was done.', isError: true };
    const entity = isRecord(args) && typeof args.entity === 'string' ? args.entity : undefined;
    const facts = {
      requestId: request.id,
      tool,
      // Other text is input of the client and not logged.
      entity: entity !== undefined && workspace.entities.has(entity) ? entity : undefined,
      principal: principal.credentialId,
      client: getClient(message, request),
    };
    try {
      const outcome = await use(tool);
      onCall(facts);
      return toToolResult(outcome, confirmationState.canElicit);
    } catch (error) {
      const apiError = toApiError(error);
      if (!(error instanceof ApiError)) onError('a tool of an agent failed', error);
      onCall({ ...facts, failed: apiError.code });
      return { kind: 'text', text: formatError(apiError), isError: true };
    }
  }

  const location = formatWorkspace(workspace);
  const mayUse = (operation: OperationName): boolean =>
    (readOnlyReason === undefined || OPERATIONS[operation].access === 'read') &&
    // Keys may use all operations but those of a history, which not every workspace keeps.
    ((principal.kind !== 'external' && operation !== 'history') || operations.has(operation));
  const names = listTools(mayUse);
  return { instructions: formatInstructions(location), tools: names.map(describeTool), call };
}

/** Returns a clause with the reason, or undefined if the principal may write. */
function getReadOnlyReason(
  { workspace, principal }: RequestContext,
  isReadOnly: boolean,
  operations: ReadonlySet<OperationName>,
): string | undefined {
  if (isReadOnly) return 'the address of this server says access=read';
  if (!mayWrite(principal)) return 'your credential may only read';
  if (workspace.agents.writes === 'off') return 'agents may only read in this workspace';
  const isWritten = [...operations].some((operation) => OPERATIONS[operation].access === 'write');
  return workspace.part?.beforeGrants !== undefined && !isWritten ? 'no grant of your roles allows it' : undefined;
}

function toToolResult(outcome: Outcome, canElicit: boolean): ToolResult {
  if (typeof outcome === 'string') return { kind: 'text', text: outcome, isError: false };
  const { preview, confirmation } = outcome;
  if (canElicit) return { kind: 'ask', message: preview, state: confirmation };
  const text = `Nothing is done yet. Show this to the person you work for:\n${preview}\nIf they agree, repeat the call with confirmation "${confirmation}"`;
  return { kind: 'text', text, isError: false };
}

const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';

/** Returns the reply to a confirmation question, which the host sends with the call again. */
function getConfirmAction(message: Message): string | undefined {
  const { inputResponses } = getParams(message);
  const answer = isRecord(inputResponses) ? inputResponses[QUESTION] : undefined;
  return isRecord(answer) && typeof answer.action === 'string' ? answer.action : undefined;
}

const isDeclined = (message: Message): boolean => {
  const response = getConfirmAction(message);
  return response !== undefined && response !== 'accept';
};

/** Reads the confirmation of a call. An agent's confirmation counts only if its host cannot ask a person. */
function readConfirmation(
  message: Message,
  { workspace, principal }: RequestContext,
  confirmations: Confirmations,
): ConfirmationState {
  const { requestState, arguments: args } = getParams(message);
  const capabilities = getMeta(message)[CAPABILITIES];
  const canElicit = isRecord(capabilities) && isRecord(capabilities.elicitation);
  const confirmationArgument = isRecord(args) && typeof args.confirmation === 'string' ? args.confirmation : undefined;
  const returned =
    typeof requestState === 'string' && getConfirmAction(message) === 'accept' ? requestState : undefined;
  const claims = principal.kind === 'external' ? [principal.claims.iss ?? null, principal.claims.sub ?? null] : [];
  return {
    confirmation: canElicit ? returned : confirmationArgument,
    canElicit,
    subject: [workspace.id, principal.credentialId, ...claims],
    confirmations,
  };
}

const CLIENT_INFO = 'io.modelcontextprotocol/clientInfo';
const CLIENT_CHARACTERS = 60;

/** Returns the name of the host, for the log. */
function getClient(message: Message, { headers }: RawRequest): string | undefined {
  const info = getMeta(message)[CLIENT_INFO];
  const name = isRecord(info) && typeof info.name === 'string' ? info.name : headers['user-agent'];
  return name?.replace(/[^\x20-\x7e]/g, '').slice(0, CLIENT_CHARACTERS);
}

async function toReply(response: Response): Promise<Reply> {
  const text = await response.text();
  return {
    status: response.status,
    headers: {},
    body: text === '' ? { kind: 'empty' } : { kind: 'text', contentType: JSON_TYPE, text },
  };
}
