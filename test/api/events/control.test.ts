// Events about the entity itself, in the order of the changes: its definition changed, its records changed without events of
// their own, or it keeps changes no longer.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import pg from 'pg';
import { makeLoadChangedWorkspaces } from '../../../src/store/workspaces.ts';
import { makeChangeRetention } from '../../../src/workspace-schema/change-retention.ts';
import { openDatabase } from '../../support/database.ts';
import { use, useIssuer, useServer } from '../../support/resources.ts';
import type { Answer, Call, TestWorkspace } from '../../support/server.ts';
import { LOCAL_PROVIDER, makeUsers, type TokenOf } from '../../support/users.ts';
import { until } from '../../support/wait-until.ts';

const FEED = { changes: 'feed' } as const;
const TEXT = { type: 'text' } as const;
const SCHEMA = {
  roles: ['agent'],
  entities: {
    notes: {
      fields: { text: TEXT, owner: { type: 'string' }, level: { type: 'integer' } },
      rowRules: [{ column: 'owner', claim: 'sub' }],
      settings: FEED,
    },
    tags: { fields: { name: { type: 'string' } }, settings: FEED },
    tickets: {
      fields: { title: TEXT, hidden: TEXT },
      settings: FEED,
      grants: [{ role: 'agent', can: ['read'], fields: ['title'] }],
    },
    papers: { fields: { text: TEXT }, settings: { changes: 'history' } },
    drafts: { fields: { text: TEXT } },
  },
};

const issuer = useIssuer();
const server = useServer(LOCAL_PROVIDER);
let shop: TestWorkspace;
let tokenOf: TokenOf;
let count = 0;

async function makeShop(): Promise<void> {
  shop = await server.workspace(`acme/control${count++}`, SCHEMA);
  tokenOf = await makeUsers(shop, issuer);
  assert.equal((await shop.admin('identity-provider', { method: 'PUT', body: { roleClaim: 'roles' } })).status, 200);
}

const ok = (answer: Answer): Answer['json'] => {
  assert.ok(answer.status < 300, answer.text);
  return answer.json;
};
const now = async (path: string, call: Call = {}): Promise<string> => ok(await shop.call(path, call)).meta.cursor;

/** Reads the events after the cursor, without ids and times. */
async function read(path: string, after: string, call: Call = {}): Promise<Record<string, unknown>[]> {
  const { data } = ok(await shop.call(`${path}${path.includes('?') ? '&' : '?'}after=${after}&size=1000`, call));
  return data.map(({ id, at, ...event }: Record<string, unknown>) => {
    assert.match(String(id), /^e_[\w-]{1,62}$/);
    assert.match(String(at), /Z$/);
    return event;
  });
}

async function migrate(document: object, parameters = ''): Promise<void> {
  const path = `schema?wait=60&allowDestructive=true${parameters}`;
  const { json } = await shop.admin(path, { method: 'PUT', body: document });
  assert.equal(json.data?.state, 'succeeded', JSON.stringify(json));
}

const importCsv = (entity: string, body: string, query = '?events=summary', call: Call = {}): Promise<Answer> =>
  shop.call(`${entity}/_import${query}`, { method: 'POST', body, headers: { 'content-type': 'text/csv' }, ...call });

/** Opens a stream: `rest` is all of its text, at its end; `text` what has come. */
async function readStream(path: string): Promise<{ text: () => string; rest: Promise<string> }> {
  const headers = { Accept: 'text/event-stream', Authorization: `Bearer ${shop.key}` };
  const response = await fetch(`${server.url}/api/v1/${shop.path}/${path}`, { headers });
  assert.equal(response.status, 200);
  let text = '';
  const decoder = new TextDecoder();
  const rest = (async () => {
    for await (const chunk of response.body ?? []) text += decoder.decode(chunk, { stream: true });
    return text;
  })();
  return { text: () => text, rest };
}

