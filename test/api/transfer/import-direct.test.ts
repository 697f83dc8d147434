// A short file that arrives at once is copied into the table itself, one that arrives in pieces into a staging table first:
// nobody can tell them apart by the answer, nor by the records.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { CSV, imported, NDJSON, useTransfers } from '../../support/transfer.ts';

const { server, workspace, freshWorkspace, load, recordsOf } = useTransfers();

/** Sends the file without a Content-Length. */
async function loadInPieces(entity: string, body: string, query: string, type: string) {
  const answer = await fetch(`${server.url}/api/v1/${workspace().path}/${entity}/_import${query}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${workspace().key}`, 'content-type': type },
    body: new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(body));
        controller.close();
      },
    }),
    duplex: 'half',
  } as RequestInit);
  return { status: answer.status, body: withoutRequestId(await answer.text()) };
}

const withoutRequestId = (text: string): unknown => {
  const { requestId: _, ...rest } = JSON.parse(text);
  return rest;
};

describe('a file that is there as a whole', () => {
  freshWorkspace();
  before(async () => {
    await workspace().create('teams', [{ name: 'First' }]);
    await workspace().create('people', [{ name: 'Taken', email: 'taken@example.com' }]);
  });

  const lines = (...records: readonly unknown[]): string => records.map((each) => `${JSON.stringify(each)}\n`).join('');
  const FILES: readonly (readonly [title: string, entity: string, body: string, type?: string])[] = [
    ['rows', 'people', 'name,email,teamId\nA,a@example.com,1\nB,,\n'],
    ['no row', 'people', 'name\n'],
    ['a reference to nothing', 'people', 'name,teamId\nA,1\nB,77\nC,78\n'],
    ['a reference to a row of the file', 'people', 'name,bossId\nA,\nB,2\n'],
    ['a value that exists', 'people', 'name,email\nA,a@example.com\nB,taken@example.com\n'],
    ['a value that is twice in the file', 'people', 'name,email\nA,a@example.com\nB,a@example.com\n'],
    ['two fields that are unique together', 'stays', 'room,day\n1,2026-01-01\n1,2026-01-01\n'],
    ['a wrong cell beside a reference to nothing', 'people', 'name,age,teamId\nA,x,1\nB,1,77\n'],
    ['a number out of range', 'people', 'name,age\nA,151\n'],
    ['a row that cannot be read', 'people', 'name,teamId\nA,77\n"B,\n'],
    ['ids', 'people', 'id,name\n900,A\n,B\n'],
    ['fields of the server', 'people', 'name,createdAt\nA,2001-02-03T04:05:06Z\nB,\n'],
    ['lines with the same members', 'people', lines({ name: 'A', teamId: 1 }, { teamId: null, name: 'B' }), NDJSON],
    ['lines with other members', 'people', lines({ name: 'A', mood: 'bad' }, { name: 'B' }, { name: 'C' }), NDJSON],
    ['lines without a required member', 'people', lines({ name: 'A' }, { email: 'b@example.com' }), NDJSON],
    ['lines with a reference to nothing', 'people', lines({ name: 'A', teamId: 1 }, { name: 'B', teamId: 7 }), NDJSON],
    ['lines of which the first is no JSON', 'people', `{\n${lines({ name: 'A', teamId: 7 })}`, NDJSON],
    ['lines of nothing', 'marks', '{}\n{}\n', NDJSON],
  ];
  for (const [title, entity, body, type = CSV] of FILES) {
    test(`${title}: the answer is that of a file in pieces`, async () => {
      const { status, text } = await load(entity, body, '?dryRun=true', type);
      const pieces = await loadInPieces(entity, body, '?dryRun=true', type);
      assert.deepEqual({ status, body: withoutRequestId(text) }, pieces);
    });
  }

  test('becomes the same records in the order of the file, defaults and times among them', async () => {
    const body = 'name,note\nA,"one, two"\nB,\nC,"x\ty\\z\n"\n';
    await imported(load('people', body));
    assert.equal((await loadInPieces('people', body, '', CSV)).status, 200);
    const line = lines({ name: 'A', note: 'one, two' }, { note: null, name: 'B' }, { name: 'C', note: 'x\ty\\z\n' });
    await imported(load('people', line, '', NDJSON));
    const [, ...records] = await recordsOf('people');
    const shown = records.map(({ id: _, createdAt, updatedAt, ...record }) => {
      assert.equal(createdAt, updatedAt);
      return record;
    });
    assert.equal(shown.length, 9);
    assert.deepEqual(shown.slice(0, 3), shown.slice(3, 6));
    assert.deepEqual(shown.slice(0, 3), shown.slice(6));
    assert.equal(shown[0].mood, 'good');
  });

  test('is imported once for its key', async () => {
    const send = () =>
      workspace().call('teams/_import', {
        method: 'POST',
        headers: { 'content-type': CSV, 'idempotency-key': 'whole' },
        body: 'name\nOnce\n',
      });
    assert.deepEqual([(await send()).status, (await send()).status], [200, 200]);
    assert.equal((await recordsOf('teams', '&filter=name,eq,Once')).length, 1);
  });
});
