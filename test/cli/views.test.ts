import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Migration, MigrationStep } from '../../admin-types/admin-api.d.ts';
import { describeMigration, describePlan, makeStepTracker } from '../../src/cli/commands/migration.ts';
import { describeFailure, failureDocument, serverFailure, usageFailure } from '../../src/cli/failure.ts';
import { printable, renderPairs, renderTable } from '../../src/cli/table.ts';

const step = (more: Partial<MigrationStep>): MigrationStep => ({
  entity: 'orders',
  kind: 'addField',
  description: 'add field note',
  destructive: false,
  blocksReads: false,
  blocksWrites: false,
  estimatedSeconds: 0.01,
  conflicts: null,
  state: 'pending',
  progress: 0,
  records: null,
  ...more,
});

test('a table has its columns side by side and a dash for what is missing', () => {
  assert.equal(
    renderTable(
      ['ID', 'NAME'],
      [
        [7, 'x'],
        [1234, null],
        [5, ''],
      ],
      ['ID'],
    ),
    ['  ID  NAME', '   7  x', '1234  -', '   5  -'].join('\n'),
  );
  assert.equal(
    renderPairs([
      ['A', 1],
      ['Long', 'b'],
    ]),
    'A     1\nLong  b',
  );
});

test('nothing that a server or a file says can act on the terminal', () => {
  assert.equal(printable('a\u001b[31mb\rc\u202ed'), 'a\\u001b[31mb\\u000dc\\u202ed');
  assert.equal(printable('héé 日本 🎵'), 'héé 日本 🎵');
  assert.ok(!renderTable(['X'], [['\u001b]0;evil\u0007']]).includes('\u001b'));
  const failure = serverFailure(
    400,
    { code: 'BAD_REQUEST', message: 'bad \u001b[2J', details: [{ row: 1, field: 'a\u001b', message: '\u0007' }] },
    null,
  );
  assert.ok(!/[\u001b\u0007]/.test(describeFailure(failure)));
});

test('a refusal shows its message and each detail on its own line', () => {
  const failure = serverFailure(
    400,
    {
      code: 'VALIDATION_FAILED',
      message: 'Validation failed',
      details: [
        { field: 'entities.a.fields.b.type', code: 'INVALID', message: 'no such type', line: 4 },
        { field: null, code: 'INVALID', message: 'no entities' },
      ],
    },
    'r-1',
  );
  assert.equal(
    describeFailure(failure),
    [
      'Error: Validation failed (400 VALIDATION_FAILED)',
      '  line 4, entities.a.fields.b.type: INVALID no such type',
      '  INVALID no entities',
    ].join('\n'),
  );
});

test('refused rows are a table', () => {
  const failure = serverFailure(
    400,
    {
      code: 'VALIDATION_FAILED',
      message: 'Validation failed',
      details: [
        {
          row: 5,
          line: 6,
          field: 'total',
          code: 'TYPE_MISMATCH',
          message: 'must be a number',
          value: '1,5'.repeat(20),
        },
        { row: 12, field: 'email', code: 'REQUIRED', message: 'is required' },
      ],
    },
    null,
  );
  assert.equal(
    describeFailure(failure),
    [
      'Error: Validation failed (400 VALIDATION_FAILED)',
      '',
      'ROW  LINE  FIELD  CODE           VALUE                                      REASON',
      `  5     6  total  TYPE_MISMATCH  ${'1,5'.repeat(20).slice(0, 40)}…  must be a number`,
      ' 12     -  email  REQUIRED       -                                          is required',
      '',
    ].join('\n'),
  );
});

test('a failure of the server names the request, and scripts get the error as it came', () => {
  const failure = serverFailure(500, { code: 'INTERNAL_ERROR', message: 'Something went wrong' }, 'req-9');
  assert.match(describeFailure(failure), /Request id: req-9$/);
  assert.deepEqual(failureDocument(failure), {
    error: { code: 'INTERNAL_ERROR', message: 'Something went wrong' },
    status: 500,
    requestId: 'req-9',
  });
  assert.deepEqual(failureDocument(usageFailure('no', ['hint'])), { error: { code: 'USAGE', message: 'no' } });
});

