// Layout of the columns of an entity: visible columns and order in the address, and with widths and pins in
// localStorage.
import { useCallback, useEffect, useMemo, useState } from 'react';
import { type ColumnLayout, parseLayout, printLayout } from '../../grid/columns.ts';
import { parseNames } from '../../records/list-query.ts';
import type { EntityRef } from '../../records/requests.ts';

const getStorageKey = ({ org, ws, entity }: EntityRef): string => `wda.columns.${org}/${ws}/${entity}`;

function readStored(entityRef: EntityRef): ColumnLayout {
  try {
    return parseLayout(localStorage.getItem(getStorageKey(entityRef)));
  } catch {
    return parseLayout(null);
  }
}

/** Returns the layout. `fields` is the parameter of the address, and `setFields` sets it. */
export function useLayout(
  entityRef: EntityRef,
  fields: string | undefined,
  setFields: (fields: string | undefined) => void,
) {
  const [storedLayout, setStoredLayout] = useState(() => readStored(entityRef));
  // An address without columns restores the last ones.
  useEffect(() => {
    if (fields === undefined && storedLayout.visible !== undefined) setFields(storedLayout.visible.join(','));
  }, [fields, storedLayout.visible, setFields]);
  const layout = useMemo<ColumnLayout>(
    () => ({ ...storedLayout, visible: fields === undefined ? undefined : parseNames(fields) }),
    [storedLayout, fields],
  );
  const setLayout = useCallback(
    (next: ColumnLayout) => {
      setStoredLayout(next);
      try {
        localStorage.setItem(getStorageKey(entityRef), printLayout(next));
      } catch {}
      const text = next.visible?.join(',');
      if (text !== fields) setFields(text);
    },
    [entityRef, fields, setFields],
  );
  return [layout, setLayout] as const;
}