/** Returns the messages of a stream that tell something, without ids. */
const listMessages = (text: string): [string | undefined, Record<string, unknown>][] =>
  [...text.matchAll(/^event: (\S+)\n(?:id: \S+\n)?data: (.*)$/gm)]
    .map(([, name, data]): [string | undefined, Record<string, unknown>] => [name, JSON.parse(data as string)])
    .filter(([name]) => name !== 'caught-up');

describe('a migration', () => {
  before(makeShop);
  const [notes, tickets] = [SCHEMA.entities.notes, SCHEMA.entities.tickets];

  for (const strategy of ['online', 'blocking'] as const) {
    test(`that changes fields is one event of each entity, at its switch (${strategy})`, async () => {
      await makeShop();
      ok(await shop.call('notes', { method: 'POST', body: { text: 'a', owner: 'ann', level: 1 } }));
      const start = await now('_changes');
      const fields = { body: { ...TEXT, renamedFrom: 'text' }, owner: { type: 'string' }, level: { type: 'string' } };
      const added = { rank: { type: 'integer', default: 7 } };
      await migrate(
        {
          ...SCHEMA,
          entities: {
            ...SCHEMA.entities,
            notes: { ...notes, fields: { ...fields, ...added } },
            tags: { ...SCHEMA.entities.tags, description: 'Words' },
          },
        },
        `&strategy=${strategy}`,
      );
      ok(await shop.call('notes', { method: 'POST', body: { body: 'b', owner: 'ann' } }));
      const [schema, created, ...rest] = await read('_changes', start);
      assert.deepEqual(schema, {
        type: 'schema',
        entity: 'notes',
        renamed: { text: 'body' },
        added: ['rank'],
        dropped: [],
        retyped: ['level'],
      });
      assert.deepEqual([created?.type, (created?.record as { body?: string } | undefined)?.body], ['created', 'b']);
      assert.deepEqual(rest, []);
    });
  }

  test('is in the events of a stream, which goes on with the new names', async () => {
    await makeShop();
    const { rest, text: received } = await readStream('notes/_changes');
    const { text: _, ...others } = notes.fields;
    await migrate({ ...SCHEMA, entities: { ...SCHEMA.entities, notes: { ...notes, fields: others } } });
    ok(await shop.call('notes', { method: 'POST', body: { owner: 'ann', level: 3 } }));
    await until('the change is told', () => received().includes('event: change'));
    ok(await shop.admin('entities/notes/settings', { method: 'PUT', body: { changes: 'off' } }));
    const messages = listMessages(await rest);
    assert.deepEqual(
      messages.map(([name, data]) => [name, data.dropped ?? data.reason ?? data.code]),
      [
        ['schema', ['text']],
        ['change', undefined],
        ['ended', 'off'],
        ['end', 'CHANGES_OFF'],
      ],
    );
    assert.deepEqual(Object.keys(messages[1]?.[1].record as object), ['id', 'owner', 'level']);
  });

  test('tells a user whom grants limit of fields that it reads alone', async () => {
    await makeShop();
    const user = { credential: await tokenOf({ sub: 'u1', roles: ['agent'] }) };
    const [mine, all] = [await now('tickets/_changes', user), await now('tickets/_changes')];
    const fields = { title: TEXT, secret: { ...TEXT, renamedFrom: 'hidden' }, more: TEXT };
    await migrate({ ...SCHEMA, entities: { ...SCHEMA.entities, tickets: { ...tickets, fields } } });
    const [event] = await read('tickets/_changes', all);
    assert.deepEqual([event?.renamed, event?.added], [{ hidden: 'secret' }, ['more']]);
    const [seen] = await read('tickets/_changes', mine, user);
    assert.deepEqual([seen?.type, seen?.renamed, seen?.added, seen?.dropped], ['schema', {}, [], []]);
  });

  test('that renames the entity says so, and a cursor goes on', async () => {
    await makeShop();
    const start = await now('tags/_changes');
    const { tags, ...entities } = SCHEMA.entities;
    await migrate({ ...SCHEMA, entities: { ...entities, labels: { ...tags, renamedFrom: 'tags' } } });
    const empty = { renamed: {}, added: [], dropped: [], retyped: [] };
    assert.deepEqual(await read('labels/_changes', start), [
      { type: 'schema', entity: 'labels', entityBefore: 'tags', ...empty },
    ]);
  });

  test('that changes the type of a filtered field ends the view of a cursor, of a hand-over, and of a stream', async () => {
    await makeShop();
    const filter = 'filter=level,gte,1';
    const cursors = [
      await now(`notes/_changes?${filter}`),
      ok(await shop.call(`notes?${filter}&changes=true`)).meta.changes,
    ];
    const unfiltered = await now('notes/_changes');
    const { rest } = await readStream(`notes/_changes?${filter}`);
    for (const cursor of cursors) assert.deepEqual(await read(`notes/_changes?${filter}`, cursor), []);
    const fields = { ...notes.fields, level: { type: 'bigint' } };
    await migrate({ ...SCHEMA, entities: { ...SCHEMA.entities, notes: { ...notes, fields } } });
    for (const cursor of cursors) {
      const { status, json } = await shop.call(`notes/_changes?${filter}&after=${cursor}`);
      assert.deepEqual([status, json.error.code], [410, 'VIEW_CHANGED']);
    }
    assert.deepEqual(
      (await read('notes/_changes', unfiltered)).map(({ type }) => type),
      ['schema'],
    );
    assert.deepEqual(listMessages(await rest).at(-1)?.[1].code, 'VIEW_CHANGED');
  });

  test('that drops the entity ends its stream with the reason', async () => {
    await makeShop();
    const { rest } = await readStream('tags/_changes');
    const whole = await readStream('_changes');
    const { tags: _, ...entities } = SCHEMA.entities;
    await migrate({ ...SCHEMA, entities });
    const ends = async (text: Promise<string>): Promise<unknown> =>
      listMessages(await text).map(([name, { entity, reason, code }]) => [name, entity, reason ?? code]);
    assert.deepEqual(await ends(rest), [
      ['ended', 'tags', 'dropped'],
      ['end', undefined, 'CHANGES_OFF'],
    ]);
    assert.deepEqual(await ends(whole.rest), [
      ['ended', 'tags', 'dropped'],
      ['end', undefined, 'VIEW_CHANGED'],
    ]);
  });
});

