// Banner: the current place, the session, and alerts for the whole page.

import { ActionIcon, Anchor, Badge, Group, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { lazy, type RefObject, Suspense, useState } from 'react';
import { getPermissions, ownsOrganization } from '../api/session.ts';
import type { Session } from '../api/types.ts';
import type { WorkspaceRef } from '../api/workspace.ts';
import { Icon } from './icon.tsx';
import { trackLoading } from './new-build.ts';
import { TimeZoneSwitch } from './time-zone.tsx';
import { ViewAsButton } from './view-as.tsx';

const AccountMenu = lazy(() => trackLoading(import('./account-menu.tsx')));

export function Banner({
  session,
  workspace,
}: {
  readonly session: Session;
  readonly workspace: WorkspaceRef | undefined;
}) {
  const permissions = workspace === undefined ? session.permissions : getPermissions(session, workspace);
  const hasList = session.workspaces.length > 1 || (session.organizations ?? []).length > 0;
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
        <Account session={session} permissions={permissions} />
      </Group>
    </Group>
  );
}

interface AccountProps {
  readonly session: Session;
  readonly permissions: ReturnType<typeof getPermissions>;
}

function Account({ session, permissions }: AccountProps) {
  const [isUsed, setUsed] = useState(false);
  const target = (ref?: RefObject<HTMLButtonElement | null>) => (
    <ActionIcon
      aria-label="Account"
      color="gray"
      {...(ref === undefined ? { 'aria-haspopup': 'menu', onClick: () => setUsed(true) } : { ref })}
    >
      <Icon name="user" />
    </ActionIcon>
  );
  if (!isUsed) return target();
  return (
    <Suspense fallback={target()}>
      <AccountMenu session={session} permissions={permissions} target={target} />
    </Suspense>
  );
}
