// The commands against a real server, one story after the other: organization, workspace, schema, keys, records.

import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { prepare, useServer } from '../support/resources.ts';
import { ADMIN_KEY } from '../support/server.ts';
import { useFolder } from '../support/temporary-folder.ts';
import { type Invocation, type Outcome, wda } from './wda.ts';

const SCHEMA = `
entities:
  customers:
    fields:
      name: { type: string, required: true, maxLength: 20 }
      email: { type: string, unique: true }
      credit: { type: decimal, precision: 12, scale: 2, default: 0 }
      seenAt: { type: datetime }
    relations:
      orders: { kind: hasMany, entity: orders, inverse: customer }
  orders:
    fields:
      code: { type: bigint, max: 9007199254740993 }
      note: { type: text }
    relations:
      customer: { kind: belongsTo, entity: customers }
`;

let env: Record<string, string> = {};
const server = useServer();
const folder = useFolder();
prepare(async () => {
  env = { WDA_URL: server.url, WDA_ADMIN_KEY: ADMIN_KEY, WDA_WORKSPACE: 'acme/shop' };
  await writeFile(join(folder, 'schema.yaml'), SCHEMA);
});

const file = (name: string): string => join(folder, name);

/** Runs a command that must succeed. */
async function done(args: readonly string[], invocation: Invocation = {}): Promise<Outcome> {
  const outcome = await wda(args, { ...invocation, env: { ...env, ...invocation.env } });
  assert.equal(outcome.code, 0, `wda ${args.join(' ')}\n${outcome.stderr}`);
  return outcome;
}

const json = async <T>(args: readonly string[], invocation: Invocation = {}): Promise<T> => {
  const { stdout, stderr } = await done([...args, '--json'], invocation);
  assert.equal(stderr, '');
  return JSON.parse(stdout) as T;
};

interface Key {
  readonly id: number | string;
  readonly name: string;
  readonly key: string;
  readonly permissions: string;
}

const refusal = (args: readonly string[], invocation: Invocation = {}): Promise<Outcome> =>
  wda(args, { ...invocation, env: { ...env, ...invocation.env } });

test('organizations are created, listed through all pages, and refused twice', async () => {
  assert.equal((await done(['org', 'create', 'acme', '--name', 'Acme Ltd'])).stdout, 'Created organization acme\n');
  // By HTTP, which is quicker than twenty-one processes: one more than a page holds.
  for (let number = 1; number <= 21; number++)
    await server.call('/api/admin/v1/organizations', {
      method: 'POST',
      credential: ADMIN_KEY,
      body: { slug: `other-${number}`, name: 'Other' },
    });
  const listed = await json<unknown[]>(['org', 'list']);
  assert.equal(listed.length, 22);
  assert.match((await done(['org', 'list'])).stdout, /^SLUG +NAME +CREATED\n(.*\n)*acme +Acme Ltd +\d{4}-/);
  const twice = await refusal(['org', 'create', 'acme']);
  assert.equal(twice.code, 1);
  assert.match(twice.stderr, /409 CONFLICT/);
  assert.equal((await done(['org', 'delete', 'other-21'])).stdout, 'Deleted organization other-21\n');
  assert.deepEqual(await json(['org', 'delete', 'other-20']), { deleted: 'other-20' });
});

test('a wrong key is refused with what to check', async () => {
  const { code, stderr } = await refusal(['org', 'list', '--key', 'wda_wrong']);
  assert.equal(code, 1);
  assert.match(stderr, /401 UNAUTHORIZED[\s\S]*WDA_KEY/);
});

test('a workspace is created and listed', async () => {
  assert.equal(
    (await done(['workspace', 'create', 'acme/shop', '--name', 'Shop'])).stdout,
    'Created workspace acme/shop\n',
  );
  assert.match((await done(['workspace', 'list', 'acme'])).stdout, /acme\/shop +Shop/);
  assert.equal((await json<{ slug: string }[]>(['workspace', 'list', 'acme']))[0]?.slug, 'shop');
});

