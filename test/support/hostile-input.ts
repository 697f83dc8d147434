// Requests that were made to hurt, and what is asked of every answer to one: small, quick enough to let others through,
// and nothing internal in it.
import assert from 'node:assert/strict';
import { INTERNALS } from './scenario.ts';
import type { Answer, TestServer } from './server.ts';

/** The most that an answer to bad input may have. */
const MAX_REFUSAL_BYTES = 100_000;

/** A refusal that is small and tells nothing internal. */
export function assertRefused(answer: Answer, statuses: readonly number[] = [400]): void {
  const told = `${answer.status} ${answer.text.slice(0, 300)}`;
  assert.ok(statuses.includes(answer.status), told);
  assert.ok(Buffer.byteLength(answer.text) <= MAX_REFUSAL_BYTES, `${Buffer.byteLength(answer.text)} bytes: ${told}`);
  assert.doesNotMatch(answer.text, INTERNALS, told);
}

/**
 * Sends the request while another client asks for /healthz again and again, one at a time; gives the longest that one
 * had to wait, in milliseconds, beside the answer.
 */
export async function besideHealth(
  server: TestServer,
  hostile: () => Promise<Answer>,
): Promise<{ readonly answer: Answer; readonly longest: number }> {
  let isOver = false;
  let longest = 0;
  const watching = (async () => {
    while (!isOver) {
      const asked = performance.now();
      const health = await server.call('/healthz');
      assert.equal(health.status, 200);
      longest = Math.max(longest, performance.now() - asked);
    }
  })();
  try {
    return { answer: await hostile(), longest };
  } finally {
    isOver = true;
    await watching;
  }
}
