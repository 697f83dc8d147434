import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  formatLocal,
  formatOffset,
  parseDateTime,
  readDay,
  replaceDay,
} from '../../../../console/src/format/datetime.ts';

/** The zone of the process is that of the browser in this test. */
function inZone(name: string, run: () => void): void {
  const before = process.env.TZ;
  process.env.TZ = name;
  try {
    run();
  } finally {
    if (before === undefined) delete process.env.TZ;
    else process.env.TZ = before;
  }
}

test('moments are shown in UTC or in the zone of the browser, with the zone', () => {
  inZone('Asia/Tokyo', () => {
    for (const [iso, utc, local] of [
      ['2026-01-05T09:30:00Z', '2026-01-05 09:30:00', '2026-01-05 18:30:00'],
      ['2026-01-05T09:30:00.123456Z', '2026-01-05 09:30:00.123456', '2026-01-05 18:30:00.123456'],
      ['2026-12-31T23:00:00.120Z', '2026-12-31 23:00:00.120', '2027-01-01 08:00:00.120'],
      ['0001-01-01T00:00:00Z', '0001-01-01 00:00:00', undefined],
    ] as const) {
      assert.equal(formatLocal(iso, 'UTC'), utc);
      if (local !== undefined) assert.equal(formatLocal(iso, 'local'), local);
    }
    assert.equal(formatOffset('2026-01-05T09:30:00Z', 'UTC'), 'UTC');
    assert.equal(formatOffset('2026-01-05T09:30:00Z', 'local'), '+09:00');
    assert.equal(formatLocal('never', 'UTC'), 'never');
  });
});

test('what is typed is a moment of the page unless it names its zone', () => {
  inZone('Asia/Tokyo', () => {
    for (const [text, zone, iso] of [
      ['2026-01-05 09:30', 'UTC', '2026-01-05T09:30:00Z'],
      ['2026-01-05 09:30', 'local', '2026-01-05T00:30:00Z'],
      ['2026-01-05', 'local', '2026-01-04T15:00:00Z'],
      ['2026-01-05T09:30:00.5Z', 'local', '2026-01-05T09:30:00.500Z'],
      ['2026-01-05 09:30:00.123456', 'local', '2026-01-05T00:30:00.123456Z'],
      ['2026-01-05 09:30:00.000', 'UTC', '2026-01-05T09:30:00Z'],
      ['2026-01-05 09:30 +02:00', 'local', '2026-01-05T07:30:00Z'],
      ['2026-01-05 09:30 UTC', 'local', '2026-01-05T09:30:00Z'],
      ['2026-02-31', 'UTC', undefined],
      ['2026-13-01', 'UTC', undefined],
      ['2026-01-05 24:30', 'UTC', undefined],
      ['2026-01-05 10:61', 'local', undefined],
      ['tomorrow', 'UTC', undefined],
      ['', 'UTC', undefined],
    ] as const)
      assert.equal(parseDateTime(text, zone), iso, text);
  });
});

test('what is shown in an editor means the same moment, in any zone', () => {
  const moment = fc.date({ min: new Date('1900-01-01'), max: new Date('2100-01-01'), noInvalidDate: true });
  for (const name of ['Asia/Tokyo', 'UTC']) {
    inZone(name, () => {
      fc.assert(
        fc.property(moment, fc.constantFrom('UTC' as const, 'local' as const), (at, zone) => {
          const iso = at.toISOString().replace('.000Z', 'Z');
          assert.equal(parseDateTime(formatLocal(iso, zone), zone), iso);
        }),
      );
    });
  }
});

test('a calendar changes the day, and no other digit', () => {
  for (const [text, type, changed] of [
    ['2026-01-05 09:30:00.123456', 'datetime', '2024-02-29 09:30:00.123456'],
    ['2026-01-05T09:30:00+02:00', 'datetime', '2024-02-29T09:30:00+02:00'],
    ['2026-01-05', 'datetime', '2024-02-29'],
    ['', 'datetime', '2024-02-29 00:00:00'],
    ['soon', 'datetime', '2024-02-29 00:00:00'],
    ['2026-01-05', 'date', '2024-02-29'],
    ['soon', 'date', '2024-02-29'],
  ] as const)
    assert.equal(replaceDay(text, '2024-02-29', type), changed, text);
  assert.deepEqual(['2026-01-05 09:30', ' 2026-01-05', '5 Jan', ''].map(readDay), ['2026-01-05', '2026-01-05', '', '']);
});
