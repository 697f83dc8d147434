import assert from 'node:assert/strict';
import { test } from 'node:test';
import { guess, mapParameter } from '../../../../console/src/transfer/mapping.ts';

test('headers find the fields that are written alike, each field once', () => {
  const mapping = guess(
    ['Customer', 'E-Mail', 'e_mail', 'total', 'constructor', 'Größe'],
    ['id', 'customerId', 'email', 'total', 'große'],
  );
  assert.deepEqual(
    [...mapping],
    [
      ['Customer', 'customerId'],
      ['E-Mail', 'email'],
      ['e_mail', null],
      ['total', 'total'],
      ['constructor', null],
      ['Größe', 'große'],
    ],
  );
});

test('the parameter names what has another name, and what is left out', () => {
  assert.equal(mapParameter(new Map([['name', 'name']])), undefined);
  assert.equal(
    mapParameter(
      new Map([
        ['name', 'name'],
        ['E, mail', 'email'],
        ['x', null],
      ]),
    ),
    'E\\, mail:email,x:',
  );
});
