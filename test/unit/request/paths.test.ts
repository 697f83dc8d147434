// Dotted paths of expand and fields become trees; names are not looked up yet.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ExpandTree, type FieldTree, MAX_PATHS, parseExpand, parseFields } from '../../../src/request/paths.ts';
import { refuses } from '../../support/error-response.ts';

/** The tree written out: `a(b c(d))`. */
function expandText(tree: ExpandTree): string {
  return Object.keys(tree)
    .map((name) => {
      const below = expandText(tree[name] as ExpandTree);
      return below === '' ? name : `${name}(${below})`;
    })
    .join(' ');
}

/** The tree written out: `a! b(c!)`, `!` where everything was asked for. */
function fieldsText(tree: FieldTree | undefined): string {
  if (tree === undefined) return 'undefined';
  return Object.keys(tree)
    .map((name) => {
      const { all, children } = tree[name] as FieldTree[string];
      const below = fieldsText(children);
      return `${name}${all ? '!' : ''}${below === '' ? '' : `(${below})`}`;
    })
    .join(' ');
}

const EXPANDS: readonly (readonly [values: readonly string[], tree: string])[] = [
  [[], ''],
  [[''], ''],
  [['a'], 'a'],
  [['a, b , c'], 'a b c'],
  [['a.b'], 'a(b)'],
  [['a.b,a.c,a'], 'a(b c)'],
  [['a', 'b.c', ''], 'a b(c)'],
  [['a,a'], 'a'],
  [['__proto__.constructor'], '__proto__(constructor)'],
];

for (const [values, tree] of EXPANDS) {
  test(`expand ${JSON.stringify(values)} is "${tree}"`, () => assert.equal(expandText(parseExpand(values)), tree));
}

const FIELDS: readonly (readonly [values: readonly string[], tree: string])[] = [
  [[], 'undefined'],
  [[''], 'undefined'],
  [['', ' '], 'undefined'],
  [['a'], 'a!'],
  [['a.b'], 'a(b!)'],
  [['a,a.b'], 'a!(b!)'],
  [['a.b,a'], 'a!(b!)'],
  [['a.b.c,a.b'], 'a(b!(c!))'],
  [['a', 'b'], 'a! b!'],
  [['toString,__proto__'], 'toString! __proto__!'],
];

for (const [values, tree] of FIELDS) {
  test(`fields ${JSON.stringify(values)} is "${tree}"`, () => assert.equal(fieldsText(parseFields(values)), tree));
}

for (const [value, message] of [
  [',', 'expand is malformed: a name is empty'],
  ['a,,b', 'expand is malformed: a name is empty'],
  ['.', 'expand is malformed: . has an empty name'],
  ['a.', 'expand is malformed: a. has an empty name'],
  ['a..b', 'expand is malformed: a..b has an empty name'],
] as const) {
  test(`expand=${value} is refused`, () => refuses(() => parseExpand([value]), message));
  test(`fields=${value} is refused`, () => refuses(() => parseFields([value]), message.replace('expand', 'fields')));
}

test('names of the prototype of objects are names like any other', () => {
  const tree = parseExpand(['a']);
  assert.equal(tree.toString as unknown, undefined);
  assert.equal(Object.getPrototypeOf(tree), null);
});

test(`more than ${MAX_PATHS} paths are refused, in however many parameters`, () => {
  const paths = Array.from({ length: MAX_PATHS }, (_, index) => `r${index}`);
  assert.equal(Object.keys(parseExpand([paths.join(',')])).length, MAX_PATHS);
  refuses(() => parseExpand([...paths, 'more']), `expand names more than ${MAX_PATHS} paths`);
  refuses(() => parseFields([paths.join(','), 'more']), `fields names more than ${MAX_PATHS} paths`);
});

test('a path that no document allows is not taken apart', () => {
  const long = Array.from({ length: 140_000 }, () => 'parent').join('.');
  refuses(() => parseExpand([long]), /^expand parent\.parent\..*… is longer than a path of 100 names can be$/);
  refuses(
    () => parseFields([Array.from({ length: 101 }, () => 'a').join('.')]),
    /longer than a path of 100 names can be$/,
  );
});
