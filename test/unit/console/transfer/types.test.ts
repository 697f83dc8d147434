import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deriveName, guessField } from '../../../../console/src/transfer/types.ts';

test('the type is the narrowest that all values have', () => {
  const cases: [string[], string][] = [
    [['1', '', '-20'], 'bigint'],
    [['1', '2.50'], 'decimal'],
    [['007', '1'], 'string'],
    [['true', 'FALSE'], 'boolean'],
    [['2026-01-05'], 'date'],
    [['2026-01-05T09:30:00Z', '2026-01-05 09:30'], 'datetime'],
    [['3f2504e0-4f89-11d3-9a0c-0305e82c3301'], 'uuid'],
    [['', ''], 'string'],
    [['x'.repeat(200)], 'text'],
    [['12345678901234567890'], 'string'],
  ];
  for (const [values, type] of cases) assert.equal(guessField('a', values).type, type, values.join());
  assert.deepEqual(guessField('a', ['2.50', '1.125']), { name: 'a', type: 'decimal', precision: 21, scale: 3 });
});

test('names are those of the API, told apart', () => {
  const cases: [string, string][] = [
    ['First name', 'firstName'],
    ['2026', 'field2026'],
    ['Größe', 'grosse'],
    ['Über', 'uber'],
    ['', 'field'],
    ['名前', 'field'],
  ];
  for (const [header, name] of cases) assert.equal(deriveName(header, new Set()), name, header);
  assert.equal(deriveName('a', new Set(['a', 'a2'])), 'a3');
});
