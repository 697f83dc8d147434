// `wda access`: the explainer with real tokens, and the rules test with rules that hold and rules that leak.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { DEMO_RECORDS, DEMO_SCHEMA } from '../../src/bootstrap/demo.ts';
import { prepare, use, useIssuer, useServer, useUsers } from '../support/resources.ts';
import { LOCAL_PROVIDER } from '../support/users.ts';
import { type Outcome, wda } from './wda.ts';

const DEMO_TEST = join(import.meta.dirname, '../../examples/access/demo-shop.yaml');
const RULES = {
  orders: [{ column: 'customerId', claim: 'customer_id', enabled: true }],
  customers: [{ column: 'email', claim: 'email', enabled: true }],
};

const issuer = useIssuer();
const server = useServer(LOCAL_PROVIDER);
const shop = use(() => server.workspace('demo/shop', DEMO_SCHEMA));
prepare(async () => {
  for (const [entity, records] of DEMO_RECORDS) await shop.create(entity, records);
});
const tokenOf = useUsers(shop, issuer, 'READ_ONLY');
prepare(() => setRules(RULES));

async function setRules(rules: Readonly<Record<string, unknown>>): Promise<void> {
  for (const [entity, body] of Object.entries(rules)) {
    const answer = await shop.admin(`entities/${entity}/row-rules`, { method: 'PUT', body });
    assert.equal(answer.status, 200, answer.text);
  }
}

const run = (args: readonly string[], stdin?: string): Promise<Outcome> =>
  wda(['access', ...args, '-w', 'demo/shop'], {
    env: { WDA_URL: server.url, WDA_KEY: shop.key },
    ...(stdin === undefined ? {} : { stdin }),
  });

let files = 0;

async function fileOf(text: string): Promise<string> {
  const path = join(tmpdir(), `wda-access-${process.pid}-${files++}.yaml`);
  await writeFile(path, text);
  return path;
}

