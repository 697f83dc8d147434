// A workspace as responses show it.
import type { Static } from 'typebox';
import { MAX_ORIGIN_LENGTH } from '../model/origin.ts';
import { WORKSPACE_STATES, type WorkspaceState } from '../model/workspace.ts';
import { Type } from '../schema/type.ts';
import type { WorkspaceSummary } from '../store/workspaces.ts';
import { FollowsShape, showFollows } from './following.ts';
import { StoredLimitsShape, showLimits } from './limits.ts';
import { Slug } from './names.ts';
import { enumShape, formatTime, Id, objectShape, Time } from './response.ts';

export const CorsOrigins = {
  description:
    'Origins whose pages may use the data API of the workspace, in place of those of the server; [] for none. Left out: those of the server.',
  items: { type: 'string', maxLength: MAX_ORIGIN_LENGTH },
  examples: [['https://app.example.com']],
};
export const State = Type.Unsafe<WorkspaceState>({
  ...enumShape(...WORKSPACE_STATES),
  description:
    'What the data API does: `active` reads and writes, `readOnly` only reads, `suspended` neither. Only the operator may set it.',
});
export const WORKSPACE_MEMBERS = {
  id: Id,
  organization: Slug,
  slug: Slug,
  name: Type.String(),
  createdAt: Time,
  state: State,
  limits: Type.Optional(StoredLimitsShape),
  corsOrigins: Type.Optional(Type.Unsafe<readonly string[]>({ type: 'array', ...CorsOrigins })),
  follows: Type.Optional(FollowsShape),
};
export const WorkspaceResponse = objectShape(WORKSPACE_MEMBERS, { title: 'Workspace' });

export function toResponse(workspace: WorkspaceSummary): Static<typeof WorkspaceResponse> {
  const { id, organization, slug, name, createdAt, state, limits, corsOrigins, follows } = workspace;
  const more = {
    ...showLimits(limits),
    ...(corsOrigins === null ? {} : { corsOrigins }),
    ...(follows === null ? {} : { follows: showFollows(follows) }),
  };
  return { id: Number(id), organization, slug, name, createdAt: formatTime(createdAt), state, ...more };
}
