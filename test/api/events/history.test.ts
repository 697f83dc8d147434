// The history of a record: its events, the last one first, the record as it was, and who may read them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { use, useIssuer, useServer, useUsers } from '../../support/resources.ts';
import type { Answer, Call } from '../../support/server.ts';
import { LOCAL_PROVIDER } from '../../support/users.ts';
import { until } from '../../support/wait-until.ts';

const FIELDS = {
  text: { type: 'string' },
  total: { type: 'decimal', precision: 9, scale: 2 },
  secret: { type: 'string' },
};
const RULES = { rowRules: [{ column: 'owner', claim: 'customer' }] };
const SCHEMA = {
  entities: {
    notes: { fields: FIELDS, settings: { changes: 'history', changesOmit: ['secret'], defaultFields: ['text'] } },
    papers: {
      fields: { ...FIELDS, owner: { type: 'integer' } },
      ...RULES,
      settings: { changes: 'history', historyForUsers: true },
    },
    feeds: { fields: FIELDS, settings: { changes: 'feed' } },
  },
};

const issuer = useIssuer();
const server = useServer(LOCAL_PROVIDER);
const shop = use(() => server.workspace('acme/shop', SCHEMA));
const tokenOf = useUsers(shop, issuer);

const ok = (answer: Answer): Answer['json'] => {
  assert.ok(answer.status < 300, answer.text);
  return answer.json;
};
const write = async (path: string, method: string, body?: unknown): Promise<Answer['json']> =>
  ok(await shop.call(path, { method, body }));
const get = async (path: string, call: Call = {}): Promise<Answer['json']> => ok(await shop.call(path, call));
const refused = async (path: string, call: Call = {}): Promise<unknown[]> => {
  const { status, json } = await shop.call(path, call);
  return [status, json.error.code];
};

test('every change of a record is there with who made it, the last one first, also after its deletion', async () => {
  const { data } = await write('notes', 'POST', { text: 'a', total: 1.5, secret: 's' });
  await write('notes', 'POST', { text: 'another' });
  const path = `notes/${data.id}`;
  const updated = await shop.call(path, { method: 'PATCH', body: { text: 'b' } });
  await write(path, 'PATCH', { text: 'b' });
  await write(path, 'DELETE');
  const { data: events, meta } = await get(`${path}/_history`);
  const [b, a] = [
    { id: data.id, text: 'b', total: 1.5 },
    { id: data.id, text: 'a', total: 1.5 },
  ];
  assert.deepEqual(
    events.map((event: Record<string, unknown>) => [
      event.type,
      event.cause,
      event.changed,
      event.previous,
      event.record,
    ]),
    [
      ['removed', 'deleted', undefined, b, undefined],
      ['updated', 'changed', ['text'], { text: 'a' }, b],
      ['created', 'created', undefined, undefined, a],
    ],
  );
  assert.equal(events[1].actor.requestId, updated.headers.get('x-request-id'));
  assert.deepEqual([meta.size, meta.nextCursor], [20, null]);
  assert.ok(Date.parse(meta.completeSince) <= Date.parse(events[2].at));
  const feed = await get('notes/_changes?after=oldest');
  const ids = feed.data.filter(({ recordId }: { recordId: number }) => recordId === data.id);
  assert.deepEqual(
    ids.map(({ id }: { id: string }) => id).reverse(),
    events.map(({ id }: { id: string }) => id),
  );
  const states = [];
  for (const { id } of events) states.push((await get(`${path}/_history/${id}`)).data);
  assert.deepEqual(states, [b, b, a]);
});

test('pages go on by the cursor, and fields select', async () => {
  const { data } = await write('notes', 'POST', { text: '0', total: 1 });
  const path = `notes/${data.id}`;
  for (let n = 1; n < 5; n++) await write(path, 'PATCH', n === 3 ? { total: n } : { text: String(n) });
  const texts: unknown[] = [];
  let pages = 0;
  for (let after = ''; after !== null; pages++) {
    const { data: events, meta } = await get(`${path}/_history?size=2${after === '' ? '' : `&after=${after}`}`);
    texts.push(...events.map(({ record }: { record: { text: string } }) => record.text));
    after = meta.nextCursor;
  }
  assert.deepEqual([pages, texts], [3, ['4', '2', '2', '1', '0']]);
  const { data: totals } = await get(`${path}/_history?fields=total`);
  assert.deepEqual(
    totals.map(({ record }: { record: unknown }) => record),
    [{ total: 3 }, { total: 1 }],
  );
});

