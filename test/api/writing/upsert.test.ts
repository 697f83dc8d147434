// A create that finds a record with the same key: one record, whoever else writes, and nothing told of hidden ones.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { use, useDatabase, useIssuer, useServer, useUsers } from '../../support/resources.ts';
import type { Answer, Call } from '../../support/server.ts';
import { keptTotal } from '../../support/stored-totals.ts';
import { LOCAL_PROVIDER } from '../../support/users.ts';
import { until } from '../../support/wait-until.ts';

const SCHEMA = {
  entities: {
    teams: { fields: { name: { type: 'string', unique: true } }, rowRules: [] },
    people: {
      fields: {
        name: { type: 'string', required: true },
        email: { type: 'string', unique: true },
        seenAt: { type: 'datetime', unique: true },
        rank: { type: 'decimal', precision: 8, scale: 2, unique: true },
        number: { type: 'integer' },
        note: { type: 'text', default: 'new' },
      },
      relations: { team: { kind: 'belongsTo', entity: 'teams' } },
      indexes: [{ fields: ['teamId', 'number'], unique: true }],
      timestamps: true,
    },
  },
} as const;

const database = useDatabase();
const server = useServer(LOCAL_PROVIDER, { database });
const workspace = use(async () => {
  const made = await server.workspace('acme/upsert', SCHEMA);
  await made.create('teams', [{ name: 'red' }, { name: 'blue' }]);
  return made;
});

const post = (query: string, body: unknown, options: Call = {}): Promise<Answer> =>
  workspace.call(`people?${query}`, { method: 'POST', body, ...options });
const read = async (id: number): Promise<Readonly<Record<string, unknown>>> =>
  (await workspace.call(`people/${id}`)).json.data;
const countOf = async (filter: string): Promise<number> =>
  (await workspace.call(`people?size=1&filter=${filter}`)).json.meta.totalElements;

interface Detail {
  readonly index?: number;
  readonly field: string;
  readonly code: string;
  readonly message: string;
}
function refused(answer: Answer, status: number, code: string): { message: string; details: Detail[] } {
  assert.deepEqual([answer.status, answer.json?.error?.code], [status, code], answer.text);
  return answer.json.error;
}

