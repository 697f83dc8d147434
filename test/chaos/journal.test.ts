// The proofs of a chaos run can fail: each kind of disagreement is found, and the seed decides the faults.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FAULTS, sequence } from './faults.ts';
import { compare, compareBatches, type Line, makeJournal, type Parcel } from './journal.ts';

const LINE: Line = { token: 'u1:1', owner: 'u1', amount: 3, id: 7, values: [2], deleted: 'no' };
const RECORD = { id: 7, token: 'u1:1', owner: 'u1', value: 2, amount: 3, note: null };

const CASES: readonly { what: string; line: Partial<Line>; stored: readonly object[]; wrong: RegExp | undefined }[] = [
  { what: 'as acknowledged', line: {}, stored: [{}], wrong: undefined },
  { what: 'lost', line: {}, stored: [], wrong: /acknowledged and is lost/ },
  { what: 'twice', line: {}, stored: [{}, { id: 8 }], wrong: /there 2 times/ },
  { what: 'another id', line: {}, stored: [{ id: 8 }], wrong: /has id 8, not 7/ },
  { what: 'another owner', line: {}, stored: [{ owner: 'u2' }], wrong: /belongs to u2/ },
  { what: 'an older value', line: {}, stored: [{ value: 1 }], wrong: /value 1, acknowledged was 2/ },
  { what: 'an amount that changed', line: {}, stored: [{ amount: 4 }], wrong: /amount 4, not 3/ },
  { what: 'without the note it had', line: { note: 'n' }, stored: [{}], wrong: /has note null, not n/ },
  { what: 'with a note of no one', line: {}, stored: [{ note: 'n' }], wrong: /has note n, not undefined/ },
  { what: 'deleted and there', line: { deleted: 'yes' }, stored: [{}], wrong: /deleted and is there/ },
  { what: 'deleted', line: { deleted: 'yes' }, stored: [], wrong: undefined },
  { what: 'perhaps deleted', line: { deleted: 'maybe' }, stored: [], wrong: undefined },
  { what: 'an update of unknown outcome', line: { values: [2, 3] }, stored: [{ value: 3 }], wrong: undefined },
  { what: 'a create of unknown outcome, not made', line: { id: undefined }, stored: [], wrong: undefined },
  { what: 'a create of unknown outcome, made', line: { id: undefined }, stored: [{ id: 9 }], wrong: undefined },
  { what: 'the same, twice', line: { id: undefined }, stored: [{}, { id: 9 }], wrong: /there 2 times/ },
  { what: 'a stranger', line: {}, stored: [{}, { token: 'u1:2' }], wrong: /u1:2 comes from nowhere/ },
  { what: 'refused', line: {}, stored: [{}, { token: 'u1:0' }], wrong: /u1:0 was refused and is there/ },
];

for (const { what, line, stored, wrong } of CASES) {
  test(`a record ${what}`, () => {
    const journal = { ...makeJournal(), lines: [{ ...LINE, ...line }], refused: new Set(['u1:0']) };
    const found = compare(
      journal,
      stored.map((changes) => ({ ...RECORD, ...changes })),
    );
    if (wrong === undefined) assert.deepEqual(found, []);
    else assert.match(found.join('; '), wrong);
  });
}

/** Rows of a batch of three, by their numbers; those after the first refer to `firstId`. */
const parcels = (numbers: readonly number[], firstId: number | null = null): Parcel[] =>
  numbers.map((number, index) => ({ id: 10 + index, batch: 'b', number, firstId: index === 0 ? null : firstId }));
const batch = (acknowledged: boolean, stored: readonly Parcel[]): string[] =>
  compareBatches({ ...makeJournal(), batches: [{ name: 'b', rows: 3, acknowledged }] }, stored);

test('an import or a batch is there whole or not at all', () => {
  assert.deepEqual(batch(true, parcels([0, 1, 2])), []);
  assert.deepEqual(batch(false, []), []);
  assert.deepEqual(batch(false, parcels([2, 1, 0])), []);
  for (const [acknowledged, rows] of [
    [true, []],
    [true, [0, 1]],
    [false, [0]],
    [true, [0, 1, 1]],
    [true, [0, 1, 2, 2]],
  ] as const)
    assert.equal(batch(acknowledged, parcels(rows)).length, 1, JSON.stringify(rows));
});

test('rows of a batch refer to its first row, and nothing is left of one that was refused', () => {
  assert.deepEqual(batch(true, parcels([0, 1, 2], 10)), []);
  // The last operation, which makes the first row number 0, is not there.
  assert.equal(batch(true, parcels([-1, 1, 2], 10)).length, 2);
  assert.equal(batch(true, parcels([0, 1, 2], 7)).length, 2);
  assert.deepEqual(compareBatches(makeJournal(), parcels([0])), ['b was refused and has 1 rows']);
});

test('a seed repeats its sequence of faults, and each fault comes once before any comes again', () => {
  const first = (seed: number, count: number) => sequence(seed, FAULTS).take(count).toArray();
  const told = (seed: number) => first(seed, 100).map(({ fault, ...draw }) => `${fault.name} ${JSON.stringify(draw)}`);
  assert.deepEqual(told(5), told(5));
  assert.notDeepEqual(told(5), told(6));
  assert.equal(new Set(first(5, FAULTS.length).map(({ fault }) => fault.name)).size, FAULTS.length);
});