test('what is not there is refused', async () => {
  const { data } = await write('feeds', 'POST', { text: 'a' });
  assert.deepEqual(await refused(`feeds/${data.id}/_history`), [409, 'CHANGES_OFF']);
  assert.deepEqual(await refused('notes/999999/_history'), [404, 'NOT_FOUND']);
  assert.deepEqual(await refused('notes/x/_history'), [400, 'BAD_REQUEST']);
  const note = (await write('notes', 'POST', { text: 'a' })).data.id;
  const [{ id }] = (await get(`notes/${note}/_history`)).data;
  const other = (await write('notes', 'POST', { text: 'b' })).data.id;
  assert.deepEqual(await refused(`notes/${other}/_history/${id}`), [404, 'NOT_FOUND']);
  assert.deepEqual(await refused(`notes/${note}/_history/e_x`), [404, 'NOT_FOUND']);
  assert.deepEqual(await refused(`notes/${note}/_history?after=e_x`), [400, 'BAD_REQUEST']);
  assert.deepEqual(await refused(`notes/${note}/_history?size=201`), [400, 'BAD_REQUEST']);
  assert.deepEqual(await refused(`notes/${note}/_history?wait=1`), [400, 'BAD_REQUEST']);
  assert.deepEqual(await refused(`notes/${note}/_history`, { method: 'POST', body: {} }), [405, 'METHOD_NOT_ALLOWED']);
  assert.deepEqual(await refused(`notes/${note}/_history/${id}/x`), [404, 'NOT_FOUND']);
  const item = { method: 'GET', entity: 'notes', id: `${note}/_history` };
  assert.equal((await shop.call('_batch', { method: 'POST', body: { operations: [item] } })).status, 400);
  assert.equal((await shop.call(`notes/${note}/_history`, { credential: shop.readOnlyKey })).status, 200);
});

test('a record without entries has an empty history, which is complete from then on', async () => {
  const set = async (changes: string): Promise<void> =>
    void ok(await shop.admin('entities/feeds/settings', { method: 'PUT', body: { changes } }));
  await set('off');
  const { data } = await write('feeds', 'POST', { text: 'a' });
  await set('history');
  const { data: events, meta } = await get(`feeds/${data.id}/_history`);
  assert.deepEqual(events, []);
  assert.ok(Date.parse(meta.completeSince) > 0);
  await write(`feeds/${data.id}`, 'PATCH', { text: 'b' });
  assert.equal((await get(`feeds/${data.id}/_history`)).data.length, 1);
});

test('records are indexed for history alone, and what a feed has kept is in the history that follows', async () => {
  const changes = (kept: string) => ({ notes: { fields: { text: { type: 'string' } }, settings: { changes: kept } } });
  const other = await server.workspace('acme/turned', { entities: changes('feed') });
  const [row] = await server.database.query("select database_schema as name from wda.workspace where slug = 'turned'");
  const isIndexed = async (): Promise<unknown> =>
    (await server.database.query(`select to_regclass('"${row?.name}"."$change_record"') is not null as is`))[0]?.is;
  const set = async (kept: string): Promise<void> =>
    void ok(await other.admin('entities/notes/settings', { method: 'PUT', body: { changes: kept } }));
  assert.equal(await isIndexed(), false);
  const { data } = ok(await other.call('notes', { method: 'POST', body: { text: 'a' } }));
  await set('history');
  assert.equal(await isIndexed(), true);
  assert.equal(ok(await other.call(`notes/${data.id}/_history`)).data.length, 1);
  await set('off');
  assert.equal(await isIndexed(), false);
});