describe('one record', () => {
  test('is created, and then changed in what the body gives', async () => {
    const made = await post('onConflict=email', { name: 'Ann', email: 'ann@x', number: 1 });
    assert.equal(made.status, 201, made.text);
    const { id, createdAt } = made.json.data;
    assert.equal(made.headers.get('location'), `/api/v1/acme/upsert/people/${id}`);
    assert.equal(made.json.data.note, 'new');
    const changed = await post('onConflict=email', { email: 'ann@x', name: 'Anna', note: null });
    assert.equal(changed.status, 200, changed.text);
    assert.equal(changed.headers.get('location'), null);
    assert.deepEqual(changed.json.data, {
      ...made.json.data,
      name: 'Anna',
      note: null,
      updatedAt: changed.json.data.updatedAt,
    });
    assert.notEqual(changed.json.data.updatedAt, createdAt);
    const single = await workspace.call(`people/${id}`);
    assert.equal(changed.headers.get('etag'), single.headers.get('etag'));
    assert.notEqual(made.headers.get('etag'), single.headers.get('etag'));
    const ifMatch = { 'if-match': changed.headers.get('etag') ?? '' };
    assert.equal(
      (await workspace.call(`people/${id}`, { method: 'PUT', headers: ifMatch, body: { number: 2 } })).status,
      200,
    );
  });

  test('is left as it is with conflict=skip, and by a body of its key alone', async () => {
    const made = await post('onConflict=email&conflict=skip', { name: 'Ben', email: 'ben@x' });
    assert.equal(made.status, 201, made.text);
    const left = await post('onConflict=email&conflict=skip', { name: 'Other', email: 'ben@x', note: 'other' });
    assert.equal(left.status, 200);
    assert.deepEqual(left.json, made.json);
    assert.equal(left.headers.get('etag'), made.headers.get('etag'));
    const named = await workspace.call('teams?onConflict=name', { method: 'POST', body: { name: 'red' } });
    assert.deepEqual([named.status, named.json], [200, { data: { id: 1, name: 'red' } }]);
  });

  test('null is no conflict, and each part of a key counts', async () => {
    const none = [];
    for (let n = 0; n < 2; n++) none.push(await post('onConflict=email', { name: 'Nobody', email: null }));
    assert.deepEqual(
      none.map(({ status }) => status),
      [201, 201],
    );
    const key = 'onConflict=number,teamId';
    const first = await post(key, { name: 'First', teamId: 1, number: 7 });
    const other = await post(key, { name: 'Other', teamId: 2, number: 7 });
    const again = await post(key, { name: 'Again', teamId: 1, number: 7 });
    const half = await post(key, { name: 'Half', teamId: null, number: 7 });
    assert.deepEqual(
      [first, other, again, half].map(({ status }) => status),
      [201, 201, 200, 201],
    );
    assert.equal(again.json.data.id, first.json.data.id);
  });

  test('values of a key are those that the column has', async () => {
    for (const [field, one, same] of [
      ['rank', 1.5, '1.50'],
      ['seenAt', '2026-01-01T00:00:00.1234Z', '2026-01-01T01:00:00.123+01:00'],
    ] as const) {
      const made = await post(`onConflict=${field}`, { name: 'a', [field]: one });
      assert.equal(made.status, 201, made.text);
      for (const conflict of ['skip', 'update']) {
        const found = await post(`onConflict=${field}&conflict=${conflict}`, { name: 'b', [field]: same });
        assert.deepEqual([found.status, found.json.data?.id], [200, made.json.data.id], found.text);
      }
    }
  });

  test('an owner upserts by id, and later ids are others', async () => {
    const byId = (id: unknown, name = 'x') => post('onConflict=id', { id, name });
    const { id: last } = (await post('', { name: 'last' })).json.data;
    const made = await byId(last + 3);
    assert.deepEqual([made.status, made.json.data.id], [201, last + 3], made.text);
    assert.equal((await byId(String(last + 3), 'changed')).status, 200);
    assert.equal((await read(last + 3)).name, 'changed');
    assert.equal((await post('', { name: 'next' })).json.data.id, last + 4);
    assert.equal((await byId(last + 1_000_000)).status, 201);
    assert.equal((await post('', { name: 'next' })).json.data.id, last + 1_000_001);
    for (const [id, code] of [
      [undefined, 'REQUIRED'],
      [null, 'REQUIRED'],
      [0, 'OUT_OF_RANGE'],
      ['9007199254740992', 'OUT_OF_RANGE'],
      [1.5, 'TYPE_MISMATCH'],
    ] as const) {
      const { details } = refused(await byId(id), 400, 'VALIDATION_FAILED');
      assert.deepEqual([details[0]?.field, details[0]?.code], ['id', code]);
    }
  });

  test('every mistake is told, and the key must be given', async () => {
    const { details } = refused(
      await post('onConflict=email', { number: 'x', nme: 1, teamId: 99 }),
      400,
      'VALIDATION_FAILED',
    );
    assert.deepEqual(
      details.map(({ field, code }) => [field, code]),
      [
        ['number', 'TYPE_MISMATCH'],
        ['nme', 'UNKNOWN_FIELD'],
        ['name', 'REQUIRED'],
        ['email', 'REQUIRED'],
        ['teamId', 'REFERENCE_NOT_FOUND'],
      ],
    );
    // It might create, so it gives what a create must give.
    await post('onConflict=email', { name: 'Eve', email: 'eve@x' });
    const short = refused(await post('onConflict=email', { email: 'eve@x', note: '' }), 400, 'VALIDATION_FAILED');
    assert.deepEqual(short.details[0]?.field, 'name');
    const lost = refused(
      await post('onConflict=email', { name: 'Eve', email: 'eve@x', teamId: 99 }),
      400,
      'VALIDATION_FAILED',
    );
    assert.equal(lost.details[0]?.code, 'REFERENCE_NOT_FOUND');
  });

  test('another unique field is a conflict as for a create', async () => {
    await post('', { name: 'Fay', email: 'fay@x', rank: 100 });
    await post('', { name: 'Gil', email: 'gil@x', rank: 200 });
    const created = refused(await post('', { name: 'New', rank: 100 }), 409, 'CONFLICT');
    const changed = refused(
      await post('onConflict=email', { name: 'Gil', email: 'gil@x', rank: 100 }),
      409,
      'CONFLICT',
    );
    assert.deepEqual(changed, created);
  });

  for (const [name, query, message] of [
    [
      'a field that is not unique',
      'onConflict=name',
      'onConflict must name exactly the fields of one unique field or index of people, and name are none. Possible: id; teamId,number; email; seenAt; rank',
    ],
    ['a part of an index', 'onConflict=number', /and number are none. Possible/],
    ['more than an index', 'onConflict=email,number', /and email,number are none. Possible/],
    ['a typo', 'onConflict=emial', /and emial are none. Did you mean email\? Possible/],
    ['a mode', 'onConflict=skip', /and skip are none\. Did you mean conflict=skip\? Possible/],
    ['nothing', 'onConflict=', /and an empty text are none\. Possible: id; teamId,number; email/],
    ['an empty name', 'onConflict=email,', /and email, are none\. Possible: id; /],
  ] as const)
    test(`is refused: ${name}`, async () => {
      const told = refused(await post(query, { name: 'x' }), 400, 'BAD_REQUEST').message;
      if (message instanceof RegExp) assert.match(told, message);
      else assert.equal(told, message);
    });

  test('If-Match asks for a version of what might not be there', async () => {
    const answer = await post('onConflict=email', { name: 'x', email: 'x' }, { headers: { 'if-match': '"1.a"' } });
    assert.match(refused(answer, 400, 'BAD_REQUEST').message, /^If-Match does not go together with onConflict/);
  });

  test('of many at once with one key one creates, and the others change or find its record', async () => {
    for (const conflict of ['update', 'skip'])
      for (let round = 0; round < 10; round++) {
        const email = `${conflict}${round}@many`;
        const answers = await Promise.all(
          Array.from({ length: 20 }, (_, n) =>
            post(`onConflict=email&conflict=${conflict}`, { name: `n${n}`, email, number: n, teamId: null }),
          ),
        );
        assert.equal(answers.filter(({ status }) => status === 201).length, 1);
        for (const { status, text } of answers) assert.ok(status <= 201, text);
        assert.equal(new Set(answers.map(({ json }) => json.data.id)).size, 1);
        assert.equal(await countOf(`email,eq,${email}`), 1);
      }
  });
});

