// What a configuration file asks for against what is there, as steps: tables of wanted, actual and the requests that follow.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Actual } from '../../src/cli/config-actual.ts';
import { type DesiredOrganization, parseConfig, selectWorkspace } from '../../src/cli/config-file.ts';
import { ambiguousNames } from '../../src/cli/config-names.ts';
import type { Step } from '../../src/cli/config-step.ts';
import { makeSteps } from '../../src/cli/config-steps.ts';
import { CommandFailure } from '../../src/cli/failure.ts';
import { parseSchema } from '../../src/cli/schema-file.ts';

const SCHEMA = 'entities:\n  orders:\n    fields: { total: { type: integer } }\n';

const read = (text: string): Promise<readonly DesiredOrganization[]> =>
  parseConfig(parseSchema(text, 'config.yaml'), async (name) => parseSchema(SCHEMA, name));

const ofShop = (members: string): Promise<readonly DesiredOrganization[]> =>
  read(`organizations:\n  acme:\n    workspaces:\n      shop:${members === '' ? ' {}' : `\n        ${members}`}\n`);

const there = (shop: object = {}): Actual => ({
  organizations: {
    acme: {
      name: 'acme',
      limits: { maxBytes: 7 },
      schemas: {},
      workspaces: {
        shop: {
          name: 'shop',
          state: 'active',
          limits: { maxRecords: 5 },
          corsOrigins: null,
          follows: null,
          document: { entities: {} },
          plan: null,
          versionPlan: null,
          parts: {},
          lists: {},
          ...shop,
        },
      },
    },
  },
  unlisted: [],
});

const NOTHING: Actual = { organizations: {}, unlisted: [] };
const KEY = { id: 7, name: 'web', prefix: 'wda_x', permissions: 'READ_ONLY', expiresAt: null, lastUsedAt: null };
const HOOK = {
  id: 3,
  name: 'erp',
  url: 'https://a.example/',
  entities: ['a', 'b'],
  types: ['created', 'updated', 'removed'],
  fields: null,
  filter: { field: 'x', op: 'eq', value: 1.5 },
  previous: false,
  maxBatch: 1,
  ordering: 'relaxed',
  headers: { Authorization: null },
  enabled: true,
  state: 'ok',
};
const WS = '/api/admin/v1/organizations/acme/workspaces/shop';
const PROVIDER = {
  issuerUrl: 'https://a.example/',
  jwksUri: null,
  audience: null,
  roleClaim: null,
  defaultPermissions: 'READ_ONLY',
};
const PLANNED = { description: 'drop field x of orders', destructive: true, conflicts: null };

/** A step as one line: sign, what, what it needs, and its requests. */
const line = ({ change, place, what, needs, requests }: Step): string =>
  [
    change,
    `${place}:`,
    what,
    ...needs,
    ...requests.map(({ method, path }) => `${method} ${path.replace(WS, '…')}`),
  ].join(' ');

