// What the documents show as examples is sent, and what they leave out is tried: the server does what they say.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEMO_RECORDS, DEMO_SCHEMA } from '../../../src/setup/demo.ts';
import type { Call } from '../../support/server.ts';
import { prepare, use, useIssuer, useServer, useUsers } from '../../support/use.ts';

const { orders } = DEMO_SCHEMA.entities;
const server = useServer({ WDA_IDP_PRIVATE_NETWORK: 'allow' });
const demo = use(() =>
  server.workspace('demo/shop', {
    entities: {
      ...DEMO_SCHEMA.entities,
      orders: { ...orders, rowRules: [{ column: 'customerId', claim: 'customer' }] },
    },
  }),
);
prepare(async () => {
  for (const [entity, records] of DEMO_RECORDS) await demo.create(entity, records);
});
const issuer = useIssuer();
const tokenOf = useUsers(demo, issuer, 'READ_WRITE');

// biome-ignore lint/suspicious/noExplicitAny: a part of a document
type Part = any;

interface Described {
  readonly id: string;
  readonly method: string;
  /** Below the workspace, of the record with the id 1. */
  readonly path: string;
  readonly statuses: readonly string[];
  readonly parameters: readonly Part[];
  /** Of a JSON body. */
  readonly bodies: Readonly<Record<string, { readonly value: unknown }>>;
}

/** The operations that are described to the credential, with their references followed. */
async function operationsFor(credential: string, query = ''): Promise<Described[]> {
  const { json, status, text } = await demo.call(`_openapi.json${query}`, { credential });
  assert.equal(status, 200, text);
  const at = (part: Part = {}): Part => {
    const [, , kind, name] = (part.$ref ?? '').split('/');
    return kind === undefined ? part : json.components[kind][name];
  };
  return Object.entries<Part>(json.paths).flatMap(([path, { parameters: common = [], ...item }]) =>
    Object.entries<Part>(item).map(([method, { operationId, parameters = [], requestBody, responses }]) => ({
      id: operationId,
      method: method.toUpperCase(),
      path: path.slice(1).replace('{id}', '1'),
      statuses: Object.keys(responses),
      parameters: [...common, ...parameters].map(at),
      bodies: at(requestBody).content?.['application/json']?.examples ?? {},
    })),
  );
}

/** As `explode` says. */
const queryOf = ({ name, explode, example }: Part): string =>
  [explode === true ? example : [example].flat().join()]
    .flat()
    .map((value) => `${name}=${encodeURIComponent(String(value))}`)
    .join('&');

const WHO = {
  owner: () => demo.key,
  reader: () => demo.readOnlyKey,
  // The order 1 is his.
  user: () => tokenOf({ customer: 1 }),
} as const;

for (const [who, credentialOf] of Object.entries(WHO)) {
  test(`every example of a parameter is taken: ${who}`, async () => {
    const credential = await credentialOf();
    for (const { method, path, parameters, statuses } of await operationsFor(credential)) {
      if (method !== 'GET') continue;
      const needed = parameters.filter((part) => part.in === 'query' && part.required === true);
      for (const shown of parameters.filter(({ example }) => example !== undefined)) {
        const query = [...new Set([...needed, shown])].map(queryOf).join('&');
        const { status, text } = await demo.call(`${path}?${query}`, { credential });
        assert.equal(status, 200, `${path}?${query}: ${text}`);
        assert.ok(statuses.includes('200'));
      }
    }
  });

  test(`every example of a body is taken: ${who}`, async () => {
    const credential = await credentialOf();
    const sent = new Set<string>();
    for (const { id, method, path, statuses, bodies } of await operationsFor(credential)) {
      for (const [name, { value }] of Object.entries(bodies)) {
        const { status, text, headers } = await demo.call(path, { method, credential, body: value });
        const [success] = id.endsWith('.create') ? ['201'] : statuses;
        assert.equal(String(status), success, `${id} ${name}: ${text}`);
        // The next example may have the same values in a unique field.
        const made = headers.get('location')?.split('/').slice(-2).join('/');
        if (made !== undefined) assert.equal((await demo.call(made, { method: 'DELETE' })).status, 204, made);
        sent.add(`${id.split('.')[1]} ${name}`);
      }
    }
    const read = ['batch none', 'query all', 'query one', 'summarize count'];
    assert.deepEqual(
      [...sent].sort(),
      [...read, ...(who === 'reader' ? [] : ['create full', 'create minimal'])].sort(),
    );
  });
}

test('a user gives no column that is set from his token, and it is set', async () => {
  const credential = await WHO.user();
  const { bodies } = (await operationsFor(credential)).find(({ id }) => id === 'orders.create') as Described;
  assert.deepEqual(bodies.minimal?.value, {});
  const { status, json } = await demo.call('orders', { method: 'POST', credential, body: bodies.minimal?.value });
  assert.deepEqual([status, json.data.customerId], [201, 1]);
});

test('what is not described to who may only read is refused to him', async () => {
  const credential = demo.readOnlyKey;
  const described = new Set((await operationsFor(credential)).map(({ id }) => id));
  const absent = (await operationsFor(demo.key)).filter(({ id }) => !described.has(id));
  assert.ok(absent.some(({ id }) => id === 'orders.bulkDeleteListed'));
  for (const { id, method, path } of absent) {
    const call: Call = method === 'DELETE' ? {} : { body: {} };
    const { status } = await demo.call(path, { method, credential, ...call });
    assert.ok([403, 405].includes(status), `${id}: ${status}`);
  }
});
