// Who may do what in the admin API: every route with every kind of credential, and in which order it refuses. A route
// without a line here fails.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ADMIN_PREFIX, ADMIN_ROUTES, routeName } from '../../support/admin-routes.ts';
import { isCluster } from '../../support/citus.ts';
import { signIn } from '../../support/console-client.ts';
import { prepare, use, useIssuer, useServer } from '../../support/resources.ts';
import { ADMIN_KEY, type Answer } from '../../support/server.ts';
import { LOCAL_PROVIDER, makeUsers } from '../../support/users.ts';

const SCHEMA = { entities: { notes: { fields: { text: { type: 'text' } } } } };
const OWN = '/organizations/acme/workspaces/own';

/** In the order of the columns. */
let credentials: readonly (string | null)[];
let made = 0;
const server = useServer({ ...LOCAL_PROVIDER, WDA_SIGN_IN_RATE_LIMIT: '0' });
const issuer = useIssuer();
const own = use(() => server.workspace('acme/own', SCHEMA));
prepare(async () => {
  const other = await server.workspace('other/other', SCHEMA);
  await makeUsers(own, issuer);
  // Known there as well, so that it is a user whatever becomes of the provider here.
  const user = (await makeUsers(other, issuer))({ sub: 'user' });
  credentials = [null, own.readOnlyKey, user, own.key, other.key, ADMIN_KEY];
});

const WHO = ['nobody', 'a read-only key', 'an external user', 'the owner', 'an owner elsewhere', 'the operator'];

interface Line {
  /** What each is answered, in the order of WHO. */
  readonly statuses: readonly [number, number, number, number, number, number];
  readonly query?: string;
  readonly body?: () => unknown;
  /** Makes what a call that must succeed is about: the path, below /api/admin/v1. */
  readonly at?: () => Promise<string>;
}

const slug = (): string => `made-${++made}`;
const doing = async (method: string, path: string, body: unknown): Promise<Answer> =>
  server.call(`${ADMIN_PREFIX}${path}`, { method, credential: ADMIN_KEY, body });
/** A path with the id of what a request has made. */
const below =
  (path: string, method: string, tail: string, body: unknown, rest = '') =>
  async (): Promise<string> =>
    `${OWN}${path}/${(await doing(method, `${OWN}${tail}`, body)).json.data.id}${rest}`;

const makeMember = () => ({ email: `${slug()}@example.com`, role: 'viewer' });
const memberOf = (place: string) => async (): Promise<string> =>
  `${place}/members/${(await doing('POST', `${place}/members`, makeMember())).json.data.id}`;

const makeWebhook = () => ({ name: slug(), url: 'https://receiver.invalid/' });
const ofWebhook =
  (rest = '') =>
  (): Promise<string> =>
    below('/webhooks', 'POST', '/webhooks', makeWebhook(), rest)();

const makeView = () => ({ entity: 'notes', name: slug(), shared: true });
const ofView = (): (() => Promise<string>) => (): Promise<string> => below('/views', 'POST', '/views', makeView())();

const ofVersion = (tail: string) => async (): Promise<string> =>
  `${(await makeVersion()).replace('/versions/1', '')}${tail}`;
/** A rollout, or a plan, of a schema that nothing follows; with `ended`, one that allows no command any more. */
const ofRollout =
  (plan: 'plan' | '' = '', tail = '', ended = false) =>
  async (): Promise<string> => {
    const path = await ofVersion('/rollouts')();
    const { id } = (await doing('POST', `${path}/${plan}`.replace(/\/$/, ''), { version: 1 })).json.data;
    if (plan !== '') return `${path}/plan?id=${id}`;
    if (ended) await doing('POST', `${path}/${id}/cancel`, undefined);
    return `${path}/${id}${tail}`;
  };

const FOR_OPERATOR = [401, 403, 403, 403, 403] as const;
const forOwner = (status: number): Line['statuses'] => [401, 403, 403, status, 403, status];

/** Plain PostgreSQL has no nodes. */
const onCluster = (status: number): number => (isCluster ? status : 409);

const makeShared = async (): Promise<string> =>
  `/organizations/acme/schemas/${(await doing('POST', '/organizations/acme/schemas', { name: slug() })).json.data.name}`;