for (const [says, wanted, actual, lines] of [
  ['nothing is asked', '', there(), []],
  ['the same name', 'name: shop', there(), []],
  ['the same origins', 'corsOrigins: null', there(), []],
  ['other origins', 'corsOrigins: []', there(), ['change acme/shop: workspace PUT …']],
  [
    'a new workspace with origins',
    'corsOrigins: ["https://a.example"]',
    { ...NOTHING, organizations: { acme: { name: 'acme', workspaces: {} } } },
    [
      'create acme/shop: workspace POST /api/admin/v1/organizations/acme/workspaces',
      'change acme/shop: workspace PUT …',
    ],
  ],
  ['the same state', 'state: active', there(), []],
  ['another state', 'state: readOnly', there(), ['change acme/shop: workspace PUT …']],
  ['the same limits, and one that it has not', 'limits: { maxRecords: 5, maxBytes: null }', there(), []],
  ['another limit', 'limits: { maxRecords: 6 }', there(), ['change acme/shop: workspace PUT …']],
  ['another name', 'name: Shop', there(), ['change acme/shop: workspace PUT …']],
  [
    'nothing is there',
    'apiKeys: { web: { permissions: READ_ONLY } }',
    NOTHING,
    [
      'create acme: organization POST /api/admin/v1/organizations',
      'create acme/shop: workspace POST /api/admin/v1/organizations/acme/workspaces',
      'create acme/shop: API key web POST …/api-keys',
    ],
  ],
  ['the same schema', 'schema: { $file: a }', there({ plan: { steps: [], destructive: false } }), []],
  [
    'a schema that destroys data',
    'schema: { $file: a }',
    there({ plan: { steps: [PLANNED], destructive: true } }),
    ['change acme/shop: schema allowDestructive PUT …/schema'],
  ],
  [
    'the same settings, but for what is null',
    'settings: { orders: { maxExpandDepth: 2, expandable: null } }',
    there({ document: { entities: { orders: { settings: { maxExpandDepth: 2 } } } } }),
    [],
  ],
  [
    'other settings, one left out',
    'settings: { orders: { maxExpandDepth: 2 } }',
    there({ document: { entities: { orders: { settings: { maxExpandDepth: 2, expandable: [] } } } } }),
    ['change acme/shop: settings of orders PUT …/entities/orders/settings'],
  ],
  [
    'the same row rules',
    'rowRules: { orders: [{ column: a, claim: b }] }',
    there({ document: { entities: { orders: { rowRules: [{ claim: 'b', column: 'a', enabled: true }] } } } }),
    [],
  ],
  [
    'no row rules any more',
    'rowRules: { orders: [] }',
    there({ document: { entities: { orders: { rowRules: [{ claim: 'b', column: 'a' }] } } } }),
    ['change acme/shop: row rules of orders PUT …/entities/orders/row-rules'],
  ],
  [
    'the same provider, with defaults',
    'identityProvider: { issuerUrl: "https://a.example/", defaultPermissions: READ_ONLY }',
    there({ parts: { identityProvider: { ...PROVIDER, enabled: true } } }),
    [],
  ],
  [
    'a provider that was disabled',
    'identityProvider: { issuerUrl: "https://a.example/", defaultPermissions: READ_ONLY }',
    there({ parts: { identityProvider: { ...PROVIDER, enabled: false } } }),
    ['change acme/shop: identity provider PUT …/identity-provider'],
  ],
  [
    'the same required claims, in another order',
    'identityProvider: { issuerUrl: "https://a.example/", defaultPermissions: READ_ONLY, requiredClaims: { a: 1, b: x } }',
    there({ parts: { identityProvider: { ...PROVIDER, enabled: true, requiredClaims: { b: 'x', a: 1 } } } }),
    [],
  ],
  [
    'other required claims',
    'identityProvider: { issuerUrl: "https://a.example/", defaultPermissions: READ_ONLY, requiredClaims: { a: 1 } }',
    there({ parts: { identityProvider: { ...PROVIDER, enabled: true, requiredClaims: { a: '1' } } } }),
    ['change acme/shop: identity provider PUT …/identity-provider'],
  ],
  [
    'no provider',
    'identityProvider: null',
    there({ parts: { identityProvider: PROVIDER } }),
    ['remove acme/shop: identity provider prune DELETE …/identity-provider'],
  ],
  ['agents as they are by default, where nothing is set', 'mcp: {}', there(), []],
  [
    'agents that may write',
    'mcp: { writes: confirm, entities: [b, a] }',
    there({ parts: { mcp: { enabled: true, writes: 'off', entities: null } } }),
    ['change acme/shop: settings of agents PUT …/mcp'],
  ],
  [
    'agents that may write, already',
    'mcp: { writes: confirm, entities: [b, a] }',
    there({ parts: { mcp: { enabled: true, writes: 'confirm', entities: ['a', 'b'] } } }),
    [],
  ],
  ['the same key', 'apiKeys: { web: { permissions: READ_ONLY } }', there({ lists: { apiKeys: [KEY] } }), []],
  [
    'a key with other permissions',
    'apiKeys: { web: { permissions: OWNER } }',
    there({ lists: { apiKeys: [KEY] } }),
    ['change acme/shop: API key web prune DELETE …/api-keys/7 POST …/api-keys'],
  ],
  [
    'the same expiry, written otherwise',
    'apiKeys: { web: { permissions: READ_ONLY, expiresAt: "2030-01-01T01:00:00+01:00" } }',
    there({ lists: { apiKeys: [{ ...KEY, expiresAt: '2030-01-01T00:00:00.000Z' }] } }),
    [],
  ],
  [
    'another client than there is',
    'oauthClients: { new: { permissions: OWNER } }',
    there({ lists: { oauthClients: [{ clientId: 'c1', name: 'old', permissions: 'OWNER' }] } }),
    [
      'create acme/shop: OAuth client new POST …/oauth-clients',
      'remove acme/shop: OAuth client old (id c1) prune DELETE …/oauth-clients/c1',
    ],
  ],
  [
    'the same webhook, with members in another order and defaults left out',
    'webhooks: { erp: { url: "https://a.example/", entities: [b, a], filter: { op: eq, field: x, value: 1.5 } } }',
    there({ lists: { webhooks: [HOOK] } }),
    [],
  ],
  [
    'a webhook with another URL, and one that the file does not have',
    'webhooks: { erp: { url: "https://b.example/", entities: [a, b], filter: { field: x, op: eq, value: 1.5 } } }',
    there({ lists: { webhooks: [HOOK, { ...HOOK, id: 4, name: 'old' }] } }),
    [
      'change acme/shop: webhook erp PUT …/webhooks/3',
      'remove acme/shop: webhook old (id 4) prune DELETE …/webhooks/4',
    ],
  ],
  [
    'a webhook that was disabled',
    'webhooks: { erp: { url: "https://a.example/", entities: [a, b], filter: { field: x, op: eq, value: 1.5 } } }',
    there({ lists: { webhooks: [{ ...HOOK, enabled: false, disabledReason: 'gone' }] } }),
    ['change acme/shop: webhook erp PUT …/webhooks/3'],
  ],
  [
    'a new webhook',
    'webhooks: { erp: { url: "https://a.example/" } }',
    there(),
    ['create acme/shop: webhook erp POST …/webhooks'],
  ],
  [
    'the same key that acts as a role, and one without roles and claims',
    'apiKeys: { web: { permissions: GRANTS, roles: [b, a], claims: { y: 1, x: [2] } }, bare: { permissions: GRANTS } }',
    there({
      lists: {
        apiKeys: [
          { ...KEY, permissions: 'GRANTS', roles: ['a', 'b'], claims: { x: [2], y: 1 } },
          { ...KEY, name: 'bare', permissions: 'GRANTS', roles: [], claims: {} },
        ],
      },
    }),
    [],
  ],
  [
    'a client with another claim',
    'oauthClients: { web: { permissions: GRANTS, claims: { x: "1" } } }',
    there({
      lists: { oauthClients: [{ clientId: 'c1', name: 'web', permissions: 'GRANTS', roles: [], claims: { x: 1 } }] },
    }),
    ['change acme/shop: OAuth client web prune DELETE …/oauth-clients/c1 POST …/oauth-clients'],
  ],
  [
    'the file leaves out a key that acts as a role',
    'apiKeys: {}',
    there({ lists: { apiKeys: [{ ...KEY, permissions: 'GRANTS', roles: ['public'], claims: {} }] } }),
    ['remove acme/shop: API key web (id 7) prune DELETE …/api-keys/7'],
  ],
  [
    'the same grants and roles, in another order',
    'roles: [b, a]\n        grants: { orders: [{ can: [read], role: a }], notes: null }',
    there({
      document: { roles: ['a', 'b'], entities: { orders: { grants: [{ role: 'a', can: ['read'] }] }, notes: {} } },
    }),
    [],
  ],
  [
    'other grants, none, and none any more',
    'grants: { orders: [{ role: a, can: [read] }], notes: [], tags: null }',
    there({
      document: { roles: ['a'], entities: { orders: {}, notes: {}, tags: { grants: [{ can: ['read'] }] } } },
    }),
    [
      'change acme/shop: grants of orders PUT …/entities/orders/grants',
      'change acme/shop: grants of notes PUT …/entities/notes/grants',
      'change acme/shop: grants of tags PUT …/entities/tags/grants',
    ],
  ],
  [
    'other roles with other grants, of entities that are there',
    'roles: [b]\n        grants: { orders: [{ role: b, can: [read] }], gone: [] }',
    there({ document: { roles: ['a'], entities: { orders: { grants: [{ role: 'a', can: ['read'] }] } } } }),
    ['change acme/shop: roles PUT …/schema', 'change acme/shop: grants of gone PUT …/entities/gone/grants'],
  ],
  [
    'others beside it',
    '',
    {
      ...there(),
      unlisted: [
        { organization: 'acme', workspaces: ['old'], isListed: true },
        { organization: 'empty', workspaces: [], isListed: false },
      ],
    },
    [
      'remove acme/old: workspace with all of its records pruneWorkspaces allowDestructive DELETE /api/admin/v1/organizations/acme/workspaces/old',
      'remove empty: organization pruneWorkspaces DELETE /api/admin/v1/organizations/empty',
    ],
  ],
] as const) {
  test(`steps where ${says}`, async () => {
    assert.deepEqual(makeSteps(await ofShop(wanted), actual as Actual).map(line), lines);
  });
}

