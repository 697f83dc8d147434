// An HTTP server of the project with mounts alone: what is served without a database.
import type { Mount } from '../../src/http/router.ts';
import { makeHttpServer } from '../../src/http/server.ts';
import { makeAnswerBudget } from '../../src/limits/memory-budget.ts';
import type { Observer } from '../../src/observer.ts';

export interface MountServer {
  readonly url: string;
  readonly close: () => Promise<unknown>;
}

export async function serveMounts(mounts: readonly Mount[]): Promise<MountServer> {
  const server = makeHttpServer({
    host: '127.0.0.1',
    port: 0,
    bodyTimeoutMs: 1000,
    minAnswerRate: { bytesPerSecond: 1, seconds: 1 },
    answerBudget: makeAnswerBudget(1_000_000),
    corsOrigins: '*',
    mounts,
    waitForThrottle: async () => undefined,
    unready: () => undefined,
    observer: { request: () => undefined } as unknown as Observer,
  });
  const port = await server.listen();
  return { url: `http://127.0.0.1:${port}`, close: () => server.close(1000) };
}
