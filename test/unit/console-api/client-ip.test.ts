// By what attempts to sign in are counted.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getRateLimitKey } from '../../../src/console-api/client-ip.ts';

for (const [address, counted] of [
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['2001:DB8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:db8:1:2::9', '2001:db8:1:2'],
  ['2001:db8::9', '2001:db8:0:0'],
  ['::1', '0:0:0:0'],
  ['fe80::1%eth0', 'fe80:0:0:0'],
  [undefined, ''],
] as const) {
  test(`${address} counts for ${JSON.stringify(counted)}`, () => assert.equal(getRateLimitKey(address), counted));
}
