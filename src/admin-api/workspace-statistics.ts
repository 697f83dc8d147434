// /statistics: how many records a workspace has, and how much disk space they use.
import type { Static } from 'typebox';
import { Type } from '../schema/type.ts';
import type { Databases } from '../store/databases.ts';
import { loadStatistics, loadWorkspaceStatistics } from '../store/statistics.ts';
import type { WorkspaceSummary } from '../store/workspaces.ts';
import { arrayShape, data, objectShape, respondData } from './response.ts';
import { type AdminRoute, type AdminServices, routeMaker, WORKSPACE } from './route.ts';
import { toResponse, WORKSPACE_MEMBERS } from './workspace-response.ts';

const SIZE = {
  records: Type.Number({ minimum: 0 }),
  exact: Type.Boolean({ description: 'false: `records` is an estimate of the database.' }),
  tableBytes: Type.Number({ minimum: 0 }),
  indexBytes: Type.Number({ minimum: 0 }),
};
const EntityStatistics = objectShape({ entity: Type.String(), ...SIZE }, { title: 'EntityStatistics' });
const WorkspaceStatistics = objectShape(
  { entities: Type.Number({ minimum: 0 }), ...SIZE },
  { title: 'WorkspaceStatistics' },
);
export const WorkspaceListResponse = objectShape(
  { ...WORKSPACE_MEMBERS, statistics: Type.Optional(WorkspaceStatistics) },
  {
    title: 'WorkspaceListed',
    description: '`statistics`: only when asked for, and while the node of a cluster that has the workspace answers.',
  },
);

export function statisticsRoutes(services: AdminServices): AdminRoute[] {
  const { databases } = services;
  const route = routeMaker(services);
  return [
    route({
      id: 'workspaces.statistics',
      method: 'GET',
      path: `${WORKSPACE}/statistics`,
      access: 'workspace',
      summary: 'How many records each entity has, and how much disk space they use',
      description:
        'One entry for each entity, in the order of the document. Nothing is counted for it: the number is exact where lists have made it one that is kept, and of an empty table.',
      errors: {},
      responses: { 200: data(arrayShape(EntityStatistics)) },
      handle: async ({ workspace }) =>
        respondData(await loadStatistics(databases.forWorkspace(workspace), workspace.id, databases.topology)),
    }),
  ];
}

/** Loads the statistics of workspaces, with one statement per database; returns a function that adds them. */
export async function showMeasured(
  databases: Databases,
  tenant: string,
  workspaces: readonly WorkspaceSummary[],
): Promise<(workspace: WorkspaceSummary) => Static<typeof WorkspaceListResponse>> {
  const statisticsMaps = await Promise.all(
    [...Map.groupBy(workspaces, (workspace) => databases.forWorkspace(workspace))].map(([database, group]) =>
      loadWorkspaceStatistics(
        database,
        group.map(({ id }) => id),
        `organization ${tenant}`,
        databases.topology,
      ),
    ),
  );
  const sizes = new Map(statisticsMaps.flatMap((entries) => [...entries]));
  return (workspace) => {
    const statistics = sizes.get(workspace.id);
    return { ...toResponse(workspace), ...(statistics === undefined ? {} : { statistics }) };
  };
}
