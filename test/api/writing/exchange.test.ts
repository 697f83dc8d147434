// Unique values that records of one request take over from each other: what the records have at the end counts.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { use, useIssuer, useServer, useUsers } from '../../support/resources.ts';
import type { Answer, Call } from '../../support/server.ts';
import { LOCAL_PROVIDER } from '../../support/users.ts';

const required = true;
const unique = true;
const SCHEMA = {
  entities: {
    seats: { fields: { name: { type: 'string', unique } } },
    cards: {
      fields: {
        name: { type: 'string', required, unique, maxLength: 12 },
        code: { type: 'string', unique },
        place: { type: 'integer', required, unique, default: 0, min: -100_000, max: 100_000 },
        big: { type: 'bigint', unique },
        rank: { type: 'decimal', required, unique, precision: 8, scale: 2, min: 0 },
        weight: { type: 'float', required, unique },
        day: { type: 'date', required, unique },
        at: { type: 'datetime', required, unique, min: '2000-01-01T00:00:00Z' },
        hour: { type: 'time', required, unique },
        key: { type: 'uuid', required, unique },
        board: { type: 'integer', required },
        position: { type: 'integer', required },
        note: { type: 'text' },
      },
      relations: { seat: { kind: 'belongsTo', entity: 'seats', required, unique } },
      indexes: [{ fields: ['board', 'position'], unique }],
      timestamps: true,
    },
    flags: { fields: { color: { type: 'enum', values: ['red', 'blue', 'green'], required, unique } } },
    rows: { fields: { place: { type: 'integer', required, unique } } },
  },
} as const;

const server = useServer(LOCAL_PROVIDER);
const workspace = use(() => server.workspace('acme/exchange', SCHEMA));
const CARDS = [1, 2, 3, 4].map((n) => ({
  name: `card ${n}`,
  code: `c${n}`,
  place: n,
  big: n,
  rank: n,
  weight: n,
  day: `2026-01-0${n}`,
  at: `2026-01-0${n}T00:00:00Z`,
  hour: `0${n}:00:00`,
  key: `00000000-0000-4000-8000-00000000000${n}`,
  board: 1,
  position: n,
  seatId: n,
}));
type Card = Readonly<Record<string, unknown>> & { readonly id: number };
const cards = use(async (): Promise<readonly Card[]> => {
  await workspace.create('seats', [{ name: 'a' }, { name: 'b' }, { name: 'c' }, { name: 'd' }]);
  return (await workspace.create('cards', CARDS)) as unknown as readonly Card[];
});

const send = (path: string, data: readonly unknown[], method = 'PATCH', options: Call = {}): Promise<Answer> =>
  workspace.call(path, { method, body: { data }, ...options });
const update = (data: readonly unknown[], query = '', options: Call = {}): Promise<Answer> =>
  send(`cards/_bulk${query}`, data, 'PATCH', options);
const read = async (...names: readonly string[]): Promise<unknown[][]> => {
  const { json } = await workspace.call('cards?sort=id&size=4');
  return json.data.map((card: Card) => names.map((name) => card[name]));
};
const done = (answer: Answer, status = 200): Answer => {
  assert.equal(answer.status, status, answer.text);
  return answer;
};

