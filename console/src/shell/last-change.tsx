// Last change through the admin API, with a link to all of them.
import { Anchor, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { lastActivityQuery } from '../api/activity.ts';
import { describeActivity } from '../api/activity-words.ts';
import { screenPath, type WorkspaceRef } from '../api/workspace.ts';
import { DateTime } from './datetime.tsx';

/** Shows the last change in one workspace, or in all if there is none. */
export function LastChange({ workspace }: { readonly workspace?: WorkspaceRef }) {
  const { data } = useQuery(lastActivityQuery(workspace));
  if (data === undefined || data === null) return null;
  const scope = workspace === undefined ? [data.organization, data.workspace].filter(Boolean).join('/') : '';
  const [to, search] =
    workspace === undefined ? ['/server', { tab: 'activity' }] : [screenPath(workspace, '/activity'), {}];
  return (
    <Text size="sm" c="dimmed" mb={workspace === undefined ? 'sm' : 0}>
      Last change:{' '}
      <Anchor component={Link} to={to} search={search as never} size="sm" underline="always">
        <bdi>{data.actor.name ?? data.actor.kind}</bdi> <bdi>{describeActivity(data)}</bdi>
      </Anchor>
      {scope === '' ? '' : ` in ${scope}`}, <DateTime instant={data.at} />
    </Text>
  );
}
