// Parameters of requests that take a few, each once.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseParameters } from '../../../src/request/parameters.ts';
import { refuses } from '../../support/refusal.ts';

test('operations without parameters take none, but for cache busters', () => {
  assert.equal(parseParameters('_=1', []).size, 0);
  refuses(() => parseParameters('expand=a', []), 'Unknown query parameter expand. Known: none');
  assert.deepEqual([...parseParameters('confirm=shop', ['confirm'])], [['confirm', 'shop']]);
  refuses(() => parseParameters('confirm=a&confirm=b', ['confirm']), 'Query parameter confirm may be given only once');
});
