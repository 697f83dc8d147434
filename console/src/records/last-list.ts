// Filter and order of the list that a record was opened from, for the way back. Only in memory, as filters have values
// of records.
import { useLocation } from '@tanstack/react-router';
import { useEffect } from 'react';
import type { Search } from '../address.ts';

let last: { readonly pathname: string; readonly search: object } | undefined;

/** Remembers the list at this address, without the record that is open over it. */
export function useRememberList(list: string): void {
  const { pathname, search } = useLocation();
  useEffect(() => {
    // During navigation the list is still mounted while the address is that of the next screen.
    if (pathname !== list) return;
    const { record: _open, ...rest } = search as Search;
    last = { pathname, search: rest };
  }, [list, pathname, search]);
}

/** Returns the query string of a list when the user left it, or an empty one for another list. */
export const getLastListSearch = (pathname: string): never => (last?.pathname === pathname ? last.search : {}) as never;
