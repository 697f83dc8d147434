// The warning about entities that are open to every user of an identity provider.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeOpenEntities } from '../../../src/admin-api/warnings.ts';
import type { SchemaDocument } from '../../../src/schema/format.ts';

const RULED = { rowRules: [{ column: 'id', claim: 'sub' }] };
const SWITCHED_OFF = { rowRules: [{ column: 'id', claim: 'sub', enabled: false }] };
const MANY = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`entity${index}`, {}]));

const CASES: readonly (readonly [
  entities: SchemaDocument['entities'],
  permissions: 'READ_ONLY' | 'READ_WRITE',
  warning: string | undefined,
])[] = [
  [{}, 'READ_WRITE', undefined],
  [{ a: RULED }, 'READ_WRITE', undefined],
  [{ a: { grants: [] } }, 'READ_WRITE', undefined],
  [
    { a: {} },
    'READ_WRITE',
    '1 entity has neither row rules nor grants: every user may read and change all of its records: a',
  ],
  [
    { a: {}, b: RULED, c: SWITCHED_OFF },
    'READ_ONLY',
    '2 entities have neither row rules nor grants: every user may read all of their records: a, c',
  ],
];

for (const [entities, defaultPermissions, warning] of CASES) {
  test(`${JSON.stringify(entities)} ${defaultPermissions}`, () => {
    assert.deepEqual(
      describeOpenEntities({ entities }, { defaultPermissions }),
      warning === undefined ? [] : [warning],
    );
  });
}

test('of very many entities the first are listed', () => {
  const [warning = ''] = describeOpenEntities({ entities: MANY }, { defaultPermissions: 'READ_ONLY' });
  assert.match(
    warning,
    /^200 entities have neither row rules nor grants: every user may read all of their records: entity0, .* and \d+ more$/,
  );
  assert.ok(warning.length < 2000, warning);
});
