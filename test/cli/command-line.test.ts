// Arguments, help and exit codes: nothing here needs a server.

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { useFolder } from '../support/temporary-folder.ts';
import { spawnWda, wda } from './wda.ts';

// Port 9 of the loopback address: nothing may listen there on a machine that runs tests.
const NOWHERE = { WDA_URL: 'http://127.0.0.1:9', WDA_KEY: 'wda_test', WDA_WORKSPACE: 'acme/shop' };

const folder = useFolder();

test('no argument prints the help', async () => {
  const { code, stdout, stderr } = await wda([]);
  assert.equal(code, 0);
  assert.equal(stderr, '');
  for (const word of [
    'Usage: wda',
    'serve',
    'org',
    'workspace',
    'key',
    'schema',
    'migration',
    'import',
    'export',
    'aggregate',
    'Examples:',
    'Exit codes',
  ])
    assert.ok(stdout.includes(word), word);
});

test('every level has help with examples, and says where the key belongs', async () => {
  const levels = [
    ['org'],
    ['workspace'],
    ['key'],
    ['schema'],
    ['migration'],
    ['jobs'],
    ['import'],
    ['export'],
    ['aggregate'],
    ['watch'],
    ['changes'],
    ['changes', 'set'],
    ['history'],
    ['restore-record'],
    ['schema', 'apply'],
    ['key', 'create'],
  ];
  for (const level of levels) {
    const { code, stdout } = await wda([...level, '--help']);
    assert.equal(code, 0, level.join(' '));
    assert.match(stdout, /Examples:/, level.join(' '));
    assert.match(stdout, /WDA_KEY/, level.join(' '));
  }
});

