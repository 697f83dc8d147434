// Destinations in a workspace by permissions. Pure: the navigation and the palette list the same.
import type { EntityDocument } from '../api/schema.ts';
import { screenPath, type WorkspaceRef } from '../api/workspace.ts';

export interface Destination {
  readonly label: string;
  readonly to: string;
  /** Address below which the link is marked as current. */
  readonly activePath: string;
  readonly icon: 'schema' | 'arrows' | 'key' | 'send' | 'code' | 'clock' | 'gear';
}

/** Lists the destinations. `entity`: the first of the workspace, whose API page is opened. */
export function listDestinations(
  workspace: WorkspaceRef,
  isAdministrator: boolean,
  entity: string | undefined,
): readonly Destination[] {
  const way = (icon: Destination['icon'], label: string, rest: string, below = rest): Destination => ({
    icon,
    label,
    to: screenPath(workspace, rest),
    activePath: screenPath(workspace, below),
  });
  return [
    ...(isAdministrator
      ? [
          way('schema', 'Schema', '/schema'),
          way('arrows', 'Migrations', '/migrations'),
          way('key', 'Access', '/access/keys', '/access'),
          way('send', 'Webhooks', '/webhooks'),
        ]
      : []),
    ...(entity === undefined ? [] : [way('code', 'API', `/api/${entity}`, '/api')]),
    ...(isAdministrator ? [way('clock', 'Activity', '/activity'), way('gear', 'Settings', '/settings')] : []),
  ];
}

export interface Rights {
  readonly mayWrite: boolean;
  readonly mayAdminister: boolean;
}

export interface Action {
  readonly label: string;
  readonly to: string;
}

/** Lists the actions that are possible from anywhere in a workspace. */
export function listActions(
  workspace: WorkspaceRef,
  { mayWrite, mayAdminister }: Rights,
  entities: Iterable<Pick<EntityDocument, 'name' | 'operations'>>,
): readonly Action[] {
  const writable = mayWrite ? [...entities].filter(({ operations }) => operations.includes('create')) : [];
  return [
    ...writable.flatMap(({ name }) => [
      { label: `New record of ${name}`, to: screenPath(workspace, `/data/${name}/new`) },
      { label: `Import into ${name}`, to: screenPath(workspace, `/data/${name}/import`) },
    ]),
    ...(mayAdminister ? [{ label: 'Import a file as a new entity', to: screenPath(workspace, '/import') }] : []),
  ];
}
