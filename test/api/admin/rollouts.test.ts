// Rollouts of shared schemas: planned, started, in waves, paused, resumed, tried again, cancelled.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { use, useServer } from '../../support/resources.ts';
import { makeFleet, type TestFleet, waitForValue } from '../../support/shared-schema.ts';

const server = useServer();
const other = useServer({}, server);

const STRING = { type: 'string' };
const FIRST = {
  entities: { tickets: { fields: { title: STRING, status: { type: 'enum', values: ['open', 'closed', 'spam'] } } } },
};
const SECOND = {
  entities: { tickets: { fields: { ...FIRST.entities.tickets.fields, note: STRING } } },
};
/** Cannot be in force where a ticket has no title. */
const THIRD = {
  entities: { tickets: { fields: { ...SECOND.entities.tickets.fields, title: { type: 'string', required: true } } } },
};
const WITHOUT_NOTE = {
  entities: {
    tickets: {
      fields: THIRD.entities.tickets.fields.title && {
        title: THIRD.entities.tickets.fields.title,
        status: FIRST.entities.tickets.fields.status,
      },
    },
  },
};

let made = 0;

/** A fleet of its own with workspaces `a`, `b`, … of the first of these versions. */
function useFleet(documents: readonly unknown[], count: number): TestFleet & { readonly name: string } {
  const name = `fleet-${++made}`;
  return use(async () => {
    const fleet = await makeFleet(server, name, documents);
    await fleet.follow([...'abcdefghij'.slice(0, count)], 1);
    return { ...fleet, name };
  });
}

/** Stores a ticket without a title. */
async function addUntitled(
  fleet: { readonly name: string; readonly organization: TestFleet['organization'] },
  slug: string,
): Promise<number> {
  const made = await fleet.organization(`/workspaces/${slug}/api-keys`, 'POST', {
    name: 'owner',
    permissions: 'OWNER',
  });
  const { key } = made.json.data;
  const answer = await server.call(`/api/v1/${fleet.name}/${slug}/tickets`, {
    method: 'POST',
    credential: key,
    body: { status: 'open' },
  });
  assert.equal(answer.status, 201, answer.text);
  return answer.json.data.id;
}

const NONE = { waiting: 0, running: 0, succeeded: 0, unchanged: 0, failed: 0, skipped: 0 };

describe('a rollout', () => {
  const fleet = useFleet([FIRST, SECOND], 4);

  test('takes every workspace to the version, and only forward', async () => {
    const id = await fleet.start({ version: 2 });
    const ended = await fleet.waitFor(id, 'succeeded');
    assert.deepEqual([ended.version, ended.wave, ended.counts], [2, 2, { ...NONE, succeeded: 4 }]);
    for (const time of [ended.createdAt, ended.startedAt, ended.finishedAt]) assert.match(time, /^\d{4}-.*Z$/);
    assert.deepEqual(await fleet.versions(), { a: 2, b: 2, c: 2, d: 2 });
    const { json } = await fleet.call(`/rollouts/${id}/workspaces?state=succeeded`);
    const [{ migration, ...first }] = json.data;
    assert.deepEqual(first, { workspace: 'a', state: 'succeeded', error: null });
    const { json: shown } = await fleet.organization(`/workspaces/a/migrations/${migration}`);
    assert.equal(shown.data.state, 'succeeded');
    const { json: activity } = await server.call(`/api/admin/v1/organizations/${fleet.name}/workspaces/a/activity`, {
      credential: 'operator-key-of-the-tests-0123456789',
    });
    const [entry] = activity.data;
    assert.deepEqual(
      [entry.action, entry.details],
      ['rollouts.migrate', { schema: 'desk', version: 2, rollout: id, migration }],
    );

    const back = await fleet.start({ version: 1 });
    const unchanged = await fleet.waitFor(back, 'succeeded');
    assert.deepEqual(unchanged.counts, { ...NONE, unchanged: 4 });
    const listed = await fleet.call('/rollouts');
    assert.deepEqual(
      listed.json.data.map((one: { id: number }) => one.id),
      [back, id],
    );
  });
});

