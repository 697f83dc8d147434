import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Entry,
  latestVersion,
  NOTHING,
  withDone,
  withRedone,
  withStep,
  withUndone,
} from '../../../../console/src/records/history.ts';

const entry = (words: string): Entry => ({ kind: 'update', words, changes: [] });
const words = (entries: readonly Entry[]): string[] => entries.map((one) => one.words);

test('what is undone can be done again, until something else is done', () => {
  const two = withDone(withDone(NOTHING, entry('a')), entry('b'));
  const one = withUndone(two, entry('not b'));
  assert.deepEqual([words(one.done), words(one.undone)], [['a'], ['not b']]);
  const again = withRedone(one, entry('b'));
  assert.deepEqual([words(again.done), words(again.undone)], [['a', 'b'], []]);
  assert.deepEqual(words(withDone(one, entry('c')).undone), []);
  assert.deepEqual(words(withUndone(two, undefined).undone), [], 'what was refused is not done again');
});

test('a hundred steps are kept', () => {
  let history = NOTHING;
  for (let index = 0; index < 150; index++) history = withDone(history, entry(String(index)));
  assert.equal(history.done.length, 100);
  assert.equal(history.done[0]?.words, '50');
});

test('our later writes lead from a version to that of now, and those of others do not', () => {
  const history = withStep(withStep(withStep(NOTHING, '1', 'a', 'b'), '1', 'b', 'c'), '2', 'c', 'x');
  assert.equal(latestVersion(history, '1', 'a'), 'c');
  assert.equal(latestVersion(history, '1', 'z'), 'z');
  assert.equal(latestVersion(history, '2', 'c'), 'x');
  const round = withStep(withStep(NOTHING, '1', 'a', 'b'), '1', 'b', 'a');
  assert.match(latestVersion(round, '1', 'a'), /[ab]/, 'ends, whatever versions there are');
});
