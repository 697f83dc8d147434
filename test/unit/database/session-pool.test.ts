// Lending of connections: nobody has more than its share at once, nobody waits longer than it wants to, nobody's queue
// holds up another's.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import pg from 'pg';
import type { OpenedConnection } from '../../../src/database/connect.ts';
import { makeSessionPool, type SessionPool } from '../../../src/database/session-pool.ts';
import { type FakeBackend, startFakeBackend } from '../../support/fake-backend.ts';

let backend: FakeBackend;
before(async () => {
  backend = await startFakeBackend({ deadOnArrival: 0, answer: () => ['1'] });
});
after(() => backend.close());

async function open(): Promise<OpenedConnection> {
  const client = new pg.Client({ host: '127.0.0.1', port: backend.port, user: 'wda', database: 'wda' });
  let retired: ((reason: Error) => void) | undefined;
  client.on('error', (error) => retired?.(error));
  await client.connect();
  return {
    client,
    pid: 1,
    onRetired(listener) {
      retired = listener;
    },
  };
}

async function withPool(
  size: number,
  perTenant: number,
  maxQueue: number,
  work: (pool: SessionPool) => Promise<void>,
): Promise<void> {
  const pool = makeSessionPool({ open, size, perTenant, maxQueue, timeoutMs: 10_000 });
  try {
    await work(pool);
  } finally {
    await pool.close(100);
  }
}

test('a queue that is full is a 503, and one tenant never fills it for the others', () =>
  withPool(1, 1, 5, async (pool) => {
    await pool.take({ tenant: 'a' });
    const waiting = Array.from({ length: 4 }, () => pool.take({ tenant: 'a' }).catch(() => undefined));
    await assert.rejects(pool.take({ tenant: 'a' }), { status: 503 });
    const other = pool.take({ tenant: 'b' }).catch(() => undefined);
    await assert.rejects(pool.take({ tenant: 'b' }), { status: 503 });
    await pool.close(10);
    await Promise.all([...waiting, other]);
  }));

test('who has waited until its deadline gets a 503, and leaves the queue', () =>
  withPool(1, 1, 10, async (pool) => {
    await pool.take();
    await assert.rejects(pool.take({ deadline: performance.now() + 20 }), { status: 503 });
    assert.equal(pool.countWaiting(), 0);
  }));

test('who has left is dropped', () =>
  withPool(1, 1, 10, async (pool) => {
    const lent = await pool.take();
    const leave: (() => void)[] = [];
    const signal = {
      isAborted: () => false,
      onAbort(listener: () => void) {
        leave.push(listener);
        return () => undefined;
      },
    };
    const waiting = pool.take({ signal });
    leave[0]?.();
    await assert.rejects(waiting, { status: 503 });
    await assert.rejects(pool.take({ signal: { ...signal, isAborted: () => true } }), { status: 503 });
    lent.release(false);
    (await pool.take()).release(false);
  }));

test('a connection that is given back broken is not lent again', () =>
  withPool(1, 1, 10, async (pool) => {
    const first = await pool.take();
    first.release(true);
    const second = await pool.take();
    assert.notEqual(second.connection, first.connection);
    second.release(false);
    assert.equal((await pool.take()).connection, second.connection);
  }));

test('closing cuts what is not given back in time', () =>
  withPool(1, 1, 10, async (pool) => {
    const lent = await pool.take();
    const ended = new Promise((resolve) => lent.connection.client.once('end', resolve));
    await pool.close(10);
    await ended;
    await assert.rejects(pool.take(), { status: 503 });
  }));

test('never more than the share at once, and everybody gets a turn', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 1, max: 4 }),
      fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 40 }),
      (size, share, asked) =>
        withPool(size, share, 100, async (pool) => {
          const active = new Map<string, number>();
          let all = 0;
          let done = 0;
          await Promise.all(
            asked.map(async (tenant, index) => {
              const lent = await pool.take({ tenant });
              active.set(tenant, (active.get(tenant) ?? 0) + 1);
              all++;
              assert.ok((active.get(tenant) ?? 0) <= share);
              assert.ok(all <= size);
              for (let turn = 0; turn <= index % 3; turn++) await Promise.resolve();
              active.set(tenant, (active.get(tenant) ?? 0) - 1);
              all--;
              done++;
              lent.release(false);
            }),
          );
          assert.equal(done, asked.length);
        }),
    ),
    { numRuns: 30 },
  );
});

/** A place that can be made to fall silent. */
function makeNode() {
  const listeners = new Set<() => void>();
  let isUnavailable = false;
  return {
    isUnavailable: () => isUnavailable,
    onUnavailable(listener: () => void) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    listeners: () => listeners.size,
    leave() {
      isUnavailable = true;
      for (const listener of [...listeners]) listener();
    },
  };
}

test('what works at a place that falls silent is cut, what waits is refused, and what comes does not wait', () =>
  withPool(1, 1, 5, async (pool) => {
    const place = makeNode();
    const lent = await pool.take({ tenant: 'a', node: place });
    const cut = new Promise((resolve) => lent.connection.client.once('end', resolve));
    const waiting = pool.take({ tenant: 'a', node: place });
    place.leave();
    await assert.rejects(waiting, { status: 503 });
    await cut;
    lent.release(true);
    await assert.rejects(pool.take({ tenant: 'a', node: place }), { status: 503 });
    (await pool.take({ tenant: 'b' })).release(false);
    assert.equal(place.listeners(), 0);
  }));

test('a connection that was given back is not cut', () =>
  withPool(1, 1, 5, async (pool) => {
    const place = makeNode();
    (await pool.take({ tenant: 'a', node: place })).release(false);
    place.leave();
    const lent = await pool.take({ tenant: 'b' });
    assert.equal((await lent.connection.client.query('select 1')).rowCount, 1);
    lent.release(false);
  }));
