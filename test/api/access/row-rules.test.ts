// Row-level security of the data API by real tokens: what an external user sees, infers and writes. A hidden record and
// one that does not exist are the same answer to the byte.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { useIssuer, useServer } from '../../support/resources.ts';
import type { Answer, Call, TestWorkspace } from '../../support/server.ts';
import { fillShop, SHOP_SCHEMA } from '../../support/shop.ts';
import { LOCAL_PROVIDER, makeUsers, type TokenOf } from '../../support/users.ts';

/** A customer sees itself by its email and its orders by its id; through `orderTags` only those of order 3. */
const { customers, orders, profiles, orderTags } = SHOP_SCHEMA.entities;
const SCHEMA = {
  entities: {
    ...SHOP_SCHEMA.entities,
    customers: { ...customers, rowRules: [{ column: 'email', claim: 'profile.email' }] },
    orders: { ...orders, rowRules: [{ column: 'customerId', claim: 'customer_id' }] },
    profiles: { ...profiles, rowRules: [{ column: 'customerId', claim: 'nothing', enabled: false }] },
    orderTags: { ...orderTags, rowRules: [{ column: 'tagId', claim: 'tag' }] },
  },
};
// Ids: orders 1, 2, 7 are Ada's (1), 3 and 8 are Zoë's (2). Tag 1 is on orders 1 and 3, tag 2 on 3.
const ADA = { sub: 'ada', profile: { email: 'ada@example.com' }, customer_id: 1, tag: 1 };
const HIDDEN = 3;
const ABSENT = 999;

let shop: TestWorkspace;
let tokenOf: TokenOf;
/** A fresh workspace for tests that write. */
let count = 0;
const issuer = useIssuer();
const server = useServer(LOCAL_PROVIDER);

async function makeWorkspace(schema: unknown = SCHEMA): Promise<void> {
  shop = await server.workspace(`acme/shop${count++}`, schema);
  await fillShop(shop);
  tokenOf = await makeUsers(shop, issuer);
}

const as = (claims: object | string, path: string, call: Call = {}): Promise<Answer> =>
  shop.call(path, { credential: tokenOf(claims), ...call });
const ada = (path: string, call: Call = {}): Promise<Answer> => as(ADA, path, call);
const idsOf = (answer: Answer): number[] => {
  assert.equal(answer.status, 200, answer.text);
  return answer.json.data.map((record: { id: number }) => record.id);
};

/** What differs from request to request and says nothing. */
function seen({ status, headers, text }: Answer): unknown {
  const kept = [...headers].filter(([name]) => !['x-request-id', 'date'].includes(name));
  return { status, headers: kept, text };
}

async function sameAnswer(path: (id: number) => string, call: (id: number) => Call = () => ({})): Promise<Answer> {
  const hidden = await ada(path(HIDDEN), call(HIDDEN));
  const absent = await ada(path(ABSENT), call(ABSENT));
  assert.deepEqual(seen(hidden), seen(absent));
  return hidden;
}