const makeVersion = async (): Promise<string> => {
  const path = await makeShared();
  await doing('POST', `${path}/versions`, SCHEMA);
  return `${path}/versions/1`;
};

const LINES: Readonly<Record<string, Line>> = {
  'GET /server': { statuses: [...FOR_OPERATOR, 200] },
  'GET /server/statistics': { statuses: [...FOR_OPERATOR, 200] },
  'GET /session': { statuses: [401, 200, 403, 200, 200, 200] },
  'GET /sessions': { statuses: [401, 200, 403, 200, 200, 200] },
  'DELETE /sessions/:id': {
    statuses: [401, 404, 403, 204, 404, 204],
    async at() {
      const { call } = await signIn(server, own.key);
      const { data } = (await call('/admin/v1/sessions')).json;
      return `/sessions/${data.find((one: { current: boolean }) => one.current).id}`;
    },
  },
  'POST /console-links': { statuses: [...FOR_OPERATOR, 201] },
  'GET /organizations': { statuses: [...FOR_OPERATOR, 200] },
  'POST /organizations': { statuses: [...FOR_OPERATOR, 201], body: () => ({ slug: slug() }) },
  'GET /organizations/:org': { statuses: forOwner(200) },
  'PUT /organizations/:org': { statuses: [...FOR_OPERATOR, 200], body: () => ({ name: 'Acme' }) },
  'DELETE /organizations/:org': {
    statuses: [...FOR_OPERATOR, 204],
    at: async () => `/organizations/${(await doing('POST', '/organizations', { slug: slug() })).json.data.slug}`,
  },
  'GET /workspaces': { statuses: [...FOR_OPERATOR, 200] },
  'GET /organizations/:org/workspaces': { statuses: [...FOR_OPERATOR, 200] },
  'POST /organizations/:org/workspaces': { statuses: [...FOR_OPERATOR, 201], body: () => ({ slug: slug() }) },
  'GET /organizations/:org/workspaces/:ws': { statuses: forOwner(200) },
  'PUT /organizations/:org/workspaces/:ws': { statuses: forOwner(200), body: () => ({ name: 'Own' }) },
  'DELETE /organizations/:org/workspaces/:ws': {
    statuses: [...FOR_OPERATOR, 204],
    query: '?confirm=gone',
    at: async () => {
      const { data } = (await doing('POST', '/organizations/acme/workspaces', { slug: 'gone' })).json;
      return `/organizations/acme/workspaces/${data.slug}`;
    },
  },
  'GET /organizations/:org/workspaces/:ws/usage': { statuses: forOwner(200) },
  'POST /organizations/:org/workspaces/:ws/copy': {
    statuses: [...FOR_OPERATOR, 201],
    body: () => ({ slug: slug(), withoutRecords: true }),
  },
  'GET /organizations/:org/workspaces/:ws/statistics': { statuses: forOwner(200) },
  'GET /organizations/:org/workspaces/:ws/changes': { statuses: forOwner(200) },
  'GET /openapi.json': { statuses: [200, 200, 200, 200, 200, 200] },
  'GET /schema.json': { statuses: [200, 200, 200, 200, 200, 200] },
  'GET /organizations/:org/workspaces/:ws/schema': { statuses: forOwner(200) },
  'POST /organizations/:org/workspaces/:ws/schema/plan': { statuses: forOwner(200), body: () => SCHEMA },
  'PUT /organizations/:org/workspaces/:ws/schema': { statuses: forOwner(200), body: () => SCHEMA },
  'GET /organizations/:org/schemas/:name/rollouts': {
    statuses: [...FOR_OPERATOR, 200],
    at: async () => `${await makeShared()}/rollouts`,
  },
  'POST /organizations/:org/schemas/:name/rollouts': {
    statuses: [...FOR_OPERATOR, 202],
    at: ofVersion('/rollouts'),
    body: () => ({ version: 1 }),
  },
  'POST /organizations/:org/schemas/:name/rollouts/plan': {
    statuses: [...FOR_OPERATOR, 202],
    at: ofVersion('/rollouts/plan'),
    body: () => ({ version: 1 }),
  },
  'GET /organizations/:org/schemas/:name/rollouts/plan': {
    statuses: [...FOR_OPERATOR, 200],
    at: ofRollout('plan'),
  },
  'GET /organizations/:org/schemas/:name/rollouts/:id': { statuses: [...FOR_OPERATOR, 200], at: ofRollout() },
  'GET /organizations/:org/schemas/:name/rollouts/:id/workspaces': {
    statuses: [...FOR_OPERATOR, 200],
    at: ofRollout('', '/workspaces'),
  },
  'POST /organizations/:org/schemas/:name/rollouts/:id/pause': {
    statuses: [...FOR_OPERATOR, 409],
    at: ofRollout('', '/pause', true),
  },
  'POST /organizations/:org/schemas/:name/rollouts/:id/resume': {
    statuses: [...FOR_OPERATOR, 409],
    at: ofRollout('', '/resume', true),
  },
  'POST /organizations/:org/schemas/:name/rollouts/:id/retry': {
    statuses: [...FOR_OPERATOR, 409],
    at: ofRollout('', '/retry', true),
  },
  'POST /organizations/:org/schemas/:name/rollouts/:id/cancel': {
    statuses: [...FOR_OPERATOR, 409],
    at: ofRollout('', '/cancel', true),
  },
  'GET /organizations/:org/schemas': { statuses: forOwner(200) },
  'POST /organizations/:org/schemas': { statuses: [...FOR_OPERATOR, 201], body: () => ({ name: slug() }) },
  'GET /organizations/:org/schemas/:name': { statuses: forOwner(200), at: makeShared },
  'DELETE /organizations/:org/schemas/:name': { statuses: [...FOR_OPERATOR, 204], at: makeShared },
  'GET /organizations/:org/schemas/:name/versions': {
    statuses: forOwner(200),
    at: async () => `${await makeShared()}/versions`,
  },
  'POST /organizations/:org/schemas/:name/versions': {
    statuses: [...FOR_OPERATOR, 201],
    at: async () => `${await makeShared()}/versions`,
    body: () => SCHEMA,
  },
  'GET /organizations/:org/schemas/:name/versions/:version': { statuses: forOwner(200), at: makeVersion },
  'GET /activity': { statuses: [...FOR_OPERATOR, 200] },
  'GET /organizations/:org/workspaces/:ws/activity': { statuses: forOwner(200) },
  'GET /migrations': { statuses: [401, 403, 403, 200, 200, 200] },
  'GET /organizations/:org/workspaces/:ws/migrations': { statuses: forOwner(200) },
  'GET /organizations/:org/workspaces/:ws/migrations/:id': {
    statuses: forOwner(200),
    at: below('/migrations', 'PUT', '/schema', SCHEMA),
  },
  'POST /organizations/:org/workspaces/:ws/migrations/:id/cancel': {
    // It has ended.
    statuses: forOwner(409),
    at: below('/migrations', 'PUT', '/schema', SCHEMA, '/cancel'),
  },
  'GET /organizations/:org/workspaces/:ws/entities/:entity/settings': { statuses: forOwner(200) },
  'PUT /organizations/:org/workspaces/:ws/entities/:entity/settings': { statuses: forOwner(200), body: () => ({}) },
  'GET /organizations/:org/workspaces/:ws/entities/:entity/row-rules': { statuses: forOwner(200) },
  'PUT /organizations/:org/workspaces/:ws/entities/:entity/row-rules': { statuses: forOwner(200), body: () => [] },
  'GET /organizations/:org/workspaces/:ws/entities/:entity/grants': { statuses: forOwner(200) },
  'PUT /organizations/:org/workspaces/:ws/entities/:entity/grants': { statuses: forOwner(200), body: () => [] },
  'GET /organizations/:org/members': { statuses: [...FOR_OPERATOR, 200] },
  'POST /organizations/:org/members': { statuses: [...FOR_OPERATOR, 201], body: makeMember },
  'PUT /organizations/:org/members/:id': {
    statuses: [...FOR_OPERATOR, 200],
    body: () => ({ role: 'editor' }),
    at: memberOf('/organizations/acme'),
  },
  'DELETE /organizations/:org/members/:id': { statuses: [...FOR_OPERATOR, 204], at: memberOf('/organizations/acme') },
  'GET /organizations/:org/workspaces/:ws/members': { statuses: forOwner(200) },
  'POST /organizations/:org/workspaces/:ws/members': { statuses: forOwner(201), body: makeMember },
  'PUT /organizations/:org/workspaces/:ws/members/:id': {
    statuses: forOwner(200),
    body: () => ({ role: 'editor' }),
    at: memberOf(OWN),
  },
  'DELETE /organizations/:org/workspaces/:ws/members/:id': { statuses: forOwner(204), at: memberOf(OWN) },
  'GET /organizations/:org/workspaces/:ws/api-keys': { statuses: forOwner(200) },
  'POST /organizations/:org/workspaces/:ws/api-keys': { statuses: forOwner(201), body: () => ({ name: 'key' }) },
  'PUT /organizations/:org/workspaces/:ws/api-keys/:id': {
    statuses: forOwner(200),
    body: () => ({ name: 'renamed' }),
    at: below('/api-keys', 'POST', '/api-keys', { name: 'misnamed' }),
  },
  'DELETE /organizations/:org/workspaces/:ws/api-keys/:id': {
    statuses: forOwner(204),
    at: below('/api-keys', 'POST', '/api-keys', { name: 'gone' }),
  },
  'GET /organizations/:org/workspaces/:ws/oauth-clients': { statuses: forOwner(200) },
  'POST /organizations/:org/workspaces/:ws/oauth-clients': { statuses: forOwner(201), body: () => ({ name: 'job' }) },
  'DELETE /organizations/:org/workspaces/:ws/oauth-clients/:id': {
    statuses: forOwner(204),
    at: below('/oauth-clients', 'POST', '/oauth-clients', { name: 'gone' }),
  },
  'GET /organizations/:org/workspaces/:ws/views': { statuses: [401, 200, 403, 200, 403, 200] },
  'POST /organizations/:org/workspaces/:ws/views': { statuses: forOwner(201), body: makeView },
  'GET /organizations/:org/workspaces/:ws/views/:id': { statuses: [401, 200, 403, 200, 403, 200], at: ofView() },
  'PUT /organizations/:org/workspaces/:ws/views/:id': {
    statuses: forOwner(200),
    body: () => ({ layout: 'chart' }),
    at: ofView(),
  },
  'DELETE /organizations/:org/workspaces/:ws/views/:id': { statuses: forOwner(204), at: ofView() },
  'GET /organizations/:org/workspaces/:ws/webhooks': { statuses: forOwner(200) },
  'POST /organizations/:org/workspaces/:ws/webhooks': { statuses: forOwner(201), body: makeWebhook },
  'GET /organizations/:org/workspaces/:ws/webhooks/:id': { statuses: forOwner(200), at: ofWebhook() },
  'PUT /organizations/:org/workspaces/:ws/webhooks/:id': {
    statuses: forOwner(200),
    body: () => ({ maxBatch: 2 }),
    at: ofWebhook(),
  },
  'DELETE /organizations/:org/workspaces/:ws/webhooks/:id': { statuses: forOwner(204), at: ofWebhook() },
  'POST /organizations/:org/workspaces/:ws/webhooks/:id/test': { statuses: forOwner(200), at: ofWebhook('/test') },
  'POST /organizations/:org/workspaces/:ws/webhooks/:id/rotate-secret': {
    statuses: forOwner(200),
    body: () => ({ keepHours: 1 }),
    at: ofWebhook('/rotate-secret'),
  },
  'POST /organizations/:org/workspaces/:ws/webhooks/:id/replay': {
    statuses: forOwner(202),
    body: () => ({ from: 'now' }),
    at: ofWebhook('/replay'),
  },
  'GET /organizations/:org/workspaces/:ws/webhooks/:id/deliveries': {
    statuses: forOwner(200),
    at: ofWebhook('/deliveries'),
  },
  // With messages: webhook-deliveries.test.ts.
  'GET /organizations/:org/workspaces/:ws/webhooks/:id/deliveries/:delivery': {
    statuses: forOwner(404),
    at: ofWebhook('/deliveries/d_1'),
  },
  'POST /organizations/:org/workspaces/:ws/webhooks/:id/deliveries/:delivery/redeliver': {
    statuses: forOwner(404),
    at: ofWebhook('/deliveries/d_1/redeliver'),
  },
  'POST /organizations/:org/workspaces/:ws/webhooks/:id/deliveries/:delivery/discard': {
    statuses: forOwner(404),
    at: ofWebhook('/deliveries/d_1/discard'),
  },
  'GET /backup': { statuses: [...FOR_OPERATOR, 200] },
  'GET /organizations/:org/workspaces/:ws/backup': { statuses: forOwner(200) },
  // With the bytes of a file: backup.test.ts.
  'POST /restore': { statuses: [...FOR_OPERATOR, 415], body: () => ({}) },
  // What moves do is told by cluster/moves.test.ts.
  'GET /cluster': { statuses: [...FOR_OPERATOR, onCluster(200)] },
  'GET /cluster/workspaces': { statuses: [...FOR_OPERATOR, onCluster(200)] },
  'GET /cluster/plan': { statuses: [...FOR_OPERATOR, onCluster(200)] },
  'POST /cluster/rebalance': { statuses: [...FOR_OPERATOR, onCluster(202)] },
  'POST /organizations/:org/workspaces/:ws/moves': {
    statuses: [...FOR_OPERATOR, onCluster(400)],
    body: () => ({ node: '10.0.0.12:5432' }),
  },
  'GET /cluster/moves': { statuses: [...FOR_OPERATOR, onCluster(200)] },
  'GET /cluster/moves/:id': { statuses: [...FOR_OPERATOR, onCluster(404)] },
  'POST /cluster/moves/:id/cancel': { statuses: [...FOR_OPERATOR, onCluster(404)] },
  'GET /signing-keys': { statuses: [...FOR_OPERATOR, 200] },
  'POST /signing-keys/rotate': { statuses: [...FOR_OPERATOR, 200] },
  'GET /organizations/:org/workspaces/:ws/access/report': { statuses: forOwner(200) },
  'POST /organizations/:org/workspaces/:ws/access/test': {
    statuses: forOwner(200),
    body: () => ({ claims: { sub: 'user' }, requests: [{ path: 'notes' }, { path: 'nothing' }] }),
  },
  'GET /organizations/:org/workspaces/:ws/identity-provider': { statuses: forOwner(200) },
  'PUT /organizations/:org/workspaces/:ws/identity-provider': {
    statuses: forOwner(200),
    body: () => ({ enabled: true }),
  },
  'DELETE /organizations/:org/workspaces/:ws/identity-provider': {
    statuses: forOwner(204),
    at: async () => {
      await makeUsers(own, issuer);
      return `${OWN}/identity-provider`;
    },
  },
  'GET /organizations/:org/workspaces/:ws/mcp': { statuses: forOwner(200) },
  'PUT /organizations/:org/workspaces/:ws/mcp': { statuses: forOwner(200), body: () => ({ writes: 'confirm' }) },
  'POST /organizations/:org/workspaces/:ws/identity-provider/test': {
    statuses: forOwner(200),
    body: () => ({ token: 'no token' }),
  },
};

