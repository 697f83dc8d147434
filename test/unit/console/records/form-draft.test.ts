import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Digits, parseExact } from '../../../../console/src/api/json.ts';
import type { ColumnType, RecordColumn } from '../../../../console/src/records/fields.ts';
import { convertDraftTimeZone, parseDraft } from '../../../../console/src/records/form-draft.ts';
import type { RecordValue } from '../../../../console/src/records/value.ts';

// The zone of the process is that of the browser in these tests.
process.env.TZ = 'Asia/Tokyo';

const column = (name: string, type: ColumnType): RecordColumn => ({ name, type, isReadOnly: false, isRequired: false });
const COLUMNS = [
  column('n', 'bigint'),
  column('d', 'decimal'),
  column('at', 'datetime'),
  column('note', 'string'),
  column('j', 'json'),
  column('constructor', 'string'),
];
const RECORD = parseExact(
  '{"n":9223372036854775807,"d":0.10,"at":"2026-01-05T09:30:00.123456Z","note":"","j":{"a":1.10}}',
) as RecordValue;

const changed = (draft: [string, string | null][], record: RecordValue | undefined) => [
  ...parseDraft(COLUMNS, new Map(draft), record, 'UTC').changes,
];

test('only what differs is sent, with its digits', () => {
  assert.deepEqual(changed([], RECORD), []);
  const same: [string, string][] = [
    ['n', '9223372036854775807'],
    ['note', ''],
  ];
  assert.deepEqual(changed(same, RECORD), []);
  assert.deepEqual(changed([['n', '9007199254740993']], RECORD), [['n', new Digits('9007199254740993')]]);
  assert.deepEqual(changed([['d', '0.1']], RECORD), [['d', new Digits('0.1')]]);
});

test('NULL and the empty text are different, and a new record sends what was touched', () => {
  assert.deepEqual(changed([['note', null]], RECORD), [['note', null]]);
  assert.deepEqual(changed([['note', '']], undefined), [['note', '']]);
  assert.deepEqual(changed([['n', null]], undefined), [['n', null]]);
  assert.deepEqual(changed([['constructor', 'x']], RECORD), [['constructor', 'x']]);
});

test('a moment that was not retyped keeps its fractions', () => {
  assert.deepEqual(changed([['at', '2026-01-05 09:30:00.123456']], RECORD), []);
});

test('what is no JSON is not sent', () => {
  const { changes, mistakes } = parseDraft(COLUMNS, new Map([['j', '{']]), RECORD, 'UTC');
  assert.equal(changes.size, 0);
  assert.deepEqual([...mistakes.keys()], ['j']);
});

test('what was typed is the same moment in another zone', () => {
  const draft = new Map([
    ['at', '2026-01-05 09:30:00'],
    ['note', '2026-01-05 09:30:00'],
    ['j', null],
  ]);
  const local = convertDraftTimeZone(COLUMNS, draft, 'UTC', 'local');
  assert.equal(local.get('at'), '2026-01-05 18:30:00');
  assert.deepEqual(convertDraftTimeZone(COLUMNS, local, 'local', 'UTC'), draft);
  const of = (texts: typeof draft | typeof local, zone: 'UTC' | 'local') =>
    parseDraft(COLUMNS, texts, undefined, zone).changes;
  assert.deepEqual(of(local, 'local'), of(draft, 'UTC'));
  const half = new Map([['at', '2026-01']]);
  assert.deepEqual(convertDraftTimeZone(COLUMNS, half, 'UTC', 'local'), half);
});
