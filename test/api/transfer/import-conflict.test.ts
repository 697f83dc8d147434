// Files with records that exist already: refused, passed over or updated.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import type { Answer } from '../../support/server.ts';
import { CSV, imported, NDJSON, refusal, useTransfers } from '../../support/transfer.ts';

const { server, workspace, freshWorkspace, load } = useTransfers();

describe('records that exist already', () => {
  freshWorkspace();
  before(async () => {
    await workspace().create('people', [
      { name: 'One', email: 'one@example.com', note: 'kept' },
      { name: 'Two', email: 'two@example.com', note: 'kept' },
    ]);
  });

  test('skip leaves them as they are and imports the others', async () => {
    const body = 'id,name,email\n1,Changed,one@example.com\n9,Nine,nine@example.com\n,Ten,ten@example.com\n';
    assert.deepEqual(await imported(load('people', body, '?onConflict=skip')), { inserted: 2, updated: 0, skipped: 1 });
    assert.equal((await workspace().call('people/1')).json.data.name, 'One');
    assert.deepEqual(await imported(load('people', 'id,name\n1,A\n9,B\n', '?onConflict=skip')), {
      inserted: 0,
      updated: 0,
      skipped: 2,
    });
  });

  test('update changes only what the file gives, and when', async () => {
    const before = (await workspace().call('people/2')).json.data;
    const body =
      'id,name,createdAt,updatedAt\n2,Zwei,2001-01-01T00:00:00Z,2001-01-01T00:00:00Z\n30,Dreissig,2001-01-01T00:00:00Z,\n';
    assert.deepEqual(await imported(load('people', body, '?onConflict=update')), {
      inserted: 1,
      updated: 1,
      skipped: 0,
    });
    const after = (await workspace().call('people/2')).json.data;
    assert.equal(after.name, 'Zwei');
    assert.equal(after.note, 'kept');
    assert.equal(after.email, 'two@example.com');
    assert.equal(after.createdAt, before.createdAt);
    assert.ok(after.updatedAt > before.updatedAt);
    assert.equal((await workspace().call('people/30')).json.data.createdAt, '2001-01-01T00:00:00Z');
  });

  test('update takes files without required columns, for records that exist', async () => {
    assert.deepEqual(await imported(load('people', 'id,note\n1,new\n', '?onConflict=update')), {
      inserted: 0,
      updated: 1,
      skipped: 0,
    });
    assert.deepEqual(refusal(await load('people', 'id,note\n1,x\n777,x\n,x\n', '?onConflict=update')), [
      400,
      'VALIDATION_FAILED',
      '2 name REQUIRED',
      '3 name REQUIRED',
    ]);
    assert.deepEqual(refusal(await load('people', 'note\nx\n', '?onConflict=update')), [
      400,
      'VALIDATION_FAILED',
      '0 name REQUIRED',
    ]);
  });

  test('each line of JSON updates what it gives', async () => {
    const body =
      '{"id":1,"note":null}\n{"id":2,"mood":"bad"}\n{"name":"New","email":"new@example.com"}\n{"id":1000,"name":"Given"}';
    assert.deepEqual(await imported(load('people', body, '?onConflict=update', NDJSON)), {
      inserted: 2,
      updated: 2,
      skipped: 0,
    });
    const one = (await workspace().call('people/1')).json.data;
    const two = (await workspace().call('people/2')).json.data;
    assert.deepEqual([one.note, one.mood, one.email], [null, 'good', 'one@example.com']);
    assert.deepEqual([two.note, two.mood], ['kept', 'bad']);
    assert.equal((await workspace().call('people/1000')).json.data.mood, 'good');
    assert.deepEqual(refusal(await load('people', '{"id":4711,"note":"x"}', '?onConflict=update', NDJSON)), [
      400,
      'VALIDATION_FAILED',
      '1 name REQUIRED',
    ]);
  });

  test('a unique value of another record is refused, its own is not', async () => {
    assert.deepEqual(
      refusal(await load('people', 'id,email\n1,two@example.com\n2,two@example.com\n', '?onConflict=update')),
      [409, 'CONFLICT', '1 email NOT_UNIQUE', '2 email NOT_UNIQUE'],
    );
    assert.deepEqual(await imported(load('people', 'id,email\n1,one@example.com\n', '?onConflict=update')), {
      inserted: 0,
      updated: 1,
      skipped: 0,
    });
  });

  test('an id that stands twice is refused in every mode', async () => {
    for (const mode of ['fail', 'skip', 'update']) {
      const [status, code, ...details] = refusal(
        await load('people', 'id,name\n800,A\n800,B\n', `?onConflict=${mode}`),
      ) as string[];
      assert.deepEqual([status, code, details], [409, 'CONFLICT', ['2 id NOT_UNIQUE']]);
    }
  });

  test('unique fields may have any name', async () => {
    const names = ['first', 'row', 'other', 's', 'r', 'd', 'inserted'];
    const fields = Object.fromEntries(names.map((name) => [name, { type: 'string', unique: true }]));
    const odd = await server.workspace('acme/odd-names', { entities: { odd: { fields } } });
    const send = (body: string, query = ''): Promise<Answer> =>
      odd.call(`odd/_import${query}`, { method: 'POST', headers: { 'content-type': CSV }, body });
    const header = `id,${names.join()}`;
    assert.deepEqual(await imported(send(`${header}\n1,a,a,a,a,a,a,a\n`)), { inserted: 1, updated: 0, skipped: 0 });
    assert.deepEqual(refusal(await send(`${header}\n2,b,b,b,b,b,b,b\n3,b,c,c,c,c,c,a\n`)), [
      409,
      'CONFLICT',
      '2 first NOT_UNIQUE',
      '2 inserted NOT_UNIQUE',
    ]);
    assert.deepEqual(await imported(send(`${header}\n1,z,z,z,z,z,z,z\n2,y,y,y,y,y,y,y\n`, '?onConflict=update')), {
      inserted: 1,
      updated: 1,
      skipped: 0,
    });
  });

  test('a file of ids alone says how many are there', async () => {
    assert.deepEqual(await imported(load('marks', 'id\n1\n', '?onConflict=update')), {
      inserted: 1,
      updated: 0,
      skipped: 0,
    });
    assert.deepEqual(await imported(load('marks', 'id\n1\n2\n', '?onConflict=update')), {
      inserted: 1,
      updated: 1,
      skipped: 0,
    });
  });
});
