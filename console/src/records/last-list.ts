// The list that a record was opened from, so that the way back leads to its filter and order. In memory: filters have values of records.
import { useLocation } from '@tanstack/react-router';
import { useEffect } from 'react';

let last: { readonly pathname: string; readonly search: object } | undefined;

/** For the list at an address: it is the one to come back to. */
export function useRememberList(list: string): void {
  const { pathname, search } = useLocation();
  useEffect(() => {
    // While one leaves, the list is still there and the address is that of the next screen.
    if (pathname === list) last = { pathname, search };
  }, [list, pathname, search]);
}

/** Query string of a list when it was left; empty for another list. */
export const getLastListSearch = (pathname: string): never => (last?.pathname === pathname ? last.search : {}) as never;