describe('waves', () => {
  const fleet = useFleet([FIRST, SECOND], 5);

  test('are confirmed one by one, and take the workspaces in the order given', async () => {
    const id = await fleet.start({ version: 2, workspaces: ['e', 'a', 'c', 'b'], waves: [1, '50%'], pause: 'confirm' });
    const first = await fleet.waitFor(id, 'paused');
    assert.deepEqual([first.wave, first.counts], [1, { ...NONE, waiting: 3, succeeded: 1 }]);
    assert.deepEqual(first.waves, [
      { ...NONE, succeeded: 1 },
      { ...NONE, waiting: 2 },
      { ...NONE, waiting: 1 },
    ]);
    assert.deepEqual(await fleet.states(id), { e: 'succeeded', a: 'waiting', c: 'waiting', b: 'waiting' });
    const another = await fleet.call('/rollouts', 'POST', { version: 2 });
    assert.deepEqual([another.status, another.json.error.code], [409, 'ROLLOUT_IN_PROGRESS'], another.text);
    assert.equal((await fleet.call(`/rollouts/${id}/resume`, 'POST')).status, 202);
    const second = await waitForValue('the second wave has ended', async () => {
      const rollout = await fleet.waitFor(id, 'paused');
      return rollout.wave === 2 ? rollout : undefined;
    });
    assert.deepEqual(second.counts, { ...NONE, waiting: 1, succeeded: 3 });
    const cancelled = await fleet.call(`/rollouts/${id}/cancel`, 'POST');
    assert.deepEqual([cancelled.status, cancelled.json.data.state], [202, 'cancelled']);
    assert.deepEqual(cancelled.json.data.counts, { ...NONE, succeeded: 3, skipped: 1 });
    for (const what of ['pause', 'resume', 'retry', 'cancel']) {
      const answer = await fleet.call(`/rollouts/${id}/${what}`, 'POST');
      assert.deepEqual([answer.status, answer.json.error.code], [409, 'CONFLICT'], what);
    }
    assert.deepEqual(await fleet.versions(), { a: 2, b: 1, c: 2, d: 1, e: 2 });
    assert.equal((await fleet.organization('/workspaces', 'POST', { slug: 'own' })).status, 201);
    for (const [follows, slugs] of [
      ['desk', ['a', 'b', 'c', 'd', 'e']],
      ['nothing', []],
    ] as const) {
      const { json } = await fleet.organization(`/workspaces?follows=${follows}`);
      assert.deepEqual(
        json.data.map(({ slug }: { readonly slug: string }) => slug),
        slugs,
      );
      assert.equal(json.meta.totalElements, slugs.length);
    }
  });
});

describe('records in the way', () => {
  const fleet = useFleet([FIRST, SECOND, THIRD], 4);

  test('are told by a plan, which changes nothing', async () => {
    const id = await addUntitled(fleet, 'b');
    const created = await fleet.call('/rollouts/plan', 'POST', { version: 3 });
    assert.equal(created.status, 202, created.text);
    const location = created.headers.get('location') ?? '';
    const plan = await waitForValue('the plan is made', async () => {
      const { json } = await fleet.call(location.slice(location.indexOf('/rollouts')));
      return json.data.state === 'planned' ? json.data : undefined;
    });
    const conflicts = [{ entity: 'tickets', field: 'title', count: 1, sampleIds: [id] }];
    assert.deepEqual(plan, {
      id: created.json.data.id,
      state: 'planned',
      planned: 4,
      total: 4,
      unchanged: 0,
      ready: 3,
      conflicts: 1,
      destructive: 0,
      workspaces: [{ workspace: 'b', conflicts, error: null }],
    });
    assert.deepEqual(await fleet.versions(), { a: 1, b: 1, c: 1, d: 1 });
    assert.deepEqual((await fleet.call('/rollouts')).json.data, [], 'a plan is no rollout');
    assert.equal((await fleet.call(`/rollouts/${plan.id}`)).status, 404);
  });

  test('fail one workspace, the others go on; after its correction it is tried again', async () => {
    const id = await fleet.start({ version: 3 });
    const ended = await fleet.waitFor(id, 'finishedWithFailures');
    assert.deepEqual(ended.counts, { ...NONE, succeeded: 3, failed: 1 });
    assert.deepEqual(await fleet.versions(), { a: 3, b: 1, c: 3, d: 3 });
    const { json } = await fleet.call(`/rollouts/${id}/workspaces?state=failed`);
    const [{ workspace, migration, error }] = json.data;
    const { json: shown } = await fleet.organization(`/workspaces/b/migrations/${migration}`);
    assert.deepEqual([workspace, error.code, error.count], ['b', 'DATA_CONFLICT', 1]);
    assert.deepEqual(error, shown.data.error);
    await server.database.query(
      `update ${await schemaOf(fleet.name, 'b')}.tickets set title = 'untitled' where title is null`,
    );
    assert.equal((await fleet.call(`/rollouts/${id}/retry`, 'POST')).status, 202);
    const repeated = await fleet.waitFor(id, 'succeeded');
    assert.deepEqual(repeated.counts, { ...NONE, succeeded: 4 });
    assert.deepEqual(await fleet.versions(), { a: 3, b: 3, c: 3, d: 3 });
  });
});

