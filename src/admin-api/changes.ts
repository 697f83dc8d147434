// /changes: what a workspace keeps of the changes of its records, and who reads them.
import { Type } from '../schema/type.ts';
import { loadChanges } from '../store/changes.ts';
import { arrayShape, data, enumShape, nullableShape, objectShape, respondData } from './response.ts';
import { type AdminRoute, type AdminServices, routeMaker, WORKSPACE } from './route.ts';

export interface ChangeServices {
  readonly changes: {
    /** Days of history where an entity does not configure them. */
    readonly historyDays: number;
    /** Returns the number of streams of a workspace in this process. */
    readonly countStreams: (workspaceId: string) => number;
  };
}

const Time = Type.String({ format: 'date-time' });
const Entity = objectShape(
  {
    entity: Type.String(),
    changes: enumShape('feed', 'history'),
    since: Type.String({ format: 'date-time', description: 'From this time on every change is there.' }),
    historyDays: nullableShape(Type.Integer({ description: 'Days for which history is kept.' })),
  },
  { title: 'ChangedEntity' },
);
const ChangesResponse = objectShape(
  {
    entities: arrayShape(Entity),
    oldest: nullableShape(Time),
    bytes: Type.Integer({ description: 'Bytes on disk of all changes, with those of history.' }),
    unnumbered: Type.Integer({ description: 'Changes that are committed and that no reader sees yet, up to 10,000.' }),
    lagSeconds: Type.Number({ description: 'Age of the oldest of them.' }),
    streams: Type.Integer({ description: 'Open streams of the process that answers.' }),
    webhooks: Type.Integer(),
  },
  { title: 'Changes', description: 'Changes of records that the workspace keeps.' },
);

export function changeRoutes(services: AdminServices & ChangeServices): AdminRoute[] {
  const { databases, changes } = services;
  const route = routeMaker(services);
  return [
    route({
      id: 'changes.read',
      method: 'GET',
      path: `${WORKSPACE}/changes`,
      access: 'workspace',
      summary: 'What is kept of the changes of records',
      description:
        'The entities that keep changes, the time of the oldest change that feeds have, or null, and how much there is. A change has its place in the order when it is read, or within a minute: until then it is unnumbered.',
      errors: {},
      responses: { 200: data(ChangesResponse) },
      async handle({ workspace }) {
        const { entities, oldest, ...figures } = await loadChanges(
          databases.forWorkspace(workspace),
          workspace.id,
          changes.historyDays,
        );
        return respondData({
          entities: entities.map(({ since, ...entity }) => ({ ...entity, since: since.toISOString() })),
          oldest: oldest?.toISOString() ?? null,
          ...figures,
          streams: changes.countStreams(workspace.id),
        });
      },
    }),
  ];
}
