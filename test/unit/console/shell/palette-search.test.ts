import assert from 'node:assert/strict';
import { test } from 'node:test';
import { found, type Goal } from '../../../../console/src/shell/palette-search.ts';

const goal = (label: string): Goal => ({ label, kind: 'Entity', to: `/${label}` });
const labels = (typed: string, ...all: string[]): string[] => found(all.map(goal), typed).map(({ label }) => label);

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
    found(
      Array.from({ length: 80 }, (_, at) => goal(`e${at}`)),
      ' ',
    ).length,
    50,
  );
  assert.deepEqual(labels('.*', 'orders'), []);
  assert.deepEqual(labels('constructor', 'constructor', 'toString'), ['constructor']);
});
