// Backups and restores: what comes back is what there was, at one moment, and what is no whole backup changes nothing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Entry, type Piece, readFile, writeFile } from '../../../src/backup/format.ts';
import { openConnection, rawRequest } from '../../support/raw-http.ts';
import { prepare, use, useIssuer, useServer } from '../../support/resources.ts';
import { ADMIN_KEY, type Answer, type TestServer, type TestWorkspace } from '../../support/server.ts';
import { makeShop, TYPES_SCHEMA } from '../../support/shop.ts';
import { LOCAL_PROVIDER, makeUsers } from '../../support/users.ts';
import { until } from '../../support/wait-until.ts';

const ADMIN = '/api/admin/v1';
const server = useServer(LOCAL_PROVIDER);
/** An installation of its own. */
/** Takes documents of half a megabyte. */
const elsewhere = useServer({ WDA_MAX_BODY_BYTES: '262144' });
const issuer = useIssuer();
const shop = use(() => makeShop(server));
const types = use(() => server.workspace('acme/types', TYPES_SCHEMA));

/** Bytes of an answer; TestClient reads texts. */
async function download(from: TestServer, path: string, credential = ADMIN_KEY): Promise<Buffer> {
  const answer = await fetch(`${from.url}${ADMIN}${path}`, { headers: { authorization: `Bearer ${credential}` } });
  assert.equal(answer.status, 200);
  assert.match(answer.headers.get('content-disposition') ?? '', /^attachment; filename="[a-z-]+\.wda"$/);
  return Buffer.from(await answer.arrayBuffer());
}

const backupOf = ({ path }: TestWorkspace, credential?: string): Promise<Buffer> => {
  const [organization, slug] = path.split('/');
  return download(server, `/organizations/${organization}/workspaces/${slug}/backup`, credential);
};

const restore = (to: TestServer, body: Uint8Array | string, as?: string): Promise<Answer> =>
  to.call(`${ADMIN}/restore${as === undefined ? '' : `?as=${as}`}`, {
    method: 'POST',
    credential: ADMIN_KEY,
    headers: { 'content-type': 'application/octet-stream' },
    body,
  });

async function restored(to: TestServer, body: Uint8Array, as?: string): Promise<Answer['json']> {
  const { status, text, json } = await restore(to, body, as);
  assert.equal(status, 200, text);
  return json.data;
}

/** All that the API says of the records of a workspace. */
async function recordsIn(from: TestServer, path: string, entities: readonly string[], credential = ADMIN_KEY) {
  const found: Record<string, unknown> = {};
  for (const entity of entities) {
    const { status, text, json } = await from.call(`/api/v1/${path}/${entity}?size=1000&sort=id`, { credential });
    assert.equal(status, 200, text);
    found[entity] = json.data;
  }
  return found;
}

const documentIn = async (from: TestServer, path: string): Promise<unknown> => {
  const [organization, slug] = path.split('/');
  const at = `${ADMIN}/organizations/${organization}/workspaces/${slug}/schema`;
  return (await from.call(at, { credential: ADMIN_KEY })).json.data;
};

const SHOP = ['countries', 'customers', 'profiles', 'products', 'orders', 'items', 'tags', 'orderTags'];
const TYPES = ['samples', 'bounded', 'defaults'];

const SAMPLES = [
  {
    aString: 'tab\t, newline\n, backslash \\N and \\.',
    aText: '',
    anInteger: -2147483648,
    aBigint: '9223372036854775807',
    aDecimal: '1234567890.0987654321',
    aNumeric: '0.00000000000000000000012345678901234567890',
    aFloat: 0.1,
    aBoolean: false,
    aDate: '0001-01-01',
    aDatetime: '2026-03-29T01:30:00.125Z',
    aUuid: '00000000-0000-4000-8000-000000000000',
    aJson: { a: [1, null, 12345678901234567890n.toString(), { b: '\\n"\u2028' }] },
    anEnum: 'c;d',
  },
  {},
];
prepare(async () => {
  await types.create('samples', SAMPLES);
  await types.create('defaults', [{}]);
  // The highest id is of a record that is gone.
  await shop.create('tags', [{ name: 'gone' }]);
  assert.equal((await shop.call('tags/5', { method: 'DELETE' })).status, 204);
});