describe('two records exchange', () => {
  for (const name of Object.keys(CARDS[0] as object).filter((each) => each !== 'board'))
    test(name, async () => {
      const [one, two] = (await workspace.call('cards?sort=id&size=2')).json.data as [Card, Card];
      const answer = done(
        await update([
          { id: one.id, [name]: two[name] },
          { id: two.id, [name]: one[name] },
        ]),
      );
      const told = answer.json.data.map((card: Card) => ({ ...card, updatedAt: null }));
      assert.deepEqual(told, [
        { ...one, updatedAt: null, [name]: two[name] },
        { ...two, updatedAt: null, [name]: one[name] },
      ]);
      const [a, b] = answer.json.data;
      assert.equal(a.updatedAt, b.updatedAt);
      assert.deepEqual(await read(name).then((rows) => rows.slice(0, 2)), [[two[name]], [one[name]]]);
    });

  test('all of their values, as an update and as an upsert', async () => {
    const [one, two] = (await workspace.call('cards?sort=id&size=2')).json.data as [Card, Card];
    const bare = ({ id, createdAt, updatedAt, ...values }: Card) => values;
    done(
      await update([
        { id: one.id, ...bare(two) },
        { id: two.id, ...bare(one) },
      ]),
    );
    const answer = done(
      await send(
        'cards/_bulk?onConflict=id',
        [
          { id: one.id, ...bare(one) },
          { id: two.id, ...bare(two) },
        ],
        'POST',
      ),
    );
    assert.deepEqual(answer.json.meta, { inserted: 0, updated: 2 });
    assert.deepEqual(
      answer.json.data.map((card: Card) => bare(card)),
      [bare(one), bare(two)],
    );
  });

  test('a value of three, one of which is free', async () => {
    const [red, blue] = (await workspace.create('flags', [{ color: 'red' }, { color: 'blue' }])) as unknown as Card[];
    let answer: Answer | undefined;
    // Spare values are drawn, and may be those of the other record.
    for (let attempt = 0; attempt < 20 && answer?.status !== 200; attempt++)
      answer = await send('flags/_bulk', [
        { id: red?.id, color: 'blue' },
        { id: blue?.id, color: 'red' },
      ]);
    assert.deepEqual(done(answer as Answer).json.data, [
      { id: red?.id, color: 'blue' },
      { id: blue?.id, color: 'red' },
    ]);
  });
});

test('a thousand records move up by one, whatever their order', async () => {
  const rows = Array.from({ length: 1000 }, (_, place) => ({ place }));
  const made = done(await send('rows/_bulk', rows, 'POST'), 201).json.data as { id: number; place: number }[];
  const moved = made.map(({ id, place }) => ({ id, place: place + 1 }));
  for (const data of [moved, moved.toReversed().map(({ id, place }) => ({ id, place: place + 1 }))])
    assert.deepEqual(done(await send('rows/_bulk', data)).json.data, data);
  assert.equal((await workspace.call('rows?size=1')).json.meta.totalElements, 1000);
});

test('a record takes over the value of one that gives it up, and a new one the value of the other', async () => {
  const [one, two] = (await workspace.call('cards?sort=id&size=2')).json.data as [Card, Card];
  done(
    await update([
      { id: one.id, code: two.code },
      { id: two.id, code: null },
    ]),
  );
  done(
    await update([
      { id: one.id, code: null },
      { id: two.id, code: one.code },
    ]),
  );
  const { id, createdAt, updatedAt, ...values } = one;
  const fifth = {
    ...CARDS[3],
    name: 'card 5',
    place: 5,
    big: 5,
    rank: 5,
    weight: 5,
    day: '2026-01-05',
    at: '2026-02-05T00:00:00Z',
    hour: '05:00:00',
    key: '00000000-0000-4000-8000-000000000005',
    position: 5,
  };
  await workspace.create('seats', [{ name: 'e' }]);
  const answer = done(
    await send(
      'cards/_bulk?onConflict=name',
      [
        { ...fifth, seatId: 5, code: one.code },
        {
          ...values,
          name: two.name,
          code: 'new',
          seatId: two.seatId,
          place: two.place,
          big: two.big,
          rank: two.rank,
          weight: two.weight,
          day: two.day,
          at: two.at,
          hour: two.hour,
          key: two.key,
          position: two.position,
        },
      ],
      'POST',
    ),
  );
  assert.deepEqual(answer.json.meta, { inserted: 1, updated: 1 });
  done(await workspace.call(`cards/${answer.json.data[0].id}`, { method: 'DELETE' }), 204);
});

