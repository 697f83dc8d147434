// Limits of workspaces and organizations as members of bodies, and /organizations/{org}/workspaces/{ws}/usage.
import { type LimitName, MAX_LIMIT, type StoredLimits } from '../model/limits.ts';
import type { Workspace } from '../model/workspace.ts';
import { Type } from '../schema/type.ts';
import { loadUsageDays, type Usage } from '../store/usage.ts';
import { requireValue, workspaceDeleted } from './access.ts';
import { arrayShape, data, nullableShape, objectShape, respondData } from './response.ts';
import { type AdminRoute, type AdminServices, routeMaker, WORKSPACE } from './route.ts';

export interface UsageServices {
  readonly usage: {
    readonly measure: (workspace: Workspace) => Promise<Usage>;
    readonly findWorkspace: (organization: string, slug: string) => Promise<Workspace | undefined>;
  };
}

const Limit = nullableShape(Type.Integer({ minimum: 0, maximum: MAX_LIMIT }));
const makeMembers = <T>(value: T): Record<LimitName, T> => ({
  maxRecords: value,
  maxBytes: value,
  maxRequestsPerMinute: value,
});

/** Shape of a change of limits: what is left out keeps its value. */
export const LimitChangeShape = objectShape(makeMembers(Type.Optional(Limit)), {
  title: 'LimitChange',
  description:
    'Limits of the records and bytes that a workspace has, and of its requests each minute. Those that are left out keep their values; null: that of the organization, and for an organization none.',
});

/** Shape of the limits of a workspace or an organization itself. */
export const StoredLimitsShape = objectShape(makeMembers(Type.Optional(Type.Integer({ minimum: 0 }))), {
  title: 'OwnLimits',
  description: 'Limits that it has itself, if any.',
});

/** Shape of limits in force; null: none. */
export const LimitsShape = objectShape(makeMembers(Limit), {
  title: 'Limits',
  description: 'Limits in force; null: none.',
});

const UsageShape = objectShape(
  {
    records: Type.Number({ minimum: 0 }),
    bytes: Type.Number({ minimum: 0 }),
    requests: Type.Number({ minimum: 0 }),
    limits: LimitsShape,
    days: arrayShape(
      objectShape(
        {
          date: Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\d$' }),
          requests: Type.Number({ minimum: 0 }),
          records: nullableShape(Type.Number({ minimum: 0 })),
          bytes: nullableShape(Type.Number({ minimum: 0 })),
        },
        { title: 'UsageDay' },
      ),
    ),
  },
  {
    title: 'Usage',
    description:
      'Records and bytes (tables and indexes on disk) now, requests to the data API today (UTC), the limits in force, and the days on which it was used, the oldest first.',
  },
);

export function usageRoutes(services: AdminServices & UsageServices): AdminRoute[] {
  const { databases, usage } = services;
  const route = routeMaker(services);
  return [
    route({
      id: 'workspaces.usage',
      method: 'GET',
      path: `${WORKSPACE}/usage`,
      access: 'workspace',
      summary: 'What a workspace uses of its limits',
      description:
        'At most a few seconds old. Records of tables with more than 10,000 are an estimate of the database until their totals are kept, which begins with the first measurement.',
      errors: {},
      responses: { 200: data(UsageShape) },
      async handle({ workspace: { id, organization, slug } }) {
        const workspace = await requireValue(usage.findWorkspace(organization, slug), workspaceDeleted);
        const { records, bytes } = await usage.measure(workspace);
        const stored = await loadUsageDays(databases.forWorkspace({ id }), id);
        const today = new Date().toISOString().slice(0, 10);
        const requests = stored.find(({ date }) => date === today)?.requests ?? 0;
        const days = [...stored.filter(({ date }) => date !== today), { date: today, requests, records, bytes }];
        return respondData({ records, bytes, requests, limits: workspace.limits, days });
      },
    }),
  ];
}

/** Returns the member of a workspace or an organization, which is left out where it has no limits of its own. */
export const showLimits = (limits: StoredLimits): { readonly limits?: StoredLimits } =>
  Object.keys(limits).length === 0 ? {} : { limits };
