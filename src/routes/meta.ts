// Health, readiness and metrics: for load balancers and monitoring, without a credential.

import type { Database } from '../db/pool.ts';
import { serviceUnavailable } from '../errors.ts';
import type { Route } from '../http/routes.ts';
import { METRICS_KEPT_MS, remembered } from '../observe.ts';
import { PREFIX as RECORDS } from '../request/record-path.ts';
import { json, type Reply } from '../response/reply.ts';
import { sql, toQuery } from '../sql/fragment.ts';
import { PREFIX as ADMIN } from './admin/route.ts';

export interface MetaRooms {
  readonly db: Database;
  readonly metrics: () => Promise<string>;
  /** Why requests cannot be served, or undefined. */
  readonly unready: () => string | undefined;
}

/** For people who open the address in a browser. */
export const INDEX_ROUTE: Route = at('/', async () =>
  json(200, {
    data: {
      name: 'Workspace Data API',
      records: `${RECORDS}{organization}/{workspace}/{entity}`,
      admin: ADMIN,
      health: ['/healthz', '/readyz', '/metrics'],
    },
  }),
);

/** Answered whether or not the server is ready. */
export function metaRoutes({ db, metrics, unready }: MetaRooms): Route[] {
  const text = remembered(metrics, METRICS_KEPT_MS, () => performance.now());
  // One question to the database for all who ask at the same time, as no credential is needed.
  const answers = remembered(
    () => db.run(toQuery(sql`select 1`, 'ready'), 'read'),
    0,
    () => performance.now(),
  );
  return [
    at('/healthz', async () => json(200, { status: 'ok' })),
    at('/readyz', async () => {
      const reason = unready();
      if (reason !== undefined) throw serviceUnavailable(reason);
      await answers();
      return json(200, { status: 'ready' });
    }),
    at('/metrics', async () => ({
      status: 200,
      headers: {},
      body: { kind: 'text', contentType: 'text/plain; version=0.0.4; charset=utf-8', text: await text() },
    })),
  ];
}

/** A GET route without query parameters. */
function at(pattern: string, handle: () => Promise<Reply>): Route {
  return {
    method: 'GET',
    pattern,
    parameters: [],
    async handle(request) {
      request.query();
      return handle();
    },
  };
}
