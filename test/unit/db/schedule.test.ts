// Where the statements of a lane go: to the connection where they cost least, and of those that wait to the one that is
// prepared for them, while no workspace takes all connections.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makePrepared, type Prepared } from '../../../src/db/prepared.ts';
import { hasRoom, makeSchedule, type Schedule } from '../../../src/db/schedule.ts';
import { makeWaitingLine, type Waiting } from '../../../src/db/waiting-line.ts';
import type { Query } from '../../../src/sql/fragment.ts';

const NOW = 100_000;

interface Connection {
  readonly name: string;
  readonly prepared: Prepared;
  readonly sent: { readonly waiting: Pick<Waiting, 'work'>; readonly started: number }[];
  readonly work: number;
  readonly answeredAt: number;
}

interface State {
  /** Milliseconds of work that was sent. */
  readonly work?: number;
  /** How long ago the first of it was sent, and the last answer came. */
  readonly since?: number;
  readonly answered?: number;
  readonly tenants?: readonly string[];
  readonly prepared?: readonly string[];
  /** Holds as many statements as it may. */
  readonly isFull?: boolean;
}

const queryOf = (name: string): Query => ({ text: `select '${name}'`, values: [], name });

function connection(name: string, { work = 0, since = 0, answered = 1000, tenants, ...state }: State): Connection {
  const prepared = makePrepared(state.isFull === true ? Math.max(1, state.prepared?.length ?? 0) : 100);
  if (state.isFull === true && state.prepared === undefined) prepared.name(queryOf('another'));
  for (const each of state.prepared ?? []) prepared.name(queryOf(each));
  const owners = tenants ?? (work > 0 ? ['a'] : []);
  return {
    name,
    prepared,
    sent: owners.map((tenant) => ({ waiting: { work: { tenant } }, started: NOW - since })),
    work,
    answeredAt: NOW - answered,
  };
}

/** Connections with the names `0`, `1`, …; those from `parallel` on are for when the others have much to do. */
function lane(states: readonly State[], parallel = 100): { schedule: Schedule<Connection>; all: Connection[] } {
  const all = states.map((state, index) => connection(String(index), state));
  return { schedule: makeSchedule(all, { size: Math.max(states.length, 1), parallel }), all };
}

for (const [what, states, picked, parallel] of [
  ['no connection: it waits', [], undefined],
  ['one that is free', [{}], '0'],
  ['the first of two that are free', [{}, {}], '0'],
  ['one that is free rather than one that works', [{ work: 1 }, {}], '1'],
  ['the one with less to do', [{ work: 4 }, { work: 3 }], '1'],
  ['where it is prepared, though there is a little to do', [{}, { work: 0.4, prepared: ['q'] }], '1'],
  ['where it must be prepared, as there is more to do where it is', [{}, { work: 0.6, prepared: ['q'] }], '0'],
  ['where nothing else has to be forgotten for it', [{ isFull: true }, { work: 5 }], '1'],
  ['in place of another, when all else takes longer', [{ isFull: true }, { work: 7 }], '0'],
  ['the one that is full, when it has the statement', [{ isFull: true, prepared: ['q'] }, {}], '0'],
  ['none more than pays, while the first have little to do', [{ work: 4.9 }, {}], '0', 1],
  ['one more, when the first have much to do', [{ work: 5.1 }, {}], '1', 1],
  ['none that has 10 ms to do', [{ work: 10 }], undefined],
  ['the other, when one has 10 ms to do', [{ work: 10 }, {}], '1', 1],
  ['one with a statement of less than 25 ms', [{ work: 1, since: 24 }], '0'],
  ['none whose statement has taken 25 ms', [{ work: 1, since: 25 }], undefined],
  ['one whose statement began with the answer before it', [{ work: 1, since: 40, answered: 10 }], '0'],
] as const satisfies readonly (readonly [string, readonly State[], string | undefined, number?])[]) {
  test(`a statement goes to ${what}`, () => {
    const { schedule } = lane(states, parallel);
    assert.equal(schedule.pick(queryOf('q'), 'a', NOW)?.name, picked);
  });
}

test('what has no name is prepared nowhere, and costs the same everywhere', () => {
  const { schedule } = lane([{ isFull: true, work: 0.1 }, { work: 0.2 }]);
  assert.equal(schedule.pick({ text: 'select 1', values: [] }, undefined, NOW)?.name, '0');
});

test('a connection has room until it has enough to do, or its statement takes too long', () => {
  for (const [state, expected] of [
    [{}, true],
    [{ work: 9.9 }, true],
    [{ work: 10 }, false],
    [{ work: 1, since: 25 }, false],
    [{ work: 1, since: 25, answered: 24 }, true],
  ] as const) {
    assert.equal(hasRoom(connection('0', state), NOW), expected, JSON.stringify(state));
  }
});

