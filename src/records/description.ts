// What a workspace says of itself: an index of its entities for people and agents. Everything is said as the sender of the request
// may use it.
import { classOf, viewOf } from '../openapi/view.ts';
import { parseParameters } from '../request/parameters.ts';
import { json, type Reply } from '../response/reply.ts';
import type { Visitor } from './enter.ts';

/** 200 with the entities and their operations; 400 for a query parameter. */
export function describeWorkspace(query: string, { workspace, principal }: Visitor): Reply {
  parseParameters(query, []);
  const entities = viewOf(workspace, classOf(principal)).map(({ entity, operations }) => ({
    name: entity.name,
    description: entity.description ?? null,
    operations,
  }));
  return json(200, { data: { organization: workspace.organization, workspace: workspace.slug, entities } });
}