const bulk = (query: string, data: readonly unknown[], options: Call = {}): Promise<Answer> =>
  workspace.call(`people/_bulk?${query}`, { method: 'POST', body: { data }, ...options });
const places = (details: readonly Detail[]) => details.map(({ index, field, code }) => [index, field, code]);

describe('many records', () => {
  test('are created and changed, in the order sent, each in what it gives', async () => {
    const [old] = (await bulk('', [{ name: 'Old', email: 'old@b', number: 3 }])).json.data;
    const answer = await bulk('onConflict=email', [
      { name: 'New', email: 'new@b', note: 'mine' },
      { name: 'Changed', email: 'old@b', note: null },
      { name: 'Nobody', email: null },
      { name: 'Nobody', email: null, number: 5 },
    ]);
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(answer.json.meta, { inserted: 3, updated: 1 });
    const shown = answer.json.data.map(({ name, email, note, number }: Record<string, unknown>) => [
      name,
      email,
      note,
      number,
    ]);
    assert.deepEqual(shown, [
      ['New', 'new@b', 'mine', null],
      ['Changed', 'old@b', null, 3],
      ['Nobody', null, 'new', null],
      ['Nobody', null, 'new', 5],
    ]);
    assert.equal(answer.json.data[1].id, old.id);
    assert.equal(answer.json.data[1].createdAt, old.createdAt);
    assert.deepEqual(await read(old.id), answer.json.data[1]);
  });

  test('with the same fields each, with ids alone, and none', async () => {
    const again = (n: number) => [
      { name: `a${n}`, email: 'a@same' },
      { name: `b${n}`, email: 'b@same' },
    ];
    const first = await bulk('onConflict=email&return=minimal', again(1));
    const second = await bulk('onConflict=email&return=minimal', again(2).toReversed());
    assert.deepEqual(first.json.meta, { inserted: 2, updated: 0 });
    assert.deepEqual(second.json, { data: first.json.data.toReversed(), meta: { inserted: 0, updated: 2 } });
    assert.equal((await read(first.json.data[0].id)).name, 'a2');
    assert.equal((await bulk('onConflict=email', [])).text, '{"data":[],"meta":{"inserted":0,"updated":0}}');
  });

  test('conflict=skip answers what is there', async () => {
    const [old] = (await bulk('', [{ name: 'Old', email: 'old@skip' }])).json.data;
    const answer = await bulk('onConflict=email&conflict=skip', [
      { name: 'New', email: 'new@skip' },
      { name: 'Other', email: 'old@skip', number: 1 },
      { name: 'Null', email: null },
      { name: 'Null', email: null },
    ]);
    assert.deepEqual(answer.json.meta, { inserted: 3, updated: 0 }, answer.text);
    assert.deepEqual(answer.json.data[1], old);
    const keys = await workspace.call('teams/_bulk?onConflict=name', {
      method: 'POST',
      body: { data: [{ name: 'blue' }, { name: 'green' }, { name: 'red' }] },
    });
    assert.deepEqual(keys.json.meta, { inserted: 1, updated: 2 });
    assert.deepEqual(
      keys.json.data.map(({ name }: { name: string }) => name),
      ['blue', 'green', 'red'],
    );
  });

  test('by ids, as an owner', async () => {
    const [last] = (await bulk('', [{ name: 'last' }])).json.data;
    const ids = [last.id + 5, last.id, last.id + 2];
    const answer = await bulk(
      'onConflict=id',
      ids.map((id) => ({ id, name: `n${id}` })),
    );
    assert.deepEqual(answer.json.meta, { inserted: 2, updated: 1 }, answer.text);
    assert.deepEqual(
      answer.json.data.map(({ id, name }: Record<string, unknown>) => [id, name]),
      ids.map((id) => [id, `n${id}`]),
    );
    assert.equal((await post('', { name: 'next' })).json.data.id, last.id + 6);
  });

  test('two of one key are a conflict that names both, and nothing is written', async () => {
    await bulk('', [{ name: 'Old', email: 'old@twice' }]);
    for (const email of ['old@twice', 'new@twice'])
      for (const conflict of ['update', 'skip']) {
        const { details, message } = refused(
          await bulk(`onConflict=email&conflict=${conflict}`, [
            { name: 'first', email },
            { name: 'between', email: 'between@twice' },
            { name: 'second', email },
          ]),
          409,
          'CONFLICT',
        );
        assert.equal(message, 'Records of the request have the same email');
        assert.deepEqual(places(details), [
          [0, 'email', 'NOT_UNIQUE'],
          [2, 'email', 'NOT_UNIQUE'],
        ]);
      }
    assert.equal(await countOf('email,endsWith,@twice'), 1);
    assert.equal(await countOf('name,in,first,second,between'), 0);
  });

  test('another unique field is told with the record that gives it', async () => {
    await bulk('', [
      { name: 'One', email: 'one@other', rank: 501 },
      { name: 'Two', email: 'two@other', rank: 502 },
    ]);
    const { details } = refused(
      await bulk('onConflict=email', [
        { name: 'One', email: 'one@other', rank: 501 },
        { name: 'Two', email: 'two@other', rank: 501 },
        // Free, as the second record gives it up.
        { name: 'New', email: 'new@other', rank: 502 },
      ]),
      409,
      'CONFLICT',
    );
    assert.deepEqual(places(details), [
      [0, 'rank', 'NOT_UNIQUE'],
      [1, 'rank', 'NOT_UNIQUE'],
    ]);
    assert.equal(await countOf('email,eq,new@other'), 0);
  });

  test('mistakes have their place', async () => {
    const wrong = await bulk('onConflict=email', [
      { name: 'x' },
      { email: 'y' },
      5,
      { name: 'z', email: 'z', teamId: 99 },
    ]);
    assert.deepEqual(places(refused(wrong, 400, 'VALIDATION_FAILED').details), [
      [0, 'email', 'REQUIRED'],
      [1, 'name', 'REQUIRED'],
      [2, null, 'TYPE_MISMATCH'],
    ]);
    for (const conflict of ['update', 'skip']) {
      const lost = await bulk(`onConflict=email&conflict=${conflict}`, [
        { name: 'x', email: 'x@lost' },
        { name: 'y', email: 'y@lost', teamId: 99 },
      ]);
      assert.deepEqual(places(refused(lost, 400, 'VALIDATION_FAILED').details), [[1, 'teamId', 'REFERENCE_NOT_FOUND']]);
    }
    refused(await bulk('onConflict=name', []), 400, 'BAD_REQUEST');
    refused(await bulk('onConflict=email', [], { headers: { 'if-match': '*' } }), 400, 'BAD_REQUEST');
  });

  test('of the same records from many at once, in any order, each is created once', async () => {
    for (const conflict of ['update', 'skip']) {
      const emails = Array.from({ length: 100 }, (_, n) => `${conflict}${n}@bulk`);
      for (let round = 0; round < 3; round++) {
        const answers = await Promise.all(
          Array.from({ length: 8 }, (_, n) => {
            const order = n % 2 === 0 ? emails : emails.toReversed();
            const data = order.map((email) => ({ name: `n${n}`, email, ...(n % 3 === 0 ? { number: n } : {}) }));
            return bulk(`onConflict=email&conflict=${conflict}&return=minimal`, data);
          }),
        );
        for (const { status, text } of answers) assert.equal(status, 200, text);
        const inserted = answers.reduce((sum, { json }) => sum + json.meta.inserted, 0);
        assert.equal(inserted, round === 0 ? emails.length : 0);
      }
    }
  });
});