test('a connection whose statement has failed has no room until its server goes on', () => {
  assert.equal(hasRoom({ ...connection('0', {}), ending: {} }, NOW), false);
});

const ALL_OF_A: readonly State[] = [{ work: 1 }, { work: 1 }, {}, {}];

test('a tenant that is alone may have all connections', () => {
  const { schedule } = lane(ALL_OF_A);
  schedule.seen('a', NOW);
  schedule.seen('a', NOW);
  schedule.seen(undefined, NOW);
  assert.equal(schedule.pick(queryOf('q'), 'a', NOW)?.name, '2');
});

test('one of several has at most half of them, for five seconds after another was seen', () => {
  const { schedule } = lane(ALL_OF_A);
  schedule.seen('a', NOW);
  schedule.seen('b', NOW);
  assert.equal(schedule.pick(queryOf('q'), 'a', NOW)?.name, '0');
  assert.equal(schedule.pick(queryOf('q'), 'b', NOW)?.name, '2');
  assert.equal(schedule.pick(queryOf('q'), undefined, NOW)?.name, '2');
});

test('it waits when its own have no room', () => {
  const { schedule } = lane([{ work: 10 }, { work: 10 }, {}, {}]);
  schedule.seen('b', NOW - 4999);
  schedule.seen('a', NOW - 4999);
  assert.equal(schedule.pick(queryOf('q'), 'a', NOW), undefined);
  assert.equal(schedule.pick(queryOf('q'), 'a', NOW + 2)?.name, '2');
});

/** Statements that came `waited` ms ago, in the order in which they stand in the line. */
function lineOf(waiting: readonly { readonly name?: string; readonly tenant?: string; readonly waited?: number }[]) {
  const line = makeWaitingLine(1000, () => undefined);
  for (const { name, tenant, waited = 0 } of waiting) {
    line.push({
      query: name === undefined ? { text: 'select', values: [] } : queryOf(name),
      work: { tenant },
      cost: undefined,
      deadline: Number.POSITIVE_INFINITY,
      since: NOW - waited,
      resolve: () => assert.fail('nothing is run here'),
      reject: () => assert.fail('nothing is run here'),
    });
  }
  return line;
}

for (const [what, state, waiting, taken] of [
  ['nothing out of an empty line', {}, [], undefined],
  ['the first, when the connection is free', {}, [{ name: 'p' }, { name: 'q' }], 'p'],
  [
    'the first that is prepared there, when it is not',
    { work: 1, prepared: ['q'] },
    [{ name: 'p' }, { name: 'q' }, { name: 'q' }],
    'q',
  ],
  ['nothing that would have to be prepared there first', { work: 1 }, [{ name: 'p' }], undefined],
  ['that, too, when it has waited for more than 5 ms', { work: 1 }, [{ name: 'p', waited: 5.1 }], 'p'],
  ['what has no name', { work: 1 }, [{ name: 'p' }, {}], 'unnamed'],
] as const satisfies readonly (readonly [string, State, readonly { name?: string; waited?: number }[], unknown])[]) {
  test(`a connection with room takes ${what}`, () => {
    const { schedule, all } = lane([state]);
    const line = lineOf(waiting);
    const next = schedule.nextFor(all[0] as Connection, line, NOW);
    assert.equal(next && (next.query.name ?? 'unnamed'), taken);
    assert.equal(line.length, waiting.length - (next === undefined ? 0 : 1));
  });
}

test('it looks at 32 of those that wait, and at all when some may not go there', () => {
  const { schedule, all } = lane([
    { work: 1, tenants: ['b'], prepared: ['q'] },
    { work: 1, tenants: ['a'] },
  ]);
  const [first] = all as [Connection];
  const others = Array.from({ length: 32 }, () => ({ name: 'p', tenant: 'a' }));
  const line = lineOf([...others, { name: 'q', tenant: 'b' }]);
  assert.equal(schedule.nextFor(first, line, NOW), undefined);
  schedule.seen('a', NOW);
  schedule.seen('b', NOW);
  assert.equal(schedule.nextFor(first, line, NOW)?.query.name, 'q');
});

test('a tenant that has its half of the connections is passed over, but where it is already', () => {
  const { schedule, all } = lane([{ work: 1, tenants: ['a'] }, {}]);
  const [first, second] = all as [Connection, Connection];
  schedule.seen('a', NOW);
  schedule.seen('b', NOW);
  const line = lineOf([
    { tenant: 'a', waited: 50 },
    { tenant: 'b', waited: 40 },
    { tenant: 'a', waited: 30 },
  ]);
  assert.equal(schedule.nextFor(second, line, NOW)?.since, NOW - 40);
  assert.equal(schedule.nextFor(second, line, NOW), undefined);
  assert.equal(schedule.nextFor(first, line, NOW)?.since, NOW - 50);
  assert.equal(schedule.nextFor(second, line, NOW + 5000)?.since, NOW - 30);
});
