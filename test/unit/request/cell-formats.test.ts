// Forms of dates, numbers and booleans in the files of other countries.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type FormatName, parseFormats } from '../../../src/request/cell-formats.ts';
import { refusalOf } from '../../support/error-response.ts';

/** Text in the form of the API, or undefined for a cell of another form. */
const CELLS: readonly (readonly [name: FormatName, format: string, cell: string, text: string | undefined])[] = [
  ['date', 'dd.MM.yyyy', '31.01.2026', '2026-01-31'],
  ['date', 'dd.MM.yyyy', '31.1.2026', undefined],
  ['date', 'dd.MM.yyyy', '2026-01-31', undefined],
  ['date', 'dd.MM.yyyy', '31x01x2026', undefined],
  ['date', 'dd.MM.yyyy', '31.01.2026 ', undefined],
  ['date', 'd.M.yyyy', '1.2.2026', '2026-02-01'],
  ['date', 'd.M.yyyy', '01.12.2026', '2026-12-01'],
  ['date', 'MM/dd/yyyy', '01/31/2026', '2026-01-31'],
  ['date', 'yyyyMMdd', '20260131', '2026-01-31'],
  ['date', 'yyyy年M月d日'.replace(/[年月日]/g, '.'), '2026.1.3.', '2026-01-03'],
  ['decimal', '1.234,50', '1.234,50', '1234.50'],
  ['decimal', '1.234,50', '-1.234.567,5', '-1234567.5'],
  ['decimal', '1.234,50', '1234,5', '1234.5'],
  ['decimal', '1.234,50', '12', '12'],
  ['decimal', '1.234,50', '1.5', undefined],
  ['decimal', '1.234,50', '12.34,5', undefined],
  ['decimal', '1.234,50', '1234.567,5', undefined],
  ['decimal', '1.234,50', '1,5,5', undefined],
  ['decimal', '1.234,50', ',5', undefined],
  ['decimal', '1.234,50', '1,5E3', '1.5E3'],
  ['decimal', '1,234.50', '1,234.50', '1234.50'],
  ['decimal', '1234,50', '1234,50', '1234.50'],
  ['decimal', '1234,50', '1.234,50', undefined],
  ['decimal', '1 234,50', '1\u202f234\u00a0567,5', '1234567.5'],
  ['decimal', "1'234.50", "1'234.5", '1234.5'],
  ['boolean', 'ja/nein', 'Ja', 'true'],
  ['boolean', 'ja/nein', 'NEIN', 'false'],
  ['boolean', 'ja/nein', 'true', undefined],
  ['boolean', 'x/-', '-', 'false'],
];
for (const [name, format, cell, text] of CELLS) {
  test(`${name}:${format} reads ${JSON.stringify(cell)} as ${text}`, () => {
    assert.equal(parseFormats(`${name}:${format}`)[name]?.read(cell), text);
  });
}

test('several formats are given at once', () => {
  assert.deepEqual(Object.keys(parseFormats('date:dd.MM.yyyy;decimal:1.234,50;boolean:ja/nein')), [
    'date',
    'decimal',
    'boolean',
  ]);
});

for (const [text, mistake] of [
  ['', ' is none of date, decimal, boolean'],
  ['time:HH:mm', 'time is none of date, decimal, boolean'],
  ['constructor:x', 'constructor is none of date, decimal, boolean'],
  ['date:dd.MM.yyyy;date:d.M.yyyy', 'date stands twice'],
  ['date', 'date is no form of a date'],
  ['date:dd.MM', 'date:dd.MM is no form of a date'],
  ['date:dd.MM.yy', 'date:dd.MM.yy is no form of a date'],
  ['date:dd.MM.dd.yyyy', 'date:dd.MM.dd.yyyy is no form of a date'],
  [`date:dd.MM.yyyy${'.'.repeat(50)}`, `date:dd.MM.yyyy${'.'.repeat(50)} is no form of a date`],
  ['decimal:1.234.50', 'decimal:1.234.50 is no form of a decimal'],
  ['decimal:1;234,50', 'decimal:1 is no form of a decimal'],
  ['boolean:ja', 'boolean:ja is no form of a boolean'],
  ['boolean:ja/JA', 'boolean:ja/JA is no form of a boolean'],
  ['boolean:/nein', 'boolean:/nein is no form of a boolean'],
] as const) {
  test(`formats=${text} is refused`, () => {
    const { code, message } = refusalOf(() => parseFormats(text));
    assert.equal(code, 'BAD_REQUEST');
    assert.match(message, /^formats must be such as date:dd\.MM\.yyyy;decimal:1\.234,50;boolean:yes\/no: /);
    assert.ok(message.endsWith(mistake) || message.includes('…'), message);
  });
}
