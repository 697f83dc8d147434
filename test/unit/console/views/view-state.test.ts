import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseSearch, stringifySearch } from '../../../../console/src/address.ts';
import { DEFAULT_LAYOUT } from '../../../../console/src/grid/columns.ts';
import {
  getViewId,
  listChanges,
  parseColumnState,
  parsePresentation,
  parseViewState,
  toColumnSearch,
  toViewSearch,
  type ViewState,
} from '../../../../console/src/views/view-state.ts';

const PLAIN: ViewState = {
  filter: [],
  or: [],
  search: '',
  sort: [],
  expand: null,
  columns: null,
  pinned: ['id'],
  widths: {},
  layout: 'grid',
  group: [],
  summary: [],
  chart: 'bars',
};

const FULL: ViewState = {
  filter: ['status,eq,open', 'name,in,a\\, b,c'],
  or: ['a,eq,1;b,eq,2'],
  search: 'tea & "cake"',
  sort: ['total,desc', 'id'],
  expand: ['customer'],
  columns: ['id', 'customer.name', 'total'],
  pinned: [],
  widths: { total: 120, 'customer.name': 90 },
  layout: 'chart',
  group: ['placedAt:month', 'status'],
  summary: ['count', 'sum:total'],
  chart: 'line',
};

/** Returns the state of the address of a view, as the records screen reads it. */
function readBack(id: number | undefined, view: ViewState): ViewState {
  const search = parseSearch(stringifySearch(toViewSearch(id, view)));
  const fields = search.fields as string | undefined;
  const columns = { ...DEFAULT_LAYOUT, ...parseColumnState(search), visible: fields?.split(',') };
  return parseViewState(search, columns);
}

test('an address holds a view whole', () => {
  for (const view of [PLAIN, FULL, { ...PLAIN, pinned: [] }, { ...PLAIN, expand: [] }])
    assert.deepEqual(readBack(7, view), view);
  assert.equal(stringifySearch(toViewSearch(undefined, PLAIN)), '');
  assert.equal(stringifySearch(toViewSearch(7, PLAIN)), '?view=7');
});

test('what the address has changed of a view is listed, whatever the order of widths', () => {
  assert.equal(listChanges(FULL, { ...FULL, widths: { 'customer.name': 90, total: 120 } }), undefined);
  assert.deepEqual(listChanges(FULL, { ...FULL, sort: ['id'], widths: { total: 1 } }), {
    sort: ['id'],
    widths: { total: 1 },
  });
});

test('unknown values of an address count as missing', () => {
  assert.deepEqual(parsePresentation(parseSearch('?layout=gallery&chart=pie&group=,a,')), {
    layout: 'grid',
    group: ['a'],
    summary: [],
    chart: 'bars',
  });
  assert.deepEqual(parseColumnState(parseSearch('?widths=a:1x,b:,c:99999,d:80&pinned=')), {
    pinned: [],
    widths: new Map([['d', 80]]),
  });
  assert.deepEqual(toColumnSearch(DEFAULT_LAYOUT), { fields: undefined, pinned: undefined, widths: undefined });
  assert.deepEqual(
    ['?view=12', '?view=-1', '?view=x', ''].map((text) => getViewId(parseSearch(text))),
    [12, undefined, undefined, undefined],
  );
});
