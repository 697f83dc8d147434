// The states of a migration: every pair of state and event, and what holds whatever comes in whatever order.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  type Event,
  isWorking,
  next,
  PENDING,
  type Setback,
  type State,
  type StoredState,
  toStoredEnd,
} from '../../../src/migrations/state.ts';
import { ALL_EVENTS, ALL_STATES, attempt, FAILURE, nameOf, SETBACKS, STUCK } from '../../support/migration-states.ts';

/** By state, as the page names it: which events may come, and the state that follows. */
const FOLLOWS: Readonly<Record<string, Readonly<Partial<Record<Event['name'], string>>>>> = {
  pending: {
    cleared: 'preparing',
    impossible: 'concluding (nothing made)',
    threw: 'stopping (nothing made)',
    lost: 'abandoned (nothing made)',
  },
  preparing: { prepared: 'closing', threw: 'stopping', lost: 'abandoned' },
  closing: { closed: 'switching', threw: 'stopping', lost: 'abandoned' },
  switching: { switched: 'ended', threw: 'stopping', lost: 'abandoned' },
  'stopping (nothing made)': {
    failed: 'concluding (nothing made)',
    cancelled: 'concluding (nothing made)',
    interrupted: 'concluding (nothing made)',
    threw: 'abandoned (nothing made)',
    lost: 'abandoned (nothing made)',
  },
  stopping: {
    failed: 'reverting',
    cancelled: 'reverting',
    interrupted: 'reverting',
    threw: 'abandoned',
    lost: 'abandoned',
  },
  reverting: { reverted: 'concluding', irreversible: 'concluding', threw: 'abandoned', lost: 'abandoned' },
  'concluding (nothing made)': {
    recorded: 'ended',
    threw: 'abandoned (nothing made)',
    lost: 'abandoned (nothing made)',
  },
  concluding: { recorded: 'ended', threw: 'abandoned', lost: 'abandoned' },
  'abandoned (nothing made)': { discovered: 'stopping (nothing made)' },
  abandoned: { discovered: 'stopping' },
  ended: {},
};

for (const state of ALL_STATES) {
  const how = 'setback' in state ? ` ${state.setback.how}` : 'how' in state ? ` ${state.how}` : '';
  test(`what may come to a migration that is ${nameOf(state)}${how}`, () => {
    for (const event of ALL_EVENTS) {
      const expected = FOLLOWS[nameOf(state)]?.[event.name];
      if (expected !== undefined) assert.equal(nameOf(next(state, event)), expected, event.name);
      else assert.throws(() => next(state, event), /^Error: a migration that is \w+ cannot be \w+$/, event.name);
    }
  });
}

test('how it ends is what stopped it, unless something of others keeps it from being taken back', () => {
  const error = new Error('x');
  assert.deepEqual(next({ name: 'closing' }, { name: 'threw', error }), { name: 'stopping', stored: 'running', error });
  for (const stored of ['pending', 'running'] as const) {
    const stopping: State = { name: 'stopping', stored, error };
    const named = (setback: Setback): Event =>
      setback.how === 'failed' ? { name: 'failed', failure: setback.failure } : { name: setback.how };
    for (const setback of SETBACKS) {
      const after = next(stopping, named(setback));
      assert.deepEqual('setback' in after && after.setback, setback);
    }
  }
  for (const setback of SETBACKS) {
    const reverting: State = { name: 'reverting', setback };
    const concluding = next(reverting, { name: 'reverted' });
    assert.deepEqual(concluding, { name: 'concluding', stored: 'running', setback });
    assert.deepEqual(next(concluding, { name: 'recorded' }), { name: 'ended', how: setback.how });
    const stuck = next(reverting, { name: 'irreversible', failure: STUCK });
    assert.deepEqual(stuck, { ...concluding, setback: { how: 'failed', failure: STUCK } });
  }
  assert.deepEqual(next(PENDING, { name: 'impossible', failure: FAILURE }), {
    name: 'concluding',
    stored: 'pending',
    setback: SETBACKS[0],
  });
});

test('the end of an interrupted migration is stored as failed', () => {
  const hows = ['succeeded', 'failed', 'cancelled', 'interrupted'] as const;
  assert.deepEqual(hows.map(toStoredEnd), ['succeeded', 'failed', 'cancelled', 'failed']);
});

test('whatever comes, a migration has ended or somebody can bring it to its end, and nothing follows an end', () => {
  const choices = fc.array(fc.nat(), { maxLength: 30 });
  const property = fc.property(choices, (numbers) => {
    let state: State = PENDING;
    for (const number of numbers) {
      const possible: readonly Event[] = ALL_EVENTS.filter((event) => attempt(state, event) !== undefined);
      if (possible.length === 0) break;
      state = next(state, possible[number % possible.length] as Event);
    }
    if (state.name === 'ended') return assert.ok(ALL_EVENTS.every((event) => attempt(state, event) === undefined));
    // Nobody disturbs it from here on.
    if (isWorking(state)) state = next(state, { name: 'lost' });
    state = next(state, { name: 'discovered' });
    for (const name of ['interrupted', 'reverted', 'recorded'] as const) state = attempt(state, { name }) ?? state;
    assert.equal(state.name, 'ended');
  });
  fc.assert(property);
});

