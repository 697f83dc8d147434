// State of a screen in the address bar.
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useCallback, useRef } from 'react';
import { getAll, type Search } from '../address.ts';
import type { WorkspaceRef } from '../api/workspace.ts';

/** Returns the workspace of the address. */
export const useWorkspace = (): WorkspaceRef => {
  const { org, ws } = useParams({ strict: false }) as unknown as WorkspaceRef;
  return { org, ws };
};

/** Returns the workspace of the address bar, or undefined if the screen is not below one. */
export function useCurrentWorkspace(): WorkspaceRef | undefined {
  const { org, ws } = useParams({ strict: false }) as Partial<WorkspaceRef>;
  return org === undefined || ws === undefined ? undefined : { org, ws };
}

/** Returns the parameters of the address bar, and a setter; undefined removes one. Another tab adds a history entry. */
export function useAddress() {
  const search = useSearch({ strict: false }) as Search;
  const navigate = useNavigate();
  const latest = useRef(search);
  latest.current = search;
  const read = (name: string): string | undefined => getAll(search, name)[0];
  const write = useCallback(
    (change: Search, replace = true) =>
      void navigate({ to: '.', search: { ...latest.current, ...change } as never, replace, resetScroll: false }),
    [navigate],
  );
  return { search, read, write };
}