describe('a rule by id', () => {
  const byId = [{ column: 'id', claim: 'customer_id' }];
  const rowRules = { customers: byId, profiles: [{ column: 'customerId', claim: 'customer_id' }] };
  before(async () => {
    const entities = { ...SCHEMA.entities, customers: { ...customers, rowRules: rowRules.customers } };
    await makeWorkspace({ entities: { ...entities, profiles: { ...profiles, rowRules: rowRules.profiles } } });
  });

  test('shows the user its own record alone, also through relations', async () => {
    assert.deepEqual(idsOf(await ada('customers')), [1]);
    await sameAnswer((id) => `customers/${id === HIDDEN ? 2 : id}`);
    const { json } = await as({ customer_id: 2 }, 'customers?expand=referrer');
    assert.deepEqual([json.data.length, json.data[0].referredBy, json.data[0].referrer], [1, 1, null]);
    assert.deepEqual(idsOf(await as('{"customer_id":"x"}', 'customers')), []);
  });
  test('lets it update and delete its own record, and no other', async () => {
    const patch = { method: 'PATCH', body: { rating: 2 } };
    assert.equal((await ada('customers/1', patch)).json.data.rating, 2);
    assert.equal((await ada('customers/1', { method: 'PUT', body: { id: 1, rating: 3 } })).status, 200);
    const other = await sameAnswer(
      (id) => `customers/${id === HIDDEN ? 2 : id}`,
      () => patch,
    );
    assert.equal(other.status, 404);
    const bulk = (id: number): Promise<Answer> =>
      ada('customers/_bulk', { method: 'PATCH', body: { data: [{ id, rating: 4 }] } });
    assert.deepEqual([(await bulk(1)).status, (await bulk(2)).status], [200, 404]);
    assert.equal((await ada('customers/2', { method: 'DELETE' })).status, 404);
  });
  test('lets nobody create: one by one, in bulk, as an upsert or an import', async () => {
    const refused = async (path: string, body: unknown, headers: Record<string, string> = {}): Promise<void> => {
      const { status, json } = await ada(path, { method: 'POST', body, headers });
      assert.deepEqual(
        [status, json.error?.code, json.error?.message],
        [403, 'FORBIDDEN', 'You may not create records of customers'],
        path,
      );
    };
    const record = { name: 'Eve', email: 'eve@example.com' };
    await refused('customers', record);
    await refused('customers/_bulk', { data: [record] });
    await refused('customers?onConflict=email', { ...record, email: ADA.profile.email });
    await refused('customers/_bulk?onConflict=email', { data: [{ ...record, email: ADA.profile.email }] });
    await refused('customers/_import?onConflict=update', '{"id":1,"name":"x"}', {
      'content-type': 'application/x-ndjson',
    });
    assert.equal((await shop.call('customers/1')).json.data.name, 'Ada Lovelace');
    assert.equal((await ada('customers', { method: 'POST', body: {} })).status, 400);
    assert.equal((await shop.call('customers', { method: 'POST', body: record })).status, 201);
  });
});

describe('reads', () => {
  before(() => makeWorkspace());

  test('a list and its total hold matching rows alone', async () => {
    const answer = await ada('orders?size=2');
    assert.deepEqual(idsOf(answer), [1, 2]);
    assert.deepEqual(answer.json.meta.totalElements, 3);
    assert.deepEqual(answer.json.meta.totalPages, 2);
    assert.deepEqual(idsOf(await ada('orders?size=2&page=1')), [7]);
  });
  test('a token of the certified provider itself does the same', async () => {
    const token = await issuer.token({ resource: 'urn:shop', claims: { customer_id: 2 } });
    assert.deepEqual(idsOf(await shop.call('orders', { credential: token })), [3, 8]);
  });
  test('cursors go through matching rows alone', async () => {
    const first = await ada('orders?size=2&sort=total,desc');
    assert.deepEqual(idsOf(first), [2, 1]);
    const second = await ada(`orders?size=2&sort=total,desc&after=${first.json.meta.nextCursor}`);
    assert.deepEqual(idsOf(second), [7]);
    assert.equal(second.json.meta.nextCursor, null);
    const foreign = await shop.call('orders?size=4');
    assert.deepEqual(idsOf(await ada(`orders?after=${foreign.json.meta.nextCursor}`)), [7]);
  });
  test('a record by its id is the user’s or 404', async () => {
    assert.equal((await ada('orders/2')).status, 200);
    const answer = await sameAnswer((id) => `orders/${id}?expand=customer`);
    assert.equal(answer.status, 404);
    await sameAnswer(
      (id) => `orders/${id}`,
      () => ({ method: 'HEAD' }),
    );
  });
  test('an entity tag makes no difference between hidden and absent', async () => {
    const etag = (await shop.call(`orders/${HIDDEN}`)).headers.get('etag') as string;
    for (const name of ['if-none-match', 'if-match']) {
      for (const value of [etag, '*', '"0.x"']) {
        const answer = await sameAnswer(
          (id) => `orders/${id}`,
          () => ({ headers: { [name]: value } }),
        );
        assert.equal(answer.status, 404);
      }
    }
  });
  test('a cursor of a sort across a relation holds nothing of hidden records', async () => {
    const { json } = await ada('items?sort=order.note,desc&size=1');
    const cursor = Buffer.from(json.meta.nextCursor, 'base64url').toString();
    assert.equal(json.data[0].id, 8);
    assert.doesNotMatch(cursor, /ASAP|Wrap/);
  });
  test('a disabled rule does nothing', async () => assert.deepEqual(idsOf(await ada('profiles')), [1, 2]));
  test('credentials of the workspace see everything', async () => {
    for (const credential of [shop.key, shop.readOnlyKey, shop.readWriteKey]) {
      assert.equal((await shop.call('orders', { credential })).json.meta.totalElements, 8);
    }
  });
  for (const value of ['null', '[1]', '{"id":1}', '"one"', '""', '1.5', 'true', '9223372036854775808']) {
    test(`a claim of ${value} matches no record`, async () => {
      const claims = `{"customer_id":${value}}`;
      const list = await as(claims, 'orders');
      assert.deepEqual([idsOf(list), list.json.meta.totalElements], [[], 0]);
      assert.equal((await as(claims, 'orders/1')).status, 404);
      assert.equal((await as(claims, 'orders', { method: 'POST', body: { customerId: 1 } })).status, 403);
      assert.equal((await as(claims, 'orders/1', { method: 'PUT', body: { customerId: 1 } })).status, 404);
      assert.equal((await as(claims, 'orders/1', { method: 'DELETE' })).status, 404);
      assert.equal((await as(claims, 'orders/_export?fields=id')).text, 'id\n');
    });
  }
  test('a claim that is a numeric string matches a numeric column', async () => {
    assert.deepEqual(idsOf(await as('{"customer_id":"2"}', 'orders')), [3, 8]);
  });
  test('one user’s requests say nothing about the claims of another, whose plan they share', async () => {
    const answers = await Promise.all([1, 2, 3, 1, 5].map((id) => as({ customer_id: id }, 'orders?fields=id')));
    assert.deepEqual(answers.map(idsOf), [[1, 2, 7], [3, 8], [4], [1, 2, 7], [6]]);
  });
});

