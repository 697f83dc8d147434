// Roles and grants of a schema document: every mistake with its path, what stays in force, and names that change.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseSchemaDocument } from '../../../src/schema/document.ts';
import type { SchemaDocument } from '../../../src/schema/format.ts';

const entities = (grants: unknown): object => ({
  companies: { fields: { name: { type: 'string' } } },
  tickets: {
    fields: {
      subject: { type: 'string', required: true, maxLength: 3 },
      level: { type: 'integer' },
      due: { type: 'date' },
      extra: { type: 'json' },
    },
    relations: { company: { kind: 'belongsTo', entity: 'companies' } },
    timestamps: true,
    grants,
  },
});
const parse = (grants: unknown, inForce?: SchemaDocument) =>
  parseSchemaDocument({ roles: ['a'], entities: entities(grants) }, inForce);
const where = (node: unknown): readonly unknown[] => [{ can: ['read'], where: node }];

const MISTAKES: readonly (readonly [unknown, string, string])[] = [
  [[{ can: ['read'], role: 'b' }], 'role', 'REFERENCE_NOT_FOUND'],
  [[{ can: ['read'], role: ['a', 'a'] }], 'role.1', 'INVALID'],
  [[{ can: [] }], 'can', 'INVALID'],
  [[{}], 'can', 'REQUIRED'],
  [[{ can: ['list'] }], 'can.0', 'NOT_IN_ENUM'],
  [[{ can: ['read'], fields: ['nope'] }], 'fields.0', 'REFERENCE_NOT_FOUND'],
  [[{ can: ['read'], fields: ['company'] }], 'fields.0', 'REFERENCE_NOT_FOUND'],
  [[{ can: ['create'], write: ['id'] }], 'write.0', 'INVALID'],
  [[{ can: ['create'], write: ['createdAt'] }], 'write.0', 'INVALID'],
  [[{ can: ['read'], write: ['level'] }], 'write', 'INVALID'],
  [[{ can: ['update'], set: { level: 1 } }], 'set', 'INVALID'],
  [[{ can: ['create'], set: { level: 'x' } }], 'set.level', 'TYPE_MISMATCH'],
  [[{ can: ['create'], set: { subject: 'long' } }], 'set.subject', 'TOO_LONG'],
  [[{ can: ['create'], set: { subject: null } }], 'set.subject', 'REQUIRED'],
  [[{ can: ['create'], set: { subject: { claim: '' } } }], 'set.subject.claim', 'INVALID'],
  [where({ field: 'nope', op: 'eq', value: 1 }), 'where.field', 'REFERENCE_NOT_FOUND'],
  [where({ field: 'company.nope', op: 'eq', value: 1 }), 'where.field', 'REFERENCE_NOT_FOUND'],
  [where({ field: 'level', op: 'equals', value: 1 }), 'where.op', 'NOT_IN_ENUM'],
  [where({ field: 'level', op: 'contains', value: '1' }), 'where.op', 'INVALID'],
  [where({ field: 'level', op: 'eq', value: 'x' }), 'where.value', 'TYPE_MISMATCH'],
  [where({ field: 'level', op: 'eq' }), 'where.value', 'REQUIRED'],
  [where({ field: 'level', op: 'eq', value: { now: true } }), 'where.value', 'INVALID'],
  [where({ field: 'level', op: 'in', value: 1 }), 'where.value', 'TYPE_MISMATCH'],
  [where({ field: 'level', op: 'in', value: [{ claim: 'x' }] }), 'where.value.0', 'INVALID'],
  [where({ field: 'level', op: 'isNull', value: 1 }), 'where.value', 'INVALID'],
  [where({ and: [] }), 'where.and', 'INVALID'],
  [where({ or: [{ field: 'level', op: 'eq', value: { claim: 'a..b' } }] }), 'where.or.0.value.claim', 'INVALID'],
  [where({ field: 'level', op: 'eq', value: 1, more: 1 }), 'where.more', 'UNKNOWN_FIELD'],
];

for (const [grants, path, code] of MISTAKES) {
  test(`${JSON.stringify(grants)} is refused at ${path}`, () => {
    const parsed = parse(grants);
    assert.ok(!parsed.ok);
    assert.deepEqual(
      parsed.details.map((detail) => [detail.field, detail.code]),
      [[`entities.tickets.grants.0.${path}`, code]],
    );
  });
}

test('a path crosses at most 3 relations, and a grant has at most 32 comparisons', () => {
  const leaf = { field: 'level', op: 'eq', value: 1 };
  const many = parse(where({ or: Array.from({ length: 33 }, () => leaf) }));
  assert.ok(!many.ok && many.details[0]?.code === 'OUT_OF_RANGE');
  const deep = parse(where({ ...leaf, field: 'company.a.b.c.d' }));
  assert.ok(!deep.ok && deep.details[0]?.code === 'OUT_OF_RANGE');
});

test('roles are texts without control characters, each once', () => {
  for (const roles of [['a', 'a'], [''], ['a\n'], ['x'.repeat(101)]]) {
    assert.ok(!parseSchemaDocument({ roles, entities: {} }).ok, JSON.stringify(roles));
  }
});

const GRANTS = [
  {
    role: 'a',
    can: ['read', 'create'],
    where: {
      and: [{ field: 'company.name', op: 'eq', value: { claim: 'x' } }, { not: { field: 'level', op: 'isNull' } }],
    },
    fields: ['level', 'companyId'],
    write: ['level'],
    set: { subject: 'x' },
  },
];

test('what a document leaves out stays in force, null removes it, and renamed names follow', () => {
  const first = parse(GRANTS);
  assert.ok(first.ok, JSON.stringify(first));
  const { tickets, companies } = entities(undefined) as Record<string, { fields: object; relations?: object }>;
  const kept = parseSchemaDocument(
    { entities: { companies, tickets: { ...tickets, grants: GRANTS } } },
    first.document,
  );
  assert.ok(kept.ok);
  assert.deepEqual(kept.document.roles, ['a']);
  const { grants: _, ...withoutGrants } = { ...tickets, grants: undefined };
  const { level: __, ...fields } = (tickets?.fields ?? {}) as Record<string, object>;
  const renamed = parseSchemaDocument(
    {
      entities: {
        companies: { fields: { title: { type: 'string', renamedFrom: 'name' } } },
        tickets: {
          ...withoutGrants,
          fields: { ...fields, rank: { type: 'integer', renamedFrom: 'level' } },
          relations: { firm: { kind: 'belongsTo', entity: 'companies', renamedFrom: 'company' } },
        },
      },
    },
    first.document,
  );
  assert.ok(renamed.ok, JSON.stringify(renamed));
  assert.deepEqual(renamed.document.entities.tickets?.grants, [
    {
      role: 'a',
      can: ['read', 'create'],
      where: {
        and: [{ field: 'firm.title', op: 'eq', value: { claim: 'x' } }, { not: { field: 'rank', op: 'isNull' } }],
      },
      fields: ['rank', 'firmId'],
      write: ['rank'],
      set: { subject: 'x' },
    },
  ]);
  const removed = parseSchemaDocument(
    { entities: { companies, tickets: { ...tickets, grants: null } } },
    first.document,
  );
  assert.ok(removed.ok && !('grants' in (removed.document.entities.tickets ?? {})));
  const dropped = parseSchemaDocument(
    { entities: { companies, tickets: { ...withoutGrants, fields: { subject: { type: 'string', required: true } } } } },
    first.document,
  );
  assert.ok(!dropped.ok);
  assert.match(dropped.details[0]?.message ?? '', /level.*what is in force stays/);
});