test('users read the history of what they see where they may, without who made it', async () => {
  const credential = await tokenOf({ customer: 1 });
  const { data } = await write('papers', 'POST', { text: 'hidden', owner: 2 });
  const path = `papers/${data.id}/_history`;
  assert.deepEqual(await refused(path, { credential }), [404, 'NOT_FOUND']);
  await write(`papers/${data.id}`, 'PATCH', { owner: 1, text: 'shown' });
  await write(`papers/${data.id}`, 'PATCH', { text: 'mine' });
  const { data: events } = await get(path, { credential });
  assert.deepEqual(
    events.map(({ id: _, at: __, transaction: ___, version: ____, ...event }: Record<string, unknown>) => event),
    [
      {
        type: 'updated',
        entity: 'papers',
        recordId: data.id,
        changed: ['text'],
        record: { id: data.id, text: 'mine', total: null, secret: null, owner: 1 },
        previous: { text: 'shown' },
      },
      {
        type: 'created',
        entity: 'papers',
        recordId: data.id,
        record: { id: data.id, text: 'shown', total: null, secret: null, owner: 1 },
      },
    ],
  );
  const all = (await get(path)).data;
  assert.deepEqual(await refused(`${path}/${all[2].id}`, { credential }), [404, 'NOT_FOUND']);
  await write(`papers/${data.id}`, 'DELETE');
  assert.deepEqual(await refused(path, { credential }), [404, 'NOT_FOUND']);
  const note = (await write('notes', 'POST', { text: 'a' })).data.id;
  assert.deepEqual(await refused(`notes/${note}/_history`, { credential }), [403, 'FORBIDDEN']);
});

test('values are removed from a history by an owner, and the events stay', async () => {
  const { data } = await write('notes', 'POST', { text: 'private', total: 1 });
  const other = (await write('notes', 'POST', { text: 'kept' })).data.id;
  const path = `notes/${data.id}`;
  await write(path, 'PATCH', { text: 'also private' });
  await write(path, 'DELETE');
  const credential = shop.readWriteKey;
  assert.deepEqual(await refused(`${path}/_history`, { method: 'DELETE', credential }), [403, 'FORBIDDEN']);
  assert.deepEqual(await refused('notes/999999/_history', { method: 'DELETE' }), [404, 'NOT_FOUND']);
  for (let n = 0; n < 2; n++) {
    const answer = await shop.call(`${path}/_history`, { method: 'DELETE', headers: { 'idempotency-key': 'same' } });
    assert.equal(answer.status, 204, answer.text);
  }
  const { data: events } = await get(`${path}/_history`);
  const brief = events.map(({ type, cause, redacted, record, previous, changed, actor }: Record<string, unknown>) => [
    [type, cause, redacted, typeof actor],
    [record, previous, changed],
  ]);
  assert.deepEqual(
    brief,
    [
      ['removed', 'deleted', true, 'object'],
      ['updated', 'changed', true, 'object'],
      ['created', 'created', true, 'object'],
    ].map((event) => [event, [undefined, undefined, undefined]]),
  );
  assert.deepEqual(await refused(`${path}/_history/${events[1].id}`), [404, 'NOT_FOUND']);
  const feed = await get('notes/_changes?after=oldest&types=updated,removed&size=1000');
  const redacted = feed.data.filter((event: Record<string, unknown>) => event.redacted === true);
  assert.deepEqual(
    redacted.map(({ id }: { id: string }) => id),
    [events[1].id, events[0].id],
  );
  assert.equal((await get(`notes/${other}/_history`)).data[0].record.text, 'kept');
  const activity = ok(await shop.admin('activity?action=records.forget')).data;
  assert.deepEqual(
    activity.map(({ subject, details }: Record<string, unknown>) => [subject, details]),
    [[String(data.id), { changes: 3 }]],
  );
  const [{ database_schema: schema } = {}] = await server.database.query(
    "select database_schema from wda.workspace where slug = 'shop'",
  );
  const rows = await server.database.query(
    `select from "${schema}"."$change" where old::text like '%private%' or new::text like '%private%'`,
  );
  assert.deepEqual(rows, []);
});

test('history goes on behind any number of changes that its reader does not see', async () => {
  const { data } = await write('notes', 'POST', { text: 'a', total: 1 });
  const path = `notes/${data.id}/_history?fields=total`;
  await write(`notes/${data.id}`, 'PATCH', { total: 2 });
  const [{ database_schema: schema } = {}] = await server.database.query(
    "select database_schema from wda.workspace where slug = 'shop'",
  );
  await server.database.query(
    `insert into "${schema}"."$change" (entity, kind, id, old, new)
     select entity, 'u', id, new, new from "${schema}"."$change", generate_series(1, 20010)
     where id = ${data.id} and kind = 'u' and entity = (select number from "${schema}"."$changed_entity" where relation = 'notes')`,
  );
  const first = await get(path);
  assert.deepEqual(first.data, []);
  const { data: events, meta } = await get(`${path}&after=${first.meta.nextCursor}`);
  assert.deepEqual(
    [events.map(({ record }: { record: { total: number } }) => record.total), meta.nextCursor],
    [[2, 1], null],
  );
});