const EXAMPLES: Readonly<Record<string, string>> = {
  org: 'acme',
  ws: 'own',
  entity: 'notes',
  id: '1',
  delivery: 'd_1',
};

test('every admin route has its line, and every line its route', () => {
  assert.deepEqual(Object.keys(LINES).sort(), ADMIN_ROUTES.map(routeName).sort());
});

/** A path of the route, as it would be called. */
const exampleOf = (name: string): string =>
  name.slice(name.indexOf('/')).replaceAll(/:(\w+)/g, (_, part) => EXAMPLES[part] as string);

test('right and existence come before an unknown parameter and a body that is none', async () => {
  for (const route of ADMIN_ROUTES.filter(({ access: may }) => may !== 'anyone')) {
    const { method } = route;
    const junk = { method, ...(method === 'GET' ? {} : { body: 5 }) };
    const path = `${ADMIN_PREFIX}${exampleOf(routeName(route))}?junk=1`;
    const statusFor = async (target: string, credential: string | null): Promise<number> =>
      (await server.call(target, { ...junk, credential })).status;
    assert.equal(await statusFor(path, null), 401, routeName(route));
    assert.equal(
      await statusFor(path, own.readOnlyKey),
      ['credential', 'reader'].includes(route.access) ? 400 : 403,
      routeName(route),
    );
    const missing = path.replace('/acme', '/nothing');
    assert.equal(await statusFor(missing, ADMIN_KEY), missing === path ? 400 : 404, routeName(route));
  }
});

