// Nothing of a request's text becomes SQL: whatever is asked, it is refused with 400, or the statement is made of our
// own words, quoted names of the schema and slots for values.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { FILTER_OPERATORS } from '../../../src/model/operators.ts';
import { getEntity } from '../../../src/model/workspace.ts';
import { planList } from '../../../src/plan/plan.ts';
import { parseBody } from '../../../src/request/body.ts';
import { parseQueryBody } from '../../../src/request/record-request.ts';
import { compile, compileEstimate, type Statement } from '../../../src/sql/compile.ts';
import { unlessBadRequest } from '../../support/error-response.ts';
import {
  external,
  LIMITS,
  makePlanContext,
  makeShop,
  SHOP as SHOP_DOCUMENT,
} from '../../support/field-types-fixture.ts';
import { bound, compileExport, compileList, compileRead, OPTIONS } from './statements.ts';

const SHOP = makeShop({
  customers: { rowRules: [{ column: 'country', claim: 'country' }] },
  orderTags: { rowRules: [{ column: 'tagId', claim: 'tag' }] },
});
const USER = external({ country: 'zqclaim', tag: 7 });

/** Every word that may stand in a statement outside of quotes. `wda` is none: records are asked for in their own schema. */
const WORDS = new Set(
  `select from where and or not exists is null true false distinct any between in order by asc desc limit offset as on left cross
  join lateral case when then else end over collate coalesce json_agg row_to_json json_build_array array_agg count max least
  row_number octet_length strpos starts_with right length upper lower replace to_char explain format json
  text int4 int8 numeric float8 bool date timestamptz uuid jsonb xmin data total last more version q x s j
  answer records numbered chosen n t b counted relid relation slot pending sum any int8 regclass
  rows unbounded preceding w near backward union all greatest`.split(/\s+/),
);

/** Names of the schema, and what our statements call things themselves. */
const NAMES = new Set<string>(
  `ws7_shop id createdAt updatedAt page $ $key $keys $sort0 $sort1 $sort2 $sort3 $sort4 $sort5 $sort6 $sort7 $sort8 $sort9 $row $at $seen $size $sum $total $goes_on_ws7 $bounded_text_ws7 w
  und-x-icu tr-x-icu`.split(/\s+/),
);
for (const [name, entity] of Object.entries(SHOP_DOCUMENT.entities)) {
  NAMES.add(name);
  for (const field of Object.keys('fields' in entity ? entity.fields : {})) NAMES.add(field);
  for (const relation of Object.keys('relations' in entity ? entity.relations : {}))
    NAMES.add(relation).add(`${relation}Id`);
}

/** Literals of our own: an empty list, and how datetimes are written. */
const LITERALS = new Set([
  ...Object.keys(SHOP_DOCUMENT.entities).flatMap((name) => [`'"ws7_shop"."${name}"'`, `'${name}'`]),
  "'[]'",
  "' '",
  "'ı'",
  "'ﬁ'",
  "'fi'",
  "'ﬃ'",
  "'ffi'",
  "'T'",
  "'+00'",
  "'Z'",
  `'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'`,
]);

/** Numbers of our own: in types, the limit of a response; and page sizes, checked whole numbers, with the look ahead. */
const NUMBERS = new Set(['0', '1', String(OPTIONS.maxResponseBytes), '20', '21', '7', '8', '77', '78']);

function assertOurs({ text, operands, bounded: careful }: Statement): void {
  assertWords(text, operands);
  const other = careful?.();
  // It holds the lengths of names as well.
  if (other !== undefined) assertWords(other.text, other.operands, 1000);
}

function assertWords(text: string, operands: Statement['operands'], small = 0): void {
  const tokens = text.match(/"(?:[^"]|"")*"|'(?:[^'\\]|'')*'|\$\d+|\w+|[^\w\s]/g) ?? [];
  assert.ok(!text.includes('--'), text);
  let slots = 0;
  for (const token of tokens) {
    if (token.startsWith('"')) {
      const name = token.slice(1, -1);
      assert.ok(NAMES.has(name) || /^[a-z]\d+$/.test(name), `${token} in ${text}`);
    } else if (token.startsWith("'")) assert.ok(LITERALS.has(token), `${token} in ${text}`);
    else if (/^\$\d+$/.test(token)) assert.equal(token, `$${++slots}`);
    else if (/^\d/.test(token)) assert.ok(NUMBERS.has(token) || Number(token) < small, `${token} in ${text}`);
    else if (/^\w/.test(token)) assert.ok(WORDS.has(token), `${token} in ${text}`);
    else assert.match(token, /^[()[\].,:=<>*+~-]$/, `${token} in ${text}`);
  }
  assert.equal(slots, operands.length);
}

const hostile = fc
  .string({ unit: fc.constantFrom("'", '"', '\\', ';', '-', '$', '1', ' ', ')', '/', '*', 'ä', ',') })
  .map((text) => `zq${text}`);
