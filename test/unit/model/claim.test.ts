// Claims that a token must carry, compared with those that it has.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findLackingClaims } from '../../../src/model/claim.ts';
import { parseExact } from '../../../src/model/exact-json.ts';

const cases: readonly (readonly [claims: string, required: string, lacking: readonly string[]])[] = [
  ['{}', '{}', []],
  ['{"org":"acme"}', '{"org":"acme"}', []],
  ['{"org":"Acme"}', '{"org":"acme"}', ['org']],
  ['{}', '{"org":"acme","plan":1}', ['org', 'plan']],
  ['{"org":["other","acme"]}', '{"org":"acme"}', []],
  ['{"org":["other"]}', '{"org":"acme"}', ['org']],
  ['{"org":[]}', '{"org":"acme"}', ['org']],
  ['{"org":[["acme"]]}', '{"org":"acme"}', ['org']],
  ['{"org":["a","b"]}', '{"org":["a","b"]}', []],
  ['{"org":["b","a"]}', '{"org":["a","b"]}', ['org']],
  ['{"org":"a"}', '{"org":["a"]}', ['org']],
  ['{"org":{"id":"acme"}}', '{"org.id":"acme"}', []],
  ['{"org.id":"other","org":{"id":"acme"}}', '{"org.id":"acme"}', ['org.id']],
  ['{"org":7}', '{"org":"7"}', ['org']],
  ['{"org":"7"}', '{"org":7}', ['org']],
  ['{"org":7.0}', '{"org":7}', []],
  ['{"org":70e-1}', '{"org":7}', []],
  ['{"org":9007199254740993}', '{"org":9007199254740992}', ['org']],
  ['{"org":1e999999}', '{"org":1e999999}', []],
  ['{"org":1e999999}', '{"org":1e999998}', ['org']],
  ['{"org":null}', '{"org":null}', []],
  ['{}', '{"org":null}', ['org']],
  ['{"org":{"a":1,"b":[{"c":true}]}}', '{"org":{"b":[{"c":true}],"a":1}}', []],
  ['{"org":{"a":1,"b":2}}', '{"org":{"a":1}}', ['org']],
  ['{"org":{"0":1}}', '{"org":[1]}', ['org']],
  ['{}', '{"constructor":"acme"}', ['constructor']],
  ['{"a":{}}', '{"a.constructor.name":"Object"}', ['a.constructor.name']],
  ['{}', '{"__proto__":{}}', ['__proto__']],
  ['{"__proto__":{"a":1}}', '{"__proto__":{"a":1}}', []],
  ['{"org":{"__proto__":{"a":1}}}', '{"org":{}}', ['org']],
];
for (const [claims, required, lacking] of cases) {
  test(`${claims} lacks ${lacking.join(', ') || 'nothing'} of ${required}`, () =>
    assert.deepEqual(
      findLackingClaims(
        parseExact(claims) as Readonly<Record<string, unknown>>,
        parseExact(required) as Readonly<Record<string, unknown>>,
      ),
      lacking,
    ));
}