describe('an import with events=summary', () => {
  before(makeShop);

  test('is one event, with its counts for who sees all records', async () => {
    const user = { credential: await tokenOf('u1') };
    const [all, mine] = [await now('notes/_changes'), await now('notes/_changes', user)];
    const csv = 'id,text,owner\n1,a,u1\n2,b,u2\n';
    const { data } = ok(await importCsv('notes', csv));
    assert.deepEqual(data, { inserted: 2, updated: 0, skipped: 0 });
    ok(await importCsv('notes', 'id,text\n1,c\n3,d\n', '?events=summary&onConflict=update'));
    const base = { type: 'reset', entity: 'notes', reason: 'imported' };
    assert.deepEqual(await read('notes/_changes', all), [
      { ...base, inserted: 2, updated: 0, skipped: 0 },
      { ...base, inserted: 1, updated: 1, skipped: 0 },
    ]);
    assert.deepEqual(await read('notes/_changes', mine, user), [base, base]);
    // Later writes have events again.
    ok(await shop.call('notes/1', { method: 'PATCH', body: { text: 'e' } }));
    assert.equal((await read('notes/_changes', all)).at(-1)?.type, 'updated');
  });

  test('is no event when nothing changes, when it is refused, and in a dry run', async () => {
    const start = await now('tags/_changes');
    ok(await importCsv('tags', 'name\na\n', '?events=summary&dryRun=true'));
    assert.equal((await importCsv('tags', 'name,nothing\na,b\n')).status, 400);
    ok(await importCsv('tags', 'id,name\n9,a\n'));
    ok(await importCsv('tags', 'id,name\n9,b\n', '?events=summary&onConflict=skip'));
    ok(await importCsv('tags', 'name\nb\n', '?events=each'));
    assert.deepEqual(
      (await read('tags/_changes', start)).map(({ type, reason }) => [type, reason]),
      [
        ['reset', 'imported'],
        ['created', undefined],
      ],
    );
  });

  test('is refused for history, and means nothing where no changes are kept', async () => {
    const refused = await importCsv('papers', 'text\na\n');
    assert.deepEqual([refused.status, refused.json.error.code], [400, 'BAD_REQUEST']);
    assert.match(refused.json.error.message, /events=summary.*papers/);
    assert.equal((await importCsv('papers', 'text\na\n', '?events=all')).status, 400);
    ok(await importCsv('papers', 'text\na\n', ''));
    ok(await importCsv('drafts', 'text\na\n'));
  });
});

