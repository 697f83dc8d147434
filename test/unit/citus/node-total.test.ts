// What keeps totals on a node of a cluster: the functions of the install files, with the names of shards in them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildNodeTotals } from '../../../src/citus/node-total.ts';
import { getTotalKey, internalRef, TOTAL_OBJECTS, totalRef } from '../../../src/sql/internal-names.ts';

const place = { schema: 'ws1_shop', total: { shard: '102009', group: '2' } };
const { totalsQuery: kept, install, parseTableName: tableNoted } = buildNodeTotals('2');
const statements = install(place);
const functions = statements.filter((statement) => statement.startsWith('create '));

for (const name of TOTAL_OBJECTS) {
  test(`${name} has the number of the shard behind its name, and elsewhere its own`, () => {
    assert.equal(totalRef(place, name).text, `"ws1_shop"."$${name}_102009"`);
    assert.equal(totalRef({ schema: 'ws1_shop' }, name).text, internalRef('ws1_shop', name).text);
  });
}

test('a base calls the table by the name of the shard, and of the node', () => {
  const base = getTotalKey({ name: 'things_102014', total: place.total });
  assert.equal(base, 'things_102014@2');
  assert.equal(tableNoted(base), 'things_102014');
  assert.equal(getTotalKey({ name: 'things' }), 'things');
});

test('the functions are those of the workspace, each made anew', () => {
  assert.deepEqual(
    functions.map((text) => /^create or replace function "ws1_shop"\."\$(\w+)_102009"\(/.exec(text)?.[1]),
    TOTAL_OBJECTS.filter((name) => name !== 'total'),
  );
});

test('they name shards alone, see them, and take no base of another node for theirs', () => {
  for (const text of statements) {
    assert.doesNotMatch(text, /\{schema\}|;\s*$/);
    for (const [, name] of text.matchAll(/"ws1_shop"\."\$(\w+)"/g)) assert.match(name as string, /_102009$/);
  }
  for (const text of functions) {
    assert.match(text, /set search_path = pg_catalog, pg_temp/);
    assert.equal(text.includes('set citus.override_table_visibility = off'), text.includes('pg_class'), text);
  }
  const isKept = functions.find((text) => text.includes('function "ws1_shop"."$is_total_kept_102009"')) ?? '';
  assert.ok(isKept.includes("b.relation = c.relname || '@2'"), isKept);
});

test('functions of a node are made there alone', () => {
  assert.equal(statements[0], 'set local citus.enable_ddl_propagation = off');
  assert.match(kept.text, /pg_dist_local_group/);
});
