import assert from 'node:assert/strict';
import { test } from 'node:test';
import { guessMapping, NO_FORMATS, printFormats, printMapParameter } from '../../../../console/src/transfer/mapping.ts';

test('headers find the fields that are written alike, each field once', () => {
  const mapping = guessMapping(
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

test('words of a header are taken for a field, if no other header has them', () => {
  const headers = ['E-Mail Address', 'Full Name', 'Unpaid', 'Order Id', 'First city', 'Last city'];
  assert.deepEqual(
    [...guessMapping(headers, ['id', 'name', 'email', 'paid', 'city']).values()],
    ['email', 'name', null, null, null, null],
  );
});

test('the parameter names what has another name, and what is left out', () => {
  assert.equal(printMapParameter(new Map([['name', 'name']])), undefined);
  assert.equal(
    printMapParameter(
      new Map([
        ['name', 'name'],
        ['E, mail', 'email'],
        ['x', null],
      ]),
    ),
    'E\\, mail:email,x:',
  );
});

test('a look-up is found by its words, and named also where the header has its name', () => {
  const fields = ['customerId', 'total', 'customer.email'];
  assert.deepEqual([...guessMapping(['Customer E-Mail', 'total'], fields).values()], ['customer.email', 'total']);
  assert.equal(printMapParameter(new Map([['customer.email', 'customer.email']])), 'customer.email:customer.email');
});

test('forms that are given are one parameter', () => {
  assert.equal(printFormats(NO_FORMATS), undefined);
  assert.equal(
    printFormats({ date: 'dd.MM.yyyy', decimal: '', boolean: ' ja/nein ' }),
    'date:dd.MM.yyyy;boolean:ja/nein',
  );
});
