// What is acknowledged is in force everywhere: after the answer to an administrative change no process refuses what is
// there, accepts what was revoked, or writes by an old schema. Two servers on one database, and two workers of one.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { useIssuer } from '../../support/resources.ts';
import {
  ADMIN_KEY,
  type Answer,
  type Call,
  startTestServer,
  type TestServer,
  type TestWorkspace,
} from '../../support/server.ts';
import { type ServerProcess, startServerProcess } from '../../support/server-process.ts';
import { LOCAL_PROVIDER, makeUsers } from '../../support/users.ts';
import { until } from '../../support/wait-until.ts';

/** One of the ways that several processes answer: `change` asks for changes, `use` meets whichever process. */
interface Service {
  readonly database: () => TestDatabase;
  readonly change: (path: string, call?: Call) => Promise<Answer>;
  readonly use: (path: string, call?: Call) => Promise<Answer>;
}

const document = (fields: Readonly<Record<string, unknown>>, more: object = {}): unknown => ({
  entities: { notes: { fields }, ...more },
});

/** A workspace of its own for each test, known to every process before it is changed. */
async function makeWorkspace({ change, use }: Service, slug: string, fields = { text: { type: 'string' } }) {
  const made = await change('/organizations', { method: 'POST', body: { slug: 'acme', name: 'Acme' } });
  assert.ok(made.status === 201 || made.status === 409, made.text);
  const all = '/organizations/acme/workspaces';
  const workspace = await change(all, { method: 'POST', body: { slug, name: slug, schema: document(fields) } });
  assert.equal(workspace.status, 201, workspace.text);
  const admin = (path: string, call?: Call): Promise<Answer> => change(`${all}/${slug}/${path}`, call);
  const makeKey = async (): Promise<{ readonly id: number; readonly key: string }> => {
    const answer = await admin('api-keys', { method: 'POST', body: { name: 'k' } });
    assert.equal(answer.status, 201, answer.text);
    return answer.json.data;
  };
  const { key } = await makeKey();
  const data = (path: string, call: Call = {}): Promise<Answer> =>
    use(`/api/v1/acme/${slug}/${path}`, { credential: key, ...call });
  const put = async (schema: unknown): Promise<void> => {
    const answer = await admin('schema?wait=30&allowDestructive=true', { method: 'PUT', body: schema });
    assert.equal(answer.json?.data?.state, 'succeeded', answer.text);
  };
  /** Every process that answers has the snapshot in memory. */
  const warm = async (credential = key): Promise<void> => {
    await Promise.all(Array.from({ length: 8 }, () => data('notes?size=1', { credential })));
  };
  await warm();
  return { admin, data, key, makeKey, put, warm };
}

