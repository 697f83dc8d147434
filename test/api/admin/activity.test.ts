// Activity: who changed what, written with the change, or not at all.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { removeActivity } from '../../../src/store/activity.ts';
import { signIn } from '../../support/console-client.ts';
import { prepare, use, useIssuer, useServer } from '../../support/resources.ts';
import { ADMIN_KEY, type Answer } from '../../support/server.ts';
import { LOCAL_PROVIDER, makeUsers } from '../../support/users.ts';

const SCHEMA = {
  entities: { notes: { fields: { text: { type: 'string' }, size: { type: 'integer' }, owner: { type: 'string' } } } },
};
const issuer = useIssuer();
const server = useServer(LOCAL_PROVIDER);
const shop = use(() => server.workspace('acme/shop', SCHEMA));
const other = use(() => server.workspace('acme/other', SCHEMA));

interface Shown {
  readonly id: number;
  readonly at: string;
  readonly actor: { readonly kind: string; readonly id: string; readonly name: string };
  readonly action: string;
  readonly organization: string | null;
  readonly workspace: string | null;
  readonly entity: string | null;
  readonly subject: string;
  readonly details: Readonly<Record<string, unknown>>;
}

const operator = (path: string, method = 'GET', body?: unknown): Promise<Answer> =>
  server.call(`/api/admin/v1${path}`, { credential: ADMIN_KEY, method, ...(body === undefined ? {} : { body }) });
async function listed(query = ''): Promise<readonly Shown[]> {
  const { status, json, text } = await shop.admin(`activity${query}`, { credential: shop.key });
  assert.equal(status, 200, text);
  return json.data;
}
const newest = async (): Promise<Shown> => (await operator('/activity?size=1')).json.data[0];
const change = (path: string, method: string, body?: unknown): Promise<Answer> =>
  shop.admin(path, { method, credential: shop.key, ...(body === undefined ? {} : { body }) });

describe('what is written', () => {
  test('a key that is made, by which key, and never the key itself', async () => {
    const made = await change('api-keys', 'POST', { name: 'nightly', permissions: 'READ_ONLY' });
    assert.equal(made.status, 201, made.text);
    const { id, at, ...rest } = await newest();
    const keys = (await shop.admin('api-keys')).json.data as readonly {
      id: number;
      name: string;
      createdBy: unknown;
    }[];
    const owner = keys.find(({ name }) => name === 'OWNER');
    const actor = { kind: 'key', id: String(owner?.id), name: 'OWNER' };
    assert.deepEqual(rest, {
      actor,
      action: 'apiKeys.create',
      organization: 'acme',
      workspace: 'shop',
      entity: null,
      subject: 'nightly',
      details: { id: made.json.data.id, permissions: 'READ_ONLY', entities: null, expiresAt: null },
    });
    assert.equal(typeof id, 'number');
    assert.match(at, /^\d{4}-\d\d-\d\dT/);
    assert.deepEqual(made.json.data.createdBy, actor);
    assert.deepEqual(owner?.createdBy, { kind: 'operator', id: 'operator', name: 'operator' });
    const stored = await server.database.query('select row_to_json(a)::text as text from wda.activity a');
    for (const { text } of stored) assert.ok(!String(text).includes(made.json.data.key));
  });

  test('a schema that is in force, with its migration, which knows who began it', async () => {
    const wider = {
      entities: { notes: { fields: { ...SCHEMA.entities.notes.fields, more: { type: 'string' } } } },
    };
    const applied = await change('schema', 'PUT', wider);
    assert.equal(applied.json.data.state, 'succeeded', applied.text);
    const { action, subject, details, actor } = await newest();
    assert.deepEqual([action, subject], ['schema.update', 'shop']);
    assert.deepEqual(details, { strategy: 'online', allowDestructive: false, migration: applied.json.data.id });
    assert.deepEqual(applied.json.data.createdBy, actor);
  });

  test('rules and settings, with what was asked for', async () => {
    const rules = [{ column: 'owner', claim: 'sub' }];
    assert.equal((await change('entities/notes/row-rules', 'PUT', rules)).status, 200);
    const { action, entity, details } = await newest();
    assert.deepEqual(
      [action, entity, details],
      ['rowRules.update', 'notes', { migration: details.migration, asked: rules }],
    );
    assert.equal((await change('entities/notes/row-rules', 'PUT', [])).status, 200);
  });

  test('an import, by key and by user; none of a dry run, and of a file that changes nothing', async () => {
    const send = (credential: string, body: string, query = ''): Promise<Answer> =>
      shop.call(`notes/_import${query}`, { method: 'POST', credential, headers: { 'content-type': 'text/csv' }, body });
    assert.equal((await send(shop.readWriteKey, 'text\na\nb\n')).status, 200);
    const first = await newest();
    assert.deepEqual(
      [first.action, first.entity, first.details, first.actor.kind],
      ['records.import', 'notes', { inserted: 2, updated: 0, skipped: 0 }, 'key'],
    );
    await send(shop.key, 'text\nc\n', '?dryRun=true');
    await send(shop.key, 'text\n');
    assert.equal((await send(shop.key, 'text,size\nc,x\n')).status, 400);
    assert.equal((await newest()).id, first.id);
    const tokenOf = await makeUsers(shop, issuer, 'READ_WRITE');
    assert.equal((await send(tokenOf({ sub: 'ada' }), 'text\nd\n')).status, 200);
    const { actor } = await newest();
    assert.deepEqual([actor.kind, actor.name], ['user', 'ada']);
  });

  test('organizations have theirs among those of the operator', async () => {
    await operator('/organizations', 'POST', { slug: 'globex', name: 'Globex' });
    await operator('/organizations/globex', 'PUT', { slug: 'initech' });
    await operator('/organizations/initech', 'DELETE');
    const { data } = (await operator('/activity?action=organizations&size=3')).json;
    assert.deepEqual(
      data.map(({ action, organization, workspace, details }: Shown) => [action, organization, workspace, details]),
      [
        ['organizations.delete', 'initech', null, {}],
        ['organizations.update', 'globex', null, { slug: 'initech' }],
        ['organizations.create', 'globex', null, { name: 'Globex' }],
      ],
    );
  });

  test('the end of a session, among those of the workspace of its key', async () => {
    const { call } = await signIn(server, shop.key);
    const sessions = (await call('/admin/v1/sessions')).json.data as readonly { id: number; current: boolean }[];
    const own = sessions.find(({ current }) => current);
    const ended = await server.call(`/api/admin/v1/sessions/${own?.id}`, { method: 'DELETE', credential: shop.key });
    assert.equal(ended.status, 204, ended.text);
    const [{ action, subject, organization } = { action: '', subject: '', organization: '' }] = await listed('?size=1');
    assert.deepEqual([action, subject, organization], ['console.endSession', String(own?.id), 'acme']);
  });

  test('details that are too long are left out', async () => {
    const rules = Array.from({ length: 12 }, (_, at) => ({ column: 'owner', claim: 'x'.repeat(400) + at }));
    assert.equal((await change('entities/notes/row-rules', 'PUT', rules)).status, 200);
    assert.deepEqual((await newest()).details, { truncated: true });
    await change('entities/notes/row-rules', 'PUT', []);
  });
});