describe('writes', () => {
  before(() => makeWorkspace());
  const refused = (answer: Answer, status: number, code: string, details?: readonly string[]): void => {
    assert.equal(answer.status, status, answer.text);
    assert.equal(answer.json.error.code, code);
    if (details === undefined) return;
    const found = answer.json.error.details.map(
      (detail: { field: string; code: string }) => `${detail.field} ${detail.code}`,
    );
    assert.deepEqual(found, details);
  };
  const put = (path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
    ada(path, { method: 'PUT', body, headers });
  const post = (path: string, body: unknown): Promise<Answer> => ada(path, { method: 'POST', body });

  test('a create sets the column from the claim, even a required one', async () => {
    const answer = await post('orders', { status: 'open', total: 5 });
    assert.equal(answer.status, 201, answer.text);
    assert.equal(answer.json.data.customerId, 1);
    assert.equal((await shop.call(`orders/${answer.json.data.id}`)).json.data.customerId, 1);
    assert.equal((await ada(answer.headers.get('location')?.split('/').slice(-2).join('/') as string)).status, 200);
  });
  test('a create may give the claim’s value and no other', async () => {
    assert.equal((await post('orders', { customerId: 1 })).status, 201);
    refused(await post('orders', { customerId: 2 }), 403, 'FORBIDDEN');
    refused(await post('orders', { customerId: ABSENT }), 403, 'FORBIDDEN');
    refused(await post('orders', { customerId: null }), 400, 'VALIDATION_FAILED', ['customerId REQUIRED']);
    refused(await post('customers', { name: 'x', email: null }), 403, 'FORBIDDEN');
    refused(await post('customers', { name: 'x', email: 'zoe@example.com' }), 403, 'FORBIDDEN');
  });
  test('an update of a hidden record is a 404, whatever it gives', async () => {
    const etag = (await shop.call(`orders/${HIDDEN}`)).headers.get('etag') as string;
    const bodies = [{ note: 'mine' }, {}, { customerId: 1 }, { customerId: 2 }, { customerId: 5 }, { id: HIDDEN }];
    for (const body of bodies) {
      for (const headers of [{}, { 'if-match': etag }, { 'if-match': '"0.x"' }, { 'if-match': '*' }]) {
        const answer = await put(`orders/${HIDDEN}`, body, headers);
        refused(answer, 404, 'NOT_FOUND');
        const absent = await put(`orders/${ABSENT}`, 'id' in body ? { id: ABSENT } : body, headers);
        assert.deepEqual(seen(answer), seen(absent));
      }
    }
    const wrong = await put(`orders/${HIDDEN}`, { total: 'x', nothing: 1 });
    assert.deepEqual(seen(wrong), seen(await put(`orders/${ABSENT}`, { total: 'x', nothing: 1 })));
    assert.equal((await shop.call(`orders/${HIDDEN}`)).json.data.note, '50% off; half');
  });
  test('an update may repeat the rule’s column and not change it', async () => {
    assert.equal((await put('orders/1', { customerId: 1, note: 'again' })).status, 200);
    refused(await put('orders/1', { customerId: 2, note: 'given away' }), 403, 'FORBIDDEN');
    refused(await put('orders/1', { customerId: 2 }, { 'if-match': '"0.x"' }), 403, 'FORBIDDEN');
    refused(await put('orders/1', { note: 'late' }, { 'if-match': '"0.x"' }), 412, 'PRECONDITION_FAILED');
    assert.equal((await shop.call('orders/1')).json.data.note, 'again');
  });
  test('a delete of a hidden record is a 404', async () => {
    refused(
      await sameAnswer(
        (id) => `orders/${id}`,
        () => ({ method: 'DELETE' }),
      ),
      404,
      'NOT_FOUND',
    );
    refused(
      await sameAnswer(
        (id) => `orders/${id}`,
        () => ({ method: 'DELETE', headers: { 'if-match': '"0.x"' } }),
      ),
      404,
      'NOT_FOUND',
    );
    assert.equal((await shop.call(`orders/${HIDDEN}`)).status, 200);
  });
  test('a reference is checked, whether or not one before it was null', async () => {
    const hidden = HIDDEN - 1;
    let count = 0;
    const create = (referredBy: number | null): Promise<Answer> => {
      const claims = { profile: { email: `new${count++}@example.com` } };
      return as(claims, 'customers', { method: 'POST', body: { name: 'New', referredBy } });
    };
    const upsert = (referredBy: number | null): Promise<Answer> => {
      const email = `new${count++}@example.com`;
      const call = { method: 'POST', body: { name: 'New', email, referredBy } };
      return as({ profile: { email } }, 'customers?onConflict=email', call);
    };
    const change = (referredBy: number | null): Promise<Answer> => put('customers/1', { name: 'Ada', referredBy });
    for (const [write, done] of [
      [create, 201],
      [upsert, 201],
      [change, 200],
    ] as const)
      for (const referredBy of [null, hidden, null]) {
        const answer = await write(referredBy);
        if (referredBy === null) assert.equal(answer.status, done, answer.text);
        else refused(answer, 400, 'VALIDATION_FAILED', ['referredBy REFERENCE_NOT_FOUND']);
      }
  });
  test('the column of a rule that is a reference is checked as one', async () => {
    const claims = { customer_id: 2, profile: { email: 'ada@example.com' } };
    const answer = await as(claims, 'orders', { method: 'POST', body: { note: 'x' } });
    refused(answer, 400, 'VALIDATION_FAILED', ['customerId REFERENCE_NOT_FOUND']);
  });
  test('a delete that a hidden record forbids names its entity and no more', async () => {
    const claims = { ...ADA, customer_id: 4 };
    const answer = await as(claims, 'customers/1', { method: 'DELETE' });
    refused(answer, 409, 'CONFLICT', ['orders.customer STILL_REFERENCED']);
    assert.doesNotMatch(answer.text, /Wrap|\b22\.4|"id"/);
  });
  test('a delete goes on to hidden records where the schema says so', async () => {
    // Order 1 has a through-record of tag 1; the user may see those of tag 2 alone.
    const claims = { ...ADA, tag: 2 };
    assert.deepEqual(idsOf(await as(claims, 'orderTags?filter=orderId,eq,1')), []);
    assert.equal((await as(claims, 'orders/1', { method: 'DELETE' })).status, 204);
    assert.deepEqual(idsOf(await shop.call('orderTags?filter=orderId,eq,1')), []);
  });
});

describe('imports', () => {
  before(() => makeWorkspace());
  const load = (path: string, body: string, claims: object = ADA): Promise<Answer> =>
    as(claims, path, { method: 'POST', body, headers: { 'content-type': 'application/x-ndjson' } });
  /** An answer without the values that the file had. */
  const seenIn = ({ status, text }: Answer): unknown => [status, text.replaceAll(/,"value":"\d+"/g, '')];
  const detailsOf = (answer: Answer): string[] =>
    answer.json.error.details.map(
      (detail: { row: number; field: string; code: string }) => `${detail.row} ${detail.field} ${detail.code}`,
    );

  test('rows are stamped', async () => {
    const answer = await load('orders/_import', '{"note":"imported"}\n{"note":"imported","customerId":1}\n');
    assert.deepEqual(answer.json, { data: { inserted: 2, updated: 0, skipped: 0 } });
    assert.equal((await ada('orders?filter=note,eq,imported')).json.meta.totalElements, 2);
  });
  test('a row of somebody else is a 403, and nothing is imported', async () => {
    const refused = await load('orders/_import', '{"note":"n1"}\n\n{"note":"n1","customerId":2}\n');
    assert.equal(refused.status, 403);
    assert.deepEqual(refused.json.error.details, [
      { row: 2, line: 3, field: 'customerId', code: 'READ_ONLY', message: 'may only have the value of your token' },
    ]);
    assert.equal((await load('orders/_import', '{"note":"n1"}\n', {})).status, 403);
    assert.deepEqual(idsOf(await shop.call('orders?filter=note,eq,n1')), []);
  });
  test('an id of a hidden record is one of no record', async () => {
    for (const mode of ['skip', 'update']) {
      const answers = [];
      for (const id of [HIDDEN, ABSENT])
        answers.push(await load(`orders/_import?onConflict=${mode}`, `{"id":${id},"note":"x"}\n`));
      const [hidden, absent] = answers as [Answer, Answer];
      assert.deepEqual(seenIn(hidden), seenIn(absent));
      assert.deepEqual(detailsOf(hidden), ['1 id READ_ONLY']);
    }
    const own = await load('orders/_import?onConflict=update', '{"id":2,"note":"changed"}\n');
    assert.deepEqual(own.json, { data: { inserted: 0, updated: 1, skipped: 0 } });
  });
  test('a reference to a hidden record is one to no record, unless it stays as it is', async () => {
    const answers = [];
    for (const id of [HIDDEN, ABSENT])
      answers.push(await load('items/_import', `{"orderId":2,"quantity":1}\n{"orderId":${id},"quantity":1}\n`));
    const [hidden, absent] = answers as [Answer, Answer];
    assert.deepEqual(seenIn(hidden), seenIn(absent));
    assert.deepEqual(detailsOf(hidden), ['2 orderId REFERENCE_NOT_FOUND']);
    const kept = await load('items/_import?onConflict=update', '{"id":4,"orderId":3,"quantity":8}\n');
    assert.deepEqual(kept.json, { data: { inserted: 0, updated: 1, skipped: 0 } });
    const moved = await load('items/_import?onConflict=update', '{"id":4,"orderId":4,"quantity":8}\n');
    assert.deepEqual(detailsOf(moved), ['1 orderId REFERENCE_NOT_FOUND']);
  });
  test('what a user exported it can import again', async () => {
    const { text } = await ada('orders/_export?format=ndjson');
    const answer = await load('orders/_import?onConflict=update', text);
    assert.equal(answer.json.data.updated, text.trim().split('\n').length, answer.text);
  });
});

test('an import meets a unique value of a hidden record, and does not say in which row', async () => {
  const fields = { owner: { type: 'string' }, code: { type: 'string', unique: true } };
  shop = await server.workspace('acme/codes', {
    entities: { codes: { fields, rowRules: [{ column: 'owner', claim: 'sub' }] } },
  });
  tokenOf = await makeUsers(shop, issuer);
  await shop.create('codes', [
    { owner: 'bob', code: 'hidden' },
    { owner: 'ada', code: 'own' },
  ]);
  const load = (body: string): Promise<Answer> =>
    ada('codes/_import', { method: 'POST', body, headers: { 'content-type': 'text/csv' } });
  const own = await load('code\nfree\nown\n');
  assert.deepEqual([own.status, own.json.error.details[0].row, own.json.error.details[0].code], [409, 2, 'NOT_UNIQUE']);
  const hidden = await load('code\nfree\nhidden\n');
  assert.equal(hidden.status, 409);
  assert.deepEqual(hidden.json.error.details, [
    { field: 'code', code: 'NOT_UNIQUE', message: 'must be unique: another record has this value' },
  ]);
  assert.doesNotMatch(hidden.text, /bob/);
  assert.equal((await shop.call('codes')).json.meta.totalElements, 2);
});

describe('columns of every type', () => {
  const VALUES: readonly (readonly [type: object, own: unknown, other: unknown, claim: string])[] = [
    [{ type: 'string' }, 'ada', 'bob', '"ada"'],
    [{ type: 'text' }, '7', '8', '7'],
    [{ type: 'text' }, 'true', 'false', 'true'],
    [{ type: 'integer' }, 7, 8, '7.0'],
    [{ type: 'bigint' }, '9007199254740993', '9007199254740992', '9007199254740993'],
    [{ type: 'decimal', precision: 6, scale: 2 }, 7.5, 7.51, '"7.500"'],
    [{ type: 'float' }, 0.1, 0.2, '0.1'],
    [{ type: 'boolean' }, true, false, 'true'],
    [{ type: 'date' }, '2026-01-31', '2026-02-01', '"2026-01-31"'],
    [{ type: 'datetime' }, '2026-01-31T12:00:00Z', '2026-01-31T12:00:01Z', '"2026-01-31T14:00:00+02:00"'],
    [
      { type: 'uuid' },
      '0190163d-8694-739b-aea5-966c26f8ad91',
      '0190163d-8694-739b-aea5-966c26f8ad92',
      '"0190163D-8694-739B-AEA5-966C26F8AD91"',
    ],
    [{ type: 'enum', values: ['a', 'b'] }, 'a', 'b', '"a"'],
  ];
  before(async () => {
    const entities = Object.fromEntries(
      VALUES.map(([type], index) => [
        `e${index}`,
        {
          fields: { own: type, n: { type: 'integer' } },
          rowRules: [{ column: 'own', claim: 'https://acme.example/own' }],
        },
      ]),
    );
    shop = await server.workspace('acme/types', { entities });
    tokenOf = await makeUsers(shop, issuer);
    for (const [index, [, own, other]] of VALUES.entries())
      await shop.create(`e${index}`, [{ own }, { own: other }, {}]);
  });
  for (const [index, [type, own, other, claim]] of VALUES.entries()) {
    test(`${JSON.stringify(type)} and the claim ${claim}`, async () => {
      const claims = `{"https://acme.example/own":${claim}}`;
      assert.deepEqual(idsOf(await as(claims, `e${index}`)), [1]);
      assert.deepEqual(idsOf(await as({}, `e${index}`)), []);
      const made = await as(claims, `e${index}`, { method: 'POST', body: { n: 1 } });
      assert.equal(made.status, 201, made.text);
      assert.deepEqual(idsOf(await as(claims, `e${index}`)), [1, 4]);
      const call = (body: unknown) => as(claims, `e${index}/4`, { method: 'PUT', body });
      assert.equal((await call({ own, n: 2 })).status, 200);
      assert.equal((await call({ own: other })).status, 403);
      assert.equal((await call({ own: null })).status, 403);
    });
  }
});
