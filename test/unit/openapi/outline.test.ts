// The outline of a workspace for users whose grants show some of the fields.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { grantWorkspace } from '../../../src/model/granted.ts';
import { buildOutline } from '../../../src/openapi/outline.ts';
import { workspaceOf } from '../../support/field-types-fixture.ts';

const WORKSPACE = workspaceOf({
  roles: ['both', 'one', 'none'],
  entities: {
    tickets: {
      fields: { subject: { type: 'string' } },
      timestamps: true,
      grants: [
        { role: 'both', can: ['read'] },
        { role: 'one', can: ['read'], fields: ['subject', 'updatedAt'] },
        { role: 'none', can: ['read'], fields: ['subject'] },
      ],
    },
  },
});

for (const [role, timestamps, fields] of [
  ['both', true, ['subject']],
  ['one', false, ['subject', 'updatedAt']],
  ['none', false, ['subject']],
] as const) {
  test(`timestamps are those that the grants of the role show: ${role}`, () => {
    const workspace = grantWorkspace(WORKSPACE, { roles: [role], onlyGrants: false });
    const { tickets } = buildOutline(workspace, { kind: 'external', mayWrite: true }).entities;
    assert.deepEqual([tickets?.timestamps, Object.keys(tickets?.fields ?? {})], [timestamps, fields]);
  });
}