test('wrong usage is exit code 2 and points to the help', async () => {
  const cases: readonly (readonly [readonly string[], RegExp])[] = [
    [['nonsense'], /unknown command 'nonsense'/],
    [['schema', 'aply'], /Did you mean apply\?[\s\S]*See wda schema --help/],
    [['org', 'create'], /missing required argument 'slug'[\s\S]*See wda org create --help/],
    [['org', 'create', 'a', 'b'], /too many arguments/],
    [['org', 'list', '--colour'], /unknown option '--colour'/],
    [['import', 'a', 'b.csv', '--on-conflict', 'email,'], /fail, skip, update/],
    [['schema', 'apply', 'x.yaml', '--strategy', 'fast'], /online, blocking/],
    [['import', 'a', 'people.txt'], /--format csv or --format ndjson/],
    [['key', 'create', 'ci', '--permissions', 'admin'], /OWNER, READ_WRITE, READ_ONLY, GRANTS/],
    [['key', 'create', 'ci', '--permissions', 'owner', '--expires', 'soon'], /30d/],
    [['key', 'create', 'ci', '--permissions', 'grants', '--roles', 'a,,b'], /--roles takes names separated by commas/],
    [['key', 'create', 'ci', '--permissions', 'grants', '--claims', '[1]'], /--claims takes a JSON object, not \[1\]/],
    [['client', 'create', 'ci', '--permissions', 'grants', '--claims', '{'], /--claims takes a JSON object, not \{/],
    [['key', 'create', 'ci'], /--permissions READ_ONLY or READ_WRITE \(.*\), GRANTS \(.*\), or OWNER/],
    [['frobnicate'], /unknown command 'frobnicate'\nKnown: serve, .*, schema, .*, completion\n/],
    [['schemas', 'plan'], /Did you mean schema\?/],
    [['schema', 'diff'], /unknown command 'diff'\nKnown: show, plan, apply, publish, versions\nSee wda schema --help/],
    [['workspace', 'create', 'acme'], /acme\/shop/],
    [['workspace', 'delete', 'acme/shop'], /--confirm shop/],
    [['workspace', 'delete', 'acme/shop', '--confirm', 'acme'], /--confirm shop/],
    [['export', 'a', '--json'], /--json needs a FILE/],
    [['aggregate'], /missing required argument 'entity'/],
    [['aggregate', 'a', '--first', '0'], /--first takes a number of groups/],
    [['watch', 'a', '--after', 'c_x', '--since', '2026-01-31'], /--after and --since exclude each other/],
    [['changes', 'set', 'a'], /required option '--keep/],
    [['history', 'a'], /missing required argument 'id'/],
    [['history', 'a', '1', '--first', '0'], /--first takes a number of events, from 1 on, not 0/],
    [['restore-record', 'a', '1'], /missing required argument 'event'\nSee wda restore-record --help/],
    [['changes', 'set', 'a', '--keep', 'on'], /off, feed, history/],
    [['changes', 'set', 'a', '--keep', 'feed', '--days', '3'], /--keep history/],
    [['changes', 'set', 'a', '--keep', 'history', '--days', '0'], /from 1 to 36500/],
    [['org', 'list', '--url', 'ftp://x'], /http or https/],
    [['key', 'list', '-w', 'acme'], /acme\/shop/],
    [['org', 'list', '--key', 'with space'], /characters that no key has/],
  ];
  for (const [args, said] of cases) {
    const { code, stdout, stderr } = await wda(args, { env: NOWHERE });
    assert.equal(code, 2, `${args.join(' ')}: ${stderr}`);
    assert.equal(stdout, '', args.join(' '));
    assert.match(stderr, said, args.join(' '));
  }
});

test('a command group without a command is wrong usage and prints its help', async () => {
  const { code, stderr } = await wda(['org']);
  assert.equal(code, 2);
  assert.match(stderr, /Usage: wda org/);
});

test('a missing credential or workspace is named before the server is asked', async () => {
  const noKey = await wda(['org', 'list'], { env: { WDA_URL: NOWHERE.WDA_URL } });
  assert.equal(noKey.code, 2);
  assert.match(noKey.stderr, /WDA_KEY.*WDA_ADMIN_KEY.*--key/);
  const noWorkspace = await wda(['key', 'list'], { env: { WDA_URL: NOWHERE.WDA_URL, WDA_ADMIN_KEY: 'k' } });
  assert.equal(noWorkspace.code, 2);
  assert.match(noWorkspace.stderr, /-w.*WDA_WORKSPACE/);
});

test('a server that is not reachable is exit code 3, also of the process', async () => {
  const { code, stdout, stderr } = await spawnWda(['org', 'list'], { env: NOWHERE });
  assert.equal(code, 3);
  assert.equal(stdout, '');
  assert.equal(stderr, 'Error: The server at http://127.0.0.1:9 is not reachable: nothing listens there\n');
});

test('--json makes errors one JSON document on stderr, without a stack or the key', async () => {
  const unreachable = await wda(['org', 'list', '--json', '--key', 'wda_secret'], { env: NOWHERE });
  assert.equal(unreachable.code, 3);
  assert.equal(JSON.parse(unreachable.stderr).error.code, 'UNREACHABLE');
  assert.ok(!/wda_secret|at .*\.ts/.test(unreachable.stderr));
  const usage = await wda(['import', '--json'], { env: NOWHERE });
  assert.equal(usage.code, 2);
  assert.equal(JSON.parse(usage.stderr).error.code, 'USAGE');
});

test('files that cannot be read or written are exit code 1, before anything is sent', async () => {
  await writeFile(join(folder, 'broken.yaml'), 'entities:\n  a: [1\n');
  const cases: readonly (readonly [readonly string[], RegExp])[] = [
    [['import', 'people', join(folder, 'none.csv')], /Cannot read .*none\.csv: ENOENT/],
    [['import', 'people', folder, '--format', 'csv'], /it is a directory/],
    [['schema', 'apply', join(folder, 'none.yaml')], /Cannot read .*none\.yaml/],
    [['schema', 'plan', join(folder, 'broken.yaml')], /broken\.yaml:\d+:\d+: /],
    [['export', 'people', join(folder, 'no', 'where.csv')], /Cannot write .*where\.csv: ENOENT/],
    [['export', 'people', folder, '--format', 'csv'], /it is a directory/],
  ];
  for (const [args, said] of cases) {
    const { code, stderr } = await wda(args, { env: NOWHERE });
    assert.equal(code, 1, `${args.join(' ')}: ${stderr}`);
    assert.match(stderr, said);
    assert.ok(!/\n\s+at /.test(stderr), 'no stack');
  }
});
