// What a statement is marked with: a name for PostgreSQL, and the part of an ETag that tells selections apart.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeShop } from '../../support/fixture.ts';
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
    compileRead('', { entity: 'tags', workspace: makeShop({ tags: { fields: { label: { type } } } }) }).tag;
  assert.notEqual(tag('string'), tag('integer'));
});

test('statements have short names, one for each text', () => {
  const names = ['', 'expand=items', 'sort=total', 'count=none'].map((query) => compileList(query).name);
  assert.equal(new Set(names).size, names.length);
  for (const name of names) assert.match(name, /^s[0-9a-z]{1,8}$/);
});
