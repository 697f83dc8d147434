// Writes under grants that wait for another transaction which takes the record away meanwhile.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import pg from 'pg';
import { prepare, use, useServer } from '../../support/resources.ts';
import type { Answer } from '../../support/server.ts';
import { until } from '../../support/wait-until.ts';

const ALL = ['read', 'create', 'update', 'delete'];
const SCHEMA = {
  roles: ['agent'],
  entities: {
    tickets: {
      fields: { team: { type: 'integer' } },
      grants: [{ role: 'agent', can: ALL, where: { field: 'team', op: 'in', value: { claim: 'teams' } } }],
    },
    comments: {
      fields: { text: { type: 'string' }, mark: { type: 'string' } },
      relations: { ticket: { kind: 'belongsTo', entity: 'tickets' } },
      grants: [{ role: 'agent', can: ALL, where: { field: 'ticket.team', op: 'in', value: { claim: 'teams' } } }],
    },
  },
};

const server = useServer();
const desk = use(() => server.workspace('acme/races', SCHEMA));
let schema: string;
let credential: string;

prepare(async () => {
  const [row] = await server.database.query(`select database_schema as name from wda.workspace where slug = 'races'`);
  schema = `"${row?.name}"`;
  const body = { name: 'agent', permissions: 'GRANTS', roles: ['agent'], claims: { teams: [1] } };
  credential = (await desk.admin('api-keys', { method: 'POST', body })).json.data.key;
});

let ticketId: number;
let commentId: number;

beforeEach(async () => {
  ticketId = (await desk.create('tickets', [{ team: 1 }]))[0].id;
  commentId = (await desk.create('comments', [{ text: 'before', ticketId }]))[0].id;
});

/** Sends the request while a transaction has moved the ticket to another team and changed its comment. */
async function sendMeanwhile(send: () => Promise<Answer>): Promise<Answer> {
  const client = new pg.Client({ connectionString: server.database.url });
  await client.connect();
  await client.query(`begin; update ${schema}.tickets set team = 2 where id = ${ticketId};
update ${schema}.comments set text = 'for team 2' where id = ${commentId}`);
  const answer = send();
  await until('the request waits', async () => {
    const [row] = await server.database.query(
      `select count(*)::int as waiting from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    return (row?.waiting as number) > 0;
  });
  await client.query('commit');
  await client.end();
  return answer;
}

const WRITES = [
  ['an update', () => desk.call(`comments/${commentId}`, { method: 'PATCH', body: { mark: 'x' }, credential })],
  ['a delete', () => desk.call(`comments/${commentId}`, { method: 'DELETE', credential })],
  [
    'a bulk update',
    () => desk.call('comments/_bulk', { method: 'PATCH', body: { data: [{ id: commentId, mark: 'x' }] }, credential }),
  ],
  [
    'a batch',
    () => {
      const operation = { method: 'PATCH', entity: 'comments', id: commentId, body: { mark: 'x' } };
      return desk.call('_batch', { method: 'POST', body: { operations: [operation] }, credential });
    },
  ],
] as const;

for (const [name, send] of WRITES)
  test(`${name} of a record that leaves the grants by a related record while it waits finds nothing`, async () => {
    const { status, text } = await sendMeanwhile(send);
    assert.equal(status, 404, text);
    const { data } = (await desk.call(`comments/${commentId}`)).json;
    assert.deepEqual([data.text, data.mark], ['for team 2', null]);
  });

test('many updates of one record at once wait for each other', async () => {
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, index) =>
      desk.call(`comments/${commentId}`, { method: 'PATCH', body: { mark: String(index) }, credential }),
    ),
  );
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
});
