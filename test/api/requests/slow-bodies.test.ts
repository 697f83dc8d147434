// Long bodies that are announced and do not arrive: others do not wait for them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openConnection } from '../../support/raw-http.ts';
import { use, useServer } from '../../support/use.ts';

const server = useServer();
const NOTES = { entities: { notes: { fields: { text: { type: 'text' } } } } };
const silent = [use(() => server.workspace('acme/one', NOTES)), use(() => server.workspace('acme/two', NOTES))];
const busy = use(() => server.workspace('acme/busy', NOTES));

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
