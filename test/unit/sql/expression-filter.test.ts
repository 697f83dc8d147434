// The text of conditions: every operator, what null means, and relations crossed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Field } from '../../../src/model/entity.ts';
import { getEntity } from '../../../src/model/workspace.ts';
import { planFilter } from '../../../src/plan/predicate.ts';
import { type FilterTree, parseFilters, parseFilterTree } from '../../../src/request/filter.ts';
import { makeAliases, renderPredicate } from '../../../src/sql/expression.ts';
import { ident } from '../../../src/sql/fragment.ts';
import { external, makePlanContext, makeShop, OWNER } from '../../support/field-types-fixture.ts';
import { flat } from './statements.ts';

const SHOP = makeShop();

function render(
  tree: FilterTree,
  entity: string,
  principal = OWNER as Parameters<typeof makePlanContext>[1],
  workspace = SHOP,
) {
  const predicate = planFilter(tree, getEntity(workspace, entity), makePlanContext(workspace, principal));
  return renderPredicate(predicate ?? { kind: 'and', members: [] }, ident('r'), makeAliases());
}

const textOf = (filter: string, entity = 'things'): string =>
  render(parseFilters([filter], []) as FilterTree, entity).text;
const fold = (text: string): string => `upper(lower(${text} collate "und-x-icu"))`;

const OPERATORS: readonly (readonly [filter: string, text: string])[] = [
  ['aText,eq,x', '"r"."aText" = ?::text'],
  ['aText,ne,x', '"r"."aText" is distinct from ?::text'],
  ['aText,gt,x', '"r"."aText" > ?::text'],
  ['aText,gte,x', '"r"."aText" >= ?::text'],
  ['aText,lt,x', '"r"."aText" < ?::text'],
  ['aText,lte,x', '"r"."aText" <= ?::text'],
  ['aText,in,x,y', '"r"."aText" = any(?::text[])'],
  ['aText,nin,x,y', '(("r"."aText" = any(?::text[])) is not true)'],
  ['aText,between,x,y', '"r"."aText" between ?::text and ?::text'],
  ['aText,contains,x', `strpos(${fold('"r"."aText"')}, ${fold('?::text')}) > 0`],
  ['aText,startsWith,x', `starts_with(${fold('"r"."aText"')}, ${fold('?::text')})`],
  ['aText,endsWith,x', `right(${fold('"r"."aText"')}, length(${fold('?::text')})) = ${fold('?::text')}`],
  ['aText,matches,x', '"r"."aText" ~ ?::text'],
  ['aText,isNull', '"r"."aText" is null'],
  ['aText,notNull', '"r"."aText" is not null'],
];

test('with a pattern beside it, the part of a text is looked for by both', () => {
  const { fields } = getEntity(SHOP, 'things');
  const field = fields.get('aText') as Field;
  const operands = ['x', '%x%'].map((value) => ({ kind: 'value', value, type: 'text' }) as const);
  const { text } = renderPredicate(
    { kind: 'compare', field, operator: 'contains', operands },
    ident('r'),
    makeAliases(),
  );
  const [column, value] = [fold('"r"."aText"'), fold('?::text')];
  assert.equal(text.replaceAll(/\$\d+/g, '?'), `(${column} like ${value} and strpos(${column}, ${value}) > 0)`);
});

test('a long part is looked for in pieces, and so are many', () => {
  const inPieces = (...filters: string[]): number =>
    render(parseFilters(filters, []) as FilterTree, 'things').text.split('case when octet_length(').length - 1;
  const long = 'x'.repeat(101);
  assert.equal(inPieces(`aText,contains,${long}`, `aText,startsWith,${long}`, `aText,endsWith,${long}`), 3);
  assert.equal(inPieces(`aText,contains,${long}`, 'aText,startsWith,x'), 1);
  assert.equal(inPieces(`aText,eq,${long}`, `aText,contains,${'x'.repeat(100)}`), 0);
  assert.equal(inPieces(...Array.from({ length: 10 }, () => 'aText,contains,x')), 0);
  assert.equal(inPieces(...Array.from({ length: 11 }, () => 'aText,contains,x'), 'aText,eq,x'), 11);
});

for (const [filter, text] of OPERATORS) {
  test(`${filter} is ${text}`, () => assert.equal(textOf(filter).replaceAll(/\$\d+/g, '?'), text));
}

