import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { diffLines } from '../../../../console/src/schema/difference.ts';

const shown = (before: string, after: string, context?: number): readonly string[] =>
  diffLines(before, after, context).flatMap((hunk) => [
    '@@',
    ...hunk.map(({ kind, text }) => `${kind === 'added' ? '+' : kind === 'removed' ? '-' : ' '}${text}`),
  ]);

test('changed lines stand between their neighbours', () => {
  assert.deepEqual(shown('a\nb\nc\nd\ne\n', 'a\nb\nX\nd\ne\n', 1), ['@@', ' b', '-c', '+X', ' d']);
  assert.deepEqual(shown('a\nb\nc\nd\ne\nf', 'A\nb\nc\nd\ne\nF', 1), ['@@', '-a', '+A', ' b', '@@', ' e', '-f', '+F']);
  assert.deepEqual(shown('a\nb\nc', 'a\nc', 1), ['@@', ' a', '-b', ' c']);
  assert.deepEqual(shown('same', 'same'), []);
});

test('lines have their numbers in both texts', () => {
  assert.deepEqual(diffLines('a\nb', 'x\na\nb', 1), [
    [
      { kind: 'added', text: 'x', after: 1 },
      { kind: 'same', text: 'a', before: 1, after: 2 },
    ],
  ]);
});

test('with all lines around it, a difference has both texts', () => {
  const texts = fc
    .array(fc.constantFrom('a', 'b', 'c', 'd'), { minLength: 1, maxLength: 30 })
    .map((lines) => lines.join('\n'));
  fc.assert(
    fc.property(texts, texts, (before, after) => {
      fc.pre(before !== after);
      const lines = diffLines(before, after, 1000).flat();
      const without = (kind: string) =>
        lines
          .filter((line) => line.kind !== kind)
          .map(({ text }) => text)
          .join('\n');
      assert.equal(without('added'), before);
      assert.equal(without('removed'), after);
    }),
  );
});

test('texts without a common line are replaced as a whole', () => {
  const many = (sign: string) => Array.from({ length: 3000 }, (_, index) => `${sign}${index}`).join('\n');
  assert.equal(diffLines(many('a'), many('b')).flat().length, 6000);
});
