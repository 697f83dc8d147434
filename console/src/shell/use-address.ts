// The state of a screen in the address bar.
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import type { Search } from '../address.ts';
import type { WorkspaceRef } from '../api/workspace.ts';

/** The workspace of the address. */
export const usePlace = (): WorkspaceRef => useParams({ strict: false }) as unknown as WorkspaceRef;

/** One parameter of the address bar, and how to set some; undefined takes one away. A tab is a step to go back from. */
export function useAddress(): readonly [
  (name: string) => string | undefined,
  (change: Search, replace?: boolean) => void,
] {
  const search = useSearch({ strict: false }) as Search;
  const navigate = useNavigate();
  const read = (name: string): string | undefined => {
    const value = Object.hasOwn(search, name) ? search[name] : undefined;
    return typeof value === 'string' ? value : value?.[0];
  };
  const write = (change: Search, replace = true): void =>
    void navigate({ to: '.', search: { ...search, ...change } as never, replace, resetScroll: false });
  return [read, write];
}
