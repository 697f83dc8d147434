import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  describeClientDeletion,
  describeRevocation,
  formatEntities,
  printTokenCommands,
} from '../../../../console/src/access/credentials.ts';
import type { ApiKey } from '../../../../console/src/api/types.ts';

const key: ApiKey = {
  id: 1,
  name: 'nightly',
  prefix: 'wda_abc',
  permissions: 'READ_ONLY',
  entities: null,
  createdAt: '2026-01-01T00:00:00Z',
  expiresAt: '2026-06-01T00:00:00Z',
  lastUsedAt: null,
  createdBy: null,
};
const BEFORE = Date.parse('2026-05-31T23:59:59Z');

test('revoking says what stops', () => {
  assert.deepEqual(describeRevocation(key, BEFORE, ''), [
    'Programs that read records with it stop working: their next request is refused with 401.',
    'Console sessions started with it end.',
    'It has never been used.',
    'A revoked key cannot be restored; create another one.',
  ]);
  assert.match(describeRevocation({ ...key, permissions: 'OWNER' }, BEFORE, '').join(' '), /change the schema/);
  assert.match(describeRevocation({ ...key, lastUsedAt: 'x' }, BEFORE, 'yesterday').join(' '), /last used yesterday/);
  assert.deepEqual(describeRevocation(key, BEFORE + 1000, ''), ['The key has already expired: nothing stops working.']);
  const client = {
    id: 'c',
    clientId: 'c',
    name: 'n',
    permissions: 'READ_WRITE',
    entities: null,
    createdAt: '',
  } as const;
  assert.match(describeClientDeletion(client)[0] ?? '', /write records.*no more tokens/);
});

test('entities are named, many are counted', () => {
  const format = (entities: readonly string[] | null) => formatEntities({ permissions: 'READ_ONLY', entities });
  assert.equal(format(null), 'all');
  assert.equal(format([]), 'none any more');
  assert.equal(format(['a', 'b', 'c']), 'a, b, c');
  assert.equal(format(['a', 'b', 'c', 'd', 'e']), 'a, b, c and 2 more');
  assert.equal(formatEntities({ permissions: 'GRANTS', entities: null }), 'by its grants');
});

test('commands have a placeholder for the secret', () => {
  const text = printTokenCommands('https://data.example.com', { org: 'acme', ws: 'shop' }, 'wdac_1', 'orders');
  assert.match(text, /-u wdac_1:"\$CLIENT_SECRET" .* https:\/\/data\.example\.com\/oauth\/token\n/);
  assert.match(text, /https:\/\/data\.example\.com\/api\/v1\/acme\/shop\/orders$/);
});
