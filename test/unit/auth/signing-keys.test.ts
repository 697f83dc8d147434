// What a process knows of the signing keys: read while they are used, never more often than needed, over a store in
// memory that behaves as the control tables do.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeSigningKeys, type SigningKeyStore, type SigningKeys } from '../../../src/auth/signing-keys.ts';
import type { StoredSigningKey } from '../../../src/store/signing-keys.ts';

interface Shelf extends Omit<SigningKeyStore, 'load'> {
  load: SigningKeyStore['load'];
  keys: StoredSigningKey[];
  loads: number;
  isDue: boolean;
}

function makeShelf(): Shelf {
  const shelf: Shelf = {
    keys: [],
    loads: 0,
    isDue: false,
    async load() {
      shelf.loads++;
      return shelf.keys;
    },
    async rotate(key, rotation) {
      const signer = shelf.keys.find((stored) => stored.rotatedAt === null);
      const replaces = rotation.kind === 'due' ? shelf.isDue : rotation.kind !== 'first';
      if (signer !== undefined && !replaces) return;
      shelf.isDue = false;
      const now = new Date();
      const older = shelf.keys.map((stored) => ({ ...stored, privateJwk: null, isDue: false, rotatedAt: now }));
      const added = { ...key, isDue: false, createdAt: now, rotatedAt: null, expiresAt: null };
      shelf.keys = rotation.kind === 'revoke' ? [added] : [added, ...older];
    },
    async raiseTokenLifetime(kid, seconds) {
      shelf.keys = shelf.keys.map((key) => (key.kid === kid ? { ...key, tokenLifetimeSeconds: seconds } : key));
      return true;
    },
  };
  return shelf;
}

const open = (store: SigningKeyStore, now: () => number, tokenLifetimeSeconds = 60): SigningKeys =>
  makeSigningKeys({
    store,
    tokenLifetimeSeconds,
    rotateAfterSeconds: 100,
    validFrom: () => Number.NEGATIVE_INFINITY,
    refreshValidity: async () => undefined,
    now,
  });

/** A clock that goes on by a second at each look: nothing is ever fresh, nothing has to wait. */
function leaping(): () => number {
  let at = 0;
  return () => {
    at += 1000;
    return at;
  };
}

test('the first key is made once, however many ask at the same time, in however many processes', async () => {
  const shelf = makeShelf();
  const processes = [open(shelf, leaping()), open(shelf, leaping()), open(shelf, leaping())];
  const kids = await Promise.all(
    processes.flatMap((keys) => [keys.signingKey(), keys.signingKey()]).map(async (key) => (await key).kid),
  );
  assert.equal(shelf.keys.length, 1);
  assert.deepEqual(new Set(kids), new Set([shelf.keys[0]?.kid]));
});

test('keys that were just read are not read again', async () => {
  const shelf = makeShelf();
  let at = 0;
  const keys = open(shelf, () => at);
  const first = keys.signingKey();
  at += 300;
  const { kid } = await first;
  const before = shelf.loads;
  for (let asked = 0; asked < 100; asked++) {
    await keys.signingKey();
    await keys.verificationKey(kid);
    await keys.list();
  }
  assert.equal(shelf.loads, before);
});

test('a key id that is not known is looked up once for all who ask, and found when another process made it', async () => {
  const shelf = makeShelf();
  const here = open(shelf, () => performance.now());
  const { kid: old } = await here.signingKey();
  await open(shelf, leaping()).rotate(false);
  const fresh = shelf.keys[0]?.kid as string;
  assert.notEqual(fresh, old);
  const before = shelf.loads;
  const asked = await Promise.all([
    ...Array.from({ length: 500 }, (_, index) => here.verificationKey(`made-up-${index}`)),
    here.verificationKey(fresh),
    here.verificationKey(old),
  ]);
  assert.deepEqual(
    asked.map((key) => key !== undefined),
    [...Array.from({ length: 500 }, () => false), true, true],
  );
  assert.ok(shelf.loads - before <= 2, `${shelf.loads - before} readings`);
});

test('a key that is due is replaced once, and the old one verifies on', async () => {
  const shelf = makeShelf();
  const processes = [open(shelf, leaping()), open(shelf, leaping())];
  const { kid: old } = await (processes[0] as SigningKeys).signingKey();
  shelf.isDue = true;
  shelf.keys = shelf.keys.map((key) => ({ ...key, isDue: true }));
  const kids = await Promise.all(processes.map(async (keys) => (await keys.signingKey()).kid));
  assert.equal(new Set(kids).size, 1);
  assert.notEqual(kids[0], old);
  assert.equal(shelf.keys.length, 2);
  assert.notEqual(await processes[1]?.verificationKey(old), undefined);
});

test('revoking leaves nothing to verify older tokens with', async () => {
  const shelf = makeShelf();
  const keys = open(shelf, leaping());
  const { kid } = await keys.signingKey();
  await keys.rotate(true);
  assert.equal(await keys.verificationKey(kid), undefined);
  assert.equal((await keys.list()).length, 1);
});

test('a process whose tokens live longer says so before its first one', async () => {
  const shelf = makeShelf();
  await open(shelf, leaping(), 60).signingKey();
  await open(shelf, leaping(), 3600).signingKey();
  assert.equal(shelf.keys[0]?.tokenLifetimeSeconds, 3600);
  await open(shelf, leaping(), 60).signingKey();
  assert.equal(shelf.keys[0]?.tokenLifetimeSeconds, 3600);
});

test('a failed reading is told to those who waited for it, and the next one is made', async () => {
  const shelf = makeShelf();
  const keys = open(shelf, leaping());
  const { kid } = await keys.signingKey();
  const { load } = shelf;
  shelf.load = () => Promise.reject(new Error('away'));
  await assert.rejects(keys.verificationKey(kid), /away/);
  shelf.load = load;
  assert.notEqual(await keys.verificationKey(kid), undefined);
});