describe('a change that fails', () => {
  for (const [words, send] of [
    ['a key without a name', () => change('api-keys', 'POST', {})],
    ['a key that is not there', () => change('api-keys/999999', 'DELETE')],
    ['a slug that is taken', () => operator('/organizations', 'POST', { slug: 'acme' })],
    ['an organization with workspaces', () => operator('/organizations/acme', 'DELETE')],
    ['a workspace that is there', () => operator('/organizations/acme/workspaces', 'POST', { slug: 'shop' })],
    ['a rule for nothing', () => change('entities/notes/row-rules', 'PUT', [{ column: 'x', claim: 'y' }])],
    ['a schema with a mistake', () => change('schema', 'PUT', { entities: { notes: { fields: { a: {} } } } })],
    [
      'somebody without the right',
      () => shop.admin('api-keys', { method: 'POST', credential: other.key, body: { name: 'x' } }),
    ],
  ] as const) {
    test(`${words} leaves nothing`, async () => {
      const { id } = await newest();
      assert.ok((await send()).status >= 400);
      assert.equal((await newest()).id, id);
    });
  }

  test('a migration that fails leaves what it is, and no activity', async () => {
    await shop.create('notes', [{ text: 'no number' }]);
    const { id } = await newest();
    const narrow = { entities: { notes: { fields: { ...SCHEMA.entities.notes.fields, text: { type: 'integer' } } } } };
    const failed = await shop.admin('schema?allowDestructive=true', { method: 'PUT', body: narrow });
    assert.equal(failed.json.data.state, 'failed', failed.text);
    assert.equal(failed.json.data.createdBy.kind, 'operator');
    assert.equal((await newest()).id, id);
  });

  test('when the activity cannot be written there is no change', async () => {
    await server.database.query('alter table wda.activity rename to activity_away');
    const refused = await change('api-keys', 'POST', { name: 'never' });
    await server.database.query('alter table wda.activity_away rename to activity');
    assert.ok(refused.status >= 500, refused.text);
    const { data } = (await shop.admin('api-keys?size=1000')).json;
    assert.equal(
      data.some(({ name }: { name: string }) => name === 'never'),
      false,
    );
  });
});