/** Of the credentials that may change something. */
const WHO_WRITES = [undefined, undefined, undefined, 'key', 'key', 'operator'];

async function newestActivity(): Promise<
  { readonly id: number; readonly action: string; readonly actor: { readonly kind: string } } | undefined
> {
  return (await server.call(`${ADMIN_PREFIX}/activity?size=1`, { credential: ADMIN_KEY })).json.data[0];
}

test('what is no GET says whether it writes an activity, and what it writes is called as the route', () => {
  for (const route of ADMIN_ROUTES) {
    const isWritten = route.activity === 'written';
    assert.equal(route.method === 'GET' && isWritten, false, routeName(route));
    // These change nothing, for anybody; another route that writes none needs its reason here.
    const isAsked = ['schema.plan', 'access.test', 'identityProvider.test', 'webhooks.test'].includes(
      route.describe.id,
    );
    assert.equal(route.method === 'GET' || isAsked, !isWritten, routeName(route));
  }
});

for (const route of ADMIN_ROUTES) {
  const name = routeName(route);
  const line = LINES[name];
  if (line === undefined) continue;
  WHO.forEach((who, index) => {
    const status = line.statuses[index] as number;
    test(`${name} for ${who}: ${status}`, async () => {
      const isAdmitted = status !== 401 && status !== 403;
      const path = isAdmitted && line.at !== undefined ? await line.at() : exampleOf(name);
      const before = await newestActivity();
      const answer = await server.call(`${ADMIN_PREFIX}${path}${line.query ?? ''}`, {
        method: route.method,
        credential: credentials[index] as string | null,
        body: line.body?.(),
      });
      assert.equal(answer.status, status, answer.text);
      const after = await newestActivity();
      if (route.activity === 'written' && status < 400) {
        assert.deepEqual([after?.action, after?.actor.kind], [route.describe.id, WHO_WRITES[index]]);
        assert.notEqual(after?.id, before?.id);
      } else assert.equal(after?.id, before?.id, `${name} has written ${after?.action}`);
    });
  });
}

