// Secrets of webhooks are sealed for their workspace, by the secret of the installation.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeLoadWebhookSeals, openHeaders, sealHeaders } from '../../../src/store/webhook-seals.ts';

const loadSeals = (secret: string) => makeLoadWebhookSeals(() => Promise.resolve(secret))();

test('a sealed text opens for its workspace and installation alone, and never looks the same', async () => {
  const [seals, others] = [await loadSeals('one'), await loadSeals('two')];
  const sealed = seals.seal('7', 'whsec_Zm9v');
  assert.ok(!sealed.includes('whsec_'));
  assert.notDeepEqual(sealed, seals.seal('7', 'whsec_Zm9v'));
  assert.equal(seals.open('7', sealed), 'whsec_Zm9v');
  assert.equal((await loadSeals('one')).open('7', sealed), 'whsec_Zm9v');
  assert.equal(seals.open('8', sealed), undefined);
  assert.equal(others.open('7', sealed), undefined);
  for (const index of sealed.keys()) {
    const changed = Buffer.from(sealed);
    changed[index]! ^= 1;
    assert.equal(seals.open('7', changed), undefined);
  }
  assert.equal(seals.open('7', Buffer.alloc(5)), undefined);
});

test('headers keep names without values', async () => {
  const seals = await loadSeals('one');
  const sealed = sealHeaders(seals, '7', { Authorization: 'Bearer ü', 'X-Shop': null });
  assert.deepEqual(openHeaders(seals, '7', sealed), { Authorization: 'Bearer ü', 'X-Shop': null });
  assert.deepEqual(openHeaders(await loadSeals('two'), '7', sealed), {});
});

test('the secret is loaded once, and again after a failure', async () => {
  let loads = 0;
  const load = makeLoadWebhookSeals(() => {
    loads++;
    return loads === 1 ? Promise.reject(new Error('database is down')) : Promise.resolve('one');
  });
  await assert.rejects(load(), /down/);
  await load();
  await load();
  assert.equal(loads, 2);
});