test('the version of an event is that of its record, also where a savepoint wrote it', async () => {
  const { data } = await write('notes', 'POST', { text: 'a' });
  const headers = { 'content-type': 'text/csv' };
  ok(
    await shop.call('notes/_import?onConflict=update', {
      method: 'POST',
      body: `id,text\n${data.id},imported\n`,
      headers,
    }),
  );
  const path = `notes/${data.id}`;
  const [{ version, record }] = (await get(`${path}/_history`)).data;
  assert.equal(record.text, 'imported');
  const answer = await shop.call(path, {
    method: 'PATCH',
    body: { text: 'b' },
    headers: { 'if-match': `"${version}"` },
  });
  assert.equal(answer.status, 200, answer.text);
});

test('older entries have the names and types of today, over several migrations', async () => {
  const settings = { changes: 'history' };
  const other = await server.workspace('acme/renamed', {
    entities: {
      items: {
        fields: { code: { type: 'string' }, size: { type: 'string' }, old: { type: 'string' }, a: { type: 'string' } },
        settings,
      },
    },
  });
  const change = async (fields: object): Promise<void> => {
    const body = { entities: { items: { fields, settings } } };
    const { json } = await other.admin('schema?wait=30&allowDestructive=true', { method: 'PUT', body });
    assert.equal(json.data?.state, 'succeeded', JSON.stringify(json));
  };
  const isNamed = async (): Promise<boolean> => {
    const [row] = await server.database.query(
      "select names -> 'columns' as names from wda.workspace where slug = 'renamed'",
    );
    return JSON.stringify(row?.names) === '{}';
  };
  const { data } = ok(await other.call('items', { method: 'POST', body: { code: 'c', size: '7', old: 'o', a: 'A' } }));
  const path = `items/${data.id}`;
  const entries = async (): Promise<unknown> =>
    ok(await other.call(`${path}/_history`)).data.map(({ record: { id: _, ...record }, unknown }: Entry) => [
      record,
      unknown,
    ]);
  // size changes its type, old is dropped, a gets the name of code, which gets another one.
  await change({
    code: { type: 'string', renamedFrom: 'a' },
    size: { type: 'integer' },
    name: { type: 'string', renamedFrom: 'code' },
  });
  const first = [{ code: 'A', size: null, name: 'c' }, ['size']];
  assert.deepEqual(await entries(), [first]);
  ok(await other.call(path, { method: 'PATCH', body: { size: 8 } }));
  assert.deepEqual(await entries(), [[{ code: 'A', size: 8, name: 'c' }, undefined], first]);
  await until('columns have their names', isNamed);
  assert.deepEqual(await entries(), [[{ code: 'A', size: 8, name: 'c' }, undefined], first]);
  // old is the name of another field, size has another name, name is dropped.
  await change({
    code: { type: 'string' },
    amount: { type: 'integer', renamedFrom: 'size' },
    old: { type: 'string' },
  });
  ok(await other.call(path, { method: 'PATCH', body: { old: 'new' } }));
  await until('columns have their names', isNamed);
  assert.deepEqual(await entries(), [
    [{ code: 'A', amount: 8, old: 'new' }, undefined],
    [{ code: 'A', amount: 8, old: null }, undefined],
    [{ code: 'A', amount: null, old: null }, ['amount']],
  ]);
  // amount changes its type again, and a is another field.
  await change({
    code: { type: 'string' },
    amount: { type: 'string' },
    old: { type: 'string' },
    a: { type: 'integer' },
  });
  await until('columns have their names', isNamed);
  assert.deepEqual(await entries(), [
    [{ code: 'A', amount: null, old: 'new', a: null }, ['amount']],
    [{ code: 'A', amount: null, old: null, a: null }, ['amount']],
    [{ code: 'A', amount: null, old: null, a: null }, ['amount']],
  ]);
  const { data: events } = ok(await other.call(`${path}/_history`));
  const entry = ok(await other.call(`${path}/_history/${events[2].id}`));
  assert.deepEqual(entry.meta, { unknown: ['amount'] });
  const body = { event: events[2].id };
  const restored = ok(await other.call(`${path}/_restore`, { method: 'POST', body })).data;
  assert.deepEqual(restored, { id: data.id, code: 'A', amount: '8', old: 'new', a: null });
});

interface Entry {
  readonly record: Readonly<Record<string, unknown>>;
  readonly unknown: readonly string[] | undefined;
}
