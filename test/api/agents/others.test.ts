// Clients that were not made for the protocol of 2026: the official SDK of version 1 and the official inspector, by HTTP and
// with a process that they start. They are in a folder of their own: npm ci --prefix test/tools/agents
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { prepare, use, useServer } from '../../support/resources.ts';
import { SHOP } from '../../support/shop-document.ts';

const TOOLS = join(import.meta.dirname, '../../tools/agents');
const MAIN = join(import.meta.dirname, '../../../src/main.ts');
const isInstalled = existsSync(join(TOOLS, 'node_modules'));
const skip = isInstalled ? false : 'needs npm ci --prefix test/tools/agents';

const server = useServer();
const shop = use(() => server.workspace('acme/shop', { entities: SHOP }));
prepare(async () => {
  await shop.create('tags', [{ name: 'new' }]);
  await shop.admin('mcp', { method: 'PUT', body: { enabled: true, writes: 'on', entities: null } });
});

const endpoint = (): string => `${server.url}/api/v1/${shop.path}/_mcp`;
const bearer = (): string => `Bearer ${shop.readWriteKey}`;
/** What a host is told to start. */
const COMMAND = [process.execPath, MAIN, 'mcp'] as const;
const environment = (): Record<string, string> => ({
  WDA_URL: server.url,
  WDA_KEY: shop.readWriteKey,
  WDA_WORKSPACE: shop.path,
});

interface Told {
  readonly content: readonly { readonly text: string }[];
  readonly isError?: boolean;
}

/** What a client is asked to do, by whichever means. */
interface Means {
  readonly tools: () => Promise<readonly { readonly name: string }[]>;
  readonly call: (name: string, args: Readonly<Record<string, string>>) => Promise<Told>;
}

async function worksFor({ tools, call }: Means): Promise<void> {
  const names = (await tools()).map(({ name }) => name);
  assert.ok(names.includes('query_records') && names.includes('create_record'), names.join());
  const entities = await call('list_entities', {});
  assert.match(entities.content[0]?.text ?? '', /^\d+ entities in acme\/shop/);
  const found = await call('query_records', { entity: 'tags' });
  assert.match(found.content[0]?.text ?? '', /"name":"new"/);
  const refused = await call('create_record', { entity: 'tags', record: '{"nme": "second"}' });
  assert.equal(refused.isError, true);
  assert.match(refused.content[0]?.text ?? '', /^400 \w+: /);
  const { json } = await shop.call('tags');
  assert.equal(json.data.length, 1);
}

const load = createRequire(join(TOOLS, 'package.json'));

for (const way of ['http', 'stdio'] as const) {
  test(`a client of the SDK of version 1 by ${way}`, { skip }, async () => {
    const { Client } = load('@modelcontextprotocol/sdk/client/index.js');
    const { StreamableHTTPClientTransport } = load('@modelcontextprotocol/sdk/client/streamableHttp.js');
    const { StdioClientTransport } = load('@modelcontextprotocol/sdk/client/stdio.js');
    const client = new Client({ name: 'old', version: '1' });
    const [command, ...args] = COMMAND;
    await client.connect(
      way === 'http'
        ? new StreamableHTTPClientTransport(new URL(endpoint()), {
            requestInit: { headers: { authorization: bearer() } },
          })
        : new StdioClientTransport({ command, args, env: { ...process.env, ...environment() } }),
    );
    assert.equal(client.getServerVersion().name, 'workspace-data-api');
    await worksFor({
      tools: async () => (await client.listTools()).tools,
      call: (name, args) => client.callTool({ name, arguments: args }),
    });
    await client.close();
  });

  test(`the inspector by ${way}`, { skip }, async () => {
    const target =
      way === 'http'
        ? [endpoint(), '--transport', 'http', '--header', `Authorization: ${bearer()}`]
        : [...COMMAND, ...Object.entries(environment()).flatMap(([name, value]) => ['-e', `${name}=${value}`])];
    const inspect = async (...args: readonly string[]) => {
      const command = [join(TOOLS, 'node_modules/.bin/mcp-inspector'), '--cli', ...target, ...args];
      const { stdout, stderr } = await promisify(execFile)(process.execPath, command).catch((error) => error);
      assert.match(stdout, /^\{/, stderr);
      return JSON.parse(stdout);
    };
    await worksFor({
      tools: async () => (await inspect('--method', 'tools/list')).tools,
      call: (name, args) =>
        inspect(
          ...['--method', 'tools/call', '--tool-name', name],
          ...Object.entries(args).flatMap(([key, value]) => ['--tool-arg', `${key}=${value}`]),
        ),
    });
  });
}