test('settings, row rules, roles and grants go into the schema that the file has', async () => {
  const wanted = await ofShop(
    'schema: { $file: a }\n        settings: { orders: { maxExpandDepth: 2 } }\n        rowRules: { orders: [{ column: a, claim: b }] }\n        roles: [a]\n        grants: { orders: null }',
  );
  const [, step] = makeSteps(wanted, NOTHING);
  assert.ok(step !== undefined);
  assert.deepEqual((step.requests[0]?.body as { schema?: unknown } | undefined)?.schema, {
    roles: ['a'],
    entities: {
      orders: {
        fields: { total: { type: 'integer' } },
        settings: { maxExpandDepth: 2 },
        rowRules: [{ column: 'a', claim: 'b' }],
        grants: null,
      },
    },
  });
});

test('limits are sent as they differ, and with a new workspace or organization', async () => {
  const organization = (limits: string, shop: string) =>
    read(`organizations:\n  acme: { limits: ${limits}, workspaces: { shop: { limits: ${shop} } } }\n`);
  const wanted = await organization('{ maxBytes: null, maxRecords: 9 }', '{ maxRecords: null, maxBytes: 8 }');
  const describe = ({ details, requests }: Step) => [
    details,
    (requests[0]?.body as { limits?: unknown } | undefined)?.limits,
  ];
  assert.deepEqual(makeSteps(wanted, there()).map(describe), [
    [['maxRecords: 9', 'maxBytes: 7 → null'], { maxRecords: 9, maxBytes: null }],
    [['maxRecords: 5 → null', 'maxBytes: 8'], { maxRecords: null, maxBytes: 8 }],
  ]);
  assert.deepEqual(makeSteps(wanted, NOTHING).map(describe), [
    [['maxRecords: 9'], { maxBytes: null, maxRecords: 9 }],
    [['maxBytes: 8'], { maxRecords: null, maxBytes: 8 }],
  ]);
  assert.deepEqual(makeSteps(await organization('{ maxBytes: 7 }', '{}'), there()), []);
});

