// Long bodies that are announced and do not arrive: others do not wait for them.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { openConnection } from '../../support/raw-http.ts';
import { use, useServer } from '../../support/resources.ts';

const LIMIT_MS = 1500;
const server = useServer();
const narrow = useServer({ WDA_STATEMENT_TIMEOUT_MS: String(LIMIT_MS) }, server);
const NOTES = { entities: { notes: { fields: { text: { type: 'text' } } } } };
const silent = [use(() => server.workspace('acme/one', NOTES)), use(() => server.workspace('acme/two', NOTES))];
const busy = use(() => server.workspace('acme/busy', NOTES));

// A hang is a failure, long before the runner's own patience ends.
const LIMIT = { timeout: 300_000 };
const ANNOUNCED = 10_000_000;

test('two workspaces whose long bodies do not arrive keep nobody from sending long bodies', async () => {
  const connections = silent.flatMap(({ key }, index) =>
    Array.from({ length: 3 }, () => {
      const connection = openConnection(server.url);
      const head = [
        `POST /api/v1/acme/${index === 0 ? 'one' : 'two'}/notes/_bulk HTTP/1.1`,
        'Host: test',
        'Content-Type: application/json',
        `Authorization: Bearer ${key}`,
        `Content-Length: ${ANNOUNCED}`,
      ];
      connection.socket.write(`${head.join('\r\n')}\r\n\r\n{"data": [{"text": "`);
      return connection;
    }),
  );
  try {
    const text = 'x'.repeat(900_000);
    const body = { data: Array.from({ length: 9 }, () => ({ text })) };
    const answers: Awaited<(typeof connections)[number]['answer']>[] = [];
    for (const { answer } of connections) {
      answer.then(
        (one) => answers.push(one),
        () => undefined,
      );
    }
    // Those that were sent before all of the silent ones had their room did not have to wait.
    for (let round = 0; answers.length === 0 && round < 20; round++) {
      const created = await Promise.all(
        [1, 2].map(() => busy.call('notes/_bulk?return=minimal', { method: 'POST', body })),
      );
      for (const { status, text: answered } of created) assert.equal(status, 201, answered);
    }
    const [refused] = answers;
    assert.ok(refused !== undefined, 'none of the silent ones was answered');
    assert.equal(refused.status, 503, refused.text);
    assert.match(refused.text, /arrives too slowly while others wait/);
  } finally {
    for (const { socket } of connections) socket.destroy();
  }
});

test(
  'bodies of writes with a key that do not arrive keep no connection of the database from others',
  LIMIT,
  async () => {
    // As many as there are connections for batches, from the workspaces that may have half of them each.
    const connections = await Promise.all(
      [0, 1, 2, 3].map(async (index) => {
        const connection = openConnection(narrow.url);
        const head = [
          `POST /api/v1/acme/${index % 2 === 0 ? 'one' : 'two'}/notes/_bulk HTTP/1.1`,
          'Host: test',
          'Content-Type: application/json',
          `Authorization: Bearer ${silent[index % 2]?.key}`,
          `Idempotency-Key: silent-${index}`,
          'Content-Length: 100',
          'Expect: 100-continue',
        ];
        connection.socket.write(`${head.join('\r\n')}\r\n\r\n`);
        // The server has begun with the request.
        await once(connection.socket, 'data');
        return connection;
      }),
    );
    try {
      const headers = { authorization: `Bearer ${busy.key}`, 'idempotency-key': 'not-silent' };
      const body = { data: [{ text: 'from somebody else' }] };
      const answer = await narrow.call('/api/v1/acme/busy/notes/_bulk', { method: 'POST', headers, body });
      assert.equal(answer.status, 201, answer.text);
      // Nor do they have less time for what they ask of the database when they come at last.
      await new Promise((resolve) => setTimeout(resolve, LIMIT_MS));
      const late = JSON.stringify({ data: [{ text: 'late' }] }).padEnd(100);
      const heads = connections.map(async ({ socket }) => String(await once(socket, 'data')).slice(0, 12));
      for (const { socket } of connections) socket.write(late);
      assert.deepEqual(await Promise.all(heads), Array(4).fill('HTTP/1.1 201'));
    } finally {
      for (const { socket } of connections) socket.destroy();
    }
  },
);
