// `wda config` against a server: the example of its page, applied, applied again, checked after changes by hand, exported.
import assert from 'node:assert/strict';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { useServer } from '../support/resources.ts';
import { ADMIN_KEY } from '../support/server.ts';
import { useFolder } from '../support/temporary-folder.ts';
import { type Outcome, wda } from './wda.ts';

const server = useServer();
const folder = useFolder();
const page = readFileSync(join(import.meta.dirname, '../../docs/reference/config-file.md'), 'utf8');
const [config = '', store = ''] = [...page.matchAll(/```yaml\n(.*?)```/gs)].map(([, text = '']) => text);
const STORE = '/api/admin/v1/organizations/acme/workspaces/store';

write('config.yaml', config);
write('store.yaml', store);

function write(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return name;
}

const run = (words: string, key = ADMIN_KEY): Promise<Outcome> =>
  wda(['config', ...words.split(' ')], { cwd: folder, env: { WDA_URL: server.url, WDA_KEY: key } });

async function succeeds(words: string, key?: string): Promise<string> {
  const { code, stdout, stderr } = await run(words, key);
  assert.equal(code, 0, stderr);
  return stdout;
}

async function refuses(words: string): Promise<Outcome> {
  const outcome = await run(words);
  assert.equal(outcome.code, 1, outcome.stderr + outcome.stdout);
  return outcome;
}

async function drifts(words: string): Promise<string> {
  const { code, stdout, stderr } = await run(words);
  assert.equal(code, 4, stderr + stdout);
  return stdout;
}

