import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listEndpoints } from '../../../../console/src/api/endpoints.ts';
import { OPERATIONS } from '../../../../src/request/operations.ts';

test('every operation of an entity that has its own place is on the page of the API', () => {
  const shown = listEndpoints(Object.keys(OPERATIONS)).map(({ operation }) => operation);
  const all = Object.keys(OPERATIONS).filter((name) => !['summarize', 'bulkDelete'].includes(name));
  assert.deepEqual([...shown].sort(), all.sort());
  assert.deepEqual(
    listEndpoints(['read', 'list']).map(({ method, rest }) => method + rest),
    ['GET', 'GET/{id}'],
  );
});