const KEPT = 5200;

test('kept totals count what upserts create', async () => {
  const large = await server.workspace('acme/upsert-total', SCHEMA);
  const rows = Array.from({ length: KEPT }, (_, n) => `n${n}`).join('\n');
  const options = { method: 'POST', headers: { 'content-type': 'text/csv' }, body: `name\n${rows}\n` };
  assert.equal((await large.call('teams/_import', options)).status, 200);
  const total = async (): Promise<number> => (await large.call('teams?size=1')).json.meta.totalElements;
  const [place] = await database.query("select nspname from pg_namespace where nspname ~ 'upsert.total'", []);
  const there = await keptTotal(database, String(place?.nspname), 'teams');
  assert.equal(await total(), KEPT);
  await until('the total is kept', async () => {
    await total();
    return (await there.total()) !== null;
  });
  const upsert = (name: string) => large.call('teams?onConflict=name', { method: 'POST', body: { name } });
  for (const name of ['n0', 'm0', 'n1', 'm0', 'm1']) await upsert(name);
  assert.equal(await total(), KEPT + 2);
  assert.equal(await there.total(), KEPT + 2);
  await there.close();
});

describe('for a user who sees some records', () => {
  const { people, teams } = SCHEMA.entities;
  const schema = {
    entities: {
      teams: { ...teams, rowRules: [{ column: 'name', claim: 'team' }] },
      people: { ...people, rowRules: [{ column: 'note', claim: 'note' }] },
    },
  };
  const ruled = use(async () => {
    const made = await server.workspace('acme/upsert-rules', schema);
    await made.create('teams', [{ name: 'red' }, { name: 'blue' }]);
    await made.create('people', [
      { name: 'Mine', email: 'mine@x', note: 'me', rank: 1 },
      { name: 'Hidden', email: 'hidden@x', note: 'you', rank: 2 },
    ]);
    return made;
  });
  const tokenOf = useUsers(ruled, useIssuer());
  const mine = (query: string, body: unknown): Promise<Answer> =>
    ruled.call(`people?${query}`, {
      method: 'POST',
      body,
      credential: tokenOf({ sub: 'me', note: 'me', team: 'red' }),
    });

  test('what is created is stamped, and only own records are changed', async () => {
    const made = await mine('onConflict=email', { name: 'New', email: 'new@x' });
    assert.deepEqual([made.status, made.json.data?.note], [201, 'me'], made.text);
    const changed = await mine('onConflict=email', { name: 'Changed', email: 'mine@x', note: 'me' });
    assert.deepEqual([changed.status, changed.json.data?.name], [200, 'Changed'], changed.text);
    refused(await mine('onConflict=email', { name: 'Given', email: 'mine@x', note: 'you' }), 403, 'FORBIDDEN');
  });

  test('a conflict with a hidden record is what a create gets', async () => {
    const body = { name: 'Stolen', email: 'hidden@x' };
    const created = refused(await mine('', body), 409, 'CONFLICT');
    for (const query of ['onConflict=email', 'onConflict=email&conflict=skip'])
      assert.deepEqual(refused(await mine(query, body), 409, 'CONFLICT'), created);
    const many = (query: string): Promise<Answer> =>
      ruled.call(`people/_bulk?${query}`, {
        method: 'POST',
        body: { data: [{ name: 'Changed', email: 'mine@x', rank: 50 }, body] },
        credential: tokenOf({ sub: 'me', note: 'me', team: 'red' }),
      });
    for (const query of ['onConflict=email', 'onConflict=email&conflict=skip'])
      assert.deepEqual(refused(await many(query), 409, 'CONFLICT'), {
        ...created,
        details: created.details.map((detail) => ({ index: 1, ...detail })),
      });
    assert.equal((await ruled.call('people/2')).json.data.name, 'Hidden');
    assert.equal((await ruled.call('people/1')).json.data.rank, 1);
  });

  test('many are stamped, and their references led to records that are seen', async () => {
    const many = (data: readonly unknown[]): Promise<Answer> =>
      ruled.call('people/_bulk?onConflict=email', {
        method: 'POST',
        body: { data },
        credential: tokenOf({ sub: 'me', note: 'me', team: 'red' }),
      });
    const made = await many([
      { name: 'Many', email: 'many@x' },
      { name: 'Mine', email: 'mine@x', teamId: 1 },
    ]);
    assert.deepEqual(made.json?.meta, { inserted: 1, updated: 1 }, made.text);
    assert.deepEqual(
      made.json.data.map(({ note }: { note: string }) => note),
      ['me', 'me'],
    );
    for (const teamId of [2, 999]) {
      const lost = await many([
        { name: 'Many', email: 'many@x' },
        { name: 'Mine', email: 'mine@x', teamId },
      ]);
      assert.deepEqual(places(refused(lost, 400, 'VALIDATION_FAILED').details), [[1, 'teamId', 'REFERENCE_NOT_FOUND']]);
    }
    refused(await many([{ name: 'x', email: 'x@x', note: 'you' }]), 403, 'FORBIDDEN');
  });

  test('a reference to a hidden record is one to nothing', async () => {
    for (const [email, conflict] of [
      ['mine@x', 'update'],
      ['unknown@x', 'update'],
      ['unknown@x', 'skip'],
    ])
      for (const teamId of [2, 999]) {
        const answer = await mine(`onConflict=email&conflict=${conflict}`, { name: 'x', email, teamId });
        const { details } = refused(answer, 400, 'VALIDATION_FAILED');
        assert.deepEqual([details[0]?.field, details[0]?.code], ['teamId', 'REFERENCE_NOT_FOUND']);
      }
    // Nothing is written, so nothing is looked at.
    for (const teamId of [2, 999])
      assert.equal((await mine('onConflict=email&conflict=skip', { name: 'x', email: 'mine@x', teamId })).status, 200);
    const answer = await mine('onConflict=email', { name: 'x', email: 'hidden@x', teamId: 1 });
    refused(answer, 409, 'CONFLICT');
    assert.equal((await mine('onConflict=email', { name: 'x', email: 'mine@x', teamId: 1 })).status, 200);
  });

  test('any upserts of two users change what each of them sees, and are refused on what the other has', async () => {
    const one = fc.record({
      user: fc.constantFrom('me', 'you'),
      email: fc.constantFrom('a', 'b', 'c'),
      name: fc.constantFrom('n1', 'n2', 'n3'),
      skips: fc.boolean(),
      isBulk: fc.boolean(),
    });
    let round = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(one, { maxLength: 10 }), async (upserts) => {
        const mark = `r${round++}`;
        const model = new Map<string, { note: string; name: string }>();
        for (const { user, email: letter, name, skips, isBulk } of upserts) {
          const email = `${letter}@${mark}`;
          const path = `people${isBulk ? '/_bulk' : ''}?onConflict=email${skips ? '&conflict=skip' : ''}`;
          const body = isBulk ? { data: [{ name, email }] } : { name, email };
          const credential = tokenOf({ sub: user, note: user, team: 'red' });
          const answer = await ruled.call(path, { method: 'POST', body, credential });
          const before = model.get(email);
          if (before !== undefined && before.note !== user) {
            refused(answer, 409, 'CONFLICT');
            continue;
          }
          assert.equal(answer.status, before === undefined && !isBulk ? 201 : 200, answer.text);
          const now = before !== undefined && skips ? before : { note: user, name };
          const shown = isBulk ? answer.json.data[0] : answer.json.data;
          assert.deepEqual({ note: shown.note, name: shown.name }, now);
          model.set(email, now);
        }
        const { data } = (await ruled.call(`people?filter=email,endsWith,@${mark}&size=100`)).json;
        assert.deepEqual(
          new Map(data.map((each: Record<string, string>) => [each.email, { note: each.note, name: each.name }])),
          model,
        );
      }),
      { numRuns: 20 },
    );
  });

  test('ids are not for users', async () => {
    const { message } = refused(await mine('onConflict=id', { id: 2, name: 'x' }), 400, 'BAD_REQUEST');
    assert.match(message, /Possible: teamId,number; email; seenAt; rank$/);
  });
});

