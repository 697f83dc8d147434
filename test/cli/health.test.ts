// `wda health`: exit code 0 where a server answers, 1 where none does or its database is away.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useDatabase, useDatabaseProxy, useServer } from '../support/resources.ts';
import { until } from '../support/wait-until.ts';
import { wda } from './wda.ts';

const proxy = useDatabaseProxy(useDatabase());
const server = useServer({}, proxy);

test('a server is healthy while it answers, and ready while its database does', async () => {
  const env = { WDA_URL: server.url };
  assert.deepEqual(await wda(['health'], { env }), {
    code: 0,
    stdout: `${server.url}/healthz answers 200\n`,
    stderr: '',
  });
  assert.equal((await wda(['health', '--ready'], { env })).code, 0);
  // As in an image: only the port is told.
  const port = await wda(['health', '--json'], { env: { PORT: new URL(server.url).port } });
  assert.deepEqual(JSON.parse(port.stdout), { status: 200 });

  proxy.cut();
  await until('it is not ready', async () => (await fetch(`${server.url}/readyz`)).status === 503);
  const away = await wda(['health', '--ready'], { env });
  assert.equal(away.code, 1);
  assert.equal(away.stderr, `Error: ${server.url}/readyz answers 503\n`);
  assert.equal((await wda(['health'], { env })).code, 0);
});

test('nothing that listens is not healthy', async () => {
  const { code, stderr } = await wda(['health', '--url', 'http://127.0.0.1:9'], {});
  assert.equal(code, 1);
  assert.match(stderr, /^Error: http:\/\/127\.0\.0\.1:9\/healthz does not answer: /);
});
