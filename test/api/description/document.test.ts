// The OpenAPI document of a workspace as clients get it: for whom, in which form, and when it is another one.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Described, type Judge, makeAjv, makeJudge } from '../../support/openapi-conformance.ts';
import { use, useIssuer, useServer, useUsers } from '../../support/resources.ts';
import { runScenarios } from '../../support/scenario.ts';
import type { Answer } from '../../support/server.ts';
import { makeShop, SHOP_SCHEMA } from '../../support/shop.ts';
import { until } from '../../support/wait-until.ts';

const server = useServer({ WDA_IDP_PRIVATE_NETWORK: 'allow' });
const other = useServer({}, server);
const shop = use(() => makeShop(server));
const issuer = useIssuer();
const tokenOf = useUsers(shop, issuer, 'READ_WRITE');
const PATH = '_openapi.json';

const operationsOf = (document: { paths: Record<string, Record<string, { operationId?: string }>> }): string[] =>
  Object.values(document.paths).flatMap((item) =>
    Object.values(item).flatMap(({ operationId }) => (operationId === undefined ? [] : [operationId])),
  );

test('an owner is described every operation, each under a name of its own', async () => {
  const { json, status } = await shop.call(PATH);
  assert.equal(status, 200);
  assert.equal(json.openapi, '3.1.1');
  const names = operationsOf(json);
  assert.equal(new Set(names).size, names.length);
  for (const name of ['orders.list', 'orders.patch', 'orders.bulkDeleteListed', 'wda.batch']) {
    assert.ok(names.includes(name), name);
  }
});

test('who may only read is described no write', async () => {
  const { json } = await shop.call(PATH, { credential: shop.readOnlyKey });
  const names = operationsOf(json).filter((name) => name.startsWith('orders.'));
  assert.deepEqual(
    names.sort(),
    ['aggregate', 'export', 'list', 'query', 'read', 'summarize'].map((name) => `orders.${name}`),
  );
  const schemas = Object.keys(json.components.schemas).filter((name) => name.startsWith('orders'));
  assert.deepEqual(schemas, ['orders.Read']);
});

test('a user of the provider is described what the owner of the token may do', async () => {
  const { json } = await shop.call(PATH, { credential: await tokenOf({}) });
  assert.deepEqual(json['x-wda'], {
    organization: 'acme',
    workspace: 'shop',
    selection: 'free',
    principal: 'external',
    mayWrite: true,
  });
  assert.deepEqual(Object.keys(json.components.securitySchemes), ['bearer', 'oidc']);
});

test('headers of answers are described: those of a record that was made, and the name of the request in each refusal', async () => {
  const { paths, components } = (await shop.call(PATH)).json;
  const described = (path: string, method: string, status: string): string[] =>
    Object.keys(components.responses[paths[path][method].responses[status].$ref.split('/').at(-1)].headers);
  assert.deepEqual(described('/tags', 'post', '201'), ['ETag', 'Location']);
  const made = await shop.call('tags', { method: 'POST', body: { name: 'with headers' } });
  assert.equal(made.status, 201, made.text);
  const sent = (names: readonly string[], answer: typeof made): void =>
    assert.deepEqual(
      names.filter((name) => !answer.headers.has(name)),
      [],
    );
  sent(described('/tags', 'post', '201'), made);
  assert.deepEqual(described('/tags', 'get', '404'), ['X-Request-Id']);
  sent(described('/tags', 'get', '404'), await shop.call('nothing'));
  assert.deepEqual(described('/tags', 'get', 'default'), ['X-Request-Id', 'WWW-Authenticate', 'Retry-After']);
  sent(['X-Request-Id', 'WWW-Authenticate'], await shop.call('tags', { credential: 'wrong' }));
});

test('columns are certain only where no request chooses them', async () => {
  const [free, fixed] = await Promise.all(
    ['free', 'fixed'].map((selection) => shop.call(`${PATH}?selection=${selection}`)),
  );
  assert.equal(free?.json.components.schemas['tags.Read'].required, undefined);
  assert.deepEqual(fixed?.json.components.schemas['tags.Read'].required, ['id', 'name']);
  const parameters = Object.keys(fixed?.json.components.parameters);
  assert.deepEqual(
    parameters.filter((name) => /\.fields$|Return$/.test(name)),
    [],
  );
});

