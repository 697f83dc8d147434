// Who gets a connection for an import or export, and when.
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { type TestContext, test } from 'node:test';
import { type ConcurrencyLimiter, makeConcurrencyLimiter } from '../../../src/limits/concurrency.ts';
import { until } from '../../support/wait-until.ts';

const FOREVER = 600_000;

/** Asks for limiter and notes who begins, in order. */
function makeCrowd(t: TestContext, count: number, { maxWaiting = 1000, waitMs = FOREVER } = {}) {
  const limiter: ConcurrencyLimiter = makeConcurrencyLimiter({ count, resources: 'imports and exports', maxWaiting });
  const begun: string[] = [];
  const refused: string[] = [];
  const ends = new Map<string, () => void>();
  const client = new EventEmitter().setMaxListeners(0);
  t.after(() => {
    for (const name of client.eventNames()) client.emit(name);
  });
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  return {
    begun,
    refused,
    async ask(name: string, workspace: string, user?: string) {
      limiter
        .acquire({
          workspace,
          user,
          deadline: performance.now() + waitMs,
          signal: {
            isAborted: () => false,
            onAbort: (listener) => {
              client.once(name, listener);
              return () => void client.off(name, listener);
            },
          },
        })
        .then(
          (end) => {
            begun.push(name);
            ends.set(name, end);
          },
          (error) => refused.push(`${name} ${error.message}`),
        );
      await settle();
    },
    async end(name: string) {
      ends.get(name)?.();
      await settle();
    },
    async leave(name: string) {
      client.emit(name);
      await settle();
    },
    listeners: () => client.eventNames(),
  };
}

test('who comes after its time is refused, and Node.js has nothing to warn of', async (t) => {
  const warnings: string[] = [];
  const note = ({ name }: Error): void => void warnings.push(name);
  process.on('warning', note);
  t.after(() => process.off('warning', note));
  const crowd = makeCrowd(t, 1, { waitMs: -5 });
  for (const name of ['a', 'b']) await crowd.ask(name, name);
  await until('the second is refused', () => crowd.refused.length === 1);
  assert.deepEqual([crowd.begun, warnings], [['a'], []]);
});

test('a workspace has half of the limiter at most, and the others have theirs', async (t) => {
  const crowd = makeCrowd(t, 4);
  for (const name of ['a1', 'a2', 'a3', 'a4']) await crowd.ask(name, 'a');
  assert.deepEqual(crowd.begun, ['a1', 'a2']);
  await crowd.ask('b1', 'b');
  await crowd.ask('c1', 'c');
  assert.deepEqual(crowd.begun, ['a1', 'a2', 'b1', 'c1']);
  await crowd.end('a2');
  await crowd.end('a2');
  assert.deepEqual(crowd.begun.slice(4), ['a3']);
});

test('workspaces take limiter in rotation, each in its own order', async (t) => {
  const crowd = makeCrowd(t, 2);
  await crowd.ask('x1', 'x');
  await crowd.ask('y1', 'y');
  for (const name of ['a1', 'a2', 'a3']) await crowd.ask(name, 'a');
  await crowd.ask('b1', 'b');
  await crowd.ask('c1', 'c');
  for (const name of ['x1', 'a1', 'b1', 'c1', 'y1', 'a2', 'a3']) await crowd.end(name);
  assert.deepEqual(crowd.begun, ['x1', 'y1', 'a1', 'b1', 'c1', 'a2', 'a3']);
});

test('an external user has one at a time, and does not stand in the way of others', async (t) => {
  const crowd = makeCrowd(t, 8);
  for (const name of ['u1', 'u2', 'u3']) await crowd.ask(name, 'a', 'u');
  await crowd.ask('v1', 'a', 'v');
  await crowd.ask('owner', 'a');
  assert.deepEqual(crowd.begun, ['u1', 'v1', 'owner']);
  await crowd.end('u1');
  await crowd.end('u2');
  assert.deepEqual(crowd.begun.slice(3), ['u2', 'u3']);
});

test('those who wait are bounded, by user, by workspace and in all', async (t) => {
  const crowd = makeCrowd(t, 2, { maxWaiting: 30 });
  for (let index = 0; index < 6; index++) await crowd.ask(`u${index}`, 'a', 'u');
  assert.deepEqual(crowd.refused, ['u5 Too many imports and exports wait; retry']);
  for (let index = 0; index < 20; index++) await crowd.ask(`o${index}`, 'a');
  assert.equal(crowd.refused.length, 1 + 4);
  for (let index = 0; index < 15; index++) await crowd.ask(`b${index}`, 'b');
  assert.equal(crowd.begun.length, 2);
  assert.equal(crowd.refused.length, 1 + 4 + 4);
  // Once they go there is room again.
  await crowd.leave('o0');
  await crowd.ask('late', 'c');
  assert.equal(crowd.refused.at(-1), 'o0 The client left before its turn came');
});

test('who leaves or has waited long enough makes room', async (t) => {
  const crowd = makeCrowd(t, 2, { waitMs: 50 });
  await crowd.ask('a1', 'a');
  await crowd.ask('a2', 'a');
  await crowd.leave('a2');
  assert.deepEqual(crowd.refused, ['a2 The client left before its turn came']);
  await crowd.ask('a3', 'a');
  await new Promise((resolve) => setTimeout(resolve, 200));
  assert.deepEqual(crowd.refused.slice(1), ['a3 Too many imports and exports are running; retry']);
  await crowd.ask('a4', 'a');
  await crowd.end('a1');
  assert.deepEqual(crowd.begun, ['a1', 'a4']);
  assert.deepEqual(crowd.listeners(), []);
});
