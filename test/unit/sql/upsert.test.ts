// The text of statements that create a record or change the one with the same key.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getEntity } from '../../../src/model/workspace.ts';
import { planKey } from '../../../src/plan/conflict-key.ts';
import { planUpsert, planUpsertAssignment } from '../../../src/plan/upsert.ts';
import type { Upsert } from '../../../src/request/upsert.ts';
import { bindQuery, compile } from '../../../src/sql/compile.ts';
import { makePlanContext, makeShop, OWNER } from '../../support/field-types-fixture.ts';
import { OPTIONS } from './statements.ts';

const SHOP = makeShop();

function textOf(body: object, upsert: Upsert): string {
  const entity = getEntity(SHOP, 'customers');
  const key = planKey(upsert, entity, makePlanContext(SHOP));
  const { values, details } = planUpsertAssignment(body, entity, makePlanContext(SHOP), key);
  assert.deepEqual(details, []);
  const plan = planUpsert(values, entity, makePlanContext(SHOP), key);
  return bindQuery(compile(plan, OPTIONS), { principal: OWNER, body: plan.values }).text;
}

test('the fields of the body but those of the key are changed in the record that is there', () => {
  assert.match(
    textOf({ email: 'a', name: 'Ann' }, { fields: ['email'], mode: 'update' }),
    /^with "\$r" as \(insert into "ws7_shop"\."customers" as "r0" \("email", "name"\) values \(\$1::text, \$2::text\) on conflict \("email"\) do update set "name" = excluded\."name", "updatedAt" = excluded\."updatedAt" returning .*, \("r0"\.xmax = 0\) as "\$created"\),\n"\$w" as \(select .* as id, "r0"\."\$created"::text as created from "\$r" "r0"\) select \* from "\$w"$/,
  );
});

test('a record that is left as it is is read', () => {
  assert.match(
    textOf({ email: 'a', name: 'Ann' }, { fields: ['email'], mode: 'skip' }),
    /on conflict \("email"\) do nothing returning .*union all select .* from "ws7_shop"\."customers" "r1" where "r1"\."email" = any\(array\[\$3::text::text collate "und-x-icu"\]\) and not exists \(select from "\$r"\)\) select \* from "\$w"$/s,
  );
});

test('an id comes by way of the sequence', () => {
  assert.match(
    textOf({ name: 'Ann', id: 7 }, { fields: ['id'], mode: 'update' }),
    /^with "\$s" as materialized \(select "ws7_shop"\."\$reached_id"\(\(select pg_get_serial_sequence\('"ws7_shop"\."customers"', 'id'\)::regclass\), \$1::int8\) as "id"\), "\$r" as \(insert into .* \("id", "name"\) select "\$s"\."id", \$2::text from "\$s" on conflict \("id"\)/,
  );
});
