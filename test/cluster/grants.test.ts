// Grants on a Citus cluster: reads on the node and through the coordinator show the same of records, writes are held to
// them, a change is in force for both at once, and a workspace takes them with it when it moves.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isCluster } from '../support/citus.ts';
import { prepare, use, useDatabase, useIssuer, useServer, useUsers } from '../support/resources.ts';
import { ADMIN_KEY, type Answer, type Call } from '../support/server.ts';
import { LOCAL_PROVIDER } from '../support/users.ts';
import { until } from '../support/wait-until.ts';

const byOwner = { field: 'owner', op: 'eq', value: { claim: 'sub' } };
const NOTES_GRANTS = [
  { role: 'writer', can: ['read', 'create', 'update', 'delete'], where: byOwner },
  {
    role: 'writer',
    can: ['read'],
    where: { field: 'parent.owner', op: 'eq', value: { claim: 'sub' } },
    fields: ['text'],
  },
  {
    role: 'team',
    can: ['read'],
    where: { field: 'team', op: 'in', value: { claim: 'teams' } },
    fields: ['text', 'team'],
  },
];
const SCHEMA = {
  roles: ['writer', 'team'],
  entities: {
    notes: {
      fields: {
        text: { type: 'string' },
        owner: { type: 'string' },
        team: { type: 'integer' },
        code: { type: 'string', unique: true },
      },
      relations: { parent: { kind: 'belongsTo', entity: 'notes' } },
      grants: NOTES_GRANTS,
    },
  },
};

if (isCluster) onCluster();
else test('grants on a cluster', { skip: 'needs a Citus cluster: TEST_CITUS_WORKERS' }, () => undefined);

