// Import and export over real HTTP: what comes in, what is refused and how, and that one reads what the other wrote.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Answer, startTestServer, type TestServer, type TestWorkspace } from '../support/server.ts';

const SCHEMA = {
  entities: {
    people: {
      fields: {
        name: { type: 'string', required: true, maxLength: 200 },
        email: { type: 'string', unique: true },
        age: { type: 'integer', min: 0, max: 150 },
        points: { type: 'bigint' },
        balance: { type: 'decimal', precision: 12, scale: 2 },
        ratio: { type: 'float' },
        active: { type: 'boolean', default: true },
        born: { type: 'date' },
        seenAt: { type: 'datetime' },
        token: { type: 'uuid' },
        extra: { type: 'json' },
        mood: { type: 'enum', values: ['good', 'bad'], default: 'good' },
        note: { type: 'text' },
      },
      relations: {
        boss: { kind: 'belongsTo', entity: 'people' },
        team: { kind: 'belongsTo', entity: 'teams' },
      },
      timestamps: true,
    },
    teams: { fields: { name: { type: 'string', required: true }, city: { type: 'string' } } },
    stays: {
      fields: { room: { type: 'integer' }, day: { type: 'date' } },
      indexes: [{ fields: ['room', 'day'], unique: true }],
    },
    marks: {},
  },
};

let server: TestServer;
let workspace: TestWorkspace;

before(async () => {
  server = await startTestServer({ WDA_MAX_IMPORT_BYTES: '300000', WDA_MAX_BODY_BYTES: '20000' });
});
after(() => server.stop());

let count = 0;
/** Each group of tests has a workspace of its own. */
function freshWorkspace(): void {
  before(async () => {
    workspace = await server.workspace(`acme/transfer-${++count}`, SCHEMA);
  });
}

const CSV = 'text/csv';
const NDJSON = 'application/x-ndjson';

function load(entity: string, body: string | Uint8Array, query = '', type = CSV): Promise<Answer> {
  return workspace.call(`${entity}/_import${query}`, { method: 'POST', headers: { 'content-type': type }, body });
}

async function imported(answer: Answer | Promise<Answer>): Promise<unknown> {
  const { status, text, json } = await answer;
  assert.equal(status, 200, text);
  return json.data;
}

/** status, code and the details as `row field CODE`. */
function refusal({ status, json, text }: Answer): unknown {
  assert.ok(json?.error !== undefined, text);
  const details = (json.error.details ?? []).map(
    (detail: { row?: number; field: string | null; code: string }) => `${detail.row} ${detail.field} ${detail.code}`,
  );
  return [status, json.error.code, ...details];
}

async function records(entity: string, query = ''): Promise<Record<string, unknown>[]> {
  const { json, text } = await workspace.call(`${entity}?size=1000${query}`);
  assert.ok(Array.isArray(json?.data), text);
  return json.data;
}

async function countOf(entity: string): Promise<number> {
  return (await workspace.call(`${entity}?size=1`)).json.meta.totalElements;
}

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
    const text = (await workspace.call('people?fields=points,balance,extra&filter=name,eq,Ada')).text;
    assert.match(text, /"points":9223372036854775807,"balance":12\.50,"extra":\{"a": \[1, 2\.50\]\}/);
    const [ada, bob, cy] = await records('people', '&fields=name,age,active,born,seenAt,token,mood,note,email');
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
    const [record] = await records('people', '&filter=name,eq,Default');
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
      (await records('teams')).map((team) => team.name),
      ['A', 'B', 'Old Mac'],
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
    assert.equal((await records('teams', '&filter=name,eq,Mapped'))[0]?.city, 'Rome');
  });

  test('ids may be given, and new records come after them', async () => {
    await imported(load('teams', 'id,name\n5000,Given\n4000,Other\n,Next\n'));
    const next = await workspace.create('teams', [{ name: 'After' }]);
    assert.equal((await workspace.call('teams/5000')).json.data.name, 'Given');
    assert.deepEqual(
      (await records('teams', '&filter=name,in,Next,After')).map((team) => team.id),
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
    const [record] = await records('people', '&filter=name,eq,Old');
    assert.equal(record?.createdAt, '2001-02-03T04:05:06Z');
    assert.notEqual(record?.updatedAt, '2001-02-03T04:05:06Z');
    assert.equal(typeof record?.updatedAt, 'string');
  });

  test('a credential for reading may not import, one for writing may', async () => {
    const send = (credential: string): Promise<Answer> =>
      workspace.call('teams/_import', {
        method: 'POST',
        credential,
        headers: { 'content-type': CSV },
        body: 'name\nX\n',
      });
    assert.equal((await send(workspace.readOnlyKey)).status, 403);
    assert.equal((await send(workspace.readWriteKey)).status, 200);
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
    const text = (await workspace.call('people?fields=points,balance,extra,seenAt,mood&filter=name,eq,Ada')).text;
    assert.match(
      text,
      /"points":9223372036854775807,"balance":12\.50,"extra":\{"n": 1\.500\},"seenAt":"2026-01-31T12:00:00Z","mood":"good"/,
    );
    const [, bob, empty] = await records('people');
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
      (await records('marks')).map((mark) => mark.id),
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
    assert.equal((await records('people', '&filter=name,eq,ok')).length, 0);
  });

  test('two members of a line for one field are a mistake', async () => {
    const answer = await load('teams', '{"Name":"A","name":"B"}', '?map=Name:name', NDJSON);
    assert.deepEqual(refusal(answer), [400, 'VALIDATION_FAILED', '1 name INVALID']);
  });
});

