// The endpoint of agents: what is asked of a request before the protocol is spoken, and what its tools stand on.
import type { Config } from '../config.ts';
import { ApiError, agentsNotServed, badRequest, foreignOrigin, unsupportedMediaType } from '../errors.ts';
import { jsonValue } from '../http/json-body.ts';
import type { RawRequest } from '../http/raw-request.ts';
import { mayWrite } from '../model/principal.ts';
import { classOf, viewOf } from '../openapi/view.ts';
import type { RateLimit } from '../pace/rate-limit.ts';
import { requestOf } from '../records/asked.ts';
import type { Guest, WorkspaceHandler } from '../records/pipeline.ts';
import { isJsonType } from '../request/body.ts';
import { isRecord } from '../request/members.ts';
import { parseParameters } from '../request/parameters.ts';
import { toApiError } from '../response/error-body.ts';
import { JSON_TYPE, type Reply } from '../response/reply.ts';
import { callTool, type Desk } from './call.ts';
import type { AgentSession, ToolText } from './handler.ts';
import { errorText } from './refusal.ts';
import { instructionsFor, shownTool, type ToolName, toolNamed, toolsFor } from './tools.ts';
import { placeOf, type Standpoint } from './words.ts';

export interface AgentRooms {
  readonly config: Pick<Config, 'mcp' | 'mcpMaxRows' | 'mcpMaxBytes' | 'publicUrl' | 'corsOrigins' | 'maxBodyBytes'>;
  /** Calls of tools, apart from other requests. */
  readonly rateLimit: RateLimit;
  /** Called with each call of a tool; never with values. */
  readonly onCall: (facts: Readonly<Record<string, unknown>>) => void;
  readonly onError: (message: string, error: unknown) => void;
}

/** `POST …/{workspace}/_mcp`: one JSON-RPC message and its answer. */
export function makeAgents(rooms: AgentRooms): WorkspaceHandler {
  const { config, rateLimit } = rooms;
  return async (guest) => {
    const { raw, visitor } = guest;
    if (!config.mcp) throw agentsNotServed();
    refuseOrigin(raw.headers.origin, config);
    const narrowing = parseNarrowing(raw.query);
    const message = await messageOf(raw, config.maxBodyBytes);
    const tool = toolOf(message);
    if (message.method === 'tools/call') await rateLimit(visitor.principal.credentialId);
    const session = sessionOf(rooms, guest, narrowing, message);
    const { serveAgent } = await import('./handler.ts');
    const url = `${config.publicUrl}${raw.path}`;
    const response = await serveAgent({ url, headers: protocolHeaders(raw), message }, session);
    return { ...(await replyOf(response)), ...(tool === undefined ? {} : { operation: `mcp_${tool}` }) };
  };
}

export interface Narrowing {
  readonly isReadOnly: boolean;
}

/** What the URL takes away from what the credential may do; a misspelt word would take nothing away, so it is 400. */
function parseNarrowing(query: string): Narrowing {
  const access = parseParameters(query, ['access']).get('access');
  if (access !== undefined && access !== 'read') throw badRequest('access must be read, or be left out');
  return { isReadOnly: access === 'read' };
}

/** Browsers tell where a page comes from; a page of somebody else must not use a server that only this machine reaches. */
function refuseOrigin(origin: string | undefined, { publicUrl, corsOrigins }: AgentRooms['config']): void {
  if (origin === undefined || corsOrigins === '*' || corsOrigins.includes(origin)) return;
  if (origin !== new URL(publicUrl).origin) throw foreignOrigin(origin);
}

async function messageOf(raw: RawRequest, maxBytes: number): Promise<Readonly<Record<string, unknown>>> {
  if (!isJsonType(raw.headers['content-type'])) throw unsupportedMediaType('application/json');
  const message = await jsonValue(await raw.body(maxBytes), raw);
  if (!isRecord(message)) throw badRequest('The body must be one JSON-RPC message; several are sent one by one');
  return message;
}

const paramsOf = ({ params }: Readonly<Record<string, unknown>>) => (isRecord(params) ? params : {});

/** The known tool that the message calls. */
function toolOf(message: Readonly<Record<string, unknown>>): ToolName | undefined {
  const { name } = paramsOf(message);
  return message.method === 'tools/call' && typeof name === 'string' ? toolNamed(name) : undefined;
}

/** The headers of the protocol; never the credential. */
function protocolHeaders({ headers }: RawRequest): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      name.startsWith('mcp-') && typeof value === 'string' ? [[name, value] as const] : [],
    ),
  );
}

function sessionOf(
  { config, onCall, onError }: AgentRooms,
  { raw, visitor, again, answerAs }: Guest,
  { isReadOnly }: Narrowing,
  message: Readonly<Record<string, unknown>>,
): AgentSession {
  const { workspace, principal } = visitor;
  const noWrites = isReadOnly
    ? 'the address of this server says access=read'
    : mayWrite(principal)
      ? 'agents may only read here'
      : 'your credential may only read';
  const standpoint: Standpoint = { workspace, principal, views: viewOf(workspace, classOf(principal)), noWrites };
  const desk: Desk = {
    standpoint,
    maxRows: config.mcpMaxRows,
    maxBytes: config.mcpMaxBytes,
    ask: (asked) => answerAs(principal, requestOf(asked, raw), again),
  };
  const names = toolsFor(noWrites === undefined);
  const args = paramsOf(message).arguments;

  async function call(name: string): Promise<ToolText | undefined> {
    const known = names.find((one) => one === name);
    if (known === undefined) return undefined;
    const entity = isRecord(args) && typeof args.entity === 'string' ? args.entity : undefined;
    const facts = {
      requestId: raw.id,
      tool: known,
      // Other text is of the client.
      entity: entity !== undefined && workspace.entities.has(entity) ? entity : undefined,
      principal: principal.credentialId,
      client: clientOf(message, raw),
    };
    try {
      const text = await callTool(known, args, desk);
      onCall({ ...facts, failed: undefined });
      return { text, isError: false };
    } catch (error) {
      const refusal = toApiError(error);
      if (!(error instanceof ApiError)) onError('a tool of an agent failed', error);
      onCall({ ...facts, failed: refusal.code });
      return { text: errorText(refusal), isError: true };
    }
  }

  return { instructions: instructionsFor(placeOf(workspace)), tools: names.map(shownTool), call };
}

const CLIENT_INFO = 'io.modelcontextprotocol/clientInfo';
const CLIENT_CHARACTERS = 60;

/** What the host calls itself, for the log. */
function clientOf(message: Readonly<Record<string, unknown>>, { headers }: RawRequest): string | undefined {
  const { _meta: meta } = paramsOf(message);
  const info = isRecord(meta) ? meta[CLIENT_INFO] : undefined;
  const name = isRecord(info) && typeof info.name === 'string' ? info.name : headers['user-agent'];
  return name?.replace(/[^\x20-\x7e]/g, '').slice(0, CLIENT_CHARACTERS);
}

async function replyOf(response: Response): Promise<Reply> {
  const text = await response.text();
  return {
    status: response.status,
    headers: {},
    body: text === '' ? { kind: 'empty' } : { kind: 'text', contentType: JSON_TYPE, text },
  };
}
