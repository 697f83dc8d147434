// Headers and members of a file against the schema and the principal: what is staged, and which rows are refused.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError, type Detail } from '../../../src/errors.ts';
import type { Principal } from '../../../src/model/principal.ts';
import { getEntity } from '../../../src/model/workspace.ts';
import { checkImport, type ImportPlan, planCsvImport, planNdjsonImport } from '../../../src/plan/import-plan.ts';
import { makeCellDecoder, makeMemberDecoder, type StagedRow } from '../../../src/plan/import-row.ts';
import { parseHeaderMap } from '../../../src/request/field-names.ts';
import type { ConflictMode, ImportRequest } from '../../../src/request/import-request.ts';
import { external, makePlanContext, makeShop, OWNER } from '../../support/field-types-fixture.ts';

const SHOP = makeShop({ orders: { rowRules: [{ column: 'customerId', claim: 'customer' }] } });
const USER = external({ customer: 5 });

interface Asked {
  readonly entity?: string;
  readonly map?: string;
  readonly onConflict?: ConflictMode;
  readonly principal?: Principal;
}

function requestOf({ map = '', onConflict = 'fail' }: Asked, format: 'csv' | 'ndjson'): ImportRequest {
  return { kind: 'import', format, map: parseHeaderMap(map), onConflict };
}

function planOf(headers: string, asked: Asked = {}) {
  const { entity = 'customers', principal = OWNER } = asked;
  const view = makePlanContext(SHOP, principal);
  return planCsvImport(requestOf(asked, 'csv'), headers.split(','), getEntity(SHOP, entity), view);
}

function textOf(plan: ImportPlan): string {
  const required = plan.required.map((field) => field.name).join();
  return `${plan.columns.map((field) => field.name).join()}; ids ${plan.ids}; required ${required}`;
}

function detailsOf(work: () => unknown): string[] {
  try {
    work();
  } catch (error) {
    assert.ok(error instanceof ApiError);
    return (error.details ?? []).map(({ row, field, code }) => `${row} ${field} ${code}`);
  }
  return [];
}

const PLANS: readonly (readonly [headers: string, asked: Asked, plan: string])[] = [
  ['name,email', {}, 'name,email; ids none; required '],
  ['id,name', {}, 'id,name; ids new; required '],
  ['name,createdAt,updatedAt', {}, 'name,createdAt,updatedAt; ids none; required '],
  ['Mail,Full name,Junk', { map: 'Mail:email,Full name:name,Junk:' }, 'email,name; ids none; required '],
  ['id,email', { onConflict: 'update' }, 'id,email; ids new; required name'],
  [
    'id,status',
    { entity: 'orders', principal: USER, onConflict: 'update' },
    'id,status,customerId; ids known; required ',
  ],
  ['status', { entity: 'orders', principal: USER }, 'status,customerId; ids none; required '],
  ['customerId,status', { entity: 'orders', principal: USER }, 'customerId,status; ids none; required '],
];
for (const [headers, asked, plan] of PLANS) {
  test(`headers ${headers} ${JSON.stringify(asked)} are staged as ${plan}`, () => {
    assert.equal(textOf(planOf(headers, asked).plan), plan);
  });
}

const REFUSED: readonly (readonly [headers: string, asked: Asked, details: readonly string[]])[] = [
  ['nam,email', {}, ['0 nam UNKNOWN_FIELD', '0 name REQUIRED']],
  ['name,orders,profile', {}, ['0 orders UNKNOWN_FIELD', '0 profile UNKNOWN_FIELD']],
  ['name,Mail,email', { map: 'Mail:email' }, ['0 email INVALID']],
  ['name', { map: 'Mail:email' }, ['0 Mail UNKNOWN_FIELD']],
  ['email', { onConflict: 'update' }, ['0 name REQUIRED']],
  ['id,email', { onConflict: 'skip' }, ['0 name REQUIRED']],
  ['name', { map: 'name:' }, ['0 name REQUIRED']],
  ['id,name,createdAt', { principal: USER }, ['0 id READ_ONLY', '0 createdAt READ_ONLY']],
  ['id,name,updatedAt', { principal: USER, onConflict: 'update' }, ['0 updatedAt READ_ONLY']],
];
for (const [headers, asked, details] of REFUSED) {
  test(`headers ${headers} ${JSON.stringify(asked)} are refused`, () => {
    assert.deepEqual(
      detailsOf(() => planOf(headers, asked)),
      details,
    );
  });
}

