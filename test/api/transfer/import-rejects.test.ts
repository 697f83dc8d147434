// Imports with rejects: rows without mistakes are written, the others are the answer, in the format of the file.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { prepare, useIssuer } from '../../support/resources.ts';
import type { Answer, TestWorkspace } from '../../support/server.ts';
import { CSV, NDJSON, refusal, useTransfers } from '../../support/transfer.ts';
import { LOCAL_PROVIDER, makeUsers, type TokenOf } from '../../support/users.ts';

const issuer = useIssuer();
const { server, workspace, freshWorkspace, load, recordsOf, countOf } = useTransfers({
  ...LOCAL_PROVIDER,
  WDA_MAX_REJECT_BYTES: '3000000',
});
const REJECTS = '?rejects=true';

/** The counts in the headers, and the text of the rejected rows. */
function outcome({ status, headers, text }: Answer): unknown[] {
  assert.equal(status, 200, text);
  const counts = ['inserted', 'updated', 'skipped', 'rejected'].map((name) => Number(headers.get(`import-${name}`)));
  return [counts.join(' '), ...text.trimEnd().split('\n')];
}

const namesOf = async (entity: string, filter = ''): Promise<string[]> =>
  (await recordsOf(entity, `&sort=id${filter}`)).map(({ name }) => name);

