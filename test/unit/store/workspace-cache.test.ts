// Snapshots are loaded once, compared with the database while requests come, and never older than a second. The clock
// is a number that the tests set; loads end when the tests say so.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Owner, Scope } from '../../../src/model/principal.ts';
import { estimateSnapshotBytes, makeWorkspaceCache, type WorkspaceCache } from '../../../src/store/workspace-cache.ts';
import { makeShop, OWNER } from '../../support/field-types-fixture.ts';

const SHOP = makeShop();

/** A database of versions by slug, and a cache over it that counts what it asks. */
function makeScene(slugs: readonly string[] = ['shop'], maximum = 10) {
  const versions = new Map(slugs.map((slug) => [slug, 1]));
  const scene = {
    time: 0,
    /** Nothing from before it may be used. */
    floor: 0,
    loads: 0,
    checks: 0,
    /** When set, every question to the database fails. */
    isAway: false,
    /** When set, loads wait for it after they have read. */
    hold: undefined as Promise<void> | undefined,
    change: (slug: string, by = 1) => void versions.set(slug, (versions.get(slug) ?? 0) + by),
    remove: (slug: string) => void versions.delete(slug),
    cache: undefined as unknown as WorkspaceCache,
  };
  scene.cache = makeWorkspaceCache({
    now: () => scene.time,
    maxBytes: maximum * estimateSnapshotBytes(SHOP),
    async load(_organization, slug) {
      scene.loads++;
      if (scene.isAway) throw new Error('the database is away');
      const version = versions.get(slug);
      await scene.hold;
      return version === undefined ? undefined : { ...SHOP, id: slug, slug, version: String(version) };
    },
    validFrom: (arrival) => Math.max(arrival - 800, scene.floor),
    async compare(ids) {
      scene.checks++;
      const asOf = scene.time;
      if (scene.isAway) throw new Error('the database is away');
      const found = ids.filter((id) => versions.has(id));
      return { versions: new Map(found.map((id) => [id, String(versions.get(id))])), asOf };
    },
  });
  return scene;
}

const versionOf = async (found: ReturnType<WorkspaceCache['get']>): Promise<string | undefined> =>
  (await found)?.version;

test('a snapshot is loaded once and then given at once', async () => {
  const scene = makeScene();
  const loaded = await scene.cache.get('acme', 'shop');
  assert.equal(loaded?.version, '1');
  assert.equal(scene.cache.getCached('acme', 'shop'), loaded);
  assert.equal(scene.cache.size(), 1);
  assert.equal(scene.checks, 0);
});

test('requests that come while it is loaded wait for the same load', async () => {
  const scene = makeScene();
  const found = await Promise.all([1, 2, 3].map(() => scene.cache.get('acme', 'shop')));
  assert.equal(scene.loads, 1);
  assert.equal(found[0], found[1]);
  assert.equal(found[0], found[2]);
});

test('workspaces of one slug in two organizations are two', async () => {
  const scene = makeScene();
  await scene.cache.get('acme', 'shop');
  await scene.cache.get('other', 'shop');
  assert.equal(scene.loads, 2);
  assert.equal(scene.cache.size(), 2);
});

test('from 300 ms on versions are compared in the background, once, while the snapshot is still given at once', async () => {
  const scene = makeScene();
  const loaded = await scene.cache.get('acme', 'shop');
  scene.change('shop');
  scene.time = 300;
  assert.equal(scene.cache.getCached('acme', 'shop'), loaded);
  assert.equal(scene.checks, 0);
  scene.time = 301;
  assert.equal(scene.cache.getCached('acme', 'shop'), loaded);
  assert.equal(scene.cache.getCached('acme', 'shop'), loaded);
  assert.equal(scene.checks, 1);
  await settled();
  assert.equal(await versionOf(scene.cache.get('acme', 'shop')), '2');
  assert.equal(scene.checks, 1);
});

test('from 800 ms on a request waits for the comparison', async () => {
  const scene = makeScene();
  const loaded = await scene.cache.get('acme', 'shop');
  scene.time = 801;
  assert.equal(await scene.cache.get('acme', 'shop'), loaded);
  assert.equal(scene.checks, 1);
  assert.equal(scene.loads, 1);
  scene.change('shop');
  scene.time = 1602;
  assert.equal(await versionOf(scene.cache.get('acme', 'shop')), '2');
  assert.equal(scene.loads, 2);
});