test('a workspace is made with its first keys and its provider, which a file has', async () => {
  const path = file('access.yaml');
  await writeFile(path, 'apiKeys:\n  - name: app\n  - { name: site, permissions: READ_ONLY }\n');
  const { stdout } = await done(['workspace', 'create', 'acme/keyed', '--access', path]);
  assert.match(stdout, /^Created workspace acme\/keyed\nKEY +FOR\nwda_\S+ +app\nwda_\S+ +site\n$/);
  await writeFile(path, 'apiKeys: [{ name: app, permissions: ALL }]\nschema: {}\n');
  const wrong = await wda(['workspace', 'create', 'acme/other', '--access', path], { env });
  assert.deepEqual([wrong.code, /it has schema/.test(wrong.stderr)], [2, true], wrong.stderr);
  await writeFile(path, 'apiKeys: [{ name: app, permissions: ALL }]\n');
  const refused = await wda(['workspace', 'create', 'acme/other', '--access', path], { env });
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /apiKeys\.0\.permissions/);
  await done(['workspace', 'delete', 'acme/keyed', '--confirm', 'keyed']);
});

test('a workspace is renamed, and the command line follows its redirect', async () => {
  await done(['workspace', 'create', 'acme/before']);
  const rename = (...args: string[]) => wda(['workspace', 'rename', 'acme/before', ...args], { env });
  for (const args of [['other/after'], ['acme/after', '--redirect', '0'], ['acme/after', '--redirect', '366']])
    assert.equal((await rename(...args)).code, 2, args.join(' '));
  assert.equal(
    (await rename('acme/after', '--redirect', '30')).stdout,
    'Workspace acme/before is acme/after now; acme/before redirects to it for 30 days\n',
  );
  assert.equal((await json<unknown[]>(['key', 'list', '-w', 'acme/before'])).length, 0);
  assert.equal(
    (await done(['workspace', 'rename', 'acme/after', 'acme/last'])).stdout,
    'Workspace acme/after is acme/last now\n',
  );
  await done(['workspace', 'delete', 'acme/last', '--confirm', 'last']);
});

test('a workspace is suspended, made read-only, and activated', async () => {
  for (const [command, words, state] of [
    ['suspend', 'suspended', 'suspended'],
    ['read-only', 'read-only', 'readOnly'],
    ['activate', 'active', 'active'],
  ] as const) {
    assert.equal((await done(['workspace', command, 'acme/shop'])).stdout, `Workspace acme/shop is ${words}\n`);
    assert.equal((await json<{ state: string }>(['workspace', command, 'acme/shop'])).state, state);
    assert.match((await done(['workspace', 'list', 'acme'])).stdout, new RegExp(`acme/shop +Shop +${words} `));
  }
});

test('the name of a workspace and the origins of its pages are set and shown', async () => {
  const set = (...args: string[]) => done(['workspace', 'set', 'acme/shop', ...args]);
  const origins = 'https://app.example.com, http://localhost:5173';
  assert.match(
    (await set('--name', 'The shop', '--cors-origins', origins)).stdout,
    /^Workspace +acme\/shop\nName +The shop\nCORS origins +https:\/\/app\.example\.com, http:\/\/localhost:5173\n$/,
  );
  assert.match((await set('--cors-origins', 'none')).stdout, /^CORS origins +\(none\)$/m);
  assert.match(
    (await set('--cors-origins', 'server', '--name', 'Shop')).stdout,
    /^CORS origins +\(those of the server\)$/m,
  );
  assert.equal((await wda(['workspace', 'set', 'acme/shop'], { env })).code, 2);
  assert.match(
    (await wda(['workspace', 'set', 'acme/shop', '--cors-origins', '*'], { env })).stderr,
    /must be an origin such as/,
  );
});

