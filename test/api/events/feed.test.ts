// The feed of changes of an entity and of a workspace: what each source of changes looks like, what each reader sees of
// it, and where a reader goes on.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { useIssuer, useServer } from '../../support/resources.ts';
import type { Answer, Call, TestWorkspace } from '../../support/server.ts';
import { LOCAL_PROVIDER, makeUsers, type TokenOf } from '../../support/users.ts';

const SCHEMA = {
  roles: ['agent', 'late'],
  entities: {
    customers: {
      fields: { name: { type: 'string', required: true }, email: { type: 'string', unique: true } },
      settings: { changes: 'feed' },
    },
    orders: {
      fields: {
        status: { type: 'string' },
        total: { type: 'decimal', precision: 12, scale: 2 },
        paidAt: { type: 'datetime' },
        extra: { type: 'json' },
        secret: { type: 'string' },
      },
      relations: { customer: { kind: 'belongsTo', entity: 'customers', onDelete: 'cascade' } },
      rowRules: [{ column: 'customerId', claim: 'customer' }],
      settings: { changes: 'feed', changesOmit: ['secret'] },
    },
    lines: {
      fields: { text: { type: 'string' } },
      relations: { order: { kind: 'belongsTo', entity: 'orders', onDelete: 'setNull' } },
      settings: { changes: 'feed' },
    },
    tickets: {
      fields: { team: { type: 'integer' }, notes: { type: 'text' }, due: { type: 'date' } },
      settings: { changes: 'feed' },
      grants: [
        { role: 'agent', can: ['read', 'update'], where: { field: 'team', op: 'in', value: { claim: 'teams' } } },
        { role: 'agent', can: ['read'], fields: ['team'], where: { field: 'team', op: 'eq', value: 9 } },
        { role: 'late', can: ['read'], where: { field: 'due', op: 'lt', value: { now: true } } },
      ],
    },
    logs: { fields: { text: { type: 'string' } } },
  },
};

interface Event {
  readonly id: string;
  readonly type: string;
  readonly cause?: string;
  readonly entity: string;
  readonly recordId?: number;
  readonly transaction?: string;
  readonly record?: Record<string, unknown>;
  readonly previous?: Record<string, unknown>;
  readonly changed?: readonly string[];
  readonly version?: string;
  readonly actor?: Record<string, unknown> | null;
  readonly reason?: string;
}

const issuer = useIssuer();
const server = useServer(LOCAL_PROVIDER);
let shop: TestWorkspace;
let schema: string;
let tokenOf: TokenOf;
let count = 0;

async function makeShop(): Promise<void> {
  const slug = `feed${count++}`;
  shop = await server.workspace(`acme/${slug}`, SCHEMA);
  tokenOf = await makeUsers(shop, issuer);
  assert.equal((await shop.admin('identity-provider', { method: 'PUT', body: { roleClaim: 'roles' } })).status, 200);
  schema = String(
    (await server.database.query(`select database_schema as name from wda.workspace where slug = '${slug}'`))[0]?.name,
  );
}

const ok = (answer: Answer): Answer['json'] => {
  assert.ok(answer.status < 300, answer.text);
  return answer.json;
};
const write = async (path: string, method: string, body?: unknown): Promise<Answer['json']> =>
  ok(await shop.call(path, { method, body }));

/** Reads all events behind the cursor, in pages of the size. */
async function readAll(path: string, after: string, size = 100, call: Call = {}): Promise<[Event[], string]> {
  const events: Event[] = [];
  for (let cursor = after; ; ) {
    const separator = path.includes('?') ? '&' : '?';
    const { data, meta } = ok(await shop.call(`${path}${separator}after=${cursor}&size=${size}`, call));
    events.push(...data);
    cursor = meta.cursor;
    if (!meta.more) return [events, cursor];
  }
}
const now = async (path: string, call: Call = {}): Promise<string> => ok(await shop.call(path, call)).meta.cursor;
const brief = (events: readonly Event[]): string[] =>
  events.map(({ type, entity, recordId, cause }) => `${type} ${entity} ${recordId ?? ''} ${cause ?? ''}`.trim());

