// Begins and ends viewing as a user.
import { useLocation, useNavigate } from '@tanstack/react-router';
import { queryClient } from '../api/query-client.ts';
import { describeUser, setViewAs, type ViewAs } from '../api/view-as.ts';
import { screenPath } from '../api/workspace.ts';
import { announce } from './live-region.tsx';

/** Records that were read for somebody else are forgotten; Frame mounts the screen anew. */
export function changeViewAs(next: ViewAs | undefined): void {
  queryClient.removeQueries({ predicate: ({ queryKey: [first] }) => first !== 'session' && first !== 'schema' });
  setViewAs(next);
  announce(next === undefined ? 'You see records as yourself again' : `Viewing as ${describeUser(next.claims)}`);
}

/** Begins to view as a user. From a screen that such a user has not one is taken to the workspace. */
export function useBeginViewAs(): (next: ViewAs) => void {
  const { pathname } = useLocation();
  const navigate = useNavigate();
  return (next) => {
    changeViewAs(next);
    const home = screenPath(next.workspace);
    const rest = pathname.startsWith(home) ? pathname.slice(home.length) : '';
    if (/^\/(?!data|api)./.test(rest)) void navigate({ to: home, ignoreBlocker: true });
  };
}
