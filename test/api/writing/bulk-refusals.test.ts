// Refusals of many records: each names its record, and all mistakes of a request are told together.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { use, useIssuer, useServer, useUsers } from '../../support/resources.ts';
import type { Answer } from '../../support/server.ts';
import { LOCAL_PROVIDER } from '../../support/users.ts';

const server = useServer({ ...LOCAL_PROVIDER, WDA_MAX_RESPONSE_BYTES: '4096' });
const workspace = use(async () => {
  const made = await server.workspace('acme/refusals', {
    entities: {
      teams: { fields: { name: { type: 'string', unique: true } }, rowRules: [{ column: 'name', claim: 'team' }] },
      people: {
        fields: {
          name: { type: 'string', required: true },
          email: { type: 'string', unique: true },
          note: { type: 'text' },
          owner: { type: 'string' },
        },
        relations: { team: { kind: 'belongsTo', entity: 'teams' } },
        rowRules: [{ column: 'owner', claim: 'sub' }],
      },
      tags: {
        fields: { name: { type: 'string' } },
        relations: { people: { kind: 'manyToMany', entity: 'people', through: 'labels', from: 'tag', to: 'person' } },
      },
      labels: {
        relations: {
          tag: { kind: 'belongsTo', entity: 'tags', required: true },
          person: { kind: 'belongsTo', entity: 'people', required: true },
        },
      },
    },
  });
  await made.create('teams', [{ name: 'red' }, { name: 'blue' }]);
  await made.create('people', [
    { name: 'Mine', email: 'mine@x', owner: 'me' },
    { name: 'Hidden', email: 'hidden@x', owner: 'you' },
  ]);
  return made;
});
const tokenOf = useUsers(workspace, useIssuer());

type Place = readonly [index: number | undefined, field: string, code: string];
const send = (path: string, method: string, body: unknown, credential?: string): Promise<Answer> =>
  workspace.call(path, { method, body, ...(credential === undefined ? {} : { credential }) });
const places = ({ json }: Answer): Place[] =>
  json.error.details.map(({ index, field, code }: { index?: number; field: string; code: string }) => [
    index,
    field,
    code,
  ]);
const me = (): string => tokenOf({ sub: 'me', team: 'red' });

const LOST = 'REFERENCE_NOT_FOUND';
const TAKEN = 'NOT_UNIQUE';

describe('all mistakes are told together', () => {
  const cases: readonly (readonly [
    name: string,
    path: string,
    method: string,
    body: unknown,
    status: number,
    expected: readonly Place[],
  ])[] = [
    [
      'a taken value and a reference to nobody',
      'people/_bulk',
      'POST',
      {
        data: [
          { name: 'a', email: 'mine@x' },
          { name: 'b', teamId: 99 },
        ],
      },
      400,
      [
        [0, 'email', TAKEN],
        [1, 'teamId', LOST],
      ],
    ],
    [
      'a wrong value, a taken one and a reference to nobody',
      'people/_bulk',
      'POST',
      {
        data: [
          { name: 'a', email: 'mine@x', teamId: 98 },
          { name: 5, email: 'hidden@x' },
          { name: 'b', email: 'new@x' },
          { name: 'c', email: 'new@x' },
        ],
      },
      400,
      [
        [0, 'teamId', LOST],
        [0, 'email', TAKEN],
        [1, 'name', 'TYPE_MISMATCH'],
        [1, 'email', TAKEN],
        [2, 'email', TAKEN],
        [3, 'email', TAKEN],
      ],
    ],
    [
      'those of an upsert',
      'people/_bulk?onConflict=email',
      'POST',
      {
        data: [
          { name: 'a', email: 'mine@x' },
          { name: 5, email: 'new@x' },
          { name: 'c', email: 'new@x', teamId: 99 },
        ],
      },
      400,
      [
        [1, 'name', 'TYPE_MISMATCH'],
        [1, 'email', TAKEN],
        [2, 'teamId', LOST],
        [2, 'email', TAKEN],
      ],
    ],
    [
      'those of an update',
      'people/_bulk',
      'PATCH',
      {
        data: [
          { id: 1, email: 'hidden@x' },
          { id: 2, teamId: 99 },
        ],
      },
      400,
      [
        [0, 'email', TAKEN],
        [1, 'teamId', LOST],
      ],
    ],
    [
      'those of one record',
      'people',
      'POST',
      { name: 5, email: 'mine@x', teamId: 99 },
      400,
      [
        [undefined, 'name', 'TYPE_MISMATCH'],
        [undefined, 'teamId', LOST],
        [undefined, 'email', TAKEN],
      ],
    ],
    [
      'a taken value and a reference to nobody of one record',
      'people',
      'POST',
      { name: 'a', email: 'mine@x', teamId: 99 },
      400,
      [
        [undefined, 'teamId', LOST],
        [undefined, 'email', TAKEN],
      ],
    ],
    [
      'those of an update of one record',
      'people/2',
      'PATCH',
      { email: 'mine@x', teamId: 99 },
      400,
      [
        [undefined, 'teamId', LOST],
        [undefined, 'email', TAKEN],
      ],
    ],
    ['a taken value alone', 'people', 'POST', { name: 'a', email: 'mine@x' }, 409, [[undefined, 'email', TAKEN]]],
    ['its own value', 'people/1', 'PATCH', { name: 5, email: 'mine@x' }, 400, [[undefined, 'name', 'TYPE_MISMATCH']]],
  ];
  for (const [name, path, method, body, status, expected] of cases)
    test(name, async () => {
      const answer = await send(path, method, body);
      assert.equal(answer.status, status, answer.text);
      assert.deepEqual(places(answer), expected);
      assert.equal(answer.json.error.code, status === 400 ? 'VALIDATION_FAILED' : 'CONFLICT');
    });
});

