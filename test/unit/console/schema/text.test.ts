import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Json, parseExact, stringifyExact } from '../../../../console/src/api/json.ts';
import { renameAt, setAt } from '../../../../console/src/schema/json-value.ts';
import { parseText, printText, rewriteText } from '../../../../console/src/schema/text.ts';

const DOCUMENT = parseExact(`{"entities":{"constructor":{"description":"x: y","fields":{
  "toString":{"type":"decimal","min":9007199254740993,"max":1.10},"valueOf":{"type":"enum","values":["a","on","1"]}},
  "indexes":[{"fields":["toString","valueOf"]}]},"empty":{}}}`);

test('a document is written as people write it', () => {
  assert.equal(
    printText('yaml', DOCUMENT),
    `entities:
  constructor:
    description: "x: y"
    fields:
      toString: { type: decimal, min: 9007199254740993, max: 1.10 }
      valueOf: { type: enum, values: [ a, on, "1" ] }
    indexes:
      - { fields: [ toString, valueOf ] }
  empty: {}
`,
  );
  assert.match(
    printText('json', DOCUMENT),
    /^ {8}"toString": \{"type": "decimal", "min": 9007199254740993, "max": 1.10\},$/m,
  );
});

test('any document comes back from either text, digit by digit and in its order', () => {
  const json = fc.jsonValue({ maxDepth: 4 }).map((value) => parseExact(JSON.stringify(value)));
  const documents = fc.dictionary(fc.string(), json, { maxKeys: 5 });
  fc.assert(
    fc.property(documents, fc.constantFrom('yaml' as const, 'json' as const), (document, format) => {
      const { value, problems } = parseText(format, printText(format, document as Json));
      assert.deepEqual(problems, []);
      assert.equal(stringifyExact(value), stringifyExact(document));
    }),
  );
});

test('what does not change stays as it was written', () => {
  const text = `# top
entities:
  # people
  customers:
    fields:
      name: { type: string, required: true } # the name
      "age": { type: integer }

    timestamps: true
  empty: {}
`;
  const { value = null } = parseText('yaml', text);
  const fields = ['entities', 'customers', 'fields'];
  const renamed = renameAt(setAt(value, [...fields, 'age', 'min'], 'x'), fields, 'name', 'title');
  const next = setAt(renamed, ['entities', 'empty', 'fields', 'a'], { type: 'string' });
  assert.equal(
    rewriteText('yaml', text, next),
    text
      .replace('name: {', 'title: {')
      .replace('{ type: integer }', '{ type: integer, min: x }')
      .replace('empty: {}', 'empty:\n    fields:\n      a: { type: string }'),
  );
  assert.equal(rewriteText('yaml', text, value), text);
});

test('any change of a text has the value asked for', () => {
  const small = fc.constantFrom<Json>('a', true, null, ['x'], ['x', 'y'], { a: 'b' }, {});
  const entity = fc.dictionary(
    fc.constantFrom('fields', 'relations', 'indexes'),
    fc.dictionary(fc.constantFrom('a', 'b', 'c'), small),
  );
  const documents = fc
    .dictionary(fc.constantFrom('one', 'two', 'three'), entity)
    .map((entities) => ({ entities }) as Json);
  fc.assert(
    fc.property(documents, documents, (before, after) => {
      const { value } = parseText('yaml', rewriteText('yaml', printText('yaml', before), after));
      assert.equal(stringifyExact(value), stringifyExact(after));
    }),
  );
});

test('mistakes have their place', () => {
  const places = (format: 'yaml' | 'json', text: string) =>
    parseText(format, text).problems.map(({ message, from }) => ({ message, from }));
  assert.deepEqual(places('json', '{"a": }'), [{ message: 'a value is expected', from: 6 }]);
  assert.deepEqual(places('json', '{"a": 1, "a": 2}'), [{ message: 'Map keys must be unique', from: 9 }]);
  assert.deepEqual(places('yaml', 'a: 1\na: 2'), [{ message: 'Map keys must be unique', from: 5 }]);
  assert.deepEqual(places('yaml', '- a'), [{ message: 'must be an object', from: 0 }]);
  assert.equal(parseText('yaml', 'a: *b').value, undefined);
});

test('a path leads to its place in the text, or to the nearest that is there', () => {
  const text = printText('yaml', DOCUMENT);
  const there = (path: readonly string[]) => {
    const { from, to } = parseText('yaml', text).findRange(path);
    return text.slice(from, to);
  };
  assert.equal(there(['entities', 'constructor', 'fields', 'toString', 'min']), 'min');
  assert.equal(there(['entities', 'constructor', 'fields', 'toString', 'scale']), 'toString');
  assert.equal(there(['entities', 'constructor', 'indexes', '0', 'fields', '1']), 'valueOf');
  assert.equal(there(['entities', 'valueOf']), 'entities');
});
