// Answers are as the document describes them. Every answer of the API tests is looked at (test/support/openapi-conformance.ts); here is
// what shows that this finds mistakes, and that documents for generators hold without `fields`.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Described, type Judge, makeAjv, makeJudge } from '../../support/openapi-conformance.ts';
import { use, useIssuer, useServer, useUsers } from '../../support/resources.ts';
import type { Answer } from '../../support/server.ts';
import { makeShop, SHOP_SCHEMA } from '../../support/shop.ts';

const server = useServer({ WDA_IDP_PRIVATE_NETWORK: 'allow' });
const shop = use(() => makeShop(server));
const issuer = useIssuer();
const tokenOf = useUsers(shop, issuer, 'READ_WRITE');

const documentOf = async (query = '', credential = shop.key): Promise<Described> =>
  (await shop.call(`_openapi.json${query}`, { credential })).json;

const ask = (path: string, credential = shop.key): Promise<Answer> => shop.call(path, { credential });
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
  for (const credential of [shop.key, shop.readOnlyKey, await tokenOf({})]) {
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
  const credentials = [shop.key, shop.readOnlyKey, await tokenOf({})];
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
  const club = await server.workspace('acme/club', {
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
