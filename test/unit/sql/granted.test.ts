// Statements under grants, and that documents without grants, and principals without limits, have the statements that
// they had before there were grants.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Entity } from '../../../src/model/entity.ts';
import { grantWorkspace } from '../../../src/model/granted.ts';
import { NO_LIMITS } from '../../../src/model/limits.ts';
import type { Principal } from '../../../src/model/principal.ts';
import { getEntity, type Workspace } from '../../../src/model/workspace.ts';
import { planGranted } from '../../../src/plan/granted.ts';
import { planCreate, planDelete, planList, planUpdate } from '../../../src/plan/plan.ts';
import { projectRecord } from '../../../src/plan/projection.ts';
import { parseListRequest } from '../../../src/request/record-request.ts';
import { buildEntities } from '../../../src/schema/entities.ts';
import type { SchemaDocument } from '../../../src/schema/format.ts';
import { compile } from '../../../src/sql/compile.ts';
import { external, LIMITS, OWNER } from '../../support/field-types-fixture.ts';

const ENTITIES = {
  companies: {
    fields: { name: { type: 'string' } },
    relations: { tickets: { kind: 'hasMany', entity: 'tickets', inverse: 'company' } },
  },
  tickets: {
    fields: { subject: { type: 'string' }, notes: { type: 'string' } },
    relations: { company: { kind: 'belongsTo', entity: 'companies' } },
    rowRules: [{ column: 'subject', claim: 'sub' }],
  },
} as const;
const grants = [
  {
    role: 'a',
    can: ['read', 'update'],
    where: { field: 'companyId', op: 'eq', value: { claim: 'c' } },
    fields: ['subject'],
  },
  { role: 'a', can: ['read'], where: { field: 'company.name', op: 'ne', value: { claim: 'n' } } },
];

function makeWorkspace(entities: unknown): Workspace {
  const document = { entities } as SchemaDocument;
  return {
    id: '7',
    organizationId: '3',
    organization: 'acme',
    slug: 'desk',
    name: 'desk',
    version: '1',
    databaseSchema: 'ws_7',
    entities: buildEntities(document, 'ws_7'),
    roles: [],
    identityProvider: null,
    corsOrigins: null,
    state: 'active',
    limits: NO_LIMITS,
    agents: { enabled: false, writes: 'off', entities: null },
    entityIds: new Map(),
    constraints: new Map(),
    part: null,
  } as Workspace;
}

const OPTIONS = { maxResponseBytes: 1000 };
const QUERIES = ['', 'expand=company&sort=company.name', 'filter=notes,eq,x&count=none', 'distinct=notes&page=3'];

function statementsOf(workspace: Workspace, principal: Principal): readonly string[] {
  const entity: Entity = getEntity(workspace, 'tickets');
  const context = { workspace, principal };
  const values = new Map([['notes', 'x']]);
  return [
    ...QUERIES.map((query) => compile(planList(parseListRequest(query, LIMITS), entity, context), OPTIONS).text),
    compile(planCreate(values, entity, context), OPTIONS).text,
    compile(planUpdate(values, entity, context, true), OPTIONS).text,
    compile(planDelete(entity, context, false), OPTIONS).text,
  ];
}

const USER = external({ sub: 'u', c: 1, n: 'x' }, 'READ_WRITE', ['a']);

test('grants change no statement of an owner, and no statement of a user without any', () => {
  const plain = makeWorkspace(ENTITIES);
  const limited = makeWorkspace({ ...ENTITIES, tickets: { ...ENTITIES.tickets, grants } });
  assert.deepEqual(statementsOf(limited, OWNER), statementsOf(plain, OWNER));
  const elsewhere = makeWorkspace({ ...ENTITIES, companies: { ...ENTITIES.companies, grants: [{ can: ['read'] }] } });
  const part = grantWorkspace(elsewhere, { roles: [], onlyGrants: false });
  assert.deepEqual(statementsOf(part, USER), statementsOf(plain, USER));
});

