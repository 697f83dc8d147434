// Menu of the account: who has signed in, the colour scheme, and the way out.
import { Menu, useMantineColorScheme } from '@mantine/core';
import { Link, useNavigate } from '@tanstack/react-router';
import type { ReactElement, RefObject } from 'react';
import { queryClient } from '../api/query-client.ts';
import { type getPermissions, signOut } from '../api/session.ts';
import type { Session } from '../api/types.ts';
import { setViewAs } from '../api/view-as.ts';
import { OpenedMenu } from './opened-menu.tsx';

export interface AccountMenuProps {
  readonly session: Session;
  /** Permissions in the current workspace. */
  readonly permissions: ReturnType<typeof getPermissions>;
  readonly target: (ref: RefObject<HTMLButtonElement | null>) => ReactElement;
}

export default function AccountMenu({ session, permissions, target }: AccountMenuProps) {
  const { setColorScheme } = useMantineColorScheme();
  const navigate = useNavigate();
  async function leave(): Promise<void> {
    await signOut();
    setViewAs(undefined);
    queryClient.clear();
    await navigate({ to: '/login', replace: true });
  }
  return (
    <OpenedMenu target={target}>
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
    </OpenedMenu>
  );
}