describe('the write is otherwise what it was', () => {
  const swap = async (): Promise<[Card, Card, { id: number; code: unknown }[]]> => {
    done(
      await update([
        { id: cards[0]?.id, code: 'A' },
        { id: cards[1]?.id, code: 'B' },
      ]),
    );
    const [one, two] = (await workspace.call('cards?sort=id&size=2')).json.data as [Card, Card];
    return [
      one,
      two,
      [
        { id: one.id, code: two.code },
        { id: two.id, code: one.code },
      ],
    ];
  };

  test('versions that do not match refuse it, and new ones are told', async () => {
    const [, , data] = await swap();
    const versions = (await workspace.call('cards?sort=id&size=2&versions=true')).json.meta.versions as string[];
    const stale = await update([
      { ...data[0], $version: versions[0] },
      { ...data[1], $version: '1.x' },
    ]);
    assert.deepEqual([stale.status, stale.json.error.details[0].index], [412, 1], stale.text);
    const answer = done(
      await update(
        data.map((item, index) => ({ ...item, $version: versions[index] })),
        '?versions=true',
      ),
    );
    const now = (await workspace.call('cards?sort=id&size=2&versions=true')).json.meta.versions;
    assert.deepEqual(answer.json.meta.versions, now);
    assert.notDeepEqual(now, versions);
  });

  test('a dry run is the same, and undone', async () => {
    const [one, two, data] = await swap();
    const dry = done(await update(data, '?dryRun=true'));
    assert.deepEqual(
      dry.json.data.map(({ code }: Card) => code),
      [two.code, one.code],
    );
    assert.deepEqual((await read('code')).slice(0, 2), [[one.code], [two.code]]);
  });

  test('with a key it is done once', async () => {
    const [one, two, data] = await swap();
    const headers = { 'idempotency-key': 'swap' };
    const first = done(await update(data, '', { headers }));
    const second = done(await update(data, '', { headers }));
    assert.equal(second.text, first.text);
    assert.deepEqual((await read('code')).slice(0, 2), [[two.code], [one.code]]);
  });

  test('a value that is taken at the end is refused with its place', async () => {
    const [one, two, data] = await swap();
    const third = cards[2] as Card;
    const refused = await update([...data, { id: third.id, code: two.code }]);
    assert.equal(refused.status, 409, refused.text);
    assert.deepEqual(
      refused.json.error.details.map(({ index, field, message }: Record<string, string>) => [index, field, message]),
      [
        [0, 'code', 'must be unique: record 2 of the request has this value, too'],
        [2, 'code', 'must be unique: record 0 of the request has this value, too'],
      ],
    );
    const taken = await update([
      { id: one.id, code: two.code },
      { id: two.id, code: third.code },
    ]);
    assert.deepEqual([taken.status, taken.json.error.details.length], [409, 1], taken.text);
    assert.equal(taken.json.error.details[0].index, 1);
    assert.deepEqual((await read('code')).slice(0, 2), [[one.code], [two.code]]);
  });

  test('a reference to nobody refuses it', async () => {
    const [first, second] = (await workspace.call('cards?sort=id&size=2')).json.data as [Card, Card];
    const refused = await update([
      { id: first.id, seatId: second.seatId, name: second.name },
      { id: second.id, seatId: 99, name: first.name },
    ]);
    assert.deepEqual(
      [refused.status, refused.json.error.details],
      [
        400,
        [{ index: 1, field: 'seatId', code: 'REFERENCE_NOT_FOUND', message: 'refers to a record that does not exist' }],
      ],
    );
  });

  test('many at once do it one after the other', async () => {
    const [one, two] = await swap();
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, n) =>
        update(
          n % 2 === 0
            ? [
                { id: one.id, code: 'B' },
                { id: two.id, code: 'A' },
              ]
            : [
                { id: two.id, code: 'B' },
                { id: one.id, code: 'A' },
              ],
        ),
      ),
    );
    for (const answer of answers) assert.ok(answer.status === 200 || answer.status === 503, answer.text);
    const codes = (await read('code')).slice(0, 2).flat().sort();
    assert.deepEqual(codes, ['A', 'B']);
  });
});

