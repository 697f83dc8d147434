// Health, readiness and metrics: for load balancers and monitoring, without a credential.

import type { Database } from '../database/pool.ts';
import { serviceUnavailable } from '../errors.ts';
import type { Route } from '../http/router.ts';
import { METRICS_TTL_MS, memoize } from '../observer.ts';
import {
  type Content,
  type Description,
  type ErrorConditions,
  objectShape,
  QUERY_ERRORS,
  type Shape,
  TEXT,
  TEXTS,
  toErrorResponses,
  UNREADY_ERRORS,
} from '../openapi/operation.ts';
import { ADMIN_PREFIX as ADMIN, PREFIX as RECORDS } from '../request/record-path.ts';
import { json, type Reply } from '../response/reply.ts';
import { sql, toQuery } from '../sql/fragment.ts';

const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

export interface MetaServices {
  readonly db: Database;
  readonly metrics: () => Promise<string>;
  /** Returns why requests cannot be served, or undefined if they can. */
  readonly unready: () => string | undefined;
  /** Nodes of the database's cluster that do not respond. */
  readonly nodesDown: () => readonly string[];
}

/** Index for people who open the server's URL in a browser. */
export const INDEX_ROUTE: Route = makeRoute('/', {
  id: 'server.index',
  summary: 'What is served where',
  description: 'For people who open the address of the server in a browser.',
  response: {
    shape: objectShape({
      data: objectShape({ name: TEXT, records: TEXT, admin: TEXT, health: TEXTS }),
    }),
  },
  errors: UNREADY_ERRORS,
  handle: async () =>
    json(200, {
      data: {
        name: 'Workspace Data API',
        records: `${RECORDS}{organization}/{workspace}/{entity}`,
        admin: `${ADMIN}/openapi.json`,
        health: ['/healthz', '/readyz', '/metrics'],
      },
    }),
});

/** Creates the routes, which respond whether or not the server is ready. */
export function metaRoutes({ db, metrics, unready, nodesDown }: MetaServices): Route[] {
  const readMetrics = memoize(metrics, METRICS_TTL_MS, () => performance.now());
  // One database query for all concurrent requests, as no credential is needed.
  const probeDatabase = memoize(
    // With a tenant, as statements without one may take another path than those of requests.
    () => db.run(toQuery(sql`select 1`, 'ready'), 'read', { tenant: 'ready' }),
    0,
    () => performance.now(),
  );
  return [
    makeRoute('/healthz', {
      id: 'server.health',
      summary: 'Whether the process lives',
      description: 'It asks no other service: restart the process when it does not answer.',
      response: { shape: makeStatusShape('ok') },
      errors: {},
      handle: async () => json(200, { status: 'ok' }),
    }),
    makeRoute('/readyz', {
      id: 'server.ready',
      summary: 'Whether requests can be served',
      description:
        'It asks the database: send no requests here while it refuses. Of a cluster, `nodesDown` names the nodes that do not answer: requests of the workspaces there are refused, and all others are answered.',
      response: { shape: READY_SHAPE },
      errors: { ...UNREADY_ERRORS, QUERY_TIMEOUT: 'the database does not answer in time' },
      async handle() {
        const reason = unready();
        if (reason !== undefined) throw serviceUnavailable('NOT_READY', reason);
        await probeDatabase();
        const down = nodesDown();
        return json(200, { status: 'ready', ...(down.length === 0 ? {} : { nodesDown: down }) });
      },
    }),
    makeRoute('/metrics', {
      id: 'server.metrics',
      summary: 'The metrics of all processes of this port',
      description: 'In the text format of Prometheus.',
      response: { shape: TEXT, type: METRICS_TYPE },
      errors: {},
      handle: async () => ({
        status: 200,
        headers: {},
        body: { kind: 'text', contentType: METRICS_TYPE, text: await readMetrics() },
      }),
    }),
  ];
}

interface Spec extends Pick<Description, 'id' | 'summary' | 'description'> {
  readonly response: Content;
  readonly errors: ErrorConditions;
  readonly handle: () => Promise<Reply>;
}

/** Creates a public GET route without query parameters. */
function makeRoute(pattern: string, { response, errors, handle, ...texts }: Spec): Route {
  return {
    method: 'GET',
    pattern,
    describe: {
      ...texts,
      credential: 'none',
      params: {},
      query: {},
      responses: { 200: response },
      errors: toErrorResponses({ ...QUERY_ERRORS, ...errors }),
    },
    async handle(request) {
      request.query();
      return handle();
    },
  };
}

function makeStatusShape(status: string): Shape {
  return objectShape({ status: { type: 'string', enum: [status] } });
}

/** `nodesDown` is present only when there are some. */
const READY_SHAPE: Shape = {
  ...makeStatusShape('ready'),
  properties: { status: { type: 'string', enum: ['ready'] }, nodesDown: TEXTS },
};
