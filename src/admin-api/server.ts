// /server: versions, database, processes and settings in force (without secrets), for the operator; and /openapi.json, the
// OpenAPI document of everything that is served outside the data API.
import type { Static } from 'typebox';
import manifest from '../../package.json' with { type: 'json' };
import { Type } from '../schema/type.ts';
import type { Statistics } from '../statistics.ts';
import { loadDatabaseFacts } from '../store/instance.ts';
import { loadProcesses } from '../store/process-registry.ts';
import {
  anyShape,
  arrayShape,
  data,
  formatTime,
  NOTHING,
  nullableShape,
  objectShape,
  respondData,
  Time,
} from './response.ts';
import { type AdminRoute, type AdminServices, routeMaker } from './route.ts';
import { makeStaticDocument } from './tag.ts';

export interface ServerServices {
  readonly server: {
    readonly startedAt: Date;
    /** Whether the server runs the embedded PostgreSQL. */
    readonly isEmbedded: boolean;
    /** `host:port` of the database, without user and password. */
    readonly address: string;
    /** Settings in force, without secrets. */
    readonly settings: readonly { readonly name: string; readonly value: string }[];
    /** Figures of the last hour. */
    readonly statistics: () => Promise<Statistics>;
  };
}

const ServerResponse = objectShape(
  {
    version: Type.String({ description: 'Of the server.' }),
    node: Type.String({ description: 'The version of Node.js.' }),
    startedAt: { ...Time, description: 'When the process began that answers. ISO 8601 in UTC.' },
    database: objectShape(
      {
        version: Type.String({ description: 'Of PostgreSQL.' }),
        embedded: Type.Boolean({ description: 'Whether it is the one that comes with the server.' }),
        address: Type.String({ description: 'host:port of each server; a socket has its folder for a host.' }),
        name: Type.String(),
        bytes: Type.Number({ minimum: 0, description: 'Its size on disk.' }),
      },
      { title: 'ServerDatabase' },
    ),
    processes: arrayShape(
      objectShape(
        { place: Type.String({ description: 'Host and process id.' }), startedAt: Time },
        { title: 'ServerProcess', description: 'A process that answers requests of this database.' },
      ),
    ),
    settings: arrayShape(
      objectShape(
        { name: Type.String(), value: Type.String({ description: 'Of a secret, `set` or `not set`.' }) },
        { title: 'ServerSetting' },
      ),
    ),
  },
  { title: 'Server' },
);

const Count = Type.Integer({ minimum: 0 });
const Milliseconds = nullableShape(Type.Number({ minimum: 0 }));
// Workspaces with a line of their own.
const MAX_WORKSPACES = 10;

const StatisticsResponse = objectShape(
  {
    samples: arrayShape(
      objectShape(
        {
          at: {
            ...Time,
            description: 'End of the sample, which begins with the one before: 15 seconds, less for the last.',
          },
          requests: Count,
          errors: { ...Count, description: 'Requests that were answered with 500 or above.' },
          p50Ms: Milliseconds,
          p99Ms: Milliseconds,
          connections: { ...Count, description: 'Connections to the database.' },
          waiting: { ...Count, description: 'Requests of the server that wait for a connection.' },
          bytes: nullableShape(
            Type.Number({ minimum: 0, description: 'Size of the database, measured every minute.' }),
          ),
        },
        { title: 'ServerSample', description: 'Latencies are null without requests.' },
      ),
    ),
    workspaces: arrayShape(
      objectShape(
        {
          workspace: Type.String({ description: '`organization/slug`, or `other` for those after the first 100.' }),
          requests: Count,
          samples: { ...arrayShape(Count), description: 'Requests in each of the samples.' },
        },
        { title: 'ServerWorkspace', description: 'The ten with the most requests.' },
      ),
    ),
    slowRequests: arrayShape(
      objectShape(
        {
          at: Time,
          id: Type.String({ description: 'As in the log and in `X-Request-Id`.' }),
          method: Type.String(),
          path: Type.String({ description: 'Without the query; the first 300 characters.' }),
          operation: Type.String({ description: 'As in the metrics.' }),
          status: Type.Integer(),
          milliseconds: Type.Number({ minimum: 0 }),
        },
        { title: 'SlowRequest', description: 'The 20 slowest of 200 ms and more, slowest first.' },
      ),
    ),
  },
  { title: 'ServerStatistics' },
);