test('one workspace of a file leaves out the others, and the name of the organization', async () => {
  const wanted = await read(
    'organizations:\n  acme: { name: Acme, workspaces: { shop: {}, other: { name: x } } }\n  more: {}',
  );
  const only = selectWorkspace(wanted, { organization: 'acme', workspace: 'other' });
  assert.deepEqual(makeSteps(only, there()).map(line), [
    'create acme/other: workspace POST /api/admin/v1/organizations/acme/workspaces',
  ]);
  assert.throws(() => selectWorkspace(wanted, { organization: 'more', workspace: 'shop' }), {
    message: 'The file names no workspace more/shop. Known: acme/shop, acme/other',
  });
  assert.throws(() => selectWorkspace([], { organization: 'more', workspace: 'shop' }), /Known: none$/);
});

test('a name that stands twice is found, when the file has it', async () => {
  const actual = there({ lists: { apiKeys: [KEY, { ...KEY, id: 8 }] } });
  assert.deepEqual(ambiguousNames(await ofShop('apiKeys: { web: { permissions: OWNER } }'), actual), [
    { address: { organization: 'acme', workspace: 'shop' }, member: 'apiKeys', name: 'web', ids: ['7', '8'] },
  ]);
  assert.deepEqual(ambiguousNames(await ofShop('apiKeys: {}'), actual), []);
});