test('a list is a derived table with the filter, and a case for a field that some records do not show', () => {
  const workspace = makeWorkspace({ ...ENTITIES, tickets: { ...ENTITIES.tickets, grants } });
  const part = grantWorkspace(workspace, { roles: ['a'], onlyGrants: false });
  const entity = getEntity(part, 'tickets');
  const context = { workspace: part, principal: USER };
  const render = (query: string): string =>
    compile(planList(parseListRequest(query, LIMITS), entity, context), OPTIONS).text.replaceAll(/\$\d+/g, '$N');
  const first = `"r0"."companyId" = $N::int8`;
  const second = `$N::bool and ((exists (select from "ws_7"."companies" "gf0" where "gf0"."id" = "r0"."companyId" and "gf0"."name" = $N::text)) is not true)`;
  const filter = `where "r0"."subject" = $N::text and ((${first}) or (${second}))`;
  // The filter or the order of the list reads that field: it is decided for every record.
  for (const query of [
    'count=none&sort=notes',
    'count=none&filter=notes,eq,x',
    'count=none&filter=company.name,eq,x&sort=subject',
  ]) {
    const text = render(query);
    assert.ok(text.includes(`case when (${second}) then "r0"."notes" end as "notes"`), text);
    assert.ok(text.includes(`${filter}) "r0"`), text);
  }
  // Neither does: it is decided for the records of the page.
  for (const [query, condition] of [
    ['count=none', ''],
    ['count=none&filter=subject,eq,x&page=2', ' and "r0"."subject" = $N::text'],
    ['count=none&filter=id,gt,3&sort=subject', ' and "r0"."id" > $N::int8'],
  ] as const) {
    const text = render(query);
    assert.ok(text.includes(`case when (${second}) then "r0"."notes" end as "notes"`), text);
    const from = text.slice(text.indexOf(filter) + filter.length);
    assert.ok(
      from.startsWith(condition) && /^[^;]*? order by "r0"\.[^)]* limit \d+[^)]*\) "r0"\) "r0" order by/.test(from),
      text,
    );
  }
});

test('a statement without the checks of grants is not made', () => {
  const workspace = makeWorkspace({ ...ENTITIES, tickets: { ...ENTITIES.tickets, grants } });
  const part = grantWorkspace(workspace, { roles: ['a'], onlyGrants: false });
  const entity = getEntity(part, 'tickets');
  const context = { workspace: part, principal: USER };
  assert.throws(() => planCreate(new Map(), entity, context), TypeError);
  assert.throws(() => planUpdate(new Map(), entity, context, false), TypeError);
  assert.throws(() => planDelete(entity, context, false), TypeError);
  assert.ok(entity.access !== undefined);
  const plan = planGranted(
    'update',
    [{ values: new Map([['notes', 'x']]) }],
    { ...entity, access: entity.access },
    context,
    {
      guarded: false,
      projection: projectRecord(entity),
    },
  );
  assert.match(compile(plan, OPTIONS).text, /where not exists \(select from "\$problems"\)/);
});

test('a migration of an entity on the path of a grant is told under the name of the entity with the grant', () => {
  const workspace = makeWorkspace({ ...ENTITIES, tickets: { ...ENTITIES.tickets, grants } });
  const gate = { blocksReads: true, blocksWrites: true, retryAfterSeconds: 7 };
  const entities = new Map(workspace.entities).set('companies', { ...getEntity(workspace, 'companies'), gate });
  const part = grantWorkspace({ ...workspace, entities }, { roles: ['a'], onlyGrants: false });
  const context = { workspace: part, principal: USER };
  assert.throws(
    () => planList(parseListRequest('count=none', LIMITS), getEntity(part, 'tickets'), context),
    (error: { status?: number; message: string }) =>
      error.status === 503 && /tickets/.test(error.message) && !/companies/.test(error.message),
  );
});

test('a list under a claim that is a list is planned for its values', () => {
  const render = (op: 'eq' | 'in') => {
    const where = { field: 'companyId', op, value: { claim: 'c' } };
    const workspace = makeWorkspace({
      ...ENTITIES,
      tickets: { ...ENTITIES.tickets, grants: [{ role: 'a', can: ['read'], where }] },
    });
    const part = grantWorkspace(workspace, { roles: ['a'], onlyGrants: false });
    const context = { workspace: part, principal: USER };
    return compile(planList(parseListRequest('', LIMITS), getEntity(part, 'tickets'), context), OPTIONS);
  };
  assert.equal(render('in').name, undefined);
  assert.notEqual(render('eq').name, undefined);
});
