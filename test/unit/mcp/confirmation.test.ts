// Confirmations of writes: what they are good for, and for how long.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeConfirmations } from '../../../src/mcp/confirmation.ts';
import { parseExact } from '../../../src/model/exact-json.ts';

const MINUTE = 60_000;
const change = { tool: 'update_record', args: { id: 7, changes: { title: 'new', total: 1.5 } }, etag: '"1.x"' };

let now = 1_800_000_000_000;
const confirmations = makeConfirmations(
  async () => 'secret of the installation',
  () => now,
);

test('a confirmation is good for its change for ten minutes, in every process with the secret', async () => {
  const made = now;
  const text = await confirmations.make(change);
  assert.match(text, /^[\w.-]{20,40}$/);
  const elsewhere = makeConfirmations(
    async () => 'secret of the installation',
    () => now,
  );
  now = made + 10 * MINUTE;
  assert.equal(await elsewhere.check(text, change), true);
  now = made + 10 * MINUTE + 1;
  assert.equal(await confirmations.check(text, change), false);
  now = made;
});

test('it is good for no other change, of no other installation, and not for a later time', async () => {
  const text = await confirmations.make(change);
  const [until = '', mark = ''] = text.split('.');
  for (const other of [
    { ...change, tool: 'delete_record' },
    { ...change, etag: '"2.x"' },
    { ...change, args: { ...change.args, id: '7' } },
    { ...change, args: { ...change.args, changes: { title: 'new', total: 1.5, more: null } } },
  ]) {
    assert.equal(await confirmations.check(text, other), false, JSON.stringify(other));
  }
  const foreign = makeConfirmations(
    async () => 'another secret',
    () => now,
  );
  assert.equal(await foreign.check(text, change), false);
  const later = (Number.parseInt(until, 36) + MINUTE).toString(36);
  for (const forged of [`${later}.${mark}`, mark, '', '.', `${until}.`, `${text} `]) {
    assert.equal(await confirmations.check(forged, change), false, forged);
  }
});

test('members may come in another order, and digits count', async () => {
  const text = await confirmations.make(parseExact('{"a":[1,{"b":1.10,"c":2}],"d":null}'));
  assert.equal(await confirmations.check(text, parseExact('{"d":null,"a":[1,{"c":2,"b":1.10}]}')), true);
  assert.equal(await confirmations.check(text, parseExact('{"d":null,"a":[1,{"c":2,"b":1.1}]}')), false);
  assert.equal(await confirmations.check(text, parseExact('{"d":null,"a":[{"c":2,"b":1.10},1]}')), false);
});
