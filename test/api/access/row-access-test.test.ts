// /access/test: administrators ask what a user with given claims would be answered.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { prepare, use, useServer } from '../../support/resources.ts';
import type { Answer } from '../../support/server.ts';

const SCHEMA = {
  entities: {
    notes: {
      fields: { text: { type: 'string' }, owner: { type: 'bigint' } },
      rowRules: [{ column: 'owner', claim: 'owner' }],
    },
  },
};
const LARGE = '9007199254740993';

const server = useServer({ WDA_MAX_RESPONSE_BYTES: '20000' });
const shop = use(() => server.workspace('acme/shop', SCHEMA));
prepare(async () => {
  await shop.create('notes', [
    { text: 'a', owner: 1 },
    { text: 'b', owner: 2 },
    { text: 'c', owner: LARGE },
  ]);
});

const ask = (body: unknown, credential?: string): Promise<Answer> =>
  shop.admin('access/test', {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json' },
    ...(credential === undefined ? {} : { credential }),
  });
const paths = (...requests: string[]) => ({ claims: { owner: 1 }, requests: requests.map((path) => ({ path })) });

test('each request is answered as a user with the claims would be', async () => {
  const requests = [
    { path: 'notes?fields=id' },
    { path: 'notes/1?fields=id' },
    { path: 'notes/2' },
    { path: 'notes/_query', body: { fields: ['id'], count: 'none' } },
    { path: 'notes/_export?fields=text' },
    { path: 'nothing' },
    { path: 'notes?colour=red' },
  ];
  const { status, json } = await ask({ claims: { owner: 1 }, requests }, shop.key);
  assert.equal(status, 200);
  assert.deepEqual(
    json.data.map((answer: { path: string; status: number }) => [answer.path, answer.status]),
    requests.map(({ path }, index) => [path, [200, 200, 404, 200, 200, 404, 400][index]]),
  );
  assert.deepEqual(json.data[0].body.data, [{ id: 1 }]);
  assert.deepEqual(json.data[0].body.meta.totalElements, 1);
  assert.deepEqual(json.data[1].body, { data: { id: 1 } });
  assert.deepEqual(json.data[2].body, {
    error: { code: 'NOT_FOUND', message: 'Record not found', reason: 'RECORD_NOT_FOUND' },
  });
  assert.deepEqual(json.data[3].body.data, [{ id: 1 }]);
  assert.equal(json.data[4].body, 'text\na\n');
});

test('numbers of claims and answers keep their digits', async () => {
  const body = `{"claims":{"owner":${LARGE}},"requests":[{"path":"notes?fields=owner"},{"path":"notes/_query","body":{"filter":{"field":"owner","op":"eq","value":${LARGE}}}}]}`;
  const { text, json } = await ask(body);
  assert.ok(text.includes(`{"data":[{"owner":${LARGE}}]`), text);
  assert.equal(json.data[1].body.meta.totalElements, 1);
});

test('the schema is that of the user', async () => {
  const desk = await server.workspace('acme/desk', {
    roles: ['agent'],
    entities: {
      tickets: {
        fields: { subject: { type: 'string' }, notes: { type: 'text' } },
        grants: [{ can: ['read'], fields: ['subject'] }],
      },
      rates: { fields: { hourly: { type: 'integer' } }, grants: [{ role: 'agent', can: ['read'] }] },
    },
  });
  const { json } = await desk.admin('access/test', {
    method: 'POST',
    body: { claims: {}, requests: [{ path: '_schema' }] },
  });
  const [{ status, body }] = json.data;
  assert.equal(status, 200);
  assert.deepEqual(Object.keys(body.data.entities), ['tickets']);
  assert.deepEqual(Object.keys(body.data.entities.tickets.fields), ['subject']);
});

test('nothing can be written', async () => {
  const requests = [
    { path: 'notes', body: { text: 'x' } },
    { path: 'notes/_import', body: { text: 'x' } },
  ];
  const { json } = await ask({ claims: { owner: 1 }, requests });
  assert.deepEqual(
    json.data.map((answer: { status: number }) => answer.status),
    [403, 403],
  );
  assert.equal((await shop.call('notes')).json.meta.totalElements, 3);
});

test('paths stay within the workspace', async () => {
  const { json } = await ask(paths('../other/notes', '/notes', '%2e%2e/other/notes'));
  assert.deepEqual(
    json.data.map((answer: { status: number }) => answer.status),
    [404, 404, 404],
  );
});

test('a path with a leading slash is answered with the path to write', async () => {
  const { json } = await ask(paths('/notes?size=1'));
  assert.equal(json.data[0].body.error.message, 'Paths have no leading slash: notes?size=1, not /notes?size=1');
});

test('a body of another form is refused with every mistake', async () => {
  for (const [body, fields] of [
    [{}, ['claims', 'requests']],
    [{ claims: [], requests: {} }, ['claims', 'requests']],
    [
      { claims: 7, requests: [{ path: '' }, { path: 'notes', method: 'HEAD' }] },
      ['claims', 'requests.0.path', 'requests.1.method'],
    ],
    [paths(...Array.from({ length: 101 }, () => 'notes')), ['requests']],
  ] as const) {
    const { status, json } = await ask(body);
    assert.equal(status, 400);
    assert.equal(json.error.code, 'VALIDATION_FAILED');
    const found = json.error.details.map((detail: { field: string }) => detail.field);
    assert.deepEqual([...new Set(found)].sort(), [...fields]);
  }
});