describe('events', () => {
  before(makeShop);

  test('are what the API answers, with who did it', async () => {
    const start = await now('orders/_changes');
    const { data: customer } = await write('customers', 'POST', { name: 'Ann' });
    const body = { status: 'open', total: 12.5, paidAt: '2026-01-31T12:00:00Z', extra: { b: 1.1, a: null } };
    const created = await shop.call('orders', {
      method: 'POST',
      body: { ...body, customerId: customer.id, secret: 'x' },
    });
    const { id, secret: _, ...shown } = created.json.data;
    const updated = await shop.call(`orders/${id}`, { method: 'PATCH', body: { status: 'paid' } });
    await write(`orders/${id}`, 'PATCH', { status: 'paid' });
    await write(`orders/${id}`, 'PATCH', { secret: 'y' });
    await write(`orders/${id}`, 'DELETE');
    const [events] = await readAll('orders/_changes?previous=true', start, 2);
    assert.deepEqual(brief(events), [
      `created orders ${id} created`,
      `updated orders ${id} changed`,
      `updated orders ${id} changed`,
      `removed orders ${id} deleted`,
    ]);
    assert.equal((await readAll('orders/_changes?fields=', 'oldest'))[0].length, 4);
    const [first, second, third, last] = events as [Event, Event, Event, Event];
    assert.deepEqual(first.record, { id, ...shown });
    assert.equal(`"${first.version}`, created.headers.get('etag')?.split('.')[0]);
    assert.deepEqual(
      [second.changed, second.previous, second.record?.status],
      [['status'], { status: 'open' }, 'paid'],
    );
    assert.equal(`"${second.version}`, updated.headers.get('etag')?.split('.')[0]);
    assert.deepEqual([third.changed, third.previous], [[], {}]);
    assert.deepEqual(last.previous, { id, ...shown, status: 'paid' });
    assert.equal(last.record, undefined);
    const { requestId, id: keyId, ...actor } = first.actor as Record<string, unknown>;
    assert.deepEqual(actor, { kind: 'key', name: 'OWNER', via: 'api' }, JSON.stringify(first.actor));
    assert.equal(requestId, created.headers.get('x-request-id'));
    assert.match(String(keyId), /^\d+$/);
    for (const event of events) assert.match(event.id, /^e_[\w-]{1,62}$/);
    const rows = await server.database.query(
      `select count(*) as n from "${schema}"."$change" where old::text like '%secret%' or new::text like '%secret%'`,
    );
    assert.equal(Number(rows[0]?.n), 0);
  });

  test('of many records are one transaction in the order of the records; refused and tried writes make none', async () => {
    const start = await now('_changes');
    const { data } = await write('orders/_bulk', 'POST', { data: [{ status: 'a' }, { status: 'b' }, { status: 'c' }] });
    const ids = data.map((one: { id: number }) => one.id);
    await write('orders/_bulk?dryRun=true', 'POST', { data: [{ status: 'd' }] });
    assert.equal(
      (await shop.call('orders/_bulk', { method: 'POST', body: { data: [{ status: 'e' }, { total: 'x' }] } })).status,
      400,
    );
    await write('_batch', 'POST', {
      operations: [
        { method: 'POST', entity: 'customers', body: { name: 'Bo' } },
        { method: 'PATCH', entity: 'orders', id: ids[1], body: { status: 'B' } },
      ],
    });
    await write('customers?onConflict=email', 'POST', { name: 'Cy', email: 'cy@example.com' });
    await write('customers?onConflict=email', 'POST', { name: 'Cyd', email: 'cy@example.com' });
    await write('customers?onConflict=email&conflict=skip', 'POST', { name: 'No', email: 'cy@example.com' });
    const [events] = await readAll('_changes', start, 3);
    assert.deepEqual(
      events.map(({ type, entity }) => `${type} ${entity}`),
      [
        ...ids.map(() => 'created orders'),
        'created customers',
        'updated orders',
        'created customers',
        'updated customers',
      ],
    );
    assert.deepEqual(
      events.slice(0, 3).map(({ recordId }) => recordId),
      ids,
    );
    assert.equal(new Set(events.slice(0, 3).map(({ transaction }) => transaction)).size, 1);
    assert.equal(events[3]?.transaction, events[4]?.transaction);
    assert.notEqual(events[2]?.transaction, events[3]?.transaction);
  });

  test('of cascades follow their cause, with its actor', async () => {
    const { data: customer } = await write('customers', 'POST', { name: 'Dee' });
    const { data: order } = await write('orders', 'POST', { customerId: customer.id });
    const { data: line } = await write('lines', 'POST', { text: 'x', orderId: order.id });
    const start = await now('_changes');
    const { headers } = await shop.call(`customers/${customer.id}`, { method: 'DELETE' });
    const [events] = await readAll('_changes', start);
    assert.deepEqual(brief(events), [
      `removed customers ${customer.id} deleted`,
      `removed orders ${order.id} deleted`,
      `updated lines ${line.id} changed`,
    ]);
    assert.deepEqual(new Set(events.map(({ actor }) => actor?.requestId)), new Set([headers.get('x-request-id')]));
    assert.equal(new Set(events.map(({ transaction }) => transaction)).size, 1);
  });

  test('of records that exchange a unique value never show the value in between', async () => {
    const { data } = await write('customers/_bulk', 'POST', {
      data: [
        { name: 'X', email: 'x@example.com' },
        { name: 'Y', email: 'y@example.com' },
      ],
    });
    const [x, y] = data.map((one: { id: number }) => one.id);
    const start = await now('customers/_changes');
    const exchanged = [
      { id: x, email: 'y@example.com' },
      { id: y, email: 'x@example.com' },
    ];
    await write('customers/_bulk', 'PATCH', { data: exchanged });
    const headers = { 'content-type': 'text/csv' };
    const csv = `id,name,email\n${x},X,x@example.com\n${y},Y,y@example.com\n`;
    ok(await shop.call('customers/_import?onConflict=update', { method: 'POST', body: csv, headers }));
    const [events] = await readAll('customers/_changes?previous=true', start);
    assert.deepEqual(
      events.map(({ recordId, changed, previous, record }) => [recordId, changed, previous?.email, record?.email]),
      [
        [x, ['email'], 'x@example.com', 'y@example.com'],
        [y, ['email'], 'y@example.com', 'x@example.com'],
        [x, ['email'], 'y@example.com', 'x@example.com'],
        [y, ['email'], 'x@example.com', 'y@example.com'],
      ],
    );
  });

  test('of SQL have no actor, and of TRUNCATE there is one for the entity', async () => {
    const start = await now('_changes');
    // A setting that a transaction makes is empty in the later ones of its session.
    await server.database.query(`begin; select set_config('wda_changes.actor', '{"kind":"operator","id":"operator"}', true); commit;
insert into "${schema}".lines (text) values ('by sql')`);
    await server.database.query(`truncate "${schema}".lines`);
    const [events] = await readAll('_changes', start);
    assert.deepEqual(
      events.map(({ type, actor, version, reason }) => [type, actor, version, reason]),
      [
        ['created', null, undefined, undefined],
        ['reset', undefined, undefined, 'truncated'],
      ],
    );
  });

  test('show records as they are stored like those that a condition compares, over changes of the schema', async () => {
    const fields = {
      text: { type: 'string' },
      total: { type: 'decimal', precision: 9, scale: 2 },
      ratio: { type: 'float' },
      count: { type: 'bigint' },
      isOpen: { type: 'boolean' },
      day: { type: 'date' },
      at: { type: 'datetime' },
      time: { type: 'time' },
      key: { type: 'uuid' },
      size: { type: 'enum', values: ['s', 'm'] },
      extra: { type: 'json' },
      secret: { type: 'string' },
      dropped: { type: 'integer' },
    };
    const settings = { changes: 'feed', changesOmit: ['secret'] };
    const all = await server.workspace('acme/stored', { entities: { things: { fields, settings } } });
    const create = async (body: object): Promise<string> =>
      `things/${ok(await all.call('things', { method: 'POST', body })).data.id}`;
    const change = async (path: string, body: object): Promise<unknown> =>
      ok(await all.call(path, { method: 'PATCH', body }));
    const path = await create({
      ...{
        text: 'a "quoted" \\ text,\n{with} [brackets] ä 😀',
        total: 12.5,
        ratio: 1e-7,
        isOpen: true,
        day: '2026-01-31',
      },
      ...{ at: '2026-01-31T12:00:00.25Z', time: '12:30:00', key: '6a5b1a52-8d3c-4d7b-9f1a-2f3f1c0e9f10', size: 's' },
      ...{ extra: { 'a"b': [1.1, { c: ']}' }], d: null }, secret: 'x', dropped: 1 },
    });
    await create({});
    await change(path, { text: null, total: 0, at: '2026-01-31T12:00:00Z', extra: [] });
    await change(path, {
      text: '',
      ratio: -2.5,
      at: '9999-01-01T00:00:00Z',
      extra: { a: {} },
      size: 'm',
      secret: 'y',
    });
    await change(path, { count: 9007199254740993n.toString(), at: null });
    const [row] = await server.database.query(
      "select database_schema as name from wda.workspace where slug = 'stored'",
    );
    const table = `"${row?.name}".things`;
    await server.database.query(
      `begin; set local time zone 'Asia/Kolkata'; update ${table} set at = '2026-05-05 05:05:05.5+00'; commit`,
    );
    const kept = Object.entries(fields).filter(([name]) => name !== 'dropped' && name !== 'count');
    const document = {
      entities: {
        things: {
          fields: {
            ...Object.fromEntries(kept),
            total: { type: 'decimal', precision: 12, scale: 4 },
            added: { type: 'string' },
            amount: { type: 'bigint', renamedFrom: 'count' },
          },
          settings,
        },
      },
    };
    const { json } = await all.admin('schema?wait=60&allowDestructive=true', { method: 'PUT', body: document });
    assert.equal(json.data?.state, 'succeeded', JSON.stringify(json));
    await change(path, { added: 'b', amount: 2 });
    ok(await all.call(path, { method: 'DELETE' }));
    // Digit by digit, without the cursor.
    const read = async (query: string): Promise<string> =>
      (await all.call(`things/_changes?after=oldest&size=1000${query}`)).text.replace(/"cursor":"[^"]*"/, '');
    assert.match(await read(''), /"amount":9007199254740993/);
    for (const query of ['', '&previous=true', '&types=created,removed', '&types=updated&previous=true']) {
      assert.equal(await read(query), await read(`${query}&filter=id,gte,0`), query);
    }
  });

  test('of an import are one for each row', async () => {
    const start = await now('_changes?entities=lines');
    const headers = { 'content-type': 'text/csv' };
    ok(await shop.call('lines/_import', { method: 'POST', body: 'text\na\nb\n', headers }));
    const [events] = await readAll('_changes?entities=lines', start);
    assert.deepEqual(
      events.map(({ type, record, actor }) => [type, record?.text, actor?.kind]),
      [
        ['created', 'a', 'key'],
        ['created', 'b', 'key'],
      ],
    );
  });

  test('go through types, fields and a filter, which is judged before and after', async () => {
    const start = await now('orders/_changes');
    const filtered = 'orders/_changes?filter=status,eq,open&fields=status';
    const from = await now(filtered);
    const { data } = await write('orders', 'POST', { status: 'new', total: 1 });
    await write(`orders/${data.id}`, 'PATCH', { status: 'open' });
    await write(`orders/${data.id}`, 'PATCH', { total: 2 });
    await write(`orders/${data.id}`, 'PATCH', { status: 'done' });
    const [events] = await readAll(filtered, from);
    assert.deepEqual(
      events.map(({ type, cause, record }) => [type, cause, record]),
      [
        ['created', 'changed', { status: 'open' }],
        ['removed', 'changed', undefined],
      ],
    );
    const types = 'orders/_changes?types=updated';
    const [updates] = await readAll(types, 'oldest');
    assert.ok(updates.length >= 3 && updates.every(({ type }) => type === 'updated'));
    assert.equal((await readAll('orders/_changes', start))[0].length, 4);
  });

  test('come by time, and a wait ends with the first one', async () => {
    const [all] = await readAll('_changes', 'oldest');
    const [since] = [ok(await shop.call('_changes?since=2020-01-01T00:00:00Z&size=1000')).data];
    assert.deepEqual(since, all);
    assert.deepEqual(ok(await shop.call('_changes?since=2100-01-01T00:00:00Z')).data, []);
    const start = await now('lines/_changes');
    const waiting = shop.call(`lines/_changes?after=${start}&wait=30`);
    await write('orders', 'POST', { status: 'of another entity' });
    await write('lines', 'POST', { text: 'awaited' });
    assert.deepEqual(
      ok(await waiting).data.map(({ record }: Event) => record?.text),
      ['awaited'],
    );
  });
});

