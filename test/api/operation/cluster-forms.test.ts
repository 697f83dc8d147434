// Statements on records keep to forms that a Citus cluster takes, too, where the tables of a workspace lie on another node.
// No cluster is needed: what goes over the wire is heard and held against what Citus refuses.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judgeNothing } from '../../support/described.ts';
import type { Answer, Call } from '../../support/server.ts';
import { fillShop, SHOP_SCHEMA } from '../../support/shop.ts';
import { CSV, NDJSON } from '../../support/transfer.ts';
import { prepare, use, useDatabase, useDatabaseProxy, useIssuer, useServer, useUsers } from '../../support/use.ts';
import { LOCAL_PROVIDER } from '../../support/users.ts';

// Answers are not judged here: their documents are requests, too.
judgeNothing();

const { customers, orders, orderTags } = SHOP_SCHEMA.entities;
const proxy = useDatabaseProxy(useDatabase());
const server = useServer(LOCAL_PROVIDER, proxy);
const shop = use(() =>
  server.workspace('acme/shop', {
    entities: {
      ...SHOP_SCHEMA.entities,
      customers: { ...customers, rowRules: [{ column: 'email', claim: 'email' }] },
      orders: { ...orders, rowRules: [{ column: 'customerId', claim: 'customer' }] },
      orderTags: { ...orderTags, rowRules: [{ column: 'tagId', claim: 'tag' }] },
    },
  }),
);
const tokenOf = useUsers(shop, useIssuer());
prepare(() => fillShop(shop));

const ada = (): string => tokenOf({ customer: 1, email: 'ada@example.com', tag: 1 });
const post = (body: unknown, key?: string): Call => ({
  method: 'POST',
  body,
  headers: key === undefined ? {} : { 'idempotency-key': key },
});
const put = (body: unknown, ifMatch?: string): Call => ({
  method: 'PUT',
  body,
  headers: ifMatch === undefined ? {} : { 'if-match': ifMatch },
});
const file = (type: string, lines: readonly string[]): Call => ({
  method: 'POST',
  body: lines.join('\n'),
  headers: { 'content-type': type },
});

const CALLS: readonly (readonly [path: string, call: Call])[] = [
  ['orders?expand=customer,items.product,tags&sort=customer.name&filter=items.product.sku,eq,x', {}],
  ['orders?size=2&count=estimated', {}],
  ['orders/1?expand=tags', {}],
  ['orders/_aggregate?select=count,sum:total&group=customer.name', {}],
  ['orders/_export?format=csv', {}],
  ['tags', post({ name: 'one' })],
  ['tags', post({ name: 'two' }, 'key-1')],
  ['orders', post({ customerId: 1 })],
  ['orderTags', post({ orderId: 1, tagId: 1 })],
  ['orderTags', post({ orderId: 2, tagId: 1 }, 'key-2')],
  ['customers?onConflict=email', post({ name: 'Ada', email: 'ada@example.com' })],
  ['customers?onConflict=email&onConflictDo=skip', post({ name: 'Ada', email: 'ada@example.com' })],
  ['orders/1', put({ status: 'open', customerId: 1 })],
  ['orders/1', put({ note: 'x' }, '"1-x.y"')],
  ['orders/1', put({})],
  ['orders/_bulk', post({ data: [{ customerId: 1 }, { customerId: 1, note: 'x' }] })],
  ['orders/_bulk', post({ data: [{ customerId: 1 }] }, 'key-3')],
  [
    'orders/_bulk',
    put({
      data: [
        { id: 1, note: 'a' },
        { id: 2, status: 'open' },
      ],
    }),
  ],
  ['orders/_bulk?ids=7', { method: 'DELETE' }],
  ['customers/_bulk?onConflict=email', post({ data: [{ name: 'Ada', email: 'ada@example.com' }] })],
  ['orderTags/_bulk', post({ data: [{ orderId: 1, tagId: 2 }] })],
  ['_batch', post({ operations: [{ method: 'POST', entity: 'tags', body: { name: 'three' } }] })],
  ['_batch?dryRun=true', post({ operations: [{ method: 'DELETE', entity: 'orders', id: 1 }] })],
  ['orders/_import', file(CSV, ['customerId,note', '1,first', '1,second'])],
  ['orders/_import?onConflict=skip', file(CSV, ['id,customerId,note', '1,1,first', '900,1,second'])],
  ['orders/_import?onConflict=update', file(NDJSON, ['{"id":1,"note":"x"}', '{"id":2,"customerId":1}'])],
  ['customers/_import?onConflict=update&conflictOn=email', file(CSV, ['name,email', 'Ada,ada@example.com'])],
  ['categories/_import', file(CSV, ['id,name,parentId', '801,a,802', '802,b,801'])],
  ['orders/2', { method: 'DELETE' }],
];

/** What Citus does not take, with why. */
const RULES: readonly (readonly [what: string, isBroken: (text: string) => boolean])[] = [
  ['is one statement', (text) => /;\s*\S/.test(text)],
  ['names no control table: they lie on the coordinator alone', (text) => /\bwda\./.test(text)],
  [
    'gives columns alone of what it inserts',
    (text) =>
      [...text.matchAll(/insert into .*?\breturning (.*?)\)(?=,|\s*select|$)/gs)].some(([, told]) =>
        /\(select|\w\(/.test(told ?? ''),
      ),
  ],
  [
    'inserts nothing for which it looks into another table, but in a part before',
    (text) =>
      [
        ...text.matchAll(
          /insert into "ws\d+_\w+"\."[^"]+"(?: as "\w+")? \([^)]*\)\s+select (.*?)(?:on conflict|returning)/gs,
        ),
      ].some(([, source]) => /"ws\d+_\w+"\."/.test(source ?? '')),
  ],
  [
    'joins rows of a file with tables as what a subquery gives',
    (text) => /(?<!\(select \* from |update )pg_temp\./.test(text),
  ],
  [
    'draws ids before it looks for what they refer to',
    (text) => /select nextval\([^)]*\)[^,]*? where exists/.test(text),
  ],
];

/** Statements that name a table of the workspace, without their literals. */
const onRecords = (texts: readonly string[]): string[] =>
  texts.map((text) => text.replaceAll(/'[^']*'/g, "''")).filter((text) => /"ws\d+_\w+"\./.test(text));

for (const [who, credential] of [
  ['an owner', () => shop.key],
  ['a user with row rules', ada],
] as const) {
  for (const [path, call] of CALLS) {
    test(`${call.method ?? 'GET'} ${path} of ${who} keeps to the forms of a cluster`, async () => {
      proxy.statements();
      const answer: Answer = await shop.call(path, { ...call, credential: credential() });
      assert.ok(answer.status < 500, answer.text);
      const heard = onRecords(proxy.statements());
      if (answer.status < 300) assert.ok(heard.length > 0);
      for (const text of heard)
        for (const [what, isBroken] of RULES) assert.ok(!isBroken(text), `a statement ${what}: ${text}`);
    });
  }
}
