import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Digits } from '../../../../console/src/api/json.ts';
import { type LoadedWindow, parseWindow, Rows, type WindowRequest } from '../../../../console/src/records/rows.ts';

const record = (id: number) => ({ id: new Digits(String(id)) });

/** A list of so many records, and the requests that it got. */
function listOf(size: number, isCounted: boolean) {
  const asked: WindowRequest[] = [];
  const load = async (request: WindowRequest): Promise<LoadedWindow> => {
    asked.push(request);
    const from = request.window * 100;
    const ids = Array.from({ length: Math.max(0, Math.min(100, size - from)) }, (_, index) => from + index + 1);
    return parseWindow(ids.map(record), {
      nextCursor: from + 100 < size ? `c${request.window}` : null,
      totalElements: isCounted ? size : null,
      versions: ids.map((id) => `v${id}`),
    });
  };
  return { asked, rows: new Rows({ load, retryDelay: () => undefined }) };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test('windows that are seen are loaded once, neighbours by cursor and jumps by number', async () => {
  const { asked, rows } = listOf(1000, true);
  rows.setVisibleRange(0, 30);
  await settled();
  rows.setVisibleRange(90, 120);
  await settled();
  rows.setVisibleRange(500, 530);
  await settled();
  rows.setVisibleRange(500, 540);
  await settled();
  assert.deepEqual(asked, [
    { window: 0, after: undefined },
    { window: 1, after: 'c0' },
    { window: 5, after: undefined },
  ]);
  assert.equal(rows.get(110)?.id, '111');
  assert.equal(rows.get(110)?.version, 'v111');
  assert.equal(rows.get(300), undefined);
  assert.equal(rows.indexOf('501'), 500);
  assert.deepEqual(rows.count, { rows: 1000, isExact: true });
});

test('a list that is not counted grows until its end is seen', async () => {
  const { rows } = listOf(150, false);
  rows.setVisibleRange(0, 10);
  await settled();
  assert.deepEqual(rows.count, { rows: 200, isExact: false });
  rows.setVisibleRange(100, 120);
  await settled();
  assert.deepEqual(rows.count, { rows: 150, isExact: true });
  const none = listOf(0, false).rows;
  none.setVisibleRange(0, 10);
  await settled();
  assert.deepEqual(none.count, { rows: 0, isExact: true });
});

test('a record that was written takes its place, and those far away are forgotten', async () => {
  const { rows } = listOf(100_000, true);
  rows.setVisibleRange(0, 30);
  await settled();
  const row = rows.get(4);
  assert.ok(row !== undefined);
  rows.replace({ ...row, version: 'mine' });
  assert.equal(rows.byId('5')?.version, 'mine');
  for (let window = 1; window < 70; window++) {
    rows.setVisibleRange(window * 100, window * 100 + 30);
    await settled();
  }
  rows.setVisibleRange(6900, 6930);
  assert.equal(rows.get(4), undefined);
  assert.equal(rows.byId('5'), undefined);
  assert.equal(rows.get(6905)?.id, '6906');
});

test('what is refused is kept until it is tried again, and what passes is waited for', async () => {
  let failures = 0;
  const rows = new Rows({
    load: async () => {
      failures++;
      if (failures <= 3) throw new Error(failures < 2 ? 'passing' : 'standing');
      return parseWindow([record(1)], { totalElements: 1 });
    },
    retryDelay: (error) => ((error as Error).message === 'passing' ? 0 : undefined),
  });
  rows.setVisibleRange(0, 10);
  while (rows.refused === undefined) await settled();
  assert.equal((rows.refused as Error).message, 'standing');
  rows.setVisibleRange(0, 10);
  await settled();
  assert.equal(failures, 2, 'a refusal is not asked for again by itself');
  rows.retry();
  while (failures < 3) await settled();
  await settled();
  rows.retry();
  while (!rows.hasLoaded) await settled();
  assert.equal(rows.refused, undefined);
});

test('what is no longer seen is no longer loaded', async () => {
  const signals: AbortSignal[] = [];
  const rows = new Rows({
    load: (_, signal) => {
      signals.push(signal);
      return new Promise(() => undefined);
    },
    retryDelay: () => undefined,
  });
  rows.setVisibleRange(0, 30);
  rows.setVisibleRange(900, 930);
  assert.deepEqual(
    signals.map(({ aborted }) => aborted),
    [true, false],
  );
  rows.close();
  assert.equal(signals[1]?.aborted, true);
});

test('rows that the filter excludes are counted until they match, are kept, or are loaded again', async () => {
  const { rows } = listOf(300, true);
  rows.setVisibleRange(0, 30);
  await settled();
  const exclude = (id: string) => {
    const row = rows.byId(id);
    if (row !== undefined) rows.replace({ ...row, isFilteredOut: true });
  };
  exclude('1');
  exclude('2');
  assert.equal(rows.filteredOutCount, 2);
  rows.keepFilteredOut();
  assert.deepEqual([rows.filteredOutCount, rows.byId('1')?.isFilteredOut], [0, false]);
  exclude('3');
  exclude('gone');
  assert.equal(rows.filteredOutCount, 1);
});

test('the longest id is that of all loaded rows', async () => {
  const { rows } = listOf(300, true);
  assert.equal(rows.longestId, 0);
  rows.setVisibleRange(0, 30);
  await settled();
  assert.equal(rows.longestId, 3);
});