async function schemaOf(organization: string, slug: string): Promise<string> {
  const [row] = await server.database.query(
    `select w.database_schema as name from wda.workspace w join wda.organization o on o.id = w.organization_id
where o.slug = '${organization}' and w.slug = '${slug}'`,
  );
  return (row as { name: string }).name;
}

describe('too many failures', () => {
  const fleet = useFleet([FIRST, THIRD], 5);

  test('pause the rollout; what was skipped for its records does not count', async () => {
    for (const slug of ['a', 'b', 'd']) await addUntitled(fleet, slug);
    const id = await fleet.start({ version: 2, maxFailures: 0, concurrency: 1 });
    const paused = await fleet.waitFor(id, 'paused');
    assert.deepEqual(paused.counts, { ...NONE, failed: 1, waiting: 4 });
    await fleet.call(`/rollouts/${id}/resume`, 'POST');
    const again = await waitForValue('another one has failed', async () => {
      const rollout = await fleet.waitFor(id, 'paused');
      return rollout.counts.failed === 2 ? rollout : undefined;
    });
    assert.deepEqual(again.counts, { ...NONE, failed: 2, waiting: 3 }, 'failures are counted anew');
    await fleet.call(`/rollouts/${id}/cancel`, 'POST');
    const skipping = await fleet.start({ version: 2, maxFailures: 0, skipConflicts: true });
    const ended = await fleet.waitFor(skipping, 'succeeded');
    assert.deepEqual(ended.counts, { ...NONE, succeeded: 2, skipped: 3 });
    const { json } = await fleet.call(`/rollouts/${skipping}/workspaces?state=skipped`);
    assert.deepEqual(
      json.data.map((one: { error: { code: string } }) => one.error.code),
      Array(3).fill('DATA_CONFLICT'),
    );
  });
});

describe('a version that drops something', () => {
  const fleet = useFleet([THIRD, WITHOUT_NOTE], 2);

  test('is refused before anything is done, unless that is allowed', async () => {
    const refused = await fleet.call('/rollouts', 'POST', { version: 2 });
    assert.deepEqual([refused.status, refused.json.error.code], [409, 'DESTRUCTIVE_CHANGE'], refused.text);
    assert.match(refused.json.error.message, /note/);
    assert.deepEqual((await fleet.call('/rollouts')).json.data, []);
    await fleet.waitFor(await fleet.start({ version: 2, allowDestructive: true }), 'succeeded');
    assert.deepEqual(await fleet.versions(), { a: 2, b: 2 });
  });
});

describe('a field that one version makes and the next one drops', () => {
  const fleet = useFleet([FIRST, SECOND, FIRST], 2);

  test('is lost by workspaces that have it alone', async () => {
    await fleet.waitFor(await fleet.start({ version: 2, workspaces: ['b'] }), 'succeeded');
    const refused = await fleet.call('/rollouts', 'POST', { version: 3 });
    assert.deepEqual([refused.status, refused.json.error.details?.length], [409, 1], refused.text);
    await fleet.waitFor(await fleet.start({ version: 3, workspaces: ['a'] }), 'succeeded');
    assert.deepEqual(await fleet.versions(), { a: 3, b: 2 });
  });
});

describe('while a rollout is paused', () => {
  const fleet = useFleet([FIRST, SECOND, THIRD], 3);

  test('new workspaces are made at its version, those that begin to follow are taken in, and lost ones are taken back', async () => {
    const id = await fleet.start({ version: 2, waves: [1], pause: 'confirm' });
    await fleet.waitFor(id, 'paused');
    await fleet.follow(['made']);
    await fleet.follow(['older'], 1);
    assert.equal((await fleet.versions()).made, 2, 'not the newest, which is no part of the rollout');
    // A process took `b` and was killed, another finished `c` and was killed before it could say so.
    await server.database.query(`update wda.rollout_workspace set state = 'running', attempts = 1, lease = gen_random_uuid(),
      lease_until = now() - interval '1 s' where rollout_id = ${id} and state = 'waiting'`);
    await waitForValue('a lost workspace waits', async () => (await fleet.states(id)).b === 'waiting' || undefined);
    assert.equal((await fleet.call(`/rollouts/${id}/resume`, 'POST')).status, 202);
    const ended = await fleet.waitFor(id, 'succeeded');
    assert.deepEqual(ended.counts, { ...NONE, succeeded: 4 });
    assert.deepEqual(await fleet.versions(), { a: 2, b: 2, c: 2, made: 2, older: 2 });
  });
});

