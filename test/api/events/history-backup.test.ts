// The history of records in backups: it comes along, and the feed of a restored workspace begins after it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Piece, readFile, writeFile } from '../../../src/backup/format.ts';
import { use, useServer } from '../../support/resources.ts';
import { ADMIN_KEY, type Answer, type Call } from '../../support/server.ts';
import { until } from '../../support/wait-until.ts';

const ADMIN = '/api/admin/v1';
const SETTINGS = { changes: 'history' };
const SCHEMA = {
  entities: {
    notes: {
      fields: { text: { type: 'string' }, size: { type: 'string' }, other: { type: 'string' } },
      settings: SETTINGS,
    },
    tags: { fields: { name: { type: 'string' } }, settings: SETTINGS },
    feeds: { fields: { name: { type: 'string' } }, settings: { changes: 'feed' } },
  },
};

const server = useServer();
const shop = use(() => server.workspace('acme/original', SCHEMA));

const ok = (answer: Answer): Answer['json'] => {
  assert.ok(answer.status < 300, answer.text);
  return answer.json;
};
const inCopy = (slug: string, path: string, call: Call = {}): Promise<Answer> =>
  server.call(`/api/v1/acme/${slug}/${path}`, { credential: ADMIN_KEY, ...call });

async function backUp(): Promise<Buffer> {
  const answer = await fetch(`${server.url}${ADMIN}/organizations/acme/workspaces/original/backup`, {
    headers: { authorization: `Bearer ${ADMIN_KEY}` },
  });
  assert.equal(answer.status, 200);
  return Buffer.from(await answer.arrayBuffer());
}

const restoreAs = (slug: string, body: Buffer): Promise<Answer> =>
  server.call(`${ADMIN}/restore?as=acme/${slug}`, {
    method: 'POST',
    credential: ADMIN_KEY,
    headers: { 'content-type': 'application/octet-stream' },
    body,
  });

/** Returns the file with other lines of its histories. */
async function forge(file: Buffer, change: (line: string) => string): Promise<Buffer> {
  async function* bytes() {
    yield file;
  }
  const { header, pieces } = await readFile(bytes());
  async function* forged(): AsyncGenerator<Piece> {
    let isHistory = false;
    for await (const piece of pieces) {
      if ('entry' in piece) isHistory = piece.entry.kind === 'history';
      if ('entry' in piece || !isHistory) yield piece;
      else yield { data: Buffer.from(piece.data.toString().split('\n').map((line) => (line === '' ? line : change(line))).join('\n')) }; // biome-ignore format: a line
    }
  }
  const parts: Buffer[] = [];
  for await (const part of writeFile(header, forged())) parts.push(part);
  return Buffer.concat(parts);
}

/** Returns what a history shows but for ids, which are those of a workspace. */
const brief = ({ data, meta }: Answer['json']): unknown => [
  data.map(({ id: _, transaction: __, version: ___, actor, ...event }: Record<string, unknown>) => [
    event,
    (actor as { kind: string }).kind,
  ]),
  meta.completeSince,
];

test('a restored workspace has the history of its records, and goes on with it', async () => {
  const { data } = ok(await shop.call('notes', { method: 'POST', body: { text: 'a\\n"1"', size: '7', other: 'x' } }));
  const path = `notes/${data.id}`;
  ok(await shop.call(path, { method: 'PATCH', body: { text: 'b' } }));
  ok(await shop.call('feeds', { method: 'POST', body: { name: 'f' } }));
  const tag = ok(await shop.call('tags', { method: 'POST', body: { name: 'private' } })).data.id;
  assert.equal((await shop.call(`tags/${tag}/_history`, { method: 'DELETE' })).status, 204);
  const document = {
    entities: {
      ...SCHEMA.entities,
      notes: {
        fields: {
          other: { type: 'string', renamedFrom: 'text' },
          last: { type: 'string', renamedFrom: 'other' },
          size: { type: 'integer' },
        },
        settings: SETTINGS,
      },
    },
  };
  const { json } = await shop.admin('schema?wait=30', { method: 'PUT', body: document });
  assert.equal(json.data?.state, 'succeeded', JSON.stringify(json));
  const early = await backUp();
  ok(await shop.call(path, { method: 'PATCH', body: { size: 8 } }));
  await until('columns have their names', async () => {
    const [row] = await server.database.query(
      "select names -> 'columns' as names from wda.workspace where slug = 'original'",
    );
    return JSON.stringify(row?.names) === '{}';
  });
  const history = ok(await shop.call(`${path}/_history`));
  assert.deepEqual(
    history.data.map(({ unknown }: { unknown?: unknown }) => unknown),
    [undefined, ['size'], ['size']],
  );
  ok(await restoreAs('early', early));
  assert.deepEqual(brief(ok(await inCopy('early', `${path}/_history`))), [
    (brief(history) as unknown[][])[0]?.slice(1),
    history.meta.completeSince,
  ]);

  ok(await restoreAs('copy', await backUp()));
  const copied = ok(await inCopy('copy', `${path}/_history`));
  assert.deepEqual(brief(copied), brief(history));
  assert.deepEqual(
    copied.data.map(({ version }: { version?: string }) => version),
    [undefined, undefined, undefined],
  );
  assert.equal(ok(await inCopy('copy', `tags/${tag}/_history`)).data[0].redacted, true);
  assert.deepEqual(ok(await inCopy('copy', '_changes?after=oldest')).data, []);
  const figures = ok(
    await server.call(`${ADMIN}/organizations/acme/workspaces/copy/changes`, { credential: ADMIN_KEY }),
  ).data;
  assert.deepEqual([figures.unnumbered, figures.lagSeconds, figures.oldest], [0, 0, null]);
  const cursor = ok(await inCopy('copy', 'notes/_changes')).meta.cursor;
  const first = copied.data.at(-1).id;
  const restored = ok(await inCopy('copy', `${path}/_restore`, { method: 'POST', body: { event: first } })).data;
  assert.deepEqual(restored, { id: data.id, other: 'a\\n"1"', last: 'x', size: 8 });
  const { data: events } = ok(await inCopy('copy', `notes/_changes?after=${cursor}`));
  assert.deepEqual(
    events.map(({ changed }: { changed: unknown }) => changed),
    [['other']],
  );
  assert.equal(ok(await inCopy('copy', `${path}/_history`)).data.length, 4);
});

test('a file whose changes do not fit is refused', async () => {
  const file = await backUp();
  const slug = 'forged';
  const changes: readonly ((line: string) => string)[] = [
    (line) => line.replace('"kind" : "u"', '"kind" : "t"'),
    (line) => line.replace('"seq" : ', '"seq" : -'),
    (line) => line.replace(/"new" : \{.*/, '"new" : [1]}'),
    (line) => line.replace(/"actor" : "[^}]*\}"/, '"actor" : "nobody"'),
    (line) => line.replace('"size": 8', '"size": "eight"'),
    () => '{}',
    () => 'no JSON',
  ];
  for (const [index, change] of changes.entries()) {
    const forged = await forge(file, change);
    assert.ok(!forged.equals(file), String(index));
    const { status, json } = await restoreAs(slug, forged);
    assert.deepEqual([index, status, json.error?.reason], [index, 400, 'BACKUP_INCONSISTENT']);
  }
  ok(await restoreAs(slug, await forge(file, (line) => line)));
});