// biome-ignore lint/suspicious/noExplicitAny: answers are compared as they come.
async function admin(method: string, path: string, body?: unknown): Promise<{ status: number; data: any }> {
  const answer = await fetch(`${server.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${ADMIN_KEY}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return { status: answer.status, data: text === '' ? null : JSON.parse(text).data };
}

const NO_CHANGE = 'No change: the server is as the file says\n';

test('the example of the page is applied, prints what the page says, and changes nothing a second time', async () => {
  const planned = await succeeds('plan config.yaml');
  assert.match(planned, /7 changes to do\n$/);
  assert.equal((await admin('GET', '/api/admin/v1/organizations/acme')).status, 404);

  const applied = await succeeds('apply config.yaml --secrets-out secrets.ndjson');
  const shown = [...page.matchAll(/^ {4}(.*)$/gm)].map(([, line]) => line);
  assert.deepEqual(
    applied
      .trimEnd()
      .split('\n')
      .filter((line) => !shown.includes(line)),
    [],
  );

  const file = join(folder, 'secrets.ndjson');
  assert.equal(statSync(file).mode & 0o777, 0o600);
  const secrets = readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.deepEqual(
    secrets.map(({ workspace, list, name, secrets: made }) => [workspace, list, name, Object.keys(made)]),
    [
      ['acme/store', 'apiKeys', 'website', ['key']],
      ['acme/store', 'apiKeys', 'auditor', ['key']],
      ['acme/store', 'oauthClients', 'nightly', ['clientId', 'clientSecret']],
    ],
  );
  const listed = await fetch(`${server.url}/api/v1/acme/store/orders`, {
    headers: { authorization: `Bearer ${secrets[0].secrets.key}` },
  });
  assert.equal(listed.status, 200);
  const rules = await admin('GET', `${STORE}/entities/orders/row-rules`);
  assert.deepEqual(rules.data, [{ column: 'customerId', claim: 'customer_id', enabled: true }]);

  assert.equal(await succeeds('apply config.yaml --secrets-out secrets.ndjson'), NO_CHANGE);
  assert.equal(await succeeds('check config.yaml'), NO_CHANGE);
});

test('a change by hand is drift, and apply takes it back', async () => {
  await admin('PUT', `${STORE}/entities/orders/row-rules`, []);
  await admin('PUT', STORE, { name: 'Renamed' });
  await admin('PUT', `${STORE}/identity-provider`, { enabled: false });
  const drift = await drifts('check config.yaml');
  assert.match(
    drift,
    /^~ acme\/store: workspace\n {4}name: "Renamed" → "The store"\n~ acme\/store: schema\n {4}.*row rules/,
  );
  assert.match(drift, /~ acme\/store: identity provider\n {4}enabled: false → true\n3 changes to do\n$/);
  assert.match(await succeeds('apply config.yaml'), /3 changes done\n$/);
  assert.equal(await succeeds('check config.yaml'), NO_CHANGE);
});

test('what the file does not name is removed with --prune alone', async () => {
  await admin('POST', `${STORE}/api-keys`, { name: 'by-hand', permissions: 'READ_ONLY' });
  assert.match(await drifts('check config.yaml'), /- acme\/store: API key by-hand \(id \d+\)\n {4}needs --prune\n/);
  assert.match(
    await succeeds('apply config.yaml'),
    /^left - acme\/store: API key by-hand \(id \d+\)\n {4}needs --prune\n0 changes done, 1 left as it is\n$/,
  );
  assert.equal((await admin('GET', `${STORE}/api-keys`)).data.length, 3);
  assert.match(await succeeds('apply config.yaml --prune'), /1 change done\n$/);
  assert.equal((await admin('GET', `${STORE}/api-keys`)).data.length, 2);
});

test('data is destroyed with --allow-destructive alone, and else nothing at all is changed', async () => {
  await admin('POST', '/api/admin/v1/organizations/acme/workspaces', { slug: 'old' });
  write('less.yaml', config.replace('store.yaml', 'less-store.yaml').replace('The store', 'The smaller store'));
  write('less-store.yaml', store.replace(/total: .*/, 'amount: { type: integer }'));
  const planned = await refuses('plan less.yaml --prune');
  assert.match(planned.stdout, /destroys data.*\n(?: {4}.*\n)* {4}needs --allow-destructive\n/);
  assert.match(planned.stdout, /\n0 changes to do, 2 left as they are\n$/);
  const refused = await refuses('apply less.yaml --prune');
  assert.equal(refused.stdout, '');
  assert.equal(refused.stderr, planned.stderr);
  assert.match(refused.stderr, /^Error: This destroys data, and nothing has been changed\n~ acme\/store: schema\n/);
  assert.match(refused.stderr, /\nDo it anyway with --allow-destructive\.\n$/);
  assert.equal((await admin('GET', STORE)).data.name, 'The store');

  await succeeds('apply less.yaml --prune --allow-destructive');
  assert.deepEqual(Object.keys((await admin('GET', `${STORE}/schema`)).data.entities.orders.fields), ['amount']);
  assert.equal(await succeeds('apply less.yaml --prune'), NO_CHANGE);
});

test('workspaces that the file does not name are removed with --prune-workspaces alone', async () => {
  assert.equal(await succeeds('check less.yaml --prune --allow-destructive'), NO_CHANGE);
  for (const command of ['plan', 'apply']) {
    const { stderr } = await refuses(`${command} less.yaml --prune-workspaces`);
    assert.match(stderr, /- acme\/old: workspace with all of its records\n/);
    assert.match(stderr, /\nWithout --prune-workspaces, workspaces that the file does not name stay\.\n$/);
  }
  const both = await run('apply less.yaml -w acme/store --prune-workspaces --allow-destructive');
  assert.equal(both.code, 2);
  assert.match(both.stderr, /pass one of the two/);
  assert.equal((await admin('GET', '/api/admin/v1/organizations/acme/workspaces/old')).status, 200);

  await succeeds('apply less.yaml --prune-workspaces --allow-destructive');
  assert.equal((await admin('GET', '/api/admin/v1/organizations/acme/workspaces/old')).status, 404);
  assert.equal(await succeeds('check less.yaml --prune-workspaces'), NO_CHANGE);
});

test('with -w only that workspace of the file counts', async () => {
  const file = write(
    'two.yaml',
    'organizations: { acme: { name: Other, workspaces: { store: { name: One }, next: {} } } }',
  );
  assert.match(await succeeds(`plan ${file}`), /3 changes to do\n$/);
  assert.match(await succeeds(`apply ${file} -w acme/store`), /^~ acme\/store: workspace\n.*\n1 change done\n$/);
  assert.equal(await succeeds(`check ${file} -w acme/store`), NO_CHANGE);
  const { stderr } = await refuses(`plan ${file} -w acme/shop`);
  assert.equal(stderr, 'Error: The file names no workspace acme/shop. Known: acme/store, acme/next\n');
});

test('a key with other permissions is made anew, with its secret on stdout', async () => {
  write(
    'more.yaml',
    (await succeeds('export -w acme/store')).replace(/(website:\n\s+permissions: )READ_WRITE/, '$1READ_ONLY'),
  );
  assert.match(await succeeds('apply more.yaml'), /^left ~ .*\n(?: {4}.*\n)* {4}needs --prune\n.*1 left as it is\n$/);
  const { applied, secrets } = JSON.parse(await succeeds('apply more.yaml --prune --json'));
  assert.deepEqual(
    applied.map(({ what }: { what: string }) => what),
    ['API key website'],
  );
  assert.match(secrets[0].secrets.key, /^wda_/);
  const keys = (await admin('GET', `${STORE}/api-keys`)).data as { name: string; permissions: string }[];
  assert.equal(keys.find(({ name }) => name === 'website')?.permissions, 'READ_ONLY');
});

test('an export is a file of what is there, and holds no secret', async () => {
  const exported = await succeeds('export');
  assert.doesNotMatch(exported, /wda_/);
  // A client for some entities must not come out as one for all.
  assert.match(exported, /nightly:\n\s+permissions: READ_ONLY\n\s+entities:\s+(- |\[ ?)orders/);
  assert.equal(await succeeds(`check ${write('all.yaml', exported)} --prune --prune-workspaces`), NO_CHANGE);
  const asJson = write('all.json', await succeeds('export --json'));
  assert.equal(await succeeds(`check ${asJson} --prune --prune-workspaces`), NO_CHANGE);
});

test('keys and clients that act as a role are exported, checked and made again', async () => {
  const grants = { permissions: 'GRANTS', claims: { customer_id: 7 } };
  await admin('POST', `${STORE}/api-keys`, { name: 'shop window', ...grants });
  await admin('POST', `${STORE}/oauth-clients`, { name: 'partner', ...grants });
  const { code, stdout, stderr } = await run('export');
  assert.deepEqual([code, stderr], [0, '']);
  const file = write('with-grants.yaml', stdout);
  assert.equal(await succeeds(`check ${file} --prune`), NO_CHANGE);
  const other = write('other-claim.yaml', stdout.replaceAll('customer_id: 7', 'customer_id: 8'));
  assert.match(await succeeds(`apply ${other} --prune`), /~ acme\/store: API key shop window\n {4}claims: .*7.* → .*8/);
  const { data } = await admin('GET', `${STORE}/api-keys`);
  assert.deepEqual(data.find(({ name }: { name: string }) => name === 'shop window').claims, { customer_id: 8 });
  const without = write('without-grants.yaml', stdout.replaceAll(/^ +(?:shop window|partner):\n(?: {12,}.*\n)+/gm, ''));
  assert.match(await succeeds(`apply ${without} --prune`), /^- .*shop window.*\n- .*partner.*\n2 changes done\n$/m);
  assert.equal(await succeeds(`check ${without} --prune`), NO_CHANGE);
});

test('roles and grants are put in force without a schema in the file, and are then as the file says', async () => {
  const place = '/api/admin/v1/organizations/acme/workspaces/desk';
  const apply = async (name: string, members: string) => {
    const file = write(name, `organizations:\n  acme:\n    workspaces:\n      desk:\n${members}`);
    const applied = await succeeds(`apply ${file}`);
    assert.equal(await succeeds(`check ${file}`), NO_CHANGE);
    return applied;
  };
  await apply('desk.yaml', '        roles: [agent]\n');
  const entities = { tickets: { fields: { team: { type: 'integer' } } }, notes: {} };
  assert.equal((await admin('PUT', `${place}/schema`, { entities })).status, 200);
  await admin('PUT', `${place}/entities/tickets/row-rules`, [{ column: 'team', claim: 'team' }]);
  const applied = await apply(
    'desk-grants.yaml',
    `        settings: { tickets: { maxExpandDepth: 1 } }
        roles: [customer]
        grants:
          tickets:
            - { role: customer, can: [read], where: { field: team, op: in, value: { claim: teams } } }
          notes: []
        apiKeys: { window: { permissions: GRANTS, roles: [customer], claims: { teams: [1] } } }
`,
  );
  assert.match(
    applied,
    /~ acme\/desk: roles\n {4}- agent\n {4}\+ customer\n {4}grants of tickets: \+ \{"can":\["read"\]/,
  );
  const { data } = await admin('GET', `${place}/schema`);
  assert.deepEqual(data.roles, ['customer']);
  assert.deepEqual(data.entities.notes.grants, []);
  assert.equal(data.entities.tickets.rowRules.length, 1);
  assert.deepEqual(data.entities.tickets.settings, { maxExpandDepth: 1 });
  assert.match(await apply('desk-open.yaml', '        grants: { notes: null }\n'), /^ {4}opens it to every user$/m);
  assert.equal((await admin('GET', `${place}/schema`)).data.entities.notes.grants, undefined);
  const wrong = write('desk-wrong.yaml', 'organizations: { acme: { workspaces: { desk: { roles: [] } } } }');
  assert.match((await run(`apply ${wrong}`)).stdout, /tickets\.grants\.0\.role: there is no role customer/);
});

test("an owner's key is enough for its workspace", async () => {
  const { data } = await admin('POST', `${STORE}/api-keys`, { name: 'owner', permissions: 'OWNER' });
  const file = write('own.yaml', await succeeds('export -w acme/store', data.key));
  await admin('POST', `${STORE}/api-keys`, { name: 'by-hand', permissions: 'READ_ONLY' });
  assert.match(await succeeds(`plan ${file} --prune`, data.key), /^- .*by-hand.*\n1 change to do\n$/);
  assert.match(await succeeds(`apply ${file} --prune`, data.key), /^- .*by-hand.*\n1 change done\n$/);
  assert.equal(await succeeds(`check ${file} --prune`, data.key), NO_CHANGE);
  assert.equal((await run(`plan ${file} --prune-workspaces`, data.key)).code, 1);
  const without = write('without-owner.yaml', 'organizations: { acme: { workspaces: { store: { apiKeys: {} } } } }');
  const anew = write('anew-owner.yaml', readFileSync(join(folder, file), 'utf8').replace('OWNER', 'READ_ONLY'));
  for (const words of [`plan ${without}`, `apply ${without}`, `plan ${anew}`, `apply ${anew}`]) {
    const { code, stderr } = await run(`${words} --prune`, data.key);
    assert.equal(code, 1);
    assert.match(stderr, /^Error: This ends the API key that the command uses, and nothing has been changed\n/);
  }
  assert.equal(await succeeds(`check ${file} --prune`, data.key), NO_CHANGE);
  const other = write('other.yaml', 'organizations: { other: {} }');
  assert.equal((await run(`plan ${other}`, data.key)).code, 1);
  const two = write(
    'own-and-other.yaml',
    'organizations: { other: { workspaces: { x: {} } }, acme: { workspaces: { store: { name: Own } } } }',
  );
  const mixed = await run(`apply ${two}`, data.key);
  assert.equal(mixed.code, 1);
  assert.match(mixed.stdout, /^! other\n {4}Error: .*403 FORBIDDEN\)\n~ acme\/store: workspace\n/);
  assert.match(mixed.stderr, /^Error: 1 organization or workspace failed: other\n/);
});

test('a name that stands twice is refused with the ids and the command that ends one, and an export leaves out its list', async () => {
  const ids: string[] = [];
  for (const _ of [1, 2])
    ids.push((await admin('POST', `${STORE}/api-keys`, { name: 'twin', permissions: 'READ_ONLY' })).data.id);
  const named = `API key twin of acme/store (ids ${ids.toSorted().join(', ')})`;
  const file = 'organizations: { acme: { workspaces: { store: { apiKeys: { twin: { permissions: READ_ONLY } } } } } }';
  for (const words of [`check ${write('twin.yaml', file)}`, `apply twin.yaml --prune`]) {
    const { stderr } = await refuses(words);
    assert.equal(
      stderr,
      `Error: A name that stands twice cannot be managed: ${named}\nNothing has been changed. End all but one of them:\n  wda key revoke <id> -w acme/store\n`,
    );
  }

  const { code, stdout, stderr } = await run('export');
  assert.equal(code, 0);
  assert.equal(
    stderr,
    `Warning: acme/store: apiKeys is left out, as a name stands twice: ${named}. End all but one of them: wda key revoke <id> -w acme/store\n`,
  );
  assert.doesNotMatch(stdout, /twin/);
  assert.match(stdout, /nightly:/);
  // A file with one of the two, or without both, would end a key.
  assert.equal(await succeeds(`apply ${write('without.yaml', stdout)} --prune`), NO_CHANGE);
  assert.match(await succeeds(`apply ${write('none.yaml', file.replace(/twin: {.*?}/, ''))} --prune`), /API key twin/);
});

test('a mistake of a schema has the line of its file, and ends its workspace, or with --stop all of it', async () => {
  write('broken.yaml', 'entities:\n  orders:\n    fields:\n      total: { type: money }\n');
  const file = write(
    'new.yaml',
    'organizations: { fresh: { workspaces: { shop: { schema: { $file: broken.yaml } } } } }',
  );
  const stopped = await run(`apply ${file} --stop`);
  assert.equal(stopped.code, 1);
  assert.match(stopped.stderr, /line 4, entities\.orders\.fields\.total\.type/);
  assert.equal(stopped.stdout, '');
  const { code, stdout, stderr } = await run(`apply ${file}`);
  assert.equal(code, 1);
  assert.match(stdout, /^! fresh\/shop\n {4}Error: .*\n {6}line 4, entities\.orders\.fields\.total\.type/);
  assert.match(stdout, /\n1 change done; 1 workspace failed\n$/);
  assert.match(stderr, /^Error: 1 of 1 workspace failed: fresh\/shop\n/);
  write('broken.yaml', 'entities:\n  orders:\n    fields:\n      total: { type: integer }\n');
  assert.match(await succeeds(`apply ${file}`), /1 change done\n$/);
});

test('a file of secrets that is there is not touched', async () => {
  const before = readFileSync(join(folder, 'secrets.ndjson'), 'utf8');
  write('key.yaml', 'organizations: { fresh: { workspaces: { shop: { apiKeys: { a: { permissions: OWNER } } } } } }');
  const { code, stderr } = await run('apply key.yaml --secrets-out secrets.ndjson');
  assert.equal(code, 1);
  assert.match(stderr, /secrets\.ndjson exists already: new secrets need a new file/);
  assert.equal(readFileSync(join(folder, 'secrets.ndjson'), 'utf8'), before);
  assert.deepEqual((await admin('GET', '/api/admin/v1/organizations/fresh/workspaces/shop/api-keys')).data, []);
});

test('webhooks are applied and exported by name, without secrets, and a change keeps the secret and the headers', async () => {
  const URL = 'https://receiver.invalid/hooks';
  const member = (url: string, more = ''): string =>
    `organizations: { hooks: { workspaces: { shop: { schema: { entities: { orders: { fields: { status: { type: string } }, settings: { changes: feed } } } }, webhooks: { erp: { url: "${url}", entities: [orders]${more} } } } } } }`;
  write('hooks.yaml', member(URL, ', filter: { field: status, op: eq, value: paid }'));
  const applied = await succeeds('apply hooks.yaml');
  assert.match(applied, /\+ hooks\/shop: webhook erp\n/);
  const [, secret = ''] = /secret: (whsec_\S+)/.exec(applied) ?? [];
  assert.notEqual(secret, '');
  assert.equal(await succeeds('check hooks.yaml'), NO_CHANGE);

  const path = '/api/admin/v1/organizations/hooks/workspaces/shop/webhooks';
  const [webhook] = (await admin('GET', path)).data;
  await admin('PUT', `${path}/${webhook.id}`, { headers: { Authorization: 'Bearer of-the-receiver' } });
  assert.equal(await succeeds('check hooks.yaml'), NO_CHANGE);
  const exported = await succeeds('export -w hooks/shop');
  assert.match(exported, /webhooks:\n +erp:\n +url: https:\/\/receiver\.invalid\/hooks\n/);
  for (const word of ['whsec_', 'of-the-receiver', 'Authorization']) assert.ok(!exported.includes(word), word);
  write('exported-hooks.yaml', exported);
  assert.equal(await succeeds('check exported-hooks.yaml'), NO_CHANGE);

  write('hooks.yaml', member(`${URL}/2`, ', maxBatch: 5'));
  assert.match(await succeeds('apply hooks.yaml'), /~ hooks\/shop: webhook erp\n/);
  const [changed] = (await admin('GET', path)).data;
  assert.deepEqual(
    [changed.id, changed.url, changed.maxBatch, changed.filter, changed.headers],
    [webhook.id, `${URL}/2`, 5, null, { Authorization: null }],
  );
  const [row] = await server.database.query('select secret from wda.webhook where id = $1', [webhook.id]);
  assert.notEqual(row?.secret, null);

  write('hooks.yaml', member(URL).replace(/webhooks: .*? \} \}/, 'webhooks: {}'));
  assert.match(await succeeds('apply hooks.yaml'), /left - hooks\/shop: webhook erp \(id \d+\)\n {4}needs --prune/);
  assert.match(await succeeds('apply hooks.yaml --prune'), /- hooks\/shop: webhook erp/);
  assert.deepEqual((await admin('GET', path)).data, []);
});
