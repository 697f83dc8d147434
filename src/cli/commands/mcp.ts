// `wda mcp`: forwards JSON-RPC messages of an agent's host (MCP over stdio, one message a line) to the endpoint of the
// workspace. The server implements the protocol.
import { createInterface } from 'node:readline';
import type { Command } from 'commander';
import { action, examples } from '../command.ts';
import { entityPath, type GlobalOptions, getServer, requireWorkspace } from '../connection.ts';

export function register(program: Command): void {
  const command = program
    .command('mcp')
    .description('serve a workspace to an agent by stdin and stdout, for hosts that only start processes')
    .action(action(forwardMessages));
  examples(command, ['WDA_KEY=wda_… wda mcp -w acme/shop --url https://api.example.com']);
}

interface Message {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: { readonly name?: unknown; readonly _meta?: Readonly<Record<string, unknown>> };
}

/** Endpoint of messages and its credential. */
interface Endpoint {
  readonly url: string;
  readonly key: string;
}

const VERSION = 'io.modelcontextprotocol/protocolVersion';
// JSON-RPC code of server errors.
const SERVER_ERROR = -32_000;

/** Forwards messages until stdin ends and the last one is answered. */
async function forwardMessages(options: GlobalOptions): Promise<void> {
  const { url, key } = getServer(options);
  const endpoint = { url: url.replace(/\/+$/, '') + entityPath(requireWorkspace(options), '_mcp'), key };
  const pending = new Set<Promise<void>>();
  for await (const line of createInterface({ input: options.io.stdin })) {
    if (line.trim() === '') continue;
    const exchange = forward(line, endpoint).then((response) => {
      if (response !== undefined) options.io.stdout.write(`${response}\n`);
      pending.delete(exchange);
    });
    pending.add(exchange);
  }
  await Promise.all(pending);
}

/** Forwards a message; returns the response as one line, or undefined if there is none. */
async function forward(line: string, { url, key }: Endpoint): Promise<string | undefined> {
  let message: Message;
  try {
    message = JSON.parse(line);
  } catch {
    return errorLine(null, -32_700, 'The message is not JSON');
  }
  try {
    const headers = { ...protocolHeaders(message), authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const response = await fetch(url, { method: 'POST', headers, body: line });
    const text = await response.text();
    if (text.startsWith('{"jsonrpc"') || text.includes('"jsonrpc":"2.0"')) return text.replaceAll('\n', ' ');
    if (message.id === undefined) return undefined;
    return errorLine(message.id, SERVER_ERROR, errorText(response.status, text));
  } catch {
    return message.id === undefined
      ? undefined
      : errorLine(message.id, SERVER_ERROR, `The server at ${new URL(url).origin} is not reachable`);
  }
}

/** Returns the members of a message that the protocol repeats as headers (MCP 2026-07-28). */
function protocolHeaders({ method, params }: Message): Record<string, string> {
  const version = params?._meta?.[VERSION];
  if (typeof version !== 'string' || typeof method !== 'string') return {};
  const name = typeof params?.name === 'string' ? { 'mcp-name': params.name } : {};
  return { 'mcp-protocol-version': version, 'mcp-method': method, ...name };
}

function errorText(status: number, text: string): string {
  try {
    const { code, message } = JSON.parse(text).error;
    return `${status} ${code}: ${message}`;
  } catch {
    return `The server has answered with ${status}`;
  }
}

const errorLine = (id: unknown, code: number, message: string): string =>
  JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } });
