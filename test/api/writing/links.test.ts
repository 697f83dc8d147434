// Many-to-many relations in writes: {"tags": [1, 2]} changes the records of the entity between the two.
import assert from 'node:assert/strict';
import { before, beforeEach, describe, test } from 'node:test';
import pg from 'pg';
import { prepare, use, useServer } from '../../support/resources.ts';
import type { Answer } from '../../support/server.ts';
import { until } from '../../support/wait-until.ts';

const server = useServer({ WDA_MAX_BULK: '1001' });
const tagged = (through: string) => ({ kind: 'manyToMany', entity: 'tags', through, from: 'post', to: 'tag' });
const keys = {
  post: { kind: 'belongsTo', entity: 'posts', required: true, onDelete: 'cascade' },
  tag: { kind: 'belongsTo', entity: 'tags', required: true },
};
const byOwner = { field: 'owner', op: 'eq', value: { claim: 'owner' } };
const shop = use(() =>
  server.workspace('t/links', {
    roles: ['writer', 'reader'],
    entities: {
      posts: {
        fields: { title: { type: 'string', maxLength: 10, unique: true }, stock: { type: 'integer', min: 0 } },
        relations: { tags: tagged('labels'), notedTags: tagged('notes'), plainTags: tagged('plain') },
        timestamps: true,
        grants: [
          { role: 'writer', can: ['read', 'create', 'update'] },
          { role: 'reader', can: ['read', 'update'] },
        ],
      },
      tags: {
        fields: { name: { type: 'string' }, secret: { type: 'boolean' } },
        relations: {
          posts: { kind: 'manyToMany', entity: 'posts', through: 'labels', from: 'tag', to: 'post' },
          plainPosts: { kind: 'manyToMany', entity: 'posts', through: 'plain', from: 'tag', to: 'post' },
        },
        grants: [{ role: 'writer', can: ['read'], where: { field: 'name', op: 'ne', value: 'hidden' } }],
      },
      labels: {
        fields: { owner: { type: 'integer' }, rank: { type: 'integer', required: true, default: 7 } },
        relations: keys,
        indexes: [{ fields: ['postId', 'tagId'], unique: true }],
        settings: { changes: 'feed' },
        grants: [
          { role: 'writer', can: ['read', 'create', 'delete'], where: byOwner, set: { owner: { claim: 'owner' } } },
        ],
      },
      notes: { fields: { text: { type: 'string', required: true } }, relations: keys },
      plain: { fields: {}, relations: keys },
    },
  }),
);

/** An id that no record has. */
const NONE = 9_999_999;

const call = (path: string, method: string, body: unknown, options: object = {}): Promise<Answer> =>
  shop.call(path, { method, body, ...options });
const patch = (body: unknown, options: object = {}, id = post): Promise<Answer> =>
  call(`posts/${id}`, 'PATCH', body, options);
const list = async (entity: string) => (await shop.call(`${entity}?size=1000&sort=id`)).json.data;
const getTags = async (id = post, relation = 'tags'): Promise<number[]> =>
  (await shop.call(`posts/${id}?expand=${relation}`)).json.data[relation]
    .map((tag: { id: number }) => tag.id)
    .sort((a: number, b: number) => a - b);
const refusal = ({ status, json }: Answer) => [status, json.error.details ?? json.error.message];

let [a, b, c, post]: number[] = [];
prepare(async () => {
  [a, b, c] = (await shop.create('tags', [{ name: 'a' }, { name: 'b' }, { name: 'c' }])).map(({ id }) => id);
});
beforeEach(async () => {
  for (const entity of ['labels', 'plain', 'posts'])
    await call(`${entity}/_delete`, 'POST', { filter: { all: true }, max: 200_000 });
  post = (await shop.create('posts', [{ title: 'x', tags: [a, b] }]))[0].id;
});

describe('one record', () => {
  test('a create links it, and does not show the relation', async () => {
    const { status, json } = await call('posts', 'POST', { title: 'y', tags: [c, a, c] });
    assert.deepEqual([status, Object.keys(json.data)], [201, ['id', 'title', 'stock', 'createdAt', 'updatedAt']]);
    assert.deepEqual(await getTags(json.data.id), [a, c]);
    assert.equal((await list('labels')).at(-1).rank, 7);
  });

  test('an update sets them: links that stay are left as they are', async () => {
    const before = await list('labels');
    assert.equal((await patch({ tags: [b, c] })).status, 200);
    const after = await list('labels');
    assert.deepEqual(after[0], before[1]);
    assert.deepEqual(await getTags(), [b, c]);
    assert.equal((await call(`posts/${post}`, 'PUT', { tags: [] })).status, 200);
    assert.deepEqual(await getTags(), []);
  });

  test('an update adds and removes some, whatever is linked', async () => {
    assert.equal((await patch({ tags: { $add: [b, c], $remove: [a, NONE] }, stock: { $inc: 2 } })).json.data.stock, 2);
    assert.deepEqual(await getTags(), [b, c]);
    assert.equal((await patch({ tags: { $remove: [c] } })).status, 200);
    assert.deepEqual(await getTags(), [b]);
  });

  test('works from the other side', async () => {
    assert.equal((await call(`tags/${c}`, 'PATCH', { posts: [post] })).status, 200);
    assert.deepEqual(await getTags(), [a, b, c]);
  });

  test('a link that is there twice is taken away with all its records', async () => {
    await shop.create('plain', [
      { postId: post, tagId: a },
      { postId: post, tagId: a },
    ]);
    assert.equal((await patch({ plainTags: { $add: [a] } })).status, 200);
    assert.equal((await list('plain')).length, 2);
    assert.equal((await patch({ plainTags: [b] })).status, 200);
    assert.deepEqual(await getTags(post, 'plainTags'), [b]);
  });

  test('the version is that of the record, which links do not change', async () => {
    const etag = String((await shop.call(`posts/${post}?expand=`)).headers.get('etag'));
    const options = { headers: { 'if-match': etag } };
    assert.equal((await patch({ tags: [c] }, options)).headers.get('etag'), etag);
    await patch({ title: 'z' });
    assert.equal((await patch({ tags: [a] }, options)).status, 412);
    assert.deepEqual(await getTags(), [c]);
  });

  test('what the record refuses leaves the links, and the other way round', async () => {
    assert.equal((await patch({ title: 'far too long', tags: [] })).status, 400);
    assert.equal((await patch({ title: 'new', tags: [NONE] })).status, 400);
    assert.equal((await patch({ tags: [a] }, {}, 999_999)).status, 404);
    assert.equal((await call('posts', 'POST', { title: 'x', tags: [a] })).status, 409);
    assert.deepEqual([await getTags(), (await list('posts')).length], [[a, b], 1]);
    assert.equal((await list('posts'))[0].title, 'x');
  });

  test('links are events of the feed, with the actor', async () => {
    const { cursor } = (await shop.call('labels/_changes')).json.meta;
    await patch({ tags: [b, c] });
    const { data } = (await shop.call(`labels/_changes?after=${cursor}`)).json;
    assert.deepEqual(
      data.map(({ type, actor }: { type: string; actor: { kind: string } }) => [type, actor.kind]),
      [
        ['removed', 'key'],
        ['created', 'key'],
      ],
    );
    assert.equal(data[0].transaction, data[1].transaction);
  });

  test('an Idempotency-Key makes them once', async () => {
    const options = { headers: { 'idempotency-key': 'k1' } };
    const first = await call('posts', 'POST', { title: 'k', tags: [a] }, options);
    await patch({ tags: [] }, {}, first.json.data.id);
    const second = await call('posts', 'POST', { title: 'k', tags: [a] }, options);
    assert.deepEqual([second.text, second.headers.get('idempotent-replayed')], [first.text, 'true']);
    assert.deepEqual(await getTags(first.json.data.id), []);
  });

  test('requests at once link a pair once', async () => {
    const answers = await Promise.all([
      ...[1, 2, 3].map(() => patch({ tags: { $add: [c] }, plainTags: { $add: [c] } })),
      ...[1, 2, 3].map(() => call(`tags/${c}`, 'PATCH', { posts: { $add: [post] } })),
    ]);
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
    assert.deepEqual([await getTags(), await getTags(post, 'plainTags')], [[a, b, c], [c]]);
  });

  test('requests from both sides at once link a pair once, without a unique index, too', async () => {
    const client = new pg.Client({ connectionString: server.database.url });
    await client.connect();
    try {
      const { rows } = await client.query("select database_schema as schema from wda.workspace where slug = 'links'");
      await client.query(`begin; lock table "${rows[0].schema}".plain in share mode`);
      let isOver = false;
      const answers = Promise.all([
        patch({ plainTags: { $add: [c] } }),
        call(`tags/${c}`, 'PATCH', { plainPosts: { $add: [post] } }),
      ]).finally(() => {
        isOver = true;
      });
      await until('both wait', async () => {
        const [row] = await server.database.query(
          "select count(distinct a.pid)::int4 as count from pg_stat_activity a where datname = current_database() and wait_event_type = 'Lock'",
        );
        return isOver || Number(row?.count) >= 2;
      });
      await client.query('rollback');
      assert.deepEqual(
        (await answers).map(({ status }) => status),
        [200, 200],
      );
    } finally {
      await client.end();
    }
    assert.equal((await list('plain')).length, 1);
  });
});

