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

test('records are written in the order of their keys, and those that are there take over the other fields', () => {
  const { text } = queryOf([ANN, BOB], BY_EMAIL);
  assert.equal(
    between(text, '"w" as (', 'returning'),
    `insert into "ws7_shop"."customers" as "r" ("id", "name", "email")
  select "s"."$id", "s"."name", "s"."email" from "s" order by ${KEY}, "s"."$row" on conflict ("email") do update set "name" = excluded."name", "updatedAt" = excluded."updatedAt" `,
  );
  assert.match(text, /returning "r"\.\*, \("r"\.xmax = 0\) as "\$created"\)/);
  assert.match(text, /having "ws7_shop"\."\$is_whole_ws7"\(count\(\*\), cardinality\(\$3::text\[\]\)::int8\)$/);
  assert.ok(
    text.includes(
      `union all select "s"."$row", "w".* from "s" join "w" on "w"."email" = ${KEY} where not "w"."$created"`,
    ),
  );
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
