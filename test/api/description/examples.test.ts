// What the documents show as examples is sent, and what they leave out is tried: the server does what they say.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEMO_RECORDS, DEMO_SCHEMA } from '../../../src/bootstrap/demo.ts';
import { prepare, use, useIssuer, useServer, useUsers } from '../../support/resources.ts';
import type { Call } from '../../support/server.ts';

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
  /** Below the workspace, with the examples of its parameters. */
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
      path: path.slice(1).replace('{id}', String(common.map(at)[0]?.example)),
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

const CREATES = ['create', 'bulkCreate'];
/** What needs a record that is there. */
const ON_RECORDS = ['update', 'patch', 'bulkUpdate', 'bulkPatch', 'bulkDeleteListed'];

/** The last of the successes but a job, which has more records: that of `dryRun` comes before it. */
const done = (statuses: readonly string[]): string | undefined =>
  statuses.filter((status) => status < '300' && status !== '202').at(-1);

/** The id of a record with the values of the `full` example of creates. */
async function makeRecord(described: readonly Described[], entity: string, credential: string): Promise<number> {
  const create = described.find(({ id }) => id === `${entity}.create`) as Described;
  const { status, text, json } = await demo.call(entity, {
    method: 'POST',
    credential,
    body: create.bodies.full?.value,
  });
  assert.equal(status, 201, `${entity}: ${text}`);
  return json.data.id;
}

/** The body with another id where it has one. */
const withId = (body: unknown, id: number | undefined): unknown =>
  JSON.parse(JSON.stringify(body), (member, value) =>
    id === undefined ? value : member === 'id' ? id : member === 'ids' ? [id] : value,
  );

for (const [who, credentialOf] of Object.entries(WHO)) {
  test(`every example of a parameter is taken: ${who}`, async () => {
    const credential = await credentialOf();
    for (const { method, path, parameters, statuses } of await operationsFor(credential)) {
      if (method !== 'GET') continue;
      const needed = parameters.filter((part) => part.in === 'query' && part.required === true);
      for (const shown of parameters.filter((part) => part.in === 'query' && part.example !== undefined)) {
        const query = [...new Set([...needed, shown])].map(queryOf).join('&');
        const { status, text } = await demo.call(`${path}?${query}`, { credential });
        assert.equal(status, 200, `${path}?${query}: ${text}`);
        assert.ok(statuses.includes('200'));
      }
    }
  });

  test(`every example of a body is taken: ${who}`, async () => {
    const credential = await credentialOf();
    const described = await operationsFor(credential);
    const sent = new Set<string>();
    for (const { id, method, path, statuses, bodies } of described) {
      const [entity = '', name = ''] = id.split('.');
      for (const [title, { value }] of Object.entries(bodies)) {
        // Others refer to the record 1, so that it cannot be deleted: what is written is a record of the example's own.
        const record = ON_RECORDS.includes(name) ? await makeRecord(described, entity, credential) : undefined;
        const call = { method, credential, body: withId(value, record) };
        const { status, text, json } = await demo.call(record ? path.replace(/\/1$/, `/${record}`) : path, call);
        assert.equal(String(status), CREATES.includes(name) ? '201' : done(statuses), `${id} ${title}: ${text}`);
        // The next example may have the same values in a unique field.
        const made = CREATES.includes(name) ? [json.data].flat() : [{ id: record }];
        for (const { id: left } of made)
          if (left !== undefined) await demo.call(`${entity}/${left}`, { method: 'DELETE' });
        sent.add(`${name} ${title}`);
      }
    }
    const read = ['batch none', 'query all', 'query one', 'summarize count'];
    const written = ['bulkCreate one', 'create full', 'create minimal', 'patch change', 'update change'];
    const ofMany = ['bulkDeleteListed one', 'bulkPatch one', 'bulkUpdate one', 'deleteWhere none'];
    assert.deepEqual([...sent].sort(), [...read, ...(who === 'reader' ? [] : [...written, ...ofMany])].sort());
  });
}

test('ids of a delete are taken as the example has them', async () => {
  const described = await operationsFor(demo.key);
  const deletes = described.filter(({ id }) => id.endsWith('.bulkDelete'));
  assert.ok(deletes.length > 0);
  for (const { id, method, path, parameters } of deletes) {
    const ids = parameters.find(({ name }) => name === 'ids');
    const made = await makeRecord(described, id.split('.')[0] as string, demo.key);
    const query = queryOf({ ...ids, example: ids.example.map(() => made) });
    const { status, text } = await demo.call(`${path}?${query}`, { method });
    assert.equal(status, 204, `${id}: ${text}`);
  }
});

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
