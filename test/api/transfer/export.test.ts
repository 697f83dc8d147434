// Files that go out, and come in again as they were.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import type { Answer } from '../../support/server.ts';
import { CSV, imported, refusal, TRANSFER_SCHEMA, useTransfers } from '../../support/transfer.ts';

const { server, workspace, freshWorkspace, load } = useTransfers();

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
    const teams = await workspace().create('teams', [{ name: 'Blue, the' }]);
    await workspace().create('people', [
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
    const { text, headers } = await workspace().call(
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
    const { text, headers } = await workspace().call('people/_export?format=ndjson&sort=name,desc');
    assert.equal(headers.get('content-type'), 'application/x-ndjson');
    assert.equal(headers.get('content-disposition'), 'attachment; filename="people.ndjson"');
    const list = (await workspace().call('people?sort=name,desc')).text;
    assert.equal(`[${text.trim().split('\n').join(', \n ')}]`, list.slice('{"data":'.length, list.indexOf(',"meta"')));
  });

  test('filter, or, sort and fields choose', async () => {
    const choose = async (query: string): Promise<string> =>
      (await workspace().call(`people/_export?fields=name&${query}`)).text;
    assert.equal(await choose('filter=name,eq,Bob'), 'name\nBob\n');
    assert.equal(await choose('or=name,eq,Bob;age,eq,0&sort=name,desc'), 'name\nBob\nAda\n');
    assert.equal(await choose('filter=team.name,startsWith,blue'), 'name\nAda\n');
    assert.equal(await choose('filter=name,eq,Nobody'), 'name\n', 'the header stands without records');
  });

  test('labels of related records follow their references, in the order of the file', async () => {
    const { text } = await workspace().call('people/_export?fields=teamId,name&labels=true&sort=name,desc');
    assert.equal(text, 'teamId,team,name\n,,Bob\n1,"Blue, the",Ada\n');
    const lines = await workspace().call('people/_export?fields=teamId&labels=true&format=ndjson');
    assert.equal(lines.text, '{"teamId":1,"team":"Blue, the"}\n{"teamId":null,"team":null}\n');
    assert.deepEqual(refusal(await workspace().call('people/_export?labels=yes')), [400, 'BAD_REQUEST']);
  });

  test('a column of nulls keeps its rows', async () => {
    assert.equal((await workspace().call('people/_export?fields=mood')).text, 'mood\nbad\n""\n');
  });

  test('HEAD answers without a body', async () => {
    const answer = await workspace().call('people/_export', { method: 'HEAD' });
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('content-type'), 'text/csv; charset=utf-8; header=present');
    assert.equal(answer.text, '');
  });

  test('a credential for reading may export', async () => {
    assert.equal((await workspace().call('teams/_export', { credential: workspace().readOnlyKey })).status, 200);
  });

  for (const query of ['fields=nme', 'expand=team']) {
    test(`${query} is refused as JSON`, async () => {
      const answer = await workspace().call(`people/_export?${query}`);
      assert.deepEqual(refusal(answer), [400, 'BAD_REQUEST'], answer.text);
    });
  }

  test('what was exported as CSV is imported as it was, but for empty strings, which become null', async () => {
    await workspace().create(
      'people',
      NASTY.map((note, index) => ({ name: note, note, email: `${index}${note}`, extra: [note] })),
    );
    const exported = (await workspace().call('people/_export')).text;
    const teams = (await workspace().call('teams/_export')).text;
    const other = await server.workspace('acme/copy-csv', TRANSFER_SCHEMA);
    const send = (entity: string, body: string): Promise<Answer> =>
      other.call(`${entity}/_import`, { method: 'POST', headers: { 'content-type': CSV }, body });
    await imported(send('teams', teams));
    await imported(send('people', exported));
    assert.equal((await other.call('people/_export')).text, exported.replaceAll('""\n', '\n').replaceAll(',"",', ',,'));
  });

  test('an import of what was exported updates every record to what it is', async () => {
    const exported = (await workspace().call('people/_export?fields=id,name,points,ratio,seenAt,extra,note')).text;
    const result = (await imported(load('people', exported, '?onConflict=update'))) as { updated: number };
    assert.equal(result.updated, 2 + NASTY.length);
    assert.equal(
      (await workspace().call('people/_export?fields=id,name,points,ratio,seenAt,extra,note')).text,
      exported.replaceAll(',""\n', ',\n'),
    );
  });
});
