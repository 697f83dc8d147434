// Shared schemas by the command line: published from a file, listed, and followed by workspaces.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prepare, useServer } from '../support/resources.ts';
import { ADMIN_KEY } from '../support/server.ts';
import { wda } from './wda.ts';

const server = useServer();
const run = (args: readonly string[], input?: string) =>
  wda(args, { env: { WDA_URL: server.url, WDA_KEY: ADMIN_KEY }, ...(input === undefined ? {} : { stdin: input }) });
const ok = async (args: readonly string[], input?: string): Promise<string> => {
  const { code, stdout, stderr } = await run(args, input);
  assert.equal(code, 0, stderr);
  return stdout;
};
const publish = (document: string, ...more: string[]) =>
  run(['schema', 'publish', '-', '--as', 'acme/helpdesk', ...more], document);

const FIRST = 'entities: {tickets: {fields: {subject: {type: string}}}}';
const SECOND = 'entities: {tickets: {fields: {title: {type: string, renamedFrom: subject}}}}';

prepare(() => ok(['org', 'create', 'acme']));

test('a schema is published from a file, followed by new workspaces and by others', async () => {
  assert.equal(
    (await publish(FIRST)).stdout,
    'Made shared schema acme/helpdesk\nPublished version 1 of acme/helpdesk: 1 step\n  create entity tickets\n',
  );
  assert.equal(
    await ok(['workspace', 'create', 'acme/initech', '--follows', 'helpdesk']),
    'Created workspace acme/initech, which follows helpdesk, version 1\n',
  );
  assert.equal(
    (await publish(SECOND, '--dry-run')).stdout,
    'stdin as version 2 of acme/helpdesk: 1 step\n  rename field subject of tickets to title\n',
  );
  assert.equal(
    (await publish(SECOND)).stdout,
    'Published version 2 of acme/helpdesk: 1 step\n  rename field subject of tickets to title\n',
  );
  assert.equal((await publish(SECOND)).stdout, 'stdin is version 2 of acme/helpdesk, the newest: nothing to publish\n');
  assert.match(await ok(['schema', 'versions', 'acme/helpdesk']), /^VERSION +CREATED\n2 +\S+\n1 +\S+\n$/);
  const shown = await run(['schema', 'versions', 'acme/helpdesk', '2']);
  assert.equal(shown.stdout, 'entities:\n  tickets:\n    fields:\n      title:\n        type: string\n');
  assert.match(shown.stderr, /Version 2 of acme\/helpdesk: 1 step/);
  assert.equal(JSON.parse(await ok(['schema', 'versions', 'acme/helpdesk', '1', '--json'])).version, 1);

  assert.equal(
    await ok(['workspace', 'follow', 'acme/initech', 'helpdesk@2']),
    'acme/initech follows helpdesk, version 2\n',
  );
  assert.match(await ok(['workspace', 'list', 'acme']), /acme\/initech .* helpdesk@2 /);
  const refused = await run(['schema', 'apply', '-', '-w', 'acme/initech'], FIRST);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /follows shared schema helpdesk \(version 2\)[\s\S]*wda workspace unfollow/);
  assert.equal(
    await ok(['workspace', 'unfollow', 'acme/initech']),
    'acme/initech follows no shared schema; its schema stays\n',
  );
  assert.equal((await run(['schema', 'apply', '-', '-w', 'acme/initech'], FIRST)).code, 1);
  const loss = await run(['workspace', 'follow', 'acme/initech', 'helpdesk@1']);
  assert.match(loss.stderr, /drop field title of tickets[\s\S]*the same command with --allow-destructive/);
  await ok(['workspace', 'follow', 'acme/initech', 'helpdesk@1', '--allow-destructive']);
});

test('mistakes have their line, and a name that is nearly another one is not made by chance', async () => {
  const mistaken = await publish('entities:\n  tickets:\n    fields:\n      title: {type: strin}\n');
  assert.equal(mistaken.code, 1);
  assert.match(mistaken.stderr, /line 4|:4/);
  const similar = await run(['schema', 'publish', '-', '--as', 'acme/helpdes'], FIRST);
  assert.equal(similar.code, 1);
  assert.match(similar.stderr, /Did you mean helpdesk\?[\s\S]*--new/);
  await ok(['schema', 'publish', '-', '--as', 'acme/helpdes', '--new'], FIRST);
  for (const args of [
    ['schema', 'publish', '-', '--as', 'helpdesk'],
    ['workspace', 'follow', 'acme/initech', 'helpdesk@0'],
    ['workspace', 'create', 'acme/other', '--follows', 'helpdesk@'],
  ])
    assert.equal((await run(args, FIRST)).code, 2, args.join(' '));
});
