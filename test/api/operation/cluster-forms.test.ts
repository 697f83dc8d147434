// Statements on records keep to forms that a Citus cluster takes, too, where the tables of a workspace lie on another node.
// What goes over the wire without a cluster is heard and held against what Citus refuses. On one the server uses other forms for
// inserts (src/citus/statement-forms.ts), and Citus itself refuses.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { skipOnCluster } from '../../support/citus.ts';
import { RULED_SHOP, SENDERS } from '../../support/cluster-calls.ts';
import { judgeNothing } from '../../support/openapi-conformance.ts';
import {
  prepare,
  use,
  useDatabase,
  useDatabaseProxy,
  useIssuer,
  useServer,
  useUsers,
} from '../../support/resources.ts';
import type { Answer } from '../../support/server.ts';
import { fillShop } from '../../support/shop.ts';
import { LOCAL_PROVIDER } from '../../support/users.ts';

// Answers are not judged here: their documents are requests, too.
judgeNothing();

const skip = skipOnCluster('about statements without a cluster: on one Citus itself refuses');

const proxy = useDatabaseProxy(useDatabase());
const server = useServer(LOCAL_PROVIDER, proxy);
const shop = use(() => server.workspace('acme/shop', RULED_SHOP));
const tokenOf = useUsers(shop, useIssuer());
prepare(() => shop.admin('identity-provider', { method: 'PUT', body: { roleClaim: 'roles' } }));
prepare(() => fillShop(shop));

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

for (const [who, claims, calls] of SENDERS) {
  for (const [path, call] of calls) {
    test(`${call.method ?? 'GET'} ${path} of ${who} keeps to the forms of a cluster`, skip, async () => {
      proxy.statements();
      const answer: Answer = await shop.call(path, {
        ...call,
        credential: claims === undefined ? shop.key : tokenOf(claims),
      });
      assert.ok(answer.status < 500, answer.text);
      const heard = onRecords(proxy.statements());
      if (answer.status < 300) assert.ok(heard.length > 0);
      for (const text of heard)
        for (const [what, isBroken] of RULES) assert.ok(!isBroken(text), `a statement ${what}: ${text}`);
    });
  }
}
