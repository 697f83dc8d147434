// Searches as SQL: nothing of what is typed stands in the text, and one text serves all searches of a form.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_NAMES } from '../../../src/model/physical-name.ts';
import type { Principal } from '../../../src/model/principal.ts';
import { getEntity } from '../../../src/model/workspace.ts';
import { planList } from '../../../src/plan/plan.ts';
import { parseListRequest } from '../../../src/request/record-request.ts';
import { compile } from '../../../src/sql/compile.ts';
import { makeWorkspace } from '../../../src/store/load-workspace.ts';
import { makePlanContext, OWNER } from '../../support/field-types-fixture.ts';

const text = { type: 'text', searchable: true } as const;
const workspace = makeWorkspace({
  id: '1',
  organization: 'acme',
  slug: 'shop',
  name: 'shop',
  version: '1',
  databaseSchema: 'ws1',
  document: {
    entities: {
      people: { fields: { name: text, note: text }, searchLanguage: 'german' },
      letters: { fields: { name: text, owner: { type: 'string' } }, rowRules: [{ column: 'owner', claim: 'sub' }] },
    },
  },
  names: NO_NAMES,
  entityIds: {},
  gates: {},
});

function statement(query: string, principal: Principal = OWNER, name = 'people') {
  const entity = getEntity(workspace, name);
  const plan = planList(parseListRequest(query, { maxPageSize: 1000 }), entity, makePlanContext(workspace, principal));
  return compile(plan, { maxResponseBytes: 1_000_000 });
}

const valuesOf = (query: string): unknown[] => [
  ...new Set(statement(query).operands.flatMap((operand) => (operand.kind === 'value' ? [operand.value] : []))),
];

test('what is typed is bound, never text', () => {
  const { text: sql } = statement(`search=${encodeURIComponent(`o'brien "a\\b c" -"x'); drop" zeb`)}&page=1`);
  for (const word of ['brien', 'drop', 'zeb']) assert.ok(!sql.includes(word));
  assert.deepEqual(valuesOf(`search=${encodeURIComponent(`ann o'brien "a\\b c" -"x'); drop" zeb`)}`), [
    'ann',
    'o brien',
    'a b c',
    'x drop',
    'zeb',
  ]);
});

test('the order of words is looked at in visible records alone, as the time would tell of it', () => {
  const user: Principal = {
    kind: 'external',
    permissions: 'READ_WRITE',
    workspaceId: '1',
    scope: null,
    credentialId: 'user',
    claims: { sub: 'ann' },
    roles: [],
    onlyGrants: false,
  };
  const { text: sql } = statement('search=%22ann%20lee%22&sort=name', user, 'letters');
  assert.match(
    sql,
    /case when "c0"\."\$visible" then \(select [^@]*<[^@]* or to_tsvector[^@]*@@ \(select \(phraseto_tsquery/,
  );
  assert.ok(!statement('search=%22ann%20lee%22', OWNER, 'letters').text.includes('$visible'));
});

const SAME: readonly [string, string][] = [
  ['search=ann', 'search=bob'],
  ['search=ann%20lee', 'search=a%20b%20c%20d'],
  ['search=%22ann%20lee%22%20x', 'search=%22a%20b%20c%22%20y'],
  ['search=ann&page=1', 'search=bob&page=7'],
];
for (const [one, other] of SAME) {
  test(`${one} and ${other} are one statement`, () => {
    assert.equal(statement(one).name, statement(other).name);
    assert.equal(statement(one).text, statement(other).text);
  });
}

const FORMS: readonly [string, boolean][] = [
  ['search=ann&page=49&size=20', true],
  ['search=ann&page=50&size=20', false],
  ['search=ann&page=99&size=10&count=none', true],
  ['search=ann&sort=id', false],
];
for (const [query, ranks] of FORMS) {
  test(`${query} ${ranks ? 'ranks' : 'does not rank'}`, () => {
    assert.equal(statement(query).text.includes('ts_rank('), ranks);
  });
}

test('a search looks for what its index holds', () => {
  const { text: sql } = statement('search=ann&sort=id&count=none');
  assert.match(
    sql,
    /to_tsvector\('"german"'::regconfig, "ws1"\."\$words"\(coalesce\("\w+"\."name", ''\) \|\| ' ' \|\| coalesce\("\w+"\."note", ''\)\)\) @@ \(select /,
  );
});

test('PostgreSQL makes no words of what is typed while it plans, so that one plan serves all searches', () => {
  const { text: sql } = statement('search=%22a%20b%22%20-c%20ann%20zeb');
  assert.match(sql, /"\$words"\(\(select \$\d+::text\)\)/);
  assert.doesNotMatch(sql, /"\$words"\(\$\d+/);
});

for (const query of ['search=ann', 'search=ann&count=none', 'search=ann&sort=id', 'search=ann&sort=id&count=none']) {
  test(`${query} is looked for by one process`, () => {
    const { text } = statement(query);
    // What comes before reads the first records for common words.
    const sql = text.split(' union all ').at(-1) as string;
    // Once for a page with the total of what it found, once more for the total of a sorted one.
    const looks = sql.split(' @@ (select ').length - 1;
    assert.equal(looks, query === 'search=ann&sort=id' ? 2 : 1);
    assert.equal(sql.split(' and one.process offset 0').length - 1, looks);
  });
}
