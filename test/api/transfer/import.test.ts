// Files that come in: CSV and lines of JSON become records.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Answer } from '../../support/server.ts';
import { CSV, imported, NDJSON, refusal, useTransfers } from '../../support/transfer.ts';

const { workspace, freshWorkspace, load, recordsOf } = useTransfers();

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

  test('map renames members and leaves members out', async () => {
    const query = '?map=Name:name,Junk:';
    assert.deepEqual(await imported(load('teams', '{"Name":"A","Junk":1}\n{"Name":"B"}', query, NDJSON)), {
      inserted: 2,
      updated: 0,
      skipped: 0,
    });
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

  test('two members of a line for one field are a mistake', async () => {
    const answer = await load('teams', '{"Name":"A","name":"B"}', '?map=Name:name', NDJSON);
    assert.deepEqual(refusal(answer), [400, 'VALIDATION_FAILED', '1 name INVALID']);
  });
});
