// Screens of a workspace that only owners have: schema, migrations, access, activity, settings. A user of the identity
// provider has none of them, so they are not found while "View as" is active.
import { Anchor, Text } from '@mantine/core';
import { Link, Outlet } from '@tanstack/react-router';
import { screenPath } from '../api/workspace.ts';
import { useIsOwner, useViewAs } from './permissions.ts';
import { ScreenFrame } from './screen-frame.tsx';
import { useCurrentWorkspace } from './use-address.ts';

export function OwnerOnly() {
  const workspace = useCurrentWorkspace();
  const isOwner = useIsOwner();
  const isViewing = useViewAs() !== undefined;
  if (workspace === undefined) return null;
  if (isOwner && !isViewing) return <Outlet />;
  return (
    <ScreenFrame title="For administrators">
      <Text size="sm">
        {isOwner
          ? 'The user you view as cannot open this screen. Choose "Leave" first.'
          : 'This needs owner permissions.'}{' '}
        <Anchor component={Link} to={screenPath(workspace)} size="sm">
          Back to the workspace
        </Anchor>
      </Text>
    </ScreenFrame>
  );
}
