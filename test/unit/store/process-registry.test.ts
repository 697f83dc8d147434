// The rules of processes that keep up with each other, over a table of them in memory: what one uses, and for whom a
// change waits. The clocks are numbers that the tests set.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  makeProcessRegistry,
  type ProcessRegistry,
  type RequestedProcess,
} from '../../../src/store/process-registry.ts';

interface Row {
  asked: number;
  heard: number;
  busy: ReadonlyMap<string, string>;
}

/** The table that processes share, and what each of them asks of it. */
function makeTable() {
  const rows = new Map<string, Row>();
  const scene = {
    rows,
    time: 0,
    version: 1,
    isAway: false,
    looks: 0,
    joins: 0,
    /** What is being answered, by process. */
    busy: {} as Record<string, ReadonlyMap<string, string>>,
    open(id: string): ProcessRegistry {
      const reach = <T>(work: () => T): Promise<T> =>
        scene.isAway ? Promise.reject(new Error('the database is away')) : Promise.resolve().then(work);
      const shown = (one: string, { asked, heard }: Pick<Row, 'asked' | 'heard'>): RequestedProcess => ({
        id: one,
        requestNumber: String(asked),
        confirmedNumber: String(heard),
      });
      return makeProcessRegistry({
        now: () => scene.time,
        active: () => scene.busy[id] ?? new Map(),
        onRegistered: () => {
          scene.joins++;
        },
        table: {
          read: (ids) =>
            reach(() => {
              scene.looks++;
              const row = rows.get(id);
              return {
                self: row === undefined ? undefined : shown(id, row),
                versions: new Map(ids.map((one) => [one, String(scene.version)])),
              };
            }),
          register: (busy) =>
            reach(() => {
              scene.time++;
              if (!rows.has(id)) rows.set(id, { asked: 0, heard: 0, busy });
              scene.time++;
            }),
          confirm: (asked, busy) =>
            reach(() => {
              const row = rows.get(id);
              if (row !== undefined) Object.assign(row, { heard: Math.max(row.heard, Number(asked)), busy });
              return row !== undefined;
            }),
          hasOlderElsewhere: (workspaceId, version) =>
            reach(() =>
              [...rows].some(
                ([one, { busy }]) => one !== id && Number(busy.get(workspaceId) ?? version) < Number(version),
              ),
            ),
          requestComparison: () =>
            reach(() =>
              [...rows]
                .filter(([one]) => one !== id)
                .map(([one, row]) => {
                  row.asked++;
                  return shown(one, row);
                }),
            ),
          findUnconfirmed: (asked) =>
            reach(() => {
              // Time goes on while it is waited for.
              scene.time += 300;
              return asked.filter((one) => {
                const row = rows.get(one.id);
                return (
                  row !== undefined && row.heard < Number(one.requestNumber) && Number(one.requestNumber) <= row.asked
                );
              });
            }),
          removeUnconfirmed: (silent) =>
            reach(() => {
              for (const one of silent)
                if (rows.get(one.id)?.heard === Number(one.confirmedNumber)) rows.delete(one.id);
            }),
          remove: () => reach(() => void rows.delete(id)),
        },
      });
    },
  };
  return scene;
}

test('nothing is used before the process is known to the others, nor what was read before it was', async () => {
  const scene = makeTable();
  const one = scene.open('one');
  assert.equal(one.validFrom(scene.time), Number.POSITIVE_INFINITY);
  const { asOf, versions } = await one.compare(['w']);
  assert.equal(versions.get('w'), '1');
  assert.deepEqual([scene.rows.has('one'), scene.looks, scene.joins], [true, 2, 1]);
  assert.equal(one.validFrom(scene.time), 2);
  assert.equal(asOf, 2);
});

test('what was compared serves for 800 ms', async () => {
  const scene = makeTable();
  const one = scene.open('one');
  await one.compare([]);
  const looked = scene.time;
  scene.time += 800;
  assert.ok(one.validFrom(scene.time) <= looked);
  scene.time += 1;
  assert.equal(one.validFrom(scene.time), Number.POSITIVE_INFINITY);
});