describe('access test', () => {
  test('the shipped test of the demo passes', async () => {
    const { code, stdout, stderr } = await run(['test', DEMO_TEST]);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^8 cases, \d{3,} requests: no leak, and nothing missing\n$/);
  });
  for (const [entity, rules, found] of [
    ['orders', [], /^Error: A customer sees itself and its orders: orders: totalElements is 6, not 2$/m],
    [
      'customers',
      [{ ...RULES.customers[0], enabled: false }],
      /^Error: A customer sees itself and its orders: customers: /m,
    ],
    ['orders', [{ column: 'status', claim: 'sub' }], /^Error: A customer .*: orders: totalElements is 0, not 2$/m],
  ] as const) {
    test(`rules ${JSON.stringify(rules)} on ${entity} end it with the request that tells`, async () => {
      await setRules({ [entity]: rules });
      try {
        const { code, stdout, stderr } = await run(['test', DEMO_TEST]);
        assert.equal(code, 1);
        assert.equal(stdout, '');
        assert.match(stderr, found);
        assert.match(stderr, /^Request: GET \/api\/v1\/demo\/shop\/(orders|customers)\?/m);
        assert.match(stderr, /^Claims: {2}\{"sub":"ada","email":"ada@example.com","customer_id":1\}$/m);
      } finally {
        await setRules(RULES);
      }
    });
  }
  test('rules of a file are tried, and those in force stay', async () => {
    await setRules({ orders: [] });
    try {
      const good = await fileOf(JSON.stringify({ orders: RULES.orders }));
      const { code, stderr } = await run(['test', DEMO_TEST, '--rules', good]);
      assert.equal(code, 0, stderr);
      const wrong = await fileOf('orders:\n  - column: customer\n    claim: customer_id\n');
      const refused = await run(['test', DEMO_TEST, '--rules', wrong]);
      assert.equal(refused.code, 1);
      assert.match(
        refused.stderr,
        /line 2, rules\.orders\.0\.column: .*customer is a relation; its field is customerId/,
      );
      assert.equal((await run(['test', DEMO_TEST])).code, 1);
    } finally {
      await setRules(RULES);
    }
  });
  test('an entity that does not exist for the claims has no records, and no relation leads from it', async () => {
    const parts = {
      roles: ['clerk'],
      entities: {
        parts: {
          fields: { name: { type: 'string' } },
          relations: { box: { kind: 'belongsTo', entity: 'boxes' } },
          grants: [{ role: 'clerk', can: ['read'] }],
        },
        boxes: { fields: { name: { type: 'string' } }, grants: [{ can: ['read'] }] },
      },
    };
    const store = await server.workspace('demo/store', parts);
    await store.create('boxes', [{ name: 'box' }]);
    await store.create('parts', [{ name: 'part', boxId: 1 }]);
    const test = (only: string): Promise<Outcome> =>
      wda(['access', 'test', '-', '-w', 'demo/store'], {
        env: { WDA_URL: server.url, WDA_KEY: store.key },
        stdin: `cases: [{claims: {sub: nobody}, only: ${only}}]`,
      });
    assert.match((await test('{boxes: [1], parts: []}')).stdout, /no leak/);
    assert.match((await test('{parts: [1]}')).stderr, /parts: the answer is 404/);
  });
  test('a leak is a document for scripts', async () => {
    const file = await fileOf('{"cases":[{"name":"n","claims":{"customer_id":1},"hidden":{"orders":[2]}}]}');
    const { code, stderr } = await run(['test', file, '--json']);
    assert.equal(code, 1);
    const { error } = JSON.parse(stderr);
    assert.deepEqual(error.case, 'n');
    assert.deepEqual(error.claims, { customer_id: 1 });
    assert.match(error.request, /^GET \/api\/v1\/demo\/shop\/orders\?/);
  });
  for (const [text, message] of [
    ['cases: []', /cases must be a list with a case or more/],
    [
      'cases:\n  - claims: {}\n    visble: { orders: [1] }',
      /:3: visble means nothing here; known: name, claims, visible, hidden, only, fields, may, mayNot/,
    ],
    ['cases:\n  - visible: { orders: [1] }', /:2: claims must be an object/],
    ['cases:\n  - claims: {}', /:2: a case without any of visible, hidden, only, fields, may, mayNot tests nothing/],
    ['cases:\n  - claims: {}\n    visible: { orders: [one] }', /:3: must be a list of ids such as \[1, 2\]/],
    [
      'cases:\n  - claims: {}\n    visible: { orders: [1] }\n    hidden: { orders: [1] }',
      /:4: record 1 of orders cannot be visible and hidden/,
    ],
    [
      'cases:\n  - claims: {}\n    hidden: { orders: [99] }',
      /record 99 of orders does not exist, so a test of it shows nothing/,
    ],
    ['cases:\n  - claims: {}\n    hidden: { order: [1] }', /Entity order does not exist/],
    [
      'cases:\n  - visible: { orders: [1] }\n  - claims: {}\n    visble: { orders: [1] }\n    only: { orders: [one] }',
      /^Error: stdin has 3 mistakes\nstdin:2: claims must .*\nstdin:4: visble means nothing .*\nstdin:5: must be a list of ids/,
    ],
    ['cases:\n  - claims: {}\n    fields: { orders: id }', /:3: must be a list of fields such as \[id, name\]/],
    [
      'cases:\n  - claims: {}\n    may: { creat: { orders: [] } }',
      /:3: creat means nothing here; known: create, update, delete/,
    ],
    ['cases:\n  - claims: {}\n    may: { create: { orders: { 1: {} } } }', /:3: must be a list of records such as/],
    [
      'cases:\n  - claims: {}\n    mayNot:\n      update: { orders: { one: {} } }',
      /:4: must be the new values of a record by its id, such as 7: { name: x }/,
    ],
    ['cases:\n  - claims: {}\n    mayNot: { delete: { orders: [one] } }', /:3: must be a list of ids/],
    ['cases:\n  - claims: {}\n    mayNot: { delete: { orders: [99] } }', /record 99 of orders does not exist/],
    ['cases:\n  - claims: {}\n    mayNot: { create: { order: [{}] } }', /there is no entity order$/m],
    ['- 1', /holds no access tests: an object with "cases" is expected/],
  ] as const) {
    test(`a mistake in the file: ${message.source}`, async () => {
      const { code, stderr } = await run(['test', '-'], text);
      assert.equal(code, 1, stderr);
      assert.match(stderr, message);
    });
  }
});

