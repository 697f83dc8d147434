// Many requests on one connection, sent before the first is answered.
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { useServer } from '../../support/resources.ts';
import { until } from '../../support/wait-until.ts';

const server = useServer();
const COUNT = 40;

test('requests that wait on one connection are all answered, and are no leak to Node', async () => {
  const workspace = await server.workspace('acme/pipelined', {
    entities: { items: { fields: { n: { type: 'integer' } } } },
  });
  const warnings: string[] = [];
  const onWarning = ({ name, message }: Error): void => void warnings.push(`${name}: ${message}`);
  process.on('warning', onWarning);
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  try {
    const requests = Array.from({ length: COUNT }, (_, n) => {
      const body = JSON.stringify({ data: [{ n }] });
      return `POST /api/v1/${workspace.path}/items/_bulk HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${workspace.key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    });
    let answers = '';
    socket.on('data', (chunk) => {
      answers += chunk;
    });
    socket.write(requests.join(''));
    const statuses = (): string[] => answers.match(/HTTP\/1\.1 \d+/g) ?? [];
    await until('all are answered', () => statuses().length === COUNT);
    assert.deepEqual(new Set(statuses()), new Set(['HTTP/1.1 201']));
    assert.deepEqual(
      warnings.filter((warning) => warning.startsWith('MaxListeners')),
      [],
    );
  } finally {
    socket.destroy();
    process.off('warning', onWarning);
  }
});
