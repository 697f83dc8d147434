// Who of those that wait for a connection is served next.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Bulkhead, makeBulkhead, type Waiter } from '../../../src/database/bulkhead.ts';

const waiter = (tenant: string | undefined): Waiter => ({ tenant });

/** Serves as many as can be; gives their tenants in the order in which they were served. */
function serveAll(bulkhead: Bulkhead<Waiter>): (string | undefined)[] {
  const served: (string | undefined)[] = [];
  for (let next = bulkhead.findNext(); next !== undefined; next = bulkhead.findNext()) {
    assert.equal(bulkhead.remove(next), true);
    bulkhead.acquire(next);
    served.push(next.tenant);
  }
  return served;
}

for (const [what, waiting, served] of [
  ['nobody, when nobody waits', [], []],
  ['the oldest of those with nothing, one after the other', ['a', 'b', 'a', 'b', 'c'], ['a', 'b', 'c', 'a', 'b']],
  ['none beyond its share', ['a', 'a', 'a', 'b'], ['a', 'b', 'a']],
  ['those without a tenant at once', ['a', undefined, undefined, undefined], ['a', undefined, undefined, undefined]],
] as const) {
  test(`served is ${what}`, () => {
    const bulkhead = makeBulkhead(2, 100);
    for (const tenant of waiting) bulkhead.push(waiter(tenant));
    assert.deepEqual(serveAll(bulkhead), served);
    assert.equal(bulkhead.countQueued(), waiting.length - served.length);
  });
}

test('a tenant that gives a connection back may have another', () => {
  const bulkhead = makeBulkhead(1, 100);
  assert.equal(bulkhead.canAcquire({ tenant: 'a' }), true);
  bulkhead.acquire({ tenant: 'a' });
  assert.equal(bulkhead.canAcquire({ tenant: 'a' }), false);
  assert.equal(bulkhead.canAcquire({ tenant: 'b' }), true);
  bulkhead.push(waiter('a'));
  assert.equal(bulkhead.findNext(), undefined);
  bulkhead.release({ tenant: 'a' });
  assert.equal(bulkhead.findNext()?.tenant, 'a');
});

test('one tenant fills four fifths of the queue at most, and all together the whole', () => {
  const bulkhead = makeBulkhead(1, 10);
  let count = 0;
  for (; bulkhead.canQueue('a'); count++) bulkhead.push(waiter('a'));
  assert.equal(count, 8);
  for (; bulkhead.canQueue('b'); count++) bulkhead.push(waiter('b'));
  assert.equal(count, 10);
  assert.equal(bulkhead.canQueue(undefined), false);
});

test('whoever was taken out of the queue is not served', () => {
  const bulkhead = makeBulkhead(1, 10);
  const [first, second] = [waiter('a'), waiter('b')];
  bulkhead.push(first);
  bulkhead.push(second);
  assert.equal(bulkhead.remove(first), true);
  assert.equal(bulkhead.remove(first), false);
  assert.deepEqual(bulkhead.drain(), [second]);
  assert.equal(bulkhead.findNext(), undefined);
});

test('a tenant has one connection more for a read while its writes have all others', () => {
  const bulkhead = makeBulkhead(2, 10);
  const write = { tenant: 'a', isWrite: true };
  const read = { tenant: 'a' };
  bulkhead.acquire(write);
  bulkhead.acquire(write);
  assert.deepEqual([bulkhead.canAcquire(write), bulkhead.canAcquire(read)], [false, true]);
  bulkhead.push(write);
  assert.equal(bulkhead.findNext(), undefined);
  bulkhead.push(read);
  assert.equal(bulkhead.findNext(), read);
  bulkhead.acquire(read);
  assert.equal(bulkhead.canAcquire(read), false);
  bulkhead.release(write);
  // Two are in use again, one of them for a read.
  assert.deepEqual([bulkhead.canAcquire(write), bulkhead.canAcquire(read)], [false, false]);
});
