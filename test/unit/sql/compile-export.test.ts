// The text of statements that export.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { external, makeShop } from '../../support/field-types-fixture.ts';
import { bound, compileExport, dateTime, flat } from './statements.ts';

test('a CSV export is a column a field, every row of it', () => {
  const statement = compileExport('', { entity: 'tags' });
  assert.equal(
    statement.text,
    flat(
      `select "$".* from "ws7_shop"."tags" "r0" cross join lateral (select "r0"."id", "r0"."name") "$" order by "r0"."id" asc`,
    ),
  );
  assert.deepEqual(bound(statement).values, []);
});

test('an export takes filters, sorts and fields', () => {
  const statement = compileExport('format=ndjson&filter=status,eq,open&sort=placedAt,desc&fields=id,placedAt');
  assert.equal(
    statement.text,
    flat(`select "$".* from "ws7_shop"."orders" "r0"
    cross join lateral (select "r0"."id", ${dateTime('r0', 'placedAt')} as "placedAt") "$"
    where "r0"."status" = $1::text order by "r0"."placedAt" desc, "r0"."id" desc`),
  );
  assert.deepEqual(bound(statement).values, ['open']);
});

test('an export of a user holds the row filter', () => {
  const statement = compileExport('fields=id', {
    entity: 'tags',
    principal: external({ name: 'x' }),
    workspace: makeShop({ tags: { rowRules: [{ column: 'name', claim: 'name' }] } }),
  });
  assert.ok(statement.text.endsWith('"$" where "r0"."name" = $1::text order by "r0"."id" asc'), statement.text);
  assert.deepEqual(bound(statement, external({ name: 'x' })).values, ['x']);
  assert.deepEqual(bound(statement, external({})).values, [null]);
});
