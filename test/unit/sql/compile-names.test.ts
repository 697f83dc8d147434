// What a statement is marked with: a name for PostgreSQL, and the part of an ETag that tells selections apart.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeShop } from '../../support/field-types-fixture.ts';
import { compileList, compileRead } from './statements.ts';

test('the tag of a read tells selections apart, and is missing when related records are shown', () => {
  const tag = (query: string) => compileRead(query).tag;
  assert.equal(tag(''), tag('fields='));
  assert.notEqual(tag('fields=id'), tag('fields=total'));
  assert.notEqual(tag('fields=id,total'), tag('fields=total,id'));
  assert.equal(tag('expand=customer'), undefined);
  assert.equal(tag('expand=customer&fields=id'), tag('fields=id'));
});

test('the tag of a read changes with the type of a field', () => {
  const tag = (type: 'string' | 'integer') =>
    compileRead('', { entity: 'tags', workspace: makeShop({ tags: { fields: { name: { type } } } }) }).tag;
  assert.notEqual(tag('string'), tag('integer'));
});

test('statements have short names, one for each text', () => {
  const names = ['', 'expand=items', 'sort=total', 'count=none'].map((query) => compileList(query).name);
  assert.equal(new Set(names).size, names.length);
  for (const name of names) assert.match(String(name), /^s[0-9a-z]{1,8}$/);
});

test('a text of more than 16 KiB is neither named nor remembered', () => {
  const filter = (count: number) => Array.from({ length: count }, () => 'filter=customer.name,contains,x').join('&');
  const [short, long] = [filter(5), filter(60)];
  assert.ok(compileList(long).text.length > 16_384);
  assert.equal(compileList(long).name, undefined);
  assert.ok(compileList(short).name !== undefined);
  assert.equal(compileList(short).name, compileList(short).name);
});

test('a record by its id is expected to be quick, unless lists come with it; of a list nothing is known', () => {
  for (const [query, expected] of [
    ['', 'quick'],
    ['expand=customer', 'quick'],
    ['expand=items', 'unknown'],
    ['expand=customer.orders', 'unknown'],
  ] as const) {
    assert.equal(compileRead(query).expected, expected, query);
  }
  assert.equal(compileList('').expected, 'unknown');
});
