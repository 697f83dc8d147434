import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import {
  createAdminCall,
  createApplyCall,
  createImportCall,
  createPlanCall,
  createReadCall,
  parseEtag,
} from '../../../../console/src/snippets/admin.ts';
import { printSnippet, printSnippets } from '../../../../console/src/snippets/snippets.ts';

const shop = { origin: 'http://localhost:3000', org: 'demo', ws: 'shop' };
const URL = 'http://localhost:3000/api/admin/v1/organizations/demo/workspaces/shop';
const document = `{"entities":{"constructor":{"description":"it's $HOME"}}}`;

test('a read of the admin API, for each tool', () => {
  const call = createAdminCall(shop, { rest: '/api-keys', wda: 'key list' });
  assert.equal(printSnippet('curl', call), `curl -H "Authorization: Bearer $WDA_KEY" \\\n  ${URL}/api-keys`);
  assert.equal(printSnippet('wda', call), 'WDA_KEY="$WDA_KEY" wda key list -w demo/shop --url http://localhost:3000');
  assert.match(printSnippet('fetch', call) ?? '', /Bearer \$\{process\.env\.WDA_KEY\}/);
  assert.equal(printSnippet('TypeScript', call), undefined);
});

test('a read of the server, for each tool', () => {
  const call = createReadCall(shop.origin, '/admin/v1/signing-keys', 'signing-key list');
  assert.match(printSnippet('curl', call) ?? '', /\n {2}http:\/\/localhost:3000\/api\/admin\/v1\/signing-keys$/);
  assert.equal(printSnippet('wda', call), 'WDA_KEY="$WDA_KEY" wda signing-key list --url http://localhost:3000');
  assert.equal(printSnippet('wda', createReadCall(shop.origin, '/admin/v1/sessions')), undefined);
});

test('an import sends the file of whoever runs the copy', () => {
  const file = { name: "-it's.csv", type: 'text/csv' };
  const parameters = { map: 'Mail:email,Notes:', onConflict: 'update', conflictOn: 'email' };
  const call = createImportCall({ ...shop, entity: 'customers', file, parameters });
  const url = 'http://localhost:3000/api/v1/demo/shop/customers/_import';
  assert.equal(
    printSnippet('curl', call),
    'curl -X POST -H "Authorization: Bearer $WDA_KEY" \\\n  -H \'Content-Type: text/csv\' \\\n' +
      "  --data-binary '@-it'\\''s.csv' \\\n" +
      `  '${url}?map=Mail%3Aemail%2CNotes%3A&onConflict=update&conflictOn=email'`,
  );
  assert.match(printSnippet('fetch', call) ?? '', /body: await readFile\("-it's\.csv"\),/);
  assert.equal(
    printSnippet('wda', call),
    `WDA_KEY="$WDA_KEY" wda import customers './-it'\\''s.csv' -w demo/shop --url http://localhost:3000` +
      ' --map Mail:email,Notes: --on-conflict email',
  );
  const leaving = createImportCall({ ...shop, entity: 'customers', file, parameters: { rejects: 'true' } });
  assert.match(printSnippet('wda', leaving) ?? '', / --rejects rejected-rows$/);
  assert.match(printSnippet('curl', leaving) ?? '', /_import\?rejects=true'?$/);
  const skipping = { ...shop, entity: 'customers', file, parameters: { ...parameters, onConflict: 'skip' } };
  assert.equal(printSnippet('wda', createImportCall(skipping)), undefined, 'it would change what is there');
});

test('a plan and its change name the document that they begin with', () => {
  const plan = createPlanCall(shop, { document, strategy: 'online', basedOn: 'a-1' });
  assert.equal(plan.path.split('/').at(-1), 'plan?strategy=online&basedOn=a-1');
  const change = createApplyCall(shop, { document, strategy: 'blocking', basedOn: 'a-1', allowDestructive: true });
  assert.match(printSnippet('curl', change) ?? '', /-X PUT .*\n {2}-H 'If-Match: "a-1"'/);
  assert.match(printSnippet('fetch', change) ?? '', /"If-Match": "\\"a-1\\""/);
  assert.equal(
    printSnippet('wda', change),
    'WDA_KEY="$WDA_KEY" wda schema apply - --strategy blocking --allow-destructive --based-on a-1 --wait 0' +
      ` -w demo/shop --url http://localhost:3000 <<'JSON'\n${document}\nJSON`,
  );
});

test('a shell hands the document over as it is', () => {
  const { wda = '' } = createPlanCall(shop, { document, strategy: 'online', basedOn: undefined });
  const told = execFileSync('sh', ['-c', wda.replace(/^.*? <</, 'cat <<')], { encoding: 'utf8' });
  assert.equal(told, `${document}\n`);
});

test('several requests are one program', () => {
  const calls = ['orders', 'customers'].map((name) =>
    createAdminCall(shop, { method: 'PUT', rest: `/entities/${name}/row-rules`, body: '[]' }),
  );
  assert.equal(printSnippets('curl', calls)?.match(/curl -X PUT/g)?.length, 2);
  assert.equal(printSnippets('fetch', calls)?.match(/^\{$/gm)?.length, 2);
  assert.equal(printSnippets('wda', calls), undefined);
  assert.equal(printSnippets('curl', []), undefined);
});

test('the tag of a document is what stands before the point of its entity tag', () => {
  assert.deepEqual(['"abc"', '"abc.def"', 'W/"abc"', undefined].map(parseEtag), ['abc', 'abc', 'abc', undefined]);
});