test('a change with no other process waits for nobody', async () => {
  const scene = makeTable();
  const one = scene.open('one');
  await one.compare([]);
  assert.equal(await one.invalidateAll(), true);
});

test('who was asked uses nothing from before, says so, and need not look again', async () => {
  const scene = makeTable();
  const [one, other] = [scene.open('one'), scene.open('other')];
  await one.compare([]);
  await other.compare([]);
  const before = scene.time;
  scene.time += 100;
  const known = one.invalidateAll();
  await settled();
  other.wake();
  assert.equal(await known, true);
  assert.ok(other.validFrom(scene.time) > before);
  assert.deepEqual(scene.rows.get('other'), { asked: 1, heard: 1, busy: new Map() });
});

test('without a word the question is found by the next look', async () => {
  const scene = makeTable();
  const [one, other] = [scene.open('one'), scene.open('other')];
  await other.compare([]);
  const known = one.invalidateAll();
  await settled();
  scene.time += 10;
  const { asOf } = await other.compare(['w']);
  assert.equal(await known, true);
  assert.ok(asOf >= other.validFrom(scene.time));
});

test('who says nothing is waited for once, then forgotten, and what it knew is void when it comes back', async () => {
  const scene = makeTable();
  const [one, other] = [scene.open('one'), scene.open('other')];
  await other.compare([]);
  const before = scene.time;
  assert.equal(await one.invalidateAll(), false);
  assert.equal(scene.rows.has('other'), false);
  assert.equal(await one.invalidateAll(), true);
  assert.equal(other.validFrom(scene.time), Number.POSITIVE_INFINITY);
  const { asOf } = await other.compare([]);
  assert.ok(scene.rows.has('other'));
  assert.ok(other.validFrom(scene.time) > before && asOf >= other.validFrom(scene.time));
});

test('who was forgotten while it answered the question is not taken for known', async () => {
  const scene = makeTable();
  const other = scene.open('other');
  await other.compare([]);
  (scene.rows.get('other') as Row).asked = 1;
  const looking = other.compare([]);
  await Promise.resolve();
  await Promise.resolve();
  scene.rows.delete('other');
  await looking;
  assert.ok(scene.rows.has('other'));
  assert.equal(scene.joins, 2);
});

test('a workspace is settled when nobody answers a request by an older version of it', async () => {
  const scene = makeTable();
  const [one, other] = [scene.open('one'), scene.open('other')];
  await one.compare([]);
  await other.compare([]);
  const isSettled = async (): Promise<boolean> => {
    const answer = one.isDrained('w', '10');
    await settled();
    other.wake();
    return answer;
  };
  assert.equal(await isSettled(), true);
  for (const id of ['one', 'other']) {
    scene.busy[id] = new Map([['w', '9']]);
    assert.equal(await isSettled(), false);
    scene.busy[id] = new Map([
      ['w', '10'],
      ['x', '1'],
    ]);
    assert.equal(await isSettled(), true);
  }
  // Who says nothing may be at work; when it is forgotten it is asked no more.
  assert.equal(await one.isDrained('w', '10'), false);
  assert.equal(await one.isDrained('w', '10'), true);
});

test('without the database a change is told after the time that memory serves, and never fails', async () => {
  const scene = makeTable();
  const [one, other] = [scene.open('one'), scene.open('other')];
  await other.compare([]);
  scene.isAway = true;
  const started = performance.now();
  assert.equal(await one.invalidateAll(), false);
  assert.ok(performance.now() - started >= 850);
  other.wake();
  await assert.rejects(other.compare([]), /the database is away/);
});

test('who has left is waited for by nobody and does not come back', async () => {
  const scene = makeTable();
  const other = scene.open('other');
  await other.compare([]);
  await other.leave();
  assert.equal(await scene.open('one').invalidateAll(), true);
  await assert.rejects(other.compare([]), /shutting down/);
  assert.equal(scene.rows.size, 0);
});

/** Lets everything that waits for answers already given run. */
async function settled(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}