function holds(service: Service): void {
  test('a field that was added is known to whoever is asked next', async () => {
    const { data, put, warm } = await makeWorkspace(service, 'creates');
    const fields: Record<string, unknown> = { text: { type: 'string' } };
    for (let round = 0; round < 15; round++) {
      await warm();
      fields[`f${round}`] = { type: 'string' };
      await put(document(fields));
      const body = { text: 'x', [`f${round}`]: 'y' };
      for (let index = 0; index < 4; index++) {
        const answer = await data('notes', { method: 'POST', body });
        assert.equal(answer.status, 201, `round ${round}: ${answer.text}`);
      }
    }
  });

  test('an entity that was added is there, one that was dropped is not, and its name may come again', async () => {
    const { data, put, warm } = await makeWorkspace(service, 'entities');
    const text = { text: { type: 'string' } };
    for (let round = 0; round < 5; round++) {
      await warm();
      await put(document(text, { tags: { fields: { name: { type: 'string' } } } }));
      for (let index = 0; index < 4; index++) {
        assert.equal((await data('tags', { method: 'POST', body: { name: 'a' } })).status, 201);
      }
      await put(document(text));
      for (let index = 0; index < 4; index++) assert.equal((await data('tags')).status, 404);
    }
  });

  test('two changes in a row: what was acknowledged stands in the field it was written to', async () => {
    const { data, put, warm } = await makeWorkspace(service, 'renames', { a: { type: 'string' } } as never);
    let fields: Record<string, unknown> = { a: { type: 'string' } };
    for (let round = 0; round < 10; round++) {
      await warm();
      const { a, ...others } = fields;
      const old = `old${round}`;
      await put(document({ ...others, [old]: { ...(a as object), renamedFrom: 'a' } }));
      fields = { ...others, [old]: a, a: { type: 'string' } };
      await put(document(fields));
      for (let index = 0; index < 4; index++) {
        const made = await data('notes', { method: 'POST', body: { a: 'new' } });
        assert.equal(made.status, 201, made.text);
        const { json } = await data(`notes/${made.json.data.id}`);
        assert.deepEqual([json.data.a, json.data[old]], ['new', null], `round ${round}`);
      }
    }
  });

  test('a key serves as soon as it is made, and no more as soon as it is revoked', async () => {
    const { admin, data, makeKey, warm } = await makeWorkspace(service, 'keys');
    const made = await data('notes', { method: 'POST', body: { text: 'kept' } });
    for (let round = 0; round < 8; round++) {
      const { id, key: credential } = await makeKey();
      const { json } = await data('notes', { method: 'POST', body: { text: 'x' }, credential });
      assert.equal((await data(`notes/${json.data.id}`, { method: 'DELETE', credential })).status, 204);
      await warm(credential);
      assert.equal((await admin(`api-keys/${id}`, { method: 'DELETE' })).status, 204);
      const answers = await Promise.all(
        Array.from({ length: 8 }, () => data(`notes/${made.json.data.id}`, { credential })),
      );
      assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([401]), `round ${round}`);
    }
  });

  test('settings and row rules hold for the next request', async () => {
    const { admin, data, warm } = await makeWorkspace(service, 'settings', {
      text: { type: 'string' },
      owner: { type: 'string' },
    } as never);
    await data('notes', { method: 'POST', body: { text: 't', owner: 'o' } });
    for (let round = 0; round < 10; round++) {
      await warm();
      const defaultFields = round % 2 === 0 ? ['text'] : ['owner'];
      const answer = await admin('entities/notes/settings', { method: 'PUT', body: { defaultFields } });
      assert.equal(answer.status, 200, answer.text);
      for (let index = 0; index < 4; index++) {
        assert.deepEqual(Object.keys((await data('notes/1')).json.data), defaultFields);
      }
    }
  });

  test('a workspace that gets another slug, or is deleted, is no more where it was', async () => {
    const { admin, key, makeKey, warm } = await makeWorkspace(service, 'first');
    const { change, use } = service;
    const all = '/organizations/acme/workspaces';
    assert.equal((await use('/api/v1/acme/second/notes', { credential: key })).status, 401);
    assert.equal((await admin('', { method: 'PUT', body: { slug: 'second' } })).status, 200);
    for (let index = 0; index < 4; index++) {
      assert.equal((await use('/api/v1/acme/first/notes', { credential: key })).status, 401);
      assert.equal((await use('/api/v1/acme/second/notes', { credential: key })).status, 200);
    }
    assert.equal((await change(`${all}/second?confirm=second`, { method: 'DELETE' })).status, 204);
    for (let index = 0; index < 4; index++) {
      assert.equal((await use('/api/v1/acme/second/notes', { credential: key })).status, 401);
    }
    void makeKey;
    void warm;
  });

  test('tokens end with their client, and with the keys that signed them', async () => {
    const { admin, data, warm } = await makeWorkspace(service, 'tokens');
    const { change, use } = service;
    const makeToken = async () => {
      const { json } = await admin('oauth-clients', { method: 'POST', body: { name: 'c' } });
      const { clientId, clientSecret } = json.data;
      const ask = async (): Promise<string> => {
        const answer = await use('/oauth/token', {
          method: 'POST',
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
          body: `grant_type=client_credentials&client_id=${clientId}&client_secret=${clientSecret}`,
        });
        assert.equal(answer.status, 200, answer.text);
        return answer.json.access_token;
      };
      return { clientId, ask };
    };
    const client = await makeToken();
    for (let round = 0; round < 5; round++) {
      const old = await client.ask();
      await warm(old);
      assert.equal((await change('/signing-keys/rotate?revoke=true', { method: 'POST' })).status, 200);
      for (let index = 0; index < 4; index++) {
        assert.equal((await data('notes', { credential: old })).status, 401, `round ${round}`);
        assert.equal((await data('notes', { credential: await client.ask() })).status, 200, `round ${round}`);
      }
    }
    const token = await client.ask();
    await warm(token);
    assert.equal((await admin(`oauth-clients/${client.clientId}`, { method: 'DELETE' })).status, 204);
    for (let index = 0; index < 8; index++) assert.equal((await data('notes', { credential: token })).status, 401);
  });
}

/** Grants of two roles on three entities: `kind` says which records, `field` which column, each role sees the other half. */
function grantDocument(
  grants: ((role: 'red' | 'blue') => readonly [kind: number, field: string]) | null | [],
): unknown {
  const fields = { kind: { type: 'integer' }, a: { type: 'string' }, b: { type: 'string' } };
  const limit = (can: readonly string[]): unknown => {
    if (typeof grants !== 'function') return grants;
    return (['red', 'blue'] as const).map((role) => {
      const [kind, field] = grants(role);
      const where = { field: 'kind', op: 'eq', value: kind };
      const allowed = role === 'red' ? ['read'] : can;
      const write = allowed.includes('create') ? { write: [field], set: { kind } } : {};
      return { role, can: allowed, where, fields: ['kind', field, 'ownerId'], ...write };
    });
  };
  const owner = { owner: { kind: 'belongsTo', entity: 'people' } };
  return {
    roles: ['red', 'blue'],
    entities: {
      people: { fields, grants: typeof grants === 'function' ? limitPeople(grants) : grants },
      notes: { fields, relations: owner, grants: limit(['read', 'update']) },
      logs: { fields, relations: owner, grants: limit(['read', 'create']) },
    },
  };
}