test('a version that went back is a change like any other', async () => {
  const scene = makeScene();
  scene.change('shop', 6);
  assert.equal(await versionOf(scene.cache.get('acme', 'shop')), '7');
  scene.change('shop', -4);
  scene.time = 801;
  assert.equal(await versionOf(scene.cache.get('acme', 'shop')), '3');
});

test('many requests after a pause share one comparison', async () => {
  const scene = makeScene();
  await scene.cache.get('acme', 'shop');
  scene.time = 5000;
  await Promise.all([1, 2, 3].map(() => scene.cache.get('acme', 'shop')));
  assert.equal(scene.checks, 1);
});

test('a workspace that is gone is not given any more', async () => {
  const scene = makeScene();
  await scene.cache.get('acme', 'shop');
  scene.remove('shop');
  scene.time = 801;
  assert.equal(await scene.cache.get('acme', 'shop'), undefined);
  assert.equal(scene.cache.size(), 0);
});

test('a workspace that does not exist is nothing, until this process makes it', async () => {
  const scene = makeScene([]);
  assert.equal(await scene.cache.get('acme', 'shop'), undefined);
  scene.change('shop');
  scene.cache.invalidate('shop');
  assert.equal(await versionOf(scene.cache.get('acme', 'shop')), '1');
});

test('a change by this process is in force at once, and leaves other workspaces alone', async () => {
  const scene = makeScene(['shop', 'club']);
  await scene.cache.get('acme', 'shop');
  const club = await scene.cache.get('acme', 'club');
  scene.change('shop');
  scene.cache.invalidate('shop');
  assert.equal(await versionOf(scene.cache.get('acme', 'shop')), '2');
  assert.equal(scene.cache.getCached('acme', 'club'), club);
});

test('what was read before a change of this process is not kept, even when it arrives after it', async () => {
  const scene = makeScene();
  const gate = Promise.withResolvers<void>();
  scene.hold = gate.promise;
  const early = scene.cache.get('acme', 'shop');
  await settled();
  scene.change('shop');
  scene.cache.invalidate('shop');
  scene.hold = undefined;
  const late = scene.cache.get('acme', 'shop');
  await settled();
  gate.resolve();
  assert.equal(await versionOf(late), '2');
  assert.equal(await versionOf(early), '2');
  assert.equal(await versionOf(scene.cache.get('acme', 'shop')), '2');
  assert.equal(scene.loads, 2);
});

test('a change during a comparison is not undone by it', async () => {
  const scene = makeScene();
  await scene.cache.get('acme', 'shop');
  scene.time = 400;
  scene.cache.get('acme', 'shop');
  scene.change('shop');
  scene.cache.invalidate('shop');
  const changed = await scene.cache.get('acme', 'shop');
  await settled();
  assert.equal(changed?.version, '2');
  assert.equal(await scene.cache.get('acme', 'shop'), changed);
});

test('while the database is away a fresh snapshot serves, a stale one does not, and recovery needs no restart', async () => {
  const scene = makeScene();
  const loaded = await scene.cache.get('acme', 'shop');
  scene.isAway = true;
  scene.time = 500;
  assert.equal(scene.cache.getCached('acme', 'shop'), loaded);
  await settled();
  scene.time = 900;
  await assert.rejects(async () => scene.cache.get('acme', 'shop'), /the database is away/);
  await assert.rejects(async () => scene.cache.get('acme', 'shop'), /the database is away/);
  scene.isAway = false;
  assert.equal(await scene.cache.get('acme', 'shop'), loaded);
});

test('what was compared before a change elsewhere was told of is compared anew, and loaded only if it was that', async () => {
  const scene = makeScene(['shop', 'club']);
  await scene.cache.get('acme', 'shop');
  const club = await scene.cache.get('acme', 'club');
  assert.equal(await scene.cache.get('acme', 'none'), undefined);
  scene.change('shop');
  scene.change('none');
  scene.time = scene.floor = 10;
  assert.equal(await versionOf(scene.cache.get('acme', 'shop')), '2');
  assert.equal(scene.cache.getCached('acme', 'club'), club);
  assert.equal(await versionOf(scene.cache.get('acme', 'none')), '1');
  assert.equal(scene.checks, 1);
  assert.equal(scene.loads, 5);
});

test('what is asked for as it is now is at most 50 ms old, whether it is there or not', async () => {
  const scene = makeScene();
  const loaded = await scene.cache.get('acme', 'shop');
  assert.equal(await scene.cache.get('acme', 'none'), undefined);
  scene.time = 50;
  for (let index = 0; index < 100; index++) assert.equal(await scene.cache.getRecent('acme', 'shop'), loaded);
  assert.equal(await scene.cache.getRecent('acme', 'none'), undefined);
  assert.deepEqual([scene.checks, scene.loads], [0, 2]);
  scene.change('shop');
  scene.change('none');
  scene.time = 51;
  assert.equal((await scene.cache.getRecent('acme', 'shop'))?.version, '2');
  assert.equal((await scene.cache.getRecent('acme', 'none'))?.version, '1');
  assert.deepEqual([scene.checks, scene.loads], [1, 4]);
});

