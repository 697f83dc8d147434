// Sentences of the activity log, and that each action of the admin API has one.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import type { Activity } from '../../../../admin-types/admin-api.d.ts';
import { describeActivity } from '../../../../console/src/api/activity-words.ts';

const ROOT = join(import.meta.dirname, '../../../..');

const entry = (action: string, more: Partial<Activity> = {}): Activity =>
  ({ action, subject: 'website', entity: null, details: {}, ...more }) as Activity;

const CASES: readonly (readonly [sentence: string, entry: Activity])[] = [
  ['created the API key website', entry('apiKeys.create')],
  [
    'imported 2,000 customers',
    entry('records.import', { subject: 'customers', details: { inserted: 2000, updated: 0 } }),
  ],
  ['imported 2 tags and changed 1', entry('records.import', { subject: 'tags', details: { inserted: 2, updated: 1 } })],
  [
    'changed 1 record of tags by an import',
    entry('records.import', { subject: 'tags', details: { inserted: 0, updated: 1 } }),
  ],
  ['added the member claim support', entry('members.create', { subject: 'claim support' })],
  ['saved the identity provider', entry('identityProvider.update')],
  ['cancelled migration 7', entry('migrations.cancel', { subject: '7' })],
  ['changed the row rules of orders', entry('rowRules.update', { subject: '', entity: 'orders' })],
  ['moons.paint website', entry('moons.paint')],
];

for (const [sentence, one] of CASES) test(sentence, () => assert.equal(describeActivity(one), sentence));

test('each action that is written has a sentence', () => {
  const texts = globSync('src/admin-api/*.ts', { cwd: ROOT }).map((path) => readFileSync(join(ROOT, path), 'utf8'));
  const written = /\bid: '([^']+)'(?:(?!\bid: ['`])[\s\S])*?activity: 'written'/g;
  const actions = texts.flatMap((text) => [...text.matchAll(written)].map(([, id = '']) => id));
  assert.ok(actions.length > 30, String(actions.length));
  for (const action of [
    ...actions,
    'rollouts.pause',
    'rollouts.resume',
    'records.import',
    'records.forget',
    'webhooks.disable',
  ])
    assert.ok(!describeActivity(entry(action)).includes(action), action);
});