test('a plan is a table of steps with what stands in the way', () => {
  const text = describePlan({
    basedOn: 'tag',
    destructive: true,
    steps: [
      step({}),
      step({
        kind: 'dropField',
        description: 'drop field old',
        destructive: true,
        blocksWrites: true,
        estimatedSeconds: 12.4,
        conflicts: { count: 1200, sampleIds: [1, 7] },
      }),
      step({ description: 'require note', conflicts: { count: 1, sampleIds: [9] } }),
    ],
  });
  assert.equal(
    text,
    [
      '#  STEP            DESTROYS DATA  BLOCKS  TIME   IN THE WAY',
      '1  add field note  -              -       < 1 s  -',
      '2  drop field old  yes            writes  12 s   1,200 records',
      '3  require note    -              -       < 1 s  1 record',
      '',
      'Step 2: 1,200 records stand in the way, such as id 1, 7',
      'Step 3: 1 record stands in the way, such as id 9',
      'With these records the migration would fail and change nothing.',
      'Requests that a step blocks get 503 with Retry-After until the migration has ended.',
      'Data would be lost: schema apply needs --allow-destructive for this.',
    ].join('\n'),
  );
  assert.match(describePlan({ steps: [], destructive: false, basedOn: 'tag' }), /^Nothing to change/);
});

const running = (steps: readonly MigrationStep[], more: Partial<Migration> = {}): Migration => ({
  id: 3,
  state: 'running',
  strategy: 'online',
  error: null,
  steps,
  waitingFor: null,
  createdAt: '2026-01-01T00:00:00Z',
  createdBy: null,
  startedAt: null,
  finishedAt: null,
  ...more,
});
const filling = (done: number): MigrationStep =>
  step({ state: 'running', progress: done / 10_000, description: 'change the type', records: { done, total: 10_000 } });

test('a step that fills records has its speed and its time left from what was seen of it', () => {
  const watch = makeStepTracker();
  const label = 'Step 1 of 1: change the type';
  assert.deepEqual(watch(running([filling(1000)]), 0), {
    label,
    elapsedMs: 0,
    fraction: 0.1,
    rate: 0,
    remainingMs: null,
  });
  assert.deepEqual(watch(running([filling(3000)]), 4000), {
    label,
    elapsedMs: 4000,
    fraction: 0.3,
    rate: 500,
    remainingMs: 14_000,
  });
});

test('a step without records has its time left from its share, and each step is timed on its own', () => {
  const watch = makeStepTracker();
  watch(running([filling(1000)]), 0);
  const done = { ...filling(10_000), progress: 0.99 };
  const building = (progress: number): MigrationStep =>
    step({ state: 'running', progress, description: 'add an index' });
  const label = 'Step 2 of 2: add an index';
  const begun = watch(running([done, building(0.2)]), 1000);
  assert.deepEqual(begun, { label, elapsedMs: 0, fraction: 0.2, rate: null, remainingMs: null });
  const { remainingMs: leftMs, ...later } = watch(running([done, building(0.4)]), 3000);
  assert.deepEqual(later, { label, elapsedMs: 2000, fraction: 0.4, rate: null });
  assert.equal(Math.round(leftMs ?? 0), 6000);
});

test('between its steps a migration says what it does', () => {
  const label = (migration: Migration): string => makeStepTracker()(migration, 0).label;
  const waiting = [step({ state: 'pending', progress: 0 })];
  assert.equal(label(running(waiting, { state: 'pending' })), 'Migration 3: looking for records in the way');
  assert.equal(label(running(waiting)), 'Migration 3: putting it in force');
  assert.equal(label(running(waiting, { strategy: 'blocking' })), 'Migration 3: all steps at once');
  const slow = step({ state: 'pending', progress: 0, estimatedSeconds: 7 });
  const watch = makeStepTracker();
  watch(running([slow], { strategy: 'blocking' }), 0);
  assert.equal(watch(running([slow], { strategy: 'blocking' }), 3000).remainingMs, 4000);
  const full = { ...filling(10_000), progress: 0.99 };
  assert.equal(label(running([full])), 'Step 1 of 1: change the type');
});

test('a failed migration shows why and which records', () => {
  const migration = running([], {
    state: 'failed',
    error: {
      code: 'DATA_CONFLICT',
      message: 'Values are not unique',
      entity: 'orders',
      field: 'code',
      count: 2,
      sampleIds: [4, 9],
    },
  });
  const text = describeMigration(migration);
  assert.match(text, /^State {6}failed$/m);
  assert.match(text, /DATA_CONFLICT: Values are not unique\n {2}2 records of orders\.code, such as id 4, 9$/);
});

test('a step that was cancelled before it started has no progress', () => {
  const step: Omit<MigrationStep, 'state' | 'progress'> = {
    entity: 'orders',
    kind: 'addField',
    description: 'add field code',
    destructive: false,
    blocksReads: false,
    blocksWrites: false,
    estimatedSeconds: 0,
    conflicts: null,
    records: null,
  };
  const steps: readonly MigrationStep[] = [
    { ...step, state: 'cancelled', progress: 0.5 },
    { ...step, state: 'cancelled', progress: 0 },
  ];
  const text = describeMigration(running(steps, { state: 'cancelled' }));
  assert.match(text, /cancelled +50 % +add field code\n/);
  assert.match(text, /cancelled +- +add field code$/);
});