test('all answers together have the size of one', async () => {
  const { status, json } = await ask(paths(...Array.from({ length: 100 }, () => 'notes?filter=text,eq,a&sort=text')));
  assert.equal(status, 200, JSON.stringify(json));
  await shop.create('notes', [{ text: 'x'.repeat(9000), owner: 1 }]);
  const large = await ask(paths('notes', 'notes', 'notes'));
  assert.deepEqual([large.status, large.json.error.code], [400, 'BAD_REQUEST']);
});

describe('rules that are not in force', () => {
  const club = use(() =>
    server.workspace('acme/club', {
      entities: {
        people: { fields: { name: { type: 'string' }, team: { type: 'integer' } } },
        constructor: {
          fields: { text: { type: 'string' }, team: { type: 'integer' } },
          relations: { person: { kind: 'belongsTo', entity: 'people' } },
          rowRules: [{ column: 'team', claim: 'team' }],
        },
      },
    }),
  );
  prepare(async () => {
    await club.create(
      'people',
      [1, 2].map((team) => ({ name: `p${team}`, team })),
    );
    await club.create(
      'constructor',
      [1, 1, 2].map((team, at) => ({ text: `t${at}`, team, personId: (at % 2) + 1 })),
    );
  });
  const tryRules = (body: object): Promise<Answer> =>
    club.admin('access/test', { method: 'POST', body: { claims: { team: 1, person: 2 }, requests: [], ...body } });
  const shown = async (rules: object | undefined, path: string): Promise<unknown> => {
    const { json, text, status } = await tryRules({ requests: [{ path }], ...(rules === undefined ? {} : { rules }) });
    assert.equal(status, 200, text);
    return json.data[0].body.data ?? json.data[0].status;
  };
  const ids = (...all: number[]) => all.map((id) => ({ id }));

  for (const [words, rules, path, expected] of [
    ['without any those in force hold', undefined, 'constructor?fields=id&expand=', ids(1, 2)],
    ['an empty list lifts every rule', { constructor: [] }, 'constructor?fields=id&expand=', ids(1, 2, 3)],
    [
      'others take their place',
      { constructor: [{ column: 'personId', claim: 'person' }] },
      'constructor?fields=id&expand=',
      ids(2),
    ],
    [
      'one that is switched off does nothing',
      { constructor: [{ column: 'team', claim: 'team', enabled: false }] },
      'constructor?fields=id&expand=',
      ids(1, 2, 3),
    ],
    ['a claim that is missing shows nothing', { people: [{ column: 'team', claim: 'x' }] }, 'people?fields=id', []],
    ['entities that are not named keep theirs', { people: [] }, 'constructor?fields=id&expand=', ids(1, 2)],
    ['by id, too', { people: [{ column: 'team', claim: 'team' }] }, 'people/2', 404],
    [
      'and across relations',
      { people: [{ column: 'team', claim: 'team' }] },
      'constructor?fields=id,person.id&expand=person',
      [
        { id: 1, person: { id: 1 } },
        { id: 2, person: null },
      ],
    ],
  ] as const) {
    test(words, async () => {
      assert.deepEqual(await shown(rules, path), expected);
    });
  }

  test('what was planned with some rules is not used with others, nor for those in force', async () => {
    const path = 'constructor?fields=id&expand=&sort=text';
    const lifted = { constructor: [] };
    for (const rules of [lifted, undefined, lifted, { constructor: [{ column: 'personId', claim: 'person' }] }]) {
      const expected = rules === undefined ? ids(1, 2) : rules === lifted ? ids(1, 2, 3) : ids(2);
      assert.deepEqual(await shown(rules, path), expected);
    }
    assert.deepEqual((await club.admin('entities/constructor/row-rules')).json.data, [
      { column: 'team', claim: 'team', enabled: true },
    ]);
  });

  for (const [words, rules, details] of [
    [
      'an entity that is not there',
      { peple: [] },
      [
        {
          field: 'rules.peple',
          code: 'REFERENCE_NOT_FOUND',
          message: 'must be an entity of the workspace. Did you mean people? Known: constructor, people',
        },
      ],
    ],
    [
      'a column that is not there',
      { people: [{ column: 'tem', claim: 'team' }] },
      [
        {
          field: 'rules.people.0.column',
          code: 'REFERENCE_NOT_FOUND',
          message: 'there is no field tem on entity people. Did you mean team? Known: id, name, team',
        },
      ],
    ],
  ] as const) {
    test(`${words} is refused as in a schema document`, async () => {
      const { status, json, text } = await tryRules({ rules });
      assert.equal(status, 400, text);
      assert.deepEqual(json.error.details, details);
    });
  }

  test('every mistake in them is told at its place', async () => {
    const rules = {
      people: [
        { column: 'nope', claim: 'team' },
        { column: 'team', claim: 'a\u0000' },
      ],
      constructor: [
        { column: 'team', claim: 'team' },
        { column: 'team', claim: 'team' },
      ],
    };
    const { json } = await tryRules({ rules });
    assert.deepEqual(
      json.error.details.map(({ field, code }: { field: string; code: string }) => [field, code]),
      [
        ['rules.people.0.column', 'REFERENCE_NOT_FOUND'],
        ['rules.people.1.claim', 'INVALID'],
        ['rules.constructor.1', 'INVALID'],
      ],
    );
    for (const wrong of [
      { people: {} },
      { people: [{ column: 'team' }] },
      { people: [{ colum: 'team', claim: 'x' }] },
      [],
    ]) {
      assert.equal((await tryRules({ rules: wrong })).status, 400);
    }
  });
});
