// A server that stops answers the requests that it has begun, also where a client has sent many at once.
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import pg from 'pg';
import { isWaiting } from '../../support/database.ts';
import { useDatabase } from '../../support/resources.ts';
import { clientOf } from '../../support/server.ts';
import { startServerProcess } from '../../support/server-process.ts';
import { until } from '../../support/wait-until.ts';

const REQUESTS = 5;

const database = useDatabase();

test('a server that stops answers all requests of a connection that it has begun', async (t) => {
  const server = await startServerProcess({ DATABASE_URL: database.url });
  const locker = new pg.Client({ connectionString: database.url });
  await locker.connect();
  t.after(async () => {
    await locker.end();
    await server.kill();
  });
  const schema = { entities: { notes: { fields: { title: { type: 'string' } } } } };
  const { path, key } = await clientOf(server.url).workspace('acme/stop', schema);
  const [place] = await database.query("select database_schema as schema from wda.workspace where slug = 'stop'");
  await locker.query(`begin; lock table "${place?.schema}".notes in exclusive mode`);
  const socket = connect({ port: Number(new URL(server.url).port), host: '127.0.0.1' });
  const head = `POST /api/v1/${path}/notes HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${key}\r\n`;
  socket.write(`${head}Content-Type: application/json\r\nContent-Length: 13\r\n\r\n{"title":"a"}`.repeat(REQUESTS));
  const answers = text(socket);
  await until('they wait', () => isWaiting(database, '%notes%'));
  server.child.kill('SIGTERM');
  await until('it stops', () => server.lines.some((line) => line.includes('"msg":"stopping"')));
  await locker.query('rollback');
  const received = await answers;
  assert.equal(received.match(/HTTP\/1\.1 201 /g)?.length, REQUESTS, received);
  assert.equal(received.match(/Connection: close/g)?.length, 1, received);
  assert.ok(received.lastIndexOf('Connection: close') > received.lastIndexOf('HTTP/1.1 201'), received);
  const [row] = await database.query(`select count(*)::int4 as count from "${place?.schema}".notes`);
  assert.equal(row?.count, REQUESTS);
});
