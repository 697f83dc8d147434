// Screen of the server for its operator: processes and settings, figures of the last hour, sessions, signing keys, and recent activity.
import { Tabs } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useLocation, useNavigate } from '@tanstack/react-router';
import { getAll, parseSearch } from '../../address.ts';
import { RUNNING } from '../../api/migrations.ts';
import { sessionQuery } from '../../api/session.ts';
import { ActivityList } from '../../shell/activity-list.tsx';
import { CopyReadAs } from '../../shell/copy-as.tsx';
import { RunningMigrations } from '../../shell/running-migrations.tsx';
import { ScreenFrame } from '../../shell/screen-frame.tsx';
import { LastHour, STATISTICS } from './last-hour.tsx';
import { Sessions } from './sessions.tsx';
import { SigningKeys } from './signing-keys.tsx';
import { SystemInfo } from './system.tsx';

/** Request of each tab with its command. Activity has its own, with its filter. */
const READS: Readonly<Record<string, readonly [path: string, wda?: string]>> = {
  server: ['/admin/v1/server', 'server'],
  'last-hour': [STATISTICS],
  sessions: ['/admin/v1/sessions'],
  migrations: [RUNNING],
  'signing-keys': ['/admin/v1/signing-keys', 'signing-key list'],
};

// Without spaces, as they become ids of elements.
const TABS = ['server', 'last-hour', 'sessions', 'migrations', 'signing-keys', 'activity'] as const;

export function Screen() {
  const { data: session } = useQuery(sessionQuery);
  const { searchStr, pathname } = useLocation();
  const navigate = useNavigate();
  const tab = getAll(parseSearch(searchStr), 'tab')[0] ?? TABS[0];
  if (session?.kind !== 'operator')
    return <ScreenFrame title="Server">Only the operator can open this screen.</ScreenFrame>;
  const [path, wda] = READS[tab] ?? [];
  return (
    <ScreenFrame
      title="Server"
      actions={path !== undefined && <CopyReadAs path={path} {...(wda === undefined ? {} : { wda })} />}
    >
      <Tabs
        value={tab}
        onChange={(next) => void navigate({ to: pathname, search: { tab: next ?? undefined } as never })}
      >
        <Tabs.List mb="sm">
          {TABS.map((one) => (
            <Tabs.Tab key={one} value={one}>
              {one.charAt(0).toUpperCase() + one.slice(1).replace('-', ' ')}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="server">
          <SystemInfo />
        </Tabs.Panel>
        <Tabs.Panel value="last-hour">
          <LastHour />
        </Tabs.Panel>
        <Tabs.Panel value="sessions">
          <Sessions />
        </Tabs.Panel>
        <Tabs.Panel value="migrations">
          <RunningMigrations none="No migration is running." />
        </Tabs.Panel>
        <Tabs.Panel value="signing-keys">
          <SigningKeys />
        </Tabs.Panel>
        <Tabs.Panel value="activity">
          <ActivityList />
        </Tabs.Panel>
      </Tabs>
    </ScreenFrame>
  );
}
