// `wda agents` shows and changes the permissions of agents in a workspace; `wda mcp` forwards messages of an agent that a host
// starts as a process: JSON-RPC, a message a line.

import { createInterface } from 'node:readline';
import type { Command } from 'commander';
import type { AgentSettings } from '../../../admin-types/admin-api.d.ts';
import {
  action,
  connect,
  entityPath,
  examples,
  type GlobalOptions,
  getServer,
  requireWorkspace,
  workspacePath,
} from '../command.ts';
import { usageFailure } from '../failure.ts';
import { printResult } from '../io.ts';
import { renderPairs } from '../table.ts';
import { entitiesMember, entitiesText } from './credentials.ts';

export function register(program: Command): void {
  const group = program.command('agents').description('what agents may do in a workspace (Model Context Protocol)');
  group.command('show').description('show the settings').action(action(show));
  group
    .command('set')
    .description('change the given settings; the others stay')
    .option('--enable', 'serve the workspace to agents')
    .option('--disable', 'do not serve it to agents')
    .option('--writes <writes>', 'off, confirm (a person says yes) or on')
    .option('--entities <names>', 'the only entities that agents reach, separated by commas, or all')
    .action(action(set));
  examples(group, ['wda agents show -w acme/shop', 'wda agents set -w acme/shop --writes confirm --entities orders']);
  const mcp = program
    .command('mcp')
    .description('serve a workspace to an agent by stdin and stdout, for hosts that only start processes')
    .action(action(forwardMessages));
  examples(mcp, ['WDA_KEY=wda_… wda mcp -w acme/shop --url https://api.example.com']);
}

async function show(options: GlobalOptions): Promise<void> {
  await print(options, (await connect(options).send<AgentSettings>('GET', settingsPath(options))).data);
}

async function set(
  options: GlobalOptions & {
    readonly enable?: boolean;
    readonly disable?: boolean;
    readonly writes?: string;
    readonly entities?: string;
  },
): Promise<void> {
  const { enable = false, disable = false, writes, entities } = options;
  if (enable && disable) throw usageFailure('--enable and --disable exclude each other');
  const body = {
    ...(enable || disable ? { enabled: enable } : {}),
    ...(writes === undefined ? {} : { writes }),
    ...(entities === 'all' ? { entities: null } : entitiesMember(entities)),
  };
  if (Object.keys(body).length === 0) {
    throw usageFailure('Nothing to change', ['Pass --enable, --disable, --writes or --entities.']);
  }
  await print(options, (await connect(options).send<AgentSettings>('PUT', settingsPath(options), { body })).data);
}

const settingsPath = (options: GlobalOptions): string => `${workspacePath(requireWorkspace(options))}/mcp`;

function print(options: GlobalOptions, settings: AgentSettings): Promise<void> {
  const { enabled, writes, entities } = settings;
  return printResult(options, settings, () =>
    renderPairs([
      ['Served', enabled ? 'yes' : 'no'],
      ['Writes', writes],
      ['Entities', entitiesText(entities)],
    ]),
  );
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
