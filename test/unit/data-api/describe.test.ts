// Documents of a workspace that are asked for at the same time.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { makeDescriptions } from '../../../src/data-api/describe.ts';
import { makeFairScheduler } from '../../../src/limits/fair-scheduler.ts';
import type { Owner } from '../../../src/model/principal.ts';
import type { Workspace } from '../../../src/model/workspace.ts';
import { workspaceOf } from '../../support/field-types-fixture.ts';
import { wideDocument } from '../../support/wide-document.ts';

const facts = {
  publicUrl: 'https://api.acme.org',
  tokenUrl: 'https://api.acme.org/oauth/token',
  maxPageSize: 1000,
  maxBulk: 1000,
  maxBatch: 100,
  mcp: false,
};
/** Owners see whole workspaces. */
const cache = { restrict: (whole: Workspace): Workspace => whole };
const workspace = workspaceOf(wideDocument(8));
const names = [...workspace.entities.keys()];
const principal: Owner = {
  kind: 'owner',
  permissions: 'READ_ONLY',
  workspaceId: workspace.id,
  scope: null,
  credentialId: 'key:1',
};

test('one of a workspace is made at a time, and 20 others wait', async () => {
  const { document } = makeDescriptions(facts, cache);
  const slices = makeFairScheduler().slices('acme/wide');
  const ask = (entities: readonly string[]) =>
    document({ request: { query: `entities=${entities.join()}`, headers: {}, slices }, workspace, principal });
  // 36 choices of two or fewer entities, each asked for twice: who asks for the same as another takes no place in line.
  const choices = names.flatMap((name, at) => names.slice(at).map((other) => [name, other]));
  const answers = await Promise.allSettled([...choices, ...choices].map(ask));
  const refused = answers.filter(({ status }) => status === 'rejected');
  assert.equal(refused.length, 2 * (choices.length - 21));
  for (const { reason } of refused as PromiseRejectedResult[]) {
    assert.equal(reason.status, 503);
    assert.equal(reason.message, 'Too many documents wait; retry');
  }
  assert.equal((await ask(choices.at(-1) ?? [])).status, 200);
});

test('20 requests for a document at once get the same bytes of one generation', async () => {
  let generations = 0;
  const counted = {
    ...facts,
    // Each generation reads it once.
    get tokenUrl() {
      generations++;
      return facts.tokenUrl;
    },
  };
  const { document } = makeDescriptions(counted, cache);
  const slices = makeFairScheduler().slices('acme/wide');
  const requestDocument = (version: number) =>
    document({
      request: { query: '', headers: {}, slices },
      workspace: { ...workspace, version: String(version) },
      principal,
    });
  for (const version of [1, 2]) {
    const replies = await Promise.all(Array.from({ length: 20 }, () => requestDocument(version)));
    assert.equal(generations, version);
    const bodies = new Set(replies.map(({ body }) => (body.kind === 'bytes' ? body.bytes : undefined)));
    assert.equal(bodies.size, 1);
    const [bytes = new Uint8Array()] = bodies;
    assert.equal(replies[0]?.headers.ETag, `"${hash('sha256', bytes, 'base64url').slice(0, 22)}"`);
    assert.equal(JSON.parse(Buffer.from(bytes).toString()).openapi, '3.1.1');
    assert.deepEqual(await requestDocument(version), replies[0]);
    assert.equal(generations, version);
  }
});
