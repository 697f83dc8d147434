// What is typed into a search box, and what is looked for.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../../src/errors.ts';
import { parseSearch } from '../../../src/request/search.ts';

/** `words | "phrases" | -without | unfinished*` */
function read(text: string): string {
  const { words, phrases, excluded: without, unfinished } = parseSearch(text);
  return [
    ...words,
    ...phrases.map((phrase) => `"${phrase.join(' ')}"`),
    ...without.map((phrase) => `-"${phrase.join(' ')}"`),
    ...(unfinished === undefined ? [] : [`${unfinished.join(' ')}*`]),
  ].join(' | ');
}

const SEARCHES: readonly [string, string][] = [
  ['ann', 'ann*'],
  ['ann lee', 'ann | lee*'],
  ['  ann \t lee  ', 'ann | lee*'],
  ['Ann Lee Smith', 'Ann | Lee | Smith*'],
  ['"ann lee"', '"ann lee"'],
  ['"ann lee" smi', '"ann lee" | smi*'],
  ['"ann"', 'ann'],
  ['"ann le', 'ann le*'],
  ['smith "ann le', 'smith | ann le*'],
  ['ann -lee', 'ann | -"lee"'],
  ['ann -"new york"', 'ann | -"new york"'],
  ['-lee ann', '-"lee" | ann*'],
  ['ann --lee', 'ann | -"lee"'],
  ['ann - lee', 'ann | lee*'],
  ['ann-lee smith', 'smith* | "ann lee"'],
  ['ann@example.co', 'ann example co*'],
  ["o'brien", 'o brien*'],
  ['ann & lee | smith!', 'ann | lee | smith*'],
  ['ann:* & !lee', 'ann | lee*'],
  ['ann or lee', 'ann | or | lee*'],
  ["ann' ; drop table x", 'ann | drop | table | x*'],
  ['a\\b', 'a b*'],
  ['"a" "b" c"d', 'a | b | c | d*'],
  ['zoë straße', 'zoë | straße*'],
  ['zoe\u0308', 'zoe\u0308*'],
  ['日本語 5', '日本語 | 5*'],
  ['हिन्दी', 'हिन्दी*'],
  ['ann \u{1F600}', 'ann'],
];
for (const [text, expected] of SEARCHES) {
  test(`search ${JSON.stringify(text)}`, () => {
    const sort = (of: string): string => of.split(' | ').sort().join(' | ');
    assert.equal(sort(read(text)), sort(expected));
  });
}

const REFUSED: readonly [string, string, string][] = [
  ['nothing', '', 'search must have a word to look for: letters or digits'],
  ['a space', ' ', 'search must have a word to look for: letters or digits'],
  ['operators alone', '& | ! - "" -"" \'', 'search must have a word to look for: letters or digits'],
  ['exclusions alone', '-ann -"new york"', 'search must have a word to look for, and not only words that it excludes'],
  ['201 characters', 'a'.repeat(201), 'search has more than 200 characters'],
  ['NUL', 'ann\u0000', 'search must not contain NUL characters or lone surrogates'],
  ['half of a character', 'ann\ud800', 'search must not contain NUL characters or lone surrogates'],
];
for (const [what, text, message] of REFUSED) {
  test(`a search of ${what} is refused`, () => {
    assert.throws(
      () => parseSearch(text),
      (error) => error instanceof ApiError && error.status === 400 && error.message === message,
    );
  });
}

test('200 characters are read in no time, whatever they are', () => {
  for (const text of [
    '"'.repeat(200),
    `${'-'.repeat(199)}a`,
    '-"a'.repeat(66),
    'a"'.repeat(100),
    `${'\u0308'.repeat(199)}a`,
  ]) {
    try {
      parseSearch(text);
    } catch (error) {
      assert.ok(error instanceof ApiError);
    }
  }
});
