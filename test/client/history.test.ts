// The history of a record in the client: typed events, pages, the record as it was, and its restore.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isWdaError } from '../../client/src/index.ts';
import { prepare } from '../support/resources.ts';
import { useDemo } from './demo.ts';
import type { Shop } from './shop.ts';

type Eq<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
/** Compiles only when both types are the same. */
const same = <A, B>(..._: Eq<A, B> extends true ? [] : [never]): void => undefined;

const demo = useDemo();
prepare(async () => {
  const body = { changes: 'history' };
  assert.equal((await demo.workspace.admin('entities/tags/settings', { method: 'PUT', body })).status, 200);
});

test('a record is restored after an event, also when it was deleted', async () => {
  const tags = demo.client().entity('tags');
  const { data: tag } = await tags.create({ name: 'first' });
  await tags.update(tag.id, { name: 'second' });
  const { data: events, meta } = await tags.history(tag.id, { fields: ['name'] });
  assert.deepEqual([events.map(({ type }) => type), meta.nextCursor], [['updated', 'created'], null]);
  const [last, first] = events;
  assert.ok(last?.type === 'updated' && !last.redacted && first !== undefined);
  same<typeof last.record, { name: string }>();
  assert.deepEqual([last.record, last.previous, last.changed], [{ name: 'second' }, { name: 'first' }, ['name']]);
  const entry = await tags.historyEntry(tag.id, first.id);
  same<typeof entry.data, Shop['tags']['row']>();
  assert.deepEqual([entry.data, entry.meta], [{ id: tag.id, name: 'first' }, undefined]);

  const restored = await tags.restore(tag.id, first.id);
  assert.deepEqual([restored.data.name, restored.created], ['first', false]);
  const stale = tags.restore(tag.id, last.id, { ifMatch: '"0"' });
  await assert.rejects(stale, (error) => isWdaError(error, 'PRECONDITION_FAILED'));
  await tags.delete(tag.id);
  const again = await tags.restore(tag.id, last.id);
  assert.deepEqual([again.data, again.created], [{ id: tag.id, name: 'second' }, true]);

  const page = await tags.history(tag.id, { size: 1 });
  const next = await tags.history(tag.id, { size: 1, after: page.meta.nextCursor ?? '' });
  assert.deepEqual([page.data[0]?.type, next.data[0]?.type], ['created', 'removed']);
});

test('events whose values were removed are told apart', async () => {
  const tags = demo.client().entity('tags');
  const { data: tag } = await tags.create({ name: 'private' });
  await demo.client().request('DELETE', `tags/${tag.id}/_history`);
  const [event] = (await tags.history(tag.id)).data;
  assert.ok(event?.redacted);
  assert.deepEqual([event.type, 'record' in event], ['created', false]);
  await assert.rejects(tags.restore(tag.id, event.id), (error) => isWdaError(error, 'NOT_FOUND'));
});
