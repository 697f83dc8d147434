// Agents as they come: the official client, in the protocol of 2026 or with the handshake of 2025, and single messages by
// hand for what no client would send.
import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { noteMessage } from './error-catalog.ts';
import type { Answer, TestClient } from './server.ts';

export const MODERN = '2026-07-28';

export interface Agent {
  readonly client: Client;
  /** The text of a result, an error of the tool among them. */
  text(tool: string, args?: Readonly<Record<string, unknown>>): Promise<string>;
  /** The text after the line that says what follows. */
  data(tool: string, args?: Readonly<Record<string, unknown>>): Promise<string>;
  /** The text of a refusal by the tool; throws when it was done. */
  refusal(tool: string, args?: Readonly<Record<string, unknown>>): Promise<string>;
  close(): Promise<void>;
}

export interface AgentOptions {
  readonly mode?: 'modern' | 'legacy';
  /** Of the URL. */
  readonly query?: string;
  readonly client?: ClientOptions;
  /** Called before the agent connects. */
  readonly prepare?: (client: Client) => void;
}

/** Connects the official client to the endpoint of the workspace (`organization/workspace`). */
export async function connectAgent(
  { url }: Pick<TestClient, 'url'>,
  path: string,
  credential: string,
  { mode = 'modern', query = '', client: options = {}, prepare }: AgentOptions = {},
): Promise<Agent> {
  const client = new Client(
    { name: 'test-agent', version: '1' },
    { versionNegotiation: { mode: mode === 'modern' ? { pin: MODERN } : 'legacy' }, ...options },
  );
  prepare?.(client);
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/api/v1/${path}/_mcp${query}`), {
    requestInit: { headers: { authorization: `Bearer ${credential}` } },
  });
  await client.connect(transport);
  const call = async (name: string, args: Readonly<Record<string, unknown>> = {}) => {
    const { content, isError } = await client.callTool({ name, arguments: args });
    const [first] = content as readonly { readonly type: string; readonly text: string }[];
    const text = first?.text ?? '';
    if (isError) noteMessage(text.split('\n', 1)[0]?.replace(/^\d{3} \w+: /, '') ?? '');
    return { text, isError: isError === true };
  };
  return {
    client,
    text: async (name, args) => (await call(name, args)).text,
    async data(name, args) {
      const { text, isError } = await call(name, args);
      if (isError) throw new Error(text);
      return text.slice(text.indexOf('\n') + 1);
    },
    async refusal(name, args) {
      const { text, isError } = await call(name, args);
      if (!isError) throw new Error(`it was done: ${text}`);
      return text;
    },
    close: () => client.close(),
  };
}

export interface Message {
  readonly method: string;
  readonly params?: Readonly<Record<string, unknown>>;
  /** Over what the protocol wants. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly credential?: string | null;
}

/** One message of the protocol of 2026, by hand. */
export function sendMessage(
  server: TestClient,
  path: string,
  { method, params = {}, headers = {}, query = '', credential = null }: Message,
): Promise<Answer> {
  return server.call(`/api/v1/${path}/_mcp${query}`, {
    method: 'POST',
    credential,
    headers: {
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': MODERN,
      'mcp-method': method,
      ...(typeof params.name === 'string' ? { 'mcp-name': params.name } : {}),
      ...headers,
    },
    body: {
      jsonrpc: '2.0',
      id: 1,
      method,
      params: {
        ...params,
        _meta: {
          'io.modelcontextprotocol/protocolVersion': MODERN,
          'io.modelcontextprotocol/clientInfo': { name: 'by-hand', version: '1' },
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    },
  });
}
