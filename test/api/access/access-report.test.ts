// Tests that the access report shows what users may do with each entity, by their roles.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { use, useIssuer, useServer, useUsers } from '../../support/resources.ts';
import { LOCAL_PROVIDER } from '../../support/users.ts';

const issuer = useIssuer();
const server = useServer({ ...LOCAL_PROVIDER, WDA_MAX_RESPONSE_BYTES: '1200000' });
const shop = use(() =>
  server.workspace('acme/shop', {
    roles: ['agent'],
    entities: {
      notes: {
        fields: { text: { type: 'string' }, owner: { type: 'string' } },
        grants: [
          { role: 'agent', can: ['read', 'update'] },
          { can: ['read'], where: { field: 'owner', op: 'eq', value: { claim: 'sub' } }, fields: ['text'] },
        ],
      },
      tags: { fields: { name: { type: 'string' } } },
    },
  }),
);
const club = use(() =>
  server.workspace('acme/club', { entities: { people: { fields: { name: { type: 'string' } } } } }),
);
useUsers(shop, issuer, 'READ_WRITE');

const report = (credential: string) => shop.admin('access/report', { credential });

test('owners get the matrix of entities, roles and operations', async () => {
  const { status, json, text } = await report(shop.key);
  assert.equal(status, 200, text);
  const all = { allowed: true, records: [], fields: null };
  const none = { allowed: false, records: [], fields: null };
  const own = 'owner is the claim sub';
  const everything = (role: string | null) => ({ role, read: all, create: all, update: all, delete: all });
  assert.deepEqual(json, {
    data: {
      roles: ['agent'],
      permission: 'READ_WRITE',
      entities: [
        {
          entity: 'notes',
          access: 'grants',
          rowRules: [],
          grants: [
            'Users with the role agent may read and update all records of notes',
            'Every user may read records of notes where owner is the claim sub; they see id and text of these',
          ],
          roles: [
            { role: 'agent', read: all, create: none, update: all, delete: none },
            {
              role: null,
              read: { allowed: true, records: [own], fields: ['id', 'text'] },
              create: none,
              update: none,
              delete: none,
            },
          ],
        },
        {
          entity: 'tags',
          access: 'open',
          rowRules: [],
          grants: [],
          roles: [everything('agent'), everything(null)],
        },
      ],
    },
  });
});

test('without a provider there is no permission', async () => {
  const { json } = await club.admin('access/report');
  assert.equal(json.data.permission, null);
  assert.equal(json.data.entities[0].access, 'open');
});

test('keys of other workspaces and below OWNER do not get it', async () => {
  const reader = await shop.admin('api-keys', { method: 'POST', body: { name: 'r', permissions: 'READ_ONLY' } });
  assert.equal((await report(reader.json.data.key)).status, 403);
  assert.notEqual((await report(club.key)).status, 200);
});

test('one entity can be asked for', async () => {
  const { json } = await shop.admin('access/report?entity=tags');
  assert.deepEqual(
    json.data.entities.map(({ entity }: { entity: string }) => entity),
    ['tags'],
  );
  const unknown = await shop.admin('access/report?entity=tag');
  assert.deepEqual([unknown.status, unknown.json.error.reason], [404, 'UNKNOWN_ENTITY']);
});

describe('a report that is larger than a response', () => {
  const role = (at: number): string => `role ${at}`;
  const many = use(() =>
    server.workspace('acme/many', {
      roles: Array.from({ length: 64 }, (_, at) => role(at)),
      entities: Object.fromEntries(
        Array.from({ length: 2 }, (_, entity) => [
          `notes${entity}`,
          {
            fields: { text: { type: 'text' } },
            grants: Array.from({ length: 32 }, (__, at) => ({
              can: ['read', 'update', 'delete'],
              where: { field: 'text', op: 'ne', value: `${at} ${'x'.repeat(80)}` },
            })),
          },
        ]),
      ),
    }),
  );
  test('is refused, and asked for by entity', async () => {
    const { status, json } = await many.admin('access/report');
    assert.deepEqual([status, json.error.reason], [400, 'RESPONSE_TOO_LARGE']);
    assert.equal((await many.admin('access/report?entity=notes1')).status, 200);
  });
});
