// Tokens are taken apart strictly: what is no JWT in the letter of its specification is none.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readJwt } from '../../../src/auth/jwt.ts';
import { forge } from '../../support/issuer.ts';

const HEADER = { alg: 'RS256', kid: 'k' };
const deep = (levels: number): string => `{"a":${'['.repeat(levels)}${']'.repeat(levels)}}`;
const bytes = (text: string): string => Buffer.from(text, 'latin1').toString('base64url');

const none: readonly (readonly [why: string, token: string])[] = [
  ['opaque', 'Nbma96AnG63dbgCjoYtOPtTBjp8qnkByovD2RjlXVvg'],
  ['two parts', 'e30.e30'],
  ['four parts', `${forge(HEADER, {})}.x`],
  ['five parts, an encrypted one', 'e30.e30.e30.e30.e30'],
  ['an empty header', '.e30.'],
  ['an empty payload', 'e30..'],
  ['padding', forge(HEADER, { sub: 'a' }).replace('.', '=.')],
  ['the other base64', `e30+.${bytes('{}')}.`],
  ['a part whose length no base64 has', `${bytes('{"alg":"none"}')}.e30xx.`],
  ['a header that is no JSON', forge('x', {})],
  ['a header that is an array', forge('[]', {})],
  ['a header without alg', forge({ kid: 'k' }, {})],
  ['an alg that is no string', forge({ alg: ['RS256'] }, {})],
  ['a kid that is no string', forge({ alg: 'RS256', kid: 1 }, {})],
  ['a payload that is no JSON', forge(HEADER, 'hello')],
  ['a payload that is a string', forge(HEADER, '"hello"')],
  ['a payload that is null', forge(HEADER, 'null')],
  ['a payload with something behind it', forge(HEADER, '{}{}')],
  ['a payload that is not UTF-8', `${bytes('{"alg":"RS256"}')}.${bytes('{"sub":"\xe4"}')}.`],
  ['a byte order mark', forge(HEADER, '\ufeff{}')],
  ['a claim twice', forge(HEADER, '{"sub":"a","iss":"b","sub":"c"}')],
  ['a claim twice, once in escapes', forge(HEADER, '{"sub":"a","\\u0073ub":"c"}')],
  ['a claim twice, further down', forge(HEADER, '{"a":[{"b":{"c":1,"c":2}}]}')],
  ['a header member twice', forge('{"alg":"RS256","alg":"none"}', {})],
  ['nesting without end', forge(HEADER, deep(64))],
];
for (const [why, token] of none) {
  test(`${why} is no JWT`, () => assert.equal(readJwt(token), undefined));
}

test('a JWT gives its header and its claims', () => {
  const jwt = readJwt(forge({ ...HEADER, typ: 'at+jwt' }, { sub: 'ä', list: [{ a: 1 }, { a: 2 }] }));
  assert.deepEqual(jwt, {
    header: { alg: 'RS256', kid: 'k', critical: false },
    claims: { sub: 'ä', list: [{ a: 1 }, { a: 2 }] },
  });
});

test('the same name in different objects, and as a value, is no repetition', () => {
  assert.notEqual(readJwt(forge(HEADER, '{"a":{"b":1},"c":{"b":2},"d":"a","e":["a","a","x\\":1"]}')), undefined);
  assert.notEqual(readJwt(forge(HEADER, deep(60))), undefined);
});

test('extensions that must be understood are told', () => {
  assert.equal(readJwt(forge({ ...HEADER, crit: ['exp'] }, {}))?.header.critical, true);
  assert.equal(readJwt(forge({ ...HEADER, crit: [] }, {}))?.header.critical, true);
});

test('numbers of claims keep their digits', () => {
  assert.equal(JSON.stringify(readJwt(forge(HEADER, '{"id":9007199254740993}'))?.claims), '{"id":9007199254740993}');
});