test('the fields of map are checked before the file is read', () => {
  const check = (map: string) =>
    checkImport(requestOf({ map }, 'csv'), getEntity(SHOP, 'customers'), makePlanContext(SHOP));
  assert.throws(() => check('A:nam'), { message: /Unknown field nam on entity customers\. Did you mean name\?/ });
  check('A:name,B:');
});

test('a claim that no row can be stamped with is refused before the file is read', () => {
  const request = requestOf({}, 'csv');
  const orders = getEntity(SHOP, 'orders');
  assert.throws(() => checkImport(request, orders, makePlanContext(SHOP, external({}))), { code: 'FORBIDDEN' });
  checkImport(request, orders, makePlanContext(SHOP, USER));
});

test('unique values are checked where the file gives all columns of a constraint', () => {
  const uniques = (headers: string) => planOf(headers).plan.uniques.map((fields) => fields.map((field) => field.name));
  assert.deepEqual(uniques('name,email'), [['email']]);
  assert.deepEqual(uniques('name'), []);
});

function rowsOf<T>(
  decode: (source: T, row: number, report: (detail: Detail) => boolean) => StagedRow | undefined,
  sources: readonly T[],
) {
  const details: string[] = [];
  const report = ({ row, field, code }: Detail): boolean => details.push(`${row} ${field} ${code}`) > 0;
  return { rows: sources.map((source, index) => decode(source, index + 1, report)), details };
}

test('cells go to their columns; the empty ones are null', () => {
  const asked = { map: 'Junk:' };
  const planned = planOf('email,Junk,name', asked);
  const decode = makeCellDecoder(planned, getEntity(SHOP, 'customers'), makePlanContext(SHOP));
  assert.deepEqual(rowsOf(decode, [['a@x', 'zz', 'A'], ['', '', 'B'], ['', '', ''], ['x']]), {
    rows: [['a@x', 'A'], [null, 'B'], undefined, undefined],
    details: ['3 name REQUIRED', '4 null INVALID'],
  });
});

test('the columns of row rules are stamped in every row of an external user', () => {
  const orders = getEntity(SHOP, 'orders');
  const view = makePlanContext(SHOP, USER);
  const absent = planOf('status', { entity: 'orders', principal: USER });
  assert.deepEqual(rowsOf(makeCellDecoder(absent, orders, view), [['open'], ['paid']]).rows, [
    ['open', '5'],
    ['paid', '5'],
  ]);
  const given = makeCellDecoder(planOf('customerId,status', { entity: 'orders', principal: USER }), orders, view);
  assert.deepEqual(rowsOf(given, [['5', 'open']]).rows, [['5', 'open']]);
  assert.throws(() => rowsOf(given, [['6', 'open']]), { code: 'FORBIDDEN' });
});

test('members go to their columns, and bits say which were given', () => {
  const request = requestOf({ map: 'Mail:email' }, 'ndjson');
  const customers = getEntity(SHOP, 'customers');
  const plan = planNdjsonImport(request, customers, makePlanContext(SHOP));
  assert.equal(textOf(plan), 'id,name,email,country,createdAt,updatedAt; ids new; required ');
  const decode = makeMemberDecoder(plan, request, customers, makePlanContext(SHOP));
  assert.deepEqual(
    rowsOf<unknown>(decode, [
      { Mail: 'a@x', name: 'A' },
      { id: null, name: 'B', country: null },
      {},
      { name: 'C', email: 'x', Mail: 'y' },
      null,
      { constructor: 1, __proto__: 2, name: 'D' },
    ]),
    {
      rows: [
        [null, 'A', 'a@x', null, null, null, '011000'],
        [null, 'B', null, null, null, null, '110100'],
        undefined,
        undefined,
        undefined,
        undefined,
      ],
      details: ['3 name REQUIRED', '4 Mail INVALID', '5 null TYPE_MISMATCH', '6 constructor UNKNOWN_FIELD'],
    },
  );
});

test('a row that updates need not give what a new record needs', () => {
  const request = requestOf({ onConflict: 'update' }, 'ndjson');
  const customers = getEntity(SHOP, 'customers');
  const plan = planNdjsonImport(request, customers, makePlanContext(SHOP));
  assert.deepEqual(
    plan.required.map((field) => field.name),
    ['name'],
  );
  const decode = makeMemberDecoder(plan, request, customers, makePlanContext(SHOP));
  assert.deepEqual(rowsOf<unknown>(decode, [{ id: 1 }, { email: 'x' }]), {
    rows: [['1', null, null, null, null, null, '100000'], undefined],
    details: ['2 name REQUIRED'],
  });
});
