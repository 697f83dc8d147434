// Grants as sentences.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseExact } from '../../../src/model/exact-json.ts';
import { describeGrant, describeWhere } from '../../../src/model/grant-words.ts';
import type { GrantDocument } from '../../../src/schema/format.ts';
import { buildGrants } from '../../../src/schema/grants.ts';

const build = (grant: GrantDocument) => {
  const [built] = buildGrants({ grants: [grant] }) ?? [];
  assert.ok(built);
  return built;
};

for (const [grant, words] of [
  [{ can: ['read'] }, 'Every user may read all records of tickets'],
  [
    {
      role: 'agent',
      can: ['read', 'create', 'update'],
      where: { field: 'teamId', op: 'in', value: { claim: 'team_ids' } },
    },
    'Users with the role agent may read, create and update records of tickets where teamId is one of the claim team_ids',
  ],
  [
    {
      role: ['customer', 'public'],
      can: ['read', 'create'],
      fields: ['subject', 'status'],
      write: ['subject'],
      set: { status: 'open', authorSubject: { claim: 'sub' }, priority: null },
    },
    'Users with the role customer or public may read and create all records of tickets; they see id, subject and status of these; they may write subject; in a new record status is "open", authorSubject is the claim sub and priority is null',
  ],
  [{ can: ['update'], write: [] }, 'Every user may update all records of tickets; they may write no field'],
] as const) {
  test(words, () => {
    assert.equal(describeGrant(build(grant as GrantDocument), 'tickets'), words);
  });
}

for (const [where, words] of [
  ['{"field":"a","op":"eq","value":9007199254740993}', 'a is 9007199254740993'],
  ['{"field":"a.b","op":"ne","value":"x"}', 'a.b is not "x"'],
  ['{"field":"a","op":"between","value":[1,2]}', 'a is between 1 and 2'],
  ['{"field":"a","op":"lte","value":{"now":true}}', 'a is not after the current time'],
  ['{"field":"a","op":"gt","value":{"now":true}}', 'a is after the current time'],
  ['{"field":"a","op":"isNull"}', 'a is null'],
  ['{"field":"a","op":"ieq","value":"x"}', 'a is, in upper or lower case, "x"'],
  [
    '{"field":"a","op":"in","value":[1,2,3,4,5,6,7,8,9,10,11,12]}',
    'a is one of 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more',
  ],
  [
    '{"and":[{"field":"a","op":"eq","value":true},{"or":[{"field":"b","op":"notNull"},{"not":{"field":"c","op":"gt","value":1}}]}]}',
    'a is true and (b is not null or not (c is greater than 1))',
  ],
  [`{"field":"a","op":"eq","value":"${'x'.repeat(200)}"}`, `a is "${'x'.repeat(99)}…`],
  ['{"or":[{"and":[{"field":"a","op":"eq","value":1}]}]}', 'a is 1'],
] as const) {
  test(`a condition: ${words}`, () => {
    const grant = build({ can: ['read'], where: parseExact(where) as Readonly<Record<string, unknown>> });
    assert.ok(grant.where);
    assert.equal(describeWhere(grant.where), words);
  });
}