/** What a migration moves: its row, what it makes beside the tables, the gates, and the document in force. */
interface World {
  row: StoredState | 'succeeded' | 'failed' | 'cancelled';
  isMade: boolean;
  areGatesClosed: boolean;
  document: 'old' | 'new';
  cancelRequested: boolean;
}

/** What happens to one piece of work. Once it is lost or killed this process does no more. */
const FATES = [
  'done',
  'refused',
  'refused in the middle',
  'lost before',
  'lost in the middle',
  'lost after',
  'killed',
] as const;
type Fate = (typeof FATES)[number];

/** The work of a state: the transactions that it is made of, in their order. */
function workOf(state: State, world: World): readonly (() => void)[] {
  switch (state.name) {
    case 'pending':
      return [() => Object.assign(world, { row: 'running' })];
    case 'preparing':
      return [() => Object.assign(world, { isMade: true }), () => undefined];
    case 'closing':
      return [() => Object.assign(world, { areGatesClosed: true }), () => undefined];
    case 'switching':
      return [() => Object.assign(world, { document: 'new', isMade: false, areGatesClosed: false, row: 'succeeded' })];
    case 'stopping':
      return [() => Object.assign(world, { areGatesClosed: false }), () => undefined];
    case 'reverting':
      return [() => undefined, () => Object.assign(world, { isMade: false })];
    case 'concluding':
      return [() => Object.assign(world, { row: toStoredEnd(state.setback.how) })];
    case 'abandoned':
    case 'ended':
      return [];
    default:
      return state satisfies never;
  }
}

function success(state: State, world: World): Event {
  switch (state.name) {
    case 'pending':
      return { name: 'cleared' };
    case 'preparing':
      return { name: 'prepared' };
    case 'closing':
      return { name: 'closed' };
    case 'switching':
      return { name: 'switched' };
    case 'stopping':
      if (world.cancelRequested) return { name: 'cancelled' };
      return state.error === undefined ? { name: 'interrupted' } : { name: 'failed', failure: FAILURE };
    case 'reverting':
      return { name: 'reverted' };
    case 'concluding':
      return { name: 'recorded' };
    case 'abandoned':
    case 'ended':
      throw new Error('no work');
    default:
      return state satisfies never;
  }
}

/** One process with one session goes on from a state, as perform.ts does. */
function carryOn(from: State, world: World, fates: Iterator<readonly [Fate, cancel: boolean], undefined>): State {
  let state = from;
  let isLost = false;
  while (isWorking(state)) {
    const [fate, cancel] = fates.next().value ?? ['done', false];
    if (cancel && (world.row === 'pending' || world.row === 'running')) world.cancelRequested = true;
    if (isLost) {
      state = next(state, { name: 'threw', error: 'lost' });
      continue;
    }
    const work = workOf(state, world);
    const parts: Readonly<Record<Fate, number>> = {
      done: work.length,
      refused: 0,
      // What is one transaction is refused as a whole.
      'refused in the middle': work.length - 1,
      'lost before': 0,
      'lost in the middle': 1,
      'lost after': work.length,
      killed: 1,
    };
    for (const part of work.slice(0, parts[fate])) part();
    isLost = fate.startsWith('lost');
    if (fate === 'done') state = next(state, success(state, world));
    else state = next(state, fate === 'killed' ? { name: 'lost' } : { name: 'threw', error: fate });
  }
  return state;
}

test('whatever is refused, lost or killed, the new shape stays once it is there, and else nothing is left', () => {
  const fate = fc.tuple(fc.constantFrom(...FATES), fc.boolean());
  const ends = new Set<string>();
  const property = fc.property(fc.array(fate, { maxLength: 25 }), (fates) => {
    const world: World = {
      row: 'pending',
      isMade: false,
      areGatesClosed: false,
      document: 'old',
      cancelRequested: false,
    };
    const queue = fates[Symbol.iterator]();
    carryOn(PENDING, world, queue);
    // The next holder of the lock knows nothing but the row.
    while (world.row === 'pending' || world.row === 'running') {
      if (world.row === 'pending') assert.equal(world.isMade, false);
      assert.equal(world.document, 'old');
      carryOn(next({ name: 'abandoned', stored: world.row }, { name: 'discovered' }), world, queue);
    }
    assert.deepEqual(
      { ...world, cancelRequested: false },
      {
        row: world.row,
        isMade: false,
        areGatesClosed: false,
        document: world.row === 'succeeded' ? 'new' : 'old',
        cancelRequested: false,
      },
    );
    if (world.row === 'cancelled') assert.ok(world.cancelRequested);
    ends.add(world.row);
  });
  fc.assert(property, { numRuns: 2000 });
  assert.deepEqual([...ends].sort(), ['cancelled', 'failed', 'succeeded']);
});