describe('readers', () => {
  before(makeShop);

  const asUser = (claims: object): Call => ({ credential: tokenOf(claims) });

  test('see what enters and leaves their view as creation and deletion, without cause and actor', async () => {
    const { data: ann } = await write('customers', 'POST', { name: 'Ann' });
    const { data: bo } = await write('customers', 'POST', { name: 'Bo' });
    const calls = { ann: asUser({ customer: ann.id }), bo: asUser({ customer: bo.id }), none: asUser({}) };
    const start = {
      ann: await now('orders/_changes', calls.ann),
      bo: await now('orders/_changes', calls.bo),
      none: await now('orders/_changes', calls.none),
    };
    const { data: order } = await write('orders', 'POST', { status: 'open', customerId: ann.id });
    await write(`orders/${order.id}`, 'PATCH', { customerId: bo.id });
    await write(`orders/${order.id}`, 'PATCH', { status: 'paid' });
    await write(`orders/${order.id}`, 'DELETE');
    const [seenByAnn] = await readAll('orders/_changes', start.ann, 1, calls.ann);
    const [seenByBo] = await readAll('orders/_changes', start.bo, 1, calls.bo);
    assert.deepEqual(brief(seenByAnn), [`created orders ${order.id}`, `removed orders ${order.id}`]);
    assert.deepEqual(brief(seenByBo), [
      `created orders ${order.id}`,
      `updated orders ${order.id}`,
      `removed orders ${order.id}`,
    ]);
    for (const event of [...seenByAnn, ...seenByBo]) assert.equal(event.actor, undefined);
    assert.deepEqual((await readAll('orders/_changes', start.none, 9, calls.none))[0], []);
    // A gift looks as a creation, and a loss as a deletion.
    assert.deepEqual(Object.keys(seenByAnn[0] as Event), Object.keys(seenByBo[0] as Event));
    assert.deepEqual(Object.keys(seenByAnn[1] as Event), Object.keys(seenByBo[2] as Event));
  });

  test('see by their grants, with the fields of each', async () => {
    const agent = asUser({ roles: ['agent'], teams: [1] });
    const start = await now('tickets/_changes', agent);
    const { data: ticket } = await write('tickets', 'POST', { team: 1, notes: 'mine' });
    await write(`tickets/${ticket.id}`, 'PATCH', { team: 9 });
    await write(`tickets/${ticket.id}`, 'PATCH', { notes: 'unseen' });
    await write(`tickets/${ticket.id}`, 'PATCH', { team: 2 });
    const [events] = await readAll('tickets/_changes', start, 2, agent);
    assert.deepEqual(
      events.map(({ type, record, changed }) => [type, record?.notes, changed]),
      [
        ['created', 'mine', undefined],
        ['updated', null, ['team', 'notes']],
        ['removed', undefined, undefined],
      ],
    );
  });

  test('cannot tell whether hidden changes follow a full page', async () => {
    const agent = asUser({ roles: ['agent'], teams: [5] });
    const start = await now('tickets/_changes', agent);
    await write('tickets', 'POST', { team: 5 });
    await write('tickets', 'POST', { team: 6 });
    await write('tickets', 'POST', { team: 6 });
    const read = async (): Promise<Answer['json']> =>
      ok(await shop.call(`tickets/_changes?size=1&after=${start}`, agent));
    assert.equal((await read()).meta.more, false);
    await write('tickets', 'POST', { team: 5 });
    const { data, meta } = await read();
    assert.deepEqual([data.length, meta.more], [1, true]);
    assert.equal((await readAll('tickets/_changes', meta.cursor, 1, agent))[0].length, 1);
  });

  test('whose grant depends on the time are told so', async () => {
    const late = await shop.call('tickets/_changes', asUser({ roles: ['late'] }));
    assert.deepEqual([late.status, late.json.error.code], [409, 'CHANGES_UNAVAILABLE']);
    assert.match(late.json.error.message, /: grants\.2 of the entity depends on/);
    assert.equal((await shop.call('tickets/_changes', asUser({ roles: [] }))).status, 404);
  });

  test('with other claims than a cursor begin anew, and so do those of a view that an owner changes', async () => {
    const one = asUser({ customer: 1 });
    const cursor = await now('orders/_changes', one);
    const other = await shop.call(`orders/_changes?after=${cursor}`, asUser({ customer: 2 }));
    assert.deepEqual([other.status, other.json.error.code], [410, 'VIEW_CHANGED']);
    assert.equal((await shop.call(other.json.restart.replace(/^.*acme\/[^/]+\//, ''), one)).status, 200);
    const put = { method: 'PUT', body: [] };
    assert.equal((await shop.admin('entities/orders/row-rules', put)).status, 200);
    assert.equal((await shop.call(`orders/_changes?after=${cursor}`, one)).json.error.code, 'VIEW_CHANGED');
  });
});

describe('cursors', () => {
  before(makeShop);

  test('of anything else are refused', async () => {
    await write('lines', 'POST', { text: 'x' });
    const cursor = await now('lines/_changes');
    const refused = async (path: string): Promise<void> => {
      const { status, json } = await shop.call(path);
      assert.deepEqual([status, json.error?.code, json.error?.reason], [400, 'BAD_REQUEST', 'INVALID_CURSOR'], path);
    };
    const last = cursor.at(-2) === 'A' ? 'B' : 'A';
    await refused(`lines/_changes?after=${cursor.slice(0, -2)}${last}${cursor.at(-1)}`);
    await refused(`lines/_changes?after=${cursor}A`);
    await refused('lines/_changes?after=c_x');
    await refused(`orders/_changes?after=${cursor}`);
    await refused(`_changes?after=${cursor}`);
    await refused(`lines/_changes?after=${cursor}&types=created`);
    await refused(`lines/_changes?after=${cursor}&fields=text`);
    await refused(`lines/_changes?after=${cursor}&filter=text,eq,x`);
    assert.equal((await shop.call(`_changes?entities=lines&after=${cursor}`)).status, 200);
    assert.equal((await shop.call(`lines/_changes?after=${cursor}&previous=true&size=3`)).status, 200);
    const other = await server.workspace(`acme/feedOther${count++}`.toLowerCase(), SCHEMA);
    assert.equal((await other.call(`lines/_changes?after=${cursor}`)).status, 400);
  });

  test('of a place whose changes are gone say so', async () => {
    const cursor = await now('lines/_changes');
    await write('lines', 'POST', { text: 'y' });
    const [, end] = await readAll('lines/_changes', cursor);
    await server.database.query(
      `update "${schema}"."$change_progress" set expired = (select max(pos) from "${schema}"."$change_position")`,
    );
    const { status, json } = await shop.call(`lines/_changes?after=${cursor}`);
    assert.deepEqual([status, json.error.code, json.oldest], [410, 'CURSOR_EXPIRED', null]);
    assert.equal((await shop.call(`lines/_changes?after=${end}`)).status, 200);
    assert.deepEqual(ok(await shop.call('lines/_changes?after=oldest')).data, []);
    assert.equal((await shop.call('lines/_changes?since=2020-01-01T00:00:00Z')).json.error.code, 'CURSOR_EXPIRED');
  });

  test('and parameters that mean nothing here are refused', async () => {
    const message = async (path: string): Promise<string> => {
      const { status, json } = await shop.call(path);
      assert.equal(status, 400, path);
      return json.error.message;
    };
    assert.match(await message('orders/_changes?sort=id'), /^Unknown query parameter sort/);
    assert.match(await message('orders/_changes?size=1001'), /size must be an integer from 1 to 1000/);
    assert.match(await message('orders/_changes?wait=61'), /wait must be/);
    assert.match(await message('orders/_changes?types=create'), /Did you mean created/);
    assert.match(await message('orders/_changes?filter=customer.name,eq,x'), /events do not follow relations/);
    assert.match(await message('orders/_changes?fields=customer.name'), /not expanded|nothing below|Unknown field/);
    assert.match(await message('_changes?filter=status,eq,x'), /needs one entity/);
    assert.match(await message('orders/_changes?after=now&since=2026-01-01T00:00:00Z'), /do not go together/);
    assert.match(await message('orders/_changes?since=yesterday'), /ISO 8601/);
    const off = await shop.call('logs/_changes');
    assert.deepEqual([off.status, off.json.error.code], [409, 'CHANGES_OFF']);
    assert.match(await message('_changes?entities=orders,lnes'), /^entities: .*lnes.*Did you mean lines\?/);
    assert.equal((await shop.call('nope/_changes')).status, 404);
    assert.equal((await shop.call('orders/_changes', { method: 'POST', body: {} })).status, 405);
  });
});

describe('a schema that changes', () => {
  before(makeShop);

  const change = async (orders: object): Promise<void> => {
    const body = { entities: { ...SCHEMA.entities, orders: { ...SCHEMA.entities.orders, ...orders } } };
    const { json, status } = await shop.admin('schema?wait=30&allowDestructive=true', { method: 'PUT', body });
    assert.equal(json.data?.state, 'succeeded', `${status} ${JSON.stringify(json)}`);
  };

  test('makes no events of records, and old ones have the new names', async () => {
    const { data } = await write('orders', 'POST', { status: '7', total: 1.5, secret: 's' });
    const start = await now('orders/_changes');
    const { status: _, total: __, secret: ___, ...fields } = SCHEMA.entities.orders.fields;
    await change({
      fields: {
        ...fields,
        state: { type: 'string', renamedFrom: 'status' },
        total: { type: 'string' },
        hidden: { type: 'string', renamedFrom: 'secret' },
      },
      settings: { changes: 'feed', changesOmit: ['hidden'] },
    });
    const shown = async (): Promise<unknown> => {
      const [events] = await readAll('orders/_changes', 'oldest');
      return events
        .filter(({ type }) => type !== 'schema')
        .map(({ type, record }) => [type, record?.state, record?.total, record?.hidden]);
    };
    assert.deepEqual(
      (await readAll('orders/_changes', start))[0].map(({ type }) => type),
      ['schema'],
    );
    assert.deepEqual(await shown(), [['created', '7', null, undefined]]);
    const [first] = ok(await shop.call('orders/_changes?after=oldest&size=1')).data;
    assert.deepEqual(first.unknown, ['total']);
    await write(`orders/${data.id}`, 'PATCH', { total: '2', hidden: 't' });
    assert.deepEqual(await shown(), [
      ['created', '7', null, undefined],
      ['updated', '7', '2', undefined],
    ]);
    // Tables and columns get their names a moment later.
    for (;;) {
      const [row] = await server.database.query(
        `select names -> 'columns' as names from wda.workspace where database_schema = '${schema}'`,
      );
      if (JSON.stringify(row?.names) === '{}') break;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    assert.deepEqual(await shown(), [
      ['created', '7', null, undefined],
      ['updated', '7', '2', undefined],
    ]);
    await write(`orders/${data.id}`, 'PATCH', { total: '3', hidden: 'u' });
    assert.deepEqual(((await shown()) as unknown[]).at(-1), ['updated', '7', '3', undefined]);
    const rows = await server.database.query(
      `select count(*) as n from "${schema}"."$change" where kind <> 's' and concat(old, new) like '%hidden%'`,
    );
    assert.equal(Number(rows[0]?.n), 0);
  });

  test('shows no change of which an image lacks the field that a grant compares', async () => {
    const makeEntity = (level: object) => ({
      fields: { text: { type: 'string' }, level },
      settings: { changes: 'feed' },
      grants: [
        { role: 'agent', can: ['read'], where: { field: 'level', op: 'ne', value: 9 }, fields: ['text'] },
        { role: 'late', can: ['read'], fields: ['level'] },
        { role: 'late', can: ['read'], where: { not: { field: 'level', op: 'gte', value: 9 } } },
      ],
    });
    const papers = makeEntity({ type: 'integer' });
    const other = await server.workspace('acme/feedimages', { roles: ['agent', 'late'], entities: { papers } });
    const omitted = await other.admin('entities/papers/settings', {
      method: 'PUT',
      body: { changes: 'feed', changesOmit: ['level'] },
    });
    assert.match(omitted.text, /must be no field that a grant compares, and level is one/);
    for (const level of [1, 9]) ok(await other.call('papers', { method: 'POST', body: { text: `p${level}`, level } }));
    const key = async (role: string): Promise<Call> => {
      const body = { name: role, permissions: 'GRANTS', roles: [role] };
      return { credential: ok(await other.admin('api-keys', { method: 'POST', body })).data.key };
    };
    const [agent, late] = [await key('agent'), await key('late')];
    const shown = async (call: Call): Promise<unknown> =>
      ok(await other.call('papers/_changes?after=oldest', call))
        .data.filter(({ type }: Event) => type !== 'schema')
        .map(({ record }: Event) => record?.text ?? null);
    assert.deepEqual([await shown(agent), await shown(late)], [['p1'], ['p1', null]]);
    const body = { entities: { papers: makeEntity({ type: 'bigint' }) } };
    const { json } = await other.admin('schema?wait=30', { method: 'PUT', body });
    assert.equal(json.data?.state, 'succeeded', JSON.stringify(json));
    assert.deepEqual([await shown(agent), await shown(late)], [[], [null, null]]);
    ok(await other.call('papers', { method: 'POST', body: { text: 'new', level: 2 } }));
    assert.deepEqual([await shown(agent), await shown(late)], [['new'], [null, null, 'new']]);
  });

  test('turned off there is no feed, and turned on again nothing is lost from then on', async () => {
    const set = async (changes: string): Promise<void> =>
      void ok(await shop.admin('entities/lines/settings', { method: 'PUT', body: { changes } }));
    await write('lines', 'POST', { text: 'before' });
    const all = await now('_changes');
    await set('off');
    assert.equal((await shop.call('lines/_changes')).json.error.code, 'CHANGES_OFF');
    const other = await shop.call(`_changes?after=${all}`);
    assert.deepEqual([other.status, other.json.error.code], [410, 'VIEW_CHANGED'], other.text);
    assert.equal((await shop.call(other.json.restart.replace(/^.*acme\/[^/]+\//, ''))).status, 200);
    await write('lines', 'POST', { text: 'meanwhile' });
    await set('history');
    await write('lines', 'POST', { text: 'after' });
    const [events] = await readAll('lines/_changes', 'oldest');
    assert.deepEqual(
      events.map(({ type, record }) => [type, record?.text]),
      [
        ['created', 'before'],
        ['ended', undefined],
        ['created', 'after'],
      ],
    );
    ok(await shop.admin('entities/lines/settings', { method: 'PUT', body: { changes: 'feed' } }));
  });

  test('may drop the entity', async () => {
    const { lines: _, ...entities } = SCHEMA.entities;
    const { json } = await shop.admin('schema?wait=30&allowDestructive=true', { method: 'PUT', body: { entities } });
    assert.equal(json.data?.state, 'succeeded', JSON.stringify(json));
    assert.equal((await shop.call('lines/_changes')).status, 404);
    assert.equal((await shop.call('_changes?after=oldest')).status, 200);
    ok(await shop.admin('schema?wait=30', { method: 'PUT', body: SCHEMA }));
    assert.deepEqual((await readAll('lines/_changes', 'oldest'))[0], []);
  });
});
