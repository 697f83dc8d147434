import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../../../console/src/api/api-error.ts';
import { CellDrafts } from '../../../../console/src/records/cell-drafts.ts';
import type { Versioned } from '../../../../console/src/records/requests.ts';
import type { Row } from '../../../../console/src/records/rows.ts';
import type { Update } from '../../../../console/src/records/write-requests.ts';
import { type Conflict, Writer, type WriterOptions } from '../../../../console/src/records/writer.ts';

/** A record with versions 1, 2, 3 … as a server keeps it, and all that a writer says about it. */
function desk(answers: readonly (ApiError | 'ok')[] = []) {
  const left = [...answers];
  const server = { version: 1, record: { id: '7', name: 'old', total: 'old' } as Record<string, string> };
  const shown = { row: { id: '7', record: { ...server.record }, version: '1', truncatedLengths: new Map() } as Row };
  const sent: { readonly update: Update; readonly key: string }[] = [];
  const conflicts: Conflict[] = [];
  const said: string[] = [];
  const refused: unknown[] = [];
  const drafts = new CellDrafts();
  const update: WriterOptions['update'] = async (one, key): Promise<Versioned> => {
    sent.push({ update: one, key });
    await new Promise((resolve) => setImmediate(resolve));
    const answer = left.shift() ?? 'ok';
    if (answer !== 'ok') throw answer;
    if (one.version !== String(server.version))
      throw new ApiError('changed', { status: 412, code: 'PRECONDITION_FAILED' });
    server.version++;
    Object.assign(server.record, Object.fromEntries(one.values));
    return { record: { ...server.record }, version: String(server.version) };
  };
  const writer = new Writer({
    drafts,
    update,
    updateAll: async () => assert.fail('one record is not written by _bulk'),
    readRecord: async () => ({ record: { ...server.record }, version: String(server.version) }),
    restore: async () => undefined,
    getRow: () => shown.row,
    async onWritten([one]) {
      if (one?.now !== undefined) shown.row = { ...shown.row, record: one.now.record, version: one.now.version };
    },
    onConflict: (conflict) => conflicts.push(conflict),
    onError: (error) => refused.push(error),
    say: (words) => said.push(words),
    retryDelay: (error) => (error instanceof ApiError && error.status === 0 ? 10 : undefined),
    wait: async () => undefined,
  });
  const save = (name: string, value: string) =>
    writer.save(
      { row: shown.row, before: new Map([[name, server.record[name] ?? '']]), values: new Map([[name, value]]) },
      name,
    );
  return { server, shown, sent, conflicts, said, refused, drafts, writer, save };
}

test('writes of a record go one after the other, each upon the version that the one before gave', async () => {
  const { save, sent, server } = desk();
  await Promise.all([save('name', 'a'), save('total', 'b'), save('name', 'c')]);
  assert.deepEqual(
    sent.map(({ update }) => [update.version, ...update.values.keys()]),
    [
      ['1', 'name'],
      ['2', 'total'],
      ['3', 'name'],
    ],
  );
  assert.deepEqual(server.record, { id: '7', name: 'c', total: 'b' });
});

test('undo and redo write the inverse; an undo of what somebody has changed since is a conflict', async () => {
  const { save, server, writer, conflicts, said } = desk();
  await save('name', 'a');
  await save('total', 'b');
  await writer.undo();
  await writer.undo();
  assert.deepEqual(server.record, { id: '7', name: 'old', total: 'old' });
  await writer.redo();
  assert.equal(server.record.name, 'a');
  assert.equal(said.at(-1), 'Redone: name');
  server.version++;
  server.record.name = 'theirs';
  await writer.undo();
  assert.equal(server.record.name, 'theirs');
  assert.equal(conflicts[0]?.mine.get('name'), 'old');
  assert.equal(conflicts[0]?.theirs?.record.name, 'theirs');
  await writer.undo();
  assert.equal(said.at(-1), 'Nothing to undo');
});

test('a write that does not arrive is sent again with the same key, and its cell says what it waits for', async () => {
  const lost = new ApiError('The server cannot be reached', { status: 0, code: 'UNREACHABLE' });
  const { save, sent, drafts, refused } = desk([lost, lost, 'ok']);
  const saving = save('name', 'a');
  while (sent.length < 2) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(drafts.get('7')?.get('name')?.message, 'Not saved, offline');
  assert.equal(drafts.isUnsaved, true);
  assert.deepEqual(await saving, { kind: 'saved' });
  assert.equal(new Set(sent.map(({ key }) => key)).size, 1);
  assert.equal(refused.length, 1, 'it is said once');
  assert.equal(drafts.get('7')?.get('name')?.kind, 'saved');
});

