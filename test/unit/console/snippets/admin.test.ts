import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { adminCall, applyCall, planCall, tagOf } from '../../../../console/src/snippets/admin.ts';
import { snippet, snippets } from '../../../../console/src/snippets/snippets.ts';

const shop = { origin: 'http://localhost:3000', org: 'demo', ws: 'shop' };
const URL = 'http://localhost:3000/api/admin/v1/organizations/demo/workspaces/shop';
const document = `{"entities":{"constructor":{"description":"it's $HOME"}}}`;

test('a read of the admin API, for each tool', () => {
  const call = adminCall(shop, { rest: '/api-keys', wda: 'key list' });
  assert.equal(snippet('curl', call), `curl -H "Authorization: Bearer $WDA_KEY" \\\n  ${URL}/api-keys`);
  assert.equal(snippet('wda', call), 'WDA_KEY="$WDA_KEY" wda key list -w demo/shop --url http://localhost:3000');
  assert.match(snippet('fetch', call) ?? '', /Bearer \$\{process\.env\.WDA_KEY\}/);
  assert.equal(snippet('TypeScript', call), undefined);
});

test('a plan and its change name the document that they begin with', () => {
  const plan = planCall(shop, { document, strategy: 'online', basedOn: 'a-1' });
  assert.equal(plan.path.split('/').at(-1), 'plan?strategy=online&basedOn=a-1');
  const change = applyCall(shop, { document, strategy: 'blocking', basedOn: 'a-1', allowDestructive: true });
  assert.match(snippet('curl', change) ?? '', /-X PUT .*\n {2}-H 'If-Match: "a-1"'/);
  assert.match(snippet('fetch', change) ?? '', /"If-Match": "\\"a-1\\""/);
  assert.equal(
    snippet('wda', change),
    'WDA_KEY="$WDA_KEY" wda schema apply - --strategy blocking --allow-destructive --based-on a-1 --wait 0' +
      ` -w demo/shop --url http://localhost:3000 <<'JSON'\n${document}\nJSON`,
  );
});

test('a shell hands the document over as it is', () => {
  const { wda = '' } = planCall(shop, { document, strategy: 'online', basedOn: undefined });
  const told = execFileSync('sh', ['-c', wda.replace(/^.*? <</, 'cat <<')], { encoding: 'utf8' });
  assert.equal(told, `${document}\n`);
});

test('several requests are one program', () => {
  const calls = ['orders', 'customers'].map((name) =>
    adminCall(shop, { method: 'PUT', rest: `/entities/${name}/row-rules`, body: '[]' }),
  );
  assert.equal(snippets('curl', calls)?.match(/curl -X PUT/g)?.length, 2);
  assert.equal(snippets('fetch', calls)?.match(/^\{$/gm)?.length, 2);
  assert.equal(snippets('wda', calls), undefined);
  assert.equal(snippets('curl', []), undefined);
});

test('the tag of a document is what stands before the point of its entity tag', () => {
  assert.deepEqual(['"abc"', '"abc.def"', 'W/"abc"', undefined].map(tagOf), ['abc', 'abc', 'abc', undefined]);
});
