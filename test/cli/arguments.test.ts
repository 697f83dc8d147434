import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseWorkspace } from '../../src/cli/command.ts';
import { parseExpiry, parsePermissions } from '../../src/cli/commands/credentials.ts';
import { parseWait } from '../../src/cli/commands/schema.ts';
import { CommandFailure } from '../../src/cli/failure.ts';

const isUsage = (error: unknown): boolean => error instanceof CommandFailure && error.failure.kind === 'usage';

test('a workspace is two slugs', () => {
  assert.deepEqual(parseWorkspace('acme/shop-2'), { organization: 'acme', workspace: 'shop-2' });
  for (const text of [
    'acme',
    'acme/',
    '/shop',
    'acme/shop/x',
    'Acme/shop',
    'acme/-shop',
    'acme/../x',
    'acme/sh%20op',
    '',
  ])
    assert.throws(() => parseWorkspace(text), isUsage, text);
});

test('permissions are written as people like', () => {
  const choices = ['OWNER', 'READ_ONLY'] as const;
  for (const text of ['READ_ONLY', 'read-only', 'read_only', 'Read-Only', 'readonly'])
    assert.equal(parsePermissions(text, choices), 'READ_ONLY');
  assert.equal(parsePermissions('owner', choices), 'OWNER');
  for (const text of ['admin', 'read-write']) assert.throws(() => parsePermissions(text, choices), isUsage, text);
});

test('an expiry is a duration, a date or a moment, and lies ahead', () => {
  const now = new Date('2026-03-01T12:00:00Z');
  const cases: readonly (readonly [string, string])[] = [
    ['30d', '2026-03-31T12:00:00.000Z'],
    ['12h', '2026-03-02T00:00:00.000Z'],
    ['15m', '2026-03-01T12:15:00.000Z'],
    ['2026-12-31', '2026-12-31T00:00:00.000Z'],
    ['2026-12-31T10:00:00Z', '2026-12-31T10:00:00.000Z'],
    ['2026-12-31T10:00:00+02:00', '2026-12-31T08:00:00.000Z'],
    ['2028-02-29', '2028-02-29T00:00:00.000Z'],
  ];
  for (const [text, moment] of cases) assert.equal(parseExpiry(text, now), moment, text);
  for (const text of [
    '30',
    '30 days',
    '0d',
    '2026-02-30',
    '2027-02-29',
    '2026-12-31T10:00:00',
    '2026-02-01',
    'tomorrow',
    '-1d',
    '',
  ])
    assert.throws(() => parseExpiry(text, now), isUsage, text);
});

test('a wait is whole seconds', () => {
  assert.equal(parseWait('0'), 0);
  assert.equal(parseWait('90'), 90);
  for (const text of ['', '-1', '1.5', 'long', '1e3']) assert.throws(() => parseWait(text), isUsage, text);
});