describe('mistakes in an import', () => {
  freshWorkspace();
  before(async () => {
    await workspace.create('people', [{ name: 'There', email: 'there@example.com' }]);
  });

  const cases: readonly (readonly [string, string, string | Uint8Array, string, string, readonly unknown[]])[] = [
    ['no media type that we know', 'teams', 'name\n', '', 'application/json', [415, 'UNSUPPORTED_MEDIA_TYPE']],
    [
      'a charset that we do not read',
      'teams',
      'name\n',
      '',
      'text/csv; charset=latin1',
      [415, 'UNSUPPORTED_MEDIA_TYPE'],
    ],
    [
      'a file that has no header, it says',
      'teams',
      'A\n',
      '',
      'text/csv; header=absent',
      [415, 'UNSUPPORTED_MEDIA_TYPE'],
    ],
    ['an unknown parameter', 'teams', 'name\n', '?onConflct=skip', CSV, [400, 'BAD_REQUEST']],
    ['an unknown conflict mode', 'teams', 'name\n', '?onConflict=merge', CSV, [400, 'BAD_REQUEST']],
    ['a malformed map', 'teams', 'name\n', '?map=name', CSV, [400, 'BAD_REQUEST']],
    ['a map to a field that is not there', 'teams', 'name\n', '?map=name:nam', CSV, [400, 'BAD_REQUEST']],
    ['a map of two headers to one field', 'teams', 'a,b\n', '?map=a:name,b:name', CSV, [400, 'BAD_REQUEST']],
    ['an unknown entity', 'team', 'name\n', '', CSV, [404, 'NOT_FOUND']],
    ['an empty file', 'teams', '', '', CSV, [400, 'VALIDATION_FAILED', '0 null REQUIRED']],
    [
      'headers that do not fit, all of them',
      'teams',
      'nam,city,city,,Extra\n',
      '?map=Missing:name',
      CSV,
      [
        400,
        'VALIDATION_FAILED',
        '0 nam UNKNOWN_FIELD',
        '0 city INVALID',
        '0  INVALID',
        '0 Extra UNKNOWN_FIELD',
        '0 Missing UNKNOWN_FIELD',
        '0 name REQUIRED',
      ],
    ],
    ['no column left', 'marks', 'a\n1\n', '?map=a:', CSV, [400, 'VALIDATION_FAILED', '0 null REQUIRED']],
    [
      'cells that do not fit, all of them',
      'people',
      'name,age,born,active,seenAt,extra,mood,token\nA,x,2026-02-30,yes,today,{,ok,1\n,1.5,,,,,,\nB,151,,,,,,\n',
      '',
      CSV,
      [
        400,
        'VALIDATION_FAILED',
        '1 age TYPE_MISMATCH',
        '1 born INVALID',
        '1 active TYPE_MISMATCH',
        '1 seenAt INVALID',
        '1 extra INVALID',
        '1 mood NOT_IN_ENUM',
        '1 token INVALID',
        '2 name REQUIRED',
        '2 age TYPE_MISMATCH',
        '3 age OUT_OF_RANGE',
      ],
    ],
    ['a row with too few cells', 'teams', 'name,city\nA,B\nC\n', '', CSV, [400, 'VALIDATION_FAILED', '2 null INVALID']],
    ['a quote left open', 'teams', 'name\nA\n"B\n', '', CSV, [400, 'VALIDATION_FAILED', '2 null INVALID']],
    ['text behind a quote', 'teams', 'name\n"A"b\n', '', CSV, [400, 'VALIDATION_FAILED', '1 null INVALID']],
    ['a quote inside of a cell', 'teams', 'name\nA"b\n', '', CSV, [400, 'VALIDATION_FAILED', '1 null INVALID']],
    [
      'a row beyond the limit',
      'teams',
      `name\nA\n${'x'.repeat(21_000)}\n`,
      '',
      CSV,
      [400, 'VALIDATION_FAILED', '2 null TOO_LONG'],
    ],
    [
      'a line beyond the limit',
      'teams',
      `{"name":"A"}\n{"name":"${'x'.repeat(21_000)}"}\n`,
      '',
      NDJSON,
      [400, 'VALIDATION_FAILED', '2 null TOO_LONG'],
    ],
    [
      'bytes that are not UTF-8',
      'teams',
      Buffer.concat([Buffer.from('name\nA\nB\nC'), Buffer.from([0xff]), Buffer.from('\nD\n')]),
      '',
      CSV,
      [400, 'VALIDATION_FAILED', '3 null INVALID'],
    ],
    [
      'a character that breaks off',
      'teams',
      Buffer.from([0x7b, 0x7d, 0x0a, 0xe2, 0x82]),
      '',
      NDJSON,
      [400, 'VALIDATION_FAILED', '1 name REQUIRED', '2 null INVALID'],
    ],
    ['a NUL character', 'teams', 'name\nA\u0000b\n', '', CSV, [400, 'VALIDATION_FAILED', '1 name INVALID']],
    ['a body beyond the limit', 'teams', `name\n${'abcdefghi\n'.repeat(31_000)}`, '', CSV, [413, 'PAYLOAD_TOO_LARGE']],
    [
      'ids that stand twice or are there already',
      'people',
      'id,name\n1,A\n7,B\n8,C\n7,D\n',
      '',
      CSV,
      [409, 'CONFLICT', '1 id NOT_UNIQUE', '4 id NOT_UNIQUE'],
    ],
    [
      'unique values that stand twice or are there already',
      'people',
      'name,email\nA,a@example.com\nB,there@example.com\nC,a@example.com\nD,\nE,\n',
      '',
      CSV,
      [409, 'CONFLICT', '2 email NOT_UNIQUE', '3 email NOT_UNIQUE'],
    ],
    [
      'values that are unique together',
      'stays',
      'room,day\n1,2026-01-01\n1,2026-01-02\n1,2026-01-01\n,2026-01-01\n,2026-01-01\n',
      '',
      CSV,
      [409, 'CONFLICT', '3 room, day NOT_UNIQUE'],
    ],
    [
      'references that lead nowhere, among other mistakes',
      'people',
      'name,teamId,bossId\nA,99,\nB,,98\nC,x,\n',
      '',
      CSV,
      [400, 'VALIDATION_FAILED', '1 teamId REFERENCE_NOT_FOUND', '3 teamId TYPE_MISMATCH'],
    ],
    [
      'references to the same entity that lead nowhere',
      'people',
      'id,name,bossId\n50,A,51\n51,B,1\n52,C,53\n',
      '',
      CSV,
      [400, 'VALIDATION_FAILED', '3 bossId REFERENCE_NOT_FOUND'],
    ],
    [
      'an id that JavaScript cannot hold',
      'marks',
      'id\n9007199254740992\n0\n',
      '',
      CSV,
      [400, 'VALIDATION_FAILED', '1 id OUT_OF_RANGE', '2 id OUT_OF_RANGE'],
    ],
    [
      'a number that only PostgreSQL refuses, behind a row that we refuse',
      'people',
      'name,extra\n,1\nA,{}\nB,1e200000\n',
      '',
      CSV,
      [400, 'VALIDATION_FAILED', '1 name REQUIRED', '3 extra OUT_OF_RANGE'],
    ],
  ];
  for (const [name, entity, body, query, type, expected] of cases) {
    test(`${name}: refused, and nothing is imported`, async () => {
      const answer = await load(entity, body, query, type);
      assert.deepEqual(refusal(answer), expected, answer.text);
      assert.equal(await countOf('people'), 1);
      assert.equal(await countOf('teams'), 0);
    });
  }

  test('one bad cell at the end of many rows imports nothing', async () => {
    const rows = Array.from({ length: 20_000 }, (_, index) => `T${index}`);
    const answer = await load('teams', `name,city\n${rows.map((row) => `${row},x`).join('\n')}\n,y\n`);
    assert.deepEqual(refusal(answer), [400, 'VALIDATION_FAILED', '20001 name REQUIRED']);
    assert.equal(await countOf('teams'), 0);
  });

  test('the first hundred mistakes are told, and the rest is not read', async () => {
    const answer = await load('people', `name,age\n${'A,x\n'.repeat(500)}`);
    assert.equal(answer.status, 400);
    assert.equal(answer.json.error.details.length, 100);
    assert.equal(answer.json.error.details[99].row, 100);
    assert.match(answer.json.error.message, /row 1, age: must be an integer \(and 99 more\)/);
  });

  test('a semicolon as separator is told', async () => {
    const { json } = await load('teams', 'name;city\nA;B\n');
    assert.match(json.error.details[0].message, /separated by commas/);
  });

  test('a misspelled header is told what it may have meant', async () => {
    const { json } = await load('teams', 'nmae\nA\n');
    assert.match(json.error.details[0].message, /Did you mean name\?/);
  });

  test('other methods are refused', async () => {
    const answer = await workspace.call('teams/_import');
    assert.equal(answer.status, 405);
    assert.equal((await workspace.call('teams/_export', { method: 'POST' })).status, 405);
  });
});