test('a workspace whose migration ended while the database went away was changed by the rollout', async () => {
  const fleet = await makeFleet(server, 'lost-results', [FIRST, SECOND]);
  await fleet.follow(['a', 'b'], 1);
  const id = await fleet.start({ version: 2, waves: [1], pause: 'confirm' });
  await fleet.waitFor(id, 'paused');
  const list = async () => (await fleet.call(`/rollouts/${id}/workspaces`)).json.data;
  const [{ migration }] = await list();
  assert.equal(typeof migration, 'number');
  // The attempt did not count, as its result could not be read.
  await server.database.query(`update wda.rollout_workspace set state = 'waiting', attempts = 0
    where rollout_id = ${id} and state = 'succeeded'`);
  assert.equal((await fleet.call(`/rollouts/${id}/resume`, 'POST')).status, 202);
  // The first wave has ended again.
  const { counts } = await fleet.waitFor(id, 'paused');
  assert.deepEqual(counts, { ...NONE, waiting: 1, succeeded: 1 });
  assert.equal((await list())[0].migration, migration);
});

test('what is wrong in a request is refused, every mistake at once', async () => {
  const fleet = await makeFleet(server, 'mistakes', [FIRST]);
  await fleet.follow(['a']);
  const cases: readonly [object, readonly string[]][] = [
    [{}, ['version']],
    [{ version: 0 }, ['version']],
    [{ version: 2 }, ['version']],
    [{ version: 2, workspaces: ['a', 'x'] }, ['version', 'workspaces.1']],
    [{ version: 1, workspaces: [] }, ['workspaces']],
    [{ version: 1, workspaces: ['a', 'a'] }, ['workspaces']],
    [{ version: 1, waves: [] }, ['waves']],
    [{ version: 1, waves: ['rest', 1] }, ['waves.0']],
    [{ version: 1, waves: [0, '101%', '1.5%', 'all', 2] }, ['waves.0', 'waves.1', 'waves.2', 'waves.3']],
    [{ version: 1, maxFailures: -1, concurrency: 17, pause: 'later' }, ['maxFailures', 'concurrency', 'pause']],
    [{ version: 1, maxFailures: '5' }, ['maxFailures']],
    [{ version: 1, skipConflict: true }, ['skipConflict']],
  ];
  for (const [body, fields] of cases) {
    const answer = await fleet.call('/rollouts', 'POST', body);
    assert.equal(answer.status, 400, `${JSON.stringify(body)}: ${answer.text}`);
    const details = answer.json.error.details.map(({ field }: { field: string }) => field);
    assert.deepEqual(details.sort(), [...fields].sort(), answer.text);
  }
  for (const [path, status] of [
    ['/rollouts/1x', 400],
    ['/rollouts/999999', 404],
    ['/rollouts/plan?id=999999', 404],
    ['/rollouts/999999/workspaces', 404],
  ] as const)
    assert.equal((await fleet.call(path)).status, status, path);
  const id = await fleet.start({ version: 1 });
  assert.equal((await fleet.call(`/rollouts/${id}/workspaces?state=done`)).status, 400);
  assert.equal((await fleet.call('/rollouts/999999/pause', 'POST')).status, 404);
});

test('two processes share the work of one rollout', async () => {
  const fleet = await makeFleet(server, 'shared', [FIRST, SECOND]);
  const slugs = Array.from({ length: 12 }, (_, index) => `w${index}`);
  await fleet.follow(slugs, 1);
  const id = await fleet.start({ version: 2, waves: ['rest'], concurrency: 16 });
  const seen = await other.call(`/api/admin/v1/organizations/shared/schemas/desk/rollouts/${id}`, {
    credential: 'operator-key-of-the-tests-0123456789',
  });
  assert.equal(seen.status, 200);
  const ended = await fleet.waitFor(id, 'succeeded');
  assert.deepEqual(ended.counts, { ...NONE, succeeded: 12 });
});
