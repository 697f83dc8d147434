// Layout of the columns of an entity: visible columns, their order, pins and widths, in the address, and those of the list
// without a saved view in localStorage.
import { useCallback, useEffect, useMemo, useState } from 'react';
import { getAll, type Search } from '../../address.ts';
import { type ColumnLayout, DEFAULT_LAYOUT, parseLayout, printLayout } from '../../grid/columns.ts';
import { parseNames } from '../../records/list-query.ts';
import type { EntityRef } from '../../records/requests.ts';
import { getViewId, parseColumnState, toColumnSearch } from '../../views/view-state.ts';

const getStorageKey = ({ org, ws, entity }: EntityRef): string => `wda.columns.${org}/${ws}/${entity}`;

function readStored(entityRef: EntityRef): ColumnLayout {
  try {
    return parseLayout(localStorage.getItem(getStorageKey(entityRef)));
  } catch {
    return parseLayout(null);
  }
}

/**
 * Returns the layout: what the address does not hold comes from the memory of the browser, unless a saved view is open, whose
 * address lacks what is at its default. `write` sets parameters of the address.
 */
export function useLayout(entityRef: EntityRef, search: Search, write: (change: Search) => void) {
  const [storedLayout, setStoredLayout] = useState(() => readStored(entityRef));
  const hasView = getViewId(search) !== undefined;
  const fields = getAll(search, 'fields')[0];
  const { visible } = storedLayout;
  // An address without columns restores the last ones.
  useEffect(() => {
    if (!hasView && fields === undefined && visible !== undefined) write({ fields: visible.join(',') });
  }, [hasView, fields, visible, write]);
  const layout = useMemo<ColumnLayout>(
    () => ({
      ...(hasView ? DEFAULT_LAYOUT : storedLayout),
      ...parseColumnState(search),
      visible: fields === undefined ? undefined : parseNames(fields),
    }),
    [hasView, storedLayout, search, fields],
  );
  const setLayout = useCallback(
    (next: ColumnLayout) => {
      if (!hasView) {
        setStoredLayout(next);
        try {
          localStorage.setItem(getStorageKey(entityRef), printLayout(next));
        } catch {}
      }
      write(toColumnSearch(next));
    },
    [entityRef, hasView, write],
  );
  return [layout, setLayout] as const;
}
