// Layout around every screen: banner, navigation of the workspace, main, and the live region.
import { Burger, Group } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { Outlet, useNavigate, useParams } from '@tanstack/react-router';
import { useEffect } from 'react';
import { isApiError } from '../api/api-error.ts';
import { stringifyExact } from '../api/json.ts';
import { sessionQuery } from '../api/session.ts';
import { useViewAsAnywhere } from '../api/view-as.ts';
import { Banner } from './banner.tsx';
import { ConnectionBanner } from './connection.tsx';
import { ErrorAlert } from './error-alert.tsx';
import classes from './layout.module.css';
import { LiveRegion } from './live-region.tsx';
import { MigrationBanner } from './migration-banner.tsx';
import { Navigation } from './navigation.tsx';
import { PageDialogs } from './page-dialogs.tsx';
import { ViewAsLine } from './view-as.tsx';

export function Layout() {
  const [isOpen, { toggle, close }] = useDisclosure(false);
  const { org, ws } = useParams({ strict: false }) as { readonly org?: string; readonly ws?: string };
  const workspace = org === undefined || ws === undefined ? undefined : { org, ws };
  const session = useQuery(sessionQuery);
  const navigate = useNavigate();
  const viewAs = useViewAsAnywhere();
  const isSignedOut = session.data === undefined && isApiError(session.error) && session.error.status === 401;
  useEffect(() => {
    if (!isSignedOut) return;
    const here = location.pathname.replace(/^\/console/, '') + location.search;
    void navigate({ href: `/login?to=${encodeURIComponent(here)}`, replace: true });
  }, [isSignedOut, navigate]);
  return (
    <div
      className={[
        classes.page,
        viewAs === undefined ? '' : classes.viewing,
        workspace === undefined ? '' : classes.hasNavigation,
      ].join(' ')}
    >
      <a className="skip-link" href="#content">
        Skip to content
      </a>
      <header className={classes.banner}>
        <Group h={44} px="sm" gap="sm" wrap="nowrap">
          {workspace !== undefined && (
            <Burger opened={isOpen} onClick={toggle} hiddenFrom="sm" size="sm" aria-label="Navigation" />
          )}
          {session.data !== undefined && <Banner session={session.data} workspace={workspace} />}
        </Group>
        <ViewAsLine />
      </header>
      {workspace !== undefined && session.data !== undefined && (
        // biome-ignore lint/a11y/useKeyWithClickEvents: a link that is followed closes it, by keys as well
        <nav aria-label="Workspace" className={`${classes.navigation} ${isOpen ? classes.open : ''}`} onClick={close}>
          <Navigation workspace={workspace} />
        </nav>
      )}
      <main id="content" tabIndex={-1} className={classes.main}>
        <ConnectionBanner />
        {workspace !== undefined && session.data !== undefined && <MigrationBanner workspace={workspace} />}
        {session.data === undefined ? (
          <ErrorAlert error={isSignedOut ? null : session.error} onRetry={() => void session.refetch()} />
        ) : (
          // Another user's records are another screen, so all state is dropped.
          <Outlet key={viewAs === undefined ? '' : stringifyExact(viewAs)} />
        )}
      </main>
      {session.data !== undefined && <PageDialogs session={session.data} workspace={workspace} />}
      <LiveRegion />
    </div>
  );
}
