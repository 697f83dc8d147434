// `wda mcp`, as the process that a host of agents starts, and `wda agents`, which an administrator types.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { connectAgent, MODERN } from '../support/agent.ts';
import { use, useServer } from '../support/resources.ts';
import { SHOP } from '../support/shop-document.ts';
import { spawnWda, wda } from './wda.ts';

const MAIN = join(import.meta.dirname, '../../src/main.ts');

const server = useServer();
const shop = use(() => server.workspace('acme/shop', { entities: SHOP }));

const environment = (over: Readonly<Record<string, string>> = {}): Record<string, string> => ({
  PATH: process.env.PATH ?? '',
  HOME: process.env.HOME ?? '',
  WDA_URL: server.url,
  WDA_KEY: shop.key,
  WDA_WORKSPACE: shop.path,
  ...over,
});

for (const [name, mode] of [
  ['2026', { pin: MODERN }],
  ['2025', 'legacy'],
] as const) {
  test(`a host that starts a process gets the answers of HTTP, in the protocol of ${name}`, async () => {
    await shop.create('tags', [{ name: `tag of ${name}` }]);
    const client = new Client({ name: 'host', version: '1' }, { versionNegotiation: { mode } });
    const args = [MAIN, 'mcp'];
    await client.connect(new StdioClientTransport({ command: process.execPath, args, env: environment() }));
    const direct = await connectAgent(server, shop.path, shop.key);
    const asked = { name: 'query_records', arguments: { entity: 'tags' } };
    const { content } = await client.callTool(asked);
    assert.deepEqual(content, (await direct.client.callTool(asked)).content);
    assert.equal((await client.listTools()).tools.length, 7);
    await client.close();
    await direct.close();
  });
}

/** Sends the lines to a process and ends its input; gives what it has printed, and its exit code. */
async function talk(lines: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const stdin = lines.map((line) => `${line}\n`).join('');
  const { code, stdout } = await spawnWda(['mcp'], { env: environment(env), stdin });
  const answers = stdout.trimEnd().split('\n');
  return { answers: answers.map((line) => JSON.parse(line)), code };
}

const LIST = '{"jsonrpc":"2.0","id":7,"method":"tools/list"}';

test('all messages are answered before the process ends, refusals of the server among them', async () => {
  const { answers, code } = await talk([LIST, '', 'no JSON', '{"jsonrpc":"2.0","method":"notifications/initialized"}']);
  assert.equal(code, 0);
  assert.equal(answers.length, 2);
  assert.equal(answers.find(({ id }) => id === 7).result.tools.length, 7);
  assert.equal(answers.find(({ id }) => id === null).error.code, -32700);
  const refused = await talk([LIST], { WDA_KEY: 'wda_wrong' });
  assert.match(refused.answers[0].error.message, /^401 UNAUTHORIZED: /);
  const away = await talk([LIST], { WDA_URL: 'http://127.0.0.1:9' });
  assert.equal(away.answers[0].error.message, 'The server at http://127.0.0.1:9 is not reachable');
});

test('an administrator says what agents may do', async () => {
  const run = async (...args: string[]) =>
    JSON.parse((await wda(['agents', ...args, '--json'], { env: environment() })).stdout);
  assert.deepEqual(await run('show'), { enabled: true, writes: 'off', entities: null });
  const set = await run('set', '--writes', 'confirm', '--entities', 'orders,items');
  assert.deepEqual(set, { enabled: true, writes: 'confirm', entities: ['items', 'orders'] });
  assert.deepEqual(await run('set', '--disable', '--entities', 'all'), {
    enabled: false,
    writes: 'confirm',
    entities: null,
  });
});
