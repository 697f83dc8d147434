// The text of the statements of an import. The API tests run them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Principal } from '../../../src/model/principal.ts';
import { getEntity } from '../../../src/model/workspace.ts';
import { type ImportPlan, planCsvImport } from '../../../src/plan/import-plan.ts';
import { type ConflictMode, parseImportRequest } from '../../../src/request/import-request.ts';
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
  const request = parseImportRequest(`onConflict=${onConflict}`, { 'content-type': 'text/csv' });
  return planCsvImport(request, headers.split(','), getEntity(SHOP, entity), makePlanContext(SHOP, principal)).plan;
}

const TEXTS: readonly (readonly [name: string, fragment: Fragment, text: string])[] = [
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
    'values that a visible record has',
    statements.firstRows(
      statements.findUniqueConflicts(csvPlan('status', 'orders', 'fail', USER), [
        getEntity(SHOP, 'orders').fields.get('status') as never,
      ]),
      5,
    ),
    `select c."row"::text, c."line"::text, left(c."value", 101) as "value", c."other"::text from (select "s"."$row" as "row",
    "s"."$line" as "line", concat_ws(', ', "s"."status"::text) as "value", null::int8 as "other"
    from (select * from pg_temp."$import") "s" join "ws7_shop"."orders" "r" on "r"."status" = "s"."status"
    where "r"."customerId" = $1::int8) c order by c."row" limit 5`,
  ],
];
for (const [name, fragment, text] of TEXTS) {
  test(name, () => assert.equal(fragment.text.trim().replaceAll(/\s+/g, ' '), flat(text)));
}

test('claims are bound', () => {
  const plan = csvPlan('id,status', 'orders', 'update', USER);
  assert.deepEqual(statements.importQuery(statements.writeStaged(plan), USER).values, ['5']);
  assert.deepEqual(statements.importQuery(statements.findUnknownIds(plan), USER).values, ['5']);
});