function onCluster(): void {
  const database = useDatabase();
  const server = useServer(LOCAL_PROVIDER, { database });
  const far = useServer({ ...LOCAL_PROVIDER, WDA_NODE_READS: 'off' }, { database });
  const desk = use(() => server.workspace('acme/desk', SCHEMA));
  const tokenOf = useUsers(desk, useIssuer());
  prepare(async () => {
    await desk.admin('identity-provider', { method: 'PUT', body: { roleClaim: 'roles' } });
    await desk.create('notes', [
      { text: 'own', owner: 'ann', team: 1, code: 'a' },
      { text: 'reply', owner: 'bob', team: 2, code: 'b', parentId: 1 },
      { text: 'hidden', owner: 'bob', team: 3, code: 'c' },
    ]);
  });
  const USERS = [
    { sub: 'ann', roles: 'writer' },
    { sub: 'ann', roles: ['writer', 'team'], teams: [2, 3] },
    { sub: 'tom', roles: 'team', teams: [] },
    { sub: 'tom', roles: 'team' },
    { sub: 'zed', roles: ['writer', 'team'], teams: ['x'] },
    { sub: 'eve', roles: [] },
  ];
  const READS = [
    'notes?sort=text&count=exact',
    'notes?expand=parent&filter=parent.text,eq,own',
    'notes?filter=team,gte,1&sort=team',
    'notes/_aggregate?select=count,max:text&group=team',
    'notes/_export',
    'notes/1',
    'notes/2?expand=parent',
    'notes/3',
  ];
  const ask = async (claims: object, path: string, call: Call = {}): Promise<Answer> => {
    const credential = tokenOf(claims);
    const near = await desk.call(path, { ...call, credential });
    if ((call.method ?? 'GET') !== 'GET') return near;
    const other = await far.call(`/api/v1/${desk.path}/${path}`, { ...call, credential });
    assert.deepEqual([near.status, near.text], [other.status, other.text], path);
    assert.equal(near.headers.get('etag'), other.headers.get('etag'), path);
    return near;
  };
  const [ann, both] = USERS as [object, object];
  const textsOf = ({ json }: Answer): string[] => json.data.map(({ text }: { text: string }) => text);

  test('reads show the same on the node and through the coordinator, with every claim and without', async () => {
    for (const claims of USERS)
      for (const path of READS) assert.ok((await ask(claims, path)).status < 500, `${JSON.stringify(claims)} ${path}`);
    assert.deepEqual(textsOf(await ask(ann, 'notes?sort=text')), ['own', 'reply']);
    assert.deepEqual(textsOf(await ask(both, 'notes?sort=text')), ['hidden', 'own', 'reply']);
    const { data } = (await ask(ann, 'notes/2')).json;
    assert.deepEqual([data.text, data.owner, data.code, data.parentId], ['reply', null, null, null]);
    for (const claims of USERS.slice(2, 5)) assert.deepEqual((await ask(claims, 'notes')).json.data, []);
    assert.equal((await ask({ sub: 'eve', roles: [] }, 'notes')).status, 404);
  });

  const writes = async (mark: string): Promise<void> => {
    const send = (method: string, path: string, body: unknown): Promise<Answer> => ask(ann, path, { method, body });
    const file = (query: string, body: string): Promise<Answer> =>
      ask(ann, `notes/_import${query}`, { method: 'POST', body, headers: { 'content-type': 'text/csv' } });
    const made = await send('POST', 'notes', { text: mark, code: mark });
    assert.equal(made.json.data?.owner, 'ann', made.text);
    const { id } = made.json.data;
    assert.equal((await send('PATCH', `notes/${id}`, { team: 7 })).status, 200);
    assert.equal((await send('PATCH', `notes/${id}`, { owner: 'bob' })).status, 403);
    assert.equal((await send('PATCH', 'notes/2', { text: 'x' })).status, 403);
    assert.equal((await send('PATCH', 'notes/3', { text: 'x' })).status, 404);
    assert.equal((await send('POST', 'notes', { text: 'x', owner: 'bob' })).status, 403);
    assert.equal((await send('POST', 'notes?onConflict=code', { text: 'up', code: mark })).json.data.id, id);
    for (const code of ['b', 'c'])
      assert.equal((await send('POST', 'notes?onConflict=code', { text: 'up', code })).status, 409, code);
    const loaded = await file('?onConflict=update&conflictOn=code', `text,code\nfile,${mark}\nnew,${mark}-new\n`);
    assert.deepEqual(loaded.json?.data, { inserted: 1, updated: 1, skipped: 0 }, loaded.text);
    const rejected = await file('?rejects=true', `text,owner,code\nx,bob,\nx,,c\nx,ann,\n`);
    assert.equal(rejected.headers.get('import-rejected'), '2', rejected.text);
    assert.equal((await file('', 'text,owner\nx,bob\n')).status, 403);
    assert.equal((await send('DELETE', `notes/${id}`, undefined)).status, 204);
    assert.equal((await send('DELETE', 'notes/2', undefined)).status, 403);
    assert.equal((await desk.call('notes?filter=text,eq,x&filter=owner,ne,ann')).json.meta.totalElements, 0);
  };
  test('writes are held to them', () => writes('first'));

  test('a change is in force on the node and at the coordinator when it is answered', async () => {
    for (let round = 0; round < 3; round++) {
      assert.equal((await desk.admin('entities/notes/grants', { method: 'PUT', body: [] })).status, 200);
      assert.equal((await ask(ann, 'notes')).status, 404);
      assert.equal((await desk.admin('entities/notes/grants', { method: 'PUT', body: NOTES_GRANTS })).status, 200);
      assert.equal((await ask(ann, 'notes/1')).json.data.text, 'own');
    }
  });

  test('a workspace has them on the node to which it moves', async () => {
    const operator = (path: string): Promise<Answer> =>
      server.call(`/api/admin/v1/cluster${path}`, { credential: ADMIN_KEY });
    const [{ node }] = (await operator('/workspaces')).json.data;
    const { nodes } = (await operator('')).json.data;
    const target = nodes.find((one: Record<string, unknown>) => one.takesWorkspaces && one.name !== node).name;
    const move = await desk.admin('moves', { method: 'POST', body: { node: target } });
    assert.equal(move.status, 202, move.text);
    await until('the move has ended', async () => {
      const { state } = (await operator(`/moves/${move.json.data.id}`)).json.data;
      assert.notEqual(state, 'failed');
      return state === 'succeeded';
    });
    for (const claims of USERS)
      for (const path of READS) assert.ok((await ask(claims, path)).status < 500, `${JSON.stringify(claims)} ${path}`);
    assert.equal((await ask(ann, 'notes/1')).json.data.text, 'own');
    await writes('second');
  });
}
