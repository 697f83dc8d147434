// Handles the protocol of agents (MCP 2026-07-28, and the handshake of 2025) by its official SDK: versions, headers,
// the form of messages and results. Only this file imports the SDK, and it is itself loaded at the first request of an
// agent: that takes 0.2 s and 30 MB, which a server without agents need not spend.
import {
  type AuthInfo,
  type CallToolResult,
  createMcpHandler,
  type InputRequiredResult,
  inputRequired,
  isLegacyRequest,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
  type Tool,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import manifest from '../../package.json' with { type: 'json' };
import { type Message, QUESTION } from './envelope.ts';
import type { ToolDefinition } from './tools.ts';

/** Instructions, tools and calls that one request of an agent may use. */
export interface AgentSession {
  readonly instructions: string;
  readonly tools: readonly ToolDefinition[];
  /** Runs the tool call of the request, or returns undefined if there is no tool of this name. Never throws. */
  readonly call: (name: string) => Promise<ToolResult | undefined>;
}

/** A text, or a question that the host is to ask a person, with the data that it sends back. */
export type ToolResult =
  | { readonly kind: 'text'; readonly text: string; readonly isError: boolean }
  | { readonly kind: 'ask'; readonly message: string; readonly state: string };

/** A request in the form that the SDK takes. */
export interface AgentRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON-RPC message without the arguments of its tool. */
  readonly envelope: Message;
}

const LIST_MS = 300_000;
const CACHED = { ttlMs: LIST_MS, cacheScope: 'private' } as const;

// There are no streams of changes, so none may be opened.
const modern = createMcpHandler(({ authInfo }) => makeServer(authInfo), { legacy: 'reject', maxSubscriptions: 0 });

/** Handles one message of one principal; no state is kept between two. */
export async function serveAgent({ url, headers, envelope }: AgentRequest, session: AgentSession): Promise<Response> {
  const request = new Request(url, {
    method: 'POST',
    // The response is always JSON.
    headers: { ...headers, 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
  });
  // The credential was verified before: the SDK only passes the session on.
  const options = {
    authInfo: { token: '', clientId: '', scopes: [], extra: { session } } satisfies AuthInfo,
    parsedBody: envelope,
  };
  return (await isLegacyRequest(request, envelope)) ? serveLegacy(request, options) : modern.fetch(request, options);
}

async function serveLegacy(
  request: Request,
  options: { readonly authInfo: AuthInfo; readonly parsedBody: unknown },
): Promise<Response> {
  const server = makeServer(options.authInfo);
  await server.connect(new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true }));
  try {
    return await (server.transport as WebStandardStreamableHTTPServerTransport).handleRequest(request, options);
  } finally {
    await server.close();
  }
}

const getSession = (authInfo: AuthInfo | undefined): AgentSession => authInfo?.extra?.session as AgentSession;

function makeServer(authInfo: AuthInfo | undefined): Server {
  const { instructions, tools } = getSession(authInfo);
  const server = new Server(
    { name: manifest.name, version: manifest.version },
    {
      capabilities: { tools: {} },
      instructions,
      cacheHints: { 'tools/list': CACHED, 'server/discover': CACHED },
    },
  );
  server.setRequestHandler('tools/list', () => ({ tools: [...tools] as Tool[] }));
  server.setRequestHandler('tools/call', ({ params }, context) => callTool(params.name, context));
  return server;
}

async function callTool(name: string, { http }: ServerContext): Promise<CallToolResult | InputRequiredResult> {
  const { tools, call } = getSession(http?.authInfo);
  const result = await call(name);
  if (result === undefined) {
    const toolNames = tools.map((tool) => tool.name).join(', ');
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool of this name. Known: ${toolNames}`);
  }
  if (result.kind === 'ask') {
    // Without form fields: the host asks for a yes or a no.
    const question = inputRequired.elicit({
      message: result.message,
      requestedSchema: { type: 'object', properties: {} },
    });
    return inputRequired({ inputRequests: { [QUESTION]: question }, requestState: result.state });
  }
  return { content: [{ type: 'text', text: result.text }], ...(result.isError ? { isError: true } : {}) };
}
