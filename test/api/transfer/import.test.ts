// Files that come in: CSV and lines of JSON become records; records that exist already are refused, passed over or updated,
// found by their ids or by unique fields.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import type { Answer } from '../../support/server.ts';
import { CSV, imported, NDJSON, refusal, useTransfers } from '../../support/transfer.ts';

const { server, workspace, freshWorkspace, load, recordsOf } = useTransfers();
const BY_EMAIL = '?onConflict=update&conflictOn=email';

describe('importing CSV', () => {
  freshWorkspace();

  test('rows become records, every type by its own text', async () => {
    const body = [
      'name,email,age,points,balance,ratio,active,born,seenAt,token,extra,mood,note',
      'Ada,ada@example.com,36,9223372036854775807,12.50,0.1,T,1815-12-10,2026-01-31T12:00:00+02:00,3F2504E0-4F89-11D3-9A0C-0305E82C3301,"{""a"": [1, 2.50]}",bad,"two\nlines, and ""quotes"""',
      'Bob,,,,,,0,,2026-01-31 12:00:00.5,,,,',
      'Cy,,,,,,FALSE,,2026-01-31T12:00:00,,,good,',
    ].join('\r\n');
    assert.deepEqual(await imported(load('people', body)), { inserted: 3, updated: 0, skipped: 0 });
    const text = (await workspace().call('people?fields=points,balance,extra&filter=name,eq,Ada')).text;
    assert.match(text, /"points":9223372036854775807,"balance":12\.50,"extra":\{"a": \[1, 2\.50\]\}/);
    const [ada, bob, cy] = await recordsOf('people', '&fields=name,age,active,born,seenAt,token,mood,note,email');
    assert.deepEqual(ada, {
      name: 'Ada',
      age: 36,
      active: true,
      born: '1815-12-10',
      seenAt: '2026-01-31T10:00:00Z',
      token: '3f2504e0-4f89-11d3-9a0c-0305e82c3301',
      mood: 'bad',
      note: 'two\nlines, and "quotes"',
      email: 'ada@example.com',
    });
    assert.equal(bob?.seenAt, '2026-01-31T12:00:00.500Z');
    assert.equal(bob?.mood, null, 'an empty cell is null, not the default');
    assert.equal(bob?.active, false);
    assert.equal(cy?.seenAt, '2026-01-31T12:00:00Z', 'a datetime without a zone is UTC');
    assert.equal(cy?.active, false);
  });

  test('columns that the file does not have take their defaults', async () => {
    await imported(load('people', 'name\nDefault\n'));
    const [record] = await recordsOf('people', '&filter=name,eq,Default');
    assert.equal(record?.active, true);
    assert.equal(record?.mood, 'good');
    assert.equal(typeof record?.createdAt, 'string');
  });

  test('a byte order mark, empty lines, lines that end in CR, and a media type with parameters are read', async () => {
    assert.deepEqual(await imported(load('teams', '\ufeffname,city\r\n\r\nA,\r\nB,x\r\n\r\n')), {
      inserted: 2,
      updated: 0,
      skipped: 0,
    });
    assert.deepEqual(
      await imported(load('teams', 'name\rOld Mac\r', '', 'text/csv; charset="UTF-8"; header=present')),
      {
        inserted: 1,
        updated: 0,
        skipped: 0,
      },
    );
    assert.deepEqual(
      (await recordsOf('teams')).map((team) => team.name),
      ['A', 'B', 'Old Mac'],
    );
  });

  test('a column alone keeps its empty rows where they are quoted', async () => {
    assert.deepEqual(await imported(load('stays', 'room\n""\n\n5\n""\n')), { inserted: 3, updated: 0, skipped: 0 });
    assert.deepEqual(
      (await recordsOf('stays')).map((stay) => stay.room),
      [null, 5, null],
    );
  });

  test('a header alone imports nothing', async () => {
    assert.deepEqual(await imported(load('teams', 'name\n')), { inserted: 0, updated: 0, skipped: 0 });
  });

  test('map renames headers and leaves columns out', async () => {
    const query = `?map=${encodeURIComponent('Team: name:name,Town\\, State:city,Junk:')}`;
    assert.deepEqual(await imported(load('teams', 'Team: name,"Town, State",Junk\nMapped,Rome,zzz\n', query)), {
      inserted: 1,
      updated: 0,
      skipped: 0,
    });
    assert.equal((await recordsOf('teams', '&filter=name,eq,Mapped'))[0]?.city, 'Rome');
  });

  test('ids may be given, and new records come after them', async () => {
    await imported(load('teams', 'id,name\n5000,Given\n4000,Other\n,Next\n'));
    const next = await workspace().create('teams', [{ name: 'After' }]);
    assert.equal((await workspace().call('teams/5000')).json.data.name, 'Given');
    assert.deepEqual(
      (await recordsOf('teams', '&filter=name,in,Next,After')).map((team) => team.id),
      [5001, next[0].id],
    );
    assert.equal(next[0].id, 5002);
  });

  test('a row may refer to a later one, and to itself', async () => {
    const body = 'id,name,bossId\n101,Worker,102\n102,Boss,103\n103,Self,103\n';
    assert.deepEqual(await imported(load('people', body)), { inserted: 3, updated: 0, skipped: 0 });
  });

  test('owners may give createdAt and updatedAt', async () => {
    await imported(load('people', 'name,createdAt,updatedAt\nOld,2001-02-03T04:05:06Z,\n'));
    const [record] = await recordsOf('people', '&filter=name,eq,Old');
    assert.equal(record?.createdAt, '2001-02-03T04:05:06Z');
    assert.notEqual(record?.updatedAt, '2001-02-03T04:05:06Z');
    assert.equal(typeof record?.updatedAt, 'string');
  });

  test('a credential for reading may not import, one for writing may', async () => {
    const send = (credential: string): Promise<Answer> =>
      workspace().call('teams/_import', {
        method: 'POST',
        credential,
        headers: { 'content-type': CSV },
        body: 'name\nX\n',
      });
    assert.equal((await send(workspace().readOnlyKey)).status, 403);
    assert.equal((await send(workspace().readWriteKey)).status, 200);
  });
});

