// What a connection has to say of itself before it is used, against a server that says what it likes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeConnect } from '../../../src/database/connect.ts';
import { InvalidSession, toOutage } from '../../../src/database/errors.ts';
import { startFakeBackend } from '../../support/fake-backend.ts';

const LIMITS = { statementTimeoutMs: 200, lockTimeoutMs: 100 };

interface Server {
  /** What it says of its settings instead of what it was asked for. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly isStandby?: boolean;
  readonly isReadOnly?: boolean;
}

async function withServers(
  servers: readonly Server[],
  query: string,
  work: (open: () => Promise<void>, connections: () => readonly number[]) => Promise<void>,
): Promise<void> {
  const backends = await Promise.all(
    servers.map((server) => startFakeBackend({ deadOnArrival: 0, answer: () => ['1'], ...server })),
  );
  const hosts = backends.map(({ port }) => `127.0.0.1:${port}`).join();
  const connect = makeConnect({ connectionString: `postgres://wda@${hosts}/wda${query}` });
  try {
    await work(
      async () => {
        const { client } = await connect(LIMITS);
        await client.end();
      },
      () => backends.map(({ connections }) => connections()),
    );
  } finally {
    for (const backend of backends) await backend.close();
  }
}

test('a server that keeps our settings will do', () => withServers([{}], '', (open) => open()));

const changed: readonly (readonly [string, string])[] = [
  ['TimeZone', 'Europe/Berlin'],
  ['DateStyle', 'German, DMY'],
  ['search_path', 'public'],
  ['synchronous_commit', 'off'],
  ['statement_timeout', '0'],
  ['lock_timeout', '0'],
];
for (const [name, value] of changed) {
  test(`a pooler that makes ${name} ${value} is told of in words`, () =>
    withServers([{ settings: { [name]: value } }], '', async (open) => {
      await assert.rejects(open(), (error) => {
        assert.ok(error instanceof InvalidSession);
        assert.match(error.message, new RegExp(`ignores our settings: ${name} is ${value} instead of `));
        const { isTransient: isPassing, reason: words } = toOutage(error);
        // It goes on after a colon.
        assert.deepEqual([isPassing, words], [true, error.message[0]?.toLowerCase() + error.message.slice(1)]);
        return true;
      });
    }));
}

test('of several hosts the first that takes writes is used', () =>
  withServers([{ isStandby: true }, { isReadOnly: true }, {}], '', async (open, connections) => {
    await open();
    assert.deepEqual(connections(), [1, 1, 1]);
  }));

test('a single host may be a standby, unless it was said that it must not', async () => {
  await withServers([{ isStandby: true }], '', (open) => open());
  await withServers([{ isStandby: true }], '?target_session_attrs=primary', async (open) => {
    await assert.rejects(open(), /takes no writes/);
  });
  await withServers([{ isReadOnly: true }], '?target_session_attrs=primary', (open) => open());
});
