// One proof for every operation of a migration, in three moments: while it runs under requests, after it was taken back,
// and when it is in force.
import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import {
  applyHeld,
  applySchema,
  assertTidy,
  cancelIsKnown,
  freshShape,
  type Json,
  shapeOf,
  startTraffic,
  type Wish,
} from './migration.ts';
import type { Answer, TestServer, TestWorkspace } from './server.ts';

export interface OperationCase {
  readonly name: string;
  readonly before: Json;
  readonly after: Json;
  /** Bodies in the shape of before and of after. Missing: the same body fits both, and no request may be refused. */
  readonly write: (n: number) => Json;
  readonly writeAfter?: (n: number) => Json;
  /** What a record written in the old shape shows in the new one, among other fields. */
  readonly shows?: (written: Json) => Json;
  /** Does the new shape take bodies of the old one, for other values? */
  readonly fitsAsItIs?: boolean;
  /** Entity that is written to; two names when it is renamed. */
  readonly entity?: readonly [before: string, after: string];
  /** Other records that must be there first. */
  readonly others?: Readonly<Record<string, readonly Json[]>>;
  /** Records that the new shape cannot hold, and the field that is named. */
  readonly conflict?: { readonly records: readonly Json[]; readonly field: string };
  /**
   * The table that keeps the change from going on, by a lock. `snapshot`: an index, which waits for old transactions.
   * `null`: all of the change is one step, so there is no middle in which it could be cancelled.
   */
  readonly middle: string | 'snapshot' | null;
  readonly reads?: readonly string[];
  readonly readsAfter?: readonly string[];
  /** Codes of refusals that the old shape gets once the new one is in force. */
  readonly refusals?: readonly string[];
}

const RECORDS = 150;
let count = 0;

/** Proves it with no request failing that the shape in force allows. */
export async function proveOnline(server: TestServer, one: OperationCase): Promise<void> {
  const [entity, entityAfter] = one.entity ?? ['notes', 'notes'];
  const { workspace, slug } = await fill(server, one);
  if (one.conflict !== undefined) await proveConflict(server, workspace, one, '');

  const wish =
    (to: string, body: (n: number) => Json) =>
    (n: number): Wish => ({ entity: to, body: body(n) });
  const traffic = startTraffic(workspace, {
    before: wish(entity, one.write),
    after: wish(entityAfter, one.writeAfter ?? one.write),
    reads: one.reads ?? [`${entity}?size=3&sort=id,desc`, `${entity}/1`],
    readsAfter: one.readsAfter ?? [`${entityAfter}?size=3&sort=id,desc`, `${entityAfter}/1`],
  });
  try {
    await traffic.more(10);
    if (one.middle !== null) await proveCancel(server, workspace, one, () => traffic.more(10));
    const table = one.middle === null ? entity : one.middle === 'snapshot' ? undefined : one.middle;
    const { migration } = await applyHeld(server, workspace, one.after, { table, during: () => traffic.more(10) });
    assert.equal(migration.state, 'succeeded', JSON.stringify(migration));
    await traffic.more(10);
  } finally {
    await traffic.stop();
  }
  const { journal, refusals } = await traffic.stop();
  const allowed = one.refusals ?? [];
  for (const { status, json, text } of refusals) {
    assert.ok(status < 500 && allowed.includes(json?.error.code), `${status} ${text}`);
  }
  const records = await everyRecord(workspace, entityAfter);
  for (const [id, { wish: written, isNew }] of journal) {
    const record = records.get(id);
    if (written === null) {
      assert.equal(record, undefined, `record ${id} was deleted`);
      continue;
    }
    const expected = isNew || one.shows === undefined ? written.body : one.shows(written.body);
    const shown = pick(record, Object.keys(expected));
    // Written in the old shape, but taken by the new one as it is.
    if (one.fitsAsItIs !== true || !isDeepStrictEqual(shown, written.body)) {
      assert.deepEqual(shown, expected, `record ${id}`);
    }
  }
  for (let id = 1; id <= RECORDS; id++) {
    const written = one.write(id);
    const expected = one.shows === undefined ? written : one.shows(written);
    assert.deepEqual(pick(records.get(id), Object.keys(expected)), expected, `record ${id}`);
  }
  await assertTidy(server, slug);
  await assertShape(server, slug, one.after);
}