describe('access explain', () => {
  test('tells each check and the records of each entity', async () => {
    const { code, stdout, stderr } = await run(['explain'], `Bearer ${tokenOf({ sub: 'ada', customer_id: 1 })}\n`);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^signature +pass/m);
    assert.match(stdout, /^permission +pass +READ_ONLY: reads; writes are refused$/m);
    assert.match(stdout, /^orders +customerId = 1$/m);
    assert.match(stdout, /^customers +matches no record: claim email is missing$/m);
    assert.match(stdout, /^products +every record$/m);
  });
  test('a token that is refused says why, and still shows what it claims', async () => {
    const expired = tokenOf({ customer_id: 2, exp: 1 });
    const { code, stdout, stderr } = await run(['explain', '--token', expired]);
    assert.equal(code, 1);
    assert.match(stdout, /^expiry +fail +Token has expired$/m);
    assert.match(stdout, /^permission +skipped/m);
    assert.match(stdout, /^orders +customerId = 2$/m);
    assert.match(stderr, /^Error: The token is refused: Token has expired$/m);
  });
  test('an opaque token has nothing to show', async () => {
    const { code, stdout, stderr } = await run(['explain'], await issuer.token());
    assert.equal(code, 1);
    assert.match(stdout, /^format +fail +Token is not a valid JWT$/m);
    assert.doesNotMatch(stdout, /orders/);
    assert.match(stderr, /Token is not a valid JWT/);
  });
  test('with --json it is the answer of the server', async () => {
    const { stdout } = await run(['explain', '--json'], tokenOf({ customer_id: 7 }));
    const { accepted, entities } = JSON.parse(stdout);
    assert.equal(accepted, true);
    assert.equal(entities.find(({ entity }: { entity: string }) => entity === 'orders').filter, 'customerId = 7');
  });
  test('an empty token is wrong usage', async () => assert.equal((await run(['explain'], '\n')).code, 2));
});

