import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  buildUrl,
  type Call,
  createCallAsUser,
  printSnippet,
  printSnippets,
  quoteShell,
} from '../../../../console/src/snippets/snippets.ts';

const list = (query: Call['query'] = []): Call => ({
  origin: 'http://localhost:3000',
  workspace: 'demo/shop',
  entity: 'orders',
  method: 'GET',
  rest: '',
  query,
});

test('a list, for each tool', () => {
  const call = list([
    ['filter', 'customer.country,in,SE,F\\,R'],
    ['filter', 'note,isNull'],
    ['or', 'status,eq,a\\;b\\\\;total,gt,90'],
    ['sort', 'total,desc'],
    ['expand', 'customer,items.product'],
    ['size', '5'],
  ]);
  assert.equal(printSnippet('curl', call), `curl -H "Authorization: Bearer $WDA_KEY" \\\n  '${buildUrl(call)}'`);
  assert.match(printSnippet('fetch', call) ?? '', /^const response = await fetch\("http:.*sort=total,desc/);
  assert.equal(
    printSnippet('TypeScript', call)?.split('\n').slice(8).join('\n'),
    `const { data, meta } = await entity.list({
  filter: { $and: [{ customer: { country: { in: ["SE","F,R"] } } }, { note: { isNull: true } }, { $or: [{ status: { eq: "a;b\\\\" } }, { total: { gt: "90" } }] }] },
  sort: ["total,desc"],
  expand: { customer: true, items: { expand: { product: true } } },
  size: 5,
});
console.log(data);`,
  );
  assert.equal(printSnippet('wda', call), undefined);
  assert.equal(
    printSnippet('wda', list([['filter', "note,eq,it's"]])),
    `WDA_KEY="$WDA_KEY" wda export orders -w demo/shop --url http://localhost:3000 --filter 'note,eq,it'\\''s' --format ndjson`,
  );
});

test('writes have their bodies, and a program for what has none is not made up', () => {
  const update: Call = { ...list(), method: 'PATCH', rest: '/7', body: '{"note":"`$(x)`"}' };
  assert.match(printSnippet('curl', update) ?? '', /-X PATCH .* -d '\{"note":"`\$\(x\)`"\}'/s);
  assert.match(printSnippet('TypeScript', update) ?? '', /entity\.update\(7, \{"note":"`\$\(x\)`"\}\);/);
  assert.equal(printSnippet('TypeScript', { ...list(), method: 'POST', rest: '/_bulk/delete' }), undefined);
  assert.equal(printSnippet('wda', update), undefined);
});

test('the history of a record and its restore have their calls and commands', () => {
  const history: Call = { ...list(), rest: '/7/_history' };
  const restore: Call = { ...list(), method: 'POST', rest: '/7/_restore', body: '{"event":"e_a-b"}' };
  assert.match(printSnippet('TypeScript', history) ?? '', /^const \{ data, meta \} = await entity\.history\(7\);$/m);
  assert.match(printSnippet('TypeScript', restore) ?? '', /^const \{ data \} = await entity\.restore\(7, "e_a-b"\);$/m);
  const where = '-w demo/shop --url http://localhost:3000';
  assert.equal(printSnippet('wda', history), `WDA_KEY="$WDA_KEY" wda history orders 7 ${where}`);
  assert.equal(printSnippet('wda', restore), `WDA_KEY="$WDA_KEY" wda restore-record orders 7 e_a-b ${where}`);
  assert.equal(printSnippet('wda', { ...history, query: [['size', '5']] }), undefined);
});

test('a program for Python has the request, its body and what the answer is', () => {
  const program = (call: Call) => printSnippet('Python', call);
  assert.equal(
    program({ ...list([['preview', 'true']]), method: 'POST', body: '{"note":"it\'s \\"é\\""}' }),
    `import json
import os
from urllib.request import Request, urlopen

request = Request(
    "http://localhost:3000/api/v1/demo/shop/orders?preview=true",
    method="POST",
    headers={"Authorization": "Bearer " + os.environ["WDA_KEY"], "Content-Type": "application/json"},
    data="{\\"note\\":\\"it's \\\\\\"é\\\\\\"\\"}".encode(),
)
with urlopen(request) as response:
    print(response.status, json.load(response))`,
  );
  assert.match(program({ ...list(), rest: '/_export' }) ?? '', /^import os\n.*response\.read\(\)\.decode\(\)\)$/s);
  const file = { name: 'a "b".csv', type: 'text/csv' };
  const upload =
    printSnippet('Python', { origin: 'http://localhost:3000', method: 'POST', path: '/api/x', file }) ?? '';
  assert.match(upload, /"Content-Type": "text\/csv"},\n {4}data=open\("a \\"b\\"\.csv", "rb"\)\.read\(\),\n\)/);
  assert.equal(printSnippets('Python', [list(), list()]), `${program(list())}\n${program(list())}`);
});

test('hostile names are properties, never code', () => {
  const line = printSnippet('TypeScript', list([['filter', '__proto__.constructor,eq,"];x()//']])) ?? '';
  assert.match(line, /filter: \{ \["__proto__"\]: \{ constructor: \{ eq: "\\"\];x\(\)\/\/" \} \} \}/);
});

test('a shell reads a word as it was', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme' }).filter((text) => !text.includes('\0')),
      (text) => {
        assert.equal(execFileSync('sh', ['-c', `printf %s ${quoteShell(text)}`], { encoding: 'utf8' }), text);
      },
    ),
    { numRuns: 30 },
  );
});

test('a request as a user is a test of access, with the claims to the digit', () => {
  const call = createCallAsUser(list([['filter', 'note,eq,é"']]), '{"customer_id":9007199254740993}');
  assert.equal(call.path, '/api/admin/v1/organizations/demo/workspaces/shop/access/test');
  assert.equal(
    call.body,
    '{"claims":{"customer_id":9007199254740993},"requests":[{"path":"orders?filter=note,eq,%C3%A9%22"}]}',
  );
  const query = createCallAsUser({ ...list(), method: 'POST', rest: '/_query', body: '{"size":1}' }, '{}');
  assert.equal(query.body, '{"claims":{},"requests":[{"path":"orders/_query","body":{"size":1}}]}');
  assert.match(printSnippet('curl', call) ?? '', /^curl -X POST .*\$WDA_KEY.*access\/test$/s);
  assert.match(printSnippet('fetch', call) ?? '', /access\/test.*method: 'POST'/s);
  assert.equal(printSnippet('TypeScript', call), undefined);
  assert.equal(printSnippet('wda', call), undefined);
});
