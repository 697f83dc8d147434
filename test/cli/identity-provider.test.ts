// `wda idp` against a server and a real provider: configured, shown, tested with a token, disabled, deleted.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startIssuer } from '../support/issuer.ts';
import { isAccepted, isRefused, makeNotes, NOTES } from '../support/notes-fixture.ts';
import { use, useIssuer, useServer } from '../support/resources.ts';
import { useFolder } from '../support/temporary-folder.ts';
import { type Outcome, wda } from './wda.ts';

const server = useServer({ WDA_IDP_PRIVATE_NETWORK: 'allow' });
const issuer = useIssuer();
const folder = useFolder();
const notes = use(() => makeNotes(server, 'acme/notes'));

const NONE = { issuerUrl: '', jwksUri: null, audience: null, defaultPermissions: 'READ_ONLY', enabled: true };

const idp = (args: readonly string[], stdin?: string): Promise<Outcome> =>
  wda(['idp', ...args], {
    env: { WDA_URL: server.url, WDA_KEY: notes.key, WDA_WORKSPACE: notes.path },
    ...(stdin === undefined ? {} : { stdin }),
  });

async function done(args: readonly string[]): Promise<unknown> {
  const { code, stdout, stderr } = await idp([...args, '--json']);
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout);
}

test('a provider is set, shown, tested, changed and deleted', async () => {
  const whole = { ...NONE, issuerUrl: issuer.url, audience: 'urn:api' };
  const args = ['--issuer', issuer.url, '--audience', 'urn:api', '--permissions', 'readonly'];
  assert.deepEqual(await done(['set', ...args]), whole);
  assert.deepEqual(await done(['show']), whole);
  assert.match(
    (await idp(['show'])).stdout,
    /^Issuer URL {3}http.*\nJWKS URI {5}\(discovered\)\nAudience {5}urn:api\nPermissions {2}READ_ONLY\nEnabled {6}yes\n$/,
  );

  const token = await issuer.token({ resource: 'urn:api' });
  await isAccepted(notes, token);
  const good = await idp(['test'], token);
  assert.equal(good.code, 0, good.stderr);
  const bad = await idp(['test', '-'], await issuer.token({ resource: 'urn:other' }));
  assert.equal(bad.code, 1);
  assert.match(bad.stderr, /Token audience does not match configured audience/);

  assert.deepEqual(await done(['set', '--audience', '', '--permissions', 'READ_WRITE']), {
    ...whole,
    audience: null,
    defaultPermissions: 'READ_WRITE',
  });
  assert.equal(
    ((await done(['set', '--role-claim', 'realm_access.roles'])) as { roleClaim?: string }).roleClaim,
    'realm_access.roles',
  );
  assert.match((await idp(['show'])).stdout, /^Role claim +realm_access\.roles$/m);
  await done(['set', '--role-claim', '']);
  await done(['set', '--disable']);
  await isRefused(notes, token, 'No external identity provider configured for this workspace');
  await done(['set', '--enable']);
  await isAccepted(notes, token);
  assert.deepEqual(await done(['delete']), { deleted: notes.path });
  const gone = await idp(['show']);
  assert.equal(gone.code, 1);
  assert.match(gone.stderr, /The workspace has no identity provider \(404 NOT_FOUND\)/);
});

test('entities that are open to every user are named on stderr, by schema apply, too', async () => {
  const args = ['--issuer', issuer.url, '--audience', 'urn:api', '--permissions', 'read-only'];
  const warning = (names: string): string => `Warning: ${names}\n`;
  const set = await idp(['set', ...args]);
  assert.equal(
    set.stderr,
    warning('1 entity has neither row rules nor grants: every user may read all of its records: notes'),
  );
  const file = join(folder, 'schema.json');
  writeFileSync(file, JSON.stringify({ entities: { ...NOTES.entities, drafts: {} } }));
  for (const more of [[], ['--json']]) {
    const { code, stderr } = await wda(['schema', 'apply', file, ...more], {
      env: { WDA_URL: server.url, WDA_KEY: notes.key, WDA_WORKSPACE: notes.path },
    });
    assert.deepEqual(
      [code, stderr],
      [
        0,
        warning(
          '2 entities have neither row rules nor grants: every user may read all of their records: notes, drafts',
        ),
      ],
    );
  }
});

test('the claim of roles and required claims are set, shown and taken away', async () => {
  const claims = ['--required-claim', 'org_id=acme', 'tenant=9007199254740993', 'plan="2"', 'a=b=c'];
  const { code, stderr } = await idp(['set', '--role-claim', 'realm.roles', ...claims]);
  assert.equal(code, 0, stderr);
  const { stdout } = await idp(['show']);
  assert.match(stdout, /^Role claim {7}realm\.roles$/m);
  assert.match(stdout, /^Required claims {2}\{"org_id":"acme","tenant":9007199254740993,"plan":"2","a":"b=c"\}$/m);
  for (const wrong of [['x'], ['=x'], ['a=1', 'a=2']])
    assert.equal((await idp(['set', '--required-claim', ...wrong])).code, 2);
  const shown = (await done(['set', '--role-claim', '', '--required-claim', ''])) as object;
  assert.deepEqual(Object.keys(shown), Object.keys(NONE));
});

test('a provider that does not answer is set with a warning on stderr', async () => {
  const absent = await startIssuer();
  await absent.stop();
  const { code, stdout, stderr } = await idp(['set', '--issuer', absent.url, '--permissions', 'READ_ONLY', '--json']);
  assert.equal(code, 0, stderr);
  assert.deepEqual(JSON.parse(stdout), { ...NONE, issuerUrl: absent.url });
  assert.match(stderr, /^Warning: No token can be verified at the moment\. The provider is in a private network: /m);
});

test('mistakes are told by their option or by the server', async () => {
  for (const [args, code, message] of [
    [['set'], 2, /Nothing to set/],
    [['set', '--issuer', 'https://idp.example.com'], 2, /needs permissions/],
    [['set', '--permissions', 'owner'], 2, /Permissions are READ_ONLY or READ_WRITE/],
    [['set', '--enable', '--disable'], 2, /exclude each other/],
    [
      ['set', '--issuer', 'https://169.254.169.254', '--permissions', 'READ_ONLY'],
      1,
      /issuerUrl: INVALID must not lead to a link-local/,
    ],
  ] as const) {
    const outcome = await idp(args);
    assert.equal(outcome.code, code, outcome.stderr);
    assert.match(outcome.stderr, message);
  }
});
