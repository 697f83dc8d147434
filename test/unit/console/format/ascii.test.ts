import assert from 'node:assert/strict';
import { test } from 'node:test';
import { removeAccents, suggestSlug } from '../../../../console/src/format/ascii.ts';

test('slugs keep the letters of names in other languages', () => {
  for (const [name, slug] of [
    ['Northwind Traders & Söhne', 'northwind-traders-sohne'],
    ['Straße 7', 'strasse-7'],
    ['Ærøskøbing Łódź', 'aeroskobing-lodz'],
    ['Crème Brûlée', 'creme-brulee'],
    ['İstanbul ılık', 'istanbul-ilik'],
    ["O'Brien’s", 'obriens'],
    ['  -- a --  ', 'a'],
    ['日本', ''],
    [`${'a'.repeat(62)} b`, 'a'.repeat(62)],
  ] as const)
    assert.equal(suggestSlug(name), slug, name);
});

test('letters of other scripts stay', () => {
  assert.equal(removeAccents('Größe 日本 é'), 'Grosse 日本 e');
});
