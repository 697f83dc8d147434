// Who of those that wait for a connection is served next.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Borrower, type Borrowers, makeBorrowers } from '../../../src/db/borrowers.ts';

const borrower = (tenant: string | undefined): Borrower => ({
  tenant,
  settle: () => assert.fail('nothing is lent here'),
});

/** Serves as many as can be; gives their tenants in the order in which they were served. */
function serveAll(borrowers: Borrowers): (string | undefined)[] {
  const served: (string | undefined)[] = [];
  for (let next = borrowers.next(); next !== undefined; next = borrowers.next()) {
    assert.equal(borrowers.leave(next), true);
    borrowers.borrowed(next.tenant);
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
    const borrowers = makeBorrowers(2, 100);
    for (const tenant of waiting) borrowers.wait(borrower(tenant));
    assert.deepEqual(serveAll(borrowers), served);
    assert.equal(borrowers.waiting(), waiting.length - served.length);
  });
}

test('a tenant that gives a connection back may have another', () => {
  const borrowers = makeBorrowers(1, 100);
  assert.equal(borrowers.mayHave('a'), true);
  borrowers.borrowed('a');
  assert.equal(borrowers.mayHave('a'), false);
  assert.equal(borrowers.mayHave('b'), true);
  borrowers.wait(borrower('a'));
  assert.equal(borrowers.next(), undefined);
  borrowers.returned('a');
  assert.equal(borrowers.next()?.tenant, 'a');
});

test('one tenant fills four fifths of the line at most, and all together the whole', () => {
  const borrowers = makeBorrowers(1, 10);
  let count = 0;
  for (; borrowers.hasPlace('a'); count++) borrowers.wait(borrower('a'));
  assert.equal(count, 8);
  for (; borrowers.hasPlace('b'); count++) borrowers.wait(borrower('b'));
  assert.equal(count, 10);
  assert.equal(borrowers.hasPlace(undefined), false);
});

test('who has left the line is not served, and leaves it once', () => {
  const borrowers = makeBorrowers(1, 10);
  const [first, second] = [borrower('a'), borrower('b')];
  borrowers.wait(first);
  borrowers.wait(second);
  assert.equal(borrowers.leave(first), true);
  assert.equal(borrowers.leave(first), false);
  assert.deepEqual(borrowers.drain(), [second]);
  assert.equal(borrowers.next(), undefined);
});