test('to owners and users a workspace that does not exist is refused as that of another, on every route', async () => {
  for (const route of ADMIN_ROUTES.filter(({ pattern }) => pattern.includes('/workspaces/:ws'))) {
    const path = exampleOf(routeName(route)).replace('/acme/', '/other/');
    const body = route.method === 'GET' ? undefined : {};
    for (const credential of [own.key, credentials[2] as string]) {
      const ask = async (ws: string) => {
        const target = `${ADMIN_PREFIX}${path.replace('/own', `/${ws}`)}`;
        const { status, text } = await server.call(target, { method: route.method, credential, body });
        return { status, text };
      };
      assert.deepEqual(await ask('nothing'), await ask('other'), routeName(route));
    }
  }
  const organization = async (slug: string): Promise<string> =>
    (await server.call(`${ADMIN_PREFIX}/organizations/${slug}`, { credential: own.key })).text;
  assert.equal(await organization('nothing'), await organization('other'));
});

test('keys for data alone, and what is no credential, are refused', async () => {
  const path = `${ADMIN_PREFIX}${OWN}/schema`;
  assert.equal((await server.call(path, { credential: own.readWriteKey })).status, 403);
  for (const credential of ['wda_junk', 'x'.repeat(9000)]) {
    const { status, headers } = await server.call(path, { credential });
    assert.equal(status, 401);
    assert.match(headers.get('www-authenticate') ?? '', /^Bearer/);
  }
});