describe('access report and grants', () => {
  const DESK = {
    roles: ['agent', 'customer'],
    entities: {
      companies: { fields: { name: { type: 'string' } } },
      tickets: {
        fields: { subject: { type: 'string' }, status: { type: 'string' }, company: { type: 'bigint' } },
        grants: [{ role: 'agent', can: ['read', 'update', 'delete'] }],
      },
    },
  };
  const desk = use(() => server.workspace('demo/desk', DESK));
  const onDesk = (args: readonly string[], stdin?: string): Promise<Outcome> =>
    wda(['access', ...args, '-w', 'demo/desk'], {
      env: { WDA_URL: server.url, WDA_KEY: desk.key },
      ...(stdin === undefined ? {} : { stdin }),
    });
  const GRANTS = `
- role: agent
  can: [read, update, delete]
- role: customer
  can: [read, create]
  where: { field: company, op: eq, value: { claim: company_id } }
  fields: [subject, company]
  set: { status: open }
- role: customer
  can: [delete]
  where: { field: status, op: eq, value: open }
`;

  test('grants are set from a file, with lines of mistakes, and got as they were written', async () => {
    const { code, stdout, stderr } = await onDesk(['grants', 'set', 'tickets', await fileOf(GRANTS)]);
    assert.equal(code, 0, stderr);
    const got = await onDesk(['grants', 'get', 'tickets']);
    assert.equal(got.stdout, stdout);
    assert.match(got.stdout, /^- role: agent\n {2}can:\n {4}- read$/m);
    const json = await onDesk(['grants', 'get', 'tickets', '--json']);
    assert.equal(JSON.parse(json.stdout)[1].where.field, 'company');
    const wrong = await onDesk(
      ['grants', 'set', 'tickets', '-'],
      '- role: agent\n  can: [read]\n- role: robot\n  can: [read]',
    );
    assert.equal(wrong.code, 1);
    assert.match(wrong.stderr, /line 3, 1\.role: .*no role robot/);
  });
  test('an empty file opens nothing; null does', async () => {
    for (const text of ['', '# nothing', '{}', 'null: 1']) {
      const { code, stderr } = await onDesk(['grants', 'set', 'tickets'], text);
      assert.equal(code, 1);
      assert.match(stderr, /holds no grants: a list, or null is expected/);
    }
    assert.notEqual((await onDesk(['grants', 'get', 'tickets'])).stdout, 'null\n');
    assert.equal((await onDesk(['grants', 'set', 'companies'], 'null')).code, 0);
    assert.equal((await onDesk(['grants', 'get', 'companies'])).stdout, 'null\n');
  });
  test('a token is explained with its roles, and why grants do not apply', async () => {
    const body = { issuerUrl: issuer.url, defaultPermissions: 'READ_WRITE', roleClaim: 'roles', enabled: true };
    assert.equal((await desk.admin('identity-provider', { method: 'PUT', body })).status, 200);
    const token = tokenOf({ sub: 'ada', roles: ['customer', 'boss'] });
    const { code, stdout, stderr } = await onDesk(['explain', '--token', token]);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^Roles: customer; unknown here: boss$/m);
    assert.match(stdout, /^tickets +matches no record: claim company_id is missing$/m);
    assert.match(stdout, /^tickets +no: is for the role agent +Users with the role agent may read/m);
    assert.match(
      stdout,
      /^tickets +no: claim company_id is missing +Users with the role customer may read and create/m,
    );
    const json = await onDesk([
      'explain',
      '--token',
      tokenOf({ sub: 'ada', roles: 'customer', company_id: 7 }),
      '--json',
    ]);
    const { roles, entities } = JSON.parse(json.stdout);
    assert.deepEqual(roles, ['customer']);
    const tickets = entities.find(({ entity }: { entity: string }) => entity === 'tickets');
    assert.equal(tickets.filter, 'company is 7');
    assert.deepEqual(
      tickets.grants.map(({ applies }: { applies: boolean }) => applies),
      [false, true, true],
    );
    assert.equal((await desk.admin('identity-provider', { method: 'DELETE' })).status, 204);
  });
  test('the report has the rights of each role in words', async () => {
    const { stdout } = await onDesk(['report']);
    assert.match(stdout, /^There is no identity provider/);
    const lines = stdout.split('\n').map((line) => line.split(/ {2,}/));
    assert.deepEqual(lines.slice(2, -1), [
      ['ENTITY', 'LIMITED BY', 'ROLE', 'MAY', 'RECORDS', 'FIELDS'],
      ['companies', 'open', '(every user)', 'read, create, update, delete', 'all', 'all'],
      ['tickets', 'grants', 'agent', 'read, update, delete', 'all', 'all'],
      ['tickets', 'grants', 'customer', 'read', 'company is the claim company_id', 'id, subject, company'],
      ['tickets', 'grants', 'customer', 'create', 'company is the claim company_id', 'all'],
      ['tickets', 'grants', 'customer', 'delete', 'status is "open"', '-'],
      ['tickets', 'grants', '(no role)', 'nothing', '-', '-'],
    ]);
    const json = await onDesk(['report', '--json']);
    assert.deepEqual(JSON.parse(json.stdout).roles, ['agent', 'customer']);
  });
});