test('some entities alone have the relations among them, and every reference leads to something', async () => {
  const { json, text } = await shop.call(`${PATH}?entities=orders,customers`);
  const schemas = Object.keys(json.components.schemas).filter((name) => !name.startsWith('wda.'));
  assert.deepEqual([...new Set(schemas.map((name) => name.split('.')[0]))].sort(), ['customers', 'orders']);
  assert.deepEqual(Object.keys(json.components.schemas['orders.Read']['x-wda'].relations), ['customer']);
  for (const [, kind = '', name = ''] of text.matchAll(/"\$ref":"#\/components\/(\w+)\/([^"]+)"/g)) {
    assert.ok(Object.hasOwn(json.components[kind], name), `${kind}/${name}`);
  }
});

test('a document that a client has is not sent again', async () => {
  const first = await shop.call(PATH);
  const tag = first.headers.get('etag') ?? '';
  assert.match(tag, /^"[\w-]{22}"$/);
  const again = await shop.call(PATH, { headers: { 'if-none-match': tag } });
  assert.deepEqual([again.status, again.text, again.headers.get('etag')], [304, '', tag]);
  const reader = await shop.call(PATH, { credential: shop.readOnlyKey, headers: { 'if-none-match': tag } });
  assert.equal(reader.status, 200);
});

test('a document has one tag, zipped or not, and in every process', async () => {
  const plain = await shop.call(PATH, { headers: { 'accept-encoding': 'identity' } });
  const zipped = await shop.call(PATH, { headers: { 'accept-encoding': 'br, gzip;q=0.5' } });
  assert.deepEqual([plain.headers.get('content-encoding'), zipped.headers.get('content-encoding')], [null, 'gzip']);
  assert.equal(zipped.text, plain.text);
  assert.match(zipped.headers.get('vary') ?? '', /Accept-Encoding/);
  const elsewhere = await other.call(`/api/v1/acme/shop/${PATH}`, { credential: shop.key });
  const tags = [plain, zipped, elsewhere].map(({ headers }) => headers.get('etag'));
  assert.equal(new Set(tags).size, 1);
});

test('a new key changes no document', async () => {
  const tagOf = async (): Promise<string | null> => (await shop.call(PATH)).headers.get('etag');
  const before = await tagOf();
  await shop.admin('api-keys', { method: 'POST', body: { name: 'another', permissions: 'READ_ONLY' } });
  assert.equal(await tagOf(), before);
});

test('a search is described of an entity that has one, and of lists of its records', async () => {
  const club = await server.workspace('acme/readers', {
    entities: {
      teams: { relations: { people: { kind: 'hasMany', entity: 'people', inverse: 'team' } } },
      people: {
        fields: { name: { type: 'string', searchable: true } },
        relations: {
          team: { kind: 'belongsTo', entity: 'teams' },
          books: { kind: 'hasMany', entity: 'books', inverse: 'owner' },
        },
      },
      books: { fields: { title: { type: 'string' } }, relations: { owner: { kind: 'belongsTo', entity: 'people' } } },
    },
  });
  const { paths, components } = (await club.call(PATH)).json;
  const searched = Object.keys(paths).filter((path) => JSON.stringify(paths[path].get ?? {}).includes('wda.Search'));
  assert.deepEqual(searched.sort(), ['/people', '/people/_aggregate', '/people/_export']);
  const lists = Object.keys(components.parameters).filter((name) => name.endsWith('.search'));
  assert.deepEqual(lists, ['teams.people.search']);
  const [found, refused] = await Promise.all(
    ['teams?expand=people&people.search=ann', 'people?expand=books&books.search=ann'].map((path) => club.call(path)),
  );
  assert.deepEqual([found?.status, refused?.status], [200, 400]);
});