test('the operator is told what does not exist', async () => {
  const answer = await server.call(`${ADMIN_PREFIX}/organizations/acme/workspaces/nothing`, { credential: ADMIN_KEY });
  assert.equal(answer.json.error.message, 'Workspace acme/nothing does not exist');
  const unknown = await server.call(`${ADMIN_PREFIX}/organizations?sise=1`, { credential: ADMIN_KEY });
  assert.match(unknown.json.error.message, /Unknown query parameter sise\. Did you mean size\?/);
});

test('junk in paths and bodies is 400 or 404', async () => {
  for (const path of [
    '/organizations/%00',
    "/organizations/a'b",
    '/organizations/acme/workspaces/%F0%9F%98%80',
    `${OWN}/entities/%00/settings`,
    `${OWN}/migrations/99999999999999999999`,
    `${OWN}/migrations/1%00`,
    `${OWN}/migrations/abc`,
  ]) {
    const { status, text } = await server.call(`${ADMIN_PREFIX}${path}`, { credential: ADMIN_KEY });
    assert.ok(status === 400 || status === 404, `${path} ${status} ${text}`);
  }
  for (const body of [
    '',
    '{',
    '[]',
    'null',
    '"x"',
    '5',
    '{"slug":{"a":1}}',
    '{"slug":"a\\u0000"}',
    '{"name":"\\ud800"}',
  ]) {
    const headers = { 'content-type': 'application/json' };
    const call = { method: 'POST', credential: ADMIN_KEY, headers, body };
    assert.equal((await server.call(`${ADMIN_PREFIX}/organizations`, call)).status, 400, body);
  }
});

