// Clients who write and read while something happens, and remember every answer: what was acknowledged must be there
// afterwards.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer } from './server.ts';

type Send = (path: string, call?: { method?: string; body?: unknown }) => Promise<Answer>;

export interface Traffic {
  /** Ends it. Gives what was acknowledged by id: the last body that was answered with success. */
  stop(): Promise<ReadonlyMap<number, Readonly<Record<string, unknown>>>>;
  /** Answers other than the expected ones, each with what was asked. */
  readonly surprises: readonly string[];
  answered(): number;
}

interface TrafficOptions {
  readonly entity: string;
  readonly body: (count: number) => Record<string, unknown>;
  /** Answers that are no surprise; success always is none. */
  readonly expected?: (answer: Answer) => boolean;
  readonly pauseMs?: number;
}

/** Creates, changes and reads records until it is stopped. A connection that breaks is a surprise, too. */
export function makeTraffic(send: Send, { entity, body, expected, pauseMs = 10 }: TrafficOptions): Traffic {
  const acknowledged = new Map<number, Record<string, unknown>>();
  const surprises: string[] = [];
  let answered = 0;
  let stopped = false;
  const ask = async (path: string, call: { method?: string; body?: unknown } = {}): Promise<Answer | undefined> => {
    const what = `${call.method ?? 'GET'} ${path} ${JSON.stringify(call.body) ?? ''}`;
    try {
      const answer = await send(path, call);
      answered++;
      if (answer.status < 300) return answer;
      if (expected?.(answer) !== true) surprises.push(`${what}: ${answer.status} ${answer.text}`);
    } catch (error) {
      surprises.push(`${what}: ${String(error)}`);
    }
    return undefined;
  };
  const running = (async () => {
    for (let count = 1; !stopped; count++) {
      const first = body(count);
      const made = await ask(entity, { method: 'POST', body: first });
      const id = made?.json.data.id as number | undefined;
      if (id !== undefined) {
        acknowledged.set(id, first);
        const next = { ...first, ...body(count + 500_000) };
        if ((await ask(`${entity}/${id}`, { method: 'PATCH', body: next })) !== undefined) acknowledged.set(id, next);
        await ask(`${entity}/${id}`);
      }
      await ask(`${entity}?size=2&sort=id,desc`);
      await sleep(pauseMs);
    }
  })();
  return {
    surprises,
    answered: () => answered,
    async stop() {
      stopped = true;
      await running;
      assert.ok(answered > 0, 'there was traffic');
      return acknowledged;
    },
  };
}
