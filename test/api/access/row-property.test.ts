// The property of row rules and scopes: over any schema, rules, records and claims, no request of an external user or of a key
// for some entities is ever answered with a record that the model hides, and none misses one that it shows.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Ask, compareReads } from '../../support/read-comparison.ts';
import { useIssuer, useServer } from '../../support/resources.ts';
import { documentOf, drawClaims, drawSchema, fill } from '../../support/row-rules-arbitrary.ts';
import { type Model, modelWithin } from '../../support/row-rules-read-model.ts';
import { drawWish } from '../../support/row-rules-requests.ts';
import { draws } from '../../support/runs.ts';
import { keyFor } from '../../support/scopes.ts';
import { LOCAL_PROVIDER, makeUsers } from '../../support/users.ts';

const WORKSPACES = 6;
const USERS = 3;
const REQUESTS = 15;
const KEYS = 2;
const REQUESTS_OF_KEY = 3;

const issuer = useIssuer();
const server = useServer(LOCAL_PROVIDER);

/** What a key for these entities does not reach is not there: no entity, no relation. */
async function holdOutside(model: Model, names: readonly string[], ask: Ask): Promise<void> {
  const reached = modelWithin(model, names);
  for (const [name, { relations }] of Object.entries(model)) {
    const within = reached[name];
    assert.equal((await ask(name)).status, within === undefined ? 404 : 200);
    for (const relation of within === undefined ? [] : Object.keys(relations)) {
      const isThere = Object.hasOwn(within?.relations ?? {}, relation);
      for (const path of [`expand=${relation}`, `filter=${relation}.id,notNull`]) {
        assert.equal((await ask(`${name}?${path}`)).status, isThere ? 200 : 400, path);
      }
    }
  }
}

test('every answer holds the records that the model shows, and no other', async () => {
  let count = 0;
  const property = fc.asyncProperty(fc.gen(), async (g) => {
    const drawn = drawSchema(g);
    const workspace = await server.workspace(`acme/w${count++}`, documentOf(drawn));
    const model = await fill(g, workspace, drawn);
    const tokenOf = await makeUsers(workspace, issuer, 'READ_ONLY');
    for (let user = 0; user < USERS; user++) {
      const claims = drawClaims(g);
      const credential = tokenOf(claims);
      const ask: Ask = (path, body) =>
        workspace.call(path, { credential, ...(body === undefined ? {} : { method: 'POST', body }) });
      for (let request = 0; request < REQUESTS / USERS; request++)
        await compareReads(model, claims, ask, drawWish(g, model));
    }
    for (let count = 0; count < KEYS; count++) {
      const names = g(fc.subarray, Object.keys(model), { minLength: 1 }) as string[];
      const credential = await keyFor(workspace, names, 'READ_ONLY');
      const ask: Ask = (path, body) =>
        workspace.call(path, { credential, ...(body === undefined ? {} : { method: 'POST', body }) });
      await holdOutside(model, names, ask);
      const reached = modelWithin(model, names);
      for (let request = 0; request < REQUESTS_OF_KEY; request++)
        await compareReads(reached, {}, ask, drawWish(g, reached));
    }
  });
  await fc.assert(property, { ...draws(WORKSPACES), endOnFailure: true });
});
