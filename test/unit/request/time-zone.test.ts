// Names of time zones: what PostgreSQL and people understand alike.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTimeZone } from '../../../src/request/time-zone.ts';
import { refuses } from '../../support/error-response.ts';

const HINT = 'tz takes UTC or a name of the IANA database such as Europe/Berlin';

for (const zone of [
  'UTC',
  'Europe/Berlin',
  'europe/berlin',
  'America/Argentina/Buenos_Aires',
  'Asia/Calcutta',
  'America/Port-au-Prince',
  'Etc/GMT+5',
]) {
  test(`${zone} is a zone`, () => assert.equal(parseTimeZone(zone), zone));
}

for (const [text, message] of [
  ['Europe/Berln', `Unknown time zone Europe/Berln. Did you mean Europe/Berlin? ${HINT}`],
  ['utc', `Unknown time zone utc. Did you mean UTC? ${HINT}`],
  ['CEST+2', `Unknown time zone CEST+2. ${HINT}`],
  ['+02:00', `Unknown time zone +02:00. ${HINT}`],
  ['02:00', `Unknown time zone 02:00. ${HINT}`],
  ['CET', /^Unknown time zone CET\./],
  ['EST', /^Unknown time zone EST\./],
  ['', `Unknown time zone . ${HINT}`],
  ["Europe/Berlin'", /^Unknown time zone Europe\/Berlin'\. Did you mean Europe\/Berlin\?/],
  ['Europe/', /^Unknown time zone Europe\//],
  ['Moon/Base', `Unknown time zone Moon/Base. ${HINT}`],
  [`Europe/${'x'.repeat(5000)}`, /^Unknown time zone Europe\/x+…\. tz takes UTC/],
] as const) {
  test(`${text.slice(0, 50) || 'nothing'} is no zone`, () => refuses(() => parseTimeZone(text), message));
}
