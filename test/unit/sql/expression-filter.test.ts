// The text of conditions: every operator, what null means, and relations crossed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Field } from '../../../src/model/entity.ts';
import { getEntity } from '../../../src/model/workspace.ts';
import { planFilter } from '../../../src/plan/predicate.ts';
import { type FilterTree, parseFilters } from '../../../src/request/filter.ts';
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
const fold = (text: string): string => `upper(lower(${text} collate "und-x-icu"))`;
const foldDotless = (text: string): string =>
  `upper(replace(replace(lower(${text} collate "und-x-icu"), 'ﬁ', 'fi'), 'ﬃ', 'ffi') collate "tr-x-icu")`;

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
  const [dotless, dotlessValue] = [foldDotless('"r"."aText"'), foldDotless('?::text')];
  assert.equal(
    text.replaceAll(/\$\d+/g, '?').replaceAll(/\s+/g, ' '),
    `(${column} like ${value} and (strpos(${column}, ${value}) > 0 and case when strpos("r"."aText", 'ı') = 0 then strpos(?::text, 'ı') = 0 else strpos(${dotless}, ${dotlessValue}) > 0 end))`,
  );
});

test('a long part is looked for in pieces, and so are many', () => {
  const inPieces = (...filters: string[]): number =>
    render(parseFilters(filters, []) as FilterTree, 'things').text.split('case when octet_length(').length - 1;
  const long = 'x'.repeat(101);
  assert.equal(inPieces(`aText,contains,${long}`, `aText,startsWith,${long}`, `aText,endsWith,${long}`), 6);
  assert.equal(inPieces(`aText,contains,${long}`, 'aText,startsWith,x'), 2);
  assert.equal(inPieces(`aText,eq,${long}`, `aText,contains,${'x'.repeat(100)}`), 0);
  assert.equal(inPieces(...Array.from({ length: 10 }, () => 'aText,contains,x')), 0);
  assert.equal(inPieces(...Array.from({ length: 11 }, () => 'aText,contains,x'), 'aText,eq,x'), 22);
});

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