describe('refusals', () => {
  const form = 'must be an array of ids, or {"$add": [ids], "$remove": [ids]}';
  const table: [name: string, body: () => object, code: string, message: string][] = [
    ['no list', () => ({ tags: 1 }), 'TYPE_MISMATCH', form],
    ['null', () => ({ tags: null }), 'TYPE_MISMATCH', form],
    ['no operator', () => ({ tags: {} }), 'TYPE_MISMATCH', form],
    ['an unknown operator', () => ({ tags: { $inc: 1 } }), 'TYPE_MISMATCH', `does not take $inc, and ${form}`],
    ['no array', () => ({ tags: { $add: 1 } }), 'TYPE_MISMATCH', '$add and $remove must be arrays of ids'],
    [
      'no id',
      () => ({ tags: [a, 'x'] }),
      'TYPE_MISMATCH',
      'item 1 must be an integer, as a number or a numeric string',
    ],
    ['null as an id', () => ({ tags: { $remove: [null] } }), 'TYPE_MISMATCH', 'item 0 must be an id'],
    ['both', () => ({ tags: { $add: [5], $remove: [5] } }), 'INVALID', 'names 5 in $add and in $remove'],
    [
      'no record',
      () => ({ tags: [a, NONE] }),
      'REFERENCE_NOT_FOUND',
      `refers to a record that does not exist: ${NONE}`,
    ],
    [
      'too many ids',
      () => ({ tags: Array.from({ length: 1001 }, (_, index) => index + 1) }),
      'OUT_OF_RANGE',
      'names 1001 records, and at most 1000 can be in one list',
    ],
    [
      'another required field',
      () => ({ notedTags: [] }),
      'INVALID',
      'cannot be written here, as notes requires text: write records of it',
    ],
  ];
  for (const [name, body, code, message] of table) {
    test(name, async () => {
      const [field = ''] = Object.keys(body());
      assert.deepEqual(refusal(await patch(body())), [400, [{ field, code, message }]]);
      const where = { filter: { all: true }, set: body(), max: 10 };
      assert.deepEqual(refusal(await call('posts/_update', 'POST', where)), [400, [{ field, code, message }]]);
    });
  }

  test('creates take no operators', async () => {
    const { json } = await call('posts', 'POST', { title: 'n', tags: { $add: [a] } });
    assert.equal(json.error.details[0].message, 'must be an array of ids');
  });

  test('mistakes of the record and of its links are told together', async () => {
    const { json } = await call('posts', 'POST', { title: 'far too long', stock: 'x', tags: [NONE], notedTags: [a] });
    const fields = json.error.details.map(({ field }: { field: string }) => field);
    assert.deepEqual(fields.sort(), ['notedTags', 'stock', 'tags', 'title']);
  });

  test('a request makes a bounded number of links', async () => {
    const tags = Array.from({ length: 1000 }, (_, index) => index + 1);
    const data = Array.from({ length: 101 }, () => ({ plainTags: tags }));
    const [status, message] = refusal(await call('posts/_bulk', 'POST', { data }));
    assert.equal(status, 400);
    assert.match(
      message,
      /^The write is about 101000 links of many-to-many relations, and one request makes or compares 100000 at most/,
    );
  });

  test('so does an update by filter, which looks at none of them where they are far too many', async () => {
    const make = async (entity: string, records: readonly object[]): Promise<number[]> =>
      (await call(`${entity}/_bulk`, 'POST', { data: records })).json.data.map(({ id }: { id: number }) => id);
    const made = await make(
      'posts',
      Array.from({ length: 202 }, (_, index) => ({ title: `many${index}` })),
    );
    const tags = await make(
      'tags',
      Array.from({ length: 1000 }, () => ({ name: 'many' })),
    );
    assert.equal((await patch({ plainTags: [tags[0]] }, {}, made[0])).status, 200);
    const filter = { field: 'title', op: 'startsWith', value: 'many' };
    const body = { filter, set: { plainTags: { $add: tags } }, max: 1000 };
    const [status, message] = refusal(await call('posts/_update', 'POST', body));
    assert.deepEqual([status, /^The write is about (\d+) links/.exec(message)?.[1]], [400, '202000']);
    await shop.call('tags/_delete', {
      method: 'POST',
      body: { filter: { field: 'name', op: 'eq', value: 'many' }, max: 1000 },
    });
  });
});