describe('triggers that somebody changes by SQL', () => {
  const db = use(
    async () => openDatabase(server.database.url),
    (database) => database.close(),
  );
  let schema: string;
  let reports: unknown[] = [];
  const report = (_: string, { table, triggers }: Readonly<Record<string, unknown>>): number =>
    reports.push([table, triggers]);
  const sql = (text: string): Promise<unknown> => server.database.query(text.replaceAll('$', `"${schema}"`));

  /** Runs what the server does every minute; returns the number of tables without triggers. */
  async function sweep(): Promise<number> {
    const limits = { hours: 24, maxBytes: 1e9, historyDays: 365 };
    const retention = makeChangeRetention(db, makeLoadChangedWorkspaces(db), limits, { report });
    await retention.sweep();
    const metric = retention.getMetrics().find(({ name }) => name === 'wda_changes_interrupted');
    return Number(metric?.read());
  }

  before(async () => {
    await makeShop();
    const [row] = await server.database.query(
      `select database_schema from wda.workspace where slug = '${shop.path.split('/')[1]}'`,
    );
    schema = String(row?.database_schema);
  });

  const types = async (start: string, path = 'notes/_changes'): Promise<unknown> =>
    (await read(path, start)).map(({ type, reason }) => (reason === undefined ? type : `${type} ${reason}`));

  test('are noticed while they are disabled, and readers are told when they stand again', async () => {
    assert.equal(await sweep(), 0);
    reports = [];
    const start = await now('notes/_changes');
    await sql('alter table $.notes disable trigger "~change_insert"');
    await sql(`insert into $.notes (text) values ('unseen')`);
    assert.deepEqual([await sweep(), await sweep(), reports], [1, 1, [['notes', 'disabled']]]);
    assert.deepEqual(await types(start), []);
    await sql('alter table $.notes enable trigger "~change_insert"');
    await sql(`insert into $.notes (text) values ('seen')`);
    assert.deepEqual([await sweep(), await sweep()], [0, 0]);
    assert.deepEqual(await types(start), ['created', 'reset interrupted']);
  });

  test('are noticed when they stood again before anybody looked', async () => {
    const start = await now('notes/_changes');
    await sql('alter table $.notes disable trigger user');
    await sql('alter table $.notes enable trigger user');
    ok(await shop.admin('entities/notes/settings', { method: 'PUT', body: { changes: 'history' } }));
    assert.equal(await sweep(), 0);
    assert.deepEqual(await types(start), ['reset interrupted']);
    assert.equal(await sweep(), 0);
    assert.deepEqual(await types(start), ['reset interrupted']);
  });

  test('are made again when they are gone, with the columns that are never stored', async () => {
    ok(await shop.admin('entities/tags/settings', { method: 'PUT', body: { changes: 'feed', changesOmit: ['name'] } }));
    const start = await now('tags/_changes');
    reports = [];
    await sql('drop trigger "~change_update" on $.tags');
    assert.deepEqual([await sweep(), reports], [0, [['tags', 'dropped']]]);
    const { data } = ok(await shop.call('tags', { method: 'POST', body: { name: 'hidden' } }));
    ok(await shop.call(`tags/${data.id}`, { method: 'PATCH', body: { name: 'h2' } }));
    const events = await read('tags/_changes', start);
    assert.deepEqual(
      events.map(({ type, record }) => [type, record]),
      [
        ['reset', undefined],
        ['created', { id: data.id }],
        ['updated', { id: data.id }],
      ],
    );
    await sql('alter table $.tags rename to gone');
    assert.equal(await sweep(), 1);
    await sql('alter table $.gone rename to tags');
    assert.equal(await sweep(), 0);
  });

  test('that the server makes again itself are no interruption', async () => {
    const path = '_changes?entities=notes,tickets';
    const start = await now(path);
    ok(await shop.admin('entities/tickets/settings', { method: 'PUT', body: { changes: 'history' } }));
    ok(await shop.admin('entities/tickets/settings', { method: 'PUT', body: { changes: 'off' } }));
    ok(await shop.admin('entities/tickets/settings', { method: 'PUT', body: { changes: 'feed' } }));
    assert.equal(await sweep(), 0);
    assert.deepEqual(await types(start, path), ['ended off']);
  });
});

