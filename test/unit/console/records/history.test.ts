import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  addDone,
  addStep,
  EMPTY_HISTORY,
  type Entry,
  latestVersion,
  moveToDone,
  moveToUndone,
} from '../../../../console/src/records/history.ts';

const entry = (description: string): Entry => ({ kind: 'update', description, changes: [] });
const words = (entries: readonly Entry[]): string[] => entries.map((one) => one.description);

test('what is undone can be done again, until something else is done', () => {
  const two = addDone(addDone(EMPTY_HISTORY, entry('a')), entry('b'));
  const one = moveToUndone(two, entry('not b'));
  assert.deepEqual([words(one.done), words(one.undone)], [['a'], ['not b']]);
  const again = moveToDone(one, entry('b'));
  assert.deepEqual([words(again.done), words(again.undone)], [['a', 'b'], []]);
  assert.deepEqual(words(addDone(one, entry('c')).undone), []);
  assert.deepEqual(words(moveToUndone(two, undefined).undone), [], 'what was refused is not done again');
});

test('a hundred steps are kept', () => {
  let history = EMPTY_HISTORY;
  for (let index = 0; index < 150; index++) history = addDone(history, entry(String(index)));
  assert.equal(history.done.length, 100);
  assert.equal(history.done[0]?.description, '50');
});

test('our later writes lead from a version to that of now, and those of others do not', () => {
  const history = addStep(addStep(addStep(EMPTY_HISTORY, '1', 'a', 'b'), '1', 'b', 'c'), '2', 'c', 'x');
  assert.equal(latestVersion(history, '1', 'a'), 'c');
  assert.equal(latestVersion(history, '1', 'z'), 'z');
  assert.equal(latestVersion(history, '2', 'c'), 'x');
  const round = addStep(addStep(EMPTY_HISTORY, '1', 'a', 'b'), '1', 'b', 'a');
  assert.match(latestVersion(round, '1', 'a'), /[ab]/, 'ends, whatever versions there are');
});