test('records keep their values when one of the request is gone before it is written', async () => {
  const made = await server.workspace('acme/exchange-gone', {
    entities: { rows: { fields: { code: { type: 'string', unique } } } },
  });
  await made.create('rows', [{ code: 'a' }, { code: 'b' }, { code: 'c' }]);
  const [place] = await server.database.query(
    "select database_schema as schema from wda.workspace where slug = 'exchange-gone'",
  );
  // Deletes the third record between the statement that gives up the values and the one that writes.
  await server.database.query(`
    create function "${place?.schema}".remove_third() returns trigger language plpgsql as
      'begin delete from "${place?.schema}".rows where id = 3; return new; end';
    create trigger remove_third before update on "${place?.schema}".rows for each row
      when (new.code is null) execute function "${place?.schema}".remove_third()`);
  const swapped = [
    { id: 1, code: 'b' },
    { id: 2, code: 'a' },
    { id: 3, code: 'd' },
  ];
  const answer = await made.call('rows/_bulk', { method: 'PATCH', body: { data: swapped } });
  assert.deepEqual([answer.status, answer.json.error.reason], [503, 'RECORD_BUSY'], answer.text);
  const { json } = await made.call('rows?sort=id');
  assert.deepEqual(
    json.data.map(({ code }: Card) => code),
    ['a', 'b', 'c'],
  );
});

describe('a user who sees some records', () => {
  const ruled = use(async () => {
    const made = await server.workspace('acme/exchange-rules', {
      entities: {
        boards: { fields: { owner: { type: 'string' } }, rowRules: [{ column: 'owner', claim: 'sub' }] },
        cards: {
          fields: {
            owner: { type: 'string', required },
            code: { type: 'string', required, unique },
            slot: { type: 'integer', required },
          },
          relations: { board: { kind: 'belongsTo', entity: 'boards' } },
          indexes: [
            { fields: ['owner', 'slot'], unique },
            { fields: ['boardId', 'slot'], unique },
          ],
          rowRules: [{ column: 'owner', claim: 'sub' }],
        },
      },
    });
    await made.create('boards', [{ owner: 'you' }]);
    await made.create('cards', [
      { owner: 'me', code: 'a', slot: 1, boardId: 1 },
      { owner: 'me', code: 'b', slot: 2, boardId: 1 },
      { owner: 'you', code: 'c', slot: 1 },
    ]);
    return made;
  });
  const tokenOf = useUsers(ruled, useIssuer());
  const mine = (data: readonly unknown[]): Promise<Answer> =>
    ruled.call('cards/_bulk', { method: 'PATCH', body: { data }, credential: tokenOf({ sub: 'me' }) });

  test('exchanges values of own records, whose hidden references stay', async () => {
    const answer = done(
      await mine([
        { id: 1, code: 'b', slot: 2, boardId: 1 },
        { id: 2, code: 'a', slot: 1, boardId: 1 },
      ]),
    );
    assert.deepEqual(answer.json.data, [
      { id: 1, owner: 'me', code: 'b', slot: 2, boardId: 1 },
      { id: 2, owner: 'me', code: 'a', slot: 1, boardId: 1 },
    ]);
  });

  test('changes nothing of a hidden one', async () => {
    const before = (await ruled.call('cards/3')).text;
    for (const id of [3, 99])
      assert.equal(
        (
          await mine([
            { id: 1, code: 'c' },
            { id, code: 'b' },
          ])
        ).status,
        404,
      );
    const taken = await mine([
      { id: 2, slot: 7 },
      { id: 1, code: 'c' },
    ]);
    assert.deepEqual(
      [taken.status, taken.json.error.details],
      [
        409,
        [{ index: 1, field: 'code', code: 'NOT_UNIQUE', message: 'must be unique: another record has this value' }],
      ],
    );
    assert.equal((await ruled.call('cards/3')).text, before);
  });
});

