// What a process says of itself while it starts, waits for its database, serves and ends.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeReadiness } from '../../src/readiness.ts';

test('a process starts, waits, and is open with what it has learned', () => {
  const readiness = makeReadiness(undefined);
  assert.equal(readiness.unready(), 'The server is starting; retry');
  assert.equal(readiness.reason(), 'The server is starting; retry');
  readiness.wait('Away; retry', 'Away: nothing listens; retry');
  assert.deepEqual(readiness.current(), {
    kind: 'waiting',
    message: 'Away; retry',
    reason: 'Away: nothing listens; retry',
  });
  assert.equal(readiness.open('aa', true), true);
  assert.deepEqual(readiness.current(), { kind: 'prepared', operatorHash: 'aa', hasNodes: true });
  assert.deepEqual([readiness.unready(), readiness.reason(), readiness.operatorHash()], [undefined, undefined, 'aa']);
});

test('the key of the settings is not replaced by a stored one', () => {
  const readiness = makeReadiness('aa');
  readiness.open('bb', false);
  assert.equal(readiness.operatorHash(), 'aa');
});

test('a process that closes is never open again', () => {
  const readiness = makeReadiness(undefined);
  readiness.close();
  assert.equal(readiness.open('aa', false), false);
  readiness.wait('Away; retry', 'Away; retry');
  assert.equal(readiness.unready(), 'The server is shutting down');
  assert.equal(readiness.isClosing(), true);
});
