// Files that are refused: every mistake with its row, and nothing imported.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { CSV, NDJSON, refusal, useTransfers } from '../../support/transfer.ts';

const { workspace, freshWorkspace, load, countOf } = useTransfers({
  WDA_MAX_IMPORT_BYTES: '300000',
  WDA_MAX_BODY_BYTES: '20000',
});

describe('mistakes in an import', () => {
  freshWorkspace();
  before(async () => {
    await workspace().create('people', [{ name: 'There', email: 'there@example.com' }]);
  });

  const cases: readonly (readonly [string, string, string | Uint8Array, string, string, readonly unknown[]])[] = [
    ['no media type that we know', 'teams', 'name\n', '', 'application/json', [415, 'UNSUPPORTED_MEDIA_TYPE']],
    ['a map to a field that is not there', 'teams', 'name\n', '?map=name:nam', CSV, [400, 'BAD_REQUEST']],
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

  test('maxErrors lists more mistakes, or fewer', async () => {
    const body = `name,age\n${'A,x\n'.repeat(500)}`;
    const many = (await load('people', body, '?maxErrors=400')).json.error;
    assert.deepEqual([many.details.length, many.details[399].row], [400, 400]);
    const ids = `id,name\n${'1,A\n'.repeat(300)}`;
    assert.equal((await load('people', ids, '?maxErrors=200')).json.error.details.length, 200);
    assert.equal((await load('people', ids, '?maxErrors=1')).json.error.details.length, 1);
  });

  test('a mistake has the value and the line where its row begins', async () => {
    const long = 'x'.repeat(150);
    const body = `name,email,teamId,note,born\n\nA,there@example.com,77,"two\r\nlines",\nB,,,,31.1.2026\n\nC,,77,,${long}\n,,,,\n`;
    const { json } = await load('people', body);
    assert.deepEqual(
      json.error.details.map((detail: Record<string, unknown>) => [
        detail.row,
        detail.line,
        detail.field,
        detail.value,
      ]),
      [
        [1, 3, 'email', 'there@example.com'],
        [1, 3, 'teamId', '77'],
        [2, 5, 'born', '31.1.2026'],
        [3, 7, 'born', `${long.slice(0, 100)}…`],
        [4, 8, 'name', undefined],
      ],
    );
    const lines = await load('people', '\n{"name":["a"]}\n\n{"name":1.50}\n[]\n{', '', NDJSON);
    assert.deepEqual(
      lines.json.error.details.map((detail: Record<string, unknown>) => [detail.row, detail.line, detail.value]),
      [[1, 2, '["a"]'], [2, 4, '1.50'], [3, 5, undefined], [4, 6, undefined]], // biome-ignore format: one row a line
    );
  });

  test('a compressed body is refused', async () => {
    const headers = { 'content-type': CSV, 'content-encoding': 'gzip' };
    const answer = await workspace().call('teams/_import', { method: 'POST', headers, body: 'name\nA\n' });
    assert.deepEqual(refusal(answer), [415, 'UNSUPPORTED_MEDIA_TYPE']);
  });

  test('a semicolon as separator is told', async () => {
    const { json } = await load('teams', 'name;city\nA;B\n');
    assert.match(json.error.details[0].message, /separated by commas/);
  });
});
