// API keys: their form, their checksum and their hash.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { hashCredential, isKey, makeKey } from '../../../src/auth/api-key.ts';

test('a new key has the form of one, and its hash and prefix are its own', () => {
  const { key, prefix, hash } = makeKey();
  assert.match(key, /^wda_[A-Za-z0-9_-]{43}[0-9a-f]{8}$/);
  assert.equal(isKey(key), true);
  assert.equal(prefix, key.slice(0, 12));
  assert.deepEqual(hash, createHash('sha256').update(key).digest());
  assert.deepEqual(hashCredential(key), hash);
});

test('no two keys are alike', () => {
  const keys = new Set(Array.from({ length: 100 }, () => makeKey().key));
  assert.equal(keys.size, 100);
});

test('a key with one character changed is no key', () => {
  const { key } = makeKey();
  for (let index = 0; index < key.length; index++) {
    const other = key[index] === 'a' ? 'b' : 'a';
    assert.equal(isKey(key.slice(0, index) + other + key.slice(index + 1)), false, `character ${index}`);
  }
});

test('what is longer, shorter or something else is no key', () => {
  const { key } = makeKey();
  for (const text of [
    '',
    'wda_',
    key.slice(0, -1),
    `${key}0`,
    ` ${key}`,
    `${key}\n`,
    key.toUpperCase(),
    key.slice(4),
  ]) {
    assert.equal(isKey(text), false, JSON.stringify(text));
  }
});