describe('importing lines of JSON', () => {
  freshWorkspace();

  test('each line is a create body; members that a line leaves out take their defaults', async () => {
    const body = [
      '{"name":"Ada","points":9223372036854775807,"balance":"12.50","extra":{"n":1.500},"seenAt":"2026-01-31T12:00:00"}',
      '',
      '{"name":"Bob","mood":null,"active":false}\r',
      '  {"mood":"bad","name":""}  ',
    ].join('\n');
    assert.deepEqual(await imported(load('people', body, '', 'application/x-ndjson; charset=utf-8')), {
      inserted: 3,
      updated: 0,
      skipped: 0,
    });
    const text = (await workspace().call('people?fields=points,balance,extra,seenAt,mood&filter=name,eq,Ada')).text;
    assert.match(
      text,
      /"points":9223372036854775807,"balance":12\.50,"extra":\{"n": 1\.500\},"seenAt":"2026-01-31T12:00:00Z","mood":"good"/,
    );
    const [, bob, empty] = await recordsOf('people');
    assert.equal(bob?.mood, null);
    assert.equal(bob?.active, false);
    assert.equal(empty?.name, '');
    assert.equal(empty?.mood, 'bad');
    assert.equal(empty?.active, true);
  });

  test('an entity without fields takes empty objects', async () => {
    assert.deepEqual(await imported(load('marks', '{}\n{}\n{"id":77}\n', '', 'application/jsonl')), {
      inserted: 3,
      updated: 0,
      skipped: 0,
    });
    assert.deepEqual(
      (await recordsOf('marks')).map((mark) => mark.id),
      [77, 78, 79],
    );
  });

  test('an empty body imports nothing', async () => {
    assert.deepEqual(await imported(load('teams', '', '', NDJSON)), { inserted: 0, updated: 0, skipped: 0 });
  });

  test('every mistake of a line is told with its row', async () => {
    const body = [
      '{"name":"ok"}',
      '{"nam":"x"}',
      '{"name":1,"age":200,"team":3}',
      'not json',
      '[1]',
      `{"name":"deep","extra":${'['.repeat(70)}${']'.repeat(70)}}`,
      '{"name":"x","id":0}',
      '{"name":null,"id":9007199254740992}',
    ].join('\n');
    assert.deepEqual(refusal(await load('people', body, '', NDJSON)), [
      400,
      'VALIDATION_FAILED',
      '2 nam UNKNOWN_FIELD',
      '2 name REQUIRED',
      '3 name TYPE_MISMATCH',
      '3 age OUT_OF_RANGE',
      '3 team UNKNOWN_FIELD',
      '4 null INVALID',
      '5 null TYPE_MISMATCH',
      '6 null INVALID',
      '7 id OUT_OF_RANGE',
      '8 name REQUIRED',
      '8 id OUT_OF_RANGE',
    ]);
    assert.equal((await recordsOf('people', '&filter=name,eq,ok')).length, 0);
  });
});

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
      [409, 'CONFLICT', '2 email NOT_UNIQUE'],
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
    ['?onConflict=update&conflictOn=name', /^conflictOn must name exactly .* Possible: id; .*email/],
    ['?onConflict=update&conflictOn=', /^conflictOn must name exactly .* Possible: id; .*email/],
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