describe('a user who sees some records', () => {
  test('is told the records that the row rules refuse', async () => {
    const data = [{ name: 'a' }, { name: 'b', owner: 'you' }, { name: 'c', owner: 'me' }, { name: 'd', owner: null }];
    for (const [method, items] of [
      ['POST', data],
      ['PATCH', data.map(({ owner }) => (owner === undefined ? { id: 1 } : { id: 1, owner })).slice(1, 2)],
    ] as const) {
      const answer = await send('people/_bulk', method, { data: items }, me());
      assert.deepEqual([answer.status, answer.json.error.reason], [403, 'ROW_NOT_ALLOWED'], answer.text);
      assert.equal(answer.json.error.message, 'Column owner may only have the value of your token');
      assert.deepEqual(
        places(answer),
        method === 'POST'
          ? [
              [1, 'owner', 'READ_ONLY'],
              [3, 'owner', 'READ_ONLY'],
            ]
          : [[0, 'owner', 'READ_ONLY']],
      );
    }
  });

  test('is told the records whose values hidden ones have, and nothing of these', async () => {
    for (const query of ['', '?onConflict=email', '?onConflict=email&conflict=skip']) {
      const answer = await send(
        `people/_bulk${query}`,
        'POST',
        {
          data: [
            { name: 'a', email: 'a@x' },
            { name: 'b', email: 'hidden@x' },
          ],
        },
        me(),
      );
      assert.deepEqual(
        [answer.status, answer.json.error.details],
        [409, [{ index: 1, field: 'email', code: TAKEN, message: 'must be unique: another record has this value' }]],
      );
    }
  });

  test('learns nothing of taken values by records that the rules refuse', async () => {
    for (const credential of [me(), tokenOf({ team: 'red' })]) {
      const data = [
        { name: 5, email: 'hidden@x', owner: 'you' },
        { name: 5, email: 'nobody@x', owner: 'you' },
      ];
      const answer = await send('people/_bulk', 'POST', { data }, credential);
      assert.deepEqual(places(answer), [
        [0, 'name', 'TYPE_MISMATCH'],
        [1, 'name', 'TYPE_MISMATCH'],
      ]);
    }
  });

  test('uses no ids with references to hidden records', async () => {
    const last = async (): Promise<number> => (await send('people', 'POST', { name: 'last' })).json.data.id;
    const before = await last();
    for (let n = 0; n < 8; n++)
      for (const query of ['', '?onConflict=email']) {
        const data = [
          { name: 'a', email: `u${n}@x` },
          { name: 'b', email: `v${n}@x`, teamId: n % 2 === 0 ? 2 : 99 },
        ];
        assert.equal((await send(`people/_bulk${query}`, 'POST', { data }, me())).status, 400);
      }
    assert.equal(await last(), before + 1);
  });
});

test('records whose answer would be too large: the refusal says what helps', async () => {
  const data = ['a', 'b', 'c'].map((name) => ({ name, note: 'x'.repeat(2000) }));
  for (const query of ['', '?onConflict=email']) {
    const { status, json } = await send(`people/_bulk${query}`, 'POST', {
      data: data.map((item) => ({ ...item, email: null })),
    });
    assert.deepEqual([status, json.error.reason], [400, 'RECORD_TOO_LARGE']);
    assert.match(json.error.message, /return=minimal.* fewer records/);
  }
  assert.equal((await send('people/_bulk?return=minimal', 'POST', { data })).status, 201);
});
