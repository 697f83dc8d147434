// Where one can go in a workspace, by what the credential may do. Pure: the navigation and the palette show the same.
import { mayAdminister, type Session } from '../api/session.ts';
import { type Place, screenPath } from '../api/workspace.ts';

export interface Way {
  readonly label: string;
  readonly to: string;
  /** The way is marked as the present one below this address. */
  readonly below: string;
  readonly icon: 'schema' | 'arrows' | 'key' | 'code' | 'clock' | 'gear';
}

/** `entity`: the first of the workspace, whose API page is opened. */
export function waysOf(place: Place, session: Session, entity: string | undefined): readonly Way[] {
  const isAdministrator = mayAdminister(session);
  const way = (icon: Way['icon'], label: string, rest: string, below = rest): Way => ({
    icon,
    label,
    to: screenPath(place, rest),
    below: screenPath(place, below),
  });
  return [
    ...(isAdministrator
      ? [
          way('schema', 'Schema', '/schema'),
          way('arrows', 'Migrations', '/migrations'),
          way('key', 'Access', '/access/keys', '/access'),
        ]
      : []),
    ...(entity === undefined ? [] : [way('code', 'API', `/api/${entity}`, '/api')]),
    ...(isAdministrator ? [way('clock', 'Activity', '/activity'), way('gear', 'Settings', '/settings')] : []),
  ];
}