const limitPeople = (grants: (role: 'red' | 'blue') => readonly [number, string]): unknown =>
  (['red', 'blue'] as const).map((role) => ({ role, can: ['read'], fields: [grants(role)[1]] }));

const GRANT_PHASES = [
  grantDocument((role) => (role === 'red' ? [1, 'a'] : [2, 'b'])),
  grantDocument([]),
  grantDocument((role) => (role === 'red' ? [2, 'b'] : [1, 'a'])),
  grantDocument(null),
];
const GRANT_CALLS: readonly (readonly [path: string, call: Call])[] = [
  ['notes?expand=owner&size=100', {}],
  ['notes?filter=owner.a,eq,x', {}],
  ['notes/_aggregate?select=count&group=kind', {}],
  ['notes/1', {}],
  ['notes/2', { method: 'PATCH', body: { b: 'x' } }],
  ['logs', { method: 'POST', body: { a: 'x' } }],
  ['logs', { method: 'POST', body: { b: 'x' } }],
  ['logs/_bulk', { method: 'POST', body: { data: [{ a: 'x' }, { a: 'x' }] } }],
  [
    '_batch',
    { method: 'POST', body: { operations: [1, 2].map(() => ({ method: 'POST', entity: 'logs', body: { b: 'x' } })) } },
  ],
];

/** What grants decide of an answer: its status, and which records and fields it has. */
function outlineOf({ status, json, text }: Answer): string {
  if (status >= 400) return `${status} ${json.error.message}`;
  const shapeOf = (value: unknown): unknown => {
    if (Array.isArray(value)) return [...new Set(value.map((one) => JSON.stringify(shapeOf(one))))].sort();
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value)
        .filter(([name]) => !['id', 'createdAt', 'updatedAt', 'etag', 'headers', 'location'].includes(name))
        .map(([name, one]) => [name, shapeOf(one)]),
    );
  };
  const total = json.meta?.totalElements;
  if (total !== undefined) assert.equal(json.data.length, total, text);
  return `${status} ${JSON.stringify(shapeOf(json.data))}`;
}

function holdsGrants(service: Service): void {
  const issuer = useIssuer();

  test('grants are changed under load: each answer is by those of one moment, and after the acknowledgement by the new ones', async () => {
    const { admin, data, put } = await makeWorkspace(service, 'grants');
    const tokenOf = await makeUsers({ admin } as TestWorkspace, issuer);
    assert.equal((await admin('identity-provider', { method: 'PUT', body: { roleClaim: 'roles' } })).status, 200);
    await put(GRANT_PHASES[0]);
    await data('people', { method: 'POST', body: { a: 'x', b: 'y' } });
    for (const kind of [1, 2, 1, 2])
      await data('notes', { method: 'POST', body: { kind, a: 'x', b: 'x', ownerId: 1 } });
    const senders = ['red', 'blue', 'nobody'].map((roles) => tokenOf({ sub: roles, roles }));
    const ask = async (sender: number, at: number): Promise<string> => {
      const [path, call] = GRANT_CALLS[at] as (typeof GRANT_CALLS)[number];
      return outlineOf(await data(path, { ...call, credential: senders[sender] as string }));
    };
    /** What each sender gets of each call while nothing changes, by phase. */
    const outlines: string[][][] = [];
    for (const document of GRANT_PHASES) {
      await put(document);
      outlines.push(
        await Promise.all(senders.map((_, sender) => Promise.all(GRANT_CALLS.map((_, at) => ask(sender, at))))),
      );
    }
    for (const sender of [0, 1]) assert.equal(new Set(outlines.map((phase) => phase[sender]?.[0])).size, 4);
    for (const line of outlines.flat(2)) assert.match(line, /^[24]/);

    let begun = GRANT_PHASES.length - 1;
    let acknowledged = begun;
    let isOver = false;
    let answered = 0;
    const load = async (first: number): Promise<void> => {
      for (let turn = first; !isOver; turn++) {
        const [sender, at] = [turn % senders.length, turn % GRANT_CALLS.length];
        const from = acknowledged;
        const outline = await ask(sender, at);
        const phases = Array.from({ length: begun - from + 1 }, (_, index) => (from + index) % GRANT_PHASES.length);
        const fits = phases.filter((phase) => outlines[phase]?.[sender]?.[at] === outline);
        assert.ok(fits.length > 0, `${GRANT_CALLS[at]?.[0]} of sender ${sender} in phases ${phases}: ${outline}`);
        if (phases.length === 1) answered = from;
      }
    };
    const loads = Promise.all(Array.from({ length: 8 }, (_, index) => load(index)));
    loads.catch(() => undefined);
    try {
      for (let change = 0; change < 12; change++) {
        begun++;
        await put(GRANT_PHASES[begun % GRANT_PHASES.length]);
        acknowledged = begun;
        await Promise.race([loads, until('a request is answered between two changes', () => answered === begun)]);
      }
    } finally {
      isOver = true;
    }
    await loads;
  });
}

