// Files of other programs: references by the values that people know, headers of similar names, dates and numbers of other
// countries.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { prepare, useIssuer } from '../../support/resources.ts';
import type { Answer, TestWorkspace } from '../../support/server.ts';
import { CSV, imported, NDJSON, refusal, useTransfers } from '../../support/transfer.ts';
import { LOCAL_PROVIDER, makeUsers, type TokenOf } from '../../support/users.ts';

const issuer = useIssuer();
const { server, workspace, freshWorkspace, load, recordsOf } = useTransfers(LOCAL_PROVIDER);
const BOSS = `?map=${encodeURIComponent('Boss:boss.email')}`;

const namesAndBosses = async (filter: string): Promise<unknown[]> =>
  (await recordsOf('people', `&filter=${filter}&fields=name,bossId&sort=id`)).map(({ name, bossId }) => [name, bossId]);

describe('a reference that is looked up', () => {
  freshWorkspace();
  let boss: number;
  prepare(async () => {
    const [record] = await workspace().create('people', [{ name: 'Boss', email: 'boss@example.com' }]);
    boss = record.id;
  });

  test('becomes the id of the record; an empty cell and null are none', async () => {
    const csv = 'name,note,Boss\nA,csv,boss@example.com\nB,csv,\n';
    assert.deepEqual(await imported(load('people', csv, BOSS)), { inserted: 2, updated: 0, skipped: 0 });
    assert.deepEqual(await namesAndBosses('note,eq,csv'), [['A', boss], ['B', null]]); // biome-ignore format: one row a line
    const lines =
      '{"name":"C","note":"lines","Boss":"boss@example.com"}\n{"name":"D","note":"lines","Boss":null}\n{"name":"E","note":"lines"}\n';
    assert.deepEqual(await imported(load('people', lines, BOSS, NDJSON)), { inserted: 3, updated: 0, skipped: 0 });
    assert.deepEqual(await namesAndBosses('note,eq,lines'), [['C', boss], ['D', null], ['E', null]]); // biome-ignore format: one row a line
  });

  test('changes records that are there, and leaves those whose line does not give it', async () => {
    const update = `${BOSS}&onConflict=update&conflictOn=email`;
    await imported(load('people', 'name,email,Boss\nX,x@u,boss@example.com\nY,y@u,\n', update));
    await imported(load('people', '{"email":"x@u","name":"X2"}\n{"email":"y@u","Boss":"x@u"}\n', update, NDJSON));
    const [x] = await recordsOf('people', '&filter=email,eq,x@u');
    assert.deepEqual(await namesAndBosses('email,in,x@u,y@u'), [['X2', boss], ['Y', x.id]]); // biome-ignore format: one row a line
  });

  test('of no record is a mistake with its value', async () => {
    const { status, json } = await load('people', 'name,Boss\nA,boss@example.com\nB,nobody@example.com\n', BOSS);
    assert.equal(status, 400);
    assert.deepEqual(json.error.details, [
      {
        row: 2,
        line: 3,
        field: 'bossId',
        code: 'REFERENCE_NOT_FOUND',
        message: 'refers to a record that does not exist: no record of people has this email',
        value: 'nobody@example.com',
      },
    ]);
  });

  test('by a field that is not unique is refused', async () => {
    const answer = await load('people', 'name,Boss\n', '?map=Boss:boss.name');
    assert.equal(answer.status, 400);
    assert.equal(answer.json.error.reason, 'INVALID_HEADER_MAP');
    assert.match(answer.json.error.message, /name is not unique in people\. Possible: id, email/);
  });
});

describe('a reference to a hidden record', () => {
  let codes: TestWorkspace;
  let tokenOf: TokenOf;
  prepare(async () => {
    const rowRules = [{ column: 'owner', claim: 'sub' }];
    const owner = { type: 'string' };
    codes = await server.workspace('acme/lookups', {
      entities: {
        codes: { fields: { owner, code: { type: 'string', unique: true } }, rowRules },
        uses: { fields: { owner }, relations: { code: { kind: 'belongsTo', entity: 'codes' } }, rowRules },
      },
    });
    tokenOf = await makeUsers(codes, issuer);
    await codes.create('codes', [
      { owner: 'ada', code: 'own' },
      { owner: 'bob', code: 'hidden' },
    ]);
  });

  test('is one to no record', async () => {
    const send = (body: string): Promise<Answer> =>
      codes.call('uses/_import?map=Code:code.code', {
        method: 'POST',
        credential: tokenOf({ sub: 'ada' }),
        headers: { 'content-type': CSV },
        body,
      });
    assert.deepEqual(await imported(send('Code\nown\n')), { inserted: 1, updated: 0, skipped: 0 });
    const answers = await Promise.all(['hidden', 'absent'].map((code) => send(`Code\nown\n${code}\n`)));
    assert.deepEqual(refusal(answers[0] as Answer), [400, 'VALIDATION_FAILED', '2 codeId REFERENCE_NOT_FOUND']);
    const [hidden, absent] = answers.map(({ text }, at) => text.replace(at === 0 ? 'hidden' : 'absent', ''));
    assert.equal(hidden, absent);
  });
});

describe('names and forms of other programs', () => {
  freshWorkspace();

  test('headers are matched without regard to case, spaces and _, and the answer says so', async () => {
    const answer = await load('people', 'NAME,Team_Id,seen at\nA,,\n');
    assert.deepEqual(answer.json, {
      data: { inserted: 1, updated: 0, skipped: 0 },
      meta: {
        notes: [
          'the column NAME was read as name',
          'the column Team_Id was read as teamId',
          'the column seen at was read as seenAt',
        ],
      },
    });
    const dry = await load('people', 'Name\nA\n', '?dryRun=true');
    assert.deepEqual(dry.json.meta, { dryRun: true, notes: ['the column Name was read as name'] });
    assert.deepEqual(refusal(await load('people', 'name,Name\nA,B\n')), [400, 'VALIDATION_FAILED', '0 Name INVALID']);
  });

  test('formats read dates, numbers and booleans, and refuse other forms of them', async () => {
    const query = `?formats=${encodeURIComponent('date:dd.MM.yyyy;decimal:1.234,50;boolean:ja/nein')}`;
    const csv = 'name,born,balance,age,ratio,active\nF,31.01.2026,"1.234,50",7,"0,5",Nein\n';
    await imported(load('people', csv, query));
    const [record] = await recordsOf('people', '&filter=name,eq,F');
    assert.deepEqual(
      [record.born, record.balance, record.age, record.ratio, record.active],
      ['2026-01-31', 1234.5, 7, 0.5, false],
    );
    const { json } = await load('people', 'name,born,balance,active\nF,2026-01-31,1.5,true\n', query);
    assert.deepEqual(
      json.error.details.map(({ message, value }: { message: string; value: string }) => [message, value]),
      [
        ['must be a date of the form dd.MM.yyyy', '2026-01-31'],
        ['must be a number of the form 1.234,50', '1.5'],
        ['must be ja or nein', 'true'],
      ],
    );
    const days = await load('people', 'name,born\nF,31.02.2026\nG,29.02.2027\nH,29.02.2028\n', query);
    assert.deepEqual(
      days.json.error.details.map(({ message, value }: { message: string; value: string }) => [message, value]),
      [
        ['must be a day of the calendar, of the form dd.MM.yyyy', '31.02.2026'],
        ['must be a day of the calendar, of the form dd.MM.yyyy', '29.02.2027'],
      ],
    );
    const lines = await load('people', '{"name":"F"}', query, NDJSON);
    assert.equal(lines.json.error.reason, 'PARAMETER_CONFLICT');
  });
});