for (const [members, message] of [
  ['apiKeys: { web: {} }', 'config.yaml:5: API key needs permissions: OWNER, READ_WRITE, READ_ONLY or GRANTS'],
  [
    'apiKeys: { web: { permissions: ALL } }',
    'config.yaml:5: permissions must be OWNER, READ_WRITE, READ_ONLY or GRANTS',
  ],
  [
    'apiKeys: { web: { permissions: OWNER, key: wda_x } }',
    'config.yaml:5: key means nothing here. Known: permissions, entities, expiresAt, roles, claims',
  ],
  ['apiKeys: { web: { permissions: OWNER, expiresAt: 2030-01-01 } }', /expiresAt must be a time with Z or an offset/],
  ['mcp: { writes: maybe }', 'config.yaml:5: writes must be off, confirm or on'],
  ['mcp: null', 'config.yaml:5: must be an object with enabled, writes, entities'],
  [
    'apiKey: {}',
    /apiKey means nothing here\. Known: name, state, limits, corsOrigins, follows, schema, settings, rowRules, roles, grants, identityProvider, mcp, apiKeys/,
  ],
  ['schema: { $file: a, entities: {} }', /entities means nothing here\. Known: \$file/],
  ['schema: shop.yaml', /schema must be a document or/],
  ['schema: { $file: a }\n        rowRules: { order: [] }', /the schema has no entity order\. Known: orders/],
  ['schema: { entities: { a: { settings: {} } } }\n        settings: { a: {} }', /the schema has settings of a, too/],
  ['rowRules: { orders: { column: a } }', /row rules must be a list/],
  ['state: readonly', /state must be active, readOnly, suspended/],
  ['limits: { maxRows: 5 }', /maxRows means nothing here\. Known: maxRecords, maxBytes, maxRequestsPerMinute/],
  ['limits: { maxRecords: -1 }', 'config.yaml:5: maxRecords must be a whole number, or null for none here'],
  ['limits: null', /must be an object with maxRecords, maxBytes/],
  ['corsOrigins: "*"', /corsOrigins must be a list of origins, or null for those of the server/],
  ['roles: agent', 'config.yaml:5: roles must be a list of names'],
  ['grants: { orders: { can: [read] } }', /grants must be a list of objects with role and can, or null/],
  ['schema: { roles: [a], entities: {} }\n        roles: [a]', /the schema has roles, too: write them in one place/],
  ['schema: { entities: { a: { grants: [] } } }\n        grants: { a: [] }', /the schema has grants of a, too/],
  [
    'apiKeys: { web: { permissions: OWNER, roles: [a] } }',
    'config.yaml:5: roles means nothing without the permissions GRANTS',
  ],
  ['apiKeys: { web: { permissions: GRANTS, claims: [a] } }', 'config.yaml:5: claims must be an object'],
] as const) {
  test(`${members} is refused`, async () => {
    await assert.rejects(ofShop(members), (error) => {
      assert.ok(error instanceof CommandFailure);
      if (typeof message === 'string') assert.equal(error.message, message);
      else assert.match(error.message, message);
      return true;
    });
  });
}