describe('an import with rejects', () => {
  freshWorkspace();

  test('writes the rows without mistakes, and answers with the others and their reasons', async () => {
    const body = 'name,age,note\nA,1,\nB,x,"a ""quote"", and\na line"\n,2,\nC,151,c\nD,4,\nE\nF,6,,extra\n';
    const answer = await load('people', body, REJECTS);
    assert.equal(answer.headers.get('content-type'), 'text/csv; charset=utf-8; header=present');
    assert.deepEqual(outcome(answer), [
      '2 0 0 5',
      'name,age,note,_row,_reason',
      'B,x,"a ""quote"", and',
      'a line",2,age: must be an integer',
      ',2,,3,name: is required',
      'C,151,c,4,age: must be at most 150',
      'E,6,has 1 cell where the header has 3',
      'F,6,,extra,7,has 4 cells where the header has 3',
    ]);
    assert.deepEqual(await namesOf('people'), ['A', 'D']);
  });

  test('of no rejected rows has the header alone, and nothing of lines', async () => {
    assert.deepEqual(outcome(await load('teams', 'name\nOne\n', REJECTS)), ['1 0 0 0', 'name,_row,_reason']);
    assert.deepEqual(outcome(await load('teams', '{"name":"Two"}\n', REJECTS, NDJSON)), ['1 0 0 0', '']);
  });

  test('answers to lines with lines, whose numbers keep their digits', async () => {
    const body =
      '{"name":"A","points":1.50}\n\n{}\n[1]\n{"name"\n{ "name":"B","balance":9007199254740993.10, "x":1 }\n{"name":"L"}\n';
    const answer = await load('people', body, REJECTS, NDJSON);
    assert.equal(answer.headers.get('content-type'), 'application/x-ndjson');
    const [counts, ...lines] = outcome(answer) as string[];
    assert.equal(counts, '1 0 0 5');
    assert.deepEqual(lines.slice(0, 4), [
      '{"name":"A","points":1.50,"_row":1,"_reason":"points: must be an integer"}',
      '{"_row":2,"_reason":"name: is required"}',
      '{"_text":"[1]","_row":3,"_reason":"must be one JSON object"}',
      '{"_text":"{\\"name\\"","_row":4,"_reason":"is malformed JSON"}',
    ]);
    assert.match(
      lines[4] ?? '',
      /^\{"name":"B","balance":9007199254740993\.10, "x":1,"_row":5,"_reason":"balance: .*; x: /,
    );
  });

  test('takes rejected rows again once they are corrected', async () => {
    const first = await load('teams', 'name,city\nR1,\n,Rome\n', REJECTS);
    const corrected = first.text.replace('\n,Rome', '\nR2,Rome');
    assert.deepEqual(outcome(await load('teams', corrected, REJECTS)), ['1 0 0 0', 'name,city,_row,_reason']);
    assert.deepEqual(await namesOf('teams', '&filter=name,startsWith,R'), ['R1', 'R2']);
  });

  test('loses no cell of a row with too few or too many, which is rejected again', async () => {
    const first = await load('people', 'name,ratio\nX,1,5\nP\n', REJECTS);
    assert.deepEqual(outcome(first), [
      '0 0 0 2',
      'name,ratio,_row,_reason',
      'X,1,5,1,has 3 cells where the header has 2',
      'P,2,has 1 cell where the header has 2',
    ]);
    assert.deepEqual(outcome(await load('people', first.text, REJECTS)), [
      '0 0 0 2',
      'name,ratio,_row,_reason',
      'X,1,5,1,has 5 cells where the header has 4',
      'P,2,has 3 cells where the header has 4',
    ]);
    const corrected = first.text.replace('X,1,5,', 'X,1.5,').replace('\nP,', '\nP,,');
    assert.deepEqual(outcome(await load('people', corrected, REJECTS)), ['2 0 0 0', 'name,ratio,_row,_reason']);
    const [record] = await recordsOf('people', '&filter=name,eq,X');
    assert.equal(record.ratio, 1.5);
  });

  test('keeps the first row of those with one value, and rejects what exists already', async () => {
    await workspace().create('people', [{ name: 'There', email: 'there@u' }]);
    const body = 'name,email,age\nU1,a@u,x\nU2,a@u,1\nU3,a@u,1\nU4,there@u,1\nU5,,1\nU6,,1\n';
    assert.deepEqual(outcome(await load('people', body, REJECTS)), [
      '3 0 0 3',
      'name,email,age,_row,_reason',
      'U1,a@u,x,1,age: must be an integer',
      'U3,a@u,1,3,email: must be unique: row 2 has this value too',
      'U4,there@u,1,4,email: must be unique: another record has this value',
    ]);
    assert.deepEqual(await namesOf('people', '&filter=name,startsWith,U'), ['U2', 'U5', 'U6']);
  });

  test('rejects rows that refer to nothing, and those that refer to rejected rows', async () => {
    const body = 'id,name,bossId,teamId\n901,V1,,999\n902,V2,901,\n903,V3,902,\n904,V4,905,\n905,V5,,\n906,V6,77777,\n';
    assert.deepEqual(outcome(await load('people', body, REJECTS)), [
      '2 0 0 4',
      'id,name,bossId,teamId,_row,_reason',
      '901,V1,,999,1,teamId: refers to a record that does not exist',
      '902,V2,901,,2,bossId: refers to a record that does not exist',
      '903,V3,902,,3,bossId: refers to a record that does not exist',
      '906,V6,77777,,6,bossId: refers to a record that does not exist',
    ]);
    assert.deepEqual(await namesOf('people', '&filter=name,startsWith,V'), ['V4', 'V5']);
  });

  test('rejects a long chain of rows whose end is rejected', async () => {
    const rows = Array.from({ length: 300 }, (_, index) => `${2000 + index},W,${2001 + index}`);
    const answer = await load('people', `id,name,bossId\n${rows.join('\n')}\n3000,W,\n`, REJECTS);
    assert.equal(outcome(answer)[0], '1 0 0 300');
    assert.match(answer.text, /^2000,W,2001,1,"?bossId: refers to a row of the file, too many of which/m);
  });

  test('updates records, and rejects rows that neither change nor create one', async () => {
    await workspace().create('people', [{ name: 'X', email: 'x@x' }]);
    const body = 'email,age\nx@x,5\nnobody@x,6\n';
    const query = `${REJECTS}&onConflict=update&conflictOn=email`;
    assert.deepEqual(outcome(await load('people', body, query)), [
      '0 1 0 1',
      'email,age,_row,_reason',
      'nobody@x,6,2,name: is required: no record has this email',
    ]);
  });

  test('rejects rows that PostgreSQL refuses for the size of an index entry', async () => {
    const long = Array.from({ length: 4000 }, () => Math.random().toString(36).slice(2)).join('');
    const rows = Array.from(
      { length: 40 },
      (_, index) => `Y${index},${index % 13 === 7 ? long + index : `y${index}@y`}`,
    );
    const answer = await load('people', `name,email\n${rows.join('\n')}\n`, REJECTS);
    const [counts, , ...lines] = outcome(answer) as string[];
    assert.equal(counts, '37 0 0 3');
    assert.deepEqual(
      lines.map((line) => line.slice(-50)),
      [8, 21, 34].map((row) => `${long}${row - 1},${row},a value is too long for the index on it`.slice(-50)),
    );
  });

  test('is undone by dryRun, which answers the same', async () => {
    const before = await countOf('teams');
    const answer = await load('teams', 'name\nDry\n""\n', `${REJECTS}&dryRun=true`);
    assert.deepEqual(outcome(answer), ['1 0 0 1', 'name,_row,_reason', ',2,name: is required']);
    assert.equal(answer.headers.get('import-dry-run'), 'true');
    assert.equal(await countOf('teams'), before);
  });

  test('refuses a file that cannot be read, or with a wrong header', async () => {
    assert.deepEqual(refusal(await load('teams', 'nam\nA\n', REJECTS)), [
      400,
      'VALIDATION_FAILED',
      '0 nam UNKNOWN_FIELD',
      '0 name REQUIRED',
    ]);
    assert.deepEqual(refusal(await load('teams', 'name\nA\n"B\n', REJECTS)), [
      400,
      'VALIDATION_FAILED',
      '2 null INVALID',
    ]);
    assert.equal((await load('teams', 'name\nA\n', `${REJECTS}&maxErrors=5`)).json.error.reason, 'PARAMETER_CONFLICT');
  });

  test('sends rejected rows that do not fit into memory, and refuses more than the limit', async () => {
    const note = 'n'.repeat(1000);
    const rows = (count: number): string => Array.from({ length: count }, (_, at) => `Z${at},x,${note}`).join('\n');
    const answer = await load('people', `name,age,note\nZ,1,\n${rows(2500)}\n`, REJECTS);
    const [counts, header, ...lines] = outcome(answer) as string[];
    assert.deepEqual([counts, header, lines.length], ['1 0 0 2500', 'name,age,note,_row,_reason', 2500]);
    for (const [at, line] of lines.entries()) assert.equal(line, `Z${at},x,${note},${at + 2},age: must be an integer`);
    const { status, json } = await load('people', `name,age,note\nTooMany,1,\n${rows(3500)}\n`, REJECTS);
    assert.deepEqual([status, json.error.reason], [400, 'LIMIT_EXCEEDED']);
    assert.deepEqual(await namesOf('people', '&filter=name,eq,TooMany'), []);
  });

  test('is done once for a key, and a replay has the counts', async () => {
    const send = (): Promise<Answer> =>
      workspace().call(`teams/_import${REJECTS}`, {
        method: 'POST',
        headers: { 'content-type': CSV, 'idempotency-key': 'once' },
        body: 'name\nOnce\n""\n',
      });
    assert.deepEqual(outcome(await send()), ['1 0 0 1', 'name,_row,_reason', ',2,name: is required']);
    const again = await send();
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
    assert.deepEqual(again.json, { data: { inserted: 1, updated: 0, skipped: 0, rejected: 1 } });
    assert.deepEqual(await namesOf('teams', '&filter=name,eq,Once'), ['Once']);
  });

  test('takes looked up references, of which it rejects those to nothing', async () => {
    const body = 'name,Boss\nQ1,there@u\nQ2,nobody@u\n';
    assert.deepEqual(outcome(await load('people', body, `${REJECTS}&map=Boss:boss.email`)), [
      '1 0 0 1',
      'name,Boss,_row,_reason',
      'Q2,nobody@u,2,bossId: refers to a record that does not exist: no record of people has this email',
    ]);
  });

  test('stands in the activity with its counts', async () => {
    await load('marks', 'id\n1\nx\n', REJECTS);
    const { json } = await workspace().admin('activity?action=records.import&size=1');
    assert.deepEqual(json.data[0].details, { inserted: 1, updated: 0, skipped: 0, rejected: 1 });
  });
});

describe('an import with rejects under row rules', () => {
  let codes: TestWorkspace;
  let tokenOf: TokenOf;
  prepare(async () => {
    codes = await server.workspace('acme/rejects', {
      entities: {
        codes: {
          fields: { owner: { type: 'string' }, code: { type: 'string', unique: true } },
          rowRules: [{ column: 'owner', claim: 'sub' }],
        },
      },
    });
    tokenOf = await makeUsers(codes, issuer);
    await codes.create('codes', [
      { owner: 'ada', code: 'own' },
      { owner: 'bob', code: 'hidden' },
    ]);
  });

  test('rejects rows of others, and values of hidden records as those of any other', async () => {
    const answer = await codes.call(`codes/_import${REJECTS}`, {
      method: 'POST',
      credential: tokenOf({ sub: 'ada' }),
      headers: { 'content-type': CSV },
      body: 'code,owner\nfree,ada\nhidden,ada\nown,ada\nnew,bob\nlast,ada\n',
    });
    const [counts, , ...lines] = outcome(answer) as string[];
    assert.equal(counts, '2 0 0 3');
    assert.equal(lines[0], 'hidden,ada,2,code: must be unique: another record has this value');
    assert.equal(lines[1], 'own,ada,3,code: must be unique: another record has this value');
    assert.match(lines[2] ?? '', /^new,bob,4,/);
    assert.doesNotMatch(answer.text, /bob.*bob/);
  });
});
