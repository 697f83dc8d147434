// The text of the statements of an import. The API tests run them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Principal } from '../../../src/model/principal.ts';
import { getEntity } from '../../../src/model/workspace.ts';
import { type ImportPlan, planCsvImport, planNdjsonImport } from '../../../src/plan/import-plan.ts';
import type { ConflictMode, ImportRequest } from '../../../src/request/import-request.ts';
import type { Fragment } from '../../../src/sql/fragment.ts';
import * as statements from '../../../src/sql/import.ts';
import { external, makePlanContext, makeShop, OWNER } from '../../support/field-types-fixture.ts';
import { flat } from './statements.ts';

const SHOP = makeShop({ orders: { rowRules: [{ column: 'customerId', claim: 'customer' }] } });
const USER = external({ customer: 5 });

function csvPlan(
  headers: string,
  entity: string,
  onConflict: ConflictMode = 'fail',
  principal: Principal = OWNER,
): ImportPlan {
  const request: ImportRequest = { kind: 'import', format: 'csv', map: new Map(), onConflict };
  return planCsvImport(request, headers.split(','), getEntity(SHOP, entity), makePlanContext(SHOP, principal)).plan;
}

function linesPlan(entity: string, onConflict: ConflictMode = 'fail'): ImportPlan {
  const request: ImportRequest = { kind: 'import', format: 'ndjson', map: new Map(), onConflict };
  return planNdjsonImport(request, getEntity(SHOP, entity), makePlanContext(SHOP));
}

const SEQUENCE = `(select pg_get_serial_sequence('"ws7_shop"."tags"', 'id')::regclass)`;