describe('many records', () => {
  test('creates and updates', async () => {
    const data = [{ title: '1', tags: [a] }, { title: '2' }, { title: '3', tags: [b, c] }];
    const made = (await call('posts/_bulk', 'POST', { data })).json.data.map(({ id }: { id: number }) => id);
    assert.deepEqual([await getTags(made[0]), await getTags(made[1]), await getTags(made[2])], [[a], [], [b, c]]);
    const changes = [
      { id: made[2], tags: { $remove: [b] } },
      { id: made[0], tags: [b], stock: 1 },
    ];
    const { json } = await call('posts/_bulk?return=minimal&versions=true', 'PATCH', { data: changes });
    assert.deepEqual(json.data, [{ id: made[2] }, { id: made[0] }]);
    assert.deepEqual([await getTags(made[0]), await getTags(made[2])], [[b], [c]]);
  });

  test('refusals name the record', async () => {
    const data = [{ title: '1' }, { title: '2', tags: [NONE] }, { title: '3', tags: 'x' }];
    const { status, json } = await call('posts/_bulk', 'POST', { data });
    const places = json.error.details.map(({ index, field, code }: Record<string, unknown>) => [index, field, code]);
    assert.deepEqual(
      [status, places],
      [
        400,
        [
          [1, 'tags', 'REFERENCE_NOT_FOUND'],
          [2, 'tags', 'TYPE_MISMATCH'],
        ],
      ],
    );
    assert.equal((await list('posts')).length, 1);
  });

  test('a dry run writes nothing', async () => {
    const { status, json } = await call('posts/_bulk?dryRun=true', 'POST', { data: [{ title: 'dry', tags: [a] }] });
    assert.deepEqual([status, json.meta], [201, { dryRun: true }]);
    const changes = { data: [{ id: post, tags: [] }] };
    assert.equal((await call('posts/_bulk?dryRun=true', 'PATCH', changes)).status, 200);
    const where = { filter: { all: true }, set: { tags: [c] }, max: 10 };
    assert.equal((await call('posts/_update?dryRun=true', 'POST', where)).json.data.updated, 1);
    assert.deepEqual([(await list('posts')).length, await getTags()], [1, [a, b]]);
  });

  test('an update by filter tells which records have changed, links included', async () => {
    await shop.create('posts', [{ title: 'y', tags: [a, b, c] }, { title: 'w' }]);
    const set = { tags: { $add: [a, c] } };
    const { json } = await call('posts/_update', 'POST', { filter: { all: true }, set, max: 10 });
    assert.deepEqual(json.data, { matched: 3, updated: 2 });
    assert.deepEqual(await getTags(), [a, b, c]);
  });

  test('upserts set them', async () => {
    const single = await call('posts?onConflict=title', 'POST', { title: 'x', tags: [c] });
    assert.deepEqual([single.status, await getTags()], [200, [c]]);
    const data = [
      { title: 'new', tags: [a] },
      { title: 'x', tags: [b] },
    ];
    const { json } = await call('posts/_bulk?onConflict=title', 'POST', { data });
    assert.deepEqual(json.meta, { inserted: 1, updated: 1 });
    assert.deepEqual([await getTags(json.data[0].id), await getTags()], [[a], [b]]);
    assert.equal((await call('posts?onConflict=title&conflict=skip', 'POST', { title: 'x', tags: [] })).status, 200);
    assert.deepEqual(await getTags(), [b]);
    const skip = await call('posts/_bulk?onConflict=title&conflict=skip', 'POST', { data });
    assert.deepEqual(
      [skip.status, skip.json.error.message],
      [400, 'conflict=skip takes no relations in a request of many records: write them in another one'],
    );
  });

  test('operations of a batch', async () => {
    const operations = [
      { ref: 'tag', method: 'POST', entity: 'tags', body: { name: 'd' } },
      { ref: 'post', method: 'POST', entity: 'posts', body: { title: 'b', tags: [a, { $ref: 'tag.id' }] } },
      { method: 'PATCH', entity: 'posts', id: post, body: { tags: { $add: [{ $ref: 'tag.id' }], $remove: [a] } } },
      { method: 'GET', entity: 'posts', id: { $ref: 'post.id' }, query: 'expand=tags' },
    ];
    const { status, json, text } = await call('_batch', 'POST', { operations });
    assert.equal(status, 200, text);
    const d = json.data[0].data.id;
    assert.deepEqual(json.data[3].data.tags.map(({ id }: { id: number }) => id).sort(), [a, d]);
    assert.deepEqual(await getTags(), [b, d]);
    const wrong = [
      { ...operations[1], body: { title: 'c', tags: [a] } },
      { method: 'PATCH', entity: 'posts', id: post, body: { tags: [NONE] } },
    ];
    const refused = await call('_batch', 'POST', { operations: [{ ...operations[0] }, ...wrong] });
    assert.deepEqual([refused.status, refused.json.error.operation], [400, 2]);
  });
});