test('a workspace that is restored under another name has the same records, and goes on with other ids', async () => {
  const { workspaces, leftOut } = await restored(server, await backupOf(shop), 'acme/shop-2');
  assert.deepEqual(
    workspaces.map(({ organization, slug, records }: Record<string, unknown>) => ({ organization, slug, records })),
    [{ organization: 'acme', slug: 'shop-2', records: 39 }],
  );
  assert.deepEqual(leftOut, { apiKeys: 3, oauthClients: 0 });
  const told = await server.call(`${ADMIN}/activity?size=1`, { credential: ADMIN_KEY });
  const [{ action, workspace, subject, details }] = told.json.data;
  assert.deepEqual([action, workspace, subject, details], ['backups.restore', 'shop-2', 'shop-2', { records: 39 }]);
  assert.deepEqual(await recordsIn(server, 'acme/shop-2', SHOP), await recordsIn(server, 'acme/shop', SHOP));
  assert.deepEqual(await documentIn(server, 'acme/shop-2'), await documentIn(server, 'acme/shop'));
  const made = await server.call('/api/v1/acme/shop-2/tags', {
    method: 'POST',
    credential: ADMIN_KEY,
    body: { name: 'new' },
  });
  assert.equal(made.json.data.id, 6);
});

test('no version and no cursor of before fits by chance, also where the numbers of transactions are the same', async () => {
  await restored(server, await backupOf(shop), 'acme/shop-4');
  const copy = (path: string, headers = {}, method = 'GET', body?: unknown) =>
    server.call(`/api/v1/acme/shop-4/${path}`, { method, credential: ADMIN_KEY, headers, body });
  const versionIn = (answer: Answer): string => /^"([^.]+)\./.exec(answer.headers.get('etag') ?? '')?.[1] ?? '';
  const [before, after] = [versionIn(await shop.call('tags/1')), versionIn(await copy('tags/1'))];
  const [, epoch] = /^\d+-([0-9a-f]{8})$/.exec(before) ?? [];
  const [, transaction, ownEpoch] = /^(\d+)-([0-9a-f]{8})$/.exec(after) ?? [];
  assert.notEqual(epoch, ownEpoch);
  const stale = `${transaction}-${epoch}`;
  const change = { name: 'present' };
  assert.equal((await copy('tags/1', { 'if-match': `"${stale}.x"` }, 'PUT', change)).status, 412);
  assert.equal((await copy('tags/1', { 'if-match': `"${transaction}"` }, 'PUT', change)).status, 412);
  assert.equal((await copy('tags/_bulk/delete', {}, 'POST', { ids: [1], versions: { 1: stale } })).status, 412);
  const listed = (await copy('tags?versions=true&size=1&sort=id')).json.meta;
  assert.deepEqual(listed.versions, [after]);
  assert.equal((await copy('tags/1', { 'if-match': `"${after}"` }, 'PUT', change)).status, 200);
  const { nextCursor } = (await shop.call('tags?size=1&sort=id')).json.meta;
  assert.equal((await copy(`tags?size=1&sort=id&after=${nextCursor}`)).status, 400);
  assert.equal((await copy(`tags?size=1&sort=id&after=${listed.nextCursor}`)).status, 200);
});

test('constraints, references and indexes are there again', async () => {
  await restored(server, await backupOf(shop), 'acme/shop-3');
  const call = (path: string, method: string, body?: unknown) =>
    server.call(`/api/v1/acme/shop-3/${path}`, { method, credential: ADMIN_KEY, body });
  assert.equal((await call('countries', 'POST', { code: 'GB' })).status, 409);
  assert.equal(
    (await call('items', 'POST', { quantity: 1, orderId: 999 })).json.error.details[0].code,
    'REFERENCE_NOT_FOUND',
  );
  assert.equal((await call('countries/1', 'DELETE')).status, 204);
  const [original, copy] = await Promise.all(
    ['shop', 'shop_3'].map((slug) =>
      server.database.query(
        `select replace(indexdef, schemaname, '') as indexdef from pg_indexes where schemaname ~ $1 order by 1`,
        [`^ws\\d+_${slug}$`],
      ),
    ),
  );
  assert.deepEqual(copy, original);
});