/** The same at once: what stands in the way, and what is in force in the end. */
export async function proveBlocking(server: TestServer, one: OperationCase): Promise<void> {
  const { workspace, slug } = await fill(server, one);
  const query = '&strategy=blocking';
  if (one.conflict !== undefined) await proveConflict(server, workspace, one, query);
  const answer = await applySchema(workspace, one.after, `?allowDestructive=true&wait=60${query}`);
  assert.equal(answer.json.data?.state, 'succeeded', answer.text);
  const records = await everyRecord(workspace, (one.entity ?? ['', 'notes'])[1]);
  for (let id = 1; id <= RECORDS; id++) {
    const written = one.write(id);
    const expected = one.shows === undefined ? written : one.shows(written);
    assert.deepEqual(pick(records.get(id), Object.keys(expected)), expected, `record ${id}`);
  }
  await assertTidy(server, slug);
  await assertShape(server, slug, one.after);
}

async function fill(server: TestServer, one: OperationCase): Promise<{ workspace: TestWorkspace; slug: string }> {
  const slug = `op${++count}`;
  const workspace = await server.workspace(`acme/${slug}`, one.before);
  for (const [other, records] of Object.entries(one.others ?? {})) await workspace.create(other, records);
  const [entity] = one.entity ?? ['notes'];
  const data = Array.from({ length: RECORDS }, (_, n) => one.write(n + 1));
  const created = await workspace.call(`${entity}/_bulk`, { method: 'POST', body: { data } });
  assert.equal(created.status, 201, created.text);
  return { workspace, slug };
}

/** Records in the way: the migration fails with their number and ids, and nothing has happened. */
async function proveConflict(
  server: TestServer,
  workspace: TestWorkspace,
  { before, after, conflict, entity: [entity] = ['notes', 'notes'] }: OperationCase,
  query: string,
): Promise<void> {
  const { records, field } = conflict as NonNullable<OperationCase['conflict']>;
  const ids = (await workspace.create(entity, records)).map(({ id }) => id);
  const contents = await everyRecord(workspace, entity);
  const slug = workspace.path.split('/')[1] as string;
  const shape = await shapeOf(server.database, slug);
  const answer = await applySchema(workspace, after, `?allowDestructive=true&wait=60${query}`);
  const { state, error } = answer.json.data ?? {};
  const { message: _, ...told } = error ?? {};
  assert.deepEqual(
    { state, ...told },
    {
      state: 'failed',
      code: 'DATA_CONFLICT',
      entity: told.entity,
      field,
      count: ids.length,
      sampleIds: ids.slice(0, 10),
    },
    answer.text,
  );
  await assertTidy(server, slug);
  assert.deepEqual(await shapeOf(server.database, slug), shape);
  assert.deepEqual(await everyRecord(workspace, entity), contents);
  assert.deepEqual((await workspace.admin('schema')).json.data, before);
  for (const id of ids) await workspace.call(`${entity}/${id}`, { method: 'DELETE' });
}

/** A cancel in the middle takes everything back, under requests. */
async function proveCancel(
  server: TestServer,
  workspace: TestWorkspace,
  { before, after, middle }: OperationCase,
  goOn: () => Promise<void>,
): Promise<void> {
  const slug = workspace.path.split('/')[1] as string;
  const shape = await shapeOf(server.database, slug);
  const table = middle === 'snapshot' || middle === null ? undefined : middle;
  let cancelled: Promise<Answer> | undefined;
  const { reached, migration } = await applyHeld(server, workspace, after, {
    table,
    async during(id) {
      await goOn();
      // It answers when the migration has ended, which may have to wait for the lock.
      cancelled = workspace.admin(`migrations/${id}/cancel`, { method: 'POST' });
      await cancelIsKnown(server, id);
    },
  });
  assert.ok(reached, 'the change was never in the middle');
  assert.equal((await cancelled)?.status, 200);
  assert.equal(migration.state, 'cancelled', JSON.stringify(migration));
  await assertTidy(server, slug);
  assert.deepEqual(await shapeOf(server.database, slug), shape);
  assert.deepEqual((await workspace.admin('schema')).json.data, before);
}

async function everyRecord(workspace: TestWorkspace, entity: string): Promise<Map<number, Json>> {
  const records = new Map<number, Json>();
  for (let page = 0; ; page++) {
    const answer = await workspace.call(`${entity}?size=100&sort=id&page=${page}`);
    assert.equal(answer.status, 200, answer.text);
    for (const record of answer.json.data) records.set(record.id, record);
    if (answer.json.data.length < 100) return records;
  }
}

const pick = (record: Json, names: readonly string[]): Json =>
  record === undefined ? undefined : Object.fromEntries(names.map((name) => [name, record[name]]));

/** As in a workspace that is created with the document; what is renamed keeps its names in PostgreSQL. */
async function assertShape(server: TestServer, slug: string, document: Json): Promise<void> {
  if (JSON.stringify(document).includes('renamedFrom')) return;
  assert.deepEqual(await shapeOf(server.database, slug), await freshShape(server, document));
}
