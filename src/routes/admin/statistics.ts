// /statistics: how many records the entities of a workspace have, and how much room they take.

import { loadStatistics } from '../../catalog/statistics.ts';
import { Type } from '../../document/type.ts';
import { closed, data, listOf, single } from './answer.ts';
import { type AdminRooms, type AdminRoute, routeMaker, WORKSPACE } from './route.ts';

const SIZE = {
  records: Type.Number({ minimum: 0 }),
  exact: Type.Boolean({ description: 'false: `records` is an estimate of the database.' }),
  tableBytes: Type.Number({ minimum: 0 }),
  indexBytes: Type.Number({ minimum: 0 }),
};
const Shown = closed({ entity: Type.String(), ...SIZE }, { title: 'EntityStatistics' });

/** Of a workspace in a list. */
export const WorkspaceStatisticsShape = closed(
  { entities: Type.Number({ minimum: 0 }), ...SIZE },
  { title: 'WorkspaceStatistics' },
);

export function statisticsRoutes(rooms: AdminRooms): AdminRoute[] {
  const { databases } = rooms;
  const route = routeMaker(rooms);
  return [
    route({
      id: 'workspaces.statistics',
      method: 'GET',
      path: `${WORKSPACE}/statistics`,
      may: 'workspace',
      summary: 'How many records each entity has, and how much room they take',
      description:
        'One entry for each entity, in the order of the document. Nothing is counted for it: the number is exact where lists have made it one that is kept, and of an empty table.',
      refuses: {},
      answers: { 200: data(listOf(Shown)) },
      handle: async ({ workspace }) =>
        single(await loadStatistics(databases.of(workspace), workspace.id, databases.topology)),
    }),
  ];
}