test('a schema is planned, applied, found in force and shown as it was written', async () => {
  const plan = await done(['schema', 'plan', file('schema.yaml')]);
  assert.match(plan.stdout, /# +STEP +DESTROYS DATA +BLOCKS +TIME +IN THE WAY/);
  assert.match(plan.stdout, /customers/);
  const applied = await done(['schema', 'apply', file('schema.yaml')]);
  assert.match(applied.stdout, /^Applied .*schema\.yaml to acme\/shop: \d+ steps?\n/);
  assert.match((await done(['schema', 'apply', file('schema.yaml')])).stdout, /nothing to change/);
  assert.match((await done(['schema', 'plan', file('schema.yaml')])).stdout, /^Nothing to change/);

  const asYaml = (await done(['schema', 'show'])).stdout;
  await writeFile(file('shown.yaml'), asYaml);
  assert.match((await done(['schema', 'plan', file('shown.yaml')])).stdout, /^Nothing to change/);
  assert.match(asYaml, /max: 9007199254740993$/m);
  const asJson = (await done(['schema', 'show', '--json'])).stdout;
  assert.match(asJson, /"max": 9007199254740993/);
  assert.equal((await done(['schema', 'show', '--format', 'json'])).stdout, asJson);
  assert.match((await done(['schema', 'plan', '-'], { stdin: asJson })).stdout, /^Nothing to change/);
});

test('every mistake of a schema file is shown with its line', async () => {
  await writeFile(
    file('wrong.yaml'),
    SCHEMA.replace('type: text', 'type: txet').replace('inverse: customer', 'inverse: costumer'),
  );
  const { code, stderr } = await refusal(['schema', 'apply', file('wrong.yaml')]);
  assert.equal(code, 1);
  assert.match(stderr, /400 VALIDATION_FAILED/);
  assert.match(stderr, /^ {2}line 14, entities\.orders\.fields\.note\.type: /m);
  assert.match(stderr, /^ {2}line 10, entities\.customers\.relations\.orders\.inverse: /m);
  const document = JSON.parse((await refusal(['schema', 'apply', file('wrong.yaml'), '--json'])).stderr);
  assert.equal(document.status, 400);
  assert.equal(document.error.details.length, 2);
});

test('a plan is applied as it was shown, or not at all', async () => {
  await writeFile(file('more.yaml'), SCHEMA.replace('type: text', 'type: text, description: more'));
  const [, tag = ''] = /--based-on ([\w-]+)$/m.exec((await done(['schema', 'plan', file('more.yaml')])).stdout) ?? [];
  assert.notEqual(tag, '');
  assert.equal((await json<{ basedOn: string }>(['schema', 'plan', file('more.yaml')])).basedOn, tag);
  await done(['schema', 'apply', file('more.yaml'), '--based-on', tag]);
  for (const command of ['plan', 'apply']) {
    const { code, stderr } = await refusal(['schema', command, file('schema.yaml'), '--based-on', tag]);
    assert.equal(code, 1);
    assert.match(stderr, /Another request has changed the schema document meanwhile.* \(412 PRECONDITION_FAILED\)/);
  }
  assert.match((await done(['schema', 'plan', file('more.yaml')])).stdout, /^Nothing to change/);
});

test('migrations are listed and shown', async () => {
  const [latest] = await json<{ id: number; state: string }[]>(['migration', 'list']);
  assert.ok(latest);
  assert.equal(latest.state, 'succeeded');
  assert.match((await done(['migration', 'show', String(latest.id), '--follow'])).stdout, /^State +succeeded$/m);
});

test('a key is created, used, listed by its prefix, and revoked', async () => {
  const owner = await json<Key>(['key', 'create', 'automation', '--permissions', 'owner', '--expires', '30d']);
  assert.match(owner.key, /^wda_/);
  const reader = await done(['key', 'create', 'reader', '--permissions', 'readonly']);
  const readerKey = /^Key +(wda_\S+)$/m.exec(reader.stdout)?.[1] ?? '';
  assert.match(reader.stdout, /it is not shown again/);
  const asOwner = { env: { WDA_KEY: owner.key } };
  const listed = await json<Key[]>(['key', 'list'], asOwner);
  assert.deepEqual(listed.map((key) => key.permissions).sort(), ['OWNER', 'READ_ONLY']);
  const table = (await done(['key', 'list'], asOwner)).stdout;
  assert.ok(!table.includes(owner.key) && !table.includes(readerKey), 'no whole key');
  await done(['export', 'customers'], { env: { WDA_KEY: readerKey } });
  assert.equal((await refusal(['org', 'list'], asOwner)).code, 1);
  assert.match((await refusal(['schema', 'show'], { env: { WDA_KEY: readerKey } })).stderr, /403 FORBIDDEN/);
  const id = String(listed.find((key) => key.name === 'reader')?.id);
  assert.deepEqual(await json(['key', 'revoke', id], asOwner), { revoked: id });
  assert.match((await refusal(['export', 'customers'], { env: { WDA_KEY: readerKey } })).stderr, /401 UNAUTHORIZED/);
});

test('records go in from CSV with mapped headers and come out as they were', async () => {
  const key = (await json<Key>(['key', 'create', 'records', '--permissions', 'owner'])).key;
  const asOwner = { env: { WDA_KEY: key } };
  await writeFile(
    file('crm.csv'),
    'No,Customer Name,Mail,Credit,Seen,Remark\n1,"Müller, Ann",ann@example.com,10.50,2026-01-31T12:00:00,x\n2,"Line\nbreak",,,,y\n',
  );
  const map = 'No:id,Customer Name:name,Mail:email,Credit:credit,Seen:seenAt,Remark:';
  const imported = await done(['import', 'customers', file('crm.csv'), '--map', map], asOwner);
  assert.match(imported.stdout, /^customers: 2 inserted, 0 updated, 0 skipped \(\d+ B in /);
  assert.equal(imported.stderr, '', 'no bar without a terminal');

  const again = await json(['import', 'customers', file('crm.csv'), '--map', map, '--on-conflict', 'skip'], asOwner);
  assert.deepEqual(again, { entity: 'customers', inserted: 0, updated: 0, skipped: 2 });
  assert.equal((await refusal(['import', 'customers', file('crm.csv'), '--map', map], asOwner)).code, 1);

  const exported = await json<{ records: number }>(['export', 'customers', file('out.csv')], asOwner);
  assert.equal(exported.records, 2);
  const text = await readFile(file('out.csv'), 'utf8');
  assert.match(
    text,
    /^id,name,email,credit,seenAt\r?\n1,"Müller, Ann",ann@example\.com,10\.50?,2026-01-31T12:00:00Z\r?\n/,
  );
  const back = await json(['import', 'customers', file('out.csv'), '--on-conflict', 'update'], asOwner);
  assert.deepEqual(back, { entity: 'customers', inserted: 0, updated: 2, skipped: 0 });

  await writeFile(file('mail.csv'), 'name,email\n"Müller, Ann",ann@example.com\n');
  const byMail = await json(['import', 'customers', file('mail.csv'), '--on-conflict', 'email'], asOwner);
  assert.deepEqual(byMail, { entity: 'customers', inserted: 0, updated: 1, skipped: 0 });

  const lines = '{"id": 7, "code": 9007199254740993, "customerId": 1}\n{"id": 8, "note": "a\\nb"}\n';
  await done(['import', 'orders', '-', '--format', 'ndjson'], { ...asOwner, stdin: lines });
  const out = await done(
    ['export', 'orders', '--format', 'ndjson', '--sort', 'id,desc', '--fields', 'id,code,note'],
    asOwner,
  );
  assert.equal(out.stdout, '{"id":8,"code":null,"note":"a\\nb"}\n{"id":7,"code":9007199254740993,"note":null}\n');
  const one = await done(
    ['export', 'orders', '--filter', 'code,notNull', '--filter', 'customerId,eq,1', '--fields', 'id'],
    asOwner,
  );
  assert.match(one.stdout, /^id\r?\n7\r?\n$/);
});

test('an import writes its rejected rows to a file', async () => {
  const key = (await json<Key>(['key', 'create', 'rejects', '--permissions', 'owner'])).key;
  const asOwner = { env: { WDA_KEY: key } };
  await writeFile(file('mixed.csv'), 'Name,credit\nR1,"1,5"\n,2\nR3,zzz\n');
  const formats = ['--formats', 'decimal:1.234,50'];
  const { stdout } = await done(
    ['import', 'customers', file('mixed.csv'), '--rejects', file('bad.csv'), ...formats],
    asOwner,
  );
  assert.match(stdout, /^customers: 1 inserted, 0 updated, 0 skipped, 2 rejected \(/);
  assert.match(stdout, /\nThe rejected rows and their reasons are in .*bad\.csv\.\n$/);
  assert.equal(
    await readFile(file('bad.csv'), 'utf8'),
    'Name,credit,_row,_reason\n,2,2,name: is required\nR3,zzz,3,"credit: must be a number of the form 1.234,50"\n',
  );
  const again = await json(['import', 'customers', file('bad.csv'), '--rejects', file('worse.csv')], asOwner);
  const counts = { inserted: 0, updated: 0, skipped: 0, rejected: 2 };
  assert.deepEqual(again, { entity: 'customers', ...counts, rejects: file('worse.csv') });

  const many = `name\n${'"",\n'.repeat(300)}`;
  const listed = await refusal(['import', 'customers', '-', '--format', 'csv', '--max-errors', '150'], {
    ...asOwner,
    stdin: many,
  });
  assert.match(listed.stderr, /^ROW +LINE +FIELD +CODE +VALUE +REASON$/m);
  assert.match(listed.stderr, /Only the first 150 mistakes are listed\./);
  const related = await refusal(['import', 'orders', '-', '--format', 'csv'], {
    ...asOwner,
    stdin: 'note,Customer\nn,ann@example.com\n',
  });
  assert.match(related.stderr, /map=Customer:customer\.email looks the record up by its email/);
  assert.match(related.stderr, /On the command line map=Header:field is --map "Header:field"\./);
  const noted = await done(['import', 'customers', '-', '--format', 'csv'], { ...asOwner, stdin: 'NAME\nN1\n' });
  assert.match(noted.stdout, /\nNote: the column NAME was read as name\n$/);

  for (const [options, message] of [
    [['--rejects', '-'], '--rejects needs a file'],
    [['--rejects', file('mixed.csv')], '--rejects would replace the file that is imported'],
    [['--rejects', file('no/such/folder.csv')], 'Cannot write'],
  ] as const) {
    const { code, stderr } = await wda(['import', 'customers', file('mixed.csv'), ...options, ...formats], {
      env: { ...env, ...asOwner.env },
    });
    assert.notEqual(code, 0);
    assert.ok(stderr.includes(message), stderr);
  }
  assert.doesNotMatch((await done(['export', 'customers'], asOwner)).stdout, /R1[\s\S]*R1/, 'nothing is sent');
});

test('activity tells who changed what, of a workspace and of all', async () => {
  const { stdout } = await done(['activity', '--action', 'schema.update', '--first', '1']);
  assert.match(stdout, /^AT +WHO +ACTION +SUBJECT\n\d{4}-\d\d-\d\dT\S+ +operator +schema\.update +shop\n$/);
  assert.match(
    (await done(['activity', '--all', '--action', 'workspaces'])).stdout,
    /^\S+ +acme\/shop +operator +workspaces\.create +shop$/m,
  );
  const keys = await json<{ action: string }[]>(['activity', '--action', 'apiKeys']);
  assert.ok(keys.length > 0 && keys.every(({ action }) => action.startsWith('apiKeys.')));
  const { code, stderr } = await wda(['activity', '--first', '0'], { env });
  assert.equal(code, 2);
  assert.match(stderr, /--first must be an integer from 1 to 1000, not 0/);
});

test('statistics show each entity with its records and sizes', async () => {
  const { stdout } = await done(['workspace', 'statistics']);
  assert.match(stdout, /^ENTITY +RECORDS +TABLE +INDEXES\ncustomers +(about )?\d+ +\d+\.\d KiB +\d+\.\d KiB\norders /);
  const found = await json<{ entity: string }[]>(['workspace', 'statistics']);
  assert.deepEqual(
    found.map(({ entity }) => entity),
    ['customers', 'orders'],
  );
});

test('an export that the server refuses leaves no file and names the mistake', async () => {
  const { code, stderr } = await refusal(['export', 'customers', file('never.csv'), '--fields', 'nmae']);
  assert.equal(code, 1);
  assert.match(stderr, /nmae.*400 BAD_REQUEST/s);
  assert.deepEqual(
    (await readdir(folder)).filter((name) => name.startsWith('never')),
    [],
  );
});

test('a workspace goes with its slug repeated, then its organization', async () => {
  assert.match((await refusal(['org', 'delete', 'acme'])).stderr, /409 CONFLICT/);
  await done(['workspace', 'delete', 'acme/shop', '--confirm', 'shop']);
  await done(['org', 'delete', 'acme']);
});