describe('grants of the entity between the two', () => {
  let writer: string;
  let reader: string;
  let hidden: number;
  before(async () => {
    const makeKey = async (role: string) => {
      const body = { name: role, permissions: 'GRANTS', roles: [role], claims: { owner: 1 } };
      return (await shop.admin('api-keys', { method: 'POST', body })).json.data.key;
    };
    writer = await makeKey('writer');
    reader = await makeKey('reader');
    hidden = (await shop.create('tags', [{ name: 'hidden' }]))[0].id;
  });

  test('links that are hidden, or lead to hidden records, stay, and new ones are stamped', async () => {
    await shop.create('labels', [{ postId: post, tagId: hidden, owner: 1 }]);
    const { status, text } = await patch({ tags: [c] }, { credential: writer });
    assert.equal(status, 200, text);
    assert.deepEqual(await getTags(), [a, b, c, hidden]);
    assert.equal((await list('labels')).at(-1).owner, 1);
    await patch({ tags: [] }, { credential: writer });
    assert.deepEqual(await getTags(), [a, b, hidden]);
    await patch({ tags: { $remove: [a, hidden] } }, { credential: writer });
    assert.deepEqual(await getTags(), [a, b, hidden]);
  });

  test('a hidden record is none, and a hidden link a conflict', async () => {
    const answers = await Promise.all([hidden, NONE].map((id) => patch({ tags: [id] }, { credential: writer })));
    const texts = answers.map(({ json }) => JSON.stringify(json.error.details).replace(/\d+/, ''));
    assert.deepEqual([answers[0]?.status, texts[0]], [400, texts[1]]);
    const { status, json } = await patch({ tags: { $add: [a] } }, { credential: writer });
    assert.deepEqual([status, json.error.details[0].field, json.error.details[0].code], [409, 'tags', 'NOT_UNIQUE']);
  });

  test('who may not write it is refused', async () => {
    const { status, json } = await patch({ tags: [] }, { credential: reader });
    assert.equal(status, 400, JSON.stringify(json));
    assert.deepEqual(await getTags(), [a, b]);
  });

  test('a credential for some entities does not know the relation', async () => {
    const body = { name: 'some', permissions: 'READ_WRITE', entities: ['posts', 'tags'] };
    const { key } = (await shop.admin('api-keys', { method: 'POST', body })).json.data;
    const { status, json } = await patch({ tags: [c] }, { credential: key });
    assert.deepEqual([status, json.error.details[0].code], [400, 'UNKNOWN_FIELD']);
  });
});
