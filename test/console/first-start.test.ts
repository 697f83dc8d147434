// The first start of a server, with workers: it prints a link that signs in once, and a session is good at all of them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PAGE_HEADERS } from '../support/console-client.ts';
import { use, useDatabase } from '../support/resources.ts';
import { startServerProcess } from '../support/server-process.ts';

const database = useDatabase();
const start = (): ReturnType<typeof startServerProcess> =>
  startServerProcess({ DATABASE_URL: database.url, WDA_ADMIN_KEY: '', WDA_WORKERS: '2' });
const server = use(start, ({ stop }) => stop());

const LINK = /^ {4}http\S+\/console\/login#([\w-]{43})$/;
const linksOf = (lines: readonly string[]): string[] => lines.flatMap((line) => LINK.exec(line)?.[1] ?? []);

/** On a connection of its own, so that each may meet another worker. */
const ask = (path: string, headers: Record<string, string>, body?: unknown): Promise<Response> =>
  fetch(`${server.url}/console/api${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { ...PAGE_HEADERS, connection: 'close', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });

test('the start screen leads to the console, once', async () => {
  assert.ok(server.lines.some((line) => /^ {2}Console {3}http\S+\/console\/$/.test(line)));
  const [code, ...others] = linksOf(server.lines);
  assert.ok(code !== undefined && others.length === 0, server.lines.join('\n'));
  const answers = await Promise.all(Array.from({ length: 6 }, () => ask('/session', {}, { code })));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 401, 401, 401, 401, 401]);
  const cookie =
    answers
      .find(({ status }) => status === 201)
      ?.headers.get('set-cookie')
      ?.split(';')[0] ?? '';
  const seen = await Promise.all(Array.from({ length: 8 }, () => ask('/admin/v1/organizations', { cookie })));
  assert.deepEqual([...new Set(seen.map(({ status }) => status))], [200]);
});

test('the workers count attempts to sign in together', async () => {
  const beganAt = Date.now();
  let tried = 0;
  while ((await ask('/session', {}, { key: 'wrong' })).status === 401) tried++;
  const minutes = (Date.now() - beganAt) / 60_000;
  assert.ok(tried <= 10 + Math.ceil(minutes * 10), `${tried} in ${minutes} minutes`);
});

test('a later start prints no link', async () => {
  const second = await start();
  await second.stop();
  assert.deepEqual(linksOf(second.lines), []);
});