test('a refusal stands in its cell with what was typed', async () => {
  const refusal = new ApiError('Validation failed', {
    status: 400,
    code: 'VALIDATION_FAILED',
    details: [{ field: 'name', code: 'TOO_LONG', message: 'is too long' }],
  });
  const { save, drafts, server, writer } = desk([refusal]);
  const outcome = await save('name', 'a');
  assert.equal(outcome.kind, 'refused');
  assert.deepEqual(drafts.get('7')?.get('name'), { kind: 'refused', value: 'a', message: 'is too long' });
  assert.equal(server.version, 1);
  assert.equal(writer.history().done.length, 0);
});

test('undoes that are asked for at once are done one after the other, after the edits before them', async () => {
  const { save, server, writer, conflicts, said } = desk();
  await save('name', 'a');
  const last = save('total', 'b');
  await Promise.all([writer.undo(), writer.undo(), last]);
  assert.deepEqual(server.record, { id: '7', name: 'old', total: 'old' });
  assert.deepEqual(conflicts, []);
  assert.deepEqual(
    said.filter((words) => words.startsWith('Undone')),
    ['Undone: total', 'Undone: name'],
  );
});

test('what is typed into a cell while it is saved is not shown as saved before it is', async () => {
  const { save, drafts, server } = desk();
  const [first, second] = [save('name', 'a'), save('name', 'b')];
  await first;
  assert.deepEqual(drafts.get('7')?.get('name'), { kind: 'saving', value: 'b', message: 'Saving' });
  assert.equal(drafts.isUnsaved, true);
  await second;
  assert.equal(drafts.get('7')?.get('name')?.kind, 'saved');
  assert.equal(server.record.name, 'b');
});

/** Two records that are written together, each version its number of writes. */
function pair(options: Partial<WriterOptions> = {}) {
  const versions = new Map([
    ['1', 1],
    ['2', 1],
  ]);
  const write = ({ id, version }: Update, index = 0): Versioned => {
    if (version !== String(versions.get(id))) {
      const details = [{ field: null, code: 'STALE_VERSION', message: 'changed', index }];
      throw new ApiError('changed', { status: 412, code: 'PRECONDITION_FAILED', details });
    }
    versions.set(id, Number(version) + 1);
    return { record: { id }, version: String(versions.get(id)) };
  };
  const conflicts: Conflict[] = [];
  const writer = new Writer({
    drafts: new CellDrafts(),
    async updateAll(updates) {
      await new Promise((resolve) => setImmediate(resolve));
      return updates.map((one, index) => write(one, index).version);
    },
    update: async (one) => write(one),
    readRecord: async (id) => ({ record: { id }, version: String(versions.get(id)) }),
    restore: async () => undefined,
    getRow: () => undefined,
    onWritten: async () => undefined,
    onConflict: (conflict) => conflicts.push(conflict),
    onError: () => undefined,
    say: () => undefined,
    retryDelay: () => undefined,
    wait: async () => undefined,
    ...options,
  });
  const edit = (id: string) => ({
    row: { id, record: { id }, version: '1', truncatedLengths: new Map() } as Row,
    before: new Map([['name', 'old']]),
    values: new Map([['name', 'new']]),
  });
  return { writer, edit, conflicts, versions };
}

test('an edit of a record that is being written with others waits for that, and is no conflict', async () => {
  const { writer, edit, conflicts } = pair();
  const all = writer.saveAll([edit('1'), edit('2')], 'both');
  assert.deepEqual(await writer.save(edit('1'), 'one'), { kind: 'saved' });
  assert.deepEqual([await all, conflicts], [{ kind: 'saved' }, []]);
});

test('what somebody else has written before it was read anew is compared before it is written again', async () => {
  const overtaken = pair({ onWritten: async () => void overtaken.versions.set('1', 3) });
  const { writer, edit, conflicts, versions } = overtaken;
  await writer.saveAll([edit('1'), edit('2')], 'both');
  assert.deepEqual(await writer.save(edit('1'), 'one'), { kind: 'conflict' });
  await writer.undo();
  assert.equal(conflicts.length, 2);
  assert.deepEqual([...versions.values()], [3, 2]);
});

test('what was written together is undone, though nothing of it could be read anew', async () => {
  const { writer, edit, conflicts, versions } = pair();
  await writer.saveAll([edit('1'), edit('2')], 'both');
  await writer.undo();
  assert.deepEqual([conflicts, [...versions.values()]], [[], [3, 3]]);
});