const TEXTS: readonly (readonly [name: string, fragment: Fragment, text: string])[] = [
  [
    'the staging table has the columns of the file',
    statements.createStaging(csvPlan('id,customerId,total,placedAt', 'orders')),
    `create temp table "$import" ("$row" int8, "id" int8, "customerId" int8, "total" numeric(12, 2),
    "placedAt" timestamptz(3)) on commit drop`,
  ],
  [
    'lines of JSON say what they give',
    statements.createStaging(linesPlan('tags')),
    `create temp table "$import" ("$row" int8, "id" int8, "name" text collate "und-x-icu", "$given" varbit) on commit drop`,
  ],
  [
    'records without ids draw them',
    statements.writeStaged(csvPlan('name', 'tags')),
    `with inserted as (insert into "ws7_shop"."tags" ("id", "name") select nextval(${SEQUENCE}), "s"."name"
    from (select * from pg_temp."$import") "s" returning 1)
    select (select count(*) from inserted)::text as inserted, 0::text as updated`,
  ],
  [
    'records that exist are passed over',
    statements.writeStaged(csvPlan('id,name', 'tags', 'skip')),
    `with "there" as materialized (select "r"."id" from (select * from pg_temp."$import") "s" join "ws7_shop"."tags" "r" on "r"."id" = "s"."id"),
    inserted as (insert into "ws7_shop"."tags" ("id", "name")
    select coalesce("s"."id", nextval(${SEQUENCE})), "s"."name" from (select * from pg_temp."$import") "s"
    where ("s"."id" is null or not exists (select from "there" where "there"."id" = "s"."id"))
    order by "s"."$row" on conflict ("id") do nothing returning 1)
    select (select count(*) from inserted)::text as inserted, 0::text as updated`,
  ],
  [
    'records that exist are updated, and when',
    statements.writeStaged(csvPlan('id,name,createdAt,updatedAt', 'customers', 'update')),
    `with "there" as materialized (select "r"."id" from (select * from pg_temp."$import") "s" join "ws7_shop"."customers" "r" on "r"."id" = "s"."id"),
    updated as (update "ws7_shop"."customers" "r" set "name" = "s"."name", "updatedAt" = now()
    from (select * from pg_temp."$import") "s" where "r"."id" = "s"."id" returning 1),
    inserted as (insert into "ws7_shop"."customers" ("id", "name", "createdAt", "updatedAt")
    select coalesce("s"."id", nextval((select pg_get_serial_sequence('"ws7_shop"."customers"', 'id')::regclass))),
    "s"."name", coalesce("s"."createdAt", now()), coalesce("s"."updatedAt", now()) from (select * from pg_temp."$import") "s"
    where ("s"."id" is null or not exists (select from "there" where "there"."id" = "s"."id"))
    order by "s"."$row" returning 1)
    select (select count(*) from inserted)::text as inserted, (select count(*) from updated)::text as updated`,
  ],
  [
    'what a line leaves out takes its default, or stays',
    statements.writeStaged(linesPlan('tags', 'update')),
    `with "there" as materialized (select "r"."id" from (select * from pg_temp."$import") "s" join "ws7_shop"."tags" "r" on "r"."id" = "s"."id"),
    updated as (update "ws7_shop"."tags" "r"
    set "name" = case when get_bit("s"."$given", 1) = 1 then "s"."name" else "r"."name" end
    from (select * from pg_temp."$import") "s" where "r"."id" = "s"."id" returning 1),
    inserted as (insert into "ws7_shop"."tags" ("id", "name")
    select coalesce("s"."id", nextval(${SEQUENCE})), "s"."name" from (select * from pg_temp."$import") "s"
    where ("s"."id" is null or not exists (select from "there" where "there"."id" = "s"."id"))
    order by "s"."$row" returning 1)
    select (select count(*) from inserted)::text as inserted, (select count(*) from updated)::text as updated`,
  ],
  [
    'an external user finds and updates records by the row rules, and creates none under a given id',
    statements.writeStaged(csvPlan('id,status', 'orders', 'update', USER)),
    `with updated as (update "ws7_shop"."orders" "r" set "status" = "s"."status", "customerId" = "s"."customerId"
    from (select * from pg_temp."$import") "s" where "r"."id" = "s"."id" and "r"."customerId" = $1::int8 returning 1),
    inserted as (insert into "ws7_shop"."orders" ("id", "status", "customerId")
    select nextval((select pg_get_serial_sequence('"ws7_shop"."orders"', 'id')::regclass)), "s"."status", "s"."customerId"
    from (select * from pg_temp."$import") "s" where "s"."id" is null order by "s"."$row" returning 1)
    select (select count(*) from inserted)::text as inserted, (select count(*) from updated)::text as updated`,
  ],
  [
    'values that stand twice',
    statements.findDuplicates(
      csvPlan('name,email', 'customers'),
      [getEntity(SHOP, 'customers').fields.get('email') as never],
      100,
    ),
    `select "s"."$row"::text as "row", d."$first"::text as "other" from (select * from pg_temp."$import") "s"
    join (select "email", min("s"."$row") as "$first" from (select * from pg_temp."$import") "s" where "s"."email" is not null
    group by "email" having count(*) > 1) d on "s"."email" = d."email"
    where "s"."$row" <> d."$first" order by "s"."$row" limit 100`,
  ],
  [
    'values that a visible record has',
    statements.findUniqueConflicts(
      csvPlan('status', 'orders', 'fail', USER),
      [getEntity(SHOP, 'orders').fields.get('status') as never],
      5,
    ),
    `select "s"."$row"::text as "row" from (select * from pg_temp."$import") "s"
    join "ws7_shop"."orders" "r" on "r"."status" = "s"."status" where "r"."customerId" = $1::int8
    order by "s"."$row" limit 5`,
  ],
];
for (const [name, fragment, text] of TEXTS) {
  test(name, () => assert.equal(fragment.text.trim().replaceAll(/\s+/g, ' '), flat(text)));
}

test('a default of a line that leaves it out is bound', () => {
  const fragment = statements.writeStaged(linesPlan('orders'));
  assert.match(fragment.text, /case when get_bit\("s"\."\$given", 1\) = 1 then "s"\."status" else \$1::text end/);
  assert.match(fragment.text, /then "s"\."placedAt" else now\(\) end/);
  assert.deepEqual(statements.importQuery(fragment, OWNER).values, ['open']);
});

test('claims are bound', () => {
  const plan = csvPlan('id,status', 'orders', 'update', USER);
  assert.deepEqual(statements.importQuery(statements.writeStaged(plan), USER).values, ['5']);
  assert.deepEqual(statements.importQuery(statements.findUnknownIds(plan, 1), USER).values, ['5']);
});

test('references to the own entity may lead to rows of the file', () => {
  const plan = csvPlan('id,parentId', 'categories');
  const [reference] = plan.references;
  assert.ok(reference?.own);
  assert.equal(
    statements.findMissingReferences(plan, reference, 100).text.replaceAll(/\s+/g, ' '),
    flat(`select "s"."$row"::text as "row" from (select * from pg_temp."$import") "s" where "s"."parentId" is not null
    and not exists (select from "ws7_shop"."categories" "t" where "t"."id" = "s"."parentId")
    and not exists (select from (select * from pg_temp."$import") o where o."id" = "s"."parentId") order by "s"."$row" limit 100`),
  );
});