const skip = isCluster && 'the database is a cluster';

test('routes of a cluster say that there is none', { skip }, async () => {
  const routes = ADMIN_ROUTES.filter(({ pattern }) => pattern.includes('/cluster') || pattern.endsWith('/moves'));
  assert.ok(routes.length > 7);
  for (const route of routes) {
    const name = routeName(route);
    const call = { method: route.method, credential: ADMIN_KEY, body: LINES[name]?.body?.() };
    const { status, json } = await server.call(`${ADMIN_PREFIX}${exampleOf(name)}`, call);
    assert.deepEqual([status, json.error.code], [409, 'CONFLICT'], name);
    assert.match(json.error.message, /^The database is not a Citus cluster: /);
  }
  for (const body of [{}, { node: 5 }, { node: 'a:1', to: 'b:1' }]) {
    const { status, json } = await own.admin('moves', { method: 'POST', body });
    assert.deepEqual([status, json.error.code], [400, 'VALIDATION_FAILED']);
  }
});

test('the operator learns which workspace, organization or path was probably meant', async () => {
  const message = async (path: string) => {
    const answer = await doing('GET', path, undefined);
    assert.equal(answer.status, 404, answer.text);
    return answer.json.error.message;
  };
  for (const name of ['acme/owm', 'acne/own']) {
    const expected = `Workspace ${name} does not exist. Did you mean acme/own?`;
    const [organization, slug] = name.split('/');
    assert.equal(await message(`/organizations/${organization}/workspaces/${slug}/schema`), expected);
    const headers = { authorization: `Bearer ${ADMIN_KEY}` };
    const answer = await fetch(`${server.url}/api/v1/${name}/notes`, { headers });
    assert.equal(answer.status, 404);
    const { error } = (await answer.json()) as { readonly error: { readonly message: string } };
    assert.equal(error.message, expected);
  }
  assert.equal(await message('/organizations/acne'), 'Organization acne does not exist. Did you mean acme?');
  assert.match(
    await message('/organisations'),
    /^There is nothing at \/api\/admin\/v1\/organisations\. Did you mean \/api\/admin\/v1\/organizations\? Known below \/api\/admin\/v1: .*, openapi\.json, organizations, /,
  );
  assert.match(
    await message(''),
    /^There is nothing at \/api\/admin\/v1\. Known below \/api\/admin\/v1: .*organizations/,
  );
  assert.match(
    await message('/organizations/acme/workspaces/own/scheme'),
    / Did you mean \/api\/admin\/v1\/organizations\/acme\/workspaces\/own\/schema\? Known below .*: access, activity, /,
  );
});
