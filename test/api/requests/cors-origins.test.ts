// Origins of a workspace in place of those of the server: on preflights and answers, in every process, at once.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeNotes } from '../../support/notes-fixture.ts';
import { use, useServer } from '../../support/resources.ts';
import type { Answer, TestServer } from '../../support/server.ts';

const APP = 'https://app.example.com';
const OTHER = 'https://other.example.com';

const open = useServer();
const limited = useServer({ WDA_CORS_ORIGINS: OTHER }, open);
const notes = use(() => makeNotes(open, 'acme/notes'));

const put = (corsOrigins: unknown): Promise<Answer> => notes.admin('', { method: 'PUT', body: { corsOrigins } });

async function allow(corsOrigins: readonly string[] | null): Promise<void> {
  const answer = await put(corsOrigins);
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(answer.json.data.corsOrigins ?? null, corsOrigins);
}

/** What the answers to requests of a page allow: a preflight, a read, a refusal of the credential, an unknown name. */
async function findAllowed(
  server: TestServer,
  origin: string,
  path = 'acme/notes',
): Promise<readonly (string | null)[]> {
  const allowed: (string | null)[] = [];
  const [preflight, credential] = [{ 'access-control-request-method': 'POST' }, notes.key];
  for (const [target, options] of [
    ['notes', { method: 'OPTIONS', headers: { origin, ...preflight } }],
    ['notes', { headers: { origin }, credential }],
    ['notes', { headers: { origin }, credential: 'wda_no' }],
    ['nothing', { headers: { origin }, credential }],
  ] as const) {
    const { headers } = await server.call(`/api/v1/${path}/${target}`, options);
    assert.match(headers.get('vary') ?? '', /\bOrigin\b/);
    allowed.push(headers.get('access-control-allow-origin'));
  }
  return allowed;
}

const all = (value: string | null): readonly (string | null)[] => [value, value, value, value];

test('a list takes the place of that of the server, in every process with the answer, and null gives it back', async () => {
  for (const round of [1, 2]) {
    await allow([APP, 'http://localhost:5173']);
    for (const server of [open, limited]) {
      assert.deepEqual(await findAllowed(server, APP), all(APP), `round ${round}`);
      assert.deepEqual(await findAllowed(server, OTHER), all(null));
      for (const origin of [
        'null',
        `${APP}:443`,
        'https://APP.example.com',
        `${APP}.evil.example`,
        'http://app.example.com',
        '*',
      ])
        assert.deepEqual(await findAllowed(server, origin), all(null), origin);
    }
    await allow([]);
    for (const server of [open, limited]) assert.deepEqual(await findAllowed(server, OTHER), all(null));
    await allow(null);
    assert.deepEqual(await findAllowed(open, APP), all('*'));
    assert.deepEqual(await findAllowed(limited, OTHER), all(OTHER));
    assert.deepEqual(await findAllowed(limited, APP), all(null));
  }
});

test('a workspace that does not exist answers as one without a list, and the rest of the server as before', async () => {
  await allow([APP]);
  assert.deepEqual(await findAllowed(open, APP, 'acme/none'), all('*'));
  assert.deepEqual(await findAllowed(limited, OTHER, 'acme/none'), all(OTHER));
  assert.deepEqual(await findAllowed(limited, APP, 'acme/none'), all(null));
  for (const path of [
    '/api/v1/',
    '/api/v1/acme',
    '/api/v1/acme/',
    '/api/admin/v1/organizations/acme/workspaces/notes',
    '/oauth/token',
  ]) {
    const answer = await open.call(path, { method: 'OPTIONS', headers: { origin: OTHER } });
    assert.equal(answer.headers.get('access-control-allow-origin'), '*', path);
  }
});

test('a refusal of the credential without an origin is the same for a workspace that does not exist', async () => {
  await allow([APP]);
  assert.equal((await open.call('/api/v1/acme/notes/notes', { credential: notes.key })).status, 200);
  const refuse = async (path: string) => {
    const { status, headers } = await open.call(path, { credential: 'wda_no' });
    return [status, [...headers].filter(([name]) => !['date', 'x-request-id'].includes(name))];
  };
  assert.deepEqual(await refuse('/api/v1/acme/notes/notes'), await refuse('/api/v1/acme/none/notes'));
});

test('a program, which sends no origin, is served, and the answer allows no page', async () => {
  await allow([APP]);
  const answer = await open.call('/api/v1/acme/notes/notes', { credential: notes.key });
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get('access-control-allow-origin'), null);
});

test('a workspace that is renamed takes its list along', async () => {
  await allow([APP]);
  await notes.admin('', { method: 'PUT', body: { slug: 'renamed' } });
  assert.deepEqual(await findAllowed(open, APP, 'acme/renamed'), all(APP));
  const back = await open.call('/api/admin/v1/organizations/acme/workspaces/renamed', {
    method: 'PUT',
    credential: notes.key,
    body: { slug: 'notes', name: 'Notes' },
  });
  assert.deepEqual(back.json.data.corsOrigins, [APP]);
});

for (const [origin, message] of [
  ['*', /^must be an origin such as https:\/\/app\.example\.com, as browsers send it$/],
  ['null', /as browsers send it$/],
  ['', /as browsers send it$/],
  ['capacitor://localhost', /as browsers send it$/],
  ['https://*.example.com', /as browsers send it/],
  ['https://app.example.com/', /Did you mean https:\/\/app\.example\.com\?$/],
  ['https://app.example.com:443', /Did you mean https:\/\/app\.example\.com\?$/],
  ['https://App.example.com', /Did you mean https:\/\/app\.example\.com\?$/],
  ['https://bücher.example', /Did you mean https:\/\/xn--bcher-kva\.example\?$/],
  ['https://user@app.example.com', /Did you mean https:\/\/app\.example\.com\?$/],
] as const) {
  test(`${origin === '' ? 'a blank text' : origin} is no origin of a workspace`, async () => {
    const answer = await put([APP, origin]);
    assert.equal(answer.status, 400, answer.text);
    const [detail] = answer.json.error.details;
    assert.equal(detail.field, 'corsOrigins.1');
    assert.match(detail.message, message);
  });
}

test('lists that are too long, repeat an origin or are no lists are refused', async () => {
  const many = Array.from({ length: 101 }, (_, index) => `https://a${index}.example`);
  for (const wrong of [many, [APP, APP], APP, [1], [`https://${'a'.repeat(300)}.example`]])
    assert.equal((await put(wrong)).status, 400, JSON.stringify(wrong).slice(0, 50));
  await allow(many.slice(1));
});
