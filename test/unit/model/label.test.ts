import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  findTemplateMistake,
  guessLabel,
  type LabelField,
  listLabelFields,
  printLabel,
  renameInLabel,
} from '../../../src/model/label.ts';

test('a label is guessed from names, and by texts that are unique', () => {
  const string = { type: 'string' };
  const unique = { type: 'string', unique: true };
  for (const [fields, label] of [
    [{ age: { type: 'integer' }, code: string }, 'code'],
    [{ title: string, name: string, email: unique }, 'name'],
    [{ code: unique, companyName: string, contactTitle: string }, 'companyName'],
    [{ title: string, lastName: string, firstName: string }, '{firstName} {lastName}'],
    [{ first_name: string, last_name: { type: 'text' } }, '{first_name} {last_name}'],
    [{ sku: unique, title: string }, '{title} ({sku})'],
    [{ isbn: unique, title: unique }, 'title'],
    [{ title: string, note: string }, 'title'],
    [{ note: string, number: unique }, 'number'],
    [{ note: string, email: string }, 'email'],
    [{ about: { type: 'text' }, age: { type: 'integer' } }, null],
    [{ name: { type: 'json' } }, null],
  ] as const)
    assert.equal(guessLabel(new Map<string, LabelField>(Object.entries(fields))), label, JSON.stringify(fields));
});

test('a template is printed without the brackets and separators of missing values', () => {
  const values: Readonly<Record<string, string>> = { first: 'Ada', last: 'Lovelace', none: '' };
  for (const [label, text] of [
    ['first', 'Ada'],
    ['none', ''],
    ['{first} {last}', 'Ada Lovelace'],
    ['{first} {none}', 'Ada'],
    ['{last}, {first}', 'Lovelace, Ada'],
    ['{none}, {first}', 'Ada'],
    ['{first} ({none})', 'Ada'],
    ['No. {none}', ''],
    ['No. {first}', 'No. Ada'],
  ] as const)
    assert.equal(
      printLabel(label, (name) => values[name] ?? ''),
      text,
      label,
    );
});

test('fields of a label are listed and renamed, and mistakes in a template are named', () => {
  assert.deepEqual(listLabelFields('name'), ['name']);
  assert.deepEqual(listLabelFields('{a} {b} {a}'), ['a', 'b']);
  assert.equal(
    renameInLabel('{a} ({b})', (name) => `${name}2`),
    '{a2} ({b2})',
  );
  assert.equal(
    renameInLabel('a', () => 'b'),
    'b',
  );
  assert.equal(findTemplateMistake('{a} ({b})'), undefined);
  for (const wrong of ['{a', 'a}', '{{a}}', '{a}}']) assert.match(findTemplateMistake(wrong) ?? '', /for each/, wrong);
  for (const wrong of ['{}', '{a} {}']) assert.match(findTemplateMistake(wrong) ?? '', /must name a field/, wrong);
});
