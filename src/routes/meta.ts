// Health, readiness and metrics: for load balancers and monitoring, without a credential.

import type { Database } from '../db/pool.ts';
import { serviceUnavailable } from '../errors.ts';
import type { Route } from '../http/router.ts';
import { METRICS_KEPT_MS, remembered } from '../observe.ts';
import { type Content, type Description, objectOf, type Shape, TEXT, TEXTS } from '../openapi/operation.ts';
import { PREFIX as RECORDS } from '../request/record-path.ts';
import { json, type Reply } from '../response/reply.ts';
import { sql, toQuery } from '../sql/fragment.ts';
import { PREFIX as ADMIN } from './admin/route.ts';
import { QUERY, type Refuses, toRefusals, UNREADY } from './refuses.ts';

const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

export interface MetaRooms {
  readonly db: Database;
  readonly metrics: () => Promise<string>;
  /** Why requests cannot be served, or undefined. */
  readonly unready: () => string | undefined;
  /** Nodes of the database's cluster that do not answer. */
  readonly nodesDown: () => readonly string[];
}

/** For people who open the address in a browser. */
export const INDEX_ROUTE: Route = at('/', {
  id: 'server.index',
  summary: 'What is served where',
  description: 'For people who open the address of the server in a browser.',
  answer: {
    shape: objectOf({
      data: objectOf({ name: TEXT, records: TEXT, admin: TEXT, health: TEXTS }),
    }),
  },
  refuses: UNREADY,
  handle: async () =>
    json(200, {
      data: {
        name: 'Workspace Data API',
        records: `${RECORDS}{organization}/{workspace}/{entity}`,
        admin: ADMIN,
        health: ['/healthz', '/readyz', '/metrics'],
      },
    }),
});

/** Answered whether or not the server is ready. */
export function metaRoutes({ db, metrics, unready, nodesDown }: MetaRooms): Route[] {
  const text = remembered(metrics, METRICS_KEPT_MS, () => performance.now());
  // One question to the database for all who ask at the same time, as no credential is needed.
  const answers = remembered(
    // As if a tenant asked: statements of nobody may go another way than those of requests.
    () => db.run(toQuery(sql`select 1`, 'ready'), 'read', { tenant: 'ready' }),
    0,
    () => performance.now(),
  );
  return [
    at('/healthz', {
      id: 'server.health',
      summary: 'Whether the process lives',
      description: 'It asks nobody else: restart the process when it does not answer.',
      answer: { shape: statusOf('ok') },
      refuses: {},
      handle: async () => json(200, { status: 'ok' }),
    }),
    at('/readyz', {
      id: 'server.ready',
      summary: 'Whether requests can be served',
      description:
        'It asks the database: send no requests here while it refuses. Of a cluster, `nodesDown` names the nodes that do not answer: requests of the workspaces there are refused, and all others are answered.',
      answer: { shape: READY },
      refuses: { ...UNREADY, QUERY_TIMEOUT: 'the database does not answer in time' },
      async handle() {
        const reason = unready();
        if (reason !== undefined) throw serviceUnavailable('NOT_READY', reason);
        await answers();
        const down = nodesDown();
        return json(200, { status: 'ready', ...(down.length === 0 ? {} : { nodesDown: down }) });
      },
    }),
    at('/metrics', {
      id: 'server.metrics',
      summary: 'The metrics of all processes of this port',
      description: 'In the text format of Prometheus.',
      answer: { shape: TEXT, type: METRICS_TYPE },
      refuses: {},
      handle: async () => ({
        status: 200,
        headers: {},
        body: { kind: 'text', contentType: METRICS_TYPE, text: await text() },
      }),
    }),
  ];
}

interface Spec extends Pick<Description, 'id' | 'summary' | 'description'> {
  readonly answer: Content;
  readonly refuses: Refuses;
  readonly handle: () => Promise<Reply>;
}

/** A GET route without query parameters, for anybody. */
function at(pattern: string, { answer, refuses, handle, ...words }: Spec): Route {
  return {
    method: 'GET',
    pattern,
    describe: {
      ...words,
      credential: 'none',
      params: {},
      query: {},
      responses: { 200: answer },
      refusals: toRefusals({ ...QUERY, ...refuses }),
    },
    async handle(request) {
      request.query();
      return handle();
    },
  };
}

function statusOf(status: string): Shape {
  return objectOf({ status: { type: 'string', enum: [status] } });
}

/** `nodesDown` is there only when there are some. */
const READY: Shape = {
  ...statusOf('ready'),
  properties: { status: { type: 'string', enum: ['ready'] }, nodesDown: TEXTS },
};