test('a schema change gives every process another document, and the same one', async () => {
  const club = await server.workspace('acme/club', { entities: { members: { fields: { name: { type: 'string' } } } } });
  const tags = (): Promise<(string | null)[]> =>
    Promise.all(
      [server, other].map(async ({ call }) => {
        const { headers } = await call('/api/v1/acme/club/_openapi.json', { credential: club.key });
        return headers.get('etag');
      }),
    );
  const [before, elsewhere] = await tags();
  assert.equal(elsewhere, before);
  const fields = { name: { type: 'string' }, born: { type: 'date' } };
  const changed = await club.admin('schema', { method: 'PUT', body: { entities: { members: { fields } } } });
  assert.ok(changed.status < 300, changed.text);
  await until('both processes have the new document', async () => {
    const [here, there] = await tags();
    return here !== before && there === here;
  });
});

runScenarios(shop, [
  { name: 'HEAD of the document', method: 'HEAD', path: PATH, status: 200 },
  { name: 'the document needs a credential', as: 'none', path: PATH, status: 401, code: 'UNAUTHORIZED' },
  {
    name: 'the document is only read',
    method: 'POST',
    path: PATH,
    status: 405,
    code: 'METHOD_NOT_ALLOWED',
  },
  {
    name: 'an entity that the workspace does not have',
    path: `${PATH}?entities=order`,
    status: 400,
    code: 'BAD_REQUEST',
    message: /^Unknown entity order\. Did you mean orders\? Known: countries, /,
  },
  {
    name: 'a selection that there is not',
    path: `${PATH}?selection=fixd`,
    status: 400,
    code: 'BAD_REQUEST',
    message: 'Unknown selection fixd. Did you mean fixed? Known: free, fixed',
  },
]);

/* ---- answers are as it describes them ---- */

// Every answer of the API tests is looked at (test/support/openapi-conformance.ts); here is what shows that this finds mistakes,
// and that documents for generators hold without `fields`.
const whole = use(() => makeShop(server, 'acme/whole'));
const tokenOfWhole = useUsers(whole, issuer, 'READ_WRITE');

const documentOf = async (query = '', credential = whole.key): Promise<Described> =>
  (await whole.call(`_openapi.json${query}`, { credential })).json;

const ask = (path: string, credential = whole.key): Promise<Answer> => whole.call(path, { credential });
const judged = (judge: Judge, answer: Answer, ...segments: string[]): string | undefined =>
  judge({ method: 'GET', segments }, answer);

// biome-ignore lint/suspicious/noExplicitAny: mutations reach anywhere
type Mutable = any;

/** The document with one member less, or another. */
async function mutant(change: (document: Mutable) => void): Promise<Judge> {
  const document = await documentOf();
  change(document);
  return makeJudge(document);
}

for (const [name, change, path] of [
  ['a column', (d) => delete d.components.schemas['orders.Read'].properties.total, 'orders'],
  ['a nullable column', (d) => (d.components.schemas['orders.Read'].properties.total.type = 'number'), 'orders'],
  ['a relation', (d) => delete d.components.schemas['orders.Read'].properties.customer, 'orders?expand=customer'],
  ['a value of an enum', (d) => d.components.schemas['orders.Read'].properties.status.enum.shift(), 'orders'],
  ['a member of meta', (d) => delete d.components.schemas['wda.Meta'].properties.nextCursor, 'orders'],
  ['a status', (d) => delete d.paths['/orders'].get.responses[200], 'orders'],
  ['an operation', (d) => delete d.paths['/orders'].get, 'orders'],
  ['a media type', (d) => delete d.components.responses['orders.Page'].content['application/json'], 'orders'],
  ['a code', (d) => d.components.schemas['wda.Error'].properties.error.properties.code.enum.shift(), 'orders?size=x'],
] as const satisfies readonly (readonly [string, (document: Mutable) => unknown, string])[]) {
  test(`a document that lacks ${name} is found`, async () => {
    const answer = await ask(path);
    assert.equal(judged(makeJudge(await documentOf()), answer, 'orders'), undefined);
    assert.notEqual(judged(await mutant(change), answer, 'orders'), undefined);
  });
}