test('a load that failed is not remembered', async () => {
  const scene = makeScene();
  scene.isAway = true;
  await assert.rejects(async () => scene.cache.get('acme', 'shop'), /the database is away/);
  scene.isAway = false;
  assert.equal(await versionOf(scene.cache.get('acme', 'shop')), '1');
});

test('memory is bounded', async () => {
  const slugs = ['a', 'b', 'c'];
  const scene = makeScene(slugs, 2);
  for (const slug of slugs) await scene.cache.get('acme', slug);
  assert.equal(scene.cache.size(), 2);
  assert.equal(await versionOf(scene.cache.get('acme', 'a')), '1');
  assert.equal(scene.loads, 4);
});

test('whatever happens in between, a snapshot given is at most a second behind', async () => {
  const slugs = ['a', 'b', 'c'];
  const step = fc.record({
    wait: fc.nat({ max: 400 }),
    slug: fc.constantFrom(...slugs),
    event: fc.constantFrom('request', 'request', 'request', 'change elsewhere'),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 100 }), async (steps) => {
      const scene = makeScene(slugs);
      const changes = new Map(slugs.map((slug) => [slug, [0]]));
      for (const { wait, slug, event } of steps) {
        scene.time += wait;
        const times = changes.get(slug) as number[];
        if (event === 'request') {
          const version = Number(await versionOf(scene.cache.get('acme', slug)));
          const replacedAt = times[version] ?? Number.POSITIVE_INFINITY;
          assert.ok(
            scene.time - replacedAt < 1000,
            `version ${version} was replaced ${scene.time - replacedAt} ms ago`,
          );
        } else {
          scene.change(slug);
          times.push(scene.time);
        }
        await settled();
      }
    }),
    { numRuns: 50 },
  );
});

test('a load that takes long does not pass for fresh because others were compared meanwhile', async () => {
  const scene = makeScene(['shop', 'club']);
  await scene.cache.get('acme', 'club');
  scene.time = 100;
  const gate = Promise.withResolvers<void>();
  scene.hold = gate.promise;
  const slow = scene.cache.get('acme', 'shop');
  await settled();
  scene.time = 150;
  scene.change('shop');
  scene.time = 1000;
  await scene.cache.get('acme', 'club');
  gate.resolve();
  await slow;
  scene.time = 1700;
  assert.equal(await versionOf(scene.cache.get('acme', 'shop')), '2');
});

/** Lets everything that waits for answers already given run. */
async function settled(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

const scoped = (scope: Scope): Owner => ({ ...OWNER, scope });

test('a scope has one part of a snapshot, and another snapshot has another', async () => {
  const entityIds = new Map([...SHOP.entities.keys()].map((name, at) => [name, String(at)]));
  const { cache } = makeScene();
  const shop = { ...SHOP, entityIds };
  const later = { ...shop, version: '2' };
  const [first = '', second = ''] = entityIds.keys();
  const part = cache.restrict(shop, scoped(['0', '1', '999']));
  assert.deepEqual([...part.entities.keys()], [first, second]);
  assert.equal(cache.restrict(shop, scoped(['0', '1', '999'])), part);
  assert.notEqual(cache.restrict(later, scoped(['0', '1', '999'])), part);
  assert.equal(cache.restrict(shop, scoped(null)), shop);
  assert.equal(cache.restrict(shop, scoped([])).entities.size, 0);
});

test('a part is replaced when its snapshot is', async () => {
  const { cache } = makeScene();
  const shop = (await cache.get('acme', 'shop')) as typeof SHOP;
  const part = cache.restrict(shop, scoped([]));
  assert.equal(cache.isReplaced(part), false);
  cache.invalidate('shop');
  assert.equal(cache.isReplaced(part), true);
});

test('parts take bounded memory: the longest unused go first', () => {
  const { cache } = makeScene();
  const part = cache.restrict(SHOP, scoped(['1']));
  for (let at = 0; at < 30_000; at++) cache.restrict({ ...SHOP, version: String(at + 2) }, scoped(['1']));
  assert.notEqual(cache.restrict(SHOP, scoped(['1'])), part);
});
