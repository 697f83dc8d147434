// The last change by way of the admin API in words, with the way to all of them.
import { Anchor, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { lastActivityQuery } from '../api/activity.ts';
import { screenPath, type WorkspaceRef } from '../api/workspace.ts';
import { DateTime } from './datetime.tsx';

/** Of a workspace, or, without a place, of everything. Nothing while there is none. */
export function LastChange({ place }: { readonly place?: WorkspaceRef }) {
  const { data } = useQuery(lastActivityQuery(place));
  if (data === undefined || data === null) return null;
  const { at, actor, action, organization, workspace } = data;
  const where = place === undefined ? [organization, workspace].filter((one) => one !== null).join('/') : '';
  const [to, search] = place === undefined ? ['/server', { tab: 'activity' }] : [screenPath(place, '/activity'), {}];
  return (
    <Text size="sm" c="dimmed" mb={place === undefined ? 'sm' : 0}>
      Last change:{' '}
      <Anchor component={Link} to={to} search={search as never} size="sm" underline="always">
        {action}
      </Anchor>
      {where === '' ? '' : ` in ${where}`} by <bdi>{actor.name ?? actor.kind}</bdi>, <DateTime instant={at} />
    </Text>
  );
}
