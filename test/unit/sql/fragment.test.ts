// The pieces that SQL is made of: identifiers, literals, values.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { makeAliases, where } from '../../../src/sql/expression.ts';
import { empty, ident, join, keyword, literal, sql, toQuery } from '../../../src/sql/fragment.ts';

test('identifiers are quoted, whatever is in them', () => {
  assert.equal(ident('name').text, '"name"');
  assert.equal(ident('select').text, '"select"');
  assert.equal(ident('a"b').text, '"a""b"');
  assert.equal(ident('"; drop table x; --').text, '"""; drop table x; --"');
  fc.assert(fc.property(fc.string(), (name) => assert.match(ident(name).text, /^"([^"]|"")*"$/)));
});

test('literals end where they are meant to', () => {
  assert.equal(literal("it's").text, "'it''s'");
  assert.equal(literal('a\\').text, " E'a\\\\'");
  assert.equal(literal("\\'").text, " E'\\\\'''");
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom("'", '\\', 'a', '"') }), (text) => {
      assert.match(literal(text).text, /^(?: E'(?:[^'\\]|''|\\\\)*'|'(?:[^'\\]|'')*')$/);
    }),
  );
});

test('what is interpolated is a value, never text', () => {
  const query = toQuery(sql`select ${'; drop table x'}, ${1} from ${ident('a')}`, 'name');
  assert.deepEqual(query, { text: 'select $1, $2 from "a"', values: ['; drop table x', 1], name: 'name' });
  assert.deepEqual(toQuery(sql`select 1`), { text: 'select 1', values: [] });
});

test('fragments are joined, and empty conditions left out', () => {
  const parts = [sql`a = ${1}`, empty, sql`b = ${2}`];
  assert.equal(join([]).text, '');
  assert.equal(join([keyword('a'), keyword('b')]).text, 'a, b');
  assert.equal(where(...parts).text, ' where a = $1 and b = $2');
  assert.equal(where(empty).text, '');
});

test('aliases count on through a statement', () => {
  const aliases = makeAliases();
  assert.deepEqual(
    ['r', 'e', 'r'].map((prefix) => aliases.next(prefix).text),
    ['"r0"', '"e1"', '"r2"'],
  );
});