describe('metrics', () => {
  const db = use(
    async () => openDatabase(server.database.url),
    (database) => database.close(),
  );
  before(makeShop);

  /** Returns the values of the metrics of the server. */
  async function readMetrics(): Promise<ReadonlyMap<string, number>> {
    const text = await (await fetch(`${server.url}/metrics`)).text();
    return new Map([...text.matchAll(/^(wda_\S+) (\S+)$/gm)].map(([, name = '', value]) => [name, Number(value)]));
  }

  test('count what is kept by its kind, and how long the numbering takes', async () => {
    const kinds = ['created', 'updated', 'removed', 'other'].map((kind) => `wda_changes_total{kind="${kind}"}`);
    const numberings = 'wda_changes_numbering_seconds_count';
    const earlier = await readMetrics();
    const { data } = ok(await shop.call('tags', { method: 'POST', body: { name: 'a' } }));
    ok(await shop.call(`tags/${data.id}`, { method: 'PATCH', body: { name: 'b' } }));
    ok(await shop.call(`tags/${data.id}`, { method: 'DELETE' }));
    ok(await importCsv('tags', 'name\na\n'));
    await now('tags/_changes');
    await until('the metrics have moved', async () => {
      const later = await readMetrics();
      return [...kinds, numberings].every((name) => (later.get(name) ?? 0) > (earlier.get(name) ?? 0));
    });
    for (const name of ['unnumbered', 'lag_seconds', 'interrupted', 'bytes'])
      assert.ok(earlier.has(`wda_changes_${name}`), name);
  });

  test('tell of changes that get no position', async () => {
    const slug = shop.path.split('/')[1];
    const [row] = await server.database.query(`select database_schema from wda.workspace where slug = '${slug}'`);
    const workspaces = [{ id: '1', schema: String(row?.database_schema) }];
    const limits = { hours: 24, maxBytes: 1e9, historyDays: 365 };
    const retention = makeChangeRetention(db, async (after) => workspaces.filter(({ id }) => id > after), limits);
    const show = (): number[] =>
      ['unnumbered', 'lag_seconds'].map((name) =>
        Number(
          retention
            .getMetrics()
            .find((metric) => metric.name === `wda_changes_${name}`)
            ?.read(),
        ),
      );
    const client = new pg.Client({ connectionString: server.database.url });
    await client.connect();
    try {
      await client.query(`begin; lock table "${row?.database_schema}"."$change_position" in exclusive mode`);
      ok(await shop.call('tags', { method: 'POST', body: { name: 'late' } }));
      await assert.rejects(retention.sweep());
      // The round ends.
      await retention.sweep();
      const [unnumbered, lag] = show();
      assert.equal(unnumbered, 1);
      assert.ok(Number(lag) > 0);
    } finally {
      await client.end();
    }
    await retention.sweep();
    assert.deepEqual(show(), [0, 0]);
  });
});
