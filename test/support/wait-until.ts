// Waiting for what must come.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until `condition` holds; the limit is only there so that a broken test ends. `what` may tell the state at its end. */
export async function until(
  what: string | (() => string),
  condition: () => boolean | Promise<boolean>,
  limitMs = 180_000,
): Promise<void> {
  const deadline = performance.now() + limitMs;
  while (!(await condition())) {
    assert.ok(performance.now() < deadline, `never happened: ${typeof what === 'string' ? what : what()}`);
    await sleep(10);
  }
}
