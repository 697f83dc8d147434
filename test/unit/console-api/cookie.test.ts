// The cookie of a session: its name, its flags, and how it is found among others.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeSessionCookie } from '../../../src/console-api/cookie.ts';

test('over https the cookie is bound to its host, over http it is all but that', () => {
  assert.equal(
    makeSessionCookie('a1', true).write('x', 60),
    '__Host-wda_a1=x; Max-Age=60; Path=/; HttpOnly; SameSite=Strict; Secure',
  );
  assert.equal(makeSessionCookie('a1', false).write('', 0), 'wda_a1=; Max-Age=0; Path=/; HttpOnly; SameSite=Strict');
});

test('cookies are found by their whole name, in their order', () => {
  const { read } = makeSessionCookie('a1', false);
  for (const [header, ...values] of [
    [undefined],
    [''],
    ['wda_a1'],
    ['wda_a1=x', 'x'],
    ['wda_a12=y; wda_a1=x', 'x'],
    ['xwda_a1=y;wda_a1=x ;z=1', 'x'],
    ['__Host-wda_a1=y'],
    ['other="wda_a1=x"'],
    ['wda_a1=x; wda_a1=y', 'x', 'y'],
    ['wda_a1=a=b', 'a=b'],
  ] as const) {
    assert.deepEqual(read(header), values, String(header));
  }
});