const value = fc.oneof(
  hostile,
  fc.constantFrom('77', '-77', '77.77', '2026-01-31T12:00:00Z', '2026-01-31', 'open', 'paid', 'true', ''),
);
/** Usual words, and now and then a hostile text. */
const mostly = (words: string, weight = 9) =>
  fc.oneof({ weight, arbitrary: fc.constantFrom(...words.split(/\s+/)) }, { weight: 1, arbitrary: hostile });
const path = fc.oneof(
  {
    weight: 12,
    arbitrary: mostly(
      `id status total placedAt customerId customer.name customer.profile.bio items.quantity items.product tags.name
      customer.orders.total items.order.customer.email`,
      12,
    ),
  },
  { weight: 1, arbitrary: hostile.map((text) => `customer.${text}`) },
);
const operator = mostly(FILTER_OPERATORS.join(' '), 20);
const filter = fc
  .tuple(path, operator, fc.array(value, { maxLength: 3 }))
  .map(([field, op, values]) => (/Null$/.test(op) ? `${field},${op}` : `${field},${op},${values.join(',')}`));
const sort = fc.tuple(path, mostly('asc desc DESC')).map((parts) => parts.join(','));
const expand = mostly('customer items tags customer.profile customer.orders.tags items.order');
const fields = mostly('id total placedAt customer customer.name items.product tags');

const parameter = fc.oneof(
  filter.map((text) => ['filter', text]),
  fc.array(filter, { minLength: 1, maxLength: 3 }).map((filters) => ['or', filters.join(';')]),
  sort.map((text) => ['sort', text]),
  expand.map((text) => ['expand', text]),
  fields.map((text) => ['fields', text]),
  filter.map((text) => ['items.filter', text]),
  fc.constantFrom('7', '77').map((text) => ['items.size', text]),
  fc.constantFrom('none', 'exact', 'estimated').map((text) => ['count', text]),
  fc.constantFrom('5', '55').map((text) => ['page', text]),
  fc.constantFrom('7', '77').map((text) => ['size', text]),
);
const query = fc
  .array(parameter, { minLength: 1, maxLength: 3 })
  .map((pairs) => pairs.map((pair) => pair.map((text) => encodeURIComponent(text as string)).join('=')).join('&'));

test('query strings of lists, reads and exports', () => {
  let compiled = 0;
  fc.assert(
    fc.property(query, (text) => {
      for (const run of [compileList, compileRead, compileExport]) {
        const statement = unlessBadRequest(() => run(text, { workspace: SHOP, principal: USER }));
        if (statement === undefined) continue;
        compiled++;
        assertOurs(statement);
        assert.equal(bound(statement, USER).values.length, statement.operands.length);
      }
    }),
    { numRuns: 2000 },
  );
  // Not everything was refused: the property has met statements.
  assert.ok(compiled > 100, `only ${compiled} requests were compiled`);
});

const { tree } = fc.letrec((tie) => ({
  tree: fc.oneof(
    { depthSize: 'small' },
    fc.record({ field: path, op: operator, value: fc.oneof(value, fc.integer(), fc.array(value, { maxLength: 2 })) }),
    fc.record({ and: fc.array(tie('tree'), { maxLength: 3 }) }),
    fc.record({ or: fc.array(tie('tree'), { maxLength: 3 }) }),
    fc.record({ not: tie('tree') }),
  ),
}));

test('bodies of _query, and the estimates of their totals', () => {
  let compiled = 0;
  const orders = getEntity(SHOP, 'orders');
  const body = fc.record(
    {
      filter: tree,
      sort: fc.array(sort, { maxLength: 2 }),
      expand: fc.array(expand, { maxLength: 2 }),
      fields: fc.array(fields, { maxLength: 2 }),
      narrow: fc.dictionary(expand, fc.record({ filter: tree, sort: fc.array(sort) }, { requiredKeys: [] }), {
        maxKeys: 1,
      }),
    },
    { requiredKeys: ['filter'] },
  );
  fc.assert(
    fc.property(body, (asked) => {
      unlessBadRequest(() => {
        const request = parseQueryBody(parseBody(Buffer.from(JSON.stringify(asked))), LIMITS);
        const plan = planList(request, orders, makePlanContext(SHOP, USER));
        for (const statement of [compile(plan, OPTIONS), compileEstimate(plan)]) assertOurs(statement);
        compiled++;
      });
    }),
    { numRuns: 2000 },
  );
  assert.ok(compiled > 100, `only ${compiled} requests were compiled`);
});

test('the check above finds what does not belong', () => {
  const statement = (text: string): Statement => ({
    text,
    name: 's',
    operands: [],
    bounded: undefined,
    expected: 'unknown',
    tag: undefined,
  });
  assertOurs(statement('select "name" from "ws7_shop"."customers" "r0"'));
  for (const text of [
    'select "zq"',
    "select 'zq'",
    'select zq',
    'select 55',
    'select $2',
    'select $1',
    'select "name"; select "id"',
    'select -- "name"',
    'select /* */ "name"',
  ]) {
    assert.throws(() => assertOurs(statement(text)), assert.AssertionError, text);
  }
});
