// The property of row rules for writes: over any schema, rules, records and claims, what an external user writes, one by
// one, in bulk, as upserts or as a batch, does what the model says and nothing else: no hidden record is changed or
// answered with, and nothing is stored of a refused request. That hidden and absent records get the same answers is the
// property of test/api/access/differences.test.ts.
import { test } from 'node:test';
import fc from 'fast-check';
import { useIssuer, useServer } from '../../support/resources.ts';
import { documentOf, drawClaims, drawSchema, fill } from '../../support/row-rules-arbitrary.ts';
import { makeView } from '../../support/row-rules-view.ts';
import { makeWriteModel } from '../../support/row-rules-write-model.ts';
import { drawWrites } from '../../support/row-rules-writes.ts';
import { draws } from '../../support/runs.ts';
import { LOCAL_PROVIDER, makeUsers } from '../../support/users.ts';
import { type Ask, compareWrite } from '../../support/write-comparison.ts';

const WORKSPACES = 6;
const USERS = 3;
const REQUESTS = 30;

const issuer = useIssuer();
const server = useServer(LOCAL_PROVIDER);

test('every write does what the model says with records that the user sees, and nothing else', async () => {
  let count = 0;
  const property = fc.asyncProperty(fc.gen(), async (g) => {
    const schema = drawSchema(g);
    const workspace = await server.workspace(`acme/w${count++}`, documentOf(schema));
    let model = await fill(g, workspace, schema);
    const tokenOf = await makeUsers(workspace, issuer, 'READ_WRITE');
    for (let user = 0; user < USERS; user++) {
      const claims = drawClaims(g);
      const credential = tokenOf(claims);
      const ask: Ask = (path, method, body) =>
        workspace.call(path, { credential, method, ...(body === undefined ? {} : { body }) });
      for (let request = 0; request < REQUESTS / USERS; request++)
        model = await compareWrite(
          {
            ask,
            workspace,
            run: (before, writes, isBatch) => makeWriteModel(schema, claims, isBatch).run(before, writes),
          },
          model,
          drawWrites(g, schema, model, makeView(schema, model, claims)),
        );
    }
  });
  await fc.assert(property, { ...draws(WORKSPACES), endOnFailure: true });
});
