import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { Digits } from '../../../../console/src/api/json.ts';
import { type EditState, LiveRows, MARK_MS } from '../../../../console/src/records/live-rows.ts';
import { NOT_TRUNCATED, parseWindow, type Row, Rows } from '../../../../console/src/records/rows.ts';

const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
};

const toRow = (id: string, version: string): Row => ({
  id,
  record: { id: new Digits(id) },
  version,
  truncatedLengths: NOT_TRUNCATED,
});

/** A list of records 1 to 3 in version v1, whose records of today are in `today`. */
async function liveList({ isFiltered = false } = {}) {
  const rows = new Rows({
    load: async () =>
      parseWindow(
        ['1', '2', '3'].map((id) => ({ id: new Digits(id) })),
        { nextCursor: null, totalElements: 3, versions: ['v1', 'v1', 'v1'] },
      ),
    retryDelay: () => undefined,
  });
  rows.setVisibleRange(0, 3);
  await settled();
  const today = new Map(['1', '2', '3'].map((id): [string, Row] => [id, toRow(id, 'v1')]));
  const edits = new Map<string, EditState>();
  const fetched: (readonly string[])[] = [];
  const live = new LiveRows();
  const list = {
    rows,
    isFiltered,
    async fetchRows(ids: readonly string[]) {
      fetched.push(ids);
      return ids.flatMap((id) => today.get(id) ?? []);
    },
    fetchTotal: async () => today.size,
    getEdit: (id: string) => edits.get(id),
  };
  live.setList(list);
  return { live, list, rows, today, edits, fetched };
}

/** Runs with timers that stand still, as marks go after a time. */
async function withTimers(run: (pass: (ms: number) => Promise<void>) => Promise<void>): Promise<void> {
  mock.timers.enable({ apis: ['setTimeout'] });
  try {
    await run(async (ms) => {
      await settled();
      mock.timers.tick(ms);
      await settled();
    });
  } finally {
    mock.timers.reset();
  }
}

test('a changed record shows its new values and is marked for two seconds; one of our own is not', () =>
  withTimers(async (pass) => {
    const { live, rows, today, fetched } = await liveList();
    today.set('2', toRow('2', 'v2'));
    live.add({ type: 'updated', id: '2', version: 'v2' });
    live.add({ type: 'updated', id: '3', version: 'v1' });
    await pass(0);
    assert.deepEqual([rows.byId('2')?.version, live.getMark('2'), live.getMark('3')], ['v2', 'changed', undefined]);
    await pass(MARK_MS);
    assert.equal(live.getMark('2'), undefined);
    assert.deepEqual(fetched, [['2']]);
  }));

test('an edited record stays as it is, marked, until nothing is edited any more', () =>
  withTimers(async (pass) => {
    const { live, rows, today, edits } = await liveList();
    edits.set('1', 'typing');
    today.set('1', toRow('1', 'v2'));
    live.add({ type: 'updated', id: '1', version: 'v2' });
    await pass(400);
    assert.deepEqual([rows.byId('1')?.version, live.getMark('1')], ['v1', 'meanwhile']);
    edits.set('1', 'saving');
    assert.equal(live.getMark('1'), undefined);
    edits.delete('1');
    live.recheckEdited();
    await pass(0);
    assert.deepEqual([rows.byId('1')?.version, live.getMark('1')], ['v2', 'changed']);
  }));

test('a removed record is marked until the next load, new ones are counted, and the total follows', () =>
  withTimers(async (pass) => {
    const { live, list, today } = await liveList();
    today.delete('2');
    live.add({ type: 'removed', id: '2' });
    for (const id of ['4', '5', '6']) {
      today.set(id, toRow(id, 'v1'));
      live.add({ type: 'created', id, version: 'v1' });
    }
    live.add({ type: 'removed', id: '6' });
    today.delete('6');
    await pass(400);
    assert.deepEqual([live.getMark('2'), live.createdCount], ['removed', 2]);
    await pass(1000);
    assert.equal(live.total, 4);
    const rows = new Rows({
      load: async () =>
        parseWindow(
          [...today.keys()].map((id) => ({ id: new Digits(id) })),
          { nextCursor: null, totalElements: 4, versions: ['v1', 'v1', 'v1', 'v1'] },
        ),
      retryDelay: () => undefined,
    });
    rows.setVisibleRange(0, 4);
    await settled();
    live.setList({ ...list, rows });
    assert.deepEqual(
      [live.getMark('2'), live.getMark('4'), live.createdCount, live.total],
      [undefined, 'new', 0, undefined],
    );
  }));

test('of a filtered list those records are new that match, also by an update', () =>
  withTimers(async (pass) => {
    const { live, rows, today } = await liveList({ isFiltered: true });
    today.set('4', toRow('4', 'v1'));
    today.set('5', { ...toRow('5', 'v1'), isFilteredOut: true });
    today.set('6', toRow('6', 'v1'));
    today.set('1', { ...toRow('1', 'v2'), isFilteredOut: true });
    live.add({ type: 'created', id: '4' });
    live.add({ type: 'created', id: '5' });
    live.add({ type: 'updated', id: '6' });
    live.add({ type: 'updated', id: '1' });
    await pass(400);
    assert.deepEqual([live.createdCount, rows.filteredOutCount], [2, 1]);
  }));

test('a change before the rows of a list is not taken for a new one, and one after its request is', () =>
  withTimers(async (pass) => {
    const { live, list } = await liveList();
    live.add({ type: 'created', id: '4' });
    await pass(400);
    assert.equal(live.createdCount, 1);
    const load = async () => parseWindow([{ id: new Digits('4') }], { versions: ['v1'] });
    const rows = new Rows({ load, retryDelay: () => undefined });
    rows.setVisibleRange(0, 1);
    await settled();
    live.add({ type: 'created', id: '7' });
    await pass(400);
    live.setList({ ...list, rows });
    await pass(400);
    assert.equal(live.createdCount, 1);
  }));

test('rows that were requested before the changes are known are looked at again, once', () =>
  withTimers(async (pass) => {
    const { live, list, today, fetched } = await liveList();
    live.setList(undefined);
    today.set('2', toRow('2', 'v2'));
    live.start();
    await pass(0);
    assert.deepEqual(fetched, []);
    live.setList(list);
    live.setList({ ...list });
    await pass(400);
    assert.deepEqual([fetched, list.rows.byId('2')?.version], [[['1', '2', '3']], 'v2']);
  }));
