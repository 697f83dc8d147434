// The text of statements that create many records or change those with the same key.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Principal } from '../../../src/model/principal.ts';
import { getEntity, type Workspace } from '../../../src/model/workspace.ts';
import { buildLists, planBulkUpsert } from '../../../src/plan/bulk.ts';
import { planKey } from '../../../src/plan/conflict-key.ts';
import { planUpsertAssignment } from '../../../src/plan/upsert.ts';
import type { Upsert } from '../../../src/request/upsert.ts';
import { bindQuery, compile } from '../../../src/sql/compile.ts';
import { distributed, external, makePlanContext, makeShop, OWNER } from '../../support/field-types-fixture.ts';
import { OPTIONS } from './statements.ts';

const SHOP = makeShop();

interface Asked {
  readonly entity?: string;
  readonly principal?: Principal;
  readonly workspace?: Workspace;
}

function queryOf(
  bodies: readonly object[],
  upsert: Upsert,
  { entity: name = 'customers', principal = OWNER, workspace = SHOP }: Asked = {},
) {
  const entity = getEntity(workspace, name);
  const seen = makePlanContext(workspace, principal);
  const key = planKey(upsert, entity, seen);
  const assigned = bodies.map((body) => {
    const { values, details } = planUpsertAssignment(body, entity, seen, key);
    assert.deepEqual(details, []);
    return values;
  });
  const { plan, items } = planBulkUpsert(assigned, key, entity, seen);
  return bindQuery(compile(plan, OPTIONS), { principal, lists: buildLists(items, plan) });
}

const ANN = { email: 'a', name: 'Ann' };
const BOB = { email: 'b', name: 'Bob' };
const BY_EMAIL: Upsert = { fields: ['email'], mode: 'update' };

const KEY = '"s"."email"::text collate "und-x-icu"';

/** What stands between the marks in a statement, the marks left out. */
function between(text: string, from: string, to: string): string {
  const start = text.indexOf(from);
  assert.ok(start >= 0, text);
  return text.slice(start + from.length, text.indexOf(to, start + from.length));
}

test('rows are made of one list for each column, and the lists are all that is bound', () => {
  const { text, values } = queryOf([ANN, BOB], BY_EMAIL);
  assert.equal(
    between(text, 'with "s" as materialized (', ')),'),
    `select nextval((select pg_get_serial_sequence('"ws7_shop"."customers"', 'id')::regclass)) as "$id", u.* from unnest($1::text[], $2::text[]) with ordinality as u ("name", "email", "$row"`,
  );
  assert.deepEqual(values, [
    ['Ann', 'Bob'],
    ['a', 'b'],
    ['a', 'b'],
  ]);
});

test('records are written in the order of their keys, and those that are there take over the other fields', () => {
  const { text } = queryOf([ANN, BOB], BY_EMAIL);
  assert.equal(
    between(text, '"w" as (', 'returning'),
    `insert into "ws7_shop"."customers" as "r" ("id", "name", "email")
  select "s"."$id", "s"."name", "s"."email" from "s" order by ${KEY}, "s"."$row" on conflict ("email") do update set "name" = excluded."name", "updatedAt" = excluded."updatedAt" `,
  );
  assert.match(text, /returning "r"\.\*, \("r"\.xmax = 0\) as "\$created"\)/);
  assert.match(text, /having "ws7_shop"\."\$is_whole"\(count\(\*\), cardinality\(\$3::text\[\]\)::int8\)$/);
  assert.ok(
    text.includes(
      `union all select "s"."$row", "w".* from "s" join "w" on "w"."email" = ${KEY} where not "w"."$created"`,
    ),
  );
});

test('records that are left as they are are read, and a key that stands twice is not whole', () => {
  const { text } = queryOf([ANN, BOB], { ...BY_EMAIL, mode: 'skip' });
  assert.match(text, / on conflict \("email"\) do nothing returning "r"\.\*, true as "\$created"\)/);
  assert.ok(
    text.includes(
      `union all select "s"."$row", "r".*, false from "s", "ws7_shop"."customers" "r" where "r"."email" = ${KEY} and not exists (select from "w" where "w"."id" = "s"."$id")`,
    ),
  );
  assert.equal(
    between(text, 'having "ws7_shop"."$is_whole"(', ', cardinality'),
    `case when exists (select from "s" where ${KEY} is not null group by ${KEY} having count(*) > 1) then -1 else count(*) end`,
  );
});

test('a record keeps what the request does not give for it, and a new one gets its defaults', () => {
  const { text, values } = queryOf([ANN, { ...BOB, country: 'SE' }], BY_EMAIL);
  assert.ok(
    text.includes('"$bits" as materialized (select jsonb_object_agg("s"."$id"::text, "s"."$given") as of from "s")'),
  );
  assert.match(
    text,
    / set "name" = case when substr\(.*, 1, 1\) = '1' then excluded\."name" else "r"\."name" end, "country" = case when substr\(.*, 3, 1\) = '1' then excluded\."country" else "r"\."country" end, /,
  );
  assert.deepEqual(values.slice(2, 4), [
    [null, 'SE'],
    ['110', '111'],
  ]);
  const dated = { ...ORDER, placedAt: null };
  const defaults = queryOf([ORDER, dated], { fields: ['id'], mode: 'update' }, { entity: 'orders' });
  assert.match(defaults.text, /case when substr\("s"\."\$given", \d, 1\) = '1' then "s"\."placedAt" else now\(\) end/);
});

const ORDER = { id: 5, customerId: 1 };

test('an id comes by way of the sequence, and finds its record alone', () => {
  const { text } = queryOf([{ id: 7, name: 'Ann' }], { fields: ['id'], mode: 'update' });
  assert.match(
    text,
    /^with "s" as materialized \(select "ws7_shop"\."\$reached_id"\(\(select pg_get_serial_sequence\(.*\)::regclass\), u\."id"\) as "\$id", u\.\* /,
  );
  assert.ok(!text.includes('union all'));
  assert.match(text, / order by "s"\."id"::int8, "s"\."\$row" on conflict \("id"\) do update set /);
});

test('a user changes only records that the row rules show, and gives new ones the column of the rule', () => {
  const rules = [{ column: 'country', claim: 'country', enabled: true }] as const;
  const workspace = makeShop({ customers: { rowRules: rules } });
  const principal = external({ country: 'SE' });
  const { text, values } = queryOf([ANN], BY_EMAIL, { workspace, principal });
  assert.match(text, / on conflict \("email"\) do update set .* where "r"\."country" = \$\d+::text[^"]* returning /);
  assert.ok(values.some((value) => Array.isArray(value) && value[0] === 'SE'));
  assert.ok(values.includes('SE'));
});

test('where tables are distributed, what each record gives decides an update of its own', () => {
  const workspace = distributed(SHOP);
  const { text } = queryOf([{ ...ANN, country: 'DE' }, BOB], BY_EMAIL, { workspace });
  assert.match(
    between(text, '"$made" as (', '"$changed"'),
    /on conflict \("email"\) do nothing returning "r"\.\*\),\s+$/,
  );
  assert.equal(
    between(text, '"$changed" as (', ' returning').replaceAll(/\s+/g, ' '),
    `update "ws7_shop"."customers" "r" set "name" = case when substr("s"."$given", 1, 1) = '1' then "s"."name" else "r"."name" end, "country" = case when substr("s"."$given", 3, 1) = '1' then "s"."country" else "r"."country" end, "updatedAt" = now() from "s" where "r"."email" = ${KEY} and not exists (select from "$made" where "$made"."id" = "s"."$id")`,
  );
});
