import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'yaml';
import {
  compareVisibility,
  findUnmatchedIds,
  hasActiveRule,
  listRuleColumns,
  listSharedColumns,
  printRules,
  printTestCases,
  setRules,
  type VisibleRecords,
} from '../../../../console/src/access/rules.ts';
import { Digits } from '../../../../console/src/api/json.ts';
import type { EntityDocument } from '../../../../console/src/api/schema.ts';
import type { RowRule } from '../../../../console/src/api/types.ts';

const rule: RowRule = { column: 'customerId', claim: 'customer_id', enabled: true };
const off: RowRule = { ...rule, enabled: false };

test('a draft holds only what differs', () => {
  const inForce = new Map([['orders', [rule]]]);
  const changed = setRules(new Map(), inForce, 'orders', [off]);
  assert.deepEqual([...changed], [['orders', [off]]]);
  assert.deepEqual([...setRules(changed, inForce, 'orders', [rule])], []);
  assert.deepEqual([...setRules(changed, inForce, 'constructor', [])], [['orders', [off]]]);
  assert.deepEqual([...setRules(new Map(), inForce, 'orders', [])], [['orders', []]]);
});

test('rules that are off restrict nobody', () => {
  assert.equal(hasActiveRule([]), false);
  assert.equal(hasActiveRule([off]), false);
  assert.equal(hasActiveRule([off, rule]), true);
});

test('rules stand on fields that claims can equal, and on ids of relations', () => {
  const entity = {
    fields: new Map([
      ['total', { name: 'total', type: 'decimal' }],
      ['data', { name: 'data', type: 'json' }],
      ['toString', { name: 'toString', type: 'text' }],
    ]),
    relations: new Map([
      ['customer', { name: 'customer', kind: 'belongsTo', entity: 'customers', column: 'customerId' }],
      ['items', { name: 'items', kind: 'hasMany', entity: 'items' }],
    ]),
  } as unknown as EntityDocument;
  assert.deepEqual(listRuleColumns(entity), ['customerId', 'total', 'toString', 'id']);
});

test('columns that several entities have are listed, those of the most first', () => {
  const make = (name: string, fields: readonly string[]): EntityDocument =>
    ({
      name,
      fields: new Map(fields.map((field) => [field, { name: field, type: 'integer' }])),
      relations: new Map(),
    }) as unknown as EntityDocument;
  const all = [make('a', ['tenant', 'x']), make('b', ['tenant', 'owner']), make('c', ['tenant', 'owner', 'toString'])];
  assert.deepEqual(listSharedColumns(all), [
    { name: 'tenant', entities: ['a', 'b', 'c'] },
    { name: 'owner', entities: ['b', 'c'] },
  ]);
});

const seen = (...ids: readonly number[]): VisibleRecords => ({
  total: ids.length,
  records: ids.map((id) => ({ id: new Digits(String(id)) })),
});

test('records that only one side sees appear or disappear; those beyond the first page are asked for', () => {
  const now = seen(1, 2, 3);
  const then = seen(2, 4);
  assert.deepEqual(findUnmatchedIds(now, then), ['1', '3']);
  assert.deepEqual(
    [...compareVisibility(now, then, new Set(['3']), 'disappears')],
    [
      ['1', 'disappears'],
      ['2', 'stays'],
      ['3', 'stays'],
    ],
  );
  assert.deepEqual(
    [...compareVisibility(then, now, new Set(), 'appears')],
    [
      ['2', 'stays'],
      ['4', 'appears'],
    ],
  );
});

test('files are YAML that says the same, whatever names are', () => {
  const name = 'no: "yes" # \n<b>';
  const text = printTestCases([
    {
      name,
      claims: { customer_id: new Digits('9007199254740993'), no: 'no' },
      entity: 'constructor',
      ids: ['1', '2'],
      isAll: true,
    },
    { name: '', claims: {}, entity: 'orders', ids: ['9007199254740993'], isAll: false },
  ]);
  assert.match(text, /"customer_id":9007199254740993/);
  const { cases } = parse(text, { intAsBigInt: true });
  assert.equal(cases[0].name, name);
  assert.deepEqual(cases[0].claims, { customer_id: 9007199254740993n, no: 'no' });
  assert.deepEqual(cases[0].only, { constructor: [1n, 2n] });
  assert.deepEqual(cases[1].visible, { orders: [9007199254740993n] });
  assert.deepEqual(
    parse(
      printRules(
        new Map([
          ['orders', [off]],
          ['no', []],
        ]),
      ),
    ),
    { orders: [off], no: [] },
  );
});
