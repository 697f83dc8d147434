// Banner: the current place, the session, and alerts for the whole page.

import { ActionIcon, Anchor, Badge, Group, Menu, Text, useMantineColorScheme } from '@mantine/core';
import { Link, useNavigate } from '@tanstack/react-router';
import { queryClient } from '../api/query-client.ts';
import { getPermissions, ownsOrganization, signOut } from '../api/session.ts';
import type { Session } from '../api/types.ts';
import { setViewAs } from '../api/view-as.ts';
import type { WorkspaceRef } from '../api/workspace.ts';
import { Icon } from './icon.tsx';
import { TimeZoneSwitch } from './time-zone.tsx';
import { ViewAsButton } from './view-as.tsx';

export function Banner({
  session,
  workspace,
}: {
  readonly session: Session;
  readonly workspace: WorkspaceRef | undefined;
}) {
  const { setColorScheme } = useMantineColorScheme();
  const navigate = useNavigate();
  const permissions = workspace === undefined ? session.permissions : getPermissions(session, workspace);
  const hasList = session.workspaces.length > 1 || (session.organizations ?? []).length > 0;
  async function leave(): Promise<void> {
    await signOut();
    setViewAs(undefined);
    queryClient.clear();
    await navigate({ to: '/login', replace: true });
  }
  return (
    <Group justify="space-between" flex={1} miw={0} wrap="nowrap" gap="sm">
      <Group gap="xs" wrap="nowrap" miw={0}>
        {session.kind === 'operator' || hasList ? (
          // On a narrow screen the names of the current place are more important; the organization's links up, too.
          <Anchor
            component={Link}
            to="/"
            fw={600}
            size="sm"
            truncate
            miw={0}
            {...(workspace === undefined ? {} : { visibleFrom: 'sm' })}
          >
            {session.kind === 'operator' ? 'Organizations' : 'Workspaces'}
          </Anchor>
        ) : (
          <Text fw={600} size="sm">
            Console
          </Text>
        )}
        {workspace !== undefined && (
          <Text size="sm" truncate miw={0}>
            /{' '}
            {ownsOrganization(session, workspace.org) ? (
              <Anchor component={Link} to={`/${workspace.org}`} size="sm">
                <bdi>{workspace.org}</bdi>
              </Anchor>
            ) : (
              <bdi>{workspace.org}</bdi>
            )}{' '}
            / <bdi>{workspace.ws}</bdi>
          </Text>
        )}
        {permissions === 'READ_ONLY' && <Badge color="gray">Read only</Badge>}
      </Group>
      <Group gap="xs" wrap="nowrap">
        {workspace !== undefined && <ViewAsButton workspace={workspace} />}
        <TimeZoneSwitch />
        <Menu position="bottom-end" withinPortal>
          <Menu.Target>
            <ActionIcon aria-label="Account" color="gray">
              <Icon name="user" />
            </ActionIcon>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Label>
              <bdi>{session.name}</bdi>
              {permissions === null || permissions === 'OWNER' ? '' : ` · ${permissions}`}
            </Menu.Label>
            <Menu.Item onClick={() => setColorScheme('light')}>Light</Menu.Item>
            <Menu.Item onClick={() => setColorScheme('dark')}>Dark</Menu.Item>
            <Menu.Item onClick={() => setColorScheme('auto')}>System default</Menu.Item>
            <Menu.Divider />
            {session.kind === 'operator' && (
              <Menu.Item component={Link} to="/server">
                Server
              </Menu.Item>
            )}
            <Menu.Item onClick={() => void leave()}>Sign out</Menu.Item>
          </Menu.Dropdown>
        </Menu>
      </Group>
    </Group>
  );
}