test('every value of every type comes back as it was, on another installation, with keys that work', async () => {
  await restored(elsewhere, await backupOf(types));
  const [here, there] = await Promise.all(
    [server, elsewhere].map((from) => recordsIn(from, 'acme/types', TYPES, types.key)),
  );
  assert.deepEqual(there, here);
  const made = await elsewhere.call('/api/v1/acme/types/samples', {
    method: 'POST',
    credential: types.readOnlyKey,
    body: {},
  });
  assert.equal(made.status, 403);
});

test('settings, scopes, clients, the identity provider and the history come along', async () => {
  const place = `${ADMIN}/organizations/acme/workspaces/types`;
  const ask = (from: TestServer, path: string, method = 'GET', body?: unknown, at = place) =>
    from.call(`${at}${path}`, { method, credential: ADMIN_KEY, body });
  const named = (name: string) => ({ name, permissions: 'READ_ONLY', entities: ['bounded', 'samples'] });
  const key = (await ask(server, '/api-keys', 'POST', named('scoped'))).json.data.key;
  const client = (await ask(server, '/oauth-clients', 'POST', named('program'))).json.data;
  await makeUsers(types, issuer);
  const requiredClaims = { org: ['\\', { a: null }] };
  assert.equal((await ask(server, '/identity-provider', 'PUT', { requiredClaims })).status, 200);
  assert.equal((await ask(server, '/mcp', 'PUT', { enabled: true, writes: 'on', entities: ['bounded'] })).status, 200);
  const schema = (await ask(server, '/schema')).json.data;
  schema.entities.notes = { fields: { text: { type: 'text' } } };
  assert.equal((await ask(server, '/schema', 'PUT', schema)).status, 200);

  const corsOrigins = ['https://app.example.com'];
  assert.equal((await ask(server, '', 'PUT', { corsOrigins })).status, 200);

  const bytes = await backupOf(types);
  assert.equal((await restore(elsewhere, bytes, 'other/types')).status, 200);
  const there = `${ADMIN}/organizations/other/workspaces/types`;
  const told = async (path: string) => {
    const [here, copy] = await Promise.all([ask(server, path), ask(elsewhere, path, 'GET', undefined, there)]);
    const strip = (text: string) =>
      JSON.parse(text, (name, value) => (['id', 'createdBy', 'lastUsedAt'].includes(name) ? undefined : value));
    assert.deepEqual(strip(copy.text).data, strip(here.text).data, path);
  };
  assert.deepEqual((await ask(elsewhere, '', 'GET', undefined, there)).json.data.corsOrigins, corsOrigins);
  await told('/oauth-clients');
  await told('/identity-provider');
  await told('/mcp');
  await told('/migrations');
  const call = (entity: string) => elsewhere.call(`/api/v1/other/types/${entity}`, { credential: key });
  assert.equal((await call('samples')).status, 200);
  assert.equal((await call('defaults')).status, 404);
  const token = await fetch(`${elsewhere.url}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: client.clientId,
      client_secret: client.clientSecret,
    }),
  });
  assert.equal(token.status, 200);
});

test('an owner gets a backup of their own workspace, and nobody but the operator restores', async () => {
  assert.ok((await backupOf(shop, shop.key)).length > 0);
  const by = (credential: string, method: string, path: string) =>
    server.call(`${ADMIN}${path}`, { method, credential });
  assert.equal((await by(types.key, 'GET', '/organizations/acme/workspaces/shop/backup')).status, 403);
  assert.equal((await by(shop.key, 'GET', '/backup')).status, 403);
  assert.equal((await by(shop.key, 'POST', '/restore')).status, 403);
});

/** What a restore could have left: rows of the control tables, and schemas. */
const stateOf = ({ database }: TestServer) =>
  database.query(`select (select count(*) from wda.organization) as organizations, (select count(*) from wda.workspace) as workspaces,
  (select count(*) from wda.api_key) as keys, (select count(*) from wda.activity) as activities,
  (select count(*) from pg_namespace) as schemas, (select count(*) from pg_class) as relations`);

test('what is no whole backup is refused, and nothing is changed', async () => {
  const bytes = await backupOf(types);
  const before = await stateOf(elsewhere);
  const refused = async (file: Uint8Array | string, words: RegExp) => {
    const { status, json, text } = await restore(elsewhere, file, 'acme/damaged');
    assert.equal(status, 400, text);
    assert.match(json.error.message, words);
  };
  await refused('', /^This is no backup/);
  await refused('PGDMP and more', /^This is no backup/);
  await refused(JSON.stringify({ product: 'another', format: 1 }), /^This is no backup/);
  const newer = Buffer.from(bytes.toString('latin1').replace('"format":1', '"format":2'), 'latin1');
  await refused(newer, /^The backup was written by a newer version/);
  for (let share = 1; share < 6; share++) {
    const at = Math.floor((bytes.length * share) / 6);
    await refused(
      bytes.subarray(0, at),
      /^The backup is damaged: it is cut off (after \d+ bytes|in its first line)\. Nothing was changed$/,
    );
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] as number) ^ 1;
    await refused(changed, /^(The backup is damaged|This is no backup)/);
  }
  assert.deepEqual(await stateOf(elsewhere), before);
});

/** The file with other pieces, and right checksums. */
async function forged(bytes: Buffer, change: (piece: Piece, entry: Entry) => Piece): Promise<Buffer> {
  const { header, pieces } = await readFile(
    (async function* () {
      yield bytes;
    })(),
  );
  let entry: Entry = { kind: '' };
  const others = async function* (): AsyncGenerator<Piece> {
    for await (const piece of pieces) {
      if ('entry' in piece) entry = piece.entry;
      yield change(piece, entry);
    }
  };
  const chunks: Buffer[] = [];
  for await (const chunk of writeFile(header, others())) chunks.push(chunk);
  return Buffer.concat(chunks);
}

test('a file whose checksums are right and whose content is not is refused', async () => {
  const bytes = await backupOf(shop);
  const before = await stateOf(elsewhere);
  const tries: readonly [RegExp, (piece: Piece, entry: Entry) => Piece][] = [
    [
      /has records of tags that do not fit/,
      (piece, entry) =>
        entry.entity === 'tags' && 'data' in piece ? { data: Buffer.from('1\tgift\n1\tother\n') } : piece,
    ],
    [
      /has records of tags that do not fit/,
      (piece, entry) => (entry.entity === 'tags' && 'data' in piece ? { data: Buffer.from('one\tgift\n') } : piece),
    ],
    [
      /has records of tags that do not fit/,
      (piece, entry) =>
        'entry' in piece && entry.entity === 'tags' ? { entry: { ...entry, fields: ['id', 'nam"e'] } } : piece,
    ],
    [
      /has records of unknown that do not fit/,
      (piece, entry) =>
        'entry' in piece && entry.entity === 'tags' ? { entry: { ...entry, entity: 'unknown' } } : piece,
    ],
    [
      /is damaged: its schema document is not valid/,
      (piece, entry) =>
        entry.kind === 'workspace' && 'data' in piece ? { data: Buffer.from('{"entities":{"a b":{}}}') } : piece,
    ],
    [
      /is damaged: its schema document is no JSON/,
      (piece, entry) => (entry.kind === 'workspace' && 'data' in piece ? { data: Buffer.from('{') } : piece),
    ],
    [
      /is damaged: it has a part of an unknown kind/,
      (piece, entry) => ('entry' in piece && entry.entity === 'tags' ? { entry: { kind: 'other' } } : piece),
    ],
    [
      /is damaged: it has rows of an unknown kind/,
      (piece, entry) => ('entry' in piece && entry.of === 'agents' ? { entry: { ...entry, of: 'other' } } : piece),
    ],
    [
      /has records of apiKeys that do not fit/,
      (piece, entry) => (entry.of === 'apiKeys' && 'data' in piece ? { data: Buffer.from('{\n') } : piece),
    ],
    [
      /is damaged: a sequence of ids/,
      (piece, entry) => ('entry' in piece && entry.entity === 'tags' ? { entry: { ...entry, lastId: '-1' } } : piece),
    ],
  ];
  const of = (what: (entry: Entry) => boolean, other: object | null) => (piece: Piece, entry: Entry) =>
    'entry' in piece && what(entry) ? { entry: (other && { ...entry, ...other }) as Entry } : piece;
  const isTags = ({ entity }: Entry) => entity === 'tags';
  const is = (kind: string) => (entry: Entry) => entry.kind === kind;
  const rows = (name: string, line: string) => (piece: Piece, entry: Entry) =>
    entry.of === name && 'data' in piece ? { data: Buffer.from(`${line}\n`) } : piece;
  const key = { name: 'k', prefix: 'p', hash: '00', permissions: 'READ_ONLY', created_at: '2026-01-31T12:00:00Z' };
  const history = (steps: string) =>
    `{"state":"failed","strategy":"online","document":{},"created_at":"2026-01-31T12:00:00Z","steps":${steps}}`;
  const made: typeof tries = [
    [/a part of it is no JSON object/, of(isTags, null)],
    [
      /schema document of more than 524288 bytes: start the server with a higher WDA_MAX_BODY_BYTES/,
      (piece, entry) =>
        entry.kind === 'workspace' && 'data' in piece
          ? { data: Buffer.from(`{"entities":[${'{},'.repeat(250_000)}{}]}`) }
          : piece,
    ],
    [/its records have a field twice/, of(isTags, { fields: ['id', 'id'] })],
    [/its records have no fields/, of(isTags, { fields: [] })],
    ...['organization', 'workspace'].flatMap((kind): typeof tries => [
      [/has a slug that no server gives/, of(is(kind), { slug: '../x' })],
      [/has a name that no server gives/, of(is(kind), { name: 'x'.repeat(201) })],
      [/has a createdAt that no server gives/, of(is(kind), { createdAt: 'infinity' })],
      [/has a createdAt that no server gives/, of(is(kind), { createdAt: '290000-01-01' })],
    ]),
    [/records of apiKeys that do not fit/, rows('apiKeys', JSON.stringify({ ...key, expires_at: 'infinity' }))],
    [/records of apiKeys that do not fit/, rows('apiKeys', JSON.stringify({ ...key, expires_at: '10000-01-01' }))],
    [/records of apiKeys that do not fit/, rows('apiKeys', history('['.repeat(100_000) + ']'.repeat(100_000)))],
  ];
  for (const [words, change] of [...tries, ...made]) {
    const { status, json, text } = await restore(elsewhere, await forged(bytes, change), 'acme/forged');
    assert.equal(status, 400, text);
    assert.match(json.error.message, words);
  }
  assert.deepEqual(await stateOf(elsewhere), before);
});

test('a sequence that is behind the records of its table is moved on', async () => {
  const bytes = await forged(await backupOf(shop), (piece) =>
    'entry' in piece && piece.entry.entity === 'tags' ? { entry: { ...piece.entry, lastId: '1' } } : piece,
  );
  await restored(elsewhere, bytes, 'acme/behind');
  const place = `${ADMIN}/organizations/acme/workspaces/behind`;
  const asked = { method: 'POST', credential: ADMIN_KEY, body: { name: 'for a test', permissions: 'OWNER' } };
  const { key: credential } = (await elsewhere.call(`${place}/api-keys`, asked)).json.data;
  const tags = '/api/v1/acme/behind/tags';
  const { data } = (await elsewhere.call(`${tags}?sort=id,desc&size=1`, { credential })).json;
  const made = await elsewhere.call(tags, { method: 'POST', credential, body: { name: 'next' } });
  assert.deepEqual([made.status, made.json.data.id], [201, data[0].id + 1], made.text);
  assert.equal(
    (await elsewhere.call(`${place}?confirm=behind`, { method: 'DELETE', credential: ADMIN_KEY })).status,
    204,
  );
});

test('a workspace that exists is not replaced, and as is an address', async () => {
  const bytes = await backupOf(shop);
  const taken = await restore(server, bytes);
  assert.equal(taken.status, 409, taken.text);
  assert.equal((await restore(server, bytes, 'shop')).status, 400);
  const wrong = await server.call(`${ADMIN}/restore`, { method: 'POST', credential: ADMIN_KEY, body: {} });
  assert.equal(wrong.status, 415);
});

test('a backup is of one moment, and neither reads nor writes wait for it', async () => {
  const bank = await server.workspace('acme/bank', {
    entities: { left: { fields: { n: { type: 'integer' } } }, right: { fields: { n: { type: 'integer' } } } },
  });
  // Each batch adds one record to both.
  let stopped = false;
  let batches = 0;
  const writing = (async () => {
    while (!stopped) {
      const operations = ['left', 'right'].map((entity) => ({ method: 'POST', entity, body: { n: batches } }));
      const { status, text } = await bank.call('_batch', { method: 'POST', body: { operations } });
      assert.equal(status, 200, text);
      batches++;
    }
  })();
  for (let round = 1; round <= 2; round++) {
    const reached = batches;
    await until('more was written', async () => batches > reached + 3);
    await restored(server, await backupOf(bank), `acme/bank-${round}`);
    const { left, right } = (await recordsIn(server, `acme/bank-${round}`, ['left', 'right'])) as Record<
      string,
      unknown[]
    >;
    assert.equal(left?.length, right?.length);
    assert.ok((left?.length ?? 0) >= Math.min(reached, 1000));
  }
  stopped = true;
  await writing;
});

async function runningBackups(): Promise<number> {
  const [row] = await server.database.query(
    `select count(*)::int as count from pg_stat_activity where application_name = 'workspace-data-api backup'`,
  );
  return Number(row?.count);
}

test('a client that leaves in the middle of a backup leaves nothing behind', async () => {
  const rows = 60_000;
  const large = await server.workspace('acme/large', { entities: { notes: { fields: { text: { type: 'text' } } } } });
  await server.database.query(
    `insert into ${(await server.database.query(`select database_schema as schema from wda.workspace where slug = 'large'`))[0]?.schema}.notes (text)
select string_agg(md5(g::text || n::text), '') from generate_series(1, ${rows}) g, generate_series(1, 10) n group by g`,
  );
  const leaving = new AbortController();
  const answer = await fetch(`${server.url}${ADMIN}/organizations/acme/workspaces/large/backup`, {
    headers: { authorization: `Bearer ${ADMIN_KEY}` },
    signal: leaving.signal,
  });
  await answer.body?.getReader().read();
  leaving.abort();
  await until('its transaction has ended', async () => (await runningBackups()) === 0);
  const bytes = await backupOf(large);
  assert.equal(bytes.length > 1_000_000, true);
  await restored(server, bytes, 'acme/large-2');
});

test('owners who do not read their backups hold up no backup and no restore of the operator', async () => {
  const bytes = await backupOf(shop);
  const held = ['large', 'large-2'].map((slug) => {
    const { socket, answer } = openConnection(server.url);
    const at = `${ADMIN}/organizations/acme/workspaces/${slug}/backup`;
    socket.write(rawRequest('GET', at, [`Authorization: Bearer ${ADMIN_KEY}`]));
    socket.pause();
    return { socket, answer };
  });
  try {
    await until('one has begun', async () => (await runningBackups()) > 0);
    await restored(server, bytes, 'acme/shop-5');
    assert.ok((await download(server, '/backup')).length > bytes.length);
    assert.ok((await runningBackups()) > 0);
  } finally {
    for (const { socket } of held) socket.destroy();
    await Promise.allSettled(held.map(({ answer }) => answer));
  }
});

test('a backup of the instance is restored into an empty one, in whose place of a demo', async () => {
  const bytes = await download(server, '/backup');
  const notEmpty = await restore(elsewhere, bytes);
  assert.equal(notEmpty.status, 409, notEmpty.text);
  assert.match(
    notEmpty.json.error.message,
    /This one has: acme\/types, other\/types\. Restore it with .* Nothing was changed$/,
  );
});

const fresh = useServer({ WDA_DEMO: 'on' });

test('the demo of a first start makes room for it, unless somebody has changed it', async () => {
  const bytes = await download(server, '/backup');
  const demo = '/api/v1/demo/shop/tags';
  const made = await fresh.call(demo, { method: 'POST', credential: ADMIN_KEY, body: { name: 'mine' } });
  const refused = await restore(fresh, bytes);
  assert.equal(refused.status, 409, refused.text);
  assert.match(refused.json.error.message, /This one has: demo\/shop\./);
  await fresh.call(`${demo}/${made.json.data.id}`, { method: 'DELETE', credential: ADMIN_KEY });
  assert.equal((await restore(fresh, bytes, 'acme/one')).status, 400);

  const { workspaces } = await restored(fresh, bytes);
  const [count] = await server.database.query('select count(*)::int as count from wda.workspace');
  assert.equal(workspaces.length, count?.count);
  assert.equal((await fresh.call(demo, { credential: ADMIN_KEY })).status, 404);
  assert.deepEqual(await recordsIn(fresh, 'acme/shop', SHOP, shop.key), await recordsIn(server, 'acme/shop', SHOP));
});
