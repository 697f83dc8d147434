// Files whose rows find the records that are there by unique fields instead of ids.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CSV, imported, NDJSON, refusal, useTransfers } from '../../support/transfer.ts';

const { workspace, freshWorkspace, load } = useTransfers();
const BY_EMAIL = '?onConflict=update&conflictOn=email';

describe('records found by unique fields', () => {
  freshWorkspace();

  const people = async (filter: string) => (await workspace().call(`people?filter=${filter}&sort=id`)).json.data;

  test('are updated, and the others created', async () => {
    await workspace().create('people', [{ name: 'One', email: 'one@m', note: 'kept', age: 5 }]);
    const file = 'name,email,age\nUno,one@m,6\nTwo,two@m,7\nNull,,8\nNull,,9\n';
    assert.deepEqual(await imported(load('people', file, BY_EMAIL)), { inserted: 3, updated: 1, skipped: 0 });
    const [one] = await people('email,eq,one@m');
    assert.deepEqual([one.name, one.note, one.age], ['Uno', 'kept', 6]);
    assert.equal((await people('name,eq,Null')).length, 2);
    assert.deepEqual(await imported(load('people', file, BY_EMAIL)), { inserted: 2, updated: 2, skipped: 0 });
    const lines = '{"email":"one@m","note":null}\n{"email":"three@m","name":"Three"}\n';
    assert.deepEqual(await imported(load('people', lines, BY_EMAIL, NDJSON)), { inserted: 1, updated: 1, skipped: 0 });
    assert.deepEqual([(await people('email,eq,one@m'))[0].note, (await people('email,eq,one@m'))[0].age], [null, 6]);
  });

  test('are passed over with skip', async () => {
    await workspace().create('people', [{ name: 'Old', email: 'old@s' }]);
    const file = 'name,email\nNew,old@s\nNew,new@s\n';
    const counts = await imported(load('people', file, '?onConflict=skip&conflictOn=email', CSV));
    assert.deepEqual(counts, { inserted: 1, updated: 0, skipped: 1 });
    assert.equal((await people('email,eq,old@s'))[0].name, 'Old');
  });

  test('by several fields, of which one may be null', async () => {
    await workspace().create('stays', [{ room: 1, day: '2026-01-01' }]);
    const file = 'room,day\n1,2026-01-01\n1,2026-01-02\n1,\n1,\n';
    const counts = await imported(load('stays', file, '?onConflict=update&conflictOn=day,room'));
    assert.deepEqual(counts, { inserted: 3, updated: 1, skipped: 0 });
  });

  test('mistakes have their rows', async () => {
    await workspace().create('people', [{ name: 'There', email: 'there@e' }]);
    assert.deepEqual(refusal(await load('people', 'email,age\nthere@e,1\nnobody@e,2\n', BY_EMAIL)), [
      400,
      'VALIDATION_FAILED',
      '2 name REQUIRED',
    ]);
    assert.deepEqual(refusal(await load('people', 'name,email\na,there@e\nb,x@e\nc,there@e\n', BY_EMAIL)), [
      409,
      'CONFLICT',
      '3 email NOT_UNIQUE',
    ]);
    assert.deepEqual(refusal(await load('people', 'name\na\n', BY_EMAIL)), [
      400,
      'VALIDATION_FAILED',
      '0 email REQUIRED',
    ]);
    assert.deepEqual(refusal(await load('people', '{"name":"a"}\n{"id":1,"email":"x"}\n', BY_EMAIL, NDJSON)), [
      400,
      'VALIDATION_FAILED',
      '1 email REQUIRED',
      '2 id READ_ONLY',
    ]);
    assert.deepEqual(refusal(await load('people', 'id,email\n1,a\n', BY_EMAIL)), [
      400,
      'VALIDATION_FAILED',
      '0 id READ_ONLY',
    ]);
  });

  test('dryRun counts and refuses, and stores nothing', async () => {
    const file = 'name,email\nDry,dry@run\n';
    for (const query of [`${BY_EMAIL}&dryRun=true`, '?dryRun=true']) {
      const { status, json } = await load('people', file, query);
      const data = { inserted: 1, updated: 0, skipped: 0 };
      assert.deepEqual([status, json], [200, { data, meta: { dryRun: true } }]);
    }
    assert.equal((await people('email,eq,dry@run')).length, 0);
    assert.deepEqual(await imported(load('people', file, BY_EMAIL)), { inserted: 1, updated: 0, skipped: 0 });
    const taken = await load('people', file, '');
    assert.deepEqual(refusal(taken), [409, 'CONFLICT', '1 email NOT_UNIQUE']);
    assert.equal((await load('people', file, '?dryRun=true')).text, taken.text);
    assert.equal((await load('people', file, '?dryRun=1')).status, 400);
  });

  for (const [query, message] of [
    ['?conflictOn=email', 'conflictOn is for onConflict=skip or update'],
    ['?onConflict=update&conflictOn=', 'conflictOn must name fields: conflictOn=<field>[,<field>…]'],
    ['?onConflict=update&conflictOn=name', /^conflictOn must name exactly .* Possible: id; .*email/],
  ] as const)
    test(`${query} is refused`, async () => {
      const { status, json } = await load('people', 'name,email\na,b\n', query);
      assert.equal(status, 400);
      if (message instanceof RegExp) assert.match(json.error.message, message);
      else assert.equal(json.error.message, message);
    });

  test('several imports of the same records at once leave each once', async () => {
    const rows = Array.from({ length: 300 }, (_, n) => `n${n},${n}@many`).join('\n');
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => load('people', `name,email\n${rows}\n`, BY_EMAIL)),
    );
    for (const { status, text } of answers) assert.equal(status, 200, text);
    assert.equal((await workspace().call('people?size=1&filter=email,endsWith,@many')).json.meta.totalElements, 300);
  });
});
