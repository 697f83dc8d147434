// /mcp: settings of agents in a workspace.
import type { Static } from 'typebox';
import type { AgentSettings } from '../model/agent-settings.ts';
import { Type } from '../schema/type.ts';
import { loadEntityIds } from '../store/documents.ts';
import { loadAgentSettings, putAgentSettings } from '../store/workspaces.ts';
import { workspaceDeleted } from './access.ts';
import { refinedBody } from './body.ts';
import { data, enumShape, objectShape, respondData } from './response.ts';
import { type AdminRoute, type AdminServices, routeMaker, WORKSPACE } from './route.ts';
import { EntityNames, findEntityIds, ReachedNames, resolveEntityIds } from './scopes.ts';

const Writes = enumShape('off', 'confirm', 'on');
const Change = objectShape(
  {
    enabled: Type.Optional(Type.Boolean({ description: 'Whether agents may use the workspace.' })),
    writes: Type.Optional(Writes),
    entities: Type.Optional(EntityNames),
  },
  {
    title: 'AgentSettingsChange',
    description: 'Members that are left out keep their values. `confirm`: a write waits until a person confirms it.',
  },
);
const AgentSettingsResponse = objectShape(
  { enabled: Type.Boolean(), writes: Writes, entities: ReachedNames },
  { title: 'AgentSettings' },
);

export function agentRoutes(services: AdminServices): AdminRoute[] {
  const { databases } = services;
  const { directory } = databases;
  const route = routeMaker(services);

  async function toResponse(
    workspaceId: string,
    { enabled, writes, entities }: AgentSettings,
  ): Promise<Static<typeof AgentSettingsResponse>> {
    if (entities === null) return { enabled, writes, entities };
    const ids = await loadEntityIds(databases.forWorkspace({ id: workspaceId }), workspaceId);
    return {
      enabled,
      writes,
      entities: [...ids].flatMap(([name, id]) => (entities.includes(id) ? [name] : [])).sort(),
    };
  }

  return [
    route({
      id: 'mcp.read',
      method: 'GET',
      path: `${WORKSPACE}/mcp`,
      access: 'workspace',
      summary: 'What agents may do in a workspace',
      description: 'The defaults where nothing was set: agents may read every entity that their credential reaches.',
      errors: {},
      responses: { 200: data(AgentSettingsResponse) },
      handle: async ({ workspace: { id } }) =>
        respondData(await toResponse(id, await loadAgentSettings(directory, id))),
    }),
    route({
      id: 'mcp.replace',
      method: 'PUT',
      path: `${WORKSPACE}/mcp`,
      access: 'workspace',
      changes: 'workspace',
      activity: 'written',
      summary: 'Changes what agents may do in a workspace',
      description: 'It is in force in every process when it is answered.',
      errors: {},
      find: findEntityIds(databases),
      body: refinedBody(Change, ({ entities, ...members }, report, _, ids: ReadonlyMap<string, string>) => ({
        ...members,
        ...(entities === undefined
          ? {}
          : { entities: entities === null ? null : resolveEntityIds(entities, report, ids) }),
      })),
      example: { writes: 'confirm', entities: ['orders'] },
      responses: { 200: data(AgentSettingsResponse) },
      async handle({ workspace: { id }, body: change, audit }) {
        const settings: AgentSettings = { ...(await loadAgentSettings(directory, id)), ...change };
        const response = await toResponse(id, settings);
        await audit.change(
          async (session) => {
            if (!(await putAgentSettings(session, id, settings))) throw workspaceDeleted();
          },
          () => ({ subject: 'mcp', details: response }),
        );
        return respondData(response);
      },
    }),
  ];
}
