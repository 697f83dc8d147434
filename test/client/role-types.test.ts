// Types of users with roles: `wda types --role` writes them, and the client says what they say.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { batch, steps } from '../../client/src/batch.ts';
import { createClient, isWdaError } from '../../client/src/index.ts';
import { wda } from '../cli/wda.ts';
import { DESK } from '../support/desk-document.ts';
import { prepare, use, useIssuer, useServer, useUsers } from '../support/resources.ts';
import { LOCAL_PROVIDER } from '../support/users.ts';
import type { Customer } from './desk-customer.ts';
import type { Robot } from './desk-robot.ts';

const server = useServer(LOCAL_PROVIDER);
const desk = use(() => server.workspace('acme/desk', DESK));
const issuer = useIssuer();
const tokenOf = useUsers(desk, issuer);
const types = (key: string, ...args: string[]) =>
  wda(['types', ...args], { env: { WDA_URL: server.url, WDA_KEY: key, WDA_WORKSPACE: desk.path } });

prepare(async () => {
  const { status } = await desk.admin('identity-provider', { method: 'PUT', body: { roleClaim: 'roles' } });
  assert.equal(status, 200);
  await desk.create('companies', [{ name: 'One' }, { name: 'Two' }]);
});

for (const role of ['customer', 'robot']) {
  test(`the types of the role ${role} are those of desk-${role}.ts, and those of its users`, async () => {
    const file = join(import.meta.dirname, `desk-${role}.ts`);
    const name = `${role[0]?.toUpperCase()}${role.slice(1)}`;
    const { stdout, stderr } = await types(desk.key, '--role', role, '--name', name);
    assert.equal(stderr, '');
    // The text that `wda types` has to write into the file, if it is another.
    assert.equal(stdout, readFileSync(file, 'utf8'));
    for (const [key, args] of [
      [desk.key, ['--role', role]],
      [tokenOf({ roles: [role] }), []],
    ] as const) {
      const { code, stdout: answer, stderr: refusal } = await types(key, ...args, '--check', file);
      assert.deepEqual([code, answer], [0, `${file} is current\n`], refusal);
    }
    const other = await types(desk.key, '--role', 'agent', '--role', role, '--check', file);
    assert.deepEqual([other.code, other.stdout], [1, '']);
    assert.match(other.stderr, /is not what the workspace is now/);
  });
}

test('`wda types` and `wda openapi` refuse unknown roles with those that exist, and roles for others than owners', async () => {
  const unknown = await types(desk.key, '--role', 'custmer');
  assert.equal(unknown.code, 1);
  assert.match(unknown.stderr, /Unknown role custmer\. Did you mean customer\? Known: agent, customer, robot, auditor/);
  const refused = await types(tokenOf({ roles: ['robot'] }), '--role', 'customer');
  assert.deepEqual([refused.code, /\(403 /.test(refused.stderr)], [1, true], refused.stderr);
  const env = { WDA_URL: server.url, WDA_KEY: desk.key, WDA_WORKSPACE: desk.path };
  const document = await wda(['openapi', '--role', 'robot', '--role', 'customer'], { env });
  assert.equal(document.stdout, `${(await desk.call('_openapi.json?role=robot&role=customer')).text}\n`);
});

test('a create whose record cannot be read has an id, and no ETag', async () => {
  const credential = tokenOf({ roles: ['robot'] });
  const client = createClient<Robot>({ url: server.url, workspace: desk.path, credential });
  const tickets = client.entity('tickets');
  const record = { subject: 'a', status: 'open', companyId: 1 } as const;
  const { data, etag } = await tickets.create(record);
  const id: number = data.id;
  assert.deepEqual([data, etag], [{ id }, undefined]);
  const many = await tickets.createMany([record]);
  assert.deepEqual(many.data, [{ id: id + 1 }]);
  const [step] = await batch(client, [steps(tickets).create(record)]);
  assert.deepEqual(step.data, { id: id + 2 });
});

test('a create without the fields that the role sets', async () => {
  const credential = tokenOf({ roles: ['customer'], company_id: 1, sub: 'cid' });
  const client = createClient<Customer>({ url: server.url, workspace: desk.path, credential });
  const { data, etag } = await client.entity('tickets').create({ subject: 'b' });
  // Another grant might hide the subject: text or null.
  const subject: string | null = data.subject;
  assert.deepEqual([subject, data.companyId, data.status, typeof etag], ['b', 1, 'open', 'string']);
  const comment = await client.entity('comments').create({ text: 'c', ticketId: data.id });
  if (!('text' in comment.data)) assert.fail('its author reads it');
  assert.equal(comment.data.author, 'cid');
  const remove = client.entity('tickets').delete(data.id);
  await assert.rejects(remove, (error) => isWdaError(error, 'FORBIDDEN'));
});