test('every schema compiles strictly, and every example of a body fits its schema', async () => {
  for (const credential of [whole.key, whole.readOnlyKey, await tokenOfWhole({})]) {
    for (const selection of ['free', 'fixed']) {
      const { components } = await documentOf(`?selection=${selection}`, credential);
      const $defs = JSON.parse(JSON.stringify(components.schemas).replaceAll('#/components/schemas/', '#/$defs/'));
      const ajv = makeAjv();
      for (const [body, { content }] of Object.entries(components.requestBodies ?? {})) {
        const { schema, examples = {} } = content['application/json'] ?? { schema: {} };
        const isValid = ajv.compile({
          $defs,
          ...JSON.parse(JSON.stringify(schema).replaceAll('#/components/schemas/', '#/$defs/')),
        });
        for (const { value } of Object.values<{ value: unknown }>(examples)) {
          assert.ok(isValid(value), `${body}: ${JSON.stringify(isValid.errors)}`);
        }
      }
    }
  }
});

const ENTITIES = Object.entries<{ readonly relations?: object }>(SHOP_SCHEMA.entities).map(
  ([name, { relations = {} }]) => ({
    name,
    relations: Object.keys(relations),
  }),
);

test('what is read without fields is as the fixed document says, whoever reads it', async () => {
  const credentials = [whole.key, whole.readOnlyKey, await tokenOfWhole({})];
  const judges = await Promise.all(
    credentials.map(async (credential) => makeJudge(await documentOf('?selection=fixed', credential))),
  );
  const request = fc.constantFrom(...ENTITIES).chain(({ name, relations }) =>
    fc.record({
      name: fc.constant(name),
      expand: fc.subarray(relations),
      sort: fc.constantFrom('id,desc', 'id'),
      size: fc.integer({ min: 1, max: 5 }),
      who: fc.nat(credentials.length - 1),
    }),
  );
  await fc.assert(
    fc.asyncProperty(request, async ({ name, expand, sort, size, who }) => {
      const answer = await ask(`${name}?expand=${expand.join()}&sort=${sort}&size=${size}`, credentials[who]);
      assert.equal(answer.status, 200, answer.text);
      assert.equal(judged(judges[who] as Judge, answer, name), undefined);
    }),
    { numRuns: 100 },
  );
});

test('a request with fields is not of the fixed document', async () => {
  const answer = await ask('orders?fields=id');
  assert.match(judged(makeJudge(await documentOf('?selection=fixed')), answer, 'orders') ?? '', /required/);
});

test('a schema change is described as before or as after, and settings as they are', async () => {
  const club = await server.workspace('acme/players', {
    entities: { members: { fields: { name: { type: 'string' }, born: { type: 'string' } } } },
  });
  await club.create('members', [{ name: 'Ann', born: '2001' }]);
  const columnsOf = async (): Promise<string[]> =>
    Object.keys((await club.call('_openapi.json')).json.components.schemas['members.Read'].properties);
  assert.deepEqual(await columnsOf(), ['id', 'name', 'born']);
  const changed = await club.admin('schema', {
    method: 'PUT',
    body: {
      entities: {
        members: {
          fields: { title: { type: 'string', renamedFrom: 'name' }, born: { type: 'integer' } },
          settings: { defaultFields: ['id', 'title'] },
        },
      },
    },
  });
  assert.ok(changed.status < 300, changed.text);
  for (let tries = 0; ; tries++) {
    const { json } = await club.call('_openapi.json?selection=fixed');
    const { properties, required } = json.components.schemas['members.Read'];
    const isOld = 'name' in properties;
    assert.deepEqual(Object.keys(properties), isOld ? ['id', 'name', 'born'] : ['id', 'title', 'born']);
    assert.equal(properties.born.type[0], isOld ? 'string' : 'integer');
    assert.deepEqual(required, isOld ? ['id', 'name', 'born'] : ['id', 'title']);
    if (!isOld) break;
    assert.ok(tries < 200, 'the schema did not change');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const answer = await club.call('members');
  const judge = makeJudge((await club.call('_openapi.json?selection=fixed')).json);
  assert.equal(judged(judge, answer, 'members'), undefined);
});
