import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type PaletteItem, searchPalette } from '../../../../console/src/shell/palette-search.ts';

const goal = (label: string): PaletteItem => ({ label, kind: 'Entity', to: `/${label}` });
const labels = (typed: string, ...all: string[]): string[] =>
  searchPalette(all.map(goal), typed).map(({ label }) => label);

test('the same text comes first, then a beginning, then the beginning of a word, then anywhere', () => {
  assert.deepEqual(labels('orders', 'reorders', 'old orders', 'ordersOld', 'Orders', 'customers'), [
    'Orders',
    'ordersOld',
    'old orders',
    'reorders',
  ]);
});

test('nothing typed finds the first fifty, and signs of patterns are signs', () => {
  assert.equal(
    searchPalette(
      Array.from({ length: 80 }, (_, at) => goal(`e${at}`)),
      ' ',
    ).length,
    50,
  );
  assert.deepEqual(labels('.*', 'orders'), []);
  assert.deepEqual(labels('constructor', 'constructor', 'toString'), ['constructor']);
});

test('the detail is searched as well, after no better label', () => {
  const shop: PaletteItem = { label: 'Corner store', detail: 'acme/shop', kind: 'Workspace', to: '/acme/shop' };
  const found = (typed: string) => searchPalette([goal('workshop'), shop], typed).map(({ label }) => label);
  assert.deepEqual(found('acme/sh'), ['Corner store']);
  assert.deepEqual(found('shop'), ['Corner store', 'workshop']);
  assert.deepEqual(found('nothing'), []);
});