for (const [filter, type] of [
  ['aString,eq,x', 'text'],
  ['anInteger,eq,1', 'int4'],
  ['aBigint,eq,1', 'int8'],
  ['aDecimal,eq,1', 'numeric'],
  ['aFloat,eq,1', 'float8'],
  ['aBoolean,eq,true', 'bool'],
  ['aDate,eq,2026-01-31', 'date'],
  ['aDatetime,eq,2026-01-31T00:00:00Z', 'timestamptz'],
  ['aUuid,eq,3f2504e0-4f89-11d3-9a0c-0305e82c3301', 'uuid'],
  ['aJson,eq,1', 'jsonb'],
  ['anEnum,eq,red', 'text'],
] as const) {
  test(`${filter} is bound as ${type}`, () => {
    const name = filter.slice(0, filter.indexOf(','));
    assert.equal(textOf(filter), `"r"."${name}" = $1::${type}`);
  });
}

const ACROSS: readonly (readonly [entity: string, filter: string, text: string])[] = [
  [
    'orders',
    'customer.name,eq,x',
    'exists (select from "ws7_shop"."customers" "f0" where "f0"."id" = "r"."customerId" and "f0"."name" = $1::text)',
  ],
  [
    'orders',
    'items.quantity,gt,1',
    'exists (select from "ws7_shop"."items" "f0" where "f0"."orderId" = "r"."id" and "f0"."quantity" > $1::int4)',
  ],
  [
    'orders',
    'tags.name,eq,x',
    `exists (select from "ws7_shop"."tags" "f0" where "f0"."id" in
    (select "m1"."tagId" from "ws7_shop"."orderTags" "m1" where "m1"."orderId" = "r"."id") and "f0"."name" = $1::text)`,
  ],
  [
    'orders',
    'customer.name,ne,x',
    `((exists (select from "ws7_shop"."customers" "f0" where "f0"."id" = "r"."customerId" and "f0"."name" = $1::text)) is not true)`,
  ],
  [
    'customers',
    'orders.customer.name,isNull',
    `exists (select from "ws7_shop"."orders" "f0" where "f0"."customerId" = "r"."id" and
    ((exists (select from "ws7_shop"."customers" "f1" where "f1"."id" = "f0"."customerId" and "f1"."name" is not null)) is not true))`,
  ],
];

for (const [entity, filter, text] of ACROSS) {
  test(`${entity}: ${filter}`, () => assert.equal(textOf(filter, entity), flat(text)));
}

const TREES: readonly (readonly [tree: unknown, text: string])[] = [
  [{ and: [] }, 'true'],
  [{ or: [] }, 'false'],
  [{ not: { and: [] } }, 'false'],
  [{ not: { field: 'aText', op: 'eq', value: 'x' } }, '(("r"."aText" = $1::text) is not true)'],
  [{ field: 'aText', op: 'in', value: [] }, '"r"."aText" = any($1::text[])'],
  [
    {
      or: [
        { field: 'aText', op: 'isNull' },
        {
          and: [
            { field: 'anInteger', op: 'gt', value: 1 },
            { field: 'aText', op: 'lt', value: 'x' },
          ],
        },
      ],
    },
    '("r"."aText" is null or ("r"."anInteger" > $1::int4 and "r"."aText" < $2::text))',
  ],
];

for (const [tree, text] of TREES) {
  test(`${JSON.stringify(tree)} is ${text}`, () => assert.equal(render(parseFilterTree(tree), 'things').text, text));
}

test('a filter of a user crosses to no record that the row rules hide, denied or not', () => {
  const workspace = makeShop({
    customers: { rowRules: [{ column: 'country', claim: 'country' }] },
    orderTags: { rowRules: [{ column: 'tagId', claim: 'tag' }] },
  });
  const text = (filter: string) =>
    render(parseFilters([filter], []) as FilterTree, 'orders', external({}), workspace).text;
  assert.equal(
    text('customer.name,isNull'),
    flat(`((exists (select from "ws7_shop"."customers" "f0" where "f0"."id" = "r"."customerId" and "f0"."country" = $1::text
    and "f0"."name" is not null)) is not true)`),
  );
  assert.equal(
    text('tags.name,eq,x'),
    flat(`exists (select from "ws7_shop"."tags" "f0" where "f0"."id" in
    (select "m1"."tagId" from "ws7_shop"."orderTags" "m1" where "m1"."orderId" = "r"."id" and "m1"."tagId" = $1::int8)
    and "f0"."name" = $2::text)`),
  );
});