describe('records that exist already', () => {
  freshWorkspace();
  before(async () => {
    await workspace.create('people', [
      { name: 'One', email: 'one@example.com', note: 'kept' },
      { name: 'Two', email: 'two@example.com', note: 'kept' },
    ]);
  });

  test('skip leaves them as they are and imports the others', async () => {
    const body = 'id,name,email\n1,Changed,one@example.com\n9,Nine,nine@example.com\n,Ten,ten@example.com\n';
    assert.deepEqual(await imported(load('people', body, '?onConflict=skip')), { inserted: 2, updated: 0, skipped: 1 });
    assert.equal((await workspace.call('people/1')).json.data.name, 'One');
    assert.deepEqual(await imported(load('people', 'id,name\n1,A\n9,B\n', '?onConflict=skip')), {
      inserted: 0,
      updated: 0,
      skipped: 2,
    });
  });

  test('update changes only what the file gives, and when', async () => {
    const before = (await workspace.call('people/2')).json.data;
    const body =
      'id,name,createdAt,updatedAt\n2,Zwei,2001-01-01T00:00:00Z,2001-01-01T00:00:00Z\n30,Dreissig,2001-01-01T00:00:00Z,\n';
    assert.deepEqual(await imported(load('people', body, '?onConflict=update')), {
      inserted: 1,
      updated: 1,
      skipped: 0,
    });
    const after = (await workspace.call('people/2')).json.data;
    assert.equal(after.name, 'Zwei');
    assert.equal(after.note, 'kept');
    assert.equal(after.email, 'two@example.com');
    assert.equal(after.createdAt, before.createdAt);
    assert.ok(after.updatedAt > before.updatedAt);
    assert.equal((await workspace.call('people/30')).json.data.createdAt, '2001-01-01T00:00:00Z');
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
    const one = (await workspace.call('people/1')).json.data;
    const two = (await workspace.call('people/2')).json.data;
    assert.deepEqual([one.note, one.mood, one.email], [null, 'good', 'one@example.com']);
    assert.deepEqual([two.note, two.mood], ['kept', 'bad']);
    assert.equal((await workspace.call('people/1000')).json.data.mood, 'good');
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

const NASTY = [
  'plain',
  'comma, "quotes" and \'more\'',
  'lines\nof\r\ntext\r',
  'tab\tand \\N and \\. and \\n',
  '  spaces  ',
  'emoji 🧑🏽‍🚀 and ﷽ and ẞ',
  '=1+1',
  '\u2028\u0001\u007f\ufeff',
  'null',
];

describe('exporting', () => {
  freshWorkspace();
  before(async () => {
    const teams = await workspace.create('teams', [{ name: 'Blue, the' }]);
    await workspace.create('people', [
      {
        name: 'Ada',
        email: 'a"b@example.com',
        age: -0,
        points: '9007199254740993',
        balance: '0.10',
        ratio: 1e21,
        active: false,
        born: '0099-01-01',
        seenAt: '2026-01-31T12:00:00.120Z',
        token: '3f2504e0-4f89-11d3-9a0c-0305e82c3301',
        extra: { a: [1, 'x,"y'], b: null },
        mood: 'bad',
        note: '',
        teamId: teams[0].id,
      },
      { name: 'Bob', mood: null, active: null },
    ]);
  });

  test('CSV has a header, the texts of JSON, and empty cells for null', async () => {
    const { text, headers } = await workspace.call(
      'people/_export?fields=id,name,email,points,balance,ratio,active,born,seenAt,extra,mood,note,teamId',
    );
    assert.equal(headers.get('content-type'), 'text/csv; charset=utf-8; header=present');
    assert.equal(headers.get('content-disposition'), 'attachment; filename="people.csv"');
    assert.equal(
      text,
      [
        'id,name,email,points,balance,ratio,active,born,seenAt,extra,mood,note,teamId',
        '1,Ada,"a""b@example.com",9007199254740993,0.10,1e+21,false,0099-01-01,2026-01-31T12:00:00.120Z,"{""a"": [1, ""x,\\""y""], ""b"": null}",bad,"",1',
        '2,Bob,,,,,,,,,,,',
        '',
      ].join('\n'),
    );
  });

  test('lines of JSON are records as lists show them', async () => {
    const { text, headers } = await workspace.call('people/_export?format=ndjson&sort=name,desc');
    assert.equal(headers.get('content-type'), 'application/x-ndjson');
    assert.equal(headers.get('content-disposition'), 'attachment; filename="people.ndjson"');
    const list = (await workspace.call('people?sort=name,desc')).text;
    assert.equal(`[${text.trim().split('\n').join(', \n ')}]`, list.slice('{"data":'.length, list.indexOf(',"meta"')));
  });

  test('filter, or, sort and fields choose', async () => {
    const choose = async (query: string): Promise<string> =>
      (await workspace.call(`people/_export?fields=name&${query}`)).text;
    assert.equal(await choose('filter=name,eq,Bob'), 'name\nBob\n');
    assert.equal(await choose('or=name,eq,Bob;age,eq,0&sort=name,desc'), 'name\nBob\nAda\n');
    assert.equal(await choose('filter=team.name,startsWith,blue'), 'name\nAda\n');
    assert.equal(await choose('filter=name,eq,Nobody'), 'name\n', 'the header stands without records');
  });

  test('a column of nulls keeps its rows', async () => {
    assert.equal((await workspace.call('people/_export?fields=mood')).text, 'mood\nbad\n""\n');
  });

  test('HEAD answers without a body', async () => {
    const answer = await workspace.call('people/_export', { method: 'HEAD' });
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('content-type'), 'text/csv; charset=utf-8; header=present');
    assert.equal(answer.text, '');
  });

  test('a credential for reading may export', async () => {
    assert.equal((await workspace.call('teams/_export', { credential: workspace.readOnlyKey })).status, 200);
  });

  for (const query of [
    'format=xml',
    'fields=nme',
    'filter=nme,eq,1',
    'sort=nme',
    'page=1',
    'expand=team',
    'fields=team.name',
  ]) {
    test(`${query} is refused as JSON`, async () => {
      const answer = await workspace.call(`people/_export?${query}`);
      assert.deepEqual(refusal(answer), [400, 'BAD_REQUEST'], answer.text);
    });
  }

  test('what was exported as lines of JSON is imported as it was', async () => {
    await workspace.create(
      'people',
      NASTY.map((note, index) => ({ name: note, note, email: `${index}${note}`, extra: [note] })),
    );
    const exported = (await workspace.call('people/_export?format=ndjson')).text;
    const teams = (await workspace.call('teams/_export?format=ndjson')).text;
    const other = await server.workspace(`acme/copy-${++count}`, SCHEMA);
    const send = (entity: string, body: string, type: string): Promise<Answer> =>
      other.call(`${entity}/_import`, { method: 'POST', headers: { 'content-type': type }, body });
    await imported(send('teams', teams, NDJSON));
    await imported(send('people', exported, NDJSON));
    assert.equal((await other.call('people/_export?format=ndjson')).text, exported);
  });

  test('what was exported as CSV is imported as it was, but for empty strings, which become null', async () => {
    const exported = (await workspace.call('people/_export')).text;
    const teams = (await workspace.call('teams/_export')).text;
    const other = await server.workspace(`acme/copy-${++count}`, SCHEMA);
    const send = (entity: string, body: string): Promise<Answer> =>
      other.call(`${entity}/_import`, { method: 'POST', headers: { 'content-type': CSV }, body });
    await imported(send('teams', teams));
    await imported(send('people', exported));
    assert.equal((await other.call('people/_export')).text, exported.replaceAll('""\n', '\n').replaceAll(',"",', ',,'));
  });

  test('an import of what was exported updates every record to what it is', async () => {
    const exported = (await workspace.call('people/_export?fields=id,name,points,ratio,seenAt,extra,note')).text;
    const result = (await imported(load('people', exported, '?onConflict=update'))) as { updated: number };
    assert.equal(result.updated, 2 + NASTY.length);
    assert.equal(
      (await workspace.call('people/_export?fields=id,name,points,ratio,seenAt,extra,note')).text,
      exported.replaceAll(',""\n', ',\n'),
    );
  });
});