test('any upserts leave what the same ones leave in a map', async () => {
  const value = fc.constantFrom('a', 'b', 'c', null);
  const one = fc.record({
    email: value,
    note: fc.option(fc.constantFrom('n1', 'n2', null), { nil: undefined }),
    number: fc.option(fc.integer({ min: 1, max: 9 }), { nil: undefined }),
    skips: fc.boolean(),
  });
  let round = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(one, { maxLength: 12 }), async (upserts) => {
      const mark = `p${round++}`;
      const model = new Map<string, Record<string, unknown>>();
      for (const { email, skips, ...rest } of upserts) {
        const given = Object.fromEntries(Object.entries(rest).filter(([, each]) => each !== undefined));
        const key = email === null ? null : `${mark}${email}`;
        const answer = await post(`onConflict=email${skips ? '&conflict=skip' : ''}`, {
          name: mark,
          email: key,
          ...given,
        });
        const before = key === null ? undefined : model.get(key);
        const now =
          before === undefined ? { note: 'new', number: null, ...given } : skips ? before : { ...before, ...given };
        assert.equal(answer.status, before === undefined ? 201 : 200, answer.text);
        const { note, number } = answer.json.data;
        assert.deepEqual({ note, number }, now);
        model.set(key ?? `${mark}null${model.size}`, now);
      }
      assert.equal(await countOf(`name,eq,${mark}`), model.size);
    }),
    { numRuns: 25 },
  );
});
