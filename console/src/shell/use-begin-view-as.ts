// Start and end of "View as".
import { useLocation, useNavigate } from '@tanstack/react-router';
import { queryClient } from '../api/query-client.ts';
import { describeUser, setViewAs, type ViewAs } from '../api/view-as.ts';
import { screenPath } from '../api/workspace.ts';
import { announce } from './live-region.tsx';

/** Drops the cached schema and records of another user; Frame mounts the screen again. */
export function changeViewAs(next: ViewAs | undefined): void {
  queryClient.removeQueries({ predicate: ({ queryKey: [first] }) => first !== 'session' });
  setViewAs(next);
  announce(next === undefined ? 'You see records as yourself again' : `Viewing as ${describeUser(next)}`);
}

/** Starts viewing as a user, and goes to the workspace from a screen that such a user does not have. */
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
