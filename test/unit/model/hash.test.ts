// FNV-1a against the vectors of its authors (draft-eastlake-fnv), which are ASCII.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hash32 } from '../../../src/model/hash.ts';

test('the hash is FNV-1a of 32 bits', () => {
  const vectors = { '': 0x811c9dc5, a: 0xe40c292c, b: 0xe70c2de5, foobar: 0xbf9cf968 };
  for (const [text, hash] of Object.entries(vectors)) assert.equal(hash32(text), hash, text);
});

test('another start and factor make another hash', () => {
  assert.notEqual(hash32('foobar', 0xcbf29ce4, 0x85ebca6b), hash32('foobar'));
});
