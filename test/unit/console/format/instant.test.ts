import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fieldOfInstant, instantOfField, instantText } from '../../../../console/src/format/instant.ts';

test('a moment is told with its zone', () => {
  assert.equal(instantText('2026-11-22T11:55:43.007Z', 'UTC'), '2026-11-22 11:55:43 UTC');
  assert.equal(instantText('2026-11-22T11:55:43+02:00', 'UTC'), '2026-11-22 09:55:43 UTC');
  assert.match(instantText('2026-11-22T11:55:43.007Z', 'local'), /^2026-11-2\d \d\d:\d\d:43 [+-]\d\d:\d\d$/);
  assert.equal(instantText('never', 'UTC'), 'never');
});

test('a local moment is the same moment', () => {
  const [day, time, offset] = instantText('2026-06-01T00:00:00Z', 'local').split(' ');
  assert.equal(new Date(`${day}T${time}${offset}`).toISOString(), '2026-06-01T00:00:00.000Z');
});

test('what a field holds comes back in either zone', () => {
  for (const zone of ['UTC', 'local'] as const)
    assert.equal(instantOfField(fieldOfInstant('2027-12-31T10:20:00Z', zone), zone), '2027-12-31T10:20:00.000Z');
  assert.equal(instantOfField('', 'UTC'), undefined);
  assert.equal(instantOfField('', 'local'), undefined);
});