export function serverRoutes(services: AdminServices & ServerServices): AdminRoute[] {
  const route = routeMaker(services);
  return [
    route({
      id: 'server.read',
      method: 'GET',
      path: '/server',
      access: 'operator',
      summary: 'What runs: versions, database, processes, and the settings in force without secrets',
      description:
        '`settings` are those of the process that answers, given or by default, and `processes` those that the others know, at most 1,000: one that was killed stays until the next change of a workspace.',
      errors: {},
      responses: { 200: data(ServerResponse) },
      handle: async () => respondData(await toResponse(services)),
    }),
    route({
      id: 'server.statistics',
      method: 'GET',
      path: '/server/statistics',
      access: 'operator',
      summary:
        'Requests, errors, latency, connections and size of the last hour, by workspace, with the slowest requests',
      description:
        'Of all processes of the machine that answers, since their start; kept in memory alone. `/metrics` has the same for a longer time.',
      errors: {},
      responses: { 200: data(StatisticsResponse) },
      handle: async () => respondData(toStatisticsResponse(await services.server.statistics())),
    }),
  ];
}

async function toResponse({
  databases: { directory },
  server,
}: AdminServices & ServerServices): Promise<Static<typeof ServerResponse>> {
  const [database, processes] = await Promise.all([loadDatabaseFacts(directory), loadProcesses(directory)]);
  const { version, name, bytes } = database;
  return {
    version: manifest.version,
    node: process.versions.node,
    startedAt: formatTime(server.startedAt),
    database: { version, embedded: server.isEmbedded, address: server.address, name, bytes },
    processes: processes.map(({ place, startedAt }) => ({ place, startedAt: formatTime(startedAt) })),
    settings: server.settings,
  };
}

function toStatisticsResponse({ samples, slowRequests }: Statistics): Static<typeof StatisticsResponse> {
  const names = new Set(samples.flatMap(({ workspaces }) => Object.keys(workspaces)));
  const series = [...names].map((workspace) => {
    const counts = samples.map(({ workspaces }) => workspaces[workspace] ?? 0);
    return { workspace, requests: counts.reduce((sum, count) => sum + count, 0), samples: counts };
  });
  return {
    samples: samples.map(({ workspaces, at, ...sample }) => ({ at: formatTime(new Date(at)), ...sample })),
    workspaces: series.sort((one, other) => other.requests - one.requests).slice(0, MAX_WORKSPACES),
    slowRequests: slowRequests.map(({ at, milliseconds, ...request }) => ({
      at: formatTime(new Date(at)),
      ...request,
      milliseconds: Math.round(milliseconds),
    })),
  };
}

export interface DocumentServices {
  /** Builds the document; called once, at the first request. */
  readonly adminDocument: () => unknown;
}

export function documentRoutes(services: AdminServices & DocumentServices): AdminRoute[] {
  const document = makeStaticDocument(() => services.adminDocument());
  const route = routeMaker(services);
  return [
    route({
      id: 'server.describe',
      method: 'GET',
      path: '/openapi.json',
      // Same for every client, without data of a workspace.
      access: 'anyone',
      summary: 'This description as an OpenAPI document',
      description: 'OpenAPI 3.1. Everything that is served outside the data API.',
      errors: {},
      responses: { 200: anyShape('An OpenAPI document.'), 304: NOTHING },
      handle: async ({ ifNoneMatch }) => document.respondTo(ifNoneMatch),
    }),
  ];
}