describe('an import', () => {
  const stock = use(() =>
    server.workspace('acme/exchange-files', {
      entities: {
        items: {
          fields: {
            sku: { type: 'string', required, unique },
            place: { type: 'integer', required, unique },
            shelf: { type: 'integer' },
            slot: { type: 'integer' },
          },
          indexes: [{ fields: ['shelf', 'slot'], unique }],
        },
      },
    }),
  );
  const load = (query: string, body: string, type = 'text/csv'): Promise<Answer> =>
    stock.call(`items/_import?onConflict=update${query}`, { method: 'POST', body, headers: { 'content-type': type } });
  const rows = async (): Promise<unknown[]> =>
    (await stock.call('items?sort=id')).json.data.map(({ sku, place, shelf, slot }: Card) => [sku, place, shelf, slot]);

  test('exchanges values of records that it finds by id', async () => {
    await stock.create('items', [
      { sku: 'a', place: 1, shelf: 1, slot: 1 },
      { sku: 'b', place: 2, shelf: 1, slot: 2 },
      { sku: 'c', place: 3 },
    ]);
    const answer = done(await load('', 'id,sku,place,shelf,slot\n1,b,2,1,2\n2,a,1,1,1\n,d,4,,\n'));
    assert.deepEqual(answer.json.data, { inserted: 1, updated: 2, skipped: 0 });
    assert.deepEqual(await rows(), [
      ['b', 2, 1, 2],
      ['a', 1, 1, 1],
      ['c', 3, null, null],
      ['d', 4, null, null],
    ]);
  });

  test('and by other fields, one after the other', async () => {
    done(await load('&conflictOn=sku', 'sku,place\na,2\nb,3\nc,4\nd,5\ne,1\n'));
    assert.deepEqual(
      (await rows()).map((row) => (row as unknown[]).slice(0, 2)),
      [
        ['b', 3],
        ['a', 2],
        ['c', 4],
        ['d', 5],
        ['e', 1],
      ],
    );
  });

  test('also where rows give different fields', async () => {
    const lines = [
      { id: 1, place: 2 },
      { id: 2, place: 3 },
      { id: 3, shelf: 7 },
    ];
    done(await load('', lines.map((line) => JSON.stringify(line)).join('\n'), 'application/x-ndjson'));
    const taken = await load('', '{"id":1,"place":4}\n{"id":3,"shelf":8}', 'application/x-ndjson');
    assert.deepEqual([taken.status, taken.json.error.details[0].row], [409, 1], taken.text);
    assert.deepEqual((await rows()).slice(0, 3), [
      ['b', 2, 1, 2],
      ['a', 3, 1, 1],
      ['c', 4, 7, null],
    ]);
  });

  test('a value that another record keeps is taken', async () => {
    const taken = await load('', 'id,sku,place,shelf,slot\n1,a,2,1,2\n3,b,4,7,\n');
    assert.deepEqual([taken.status, taken.json.error.details[0].row], [409, 1], taken.text);
  });
});

test('an upsert leaves no spare value in a record whose key changes meanwhile', async () => {
  const fields = {
    code: { type: 'string', required, unique },
    place: { type: 'integer', unique },
    large: { type: 'bigint', required, unique, min: 1_000_000_000_000 },
  };
  const made = await server.workspace('acme/exchange-keys', { entities: { items: { fields } } });
  const large = [1_000_000_000_001, 1_000_000_000_002];
  await made.create('items', [
    { code: 'a', place: 1, large: large[0] },
    { code: 'b', place: 2, large: large[1] },
  ]);
  const upsert = (a: number, b: number): Promise<Answer> =>
    made.call('items/_bulk?onConflict=code', {
      method: 'POST',
      body: {
        data: [
          { code: 'a', place: a + 1, large: large[a] },
          { code: 'b', place: b + 1, large: large[b] },
        ],
      },
    });
  const rename = (code: string): Promise<Answer> => made.call('items/1', { method: 'PATCH', body: { code } });
  let isDone = false;
  const renaming = (async () => {
    for (let turn = 0; !isDone; turn++) assert.equal((await rename(turn % 2 === 0 ? 'z' : 'a')).status, 200);
  })();
  for (let turn = 0; turn < 60; turn++) {
    const answer = await upsert(turn % 2, 1 - (turn % 2));
    assert.ok([200, 409, 503].includes(answer.status), answer.text);
    const { data } = (await made.call('items')).json;
    const isExchanged = data.every((item: Card) => item.place === (item.large === large[0] ? 1 : 2));
    assert.ok(isExchanged && data.length === 2, JSON.stringify(data));
  }
  isDone = true;
  await renaming;
});
