// Layout of the access screens: tabs, each a screen with its own address.
import { Group } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { screenPath, type WorkspaceRef } from '../api/workspace.ts';
import { CopyAs } from '../shell/copy-as.tsx';
import { ScreenFrame } from '../shell/screen-frame.tsx';
import { useCurrentWorkspace } from '../shell/use-address.ts';
import { createAdminCall } from '../snippets/admin.ts';
import classes from './access.module.css';

const TABS = [
  { to: '/access/keys', label: 'API keys' },
  { to: '/access/clients', label: 'OAuth clients' },
  { to: '/access/members', label: 'Members' },
  { to: '/access/provider', label: 'Identity provider' },
  { to: '/access/rules', label: 'Row rules' },
  { to: '/access/grants', label: 'Roles and grants' },
] as const;

/** `wda` commands that print the same as the screen shows. */
const COMMANDS = {
  'api-keys': 'key list',
  'oauth-clients': 'client list',
  members: 'members list',
  'identity-provider': 'idp show',
  schema: 'schema show',
  'access/report': 'access report',
} as const;

export interface AccessLayoutProps {
  readonly title: string;
  /** Path below the workspace in the admin API. */
  readonly noun: string;
  /** Command that prints the same; that of the path by default. */
  readonly wda?: string;
  readonly actions?: ReactNode;
  readonly children: (workspace: WorkspaceRef) => ReactNode;
}

export function AccessLayout({
  title,
  noun,
  wda = COMMANDS[noun as keyof typeof COMMANDS],
  actions,
  children,
}: AccessLayoutProps) {
  const workspace = useCurrentWorkspace();
  if (workspace === undefined) return null;
  return (
    <ScreenFrame
      title={title}
      actions={
        <>
          <CopyAs call={() => createAdminCall({ origin: location.origin, ...workspace }, { rest: `/${noun}`, wda })} />
          {actions}
        </>
      }
    >
      <Group component="nav" aria-label="Access" gap={0} mb="md" className={classes.tabs ?? ''}>
        {TABS.map(({ to, label }) => (
          <Link
            key={to}
            to={screenPath(workspace, to)}
            className={classes.tab ?? ''}
            activeProps={{ 'aria-current': 'page' }}
          >
            {label}
          </Link>
        ))}
      </Group>
      {children(workspace)}
    </ScreenFrame>
  );
}