describe('two servers', () => {
  let first: TestServer;
  let second: TestServer;
  before(async () => {
    first = await startTestServer(LOCAL_PROVIDER);
    second = await startTestServer(LOCAL_PROVIDER, first.database);
  });
  after(async () => {
    await second?.stop();
    await first?.stop();
  });
  test('a process says which version of a workspace its requests are still about', async () => {
    const workspace = await first.workspace('acme/busy', document({ text: { type: 'string' } }));
    const busy = async (): Promise<unknown[]> => {
      await workspace.admin('api-keys', { method: 'POST', body: { name: 'k' } });
      const rows = await first.database.query(
        "select busy -> (select id::text from wda.workspace where slug = 'busy') #>> '{}' as busy from wda.process",
      );
      return rows.map((row) => row.busy).filter((one) => one !== null);
    };
    const { url } = second;
    const late = request(`${url}/api/v1/acme/busy/notes`, {
      method: 'POST',
      headers: { authorization: `Bearer ${workspace.key}`, 'content-type': 'application/json', 'content-length': '12' },
    });
    const answered = once(late, 'response');
    late.write('{"text"');
    await until('the request is known to be answered', async () => (await busy()).length === 1);
    late.end(':"x"}');
    assert.equal(((await answered) as [IncomingMessage])[0].statusCode, 201);
    assert.deepEqual(await busy(), []);
  });

  test('a key that is revoked while a body arrives at a server that has nothing else to do writes nothing', async () => {
    const service: Service = {
      database: () => first.database,
      change: (path, call) => first.call(`/api/admin/v1${path}`, { credential: ADMIN_KEY, ...call }),
      use: (path, call) => second.call(path, call),
    };
    const { admin, data, key, makeKey, warm } = await makeWorkspace(service, 'slowly');
    const revoked = await makeKey();
    await warm(revoked.key);
    const late = request(`${second.url}/api/v1/acme/slowly/notes`, {
      method: 'POST',
      headers: { authorization: `Bearer ${revoked.key}`, 'content-type': 'application/json', 'content-length': '12' },
    });
    const answered = once(late, 'response');
    late.write('{"text"');
    await sleep(100);
    assert.equal((await admin(`api-keys/${revoked.id}`, { method: 'DELETE' })).status, 204);
    // Longer than a process is waited for that has not been heard of.
    await sleep(1500);
    late.end(':"x"}');
    assert.equal(((await answered) as [IncomingMessage])[0].statusCode, 401);
    assert.deepEqual((await data('notes', { credential: key })).json.data, []);
  });

  const service: Service = {
    database: () => first.database,
    change: (path, call) => first.call(`/api/admin/v1${path}`, { credential: ADMIN_KEY, ...call }),
    use: (path, call) => second.call(path, call),
  };
  holds(service);
  holdsGrants(service);
});

describe('two workers', () => {
  let database: TestDatabase;
  let server: ServerProcess;
  before(async () => {
    database = await createTestDatabase();
    const env = { ...LOCAL_PROVIDER, DATABASE_URL: database.url, WDA_WORKERS: '2', PUBLIC_URL: 'http://localhost' };
    server = await startServerProcess(env);
  });
  after(async () => {
    await server?.stop();
    await database?.drop();
  });
  // Each call on a connection of its own, so that they meet different workers.
  const call = async (path: string, { method = 'GET', credential, headers = {}, body }: Call = {}): Promise<Answer> => {
    const isRaw = typeof body === 'string';
    const response = await fetch(`${server.url}${path}`, {
      method,
      headers: {
        connection: 'close',
        ...(credential == null ? {} : { authorization: `Bearer ${credential}` }),
        ...(body === undefined || isRaw ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: isRaw ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      text,
      json: text === '' ? undefined : JSON.parse(text),
    };
  };
  const service: Service = {
    database: () => database,
    change: (path, options) => call(`/api/admin/v1${path}`, { credential: ADMIN_KEY, ...options }),
    use: call,
  };
  holds(service);
  holdsGrants(service);
});
