// Compares the answer to a write, and all that is stored afterwards, with the model of what a user may write.
import assert from 'node:assert/strict';
import type { Model, Rec } from './row-rules-read-model.ts';
import type { Done, Write } from './row-rules-write-model.ts';
import { requestOf, type WriteWish } from './row-rules-writes.ts';
import type { Answer, TestWorkspace } from './server.ts';

export interface Setting {
  readonly ask: Ask;
  readonly workspace: TestWorkspace;
  /** The model of what the user may write. */
  readonly run: (before: Model, writes: readonly Write[], isBatch: boolean) => readonly Done[];
}

export type Ask = (path: string, method: string, body?: object) => Promise<Answer>;

const send = (ask: Ask, wish: WriteWish): Promise<Answer> => {
  const { path, method, body } = requestOf(wish);
  return ask(path, method, body);
};

/** What is answered to a wish that is done, with the ids as the model calls them. */
function answerOf({ form, writes, isDry, isMinimal }: WriteWish, done: readonly Done[]): [number, unknown] {
  const dry = isDry ? { dryRun: true } : {};
  const one = (write: Write, { records, drawn }: Done): { status: number; data?: unknown; total?: number } => {
    const [data] = records;
    if (write.kind === 'list') return { status: 200, data: records, total: records.length };
    if (write.kind === 'delete') return { status: 204 };
    return { status: drawn.length > 0 ? 201 : 200, data };
  };
  if (form === 'batch') {
    const data = writes.map((write, index) => one(write, done[index] as Done));
    return [200, { data, ...(isDry ? { meta: dry } : {}) }];
  }
  const [write, only] = [writes[0] as Write, done[0] as Done];
  if (form === 'single') {
    const { status, data } = one(write, only);
    return [status, data === undefined ? undefined : { data }];
  }
  if (write.kind === 'delete') return isDry ? [200, { meta: dry }] : [204, undefined];
  const inserted = only.drawn.length;
  const updated = write.kind === 'upsert' && write.skips ? 0 : only.records.length - inserted;
  const meta = { ...(write.kind === 'upsert' ? { inserted, updated } : {}), ...dry };
  const data = only.records.map((record) => (isMinimal ? { id: record.id } : record));
  return [write.kind === 'create' ? 201 : 200, { data, ...(Object.keys(meta).length > 0 ? { meta } : {}) }];
}

/** Of a list in a batch, what the model speaks of: its records and their number. */
function plain(json: unknown): unknown {
  const { data, ...rest } = (json ?? {}) as { data?: unknown };
  if (!Array.isArray(data)) return json;
  const entries = data.map(({ meta, ...entry }) => ({
    ...entry,
    ...(meta === undefined ? {} : { total: meta.totalElements }),
  }));
  return { data: entries, ...rest };
}

/** Gives each id that the model drew the one that the server answers with. */
function realIds(
  { form, writes }: WriteWish,
  done: readonly Done[],
  json: { data: never } | undefined,
): Map<number, number> {
  const real = new Map<number, number>();
  if (json === undefined) return real;
  const { data }: { data: unknown } = json;
  done.forEach(({ records, drawn }, operation) => {
    const answered = form === 'batch' ? [(data as { data?: unknown }[])[operation]?.data] : [data].flat();
    if (writes[operation]?.kind === 'list') return;
    records.forEach(({ id }, index) => {
      if (drawn.includes(id)) real.set(id, (answered[index] as Rec).id);
    });
  });
  return real;
}

const withIds = <T>(value: T, real: ReadonlyMap<number, number>): T =>
  JSON.parse(JSON.stringify(value), (_, each) => real.get(each) ?? each);

/** Sends the wish and holds its answer and all that is stored afterwards against the model; gives the state that it leaves. */
export async function compareWrite({ ask, workspace, run }: Setting, before: Model, wish: WriteWish): Promise<Model> {
  const done = run(before, wish.writes, wish.form === 'batch');
  const last = done.at(-1) as Done;
  const answer = await send(ask, wish);
  const told = JSON.stringify({ wish, answer: [answer.status, answer.text] });
  let after = before;
  const isAllowed = done.some(({ allowed }) => allowed.includes(answer.status));
  if (last.refusals.length > 0 || isAllowed) {
    const mayBe = [...last.refusals, ...done.flatMap(({ allowed }) => allowed)];
    assert.ok(mayBe.includes(answer.status), `${mayBe}: ${told}`);
    if (last.refusals.length > 0 && !isAllowed && wish.form === 'batch')
      assert.equal(answer.json.error.operation, done.length - 1, told);
  } else {
    const [status, expected] = answerOf(wish, done);
    assert.equal(answer.status, status, told);
    const real = realIds(wish, done, answer.json);
    for (const id of real.values()) assert.ok(Number.isInteger(id) && id > 0, told);
    const answered = wish.form === 'batch' ? plain(answer.json) : answer.json;
    assert.deepEqual(answered, expected === undefined ? undefined : withIds(expected, real), told);
    if (!wish.isDry) after = withIds(last.model, real);
  }
  const lists = Object.keys(after).map((entity) => ({ method: 'GET', entity, query: 'size=1000' }));
  const stored = await workspace.call('_batch', { method: 'POST', body: { operations: lists } });
  assert.deepEqual(
    stored.json.data.map(({ data }: { data: Rec[] }) => data),
    Object.values(after).map(({ records }) => records.toSorted((a, b) => a.id - b.id)),
    told,
  );
  return after;
}