describe('the list', () => {
  prepare(async () => {
    await change('api-keys', 'POST', { name: 'one' });
    await change('api-keys', 'POST', { name: 'two' });
  });
  const subjects = async (query: string): Promise<readonly string[]> =>
    (await listed(query)).map(({ subject }) => subject);

  test('has the newest first, and pages that follow one another', async () => {
    const all = await listed('?size=1000');
    const ids = all.map(({ id }) => id);
    assert.deepEqual(
      ids,
      [...ids].sort((a, b) => b - a),
    );
    const paged: number[] = [];
    for (let after: string | null | undefined; after !== null; ) {
      const query: string = after === undefined ? '' : `&after=${after}`;
      const { json } = await shop.admin(`activity?size=3${query}`);
      assert.equal(json.meta.size, 3);
      paged.push(...json.data.map(({ id }: Shown) => id));
      after = json.meta.nextCursor;
    }
    assert.deepEqual(paged, ids);
  });

  test('has only what was done in the workspace', async () => {
    await other.admin('api-keys', { method: 'POST', body: { name: 'elsewhere' } });
    assert.ok((await listed('?size=1000')).every(({ workspace }) => workspace === 'shop'));
    assert.equal((await newest()).subject, 'elsewhere');
  });

  test('is narrowed by action, actor, entity and time', async () => {
    assert.deepEqual((await subjects('?action=apiKeys.create')).slice(0, 2), ['two', 'one']);
    assert.ok((await listed('?action=apiKeys')).every(({ action }) => action.startsWith('apiKeys.')));
    assert.ok((await listed('?actor=operator')).every(({ actor }) => actor.kind === 'operator'));
    assert.ok((await listed('?actor=OWNER')).every(({ actor }) => actor.name === 'OWNER'));
    assert.ok((await listed('?actor=OWNER')).length > 0);
    assert.ok((await listed('?entity=notes')).length > 0);
    assert.deepEqual(await listed('?entity=nothing'), []);
    const [{ at } = { at: '' }] = await listed('?size=1');
    assert.ok((await listed(`?since=${at}`)).length >= 1);
    assert.deepEqual(await listed('?since=2200-01-01T00:00:00Z'), []);
    assert.ok((await listed(`?until=${at}`)).every((one) => one.at < at));
    assert.ok((await listed('?until=2200-01-01T00:00:00Z')).length > 0);
  });

  for (const [query, message] of [
    ['action=apiKey', /^Unknown action apiKey\. Did you mean apiKeys\? Known: apiKeys, apiKeys\.create/],
    ['since=yesterday', /^since must be an ISO 8601 datetime/],
    ['until=2026-01-31', /^until must be an ISO 8601 datetime/],
    ['after=x', /^after must be the nextCursor of an answer$/],
    ['size=0', /size/],
  ] as const) {
    test(`${query} is refused`, async () => {
      const { status, json } = await shop.admin(`activity?${query}`);
      assert.equal(status, 400);
      assert.match(json.error.message, message);
    });
  }

  test('keeps what was done in a workspace that is gone, for the operator', async () => {
    await server.workspace('acme/gone', SCHEMA);
    const { status } = await operator('/organizations/acme/workspaces/gone?confirm=gone', 'DELETE');
    assert.equal(status, 204);
    const { data } = (await operator('/activity?size=10')).json;
    const ofGone = data.filter(({ workspace }: Shown) => workspace === 'gone').map(({ action }: Shown) => action);
    assert.deepEqual(ofGone, [
      'workspaces.delete',
      'apiKeys.create',
      'apiKeys.create',
      'apiKeys.create',
      'workspaces.create',
    ]);
  });
});

describe('what is old', () => {
  const query = (text: string) => server.database.query(text);
  const sweep = (days: number): Promise<void> =>
    removeActivity({ query: ({ text, values }) => server.database.query(text, [...values]) as never }, days);
  const count = async (): Promise<number> => Number((await query('select count(*) as n from wda.activity'))[0]?.n);

  test('goes after the days that were set, and no sooner', async () => {
    await query(`insert into wda.activity (at, actor_kind, actor_id, actor_name, action, subject, details)
select now() - make_interval(days => n), 'operator', 'operator', 'operator', 'test.old', 'x', '{}' from generate_series(1, 20) n`);
    const before = await count();
    await sweep(365);
    assert.equal(await count(), before);
    await sweep(10);
    assert.equal(await count(), before - 11);
  });

  test('of a workspace only the newest are kept', async () => {
    await query(`insert into wda.activity (actor_kind, actor_id, actor_name, action, workspace_id, subject, details)
select 'operator', 'operator', 'operator', 'test.many', 4711, n::text, '{}' from generate_series(1, 100010) n`);
    await sweep(365);
    const [row] = await query(
      'select count(*) as n, min(subject::int) as oldest from wda.activity where workspace_id = 4711',
    );
    assert.deepEqual([Number(row?.n), row?.oldest], [100_000, 11]);
    await query('delete from wda.activity where workspace_id = 4711');
  });
});
